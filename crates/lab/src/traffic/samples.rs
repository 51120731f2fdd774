//! Time series, thinned out as the simulator's are.

use super::flow::Flow;
use super::report::Sample;
use super::spec::Spec;

/// Samples are thinned out when there are this many.
const MAX_SAMPLES: usize = 1024;

/// Samples of the connections under test together.
pub(crate) struct Samples {
    enabled: bool,
    /// Of so many looks one is kept.
    every: u64,
    kept: Vec<Sample>,
}

impl Samples {
    pub(crate) fn new(spec: &Spec) -> Self {
        Samples { enabled: spec.series, every: 1, kept: vec![] }
    }

    /// Keeps a look that was due at `at_ns` and was taken at `taken_ns`, if its turn has come.
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
        // Windows and RTTs of several connections do not add up. Those of the first one are written last, and
        // stay.
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
            self.kept.retain(|sample| (sample.at_ns / period_ns).is_multiple_of(every));
        }
    }

    pub(crate) fn into_vec(self) -> Vec<Sample> {
        self.kept
    }
}
