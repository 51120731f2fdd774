//! Progress of a transfer over one path: handshake, slow start, then a TCP's window under loss.
//!
//! The first window starts to arrive two round trips after the first packet (a SYN, then the server
//! sends). Slow start lasts until the first loss, the path's or that of its queue: of d packets, it
//! sends E n on average before that (Cardwell, Savage and Anderson, INFOCOM 2000, eq. 5), p the
//! loss events per packet:
//!
//! ```text
//!   E n = (1 − (1 − p)^d) (1 − p)/p + 1
//! ```
//! The loss halves the window. Then the window W falls, or grows, to its mean W∞ in the long run.
//! Between two events W² grows by 2 per packet, and an event divides it by 4, so after s packets
//!
//! ```text
//!   W² = W∞² + (W₀² − W∞²) e^(−p s)
//! ```
//! The link always bounds the rate, and a queue of one bandwidth-delay product bounds the window.

use crate::slow_start::OPENING_RTTS;
use crate::spread::used;

/// A path's queue, if its bandwidth-delay product is less, packets.
pub const QUEUE_PACKETS: f64 = 20.0;
/// Initial window, packets (RFC 6928).
const INITIAL_WINDOW: f64 = 10.0;
/// Steps of the window's way to its mean, and the loss events that the way takes.
const STEPS: u32 = 24;
const EVENTS: f64 = 4.0;

/// Window that a path and its queue hold, packets.
pub(super) fn most_window(path_packets: f64) -> f64 {
    path_packets + path_packets.max(QUEUE_PACKETS)
}

/// A TCP on a path. Rates are in packets/s.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Flow {
    pub(super) rtt_s: f64,
    /// The link's rate.
    pub(super) link_pps: f64,
    /// Its mean rate under the path's loss, if the link were infinitely fast.
    pub(super) steady_pps: f64,
    /// Loss events per packet.
    pub(super) events: f64,
    /// Part of the time for which lost retransmissions stop it.
    pub(super) stalled: f64,
}

impl Flow {
    /// Its rate in the long run.
    pub(super) fn lasting_pps(&self) -> f64 {
        match self.events > 0.0 {
            true => (1.0 - self.stalled) * self.link_pps * used(self.steady_pps / self.link_pps),
            false => self.link_pps,
        }
    }
}

/// Packets that have arrived over time, as a line with corners.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Course {
    /// From the first packet to the first data, s.
    pub(super) opening_s: f64,
    /// Seconds after the first data, and packets until then; both ascend from 0.
    corners: Vec<[f64; 2]>,
    /// Rate after the last corner.
    last_pps: f64,
    /// Packets until the path's first loss; `None` if the transfer ends before.
    first_loss: Option<f64>,
    /// The window that overflows the queue, packets, and the time that the repair of its losses
    /// adds, s: the link is busy with what the queue holds until they are sent again, but for a
    /// round trip without queue.
    overflow: (f64, f64),
}

impl Course {
    /// The course of a transfer of `packets`.
    pub(super) fn of(flow: &Flow, packets: f64) -> Self {
        let most = most_window(flow.link_pps * flow.rtt_s);
        let mut course = Course {
            opening_s: OPENING_RTTS * flow.rtt_s,
            corners: vec![[0.0; 2]],
            last_pps: flow.link_pps,
            first_loss: None,
            overflow: (most, flow.rtt_s),
        };
        if flow.rtt_s > 0.0 {
            course.slow_start(flow, packets);
        }
        if flow.events > 0.0 {
            course.lose(flow, packets);
        }
        course
    }

    /// Adds the windows that are too small for the link.
    fn slow_start(&mut self, flow: &Flow, packets: f64) {
        let (mut window, mut sent) = (INITIAL_WINDOW, 0.0);
        let mut round_s = 0.0;
        while window < flow.link_pps * flow.rtt_s && sent < packets {
            sent += window;
            self.corners.push([round_s + window / flow.link_pps, sent]);
            round_s += flow.rtt_s;
            self.corners.push([round_s, sent]);
            window *= 2.0;
        }
    }

    /// Ends slow start with the first loss, and adds the window's way to its mean.
    fn lose(&mut self, flow: &Flow, packets: f64) {
        let p = flow.events;
        let until_loss = (1.0 - libm::pow(1.0 - p, packets)) * (1.0 - p) / p + 1.0;
        if until_loss >= packets {
            return;
        }
        self.first_loss = Some(until_loss);
        let mut seconds = self.arrival_s(until_loss);
        self.corners.retain(|corner| corner[1] < until_loss);
        self.corners.push([seconds, until_loss]);
        let first = (0.5 * (INITIAL_WINDOW + until_loss)).min(0.5 * self.overflow.0);
        let mean = flow.steady_pps * flow.rtt_s;
        let mut sent = until_loss;
        let step = EVENTS / p / f64::from(STEPS);
        for k in 0..STEPS {
            let kept = libm::exp(-p * step * (f64::from(k) + 0.5));
            let window = (mean * mean + (first * first - mean * mean) * kept).sqrt();
            seconds += step / (window / flow.rtt_s).min(flow.link_pps) / (1.0 - flow.stalled);
            sent += step;
            self.corners.push([seconds, sent]);
        }
        self.last_pps = flow.lasting_pps();
    }

    /// Packets that are sent until `seconds` after the first data arrives: those acknowledged, and
    /// a window.
    pub(super) fn sent(&self, flow: &Flow, seconds: f64) -> f64 {
        let half_s = 0.5 * flow.rtt_s;
        if half_s == 0.0 || seconds < -half_s {
            return self.packets(seconds);
        }
        let acknowledged = self.packets(seconds - half_s);
        let most = match self.first_loss {
            Some(first_loss) if acknowledged >= first_loss => flow.lasting_pps() * flow.rtt_s,
            _ => self.overflow.0,
        };
        acknowledged + (INITIAL_WINDOW + acknowledged).min(most)
    }

    /// Time from the first data until a part of `packets` has arrived, s.
    pub(super) fn time_s(&self, packets: f64) -> f64 {
        self.arrival_s(packets) + self.repair_s(packets)
    }

    /// Time that losses by the queue add to a part that ends in the round trip in which slow start
    /// overflows it: later data would hide their repair.
    fn repair_s(&self, packets: f64) -> f64 {
        let (most, repair_s) = self.overflow;
        let from = 2.0 * most - INITIAL_WINDOW;
        let is_lossless = self.first_loss.is_none_or(|loss| loss > from);
        if is_lossless && most > INITIAL_WINDOW && packets > from && packets < from + most {
            repair_s
        } else {
            0.0
        }
    }

    fn arrival_s(&self, packets: f64) -> f64 {
        let after = self.corners.partition_point(|corner| corner[1] < packets);
        match (
            after.checked_sub(1).map(|before| self.corners[before]),
            self.corners.get(after),
        ) {
            (None, _) => 0.0,
            (Some([s, n]), Some([s1, n1])) => s + (packets - n) * (s1 - s) / (n1 - n),
            (Some([s, n]), None) => s + (packets - n) / self.last_pps,
        }
    }

    /// Packets that have arrived `seconds` after the first data.
    pub(super) fn packets(&self, seconds: f64) -> f64 {
        let after = self.corners.partition_point(|corner| corner[0] <= seconds);
        match (
            after.checked_sub(1).map(|before| self.corners[before]),
            self.corners.get(after),
        ) {
            (None, _) => 0.0,
            (Some([s, n]), Some([s1, n1])) => n + (seconds - s) * (n1 - n) / (s1 - s),
            (Some([s, n]), None) => n + (seconds - s) * self.last_pps,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1000 packets/s and 100 ms: 100 packets fill the link.
    const FLOW: Flow = Flow {
        rtt_s: 0.1,
        link_pps: 1000.0,
        steady_pps: f64::INFINITY,
        events: 0.0,
        stalled: 0.0,
    };

    #[track_caller]
    fn assert_close(actual: f64, expected: f64) {
        assert!(
            (actual - expected).abs() <= 1e-9 * expected.abs(),
            "{actual} ≠ {expected}"
        );
    }

    /// 10, 20, 40 and 80 packets leave gaps; 150 packets arrive until 400 ms, then 1000 a second.
    #[test]
    fn windows_double_until_they_fill_the_link() {
        let course = Course::of(&FLOW, 1e4);
        assert_close(course.opening_s, 0.2);
        for (packets, seconds) in [
            (10.0, 0.010),
            (30.0, 0.120),
            (70.0, 0.240),
            (150.0, 0.380),
            (850.0, 1.1),
        ] {
            assert_close(course.time_s(packets), seconds);
            assert_close(course.packets(seconds), packets);
        }
    }

    /// A window of 200 packets overflows path and queue when 390 are sent. The losses of a part
    /// that ends within the next 200 are repaired a round trip of 100 ms later.
    #[test]
    fn a_part_that_ends_with_losses_by_the_queue_takes_a_round_trip_more() {
        let course = Course::of(&FLOW, 1e4);
        assert_close(course.time_s(390.0), 0.4 + 0.240);
        assert_close(course.time_s(400.0), 0.4 + 0.250 + 0.1);
        assert_close(course.time_s(590.0), 0.4 + 0.440);
    }

    /// 1 % of loss: 100 packets until the first. From then on the rate falls to 200 packets/s.
    #[test]
    fn the_first_loss_ends_slow_start() {
        let lossy = Flow {
            steady_pps: 200.0,
            events: 0.01,
            ..FLOW
        };
        let course = Course::of(&lossy, 1e5);
        assert_close(course.time_s(70.0), 0.240);
        assert!((course.first_loss.unwrap() - 100.0).abs() < 1e-9);
        let second = |from: f64| course.packets(from + 1.0) - course.packets(from);
        assert!(
            second(0.5) > 250.0 && second(0.5) > second(1.5),
            "{} {}",
            second(0.5),
            second(1.5)
        );
        assert_close(second(20.0), 200.0);
        // A small part meets no loss on average.
        assert_eq!(Course::of(&lossy, 1.0).first_loss, None);
    }

    #[test]
    fn a_sender_is_ahead_by_a_window() {
        let course = Course::of(&FLOW, 1e4);
        assert_eq!(course.sent(&FLOW, -0.06), 0.0);
        assert_close(course.sent(&FLOW, -0.04), 10.0);
        // 10 are acknowledged at 60 ms, so 20 more are on the way.
        assert_close(course.sent(&FLOW, 0.06), 30.0);
        assert_close(course.sent(&FLOW, 2.05), course.packets(2.0) + 200.0);
    }
}
