//! Times and sizes of an application's writes. The simulator and the kernel engine use the same
//! random writes.

use joulepath_model::scenario::Workload;
use joulepath_model::units::{Bytes, Nanos};

use joulepath_model::random::{Domain, Stream};

/// One write of an application, and the time of its next action.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Write {
    /// Bytes to write now; may be zero.
    pub bytes: Bytes,
    /// When the application created them: before now if a message waited.
    pub since: Nanos,
    /// Time of the next action; none if it only reacts. It is now if more messages of the batch
    /// follow.
    pub next: Option<Nanos>,
}

/// The writes of one application, in order. Bulk data has none, because the sender always has data;
/// answers to requests have none, because requests trigger them.
#[derive(Clone, Debug)]
pub struct Writes {
    workload: Workload,
    random: Stream,
    /// Payload of a constant-bit-rate stream that is not written yet, bits.
    owed_bits: f64,
    /// Start of the current on-period of a stream.
    on_since: Nanos,
    /// End of the run.
    ends: Nanos,
    /// When the oldest message that is not written yet was or will be created.
    created: Nanos,
}

impl Writes {
    /// The writes of connection number `index` of a run that ends at `ends`.
    pub fn new(workload: Workload, seed: u64, index: u64, ends: Nanos) -> Self {
        let random = Stream::new(seed, Domain::Workload, index);
        Writes {
            workload,
            random,
            owed_bits: 0.0,
            on_since: Nanos::ZERO,
            ends,
            created: Nanos::ZERO,
        }
    }

    /// The workload that it follows.
    pub fn workload(&self) -> Workload {
        self.workload
    }

    /// Notes that the connection is established.
    pub fn start(&mut self, now: Nanos) -> Write {
        match self.workload {
            Workload::Bulk | Workload::Requests { .. } => Write::default(),
            Workload::File { size } => Write {
                bytes: size,
                since: now,
                next: None,
            },
            Workload::Messages {
                mean_gap,
                tolerance,
                ..
            } => {
                self.created = self.after_gap(now, mean_gap);
                Write {
                    next: Some(self.created + tolerance),
                    ..Write::default()
                }
            }
            Workload::Stream { .. } => {
                self.on_since = now;
                Write {
                    next: Some(now),
                    ..Write::default()
                }
            }
        }
    }

    /// Notes that the time of the last [`Write::next`] has come.
    pub fn wake(&mut self, now: Nanos) -> Write {
        match self.workload {
            Workload::Bulk | Workload::File { .. } | Workload::Requests { .. } => Write::default(),
            Workload::Messages {
                mean_gap,
                size,
                tolerance,
            } => {
                let since = self.created;
                self.created = self.after_gap(since, mean_gap);
                let next = if self.created <= now {
                    now
                } else {
                    self.created + tolerance
                };
                Write {
                    bytes: size,
                    since,
                    next: Some(next),
                }
            }
            Workload::Stream {
                rate,
                interval,
                on,
                off,
            } => {
                let lasts = self.until_next_write(now, interval, on, off);
                self.owed_bits += rate.bps() as f64 * lasts.as_secs_f64();
                let bytes = (self.owed_bits / 8.0) as u64;
                self.owed_bits -= (bytes * 8) as f64;
                let next = self.next_tick(now, interval, on, off);
                Write {
                    bytes: Bytes(bytes),
                    since: now,
                    next: Some(next).filter(|next| *next < self.ends),
                }
            }
        }
    }

    /// End of an exponentially distributed gap, as in a Poisson process.
    fn after_gap(&mut self, now: Nanos, mean_gap: Nanos) -> Nanos {
        Nanos(now.0 + (self.random.exponential(mean_gap.0 as f64) as u64).max(1))
    }

    /// The time that a write at `now` covers: up to the next write, the end of the on-period or of
    /// the run.
    fn until_next_write(&self, now: Nanos, interval: Nanos, on: Nanos, off: Nanos) -> Nanos {
        let off_from = if off == Nanos::ZERO {
            self.ends
        } else {
            self.ends.min(self.on_since + on)
        };
        interval.min(Nanos(off_from.0.saturating_sub(now.0)))
    }

    fn next_tick(&mut self, now: Nanos, interval: Nanos, on: Nanos, off: Nanos) -> Nanos {
        let next = Nanos(now.0 + interval.0);
        let on_until = Nanos(self.on_since.0 + on.0);
        if off == Nanos::ZERO || next < on_until {
            return next;
        }
        self.on_since = Nanos(on_until.0 + off.0);
        self.on_since
    }
}

/// Start of connection number `index` of a run: uniform within `spread` after `start`, so that
/// connections are not in phase and seeds differ.
pub fn start_within(seed: u64, index: u64, start: Nanos, spread: Nanos) -> Nanos {
    let mut random = Stream::new(seed, Domain::Start, index);
    Nanos(start.0 + random.below(spread.0.max(1)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use joulepath_model::units::BitRate;

    /// Times and sizes of the first `n` writes of an application that starts at 0.
    fn writes(workload: Workload, n: usize) -> Vec<(u64, u64)> {
        let mut application = Writes::new(workload, 1, 0, Nanos::from_secs(1_000));
        let mut next = application.start(Nanos::ZERO).next;
        let mut all = vec![];
        while all.len() < n {
            let now = next.expect("the application writes again");
            let write = application.wake(now);
            all.push((now.0, write.bytes.0));
            next = write.next;
        }
        all
    }

    #[test]
    fn a_stream_writes_while_on_and_carries_fractions_over() {
        // 1000 bit/s in ticks of 100 ms: 12.5 bytes each. On for 300 ms, off for 700 ms.
        let stream = Workload::Stream {
            rate: BitRate::from_bps(1000),
            interval: Nanos::from_millis(100),
            on: Nanos::from_millis(300),
            off: Nanos::from_millis(700),
        };
        let ms = |at: u64| at * 1_000_000;
        let expected = [
            (ms(0), 12),
            (ms(100), 13),
            (ms(200), 12),
            (ms(1000), 13),
            (ms(1100), 12),
            (ms(1200), 13),
        ];
        assert_eq!(writes(stream, 6), expected);
    }

    /// 8000 bit/s, on for half of each second: 500 bytes per second, whatever the interval.
    #[test]
    fn a_stream_keeps_its_rate_if_the_interval_is_longer_than_its_on_period() {
        let stream = |interval_ms: u64| Workload::Stream {
            rate: BitRate::from_bps(8000),
            interval: Nanos::from_millis(interval_ms),
            on: Nanos::from_millis(500),
            off: Nanos::from_millis(500),
        };
        let ms = |at: u64| at * 1_000_000;
        assert_eq!(writes(stream(5000), 2), [(ms(0), 500), (ms(1000), 500)]);
        let thirds = [
            (ms(0), 300),
            (ms(300), 200),
            (ms(1000), 300),
            (ms(1300), 200),
        ];
        assert_eq!(writes(stream(300), 4), thirds);
    }

    /// 8000 bit/s for 10 s are 10 kB; a connection that starts after 4 s writes 6 kB.
    #[test]
    fn a_stream_writes_no_more_than_its_rate_allows_until_the_run_ends() {
        for (interval_s, start_s, expected) in [(30, 0, 10_000), (4, 0, 10_000), (4, 4, 6_000)] {
            let (interval, on) = (Nanos::from_secs(interval_s), Nanos::from_secs(10));
            let stream = Workload::Stream {
                rate: BitRate::from_bps(8000),
                interval,
                on,
                off: Nanos::ZERO,
            };
            let mut application = Writes::new(stream, 1, 0, Nanos::from_secs(10));
            let mut next = application.start(Nanos::from_secs(start_s)).next;
            let mut bytes = 0;
            while let Some(at) = next {
                assert!(at < Nanos::from_secs(10));
                let write = application.wake(at);
                bytes += write.bytes.0;
                next = write.next;
            }
            assert_eq!(bytes, expected, "every {interval_s} s from {start_s} s");
        }
    }

    fn messages(tolerance: Nanos) -> Workload {
        Workload::Messages {
            mean_gap: Nanos::from_millis(10),
            size: Bytes(100),
            tolerance,
        }
    }

    /// The messages are those without a tolerance. The first that finds no batch opens one; it
    /// leaves exactly at the end of the first message's tolerance, with every message created until
    /// then.
    #[test]
    fn messages_leave_when_the_oldest_has_waited_for_its_tolerance() {
        let created: Vec<u64> = writes(messages(Nanos::ZERO), 1000)
            .iter()
            .map(|&(at, _)| at)
            .collect();
        let tolerance = Nanos::from_millis(40);
        let mut application = Writes::new(messages(tolerance), 1, 0, Nanos::from_secs(1_000));
        let mut next = application.start(Nanos::ZERO).next;
        let mut due = 0;
        for &since in &created {
            if since > due {
                due = since + tolerance.0;
            }
            assert_eq!(next, Some(Nanos(due)));
            let write = application.wake(Nanos(due));
            assert_eq!((write.bytes, write.since), (Bytes(100), Nanos(since)));
            next = write.next;
        }
    }

    #[test]
    fn messages_have_the_given_mean_gap() {
        let all = writes(messages(Nanos::ZERO), 10_000);
        let mean_ms = all[9_999].0 as f64 / 1e6 / 10_000.0;
        // Standard error of the mean of 10 000 exponentials: 1 %; five of them are tolerated.
        assert!((mean_ms - 10.0).abs() < 0.5, "{mean_ms} ms");
        assert!(all.iter().all(|&(_, bytes)| bytes == 100));
    }

    #[test]
    fn starts_lie_within_their_period_and_differ() {
        let start = |index| start_within(7, index, Nanos::from_secs(1), Nanos::from_secs(2));
        let all: Vec<u64> = (0..100).map(|index| start(index).0).collect();
        assert!(
            all.iter()
                .all(|at| (1_000_000_000..3_000_000_000).contains(at))
        );
        assert!(all.windows(2).all(|pair| pair[0] != pair[1]));
        assert_eq!(
            start_within(7, 3, Nanos::from_secs(1), Nanos::ZERO),
            Nanos::from_secs(1)
        );
    }
}
