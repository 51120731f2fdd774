//! Estimates the application's offered load, messages per second and their mean size, and the delay
//! that the set in use gives them.

use joulepath_model::units::Nanos;

use super::super::selector::LOOK;
use super::super::snapshot::{Demand, Snapshot};

/// Time constant of both estimates, of the load at least, s.
const TIME_S: f64 = 5.0;
/// The time constant is the length of this many bursts with their pauses, if that is longer. Then a
/// pause does not close what the next burst needs.
const CYCLES: u32 = 4;
/// A shorter time without a write is no pause, s.
const LEAST_PAUSE_S: f64 = 0.5;
/// Maximum time constant, s.
const LONGEST_TIME_S: f64 = 60.0;
/// An interval longer than this is not evidence of the present load, s.
const LONGEST_LOOK_S: f64 = 1.0;
/// A shorter measurement of the delay depends on when the last message came, s.
const LEAST_DELAY_S: f64 = 1.0;

/// Offered load so far.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Offered {
    /// Bytes written by the last decision.
    written: f64,
    /// Bytes and messages per second, smoothed.
    bytes_per_s: f64,
    messages_per_s: f64,
    /// Part of the time in which writes follow one another without a pause, smoothed.
    steady: f64,
    /// Pauses per second, smoothed.
    pauses_per_s: f64,
    /// Square of the bytes per second, smoothed.
    squares: f64,
    /// Length of a look, s.
    look_s: f64,
    /// Observed time, saturating at the time constant of the load, s.
    seen_s: f64,
    /// Bytes written before the set in use carried anything.
    older: f64,
    wait: Wait,
    bursts: Bursts,
}

/// Bursts of writes, and the pauses between them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Bursts {
    count: u32,
    /// Begin of the latest.
    since: Nanos,
    /// Time since the last write, s.
    quiet_s: f64,
    /// Mean time from one begin to the next, s; 0 before the second.
    cycle_s: f64,
}

/// Data written and data waiting since the set in use carries all of it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Wait {
    /// Bytes per second, smoothed.
    bytes_per_s: f64,
    /// What waits, bytes, smoothed.
    waiting: f64,
    /// Observed time, saturating at the time constant, s.
    seen_s: f64,
}

impl Offered {
    /// Updates with a snapshot, `seconds` after the last one. All data written in between counts as
    /// one message.
    ///
    /// `is_new`: the set in use is too new to be judged by what waits.
    pub(super) fn observe(&mut self, snapshot: &Snapshot, seconds: f64, is_new: bool) {
        let Demand::Bytes(waiting) = snapshot.demand else {
            return;
        };
        let delivered: u64 = snapshot.paths.iter().map(|path| path.delivered_bytes).sum();
        let written = delivered as f64 + waiting;
        let new = (written - self.written).max(0.0);
        self.written = self.written.max(written);
        if seconds <= 0.0 || snapshot.now == Nanos::ZERO {
            return;
        }
        let seconds = seconds.min(LONGEST_LOOK_S);
        let (writes, paused) = (new >= 1.0, self.bursts.has_paused());
        self.bursts.observe(snapshot.now, writes, seconds);
        self.seen_s = (self.seen_s + seconds).min(self.bursts.time_s(snapshot.now));
        let weight = (seconds / self.seen_s).min(1.0);
        let smooth = |mean: &mut f64, value: f64| *mean += weight * (value - *mean);
        let count = |is: bool| f64::from(u8::from(is));
        smooth(&mut self.bytes_per_s, new / seconds);
        smooth(&mut self.messages_per_s, count(writes) / seconds);
        smooth(&mut self.steady, count(writes && !paused));
        smooth(&mut self.pauses_per_s, count(writes && paused) / seconds);
        let rate = new / seconds;
        smooth(&mut self.squares, rate * rate);
        self.look_s = seconds;
        if is_new || (delivered as f64) < self.older {
            self.wait = Wait::default();
        } else {
            self.wait.observe(waiting, rate, seconds);
        }
    }

    /// Call when the set in use changes: the data written so far waited for another set.
    pub(super) fn restart(&mut self) {
        self.older = self.written;
        self.wait = Wait::default();
    }

    /// Index of dispersion of the data written per interval, bits: variance over mean. It is the
    /// message size for random arrivals, 0 for a constant rate.
    pub(super) fn burst_bits(&self) -> f64 {
        let mean = self.bytes_per_s;
        if mean <= 0.0 {
            return 0.0;
        }
        8.0 * ((self.squares - mean * mean).max(0.0) * self.look_s / mean)
    }

    /// Mean time from writing to delivery over the set in use, s, by Little's law. `None` before it
    /// is known.
    pub(super) fn delay_s(&self) -> Option<f64> {
        let Wait {
            bytes_per_s,
            waiting,
            seen_s,
        } = self.wait;
        (bytes_per_s > 0.0 && seen_s >= LEAST_DELAY_S).then(|| waiting / bytes_per_s)
    }

    /// Messages per second; 0 before the first.
    pub(super) fn messages_per_s(&self) -> f64 {
        self.messages_per_s
    }

    /// Part of the time in which no write comes later than [`LOOK`] after the last.
    pub(super) fn steady(&self) -> f64 {
        self.steady
    }

    /// Longer times without a write, per second.
    pub(super) fn pauses_per_s(&self) -> f64 {
        self.pauses_per_s
    }

    /// Mean size of a message, bits; 0 before the first.
    pub(super) fn message_bits(&self) -> f64 {
        if self.messages_per_s > 0.0 {
            8.0 * self.bytes_per_s / self.messages_per_s
        } else {
            0.0
        }
    }
}

impl Bursts {
    fn observe(&mut self, now: Nanos, writes: bool, seconds: f64) {
        if !writes {
            self.quiet_s += seconds;
            return;
        }
        if self.count == 0 || self.quiet_s >= LEAST_PAUSE_S {
            if self.count > 0 {
                self.cycle_s +=
                    (self.age_s(now) - self.cycle_s) / f64::from(self.count.min(CYCLES));
            }
            (self.count, self.since) = (self.count + 1, now);
        }
        self.quiet_s = 0.0;
    }

    /// True if a write now comes after a pause in which a radio's tail begins: most profiles are
    /// active for [`LOOK`] after a packet.
    fn has_paused(&self) -> bool {
        self.count == 0 || self.quiet_s >= LOOK.as_secs_f64()
    }

    fn age_s(&self, now: Nanos) -> f64 {
        now.saturating_sub(self.since).as_secs_f64()
    }

    /// Time constant of the load, s. A pause under way counts as the end of its burst's cycle.
    fn time_s(&self, now: Nanos) -> f64 {
        let pauses = self.count > 0 && self.quiet_s >= LEAST_PAUSE_S;
        let cycle_s = if pauses {
            self.cycle_s.max(self.age_s(now))
        } else {
            self.cycle_s
        };
        (f64::from(CYCLES) * cycle_s).clamp(TIME_S, LONGEST_TIME_S)
    }
}

impl Wait {
    fn observe(&mut self, waiting: f64, bytes_per_s: f64, seconds: f64) {
        self.seen_s = (self.seen_s + seconds).min(TIME_S);
        let weight = (seconds / self.seen_s).min(1.0);
        self.bytes_per_s += weight * (bytes_per_s - self.bytes_per_s);
        self.waiting += weight * (waiting - self.waiting);
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::snapshot::PathSnapshot;
    use super::super::super::tests::at;
    use super::*;

    #[test]
    fn a_message_of_a_thousand_bytes_in_every_other_look() {
        let (mut offered, paths) = (Offered::default(), [PathSnapshot::default()]);
        for look in 1..=50_u64 {
            let snapshot = Snapshot {
                now: Nanos::from_millis(100 * look),
                ..at(0.0, Demand::Bytes((1000 * (look / 2)) as f64), &paths)
            };
            offered.observe(&snapshot, 0.1, false);
        }
        // Within the time constant all intervals have equal weight: 25 messages in 5 s.
        let near = |value: f64, expected: f64| (value / expected - 1.0).abs() < 1e-9;
        assert!(near(offered.messages_per_s(), 5.0), "{offered:?}");
        assert!(near(offered.message_bits(), 8000.0), "{offered:?}");
        // Rates of 0 and 10 kB/s: mean 5 kB/s, variance 25 (kB/s)^2; 25 / 5 kB/s * 0.1 s = 500
        // bytes.
        assert!(near(offered.burst_bits(), 4000.0), "{offered:?}");
    }

    /// 1 kB per decision in 3 of 10 s: 24 kbit/s in the mean, 80 in a burst. The load moves by a
    /// tenth or so around its mean, also at the end of a pause.
    #[test]
    fn a_pause_does_not_hide_the_next_burst() {
        let (mut offered, paths, mut written) =
            (Offered::default(), [PathSnapshot::default()], 0.0);
        for look in 1..=1000_u64 {
            written += if look % 100 < 30 { 1000.0 } else { 0.0 };
            let now = Nanos::from_millis(100 * look);
            offered.observe(
                &Snapshot {
                    now,
                    ..at(0.0, Demand::Bytes(written), &paths)
                },
                0.1,
                false,
            );
            let bps = offered.messages_per_s() * offered.message_bits();
            assert!(look < 500 || (20e3..28e3).contains(&bps), "{bps} at {look}");
        }
        assert!((0.25..0.33).contains(&offered.steady()), "{offered:?}");
        assert!(
            (0.08..0.12).contains(&offered.pauses_per_s()),
            "{offered:?}"
        );
        // A load that ends is forgotten.
        for look in 1001..=3000_u64 {
            let now = Nanos::from_millis(100 * look);
            offered.observe(
                &Snapshot {
                    now,
                    ..at(0.0, Demand::Bytes(written), &paths)
                },
                0.1,
                false,
            );
        }
        let bps = offered.messages_per_s() * offered.message_bits();
        assert!(bps < 2e3, "{bps}");
    }

    /// 10 kB/s; 20 kB wait for the old set: a delay of 2 s. The new set delivers them within 2 s,
    /// and then 1 kB waits: 0.1 s.
    #[test]
    fn a_backlog_of_the_old_set_is_not_the_new_ones() {
        let mut offered = Offered::default();
        let observe = |offered: &mut Offered, look: u64, waiting: u64, is_new: bool| {
            let paths = [PathSnapshot {
                delivered_bytes: 1000 * look - waiting,
                ..PathSnapshot::default()
            }];
            let demand = Demand::Bytes(waiting as f64);
            let now = Nanos::from_millis(100 * look);
            offered.observe(
                &Snapshot {
                    now,
                    ..at(0.0, demand, &paths)
                },
                0.1,
                is_new,
            );
        };
        (20..=400).for_each(|look| observe(&mut offered, look, 20_000, false));
        assert!(
            (offered.delay_s().unwrap() - 2.0).abs() < 0.1,
            "{offered:?}"
        );
        offered.restart();
        // Old data still waits, and the set is new for 0.5 s more after that.
        (401..=409).for_each(|look| observe(&mut offered, look, 19_000, false));
        (410..=424).for_each(|look| observe(&mut offered, look, 1000, true));
        assert_eq!(offered.delay_s(), None);
        (425..=436).for_each(|look| observe(&mut offered, look, 1000, false));
        assert!(
            (offered.delay_s().unwrap() - 0.1).abs() < 1e-9,
            "{offered:?}"
        );
    }
}
