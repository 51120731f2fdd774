//! The parameters of a run: table 1 of 003, and the values that the paper leaves open.

use joulepath_control::allocate::EnergyShape;
use joulepath_controllers::{CWND_MAX, Controller, MAX_SUBFLOWS};
use joulepath_model::units::{BitRate, Bytes, JoulesPerBit, Nanos, Probability, Watts};

/// One radio.
#[derive(Clone, Debug, PartialEq)]
pub struct PathParams {
    /// Its name in tables.
    pub name: String,
    /// Rate of the link C.
    pub rate: BitRate,
    /// Round-trip time τ without queueing, including a packet's transmission time.
    pub rtt: Nanos,
    /// Loss probability p of a transmission, independent of all others.
    pub loss: Probability,
    /// c^d: energy of transmitted data, including retransmissions.
    pub transfer: JoulesPerBit,
    /// c^e: power in slots without transmission.
    pub idle: Watts,
    /// The link's buffer in bandwidth-delay products C τ ("one time to the BW").
    pub buffer_bdp: f64,
}

/// The source of the congestion windows.
#[derive(Clone, Debug)]
pub enum Windows {
    /// A congestion controller of the project, driven by the run's ACKs and losses.
    Controlled(Controller),
    /// Constant windows, packets, one per path.
    Fixed(Vec<f64>),
}

/// The system without the policy.
#[derive(Clone, Debug)]
pub struct Params {
    /// The paths.
    pub paths: Vec<PathParams>,
    /// Δt.
    pub slot: Nanos,
    /// MTU. Every packet has this size, without headers.
    pub mtu: Bytes,
    /// λ: mean rate of the Poisson arrivals.
    pub load: BitRate,
    /// The windows.
    pub windows: Windows,
    /// Initial window, packets; unused with constant windows.
    pub initial_window: u32,
    /// Length of a run.
    pub duration: Nanos,
    /// Time at the beginning that the means exclude. The paper sees a transient of 30 s.
    pub warm_up: Nanos,
}

/// The set X of step 3, which the paper leaves open: how much a path may get in one slot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Feasible {
    /// At most what the path's window carries, x̄: constraint (5) holds in every slot, and W stays
    /// 0.
    #[default]
    Window,
    /// At most what the path's link carries, C Δt: (5) holds on average, W accumulates the excess,
    /// and packets wait at their subflow for the window.
    Link,
}

/// Decides how much each path carries.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Policy {
    /// The policy of 003: drift plus penalty in each slot.
    SoMptcp {
        /// V, packets per J/Mbit.
        v: f64,
        /// The energy that it minimises. The consumed energy is always linear.
        shape: EnergyShape,
        /// X.
        feasible: Feasible,
        /// Whether Q starts with V min c packets that are never sent, as in the packet engine, but
        /// not in the paper.
        place_holder: bool,
    },
    /// Lim et al. 2015, the project's selector: WiFi (the path with the lowest sunk power, here the
    /// first), and the cheapest other path if both together cost less per bit. Selected paths are
    /// used as by [`Policy::Mptcp`].
    Emptcp,
    /// Fills every window, starting with the lowest RTT.
    Mptcp,
    /// Sends packets on the paths in turn, and waits until the window of the path whose turn it is
    /// has room.
    RoundRobin,
}

impl Policy {
    /// so-MPTCP with the paper's initial value V = 100, within the windows.
    pub const SO_MPTCP: Policy = Policy::so_mptcp(100.0);

    /// so-MPTCP with linear energy, within the windows, without place-holder.
    pub const fn so_mptcp(v: f64) -> Self {
        Policy::SoMptcp {
            v,
            shape: EnergyShape::Linear,
            feasible: Feasible::Window,
            place_holder: false,
        }
    }

    /// so-MPTCP with linear energy, within the links, without place-holder.
    pub const fn so_mptcp_within_links(v: f64) -> Self {
        Policy::SoMptcp {
            v,
            shape: EnergyShape::Linear,
            feasible: Feasible::Link,
            place_holder: false,
        }
    }

    /// As elsewhere in the project, without the options of `so-mptcp`.
    pub const fn name(self) -> &'static str {
        match self {
            Policy::SoMptcp { .. } => "so-mptcp",
            Policy::Emptcp => "emptcp",
            Policy::Mptcp => "mptcp",
            Policy::RoundRobin => "mptcp[scheduler=round-robin]",
        }
    }
}

/// c^d of table 1, read as J/Mbit: WiFi, LTE, mmWave.
const TRANSFER_J_PER_MBIT: [f64; 3] = [5.0, 10.0, 20.0];
const NAMES: [&str; 3] = ["wifi", "lte", "mmwave"];
/// Table 1, Mbit/s.
const RATE_MBPS: [u64; 3] = [300, 600, 2000];
/// Table 1: proportional to 1/bandwidth. WiFi's, which the paper leaves open, is 20 ms.
const RTT_MS: [u64; 3] = [20, 10, 3];
/// Losses, which the paper leaves open.
const LOSS: [f64; 3] = [0.01, 0.005, 0.02];
/// A twentieth of these losses.
const LIGHT_LOSS: [f64; 3] = [0.0005, 0.000_25, 0.001];
/// RFC 6928.
const INITIAL_WINDOW: u32 = 10;

impl Params {
    /// Three radios as in table 1, with losses of 1, 0.5 and 2 %.
    ///
    /// `load_mbps` is λ in Mbit/s. The paper leaves the following open, chosen here: losses, WiFi's
    /// RTT of 20 ms, Δt = 10 ms, 1500 B, LIA, c^e = 0.
    pub fn three_radios_lossy(load_mbps: u64) -> Self {
        three_radios(load_mbps, LOSS)
    }

    /// [`Params::three_radios_lossy`] with a twentieth of the losses, as in
    /// `scenarios/papers/003-three-radios.toml`.
    pub fn three_radios(load_mbps: u64) -> Self {
        three_radios(load_mbps, LIGHT_LOSS)
    }

    /// A degenerate system with known values: windows that carry 20, 30 and 60 packets of 1 Mbit
    /// per slot of 1 s for 5, 10 and 20 J each, no loss, and 35 arriving packets per slot.
    pub fn fixed_windows(slots: u64) -> Self {
        let slot = Nanos::from_secs(1);
        let path = |i: usize| PathParams {
            name: NAMES[i].to_owned(),
            rate: BitRate::from_bps(1_000_000_000),
            rtt: slot,
            loss: Probability::default(),
            transfer: per_mbit(TRANSFER_J_PER_MBIT[i]),
            idle: Watts(0.0),
            buffer_bdp: 1.0,
        };
        Params {
            paths: (0..3).map(path).collect(),
            slot,
            mtu: Bytes(125_000),
            load: BitRate::from_bps(35_000_000),
            windows: Windows::Fixed(vec![20.0, 30.0, 60.0]),
            initial_window: INITIAL_WINDOW,
            duration: slot * slots,
            warm_up: Nanos::ZERO,
        }
    }

    /// Bits of a packet.
    pub(crate) fn packet_bits(&self) -> f64 {
        self.mtu.0 as f64 * 8.0
    }

    /// λ in packets/s.
    pub fn load_pps(&self) -> f64 {
        self.load.bps() as f64 / self.packet_bits()
    }

    /// Checks that a run is possible.
    ///
    /// # Errors
    /// The first invalid parameter.
    pub fn check(&self) -> Result<(), BadParams> {
        let n = self.paths.len();
        let is_positive = |x: f64| x.is_finite() && x > 0.0;
        if n == 0 || n > MAX_SUBFLOWS {
            return Err(BadParams::Paths { n });
        }
        if let Windows::Fixed(windows) = &self.windows {
            let fit = windows.len() == n && windows.iter().all(|&w| is_positive(w));
            fit.then_some(()).ok_or(BadParams::FixedWindows { n })?;
        }
        let zero = [
            ("slot", self.slot.0),
            ("mtu", self.mtu.0),
            ("load", self.load.bps()),
            ("initial_window", self.initial_window.into()),
        ];
        if let Some((name, _)) = zero.into_iter().find(|&(_, value)| value == 0) {
            return Err(BadParams::Zero {
                name: name.to_owned(),
            });
        }
        if self.initial_window > CWND_MAX {
            return Err(BadParams::InitialWindow {
                window: self.initial_window,
            });
        }
        if self.duration < self.warm_up.saturating_add(self.slot) {
            return Err(BadParams::Duration {
                warm_up_s: self.warm_up.as_secs_f64(),
            });
        }
        for path in &self.paths {
            let named = |what| BadParams::Zero {
                name: format!("{what} of path `{}`", path.name),
            };
            if path.rate.bps() == 0 {
                return Err(named("rate"));
            }
            if path.rtt == Nanos::ZERO {
                return Err(named("rtt"));
            }
            let costs = [path.transfer.0, path.idle.0, path.buffer_bdp];
            if path.loss.get() >= 1.0 || costs.iter().any(|&x| !x.is_finite() || x < 0.0) {
                return Err(BadParams::Path {
                    path: path.name.clone(),
                });
            }
        }
        Ok(())
    }
}

fn per_mbit(joules: f64) -> JoulesPerBit {
    JoulesPerBit(joules / 1e6)
}

fn three_radios(load_mbps: u64, losses: [f64; 3]) -> Params {
    let path = |i: usize| PathParams {
        name: NAMES[i].to_owned(),
        rate: BitRate::from_bps(RATE_MBPS[i] * 1_000_000),
        rtt: Nanos::from_millis(RTT_MS[i]),
        loss: Probability::new(losses[i]).expect("a constant below 1"),
        transfer: per_mbit(TRANSFER_J_PER_MBIT[i]),
        idle: Watts(0.0),
        buffer_bdp: 1.0,
    };
    Params {
        paths: (0..3).map(path).collect(),
        slot: Nanos::from_millis(10),
        mtu: Bytes(1500),
        load: BitRate::from_bps(load_mbps * 1_000_000),
        windows: Windows::Controlled(Controller::by_name("lia").expect("LIA is in the registry")),
        initial_window: INITIAL_WINDOW,
        duration: Nanos::from_secs(500),
        warm_up: Nanos::from_secs(30),
    }
}

/// Why parameters are invalid.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum BadParams {
    /// Too few or too many paths.
    #[error("{n} paths: give 1 to {MAX_SUBFLOWS}, the maximum number of subflows")]
    Paths {
        /// The number of paths.
        n: usize,
    },
    /// Fixed windows do not fit the paths.
    #[error("fixed windows: give a positive number of packets for each of the {n} paths")]
    FixedWindows {
        /// Number of paths.
        n: usize,
    },
    /// A parameter is zero.
    #[error("{name} is zero: give a positive value")]
    Zero {
        /// The parameter.
        name: String,
    },
    /// The initial window exceeds the controllers' limit.
    #[error("initial_window is {window} packets: give at most {CWND_MAX}")]
    InitialWindow {
        /// As given.
        window: u32,
    },
    /// The run ends within the warm-up, so there is nothing to measure.
    #[error("duration: give at least one slot more than the warm-up of {warm_up_s} s")]
    Duration {
        /// The warm-up, s.
        warm_up_s: f64,
    },
    /// A path has an invalid number.
    #[error(
        "path `{path}`: loss must be below 1; transfer, idle and buffer_bdp finite and not negative"
    )]
    Path {
        /// Name of the path.
        path: String,
    },
    /// V is negative or not finite.
    #[error("V is {v}: give a finite number, at least 0")]
    V {
        /// As given.
        v: f64,
    },
}
