//! When packets passed, from counters that are read now and then: pure.
//!
//! A reading gives the packets of an interval, not their times. A burst that began or ended between
//! two readings would look longer than it was, and the radio would seem to stay awake longer.
//! Beside a quiet interval, a burst fills only as much of its own as its bytes need at the rate of
//! the other neighbour, or at the highest rate seen.

use joulepath_model::units::Nanos;

/// Traffic of an interface in an interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Passed {
    /// Bytes received, with link-layer headers.
    pub received_bytes: u64,
    /// Bytes sent, with link-layer headers.
    pub sent_bytes: u64,
    /// In both directions.
    pub packets: u64,
}

impl Passed {
    /// Adds later traffic.
    pub(crate) fn add(&mut self, other: Passed) {
        self.received_bytes += other.received_bytes;
        self.sent_bytes += other.sent_bytes;
        self.packets += other.packets;
    }

    /// Bytes in both directions.
    pub(crate) fn bytes(self) -> u64 {
        self.received_bytes.saturating_add(self.sent_bytes)
    }
}

/// An interval, and when its packets passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placed {
    /// Start of the interval.
    pub from: Nanos,
    /// End of the interval.
    pub until: Nanos,
    /// When the first packet passed.
    pub first: Nanos,
    /// When the last packet passed.
    pub last: Nanos,
    /// The traffic.
    pub passed: Passed,
}

impl Placed {
    /// Packets spread evenly over the whole interval.
    pub fn evenly(from: Nanos, until: Nanos, passed: Passed) -> Self {
        Placed {
            from,
            until,
            first: from,
            last: until,
            passed,
        }
    }

    fn length(&self) -> Nanos {
        self.until.saturating_sub(self.from)
    }

    fn rate(&self) -> f64 {
        self.passed.bytes() as f64 / self.length().as_secs_f64().max(1e-9)
    }

    fn is_quiet(&self) -> bool {
        self.passed.packets == 0
    }
}

/// Places the packets of each interval as soon as the next interval is known.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Placing {
    before: Placed,
    /// The last interval; its packets are not placed yet.
    waits: Placed,
    /// The highest rate of an interval between two busy ones, bytes/s.
    fastest: f64,
}

impl Placing {
    pub(crate) fn new(now: Nanos) -> Self {
        let quiet = Placed::evenly(now, now, Passed::default());
        Placing {
            before: quiet,
            waits: quiet,
            fastest: 0.0,
        }
    }

    /// True if packets passed in the last interval.
    pub(crate) fn is_busy(&self) -> bool {
        !self.waits.is_quiet()
    }

    /// End of the last interval.
    pub(crate) fn at(&self) -> Nanos {
        self.waits.until
    }

    /// Takes in the interval that ends now. Returns the one before.
    pub(crate) fn next(&mut self, now: Nanos, passed: Passed) -> Placed {
        let after = Placed::evenly(self.waits.until, now.max(self.waits.until), passed);
        let placed = self.place(after);
        (self.before, self.waits) = (self.waits, after);
        placed
    }

    fn place(&mut self, after: Placed) -> Placed {
        let Placed { from, until, .. } = self.waits;
        let [begins, ends] = [self.before, after].map(|one| one.is_quiet());
        if self.waits.is_quiet() || !(begins || ends) {
            let is_full = !(self.waits.is_quiet() || begins || ends);
            self.fastest = self
                .fastest
                .max(if is_full { self.waits.rate() } else { 0.0 });
            return self.waits;
        }
        let spare = self.waits.length().saturating_sub(self.busy(after));
        let (first, last) = match (begins, ends) {
            (true, false) => (from.saturating_add(spare), until),
            (false, _) => (from, until.saturating_sub(spare)),
            (true, true) => {
                let half = Nanos(spare.0 / 2);
                (from.saturating_add(half), until.saturating_sub(half))
            }
        };
        Placed {
            first,
            last,
            ..self.waits
        }
    }

    /// How long the packets of an interval next to a quiet one took.
    fn busy(&self, after: Placed) -> Nanos {
        let beside = self.before.rate().max(after.rate());
        let rate = if beside > 0.0 { beside } else { self.fastest };
        let length = self.waits.length();
        match (self.waits.passed.packets, rate > 0.0) {
            (1, _) => Nanos::ZERO,
            // Without any rate: the mean of what is possible.
            (_, false) => Nanos(length.0 / 2),
            (_, true) => {
                Nanos::from_secs_f64(length.as_secs_f64() * (self.waits.rate() / rate).min(1.0))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Nanos = Nanos::from_millis;

    fn packets(packets: u64) -> Passed {
        Passed {
            received_bytes: packets * 1000,
            sent_bytes: 0,
            packets,
        }
    }

    /// First and last packet, ms, of intervals of 100 ms with so many packets.
    fn placed(counts: &[u64]) -> Vec<[u64; 2]> {
        let mut placing = Placing::new(Nanos::ZERO);
        let ends = (1..).map(|k| MS(100 * k));
        let all = counts
            .iter()
            .chain(&[0])
            .zip(ends)
            .map(|(&count, at)| placing.next(at, packets(count)));
        all.skip(1)
            .map(|one| [one.first, one.last].map(|at| at.0 / 1_000_000))
            .collect()
    }

    #[test]
    fn a_burst_lasts_as_long_as_its_bytes_need_at_the_rate_of_its_middle() {
        // 10 packets in 100 ms: 5 take 50 ms, 2 take 20 ms.
        assert_eq!(
            placed(&[0, 5, 10, 2, 0])[1..4],
            [[150, 200], [200, 300], [300, 320]]
        );
        // A burst within one interval is in its middle, at the rate of the last one.
        assert_eq!(placed(&[10, 10, 10, 0, 4, 0])[4], [430, 470]);
    }

    #[test]
    fn steady_traffic_fills_every_interval_and_a_packet_alone_takes_no_time() {
        assert_eq!(placed(&[8, 8, 8, 8])[1..3], [[100, 200], [200, 300]]);
        assert_eq!(placed(&[0, 1, 0])[1], [150, 150]);
        // No rate is known yet.
        assert_eq!(placed(&[0, 3, 0])[1], [125, 175]);
    }
}
