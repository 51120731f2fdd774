//! Paces packets.

use std::time::{Duration, Instant};

/// An even rate of packets of one size.
#[derive(Debug)]
pub(super) struct Pace {
    begin: Instant,
    packets_per_s: f64,
    sent: u64,
}

impl Pace {
    /// Time between two calls of `due`.
    pub(super) const TICK: Duration = Duration::from_millis(2);
    /// Packets delayed by more than this are dropped, s.
    const LONGEST_DELAY: f64 = 0.05;

    /// Packets of `bytes` at `bps` from `begin`.
    pub(super) fn new(bps: u64, bytes: usize, begin: Instant) -> Self {
        Pace {
            begin,
            packets_per_s: bps as f64 / (8.0 * bytes as f64),
            sent: 0,
        }
    }

    /// Number of packets due by `now` that were not returned before.
    pub(super) fn due(&mut self, now: Instant) -> u64 {
        let all =
            (now.saturating_duration_since(self.begin).as_secs_f64() * self.packets_per_s) as u64;
        let most = (self.packets_per_s * Self::LONGEST_DELAY) as u64 + 1;
        let due = all.saturating_sub(self.sent).min(most);
        self.sent = all;
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_are_due_at_an_even_rate_and_long_delays_are_not_caught_up() {
        let begin = Instant::now();
        // 8 Mbit/s in packets of 1000 B: one per millisecond.
        let mut pace = Pace::new(8_000_000, 1000, begin);
        let due = [2500, 4500, 5200].map(|us| pace.due(begin + Duration::from_micros(us)));
        assert_eq!(due, [2, 2, 1]);
        // After a second's delay, 50 ms of packets plus one are due.
        assert_eq!(pace.due(begin + Duration::from_micros(1_005_500)), 51);
        assert_eq!(pace.due(begin + Duration::from_micros(1_006_500)), 1);
    }
}
