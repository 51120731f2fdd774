//! Departure times computed by hand.

use crate::common::{delivered_at, ms, with_rate};
use crate::managed::CODEL;
use joulepath_link::{Link, Outcome};
use joulepath_model::aqm::AqmSpec;
use joulepath_model::network::{JitterSpec, LinkSpec, LossSpec, Outage, QueueLimit, RateSpec};
use joulepath_model::units::{BitRate, Bytes, Nanos, Probability};

const MBIT: u64 = 1_000_000;

fn mbps(n: u64) -> RateSpec {
    RateSpec::Constant(BitRate::from_bps(n * MBIT))
}

/// 1500 bytes at 12 Mbit/s take 1 ms; delay 20 ms; at most 50 packets wait.
fn one_per_ms() -> LinkSpec {
    LinkSpec {
        delay: ms(20),
        ..with_rate(mbps(12))
    }
}

#[test]
fn a_packet_takes_its_transmission_time_and_the_delay() {
    let mut link = Link::new(&one_per_ms(), 0, 0);
    // Idle: 0 + 1 + 20. After it: 2 + 20. After a pause, idle again: 10 + 1 + 20.
    assert_eq!(delivered_at(link.offer(ms(0), 1500, false)), ms(21));
    assert_eq!(delivered_at(link.offer(ms(0), 1500, false)), ms(22));
    assert_eq!(delivered_at(link.offer(ms(10), 1500, false)), ms(31));
    // Half the bytes take half the time. It starts at 11 ms, at the end of the previous packet.
    assert_eq!(
        delivered_at(link.offer(ms(10), 750, false)),
        Nanos(31_500_000)
    );
}

#[test]
fn rounding_errors_do_not_accumulate() {
    // 100 bytes at 7 Mbit/s: 800/7 µs = 114 285.714… ns. Seven of them: 800 µs.
    let mut link = Link::new(&with_rate(mbps(7)), 0, 0);
    let expected = [
        114_286, 228_572, 342_858, 457_143, 571_429, 685_715, 800_000,
    ];
    for at in expected {
        assert_eq!(delivered_at(link.offer(Nanos::ZERO, 100, false)), Nanos(at));
    }
    // Without a queue each departure is rounded up separately.
    for _ in 0..7 {
        let now = ms(1);
        let mut link = link.clone();
        assert_eq!(delivered_at(link.offer(now, 100, false)), Nanos(1_114_286));
    }
}

#[test]
fn a_packet_that_arrives_at_the_end_of_a_transmission_follows_without_a_gap() {
    let mut link = Link::new(&with_rate(mbps(7)), 0, 0);
    let mut now = Nanos::ZERO;
    for _ in 0..7 {
        now = delivered_at(link.offer(now, 100, false));
    }
    assert_eq!(now, Nanos(800_000));
}

#[test]
fn a_hold_is_a_gap() {
    // Three packets leave at 342 857.14 ns, rounded up by 0.86. A fourth packet directly after them
    // would take 114 285 ns.
    let mut link = Link::new(&with_rate(mbps(7)), 0, 0);
    for _ in 0..3 {
        delivered_at(link.offer(Nanos::ZERO, 100, false));
    }
    link.hold_until(ms(1));
    assert_eq!(
        delivered_at(link.offer(Nanos::ZERO, 100, false)),
        Nanos(1_114_286)
    );
}

#[test]
fn the_long_run_rate_is_exact_to_a_millionth_from_1_kbps_to_100_gbps() {
    const PACKETS: u64 = 100_000;
    for bps in [1_000, 56_000, 7_654_321, 999_999_937, 100_000_000_000] {
        let rate = RateSpec::Constant(BitRate::from_bps(bps));
        let unbounded = LinkSpec {
            queue: QueueLimit::Packets(u32::MAX),
            ..with_rate(rate)
        };
        let mut link = Link::new(&unbounded, 0, 0);
        let last = (0..PACKETS)
            .map(|_| delivered_at(link.offer(Nanos::ZERO, 1477, false)))
            .last();
        let exact = (PACKETS * 1477 * 8) as f64 / bps as f64 * 1e9;
        let error = last.map_or(f64::NAN, |last| last.0 as f64 / exact - 1.0);
        assert!(
            (0.0..1e-6).contains(&(error + 1e-12)),
            "{bps} bit/s: {error}"
        );
    }
}

#[test]
fn a_link_is_fully_used_while_packets_wait() {
    let mut link = Link::new(&one_per_ms(), 0, 0);
    // 1.25 packets per ms are offered for 8 s. One per ms gets through, and 50 still wait at the
    // end.
    let delivered = (0..10_000u64)
        .filter(|i| {
            matches!(
                link.offer(Nanos(i * 800_000), 1500, false),
                Outcome::Delivered { .. }
            )
        })
        .count();
    assert_eq!(delivered, 8_000 + 50);
}

#[test]
fn the_packet_in_transmission_does_not_count_as_waiting() {
    for limit in [0, 1, 3, 7, 8, 50] {
        let mut link = Link::new(
            &LinkSpec {
                queue: QueueLimit::Packets(limit),
                ..one_per_ms()
            },
            0,
            0,
        );
        for _ in 0..=limit {
            delivered_at(link.offer(Nanos::ZERO, 1500, false));
        }
        assert_eq!(
            link.offer(Nanos::ZERO, 1500, false),
            Outcome::QueueDrop,
            "limit {limit}"
        );
        assert_eq!(link.queue_packets(Nanos::ZERO), limit);
        assert_eq!(link.queue_bytes(Nanos::ZERO), u64::from(limit) * 1500);
        // One nanosecond before the end of the first packet the queue is full; at its end there is
        // room for one packet.
        assert_eq!(
            link.offer(Nanos(999_999), 1500, false),
            Outcome::QueueDrop,
            "limit {limit}"
        );
        assert_eq!(
            delivered_at(link.offer(ms(1), 1500, false)),
            ms(22 + u64::from(limit))
        );
        assert_eq!(
            link.offer(ms(1), 1500, false),
            Outcome::QueueDrop,
            "limit {limit}"
        );
    }
}

#[test]
fn a_byte_queue_accepts_small_packets_when_large_ones_do_not_fit() {
    let mut link = Link::new(
        &LinkSpec {
            queue: QueueLimit::Bytes(Bytes(3_100)),
            ..one_per_ms()
        },
        0,
        0,
    );
    for _ in 0..3 {
        delivered_at(link.offer(Nanos::ZERO, 1500, false));
    }
    // One is in transmission, 3000 of 3100 bytes are taken.
    assert_eq!(link.queue_bytes(Nanos::ZERO), 3_000);
    assert_eq!(link.offer(Nanos::ZERO, 1500, false), Outcome::QueueDrop);
    assert_eq!(link.offer(Nanos::ZERO, 101, false), Outcome::QueueDrop);
    delivered_at(link.offer(Nanos::ZERO, 100, false));
    assert_eq!(link.queue_bytes(Nanos::ZERO), 3_100);
    assert_eq!(link.offer(Nanos::ZERO, 1, false), Outcome::QueueDrop);
    // At 1 ms one large packet has left the queue: 1500 bytes are free.
    delivered_at(link.offer(ms(1), 1500, false));
    assert_eq!(link.queue_packets(ms(1)), 3);
    assert_eq!(link.queue_bytes(ms(1)), 3_100);
    assert_eq!(link.queue_bytes(ms(10)), 0);
}

#[test]
fn an_idle_link_accepts_a_packet_larger_than_its_queue() {
    let mut link = Link::new(
        &LinkSpec {
            queue: QueueLimit::Bytes(Bytes(100)),
            ..one_per_ms()
        },
        0,
        0,
    );
    delivered_at(link.offer(Nanos::ZERO, 1500, false));
    assert_eq!(link.offer(Nanos::ZERO, 1500, false), Outcome::QueueDrop);
}

#[test]
fn capable_packets_are_marked_from_the_threshold_on() {
    let thresholds = [
        QueueLimit::Packets(2),
        QueueLimit::Bytes(Bytes(3_000)),
        QueueLimit::Bytes(Bytes(2_999)),
    ];
    for threshold in thresholds {
        let mut link = Link::new(
            &LinkSpec {
                ecn_threshold: Some(threshold),
                ..one_per_ms()
            },
            0,
            0,
        );
        // The packets find 0, 0, 1, 2, 3 waiting.
        let marks = [(); 5].map(|()| marked(link.offer(Nanos::ZERO, 1500, true)));
        assert_eq!(marks, [false, false, false, true, true], "{threshold:?}");
        assert!(
            !marked(link.offer(Nanos::ZERO, 1500, false)),
            "a packet that is not capable"
        );
        // Six were accepted. At 3 ms the fourth starts and two wait; at 4 ms one waits.
        assert!(
            marked(link.clone().offer(ms(3), 1500, true)),
            "{threshold:?}"
        );
        assert!(
            !marked(link.clone().offer(ms(4), 1500, true)),
            "{threshold:?}"
        );
    }
}

#[test]
fn a_threshold_of_zero_marks_every_capable_packet_and_one_beyond_the_limit_none() {
    let with = |threshold| LinkSpec {
        ecn_threshold: Some(QueueLimit::Packets(threshold)),
        queue: QueueLimit::Packets(4),
        ..one_per_ms()
    };
    let mut link = Link::new(&with(0), 0, 0);
    assert!(marked(link.offer(Nanos::ZERO, 1500, true)));
    assert!(!marked(link.offer(Nanos::ZERO, 1500, false)));
    let mut link = Link::new(&with(5), 0, 0);
    for _ in 0..5 {
        assert!(!marked(link.offer(Nanos::ZERO, 1500, true)));
    }
    assert_eq!(link.offer(Nanos::ZERO, 1500, true), Outcome::QueueDrop);
}

#[test]
fn a_link_marks_the_configured_share_of_capable_packets_behind_any_queue() {
    let codel = AqmSpec::Codel(CODEL);
    for aqm in [None, Some(codel)] {
        let spec = |percent: f64| LinkSpec {
            mark: Probability::new(percent / 100.0).unwrap(),
            aqm,
            ..one_per_ms()
        };
        let share = |percent: f64, ecn_capable: bool| {
            let mut link = Link::new(&spec(percent), 3, 0);
            let mut marks = 0;
            for n in 0..10_000 {
                let outcome = match link.offer(ms(30 * n), 1500, ecn_capable) {
                    Outcome::Held(_) => link.take(ms(30 * n + 29)).unwrap().outcome,
                    known => known,
                };
                marks += u32::from(marked(outcome));
            }
            marks
        };
        assert_eq!(share(0.0, true), 0);
        assert_eq!(share(100.0, true), 10_000);
        assert_eq!(share(100.0, false), 0);
        // 200 are expected; the standard deviation is 14.
        assert!((130..270).contains(&share(2.0, true)));
    }
}

#[test]
fn a_transmission_across_a_step_is_sent_partly_at_each_rate() {
    let steps = vec![
        (ms(0), BitRate::from_bps(12 * MBIT)),
        (ms(2), BitRate::from_bps(24 * MBIT)),
        (ms(4), BitRate::from_bps(0)),
        (ms(10), BitRate::from_bps(6 * MBIT)),
    ];
    let mut link = Link::new(&with_rate(RateSpec::Steps(steps)), 0, 0);
    // 1500 bytes take 1 ms at 12, 0.5 ms at 24, 2 ms at 6 Mbit/s. From 1.5 ms: half by 2 ms, the
    // other half in 0.25 ms.
    assert_eq!(
        delivered_at(link.offer(Nanos(1_500_000), 1500, false)),
        Nanos(2_250_000)
    );
    // 3000 bytes take 1 ms more: 3.25 ms. The next 3000 bytes: three quarters by 4 ms, a pause, and
    // the last quarter (750 bytes, 1 ms) from 10 ms.
    assert_eq!(
        delivered_at(link.offer(Nanos(1_500_000), 3000, false)),
        Nanos(3_250_000)
    );
    assert_eq!(
        delivered_at(link.offer(Nanos(1_500_000), 3000, false)),
        ms(11)
    );
    // From idle in the last piece.
    assert_eq!(delivered_at(link.offer(ms(20), 1500, false)), ms(22));
}

#[test]
fn steps_that_do_not_change_the_rate_change_nothing() {
    let rate = BitRate::from_bps(7_654_321);
    let steps = (0..100).map(|i| (ms(i), rate)).collect();
    let mut stepped = Link::new(&with_rate(RateSpec::Steps(steps)), 0, 0);
    let mut constant = Link::new(&with_rate(RateSpec::Constant(rate)), 0, 0);
    for i in 0..200u64 {
        let (now, size) = (Nanos(i * 900_000), 40 + (i * 577 % 1460) as u32);
        assert_eq!(
            stepped.offer(now, size, false),
            constant.offer(now, size, false),
            "packet {i}"
        );
    }
}

#[test]
fn a_permanent_rate_of_zero_never_delivers() {
    let stalled = RateSpec::Steps(vec![
        (ms(0), BitRate::from_bps(12 * MBIT)),
        (ms(5), BitRate::from_bps(0)),
    ]);
    for rate in [RateSpec::Constant(BitRate::from_bps(0)), stalled] {
        let mut link = Link::new(
            &LinkSpec {
                queue: QueueLimit::Packets(2),
                ..with_rate(rate)
            },
            0,
            0,
        );
        for _ in 0..3 {
            assert_eq!(delivered_at(link.offer(ms(5), 1500, false)), Nanos::MAX);
        }
        assert_eq!(link.offer(ms(50), 1500, false), Outcome::QueueDrop);
        assert_eq!(link.queue_packets(ms(50)), 2);
    }
}

#[test]
fn an_unlimited_link_only_delays() {
    let mut link = Link::new(
        &LinkSpec {
            delay: ms(7),
            ..with_rate(RateSpec::Unlimited)
        },
        0,
        0,
    );
    for _ in 0..1000 {
        assert_eq!(delivered_at(link.offer(ms(3), 65_535, false)), ms(10));
        assert_eq!(link.queue_packets(ms(3)), 0);
    }
}

#[test]
fn a_held_transmitter_starts_when_it_is_released() {
    for rate in [
        mbps(12),
        RateSpec::Steps(vec![(ms(0), BitRate::from_bps(12 * MBIT))]),
    ] {
        let mut link = Link::new(
            &LinkSpec {
                delay: ms(20),
                ..with_rate(rate)
            },
            0,
            0,
        );
        link.hold_until(ms(100));
        assert_eq!(delivered_at(link.offer(ms(0), 1500, false)), ms(121));
        // Both wait: nothing is in transmission.
        assert_eq!(delivered_at(link.offer(ms(50), 1500, false)), ms(122));
        assert_eq!(link.queue_packets(ms(50)), 2);
        // An earlier release changes nothing.
        link.hold_until(ms(60));
        assert_eq!(delivered_at(link.offer(ms(60), 1500, false)), ms(123));
        assert_eq!(link.queue_packets(ms(100)), 2);
    }
}

#[test]
fn packets_sent_in_an_outage_are_lost_and_use_the_rate() {
    // Unsorted, touching and overlapping; together [10 ms, 20 ms).
    let outages = [(15, 20), (10, 12), (11, 15)].map(|(from, until)| Outage {
        from: ms(from),
        until: ms(until),
    });
    let mut link = Link::new(
        &LinkSpec {
            outages: outages.into(),
            ..one_per_ms()
        },
        0,
        0,
    );
    // Transmissions 8–9 and 9–10 end before the outage starts. Their 20 ms on the wire during the
    // outage do no harm.
    assert_eq!(delivered_at(link.offer(ms(8), 1500, false)), ms(29));
    assert_eq!(delivered_at(link.offer(ms(8), 1500, false)), ms(30));
    // 10–11 is lost; so is 18.5–19.5, and 19.5–20.5 because of its first half.
    assert_eq!(link.offer(ms(8), 1500, false), Outcome::WireLoss);
    assert_eq!(
        link.offer(Nanos(18_500_000), 1500, false),
        Outcome::WireLoss
    );
    assert_eq!(
        link.offer(Nanos(18_500_000), 1500, false),
        Outcome::WireLoss
    );
    // The lost packets took until 20.5 ms.
    assert_eq!(
        delivered_at(link.offer(ms(20), 1500, false)),
        Nanos(41_500_000)
    );
}

#[test]
fn an_outage_drops_packets_without_transmission_time() {
    let outages = vec![Outage {
        from: ms(1),
        until: ms(2),
    }];
    let mut link = Link::new(
        &LinkSpec {
            outages,
            ..with_rate(RateSpec::Unlimited)
        },
        0,
        0,
    );
    assert_eq!(
        delivered_at(link.offer(Nanos(999_999), 1500, false)),
        Nanos(999_999)
    );
    assert_eq!(link.offer(ms(1), 1500, false), Outcome::WireLoss);
    assert_eq!(link.offer(Nanos(1_999_999), 1500, false), Outcome::WireLoss);
    assert_eq!(delivered_at(link.offer(ms(2), 1500, false)), ms(2));
}

#[test]
fn a_packet_lost_on_the_wire_has_used_queue_and_rate() {
    let certain = LossSpec::Bernoulli(Probability::new(1.0).expect("a probability"));
    let mut link = Link::new(
        &LinkSpec {
            loss: certain,
            ..one_per_ms()
        },
        0,
        0,
    );
    let fates = [(); 52].map(|()| link.offer(Nanos::ZERO, 1500, false));
    assert!(fates[..51].iter().all(|fate| *fate == Outcome::WireLoss));
    assert_eq!(fates[51], Outcome::QueueDrop);
}

#[test]
fn extras_without_effect_change_nothing() {
    // The same link once on the fast path and once on the general path of the code.
    let jitter = Some(JitterSpec {
        deviation: Nanos::ZERO,
        correlation: Nanos::ZERO,
    });
    let mut short = Link::new(
        &LinkSpec {
            rate: mbps(7),
            ..one_per_ms()
        },
        0,
        0,
    );
    let mut long = Link::new(
        &LinkSpec {
            rate: mbps(7),
            jitter,
            ..one_per_ms()
        },
        0,
        0,
    );
    for i in 0..10_000u64 {
        let (now, size) = (Nanos(i * i * 97), 40 + (i * 577 % 1460) as u32);
        assert_eq!(
            short.offer(now, size, i % 3 == 0),
            long.offer(now, size, i % 3 == 0),
            "packet {i}"
        );
    }
}

fn marked(outcome: Outcome) -> bool {
    match outcome {
        Outcome::Delivered { marked, .. } => marked,
        lost => panic!("{lost:?}"),
    }
}
