//! Views in a controller's hooks: a subflow and an ACK. They are created once per connection and
//! point to the engine's memory while a hook runs.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

use joulepath_controllers::{
    AckFlags, CWND_MAX, Capability, Connection, Event, SSTHRESH_NONE, Subflow as Window,
};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use super::lent::{Lent, stale};
use crate::attributes::attributes;
use crate::raised::usage;

/// State shared by the views of one connection.
pub(super) struct State {
    connection: Lent<Connection>,
    event: Lent<Event>,
    /// The subflow of the present hook.
    current: AtomicUsize,
    may_write: AtomicBool,
    /// Number of subflows of the connection.
    n: usize,
    reads: Vec<Capability>,
    owns_window: bool,
    all: Mutex<Option<Py<PyTuple>>>,
}

/// A hook's permissions and inputs.
pub(super) struct Scene {
    pub(super) connection: *mut Connection,
    pub(super) event: *const Event,
    pub(super) subflow: usize,
    pub(super) may_write: bool,
}

impl State {
    pub(super) fn new(n: usize, capabilities: &[Capability]) -> Arc<Self> {
        Arc::new(State {
            connection: Lent::default(),
            event: Lent::default(),
            current: AtomicUsize::new(0),
            may_write: AtomicBool::new(false),
            n,
            reads: capabilities.to_vec(),
            owns_window: capabilities.contains(&Capability::OwnsWindow),
            all: Mutex::new(None),
        })
    }

    /// Points the views to `scene` while `hook` runs.
    pub(super) fn within<R>(&self, scene: &Scene, hook: impl FnOnce() -> R) -> R {
        self.current.store(scene.subflow, Relaxed);
        self.may_write.store(scene.may_write, Relaxed);
        self.event.during(scene.event, || {
            self.connection.during(scene.connection, hook)
        })
    }

    /// Sets the result of [`Subflow::subflows`]; `None` breaks the reference cycle.
    pub(super) fn set_all(&self, all: Option<Py<PyTuple>>) {
        *self.all.lock().unwrap_or_else(PoisonError::into_inner) = all;
    }
}

/// A subflow in a controller's hook.
#[pyclass(frozen, module = "joulepath._joulepath")]
pub(crate) struct Subflow {
    state: Arc<State>,
    i: usize,
    path: Option<String>,
}

impl Subflow {
    pub(super) fn new(state: &Arc<State>, i: usize, path: Option<String>) -> Self {
        Subflow {
            state: Arc::clone(state),
            i,
            path,
        }
    }

    #[inline]
    fn connection(&self) -> PyResult<&Connection> {
        // SAFETY: see `Lent`.
        Ok(unsafe { &*self.state.connection.pointer()? })
    }

    #[inline]
    fn window(&self) -> PyResult<&Window> {
        Ok(&self.connection()?.subflows[self.i])
    }

    /// Changes the subflow, which must be the hook's own.
    fn change(&self, py: Python<'_>, change: impl FnOnce(&mut Window)) -> PyResult<()> {
        self.window()?;
        if !self.state.may_write.load(Relaxed) {
            return Err(usage(
                py,
                "increase and ssthresh change nothing",
                Some(
                    "return the number; set windows in on_start, on_ack, on_round, on_loss or on_restart",
                ),
            ));
        }
        if self.i != self.state.current.load(Relaxed) {
            return Err(usage(
                py,
                "a controller writes to its own subflow only, because a kernel allows no more",
                Some("let each subflow set its own window when its own hook is called"),
            ));
        }
        // SAFETY: see `Lent`; no other reference to it is alive.
        change(unsafe { &mut (*self.state.connection.pointer()?).subflows[self.i] });
        Ok(())
    }

    fn told(&self, py: Python<'_>, what: Capability, name: &str) -> PyResult<&Window> {
        if self.state.reads.contains(&what) {
            return self.window();
        }
        let help = format!("write `reads = (\"{name}\",)` in the class");
        Err(usage(
            py,
            &format!("`{name}` needs a controller that declares to read it"),
            Some(&help),
        ))
    }
}

/// Converts a hook's window to whole packets.
pub(super) fn packets(py: Python<'_>, what: &str, value: f64) -> PyResult<u32> {
    if value >= 1.0 && value <= f64::from(CWND_MAX) {
        return Ok(value as u32);
    }
    Err(usage(
        py,
        &format!("{what} is 1 to {CWND_MAX} packets, not {value}"),
        None,
    ))
}

attributes! {
    impl Subflow, window = window()? {
        cwnd_packets: u32 = window.cwnd;
        ssthresh_packets: u32 = window.ssthresh;
        /// Smoothed RTT; 0 before the first sample.
        srtt_us: u32 = window.srtt_us;
        last_rtt_us: u32 = window.own.last_rtt_us;
        /// Minimum RTT so far.
        base_rtt_us: u32 = window.own.base_rtt_us;
        round_min_rtt_us: u32 = window.own.round_min_rtt_us();
        round_mean_rtt_us: u64 = window.own.round_mean_rtt_us();
        acked_since_loss_packets: u32 = window.own.acked_since_loss;
        acked_between_losses_packets: u32 = window.own.acked_between_losses;
        in_slow_start: bool = window.cwnd < window.ssthresh;
        in_recovery: bool = window.flags & Window::RECOVERY != 0;
        in_loss: bool = window.flags & Window::LOSS != 0;
    }
}

#[pymethods]
impl Subflow {
    /// Its index in the connection, from 0.
    #[getter]
    fn index(&self) -> usize {
        self.i
    }

    /// Name of its path; None if the scenario's connections differ, or with a topology.
    #[getter]
    fn path(&self) -> Option<&str> {
        self.path.as_deref()
    }

    /// All subflows of the connection, including itself.
    #[getter]
    fn subflows(&self, py: Python<'_>) -> PyResult<Py<PyTuple>> {
        let all = self
            .state
            .all
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        all.as_ref().map(|all| all.clone_ref(py)).ok_or_else(stale)
    }

    #[getter]
    fn now_us(&self) -> PyResult<u64> {
        Ok(self.connection()?.now_us)
    }

    #[setter]
    fn set_cwnd_packets(&self, py: Python<'_>, value: f64) -> PyResult<()> {
        let cwnd = packets(py, "a congestion window", value)?;
        self.change(py, |window| window.cwnd = cwnd)
    }

    #[setter]
    fn set_ssthresh_packets(&self, py: Python<'_>, value: f64) -> PyResult<()> {
        let ssthresh = match value {
            value if value >= f64::from(SSTHRESH_NONE) => SSTHRESH_NONE,
            value => packets(py, "a slow start threshold", value)?,
        };
        self.change(py, |window| window.ssthresh = ssthresh)
    }

    #[getter]
    fn pacing_rate_bytes_per_s(&self) -> PyResult<u64> {
        Ok(if self.state.owns_window {
            self.window()?.own.pacing_rate_bytes_per_s()
        } else {
            0
        })
    }

    #[setter]
    fn set_pacing_rate_bytes_per_s(&self, py: Python<'_>, value: f64) -> PyResult<()> {
        if !self.state.owns_window {
            let help = "write `owns_window = True` in the class";
            return Err(usage(
                py,
                "only a controller that owns its window paces",
                Some(help),
            ));
        }
        if !(0.0..=1e12).contains(&value) {
            let message = format!("a pacing rate is 0 (none) to 1e12 bytes/s, not {value}");
            return Err(usage(py, &message, None));
        }
        self.change(py, |window| {
            window.own.set_pacing_rate_bytes_per_s(value as u64)
        })
    }

    /// Its window; in fast recovery the threshold instead.
    #[getter]
    fn window_packets(&self) -> PyResult<u32> {
        let window = self.window()?;
        let recovers = window.flags & Window::RECOVERY != 0;
        Ok((if recovers {
            window.ssthresh
        } else {
            window.cwnd
        })
        .clamp(1, CWND_MAX))
    }

    /// True if it is established and has an RTT sample: sums include it.
    #[getter]
    fn counts(&self) -> PyResult<bool> {
        let window = self.window()?;
        Ok(self.i < self.state.n && window.flags & Window::ESTABLISHED != 0 && window.srtt_us > 0)
    }

    #[getter]
    fn energy_cost(&self, py: Python<'_>) -> PyResult<f64> {
        Ok(self
            .told(py, Capability::ReadsEnergyCost, "energy_cost")?
            .own
            .energy_cost())
    }

    #[getter]
    fn path_price(&self, py: Python<'_>) -> PyResult<f64> {
        Ok(self
            .told(py, Capability::ReadsPathPrice, "path_price")?
            .own
            .path_price())
    }

    #[getter]
    fn target_share(&self, py: Python<'_>) -> PyResult<f64> {
        Ok(self
            .told(py, Capability::ReadsTargetShare, "target_share")?
            .own
            .target_share())
    }

    fn __repr__(&self) -> String {
        match &self.path {
            Some(path) => format!("<subflow {} ({path})>", self.i),
            None => format!("<subflow {}>", self.i),
        }
    }
}

/// An ACK in a controller's hook.
#[pyclass(frozen, module = "joulepath._joulepath")]
pub(crate) struct Ack {
    state: Arc<State>,
}

impl Ack {
    pub(super) fn new(state: &Arc<State>) -> Self {
        Ack {
            state: Arc::clone(state),
        }
    }

    #[inline]
    fn event(&self) -> PyResult<&Event> {
        // SAFETY: see `Lent`.
        Ok(unsafe { &*self.state.event.pointer()? })
    }
}

attributes! {
    impl Ack, event = event()? {
        /// Packets newly acknowledged.
        acked_packets: u32 = event.acked;
        /// RTT sample; 0 if there is none.
        rtt_us: u32 = event.rtt_us;
        /// True if it echoes a congestion mark.
        is_marked: bool = event.flags.has(AckFlags::ECE);
        /// True if the window limited the sender.
        is_cwnd_limited: bool = event.flags.has(AckFlags::CWND_LIMITED);
        ends_round: bool = event.flags.has(AckFlags::ROUND_END);
        is_app_limited: bool = event.flags.has(AckFlags::APP_LIMITED);
        lost_packets: u32 = event.lost;
        marked_packets: u32 = event.marked;
        in_flight_packets: u32 = event.in_flight;
        prior_in_flight_packets: u32 = event.prior_in_flight;
        mss_bytes: u32 = event.mss;
        delivered_packets: u32 = event.delivered;
        interval_us: u32 = event.interval_us;
    }
}

#[pymethods]
impl Ack {
    /// The rate sample; 0 if there is none.
    #[getter]
    fn delivery_rate_bytes_per_s(&self) -> PyResult<f64> {
        let event = self.event()?;
        if event.interval_us == 0 {
            return Ok(0.0);
        }
        Ok(f64::from(event.delivered) * f64::from(event.mss) * 1e6 / f64::from(event.interval_us))
    }
}
