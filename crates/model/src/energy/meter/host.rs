//! Host power (002), integrated over the windows that the caller samples.

use crate::energy::HostModel;
use crate::result::EnergySplit;
use crate::units::{BitRate, Nanos, Watts};

#[derive(Clone, Debug)]
pub(super) struct HostMeter {
    model: HostModel,
    /// End of the last window.
    until: Nanos,
    /// Power in the last window.
    power: Watts,
    energy: EnergySplit,
}

impl HostMeter {
    pub(super) fn new(model: HostModel, start: Nanos) -> Self {
        let power = model.idle_power();
        HostMeter {
            model,
            until: start,
            power,
            energy: EnergySplit::default(),
        }
    }

    /// Records the state of the host from the end of the last window to `now`.
    pub(super) fn sample(&mut self, now: Nanos, rate: BitRate, mean_rtt: Nanos, subflows: u32) {
        self.power = self.model.power(rate.bps() as f64, mean_rtt, subflows);
        self.settle(now);
    }

    /// Extends the last window to `now`.
    pub(super) fn settle(&mut self, now: Nanos) {
        let seconds = now.saturating_sub(self.until).as_secs_f64();
        let idle = self.model.idle_power().0;
        self.energy.sunk_j += idle * seconds;
        self.energy.transfer_j += (self.power.0 - idle).max(0.0) * seconds;
        self.until = self.until.max(now);
    }

    /// Starts the measurement.
    pub(super) fn restart(&mut self) {
        self.energy = EnergySplit::default();
    }

    /// Energy since the start of the measurement: idle power as sunk, the rest as transfer.
    pub(super) const fn energy(&self) -> EnergySplit {
        self.energy
    }
}
