//! Observations of an agent: data of `TCP_INFO` and the daemon, scaled to 0 to 1.
//!
//! Quantities of many magnitudes use logarithms: `log2(1 + x / unit) / octaves`, at most 1.

use joulepath_model::units::Nanos;
use joulepath_packet::{PathStatus, Status};

/// A scale: 0 at 0, 1 at `unit` · (2^`octaves` − 1) and above.
struct Scale {
    unit: f64,
    octaves: f64,
}

/// From 10 kbit/s up to 1.3 Gbit/s.
const RATE_BPS: Scale = Scale {
    unit: 10e3,
    octaves: 17.0,
};
/// From 1 ms up to 8.2 s.
const TIME_S: Scale = Scale {
    unit: 1e-3,
    octaves: 13.0,
};
/// From 1 packet up to 16383.
const PACKETS: Scale = Scale {
    unit: 1.0,
    octaves: 14.0,
};
/// From 10 mW up to 10.2 W.
const POWER_W: Scale = Scale {
    unit: 0.01,
    octaves: 10.0,
};

impl Scale {
    fn of(&self, x: f64) -> f32 {
        (libm::log2(1.0 + x.max(0.0) / self.unit) / self.octaves).min(1.0) as f32
    }
}

/// Observed values of each path, in this order: name and description.
pub const PATH_FEATURES: [(&str, &str); 9] = [
    (
        "there",
        "1 if the episode has this path; all else is 0 if not",
    ),
    ("open", "1 if its subflow may carry data"),
    (
        "rate",
        "payload that arrived in the last interval, log2(1 + x / 10 kbit/s) / 17",
    ),
    (
        "rtt",
        "smoothed RTT, log2(1 + x / 1 ms) / 13; 0 before the first sample",
    ),
    ("min_rtt", "least RTT, likewise"),
    (
        "loss",
        "retransmitted share of the segments sent in the last interval",
    ),
    ("in_flight", "packets in flight, log2(1 + x) / 14"),
    ("window", "congestion window, packets, likewise"),
    (
        "power",
        "mean of its interface in the last interval, log2(1 + x / 10 mW) / 10",
    ),
];

/// Observed values of the connection, after those of all paths.
pub const CONNECTION_FEATURES: [(&str, &str); 3] = [
    (
        "interval",
        "length of the last interval, log2(1 + x / 1 ms) / 13; 0 after a reset",
    ),
    (
        "left",
        "share of the file that has not arrived; 1 for work without end",
    ),
    (
        "time",
        "share of the time until the deadline that has passed, at most 1; 0 without a deadline",
    ),
];

/// Work and deadline of an episode.
pub(super) struct Work {
    /// Size of the file, bytes; `None` for other work.
    pub(super) bytes: Option<u64>,
    pub(super) deadline: Option<Nanos>,
}

impl Work {
    /// Fraction of the file that has not arrived.
    fn left(&self, delivered_bytes: u64) -> f64 {
        let left = |size: u64| size.saturating_sub(delivered_bytes) as f64 / size as f64;
        self.bytes.filter(|&size| size > 0).map_or(1.0, left)
    }

    fn passed(&self, now: Nanos) -> f64 {
        let passed = |deadline: Nanos| (now.as_secs_f64() / deadline.as_secs_f64()).min(1.0);
        self.deadline
            .filter(|deadline| deadline.0 > 0)
            .map_or(0.0, passed)
    }
}

/// Writes the observation at `now`, after an interval since `before`.
pub(super) fn observe(out: &mut [f32], before: &Status, now: &Status, work: &Work) {
    out.fill(0.0);
    let interval_s = now.now.as_secs_f64() - before.now.as_secs_f64();
    let rows = out.chunks_exact_mut(PATH_FEATURES.len());
    let unused = PathStatus::default();
    for (p, (row, path)) in rows.zip(&now.paths).enumerate() {
        let earlier = before.paths.get(p).unwrap_or(&unused);
        row.copy_from_slice(&features(earlier, path, interval_s));
    }
    let of_connection = [
        TIME_S.of(interval_s),
        work.left(now.delivered_bytes) as f32,
        work.passed(now.now) as f32,
    ];
    let at = out.len() - of_connection.len();
    out[at..].copy_from_slice(&of_connection);
}

fn features(before: &PathStatus, now: &PathStatus, interval_s: f64) -> [f32; PATH_FEATURES.len()] {
    let per_s = |amount: f64| {
        if interval_s > 0.0 {
            amount / interval_s
        } else {
            0.0
        }
    };
    let sent = now.segments - before.segments;
    let again = now.retransmissions - before.retransmissions;
    let rtt = |rtt: Option<Nanos>| TIME_S.of(rtt.map_or(0.0, |rtt| rtt.as_secs_f64()));
    [
        1.0,
        f32::from(u8::from(now.open)),
        RATE_BPS.of(per_s(
            (now.delivered_bytes - before.delivered_bytes) as f64 * 8.0,
        )),
        rtt(now.srtt),
        rtt(now.min_rtt),
        if sent == 0 {
            0.0
        } else {
            again as f32 / sent as f32
        },
        PACKETS.of(now.in_flight.into()),
        PACKETS.of(now.cwnd.into()),
        // The end of the warm-up resets the meter.
        POWER_W.of(per_s(now.energy_j - before.energy_j)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 70 kbit/s: log2(1 + 7) / 17; 7 ms: log2(8) / 13; 3 packets: log2(4) / 14; 0.07 W: log2(8) /
    /// 10.
    #[test]
    fn each_feature_has_its_scale() {
        let status = |now_ms, bytes, energy_j| Status {
            now: Nanos::from_millis(now_ms),
            delivered_bytes: bytes,
            paths: vec![PathStatus {
                open: true,
                delivered_bytes: bytes,
                segments: bytes / 100,
                retransmissions: bytes / 400,
                srtt: Some(Nanos::from_millis(7)),
                min_rtt: None,
                in_flight: 3,
                cwnd: 0,
                energy_j,
            }],
            ..Status::default()
        };
        let mut seen = [9.0; 21];
        let work = Work {
            bytes: Some(7_000),
            deadline: Some(Nanos::from_millis(800)),
        };
        observe(
            &mut seen,
            &status(200, 0, 0.0),
            &status(400, 1_750, 0.014),
            &work,
        );
        let expected = [
            1.0,
            1.0,
            3.0 / 17.0,
            3.0 / 13.0,
            0.0,
            4.0 / 17.0,
            2.0 / 14.0,
            0.0,
            3.0 / 10.0,
        ];
        for (seen, expected) in seen.iter().zip(expected) {
            assert!((seen - expected as f32).abs() < 1e-6, "{seen} {expected}");
        }
        assert_eq!(seen[9..18], [0.0; 9], "there is no second path");
        assert_eq!(seen[19..], [0.75, 0.5]);
    }

    #[test]
    fn all_values_stay_between_0_and_1() {
        for scale in [RATE_BPS, TIME_S, PACKETS, POWER_W] {
            for x in [-1.0, 0.0, 1e-9, 1.0, 1e30, f64::MAX] {
                assert!((0.0..=1.0).contains(&scale.of(x)));
            }
        }
    }
}
