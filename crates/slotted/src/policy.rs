//! Decides how much each path carries in a slot.

use joulepath_control::allocate::so_mptcp::{SlotPath, SoMptcp};
use joulepath_control::schedule::MAX_SUBFLOWS;
use joulepath_control::select::{
    Counters, Demand, Observer, PathEnergy, PathState, Selector, Snapshot, Use, Uses,
};
use joulepath_model::energy::DeviceEnergy;
use joulepath_model::units::Nanos;

use crate::params::{BadParams, Feasible, Params, Policy};

/// A path at the beginning of a slot, as a policy sees it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct PathView {
    /// w, packets.
    pub(crate) window: f64,
    /// τ, s.
    pub(crate) rtt_s: f64,
    /// x̄, packets.
    pub(crate) capacity: f64,
    /// C Δt, packets.
    pub(crate) link_packets: f64,
    /// Bytes of data that have arrived.
    pub(crate) delivered_bytes: u64,
    /// Number of reductions of the window.
    pub(crate) loss_events: u64,
}

/// How much each path may carry.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Allotment {
    /// At most this many packets, including packets that wait at the subflow; the paper's x.
    Slots([f64; MAX_SUBFLOWS]),
    /// As much as its window carries, for each path in use.
    Windows([bool; MAX_SUBFLOWS]),
    /// One packet on each path in turn, as long as the window of the path whose turn it is has
    /// room.
    Turns,
}

/// A policy with its state.
pub(crate) enum Decider {
    SoMptcp {
        allocator: SoMptcp,
        paths: Vec<SlotPath>,
        feasible: Feasible,
        place_holder: bool,
    },
    Selecting(Box<Selecting>),
    All,
    RoundRobin,
}

/// A selector with its observations.
pub(crate) struct Selecting {
    selector: Selector,
    observer: Observer,
    uses: Uses,
    look_at: Nanos,
    mtu_bytes: f64,
    initial_window: f64,
}

impl Decider {
    pub(crate) fn new(params: &Params, policy: Policy) -> Result<Self, BadParams> {
        Ok(match policy {
            Policy::Mptcp => Decider::All,
            Policy::RoundRobin => Decider::RoundRobin,
            Policy::Emptcp => Decider::Selecting(Box::new(Selecting::new(params))),
            Policy::SoMptcp { v, .. } if !v.is_finite() || v < 0.0 => {
                return Err(BadParams::V { v });
            }
            Policy::SoMptcp {
                v,
                shape,
                feasible,
                place_holder,
            } => {
                // Units are J/Mbit and packets, as in the paper's thresholds V c. So the idle
                // energy is also divided by a packet's Mbit.
                let packet_mbit = params.packet_bits() / 1e6;
                let slot_s = params.slot.as_secs_f64();
                let path = |path: &crate::PathParams| SlotPath {
                    cost_j: path.transfer.0 * 1e6,
                    idle_j: path.idle.0 * slot_s / packet_mbit,
                    ..SlotPath::default()
                };
                let paths = params.paths.iter().map(path).collect();
                Decider::SoMptcp {
                    allocator: SoMptcp::new(v, shape),
                    paths,
                    feasible,
                    place_holder,
                }
            }
        })
    }

    /// Decides how much each path may carry in the slot that begins at `now`. `backlog` packets are
    /// from before the slot, `arrivals` arrive in it.
    pub(crate) fn decide(
        &mut self,
        now: Nanos,
        views: &[PathView],
        backlog: usize,
        arrivals: usize,
    ) -> Allotment {
        match self {
            Decider::All => Allotment::Windows([true; MAX_SUBFLOWS]),
            Decider::RoundRobin => Allotment::Turns,
            Decider::Selecting(selecting) => {
                Allotment::Windows(selecting.in_use(now, views, backlog))
            }
            Decider::SoMptcp {
                allocator,
                paths,
                feasible,
                place_holder,
            } => {
                for (path, view) in paths.iter_mut().zip(views) {
                    path.capacity = view.capacity;
                    path.most = match feasible {
                        Feasible::Window => view.capacity,
                        Feasible::Link => view.link_packets,
                    };
                }
                let (q, a) = (backlog as f64, arrivals as f64);
                Allotment::Slots(if *place_holder {
                    let cheapest_j = paths
                        .iter()
                        .map(|path| path.cost_j)
                        .fold(f64::INFINITY, f64::min);
                    allocator.allocate(paths, q + allocator.v * cheapest_j, a)
                } else {
                    allocator.allocate(paths, q, a)
                })
            }
        }
    }

    /// W_i, packets.
    pub(crate) fn virtual_queue(&self, i: usize) -> f64 {
        match self {
            Decider::SoMptcp { allocator, .. } => allocator.virtual_queues()[i],
            Decider::Selecting(_) | Decider::All | Decider::RoundRobin => 0.0,
        }
    }

    /// Whether path `i` has a subflow.
    pub(crate) fn is_open(&self, i: usize) -> bool {
        match self {
            Decider::Selecting(selecting) => selecting.uses[i] != Use::Closed,
            Decider::SoMptcp { .. } | Decider::All | Decider::RoundRobin => true,
        }
    }
}

impl Selecting {
    fn new(params: &Params) -> Self {
        let energy = |path: &crate::PathParams| PathEnergy {
            slope_j_per_bit: path.transfer.0,
            ..PathEnergy::default()
        };
        let energies: Vec<PathEnergy> = params.paths.iter().map(energy).collect();
        let mtu_bytes = params.mtu.0 as f64;
        Selecting {
            selector: Selector::Emptcp(Box::default()),
            observer: Observer::new(&energies, mtu_bytes),
            uses: [Use::Closed; MAX_SUBFLOWS],
            look_at: Nanos::ZERO,
            mtu_bytes,
            initial_window: params.initial_window.into(),
        }
    }

    fn in_use(&mut self, now: Nanos, views: &[PathView], backlog: usize) -> [bool; MAX_SUBFLOWS] {
        if now >= self.look_at {
            self.look(now, views, backlog);
        }
        // A backup carries nothing, because the paths of this system never fail.
        self.uses.map(|wanted| wanted == Use::Regular)
    }

    fn look(&mut self, now: Nanos, views: &[PathView], backlog: usize) {
        let demand = Demand::Bytes(backlog as f64 * self.mtu_bytes);
        let counters = |(view, wanted): (&PathView, &Use)| Counters {
            state: if *wanted == Use::Closed {
                PathState::Closed
            } else {
                PathState::Open
            },
            backup: *wanted == Use::Backup,
            srtt: Nanos::from_secs_f64(view.rtt_s),
            cwnd: view.window as u32,
            delivered_bytes: view.delivered_bytes,
            loss_events: view.loss_events,
            ..Counters::default()
        };
        let counters: Vec<Counters> = views.iter().zip(&self.uses).map(counters).collect();
        self.observer.observe(now, &counters, demand);
        let snapshot = Snapshot {
            now,
            mss_bytes: self.mtu_bytes,
            initial_window: self.initial_window,
            receive_window: f64::INFINITY,
            device: &DeviceEnergy::ADDITIVE,
            demand,
            paths: self.observer.paths(),
        };
        self.uses = self.selector.want(&snapshot);
        self.look_at = now.saturating_add(self.selector.period(&snapshot));
    }
}
