//! Time series, thinned out as in the simulator.

use super::flow::Flow;
use super::report::Sample;
use super::spec::Spec;

/// Number of samples at which they are thinned out.
const MAX_SAMPLES: usize = 1024;

/// Samples of the connections under test together.
pub(crate) struct Samples {
    enabled: bool,
    /// One look in this many is kept.
    every: u64,
    kept: Vec<Sample>,
}

impl Samples {
    pub(crate) fn new(spec: &Spec) -> Self {
        Samples {
            enabled: spec.series,
            every: 1,
            kept: vec![],
        }
    }

    /// Keeps a look that was due at `at_ns` and taken at `taken_ns`, if it is selected.
    pub(crate) fn take(&mut self, at_ns: u64, taken_ns: u64, spec: &Spec, flows: &[Flow]) {
        let number = at_ns / spec.sample_every_ns;
        if !self.enabled || at_ns == 0 || !number.is_multiple_of(self.every) {
            return;
        }
        let paths = spec.paths.len();
        let mut sample = Sample {
            at_ns,
            taken_ns,
            received_bytes: vec![0; paths],
            cwnd_packets: vec![0; paths],
            srtt_us: vec![0; paths],
        };
        // Windows and RTTs of several connections cannot be added. The first connection is written
        // last, so its values stay.
        for flow in flows.iter().rev().filter(|flow| flow.under_test) {
            for (place, &path) in spec.connections[flow.index].paths.iter().enumerate() {
                sample.received_bytes[path] += flow.tracker.received_bytes(place);
                if let Some(window) = flow.tracker.window(place) {
                    (sample.cwnd_packets[path], sample.srtt_us[path]) = window;
                }
            }
        }
        self.kept.push(sample);
        if self.kept.len() >= MAX_SAMPLES {
            self.every *= 2;
            let (every, period_ns) = (self.every, spec.sample_every_ns);
            self.kept
                .retain(|sample| (sample.at_ns / period_ns).is_multiple_of(every));
        }
    }

    pub(crate) fn into_vec(self) -> Vec<Sample> {
        self.kept
    }
}
