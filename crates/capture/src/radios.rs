//! What the radios do.

use joulepath_model::energy::meter::RadioPhase;
use joulepath_model::scenario::PathIndex;
use joulepath_model::units::Nanos;

use crate::capture::Capture;

/// A radio enters a phase.
pub(crate) struct Change {
    pub(crate) at: Nanos,
    pub(crate) path: PathIndex,
    pub(crate) phase: RadioPhase,
    /// Of the path and of the device until then, J.
    pub(crate) energy_j: f64,
    pub(crate) device_energy_j: f64,
}

impl Capture<'_> {
    /// The changes of all radios, in order.
    pub(crate) fn radio_changes(&self) -> Vec<Change> {
        let mut changes = vec![];
        for (path, samples) in self.trace.paths.iter().enumerate() {
            let mut last = None;
            let phases = self.trace.times.iter().zip(&samples.radio);
            for (sample, (&at, &phase)) in phases.enumerate() {
                if last.replace(phase) != Some(phase) {
                    changes.push(Change {
                        at,
                        path,
                        phase,
                        energy_j: samples.energy_j[sample],
                        device_energy_j: self.trace.energy_j[sample],
                    });
                }
            }
        }
        changes.sort_by_key(|change| change.at);
        changes
    }
}
