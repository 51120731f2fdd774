//! The rate of a flow.

use std::time::{Duration, Instant};

/// Bytes per second up to which a flow is small: 1 Mbit/s. What it sends is sent twice.
const SMALL: u64 = 125_000;
const SECOND: Duration = Duration::from_secs(1);

/// Whether a flow is small, from second to second.
#[derive(Debug)]
pub(crate) struct Rate {
    begun: Instant,
    bytes: u64,
    is_small: bool,
}

impl Rate {
    pub(crate) fn new(now: Instant) -> Self {
        Rate {
            begun: now,
            bytes: 0,
            is_small: true,
        }
    }

    /// Takes in bytes. True if the flow is small, and was in the second before.
    pub(crate) fn is_small(&mut self, now: Instant, bytes: usize) -> bool {
        let length = now.saturating_duration_since(self.begun);
        if length >= SECOND {
            self.is_small = self.bytes as f64 <= SMALL as f64 * length.as_secs_f64();
            (self.begun, self.bytes) = (now, 0);
        }
        self.bytes += bytes as u64;
        self.is_small &= self.bytes <= SMALL;
        self.is_small
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flow_above_a_megabit_per_second_is_not_small_until_it_has_been_for_a_second() {
        let start = Instant::now();
        let mut rate = Rate::new(start);
        // 1250 bytes so many times a second: 100 times is 1 Mbit/s.
        let mut second = |from: u64, times: u64| {
            let at = |n: u64| start + SECOND * from as u32 + SECOND * n as u32 / times as u32;
            let all: Vec<bool> = (0..times).map(|n| rate.is_small(at(n), 1250)).collect();
            all.iter().filter(|is_small| **is_small).count()
        };
        assert_eq!(second(0, 100), 100);
        assert_eq!(second(1, 200), 100);
        assert_eq!(second(2, 200), 0);
        assert_eq!(second(3, 50), 0);
        assert_eq!(second(4, 50), 50);
    }
}
