//! By how much messages over each set were later than its cost says.
//!
//! The cost knows RTT, rate and queueing, but no losses: a retransmission costs a round trip or a
//! timeout.

use super::cost::Set;

/// Time constant, s.
const TIME_S: f64 = 3.0;

/// Mean excess of all sets, s.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Delays {
    excess_s: Box<[f64; 1 << Set::BITS]>,
}

impl Default for Delays {
    fn default() -> Self {
        Delays {
            excess_s: Box::new([0.0; 1 << Set::BITS]),
        }
    }
}

impl Delays {
    /// For `seconds` messages over `set` took `excess_s` longer than its cost says.
    pub(super) fn observe(&mut self, set: Set, excess_s: f64, seconds: f64) {
        let mean_s = &mut self.excess_s[usize::from(set)];
        *mean_s += seconds / (seconds + TIME_S) * (excess_s.max(0.0) - *mean_s);
    }

    /// 0 for a set that was never used.
    pub(super) fn excess_s(&self, set: Set) -> f64 {
        self.excess_s[usize::from(set)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 3 s, the time constant, in steps of 0.1 s: 1 − (3/3.1)³⁰ = 0.626 of what is observed.
    #[test]
    fn an_excess_is_learnt_for_its_set_alone() {
        let mut delays = Delays::default();
        (0..30).for_each(|_| delays.observe(3, 0.2, 0.1));
        assert!(
            (delays.excess_s(3) - 0.2 * 0.626).abs() < 1e-4,
            "{}",
            delays.excess_s(3)
        );
        assert_eq!(delays.excess_s(1), 0.0);
        (0..300).for_each(|_| delays.observe(3, -1.0, 0.1));
        assert!(
            (0.0..1e-4).contains(&delays.excess_s(3)),
            "what is early is on time"
        );
    }
}
