//! What a subflow carried over time: whether that was all its path carries, and how even it was.

use joulepath_kernel::mptcp::TcpInfo;

use crate::subject::{Flow, Subject, at};

/// A rate is taken over this long, s: bursts of acknowledgements do not exceed the capacity for
/// longer.
const SPAN_S: f64 = 1.0;
/// A shorter queue is jitter: part of the minimum RTT, or packets that a delayed ACK releases at
/// once (RFC 5681, section 4.2).
const EMPTY: f64 = 0.05;
const BURST: f64 = 2.0;
/// Spread of the rates of a path that is always full. The rate of a radio varies: with a queue of
/// this part of the minimum RTT, which is no burst of a small window, its spread may be larger.
const EVEN: f64 = 0.2;
const LONG: (f64, f64) = (1.0, 1.0);
/// Fewer intervals have no spread.
const LEAST_INTERVALS: usize = 6;

impl Flow<'_> {
    /// Rates between neighbouring samples, bit/s, and their times, s.
    fn rates(&self, sending: bool) -> Vec<(f64, f64)> {
        // Bytes are acknowledged in jumps after a loss, packets are delivered evenly.
        let size_bytes = self.sent_packet_bytes();
        let bytes = |pair: &[&TcpInfo]| match sending {
            true => {
                let packets = pair[1]
                    .delivered_packets
                    .saturating_sub(pair[0].delivered_packets);
                f64::from(packets) * size_bytes
            }
            false => pair[1]
                .received_bytes
                .saturating_sub(pair[0].received_bytes) as f64,
        };
        let times = self
            .times_s
            .windows(2)
            .map(|pair| (pair[1] - pair[0]).max(1e-3));
        let rates = self
            .series
            .windows(2)
            .zip(times)
            .map(|(pair, s)| (bytes(pair) * 8.0 / s, s));
        rates.collect()
    }

    /// What its path carries at least, bit/s: the mean if that is its capacity, else the highest
    /// rate over a second.
    pub fn carried_bps(&self, sending: bool) -> f64 {
        let mean_bps = if sending {
            self.sent_bps()
        } else {
            self.received_bps()
        };
        let all = self.rates(sending);
        let span = ((SPAN_S / self.interval_s()).ceil() as usize).clamp(1, all.len().max(1));
        let over = |some: &[(f64, f64)]| {
            let seconds: f64 = some.iter().map(|(_, s)| s).sum();
            some.iter().map(|(bps, s)| bps * s).sum::<f64>() / seconds.max(1e-3)
        };
        if self.is_full(sending) {
            over(&all)
        } else {
            all.windows(span).map(over).fold(mean_bps, f64::max)
        }
    }

    /// Distance of the 90 % and the 10 % quantile of the rates between samples, as a part of the
    /// median; `None` if there are too few.
    pub fn spread(&self, sending: bool) -> Option<f64> {
        let all: Vec<f64> = self
            .rates(sending)
            .into_iter()
            .map(|(bps, _)| bps)
            .collect();
        let [low, median, high] = [0.1, 0.5, 0.9].map(|quantile| at(&all, quantile).unwrap_or(0.0));
        (all.len() >= LEAST_INTERVALS && median > 0.0).then(|| (high - low) / median)
    }

    /// True if a queue stood on the path all the time: what it carried is its capacity.
    pub fn is_full(&self, sending: bool) -> bool {
        let Some((queue_s, rtt_s)) = self.queue_s(sending, 0.25).zip(self.min_rtt_s()) else {
            return false;
        };
        let mean_bps = if sending {
            self.sent_bps()
        } else {
            self.received_bps()
        };
        let packet_s = 12e3 / mean_bps.max(1.0);
        let even = if queue_s >= LONG.0 * rtt_s {
            LONG.1
        } else {
            EVEN
        };
        queue_s > (EMPTY * rtt_s).max(BURST * packet_s)
            && self.spread(sending).is_some_and(|spread| spread <= even)
    }
}

impl Subject<'_> {
    /// True if every subflow in use fills its path: no window and no buffer limits the connection.
    pub fn fills_its_paths(&self) -> bool {
        let sending = self.uploads();
        let mut used = self
            .flows
            .iter()
            .filter(|flow| !flow.is_backup())
            .peekable();
        used.peek().is_some() && used.all(|flow| flow.is_full(sending))
    }
}
