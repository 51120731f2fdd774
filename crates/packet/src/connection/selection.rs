//! The selector of a connection, and its view of the paths.

use joulepath_control::select::{Demand, Observer, Selector, Snapshot, Use};
use joulepath_model::energy::DeviceEnergy;
use joulepath_model::scenario::Workload;
use joulepath_model::units::Nanos;

use crate::run::config::Config;

/// A subflow is stalled after this many unanswered repetitions of a packet.
pub(crate) const STALLED_AFTER: u32 = 2;

/// A selector with its observer.
pub(crate) struct Selection {
    pub(crate) selector: Selector,
    pub(crate) observer: Observer,
    pub(crate) surroundings: Surroundings,
}

/// What a selector sees that does not change during a run.
pub(crate) struct Surroundings {
    /// What the device burns besides its interfaces.
    pub(crate) device: DeviceEnergy,
    /// Receive buffer of the connection, bytes.
    pub(crate) receive_window: f64,
}

impl Selection {
    /// The use of each path that the selector wants at the start, when nothing is known of the
    /// paths.
    pub(crate) fn start(&mut self, workload: Workload, config: &Config) -> Vec<Use> {
        let Selection {
            selector,
            observer,
            surroundings,
        } = self;
        let demand = Demand::before(workload);
        let uses = selector.want(&surroundings.snapshot(config, Nanos::ZERO, demand, observer));
        uses[..observer.paths().len()].to_vec()
    }
}

impl Surroundings {
    /// What a selector sees: the paths as `observer` has seen them, and what they are needed for.
    pub(crate) fn snapshot<'a>(
        &'a self,
        config: &Config,
        now: Nanos,
        demand: Demand,
        observer: &'a Observer,
    ) -> Snapshot<'a> {
        Snapshot {
            now,
            mss_bytes: config.transport.mss.0 as f64,
            initial_window: config.transport.initial_window.into(),
            receive_window: self.receive_window,
            device: &self.device,
            demand,
            paths: observer.paths(),
        }
    }
}
