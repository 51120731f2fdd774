//! What each set carried while it was in use.
//!
//! The paths of a set need not carry what each carries alone: a coupled sender divides one TCP's rate over
//! them, and they may share a link.

use super::capacity::RATE_TIME_S;
use super::cost::Set;

/// Measured rates of all sets.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Totals {
    bps: Box<[f64; 1 << Set::BITS]>,
}

impl Default for Totals {
    fn default() -> Self {
        Totals { bps: Box::new([0.0; 1 << Set::BITS]) }
    }
}

impl Totals {
    /// For `seconds` more data waited than the windows of `set` admit, and it carried `rate_bps`.
    pub(super) fn observe(&mut self, set: Set, rate_bps: f64, seconds: f64) {
        let mean_bps = &mut self.bps[usize::from(set)];
        let weight = if *mean_bps == 0.0 { 1.0 } else { seconds / (seconds + RATE_TIME_S) };
        *mean_bps += weight * (rate_bps - *mean_bps);
    }

    /// 0 for a set that was never full.
    pub(super) fn bps(&self, set: Set) -> f64 {
        self.bps[usize::from(set)]
    }
}
