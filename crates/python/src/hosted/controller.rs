//! Congestion controllers that are Python classes.

use std::sync::Arc;

use joulepath_controllers::{
    AckFlags, Capability, Connection, Controller, Event, Hook, Hooks, Host, LossKind,
};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use super::ledger::{self, Place, call};
use super::subflow::{Ack, Scene, State, Subflow, packets};
use crate::raised::usage;

/// Maximum change of a window per packet, packets, as in `cc check`.
const MOST_INCREASE: f64 = 2.0;

/// The hooks of a class: `on_start` first, then the order of [`HOOKS`].
const NAMES: [&str; 7] = [
    "on_start",
    "increase",
    "ssthresh",
    "on_ack",
    "on_round",
    "on_loss",
    "on_restart",
];
const HOOKS: [Hook; 6] = [
    Hook::Increase,
    Hook::Ssthresh,
    Hook::Ack,
    Hook::Round,
    Hook::Loss,
    Hook::Restart,
];

/// Capabilities by the names in the class.
fn capability(word: &str) -> Option<Capability> {
    Some(match word {
        "energy_cost" => Capability::ReadsEnergyCost,
        "path_price" => Capability::ReadsPathPrice,
        "target_share" => Capability::ReadsTargetShare,
        "marks" => Capability::ReadsMarks,
        "delay" => Capability::ReadsDelay,
        "uncoupled" => Capability::Uncoupled,
        "acts_by_round" => Capability::ActsByRound,
        "owns_window" => Capability::OwnsWindow,
        _ => return None,
    })
}

/// Registers a Python object as a controller. `hooks` are the methods that its class has; `flags`
/// are its capabilities.
#[pyfunction]
#[expect(
    clippy::too_many_arguments,
    reason = "they are the fields of a class in Python"
)]
pub(crate) fn host_controller(
    py: Python<'_>,
    part: Py<PyAny>,
    name: String,
    title: String,
    summary: String,
    hooks: Vec<String>,
    flags: Vec<String>,
    least_window_packets: u32,
    cache_acks: u32,
) -> PyResult<()> {
    let capabilities: Option<Vec<Capability>> = flags.iter().map(|word| capability(word)).collect();
    let Some(mut capabilities) = capabilities else {
        let help = "a controller may read energy_cost, path_price, target_share, marks and delay";
        return Err(usage(
            py,
            &format!("`{name}` reads {}", flags.join(", ")),
            Some(help),
        ));
    };
    let has = |name: &str| hooks.iter().any(|hook| hook == name);
    let own = (1..NAMES.len())
        .filter(|&k| has(NAMES[k]))
        .map(|k| HOOKS[k - 1])
        .collect();
    let (known_as, told) = (name.clone(), capabilities.clone());
    let open = move |n: usize| -> Box<dyn Hooks> {
        Box::new(PyHooks {
            inner: Inner::open(&part, &known_as, &hooks, &told, n),
            name: known_as.clone(),
        })
    };
    // Subflows provide a round's RTTs even if the class does not declare that it reads them.
    capabilities.push(Capability::ReadsDelay);
    let host = Host {
        name,
        title,
        summary,
        min_cwnd: least_window_packets,
        cache_acks,
        capabilities,
        hooks: own,
        open: Box::new(open),
    };
    Controller::host(host)
        .map(drop)
        .map_err(|error| usage(py, &error.to_string(), Some("choose another name")))
}

/// The hooks of one connection; `None` if copying the object failed.
struct PyHooks {
    name: String,
    inner: Option<Inner>,
}

/// A copy of the object, and the preallocated arguments of its hooks.
struct Inner {
    /// The bound methods, in the order of [`NAMES`].
    methods: [Option<Py<PyAny>>; 7],
    state: Arc<State>,
    /// (subflow,), (subflow, ack) and (subflow, kind of loss) for each subflow.
    alone: Vec<Py<PyTuple>>,
    with_ack: Vec<Py<PyTuple>>,
    with_kind: Vec<[Py<PyTuple>; 3]>,
}

impl Inner {
    fn open(
        part: &Py<PyAny>,
        name: &str,
        hooks: &[String],
        capabilities: &[Capability],
        n: usize,
    ) -> Option<Self> {
        let paths: Vec<Option<String>> = (0..n).map(ledger::path_name).collect();
        ledger::copy_of(part, name, |py, copy| {
            let mut methods: [Option<Py<PyAny>>; 7] = Default::default();
            for (method, name) in methods.iter_mut().zip(NAMES) {
                if hooks.iter().any(|hook| hook == name) {
                    *method = Some(copy.getattr(name)?.unbind());
                }
            }
            let state = State::new(n, capabilities);
            let ack = Py::new(py, Ack::new(&state))?;
            let (mut alone, mut with_ack, mut with_kind, mut all) =
                (vec![], vec![], vec![], vec![]);
            for (i, path) in paths.into_iter().enumerate() {
                let subflow = Py::new(py, Subflow::new(&state, i, path))?;
                let and = |kind: &str| PyResult::Ok((&subflow, kind).into_pyobject(py)?.unbind());
                alone.push((&subflow,).into_pyobject(py)?.unbind());
                with_ack.push((&subflow, &ack).into_pyobject(py)?.unbind());
                with_kind.push([and("fast-retransmit")?, and("timeout")?, and("ecn")?]);
                all.push(subflow);
            }
            state.set_all(Some(PyTuple::new(py, all)?.unbind()));
            Ok(Inner {
                methods,
                state,
                alone,
                with_ack,
                with_kind,
            })
        })
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.state.set_all(None);
    }
}

/// Arguments of a hook after the subflow.
enum Besides {
    Nothing,
    Ack,
    Kind(LossKind),
}

impl PyHooks {
    /// Calls method `k` of [`NAMES`] if it exists, and converts its return value.
    fn call<R>(
        &self,
        k: usize,
        scene: &Scene,
        besides: &Besides,
        made: impl FnOnce(Python<'_>, Py<PyAny>) -> PyResult<R>,
    ) -> Option<R> {
        let inner = self.inner.as_ref()?;
        let (method, i) = (inner.methods[k].as_ref()?, scene.subflow);
        let arguments = match besides {
            Besides::Nothing => &inner.alone[i],
            Besides::Ack => &inner.with_ack[i],
            Besides::Kind(kind) => &inner.with_kind[i][*kind as usize],
        };
        // SAFETY: a scene's connection is the engine's, which waits for this call.
        let now_us = unsafe { (*scene.connection).now_us };
        let place = Place {
            part: &self.name,
            hook: NAMES[k],
            now_us,
            subflow: Some(i),
        };
        call(place, |py| {
            inner
                .state
                .within(scene, || method.call1(py, arguments))
                .and_then(|value| made(py, value))
        })
    }

    /// Calls a hook that returns nothing.
    fn tell(
        &self,
        k: usize,
        connection: &mut Connection,
        i: usize,
        event: Option<&Event>,
        besides: &Besides,
    ) {
        let event = event.map_or(std::ptr::null(), std::ptr::from_ref);
        let scene = Scene {
            connection,
            event,
            subflow: i,
            may_write: true,
        };
        self.call(k, &scene, besides, |_, _| Ok(()));
    }
}

impl Hooks for PyHooks {
    fn start(&mut self, connection: &mut Connection, i: usize) {
        self.tell(0, connection, i, None, &Besides::Nothing);
    }

    fn increase(&mut self, connection: &Connection, i: usize) -> f64 {
        let connection = std::ptr::from_ref(connection).cast_mut();
        let scene = Scene {
            connection,
            event: std::ptr::null(),
            subflow: i,
            may_write: false,
        };
        let made = |py: Python<'_>, value: Py<PyAny>| {
            let packets: f64 = value.extract(py)?;
            match packets.abs() <= MOST_INCREASE {
                true => Ok(packets),
                false => Err(usage(
                    py,
                    &format!(
                        "an increase is -2 to 2 packets for each packet acknowledged, not {packets}"
                    ),
                    Some("increase is per packet, not per round: 1 / cwnd_packets is NewReno"),
                )),
            }
        };
        self.call(1, &scene, &Besides::Nothing, made).unwrap_or(0.0)
    }

    fn ssthresh(&mut self, connection: &Connection, i: usize, kind: LossKind) -> u32 {
        let connection = std::ptr::from_ref(connection).cast_mut();
        let scene = Scene {
            connection,
            event: std::ptr::null(),
            subflow: i,
            may_write: false,
        };
        let made = |py: Python<'_>, value: Py<PyAny>| {
            packets(py, "a slow start threshold", value.extract(py)?)
        };
        self.call(2, &scene, &Besides::Kind(kind), made)
            .unwrap_or(1)
    }

    fn ack(&mut self, connection: &mut Connection, i: usize, event: &Event) {
        self.tell(3, connection, i, Some(event), &Besides::Ack);
    }

    fn round(&mut self, connection: &mut Connection, i: usize, event: &Event) {
        self.tell(4, connection, i, Some(event), &Besides::Ack);
    }

    fn loss(&mut self, connection: &mut Connection, i: usize, kind: LossKind) {
        self.tell(5, connection, i, None, &Besides::Kind(kind));
    }

    fn restart(&mut self, connection: &mut Connection, i: usize) {
        self.tell(6, connection, i, None, &Besides::Nothing);
    }

    fn control(&mut self, connection: &mut Connection, i: usize, event: &Event) {
        if event.flags.has(AckFlags::RESTARTS) {
            self.restart(connection, i);
        }
        if event.flags.has(AckFlags::EPISODE) {
            self.loss(connection, i, LossKind::FastRetransmit);
        }
        if event.flags.has(AckFlags::TIMED_OUT) {
            self.loss(connection, i, LossKind::Timeout);
        }
        if event.acked > 0 || event.rtt_us > 0 {
            self.ack(connection, i, event);
        }
        if event.flags.has(AckFlags::ROUND_END) {
            self.round(connection, i, event);
        }
    }
}
