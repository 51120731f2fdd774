//! The selector of a connection, and what it sees.

use joulepath_control::select::{Demand, Observer, Selector, Snapshot, Use};
use joulepath_model::energy::DeviceEnergy;
use joulepath_model::scenario::Workload;
use joulepath_model::units::Nanos;

use crate::run::config::Config;

/// A subflow that has repeated a packet so often without an answer counts as stalled.
pub(crate) const STALLED_AFTER: u32 = 2;

/// A selector and what it sees.
pub(crate) struct Selection {
    pub(crate) selector: Selector,
    pub(crate) observer: Observer,
    /// What the device burns besides its interfaces.
    pub(crate) device: DeviceEnergy,
}

impl Selection {
    /// How the selector wants the paths used before anything is known of them.
    pub(crate) fn start(&mut self, workload: Workload, config: &Config) -> Vec<Use> {
        let Selection { selector, observer, device } = self;
        let uses = selector.want(&snapshot(config, device, Nanos::ZERO, Demand::before(workload), observer));
        uses[..observer.paths().len()].to_vec()
    }
}

/// What a selector sees: the paths as `observer` has seen them, and what they are needed for.
pub(crate) fn snapshot<'a>(
    config: &Config,
    device: &'a DeviceEnergy,
    now: Nanos,
    demand: Demand,
    observer: &'a Observer,
) -> Snapshot<'a> {
    Snapshot {
        now,
        mss_bytes: config.transport.mss.0 as f64,
        initial_window: config.transport.initial_window.into(),
        device,
        demand,
        paths: observer.paths(),
    }
}
