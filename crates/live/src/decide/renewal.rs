//! When subflows that were lost are opened again: by a NAT that has forgotten them, a reset, an outage.
//!
//! The kernel's path manager opens none again while its endpoint stays, and a new endpoint in place of the
//! old one closes what is left of the old one, in all connections. So it is done only while none of its
//! subflows works, and each time later than the last one.

use joulepath_model::units::Nanos;

use super::lately::Lately;

/// First interval between two attempts, and how often it doubles: 640 s at most.
const FIRST: Nanos = Nanos::from_secs(5);
const MOST_DOUBLINGS: u32 = 7;
/// An attempt is forgotten after this time.
const FORGET: Nanos = Nanos::from_secs(600);

/// The attempts of one interface.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Renewal(Lately);

impl Renewal {
    /// When the next attempt may be.
    pub(crate) fn due(&self, now: Nanos) -> Nanos {
        let Some(tried) = self.0.last() else { return Nanos::ZERO };
        tried.saturating_add(Nanos(FIRST.0 << self.0.times(now, FORGET).saturating_sub(1)))
    }

    /// It is done.
    pub(crate) fn tried(&mut self, now: Nanos) {
        self.0.add(now, FORGET, MOST_DOUBLINGS + 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_attempt_comes_twice_as_late_as_the_last() {
        let (mut renewal, mut at) = (Renewal::default(), vec![]);
        for s in 0..3600 {
            if Nanos::from_secs(s) >= renewal.due(Nanos::from_secs(s)) {
                renewal.tried(Nanos::from_secs(s));
                at.push(s);
            }
        }
        // 5, 10, 20 … 320 s later; from then on one is forgotten in each 600 s.
        assert_eq!(at[..8], [0, 5, 15, 35, 75, 155, 315, 635]);
        assert!(at.len() <= 16, "{at:?}");
    }
}
