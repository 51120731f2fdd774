//! When to reopen subflows lost to a NAT timeout, a reset or an outage.
//!
//! The kernel's path manager reopens none while their endpoint exists. Replacing the endpoint
//! closes its remaining subflows in all connections. So the daemon does that only while none of
//! them works, at growing intervals.

use joulepath_model::units::Nanos;

use super::lately::Lately;

/// First interval between two attempts. It doubles up to 640 s.
const FIRST: Nanos = Nanos::from_secs(5);
const MOST_DOUBLINGS: u32 = 7;
/// The count of attempts drops by one for each such interval without another.
const FORGET: Nanos = Nanos::from_secs(600);

/// The attempts of one interface.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Renewal(Lately);

impl Renewal {
    /// When the next attempt may happen.
    pub(crate) fn due(&self, now: Nanos) -> Nanos {
        let Some(tried) = self.0.last() else {
            return Nanos::ZERO;
        };
        tried.saturating_add(Nanos(
            FIRST.0 << self.0.times(now, FORGET).saturating_sub(1),
        ))
    }

    /// Records an attempt.
    pub(crate) fn tried(&mut self, now: Nanos) {
        self.0.add(now, FORGET, MOST_DOUBLINGS + 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_attempt_doubles_the_interval() {
        let (mut renewal, mut at) = (Renewal::default(), vec![]);
        for s in 0..3600 {
            if Nanos::from_secs(s) >= renewal.due(Nanos::from_secs(s)) {
                renewal.tried(Nanos::from_secs(s));
                at.push(s);
            }
        }
        // 5, 10, 20 … 320 s later; from then on one is forgotten every 600 s.
        assert_eq!(at[..8], [0, 5, 15, 35, 75, 155, 315, 635]);
        assert!(at.len() <= 16, "{at:?}");
    }
}
