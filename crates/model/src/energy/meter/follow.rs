//! Power by signal and rates of one active radio. ACTIVE is divided into windows of at most
//! a second, as the measurements were: power at the window's signal and mean rates, times active
//! time.

use super::clock::{Span, Stamp};
use crate::energy::radios::RadioTable;
use crate::result::EnergySplit;
use crate::signal::signal_at;
use crate::units::{Dbm, Nanos};

/// Longest window, and the interval of the measurements.
const WINDOW: Nanos = Nanos::from_secs(1);
/// Rates are over at least this time: a lone packet is no burst at an infinite rate.
const LEAST_S: f64 = 0.1;

#[derive(Clone, Debug)]
pub(super) struct Follower {
    radio: &'static RadioTable,
    series: Vec<(Nanos, Dbm)>,
    /// Start of the window.
    from: Nanos,
    /// ACTIVE and bytes at the start of the window.
    active: Span,
    bytes: [u64; 2],
    closed: EnergySplit,
}

impl Follower {
    pub(super) fn new(radio: &'static RadioTable, series: Vec<(Nanos, Dbm)>, start: Nanos) -> Self {
        let (active, bytes, closed) = Default::default();
        Follower {
            radio,
            series,
            from: start,
            active,
            bytes,
            closed,
        }
    }

    /// End of the window: a second after its start, or at the next change of the signal.
    pub(super) fn due(&self) -> Nanos {
        let next = self.series.partition_point(|(at, _)| *at <= self.from);
        let change = self.series.get(next).map_or(Nanos::MAX, |(at, _)| *at);
        self.from.saturating_add(WINDOW).min(change)
    }

    /// Ends the window and begins the next at `now`, given ACTIVE and bytes since the start.
    pub(super) fn close(&mut self, now: Nanos, active: Span, bytes: [u64; 2], sharing_factor: f64) {
        let window = self.window(active, bytes, sharing_factor, true);
        self.closed.sunk_j += window.sunk_j;
        self.closed.transfer_j += window.transfer_j;
        (self.from, self.active, self.bytes) = (now, active, bytes);
    }

    /// Ends the window at `now` and begins the next one, with another signal from there on.
    pub(super) fn turn(
        &mut self,
        now: Nanos,
        signal: Dbm,
        (active, bytes): (Span, [u64; 2]),
        sharing_factor: f64,
    ) {
        self.close(now, active, bytes, sharing_factor);
        self.series = vec![(now, signal)];
    }

    fn window(
        &self,
        active: Span,
        bytes: [u64; 2],
        sharing_factor: f64,
        whole: bool,
    ) -> EnergySplit {
        let span = active.since(self.active);
        let (paid_s, active_s) = (span.weighted_secs(sharing_factor), span.weighted_secs(1.0));
        let passed = [bytes[0] - self.bytes[0], bytes[1] - self.bytes[1]];
        let signal = signal_at(&self.series, self.from);
        let idle_w = self.radio.power(signal, 0.0, 0.0).0;
        let sunk_j = idle_w * paid_s;
        if !whole || passed == [0, 0] {
            return EnergySplit {
                sunk_j,
                ..EnergySplit::default()
            };
        }
        let over_s = active_s.max(LEAST_S);
        let [down, up] = passed.map(|bytes| bytes as f64 * 8.0 / over_s);
        let shared = if active_s > 0.0 {
            paid_s / active_s
        } else {
            1.0
        };
        let transfer_j = (self.radio.power(signal, down, up).0 - idle_w) * over_s * shared;
        EnergySplit {
            sunk_j,
            transfer_j,
            ..EnergySplit::default()
        }
    }

    /// Starts the measurement.
    pub(super) fn restart(&mut self, here: Stamp) {
        let (active, bytes, closed) = Default::default();
        (self.from, self.active, self.bytes, self.closed) = (here.at, active, bytes, closed);
    }

    /// Energy of ACTIVE so far. Without the last window's transfer unless it is `whole`: its rate
    /// is not yet known, and no energy is taken back.
    pub(super) fn read(
        &self,
        active: Span,
        bytes: [u64; 2],
        sharing_factor: f64,
        whole: bool,
    ) -> EnergySplit {
        let window = self.window(active, bytes, sharing_factor, whole);
        EnergySplit {
            sunk_j: self.closed.sunk_j + window.sunk_j,
            transfer_j: self.closed.transfer_j + window.transfer_j,
            ..EnergySplit::default()
        }
    }
}
