//! Random worlds whose parameters never occur while rules are tuned.

use joulepath_model::random::{Domain, Stream};

/// Which half of all parameters: for choosing thresholds, or for judging them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Half {
    Tuning,
    Judging,
}

/// Bins of each range; the halves alternate, so that both cover all of it and share no value.
const BINS: f64 = 8.0;

pub(crate) struct Draw {
    stream: Stream,
    half: Half,
}

impl Draw {
    pub(crate) fn new(half: Half, seed: u64) -> Self {
        Draw {
            stream: Stream::new(seed, Domain::Workload, 0),
            half,
        }
    }

    /// Log-uniform over the half's bins of a range.
    pub(crate) fn range(&mut self, low: f64, high: f64) -> f64 {
        let bin = (self.stream.uniform() * BINS / 2.0).floor() * 2.0
            + f64::from(u8::from(self.half == Half::Judging));
        let place = (bin + 0.02 + 0.96 * self.stream.uniform()) / BINS;
        low * (high / low).powf(place)
    }

    pub(crate) fn chance(&mut self, part: f64) -> bool {
        self.stream.uniform() < part
    }

    pub(crate) fn one_of<T: Copy>(&mut self, all: &[T]) -> T {
        all[(self.stream.uniform() * all.len() as f64) as usize]
    }
}
