//! HyStart of CUBIC: hand-made sequences of ACKs in slow start, and the ACK that ends it.

use joulepath_controllers::{Ack, AckFlags, Capability, Connection, Controller, LossKind, Subflow};

/// Equal ACKs of one packet: number, time since the previous ACK and RTT sample, µs.
type Acks = (u32, u64, u32);

/// A round of slow start that its first ACK begins.
struct Round {
    what: &'static str,
    /// Least RTT before, µs.
    base_us: u32,
    cwnd: u32,
    acks: &'static [Acks],
    flags: AckFlags,
    /// Number of the ACK that ends slow start.
    ends: Option<u32>,
}

const fn round(
    what: &'static str,
    (base_us, cwnd): (u32, u32),
    acks: &'static [Acks],
    ends: Option<u32>,
) -> Round {
    Round {
        what,
        base_us,
        cwnd,
        acks,
        flags: AckFlags::NONE,
        ends,
    }
}

/// Pauses of 3 ms separate ACKs, so they are no train.
const DELAYS: &[Round] = &[
    round(
        "40 + 40/8 ms are tolerated",
        (40_000, 100),
        &[(30, 3_000, 45_000)],
        None,
    ),
    round(
        "the ninth sample above 45 ms ends it",
        (40_000, 100),
        &[(30, 3_000, 45_001)],
        Some(9),
    ),
    round(
        "at least 4 ms are tolerated",
        (8_000, 100),
        &[(30, 3_000, 12_000)],
        None,
    ),
    round(
        "8 + 4 ms are exceeded",
        (8_000, 100),
        &[(30, 3_000, 12_001)],
        Some(9),
    ),
    round(
        "at most 16 ms are tolerated",
        (200_000, 100),
        &[(30, 3_000, 216_001)],
        Some(9),
    ),
    round(
        "200 + 16 ms are not exceeded",
        (200_000, 100),
        &[(30, 3_000, 216_000)],
        None,
    ),
    round(
        "eight samples are too few",
        (40_000, 100),
        &[(8, 3_000, 90_000)],
        None,
    ),
    round(
        "one short RTT shows that the queue was empty",
        (40_000, 100),
        &[(4, 3_000, 90_000), (1, 3_000, 44_000), (30, 3_000, 90_000)],
        None,
    ),
    round(
        "a minimum that falls counts at once",
        (90_000, 100),
        &[(1, 3_000, 40_000), (30, 3_000, 90_000)],
        None,
    ),
    round(
        "a window of 16 packets",
        (40_000, 15),
        &[(30, 3_000, 90_000)],
        Some(10),
    ),
];

/// All RTTs are the minimum, so no delay ends slow start. (D + 1 ms)/2 = 20.5 ms at D = 40 ms.
const TRAINS: &[Round] = &[
    round(
        "a train of 20 ms",
        (40_000, 100),
        &[(21, 1_000, 40_000)],
        None,
    ),
    round(
        "a train of 21 ms",
        (40_000, 100),
        &[(40, 1_000, 40_000)],
        Some(22),
    ),
    round(
        "pauses of 2 ms",
        (40_000, 100),
        &[(40, 2_000, 40_000)],
        Some(12),
    ),
    round(
        "pauses above 2 ms",
        (40_000, 100),
        &[(40, 2_001, 40_000)],
        None,
    ),
    round(
        "a train that a pause ends",
        (40_000, 100),
        &[(15, 1_000, 40_000), (1, 2_500, 40_000), (40, 1_000, 40_000)],
        None,
    ),
    // Four bursts take 90 · 1000/400 = 225 µs: (1000 + 225)/2 = 612 µs.
    round("a fast path", (1_000, 400), &[(40, 100, 1_000)], Some(8)),
    Round {
        flags: AckFlags::PACED,
        ..round(
            "a pacing sender spreads its packets",
            (40_000, 100),
            &[(60, 1_000, 40_000)],
            Some(43),
        )
    },
];

fn cubic() -> Controller {
    Controller::by_name("cubic").unwrap()
}

/// A subflow in its first slow start, with this window and minimum RTT.
fn start(base_us: u32, cwnd: u32) -> Connection {
    let mut connection = Connection::new(1);
    let subflow = &mut connection.subflows[0];
    (subflow.cwnd, subflow.srtt_us, subflow.flags) = (cwnd, base_us, Subflow::ESTABLISHED);
    cubic().init(&mut connection, 0);
    connection.subflows[0].own.base_rtt_us = base_us;
    connection.now_us = 5_000_000;
    connection
}

/// Controllers that read delays in every state have rules of their own.
#[test]
fn only_controllers_that_say_so_end_slow_start() {
    let own_rules = |controller: &Controller| {
        controller.has(Capability::ReadsDelay) || controller.has(Capability::OwnsWindow)
    };
    for controller in Controller::all().filter(|controller| !own_rules(controller)) {
        let mut connection = start(40_000, 100);
        controller.init(&mut connection, 0);
        for i in 0..40 {
            connection.now_us += 1_000;
            let flags = AckFlags::CWND_LIMITED.with(AckFlags::ROUND_END, i == 0);
            let rtt_us = if i == 0 { 40_000 } else { 90_000 };
            controller.on_ack(
                &mut connection,
                0,
                Ack {
                    acked: 1,
                    rtt_us,
                    flags,
                },
            );
        }
        let ends = !in_slow_start(&connection);
        assert_eq!(
            ends,
            controller.has(Capability::EndsSlowStart),
            "{controller}"
        );
    }
}

fn in_slow_start(connection: &Connection) -> bool {
    connection.subflows[0].cwnd < connection.subflows[0].ssthresh
}

/// One round; returns the number of the ACK that ends slow start.
fn take(connection: &mut Connection, acks: &[Acks], flags: AckFlags) -> Option<u32> {
    let all = acks
        .iter()
        .flat_map(|&(n, gap_us, rtt_us)| (0..n).map(move |_| (gap_us, rtt_us)));
    for (i, (gap_us, rtt_us)) in (1..).zip(all) {
        connection.now_us += gap_us;
        let flags = AckFlags::CWND_LIMITED.with(AckFlags::ROUND_END, i == 1) | flags;
        cubic().on_ack(
            connection,
            0,
            Ack {
                acked: 1,
                rtt_us,
                flags,
            },
        );
        if !in_slow_start(connection) {
            return Some(i);
        }
    }
    None
}

#[test]
fn delays_and_trains_end_slow_start_where_they_do_in_linux() {
    for round in DELAYS.iter().chain(TRAINS) {
        let mut connection = start(round.base_us, round.cwnd);
        let ends = take(&mut connection, round.acks, round.flags);
        assert_eq!(ends, round.ends, "{}", round.what);
        let cwnd = connection.subflows[0].cwnd;
        let grown = ends.map_or(round.acks.iter().map(|acks| acks.0).sum(), |ends| ends - 1);
        assert_eq!(cwnd, round.cwnd + grown, "{}", round.what);
    }
}

#[test]
fn a_round_starts_anew_with_the_next_one() {
    let mut connection = start(40_000, 100);
    for _ in 0..20 {
        assert_eq!(
            take(&mut connection, &[(8, 3_000, 90_000)], AckFlags::NONE),
            None,
            "eight samples"
        );
        assert_eq!(
            take(&mut connection, &[(21, 1_000, 40_000)], AckFlags::NONE),
            None,
            "20 ms"
        );
    }
}

#[test]
fn hystart_can_be_switched_off() {
    for round in DELAYS.iter().chain(TRAINS) {
        let mut connection = start(round.base_us, round.cwnd);
        cubic()
            .set_param(&mut connection, "hystart", "off")
            .unwrap();
        assert_eq!(
            take(&mut connection, round.acks, round.flags),
            None,
            "{}",
            round.what
        );
    }
}

#[test]
fn it_ends_slow_start_once_until_a_timeout() {
    const QUEUE: &[Acks] = &[(30, 3_000, 90_000)];
    let mut connection = start(40_000, 100);
    assert_eq!(take(&mut connection, QUEUE, AckFlags::NONE), Some(9));
    // idle: the window shrinks, the threshold stays
    cubic().on_restart(&mut connection, 0);
    connection.subflows[0].cwnd = 50;
    assert_eq!(
        take(&mut connection, QUEUE, AckFlags::NONE),
        None,
        "the capacity is known"
    );
    let ssthresh = cubic().on_loss(&mut connection, 0, LossKind::FastRetransmit);
    (connection.subflows[0].cwnd, connection.subflows[0].ssthresh) = (20, ssthresh);
    assert_eq!(
        take(&mut connection, QUEUE, AckFlags::NONE),
        None,
        "a loss does not change that"
    );
    cubic().on_loss(&mut connection, 0, LossKind::Timeout);
    (connection.subflows[0].cwnd, connection.subflows[0].ssthresh) = (20, 100);
    assert_eq!(
        take(&mut connection, QUEUE, AckFlags::NONE),
        Some(9),
        "a timeout does"
    );
}

#[test]
fn congestion_avoidance_leaves_no_trace_in_the_next_slow_start() {
    let mut connection = start(40_000, 100);
    let ssthresh = cubic().on_loss(&mut connection, 0, LossKind::FastRetransmit);
    (connection.subflows[0].cwnd, connection.subflows[0].ssthresh) = (ssthresh, ssthresh);
    for _ in 0..50 {
        connection.now_us += 1_000;
        cubic().on_ack(
            &mut connection,
            0,
            Ack {
                acked: 1,
                rtt_us: 41_000,
                flags: AckFlags::CWND_LIMITED,
            },
        );
    }
    connection.subflows[0].ssthresh = 200;
    for _ in 0..8 {
        connection.now_us += 3_000;
        cubic().on_ack(
            &mut connection,
            0,
            Ack {
                acked: 1,
                rtt_us: 90_000,
                flags: AckFlags::CWND_LIMITED,
            },
        );
    }
    assert!(in_slow_start(&connection), "eight samples since it began");
}

#[test]
fn a_recovering_subflow_keeps_its_threshold() {
    let mut connection = start(40_000, 100);
    connection.subflows[0].flags |= Subflow::RECOVERY;
    assert_eq!(
        take(&mut connection, &[(30, 3_000, 90_000)], AckFlags::NONE),
        None
    );
    assert_eq!(connection.subflows[0].cwnd, 100);
}

/// Growth of a window over a second of RTTs of 100 ms.
fn grown(connection: &mut Connection) -> f64 {
    let before = f64::from(connection.subflows[0].cwnd);
    for _ in 0..10 {
        let cwnd = connection.subflows[0].cwnd;
        for _ in 0..cwnd {
            connection.now_us += 100_000 / u64::from(cwnd);
            let ack = Ack {
                acked: 1,
                rtt_us: 100_000,
                flags: AckFlags::CWND_LIMITED,
            };
            cubic().on_ack(connection, 0, ack);
        }
    }
    f64::from(connection.subflows[0].cwnd) / before
}

#[test]
fn a_window_grows_by_a_twentieth_per_rtt_until_its_first_loss() {
    let mut connection = start(100_000, 400);
    connection.subflows[0].ssthresh = 400;
    let growth = grown(&mut connection);
    assert!((growth - 1.05f64.powi(10)).abs() < 0.05, "{growth}");
    let ssthresh = cubic().on_loss(&mut connection, 0, LossKind::FastRetransmit);
    (connection.subflows[0].cwnd, connection.subflows[0].ssthresh) = (ssthresh, ssthresh);
    let growth = grown(&mut connection);
    // K = cbrt(0.3 · 650 / 0.4) = 7.9 s: the curve reaches 0.70 + 0.3 (1 − (6.8/7.9)³) after 1.1 s
    assert!((1.1..1.2).contains(&growth), "{growth}");
}

/// RFC 9438, section 4.8.
#[test]
fn the_first_epoch_after_a_timeout_starts_at_its_maximum() {
    let mut connection = start(100_000, 400);
    let ssthresh = cubic().on_loss(&mut connection, 0, LossKind::Timeout);
    (connection.subflows[0].cwnd, connection.subflows[0].ssthresh) = (ssthresh, ssthresh);
    // Not back towards 400 along the concave curve, but 5 % per RTT.
    let growth = grown(&mut connection);
    assert!((growth - 1.05f64.powi(10)).abs() < 0.05, "{growth}");
}
