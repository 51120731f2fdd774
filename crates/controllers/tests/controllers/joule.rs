//! `joule`: worked numbers, its guarantees, and its equilibrium on a path in closed form.

use joulepath_controllers::formula::{Law, Path};
use joulepath_controllers::{AckFlags, Area, Connection, Controller, Event, Subflow};
use proptest::prelude::*;

use crate::rounds::{Flow, Pipe};

fn joule() -> Controller {
    Controller::by_name("joule").unwrap()
}

fn nothing(_: Controller, _: &mut Connection) {}

/// A path with a known minimum RTT of 1 µs: every RTT looks queued, so trust is never earned.
fn without_trust(controller: Controller, connection: &mut Connection) {
    assert!(controller.set_history_rtt_us(connection, 0, 1));
}

/// w_f as siblings read it, packets.
fn shadow(connection: &Connection, i: usize) -> f64 {
    f64::from(connection.subflows[i].own.private_words()[0]) / 256.0
}

/// Subflows past their first slow start, with shadows of these sizes: (w packets, RTT µs).
fn subflows(windows: &[(u32, u32)]) -> (Connection, Vec<Area>) {
    let mut connection = Connection::new(windows.len());
    let mut areas = vec![Area::default(); windows.len()];
    for (i, &(w, srtt_us)) in windows.iter().enumerate() {
        let flags = Subflow::ESTABLISHED;
        connection.subflows[i] = Subflow {
            cwnd: 2 * w,
            srtt_us,
            flags,
            ..Subflow::default()
        };
        joule().init(&mut connection, i);
        let starts = Event {
            flags: AckFlags::STARTS,
            mss: 1_400,
            ..Event::default()
        };
        joule().control(&mut connection, i, &starts, &mut areas[i]);
        // one loss: 2 w becomes w
        let lost = Event {
            flags: AckFlags::EPISODE,
            lost: 1,
            mss: 1_400,
            ..Event::default()
        };
        joule().control(&mut connection, i, &lost, &mut areas[i]);
        assert_eq!(connection.subflows[i].cwnd, w);
    }
    (connection, areas)
}

fn ack(acked: u32, total_delivered: u32, w: u32, rtt_us: u32) -> Event {
    let flags = AckFlags::CWND_LIMITED;
    Event {
        acked,
        rtt_us,
        flags,
        total_delivered,
        prior_in_flight: w,
        mss: 1_400,
        ..Event::default()
    }
}

/// In slow start each packet adds one; afterwards 1/w, in whole 256ths of a packet: 20 + 1/20 =
/// 20.05 is 5132.8/256.
#[test]
fn a_shadow_without_siblings_grows_like_newreno() {
    let (mut connection, mut areas) = subflows(&[(20, 50_000)]);
    joule().control(&mut connection, 0, &ack(1, 1, 20, 50_000), &mut areas[0]);
    assert_eq!(connection.subflows[0].own.private_words()[0], 5132);
    // a whole window: 20 + 20/20 = 21, less the first ACK's 1/20 and the last one's rounding
    for n in 2..=20 {
        joule().control(&mut connection, 0, &ack(1, n, 20, 50_000), &mut areas[0]);
    }
    assert!(
        (shadow(&connection, 0) - 21.0).abs() < 0.01,
        "{}",
        shadow(&connection, 0)
    );
}

/// At w = w_f every loss is the shadow's: 20 becomes 10, once until the 15 packets in flight have
/// been delivered.
#[test]
fn a_loss_halves_the_shadow_once_per_window() {
    let (mut connection, mut areas) = subflows(&[(20, 50_000)]);
    for (at, after) in [(100, 10), (114, 10), (115, 5)] {
        let lost = Event {
            lost: 3,
            in_flight: 15,
            ..ack(1, at, 20, 50_000)
        };
        joule().control(&mut connection, 0, &lost, &mut areas[0]);
        assert_eq!(connection.subflows[0].cwnd, after, "{at} packets delivered");
    }
}

/// A mark counts as a loss. If a packet was late and not lost, the shadow's cut is undone.
#[test]
fn a_mark_counts_as_a_loss_and_a_late_packet_does_not() {
    let (mut connection, mut areas) = subflows(&[(20, 50_000)]);
    joule().control(
        &mut connection,
        0,
        &Event {
            marked: 1,
            ..ack(1, 9, 20, 50_000)
        },
        &mut areas[0],
    );
    assert_eq!(connection.subflows[0].cwnd, 10);
    let late = Event {
        flags: AckFlags::IN_VAIN,
        ..ack(0, 9, 10, 50_000)
    };
    joule().control(&mut connection, 0, &late, &mut areas[0]);
    assert_eq!(connection.subflows[0].cwnd, 20);
}

/// After a timeout the window is one packet and doubles each round trip up to the shadow.
#[test]
fn after_a_timeout_an_untrusted_window_starts_slowly() {
    let (mut connection, mut areas) = subflows(&[(20, 50_000)]);
    connection.subflows[0].cwnd = 1;
    let timeout = Event {
        flags: AckFlags::TIMED_OUT | AckFlags::EPISODE,
        lost: 20,
        ..Event::default()
    };
    joule().control(&mut connection, 0, &timeout, &mut areas[0]);
    assert_eq!(connection.subflows[0].cwnd, 1);
    let mut windows = vec![];
    for n in 1..=12 {
        let w = connection.subflows[0].cwnd;
        joule().control(&mut connection, 0, &ack(1, n, w, 50_000), &mut areas[0]);
        windows.push(connection.subflows[0].cwnd);
    }
    assert_eq!(windows, [2, 3, 4, 5, 6, 7, 8, 9, 10, 10, 10, 10]);
}

/// 2 · 10 packets/50 ms · 1400 bytes = 560,000 bytes/s at the start; later, without trust, no
/// pacing.
#[test]
fn the_start_is_paced_at_twice_the_window_per_rtt() {
    let mut connection = Connection::new(1);
    connection.subflows[0] = Subflow {
        cwnd: 10,
        srtt_us: 50_000,
        flags: Subflow::ESTABLISHED,
        ..Subflow::default()
    };
    joule().init(&mut connection, 0);
    let starts = Event {
        flags: AckFlags::STARTS,
        mss: 1_400,
        ..Event::default()
    };
    joule().control(&mut connection, 0, &starts, &mut Area::default());
    let rate = joule().pacing_rate_bytes_per_s(&connection, 0).unwrap();
    assert!(rate.abs_diff(560_000) < 560, "{rate}");
    let (mut connection, mut areas) = subflows(&[(20, 50_000)]);
    let round = Event {
        flags: AckFlags::ROUND_END,
        ..ack(1, 1, 20, 50_000)
    };
    joule().control(&mut connection, 0, &round, &mut areas[0]);
    assert_eq!(joule().pacing_rate_bytes_per_s(&connection, 0), None);
}

/// Two subflows of a group, (10, 50 ms) and (20, 100 ms): the first has the larger w/τ², S = 10 +
/// 20 · 50/100 = 20 packets in its RTT. In a round they grow by 10 · 10/S² = 0.25 and 20 · 10/S² =
/// 0.5 packets; in different groups by 1 each.
#[test]
fn subflows_of_one_bottleneck_grow_together_as_one() {
    for (groups, grown) in [
        ([7, 7], [0.25, 0.5]),
        ([7, 8], [1.0, 1.0]),
        ([0, 0], [1.0, 1.0]),
    ] {
        let windows = [(10, 50_000), (20, 100_000)];
        let (mut connection, mut areas) = subflows(&windows);
        for (i, group) in groups.into_iter().enumerate() {
            assert!(joule().set_group(&mut connection, i, group));
        }
        for (i, (w, rtt_us)) in windows.into_iter().enumerate() {
            let round = Event {
                flags: AckFlags::ROUND_END,
                ..ack(0, 0, w, rtt_us)
            };
            joule().control(&mut connection, i, &round, &mut areas[i]);
            let before = shadow(&connection, i);
            joule().control(&mut connection, i, &ack(w, w, w, rtt_us), &mut areas[i]);
            let growth = shadow(&connection, i) - before;
            assert!(
                (growth - grown[i]).abs() < 0.01,
                "{groups:?}: path {i} grew by {growth}"
            );
        }
    }
}

/// The path of the measurements in docs/models/joule.md: 20 Mbit/s and 40 ms are 67 packets.
const PATH: Pipe = Pipe {
    packets_per_s: 1_667,
    base_us: 40_000,
    queue_packets: 66,
    lost_one_of: 0,
};

/// At a loss of 1 in 20 NewReno has a window of √(2 · 20) = 6.3 packets, a tenth of the path. The
/// losses do not depend on joule's window, so it still fills the path, except for the lost packets.
#[test]
fn losses_without_a_queue_leave_the_path_in_use() {
    let path = Pipe {
        lost_one_of: 20,
        ..PATH
    };
    let mut flow = path.flow(joule(), &[], nothing);
    flow.run(10);
    let rate = flow.run(20) / path.packets_per_s as f64;
    assert!(rate > 0.8, "{rate} of the path");
    let reno = path
        .flow(Controller::by_name("reno").unwrap(), &[], nothing)
        .run(30);
    assert!(
        reno < 0.15 * path.packets_per_s as f64,
        "{reno} packets/s by NewReno"
    );
}

/// A loss of 1 in 50 before trust may continue. When it becomes 1 in 15, 6.7 % against 5/4 · 2 % +
/// 0.8 %, joule attributes the losses to itself, and within a second its window is the shadow's.
#[test]
fn more_losses_than_before_trust_end_trust() {
    let path = Pipe {
        lost_one_of: 50,
        ..PATH
    };
    let mut flow = path.flow(joule(), &[], nothing);
    flow.run(30);
    let above = |flow: &Flow| flow.cwnd() as f64 > shadow(&flow.connection, 0) + 1.0;
    assert!(
        above(&flow),
        "{} packets are only the shadow's window",
        flow.cwnd()
    );
    flow.pipe.lost_one_of = 15;
    let rounds = (0..1_000)
        .take_while(|_| above(&flow) && flow.round() > 0)
        .count();
    assert!(rounds < 25, "{rounds} rounds of 40 ms");
    flow.pipe.lost_one_of = 50;
    let rounds = (0..1_000)
        .take_while(|_| !above(&flow) && flow.round() > 0)
        .count();
    assert!(
        (200..600).contains(&rounds),
        "above the shadow after {rounds} rounds of 40 ms; 8 s are without trust"
    );
}

/// A mark shows a queue, and ends trust on a path whose random losses, 1 in 50, do not.
#[test]
fn a_mark_ends_trust() {
    let path = Pipe {
        lost_one_of: 50,
        ..PATH
    };
    let mut flow = path.flow(joule(), &[], nothing);
    flow.run(10);
    assert!(
        flow.cwnd() as f64 > shadow(&flow.connection, 0) + 1.0,
        "not trusted before the mark"
    );
    flow.control(&Event {
        marked: 1,
        ..ack(0, 0, 0, 40_000)
    });
    assert_eq!(flow.cwnd(), shadow(&flow.connection, 0).floor() as u64);
}

/// While trusted it keeps the queue below Q = max(τ₀/16, 3 ms, 3 packets) = 3 ms: 1 + 3/40 = 1.075
/// times the path.
#[test]
fn a_trusted_window_keeps_the_queue_short() {
    let path = Pipe {
        lost_one_of: 50,
        queue_packets: 400,
        ..PATH
    };
    let mut flow = path.flow(joule(), &[], nothing);
    flow.run(10);
    let windows: Vec<u64> = (0..400).map(|_| (flow.round(), flow.cwnd()).1).collect();
    let mean =
        windows.iter().sum::<u64>() as f64 / windows.len() as f64 / path.bdp_packets() as f64;
    assert!((0.85..1.075).contains(&mean), "{mean} of the path");
}

/// RTTs that vary by a few ms are no queue: 10 packets become 10 · 2⁶ in six rounds without a loss.
#[test]
fn rtts_that_vary_do_not_end_the_start() {
    let path = Pipe {
        packets_per_s: 100_000,
        base_us: 40_000,
        queue_packets: 10_000,
        lost_one_of: 0,
    };
    let mut flow = path.flow(joule(), &[], nothing);
    for base_us in [40_000, 52_000, 44_000, 58_000, 41_000, 55_000] {
        flow.pipe.base_us = base_us;
        flow.round();
    }
    assert_eq!(flow.cwnd(), 640);
}

/// Without trust it is NewReno: equal goodput within 8 % on paths with and without losses. (In the
/// round of a loss either may send 1 packet in 5 that the other does not.)
#[test]
fn without_trust_it_is_newreno() {
    for lost_one_of in [0, 1_000, 100, 30] {
        let path = Pipe {
            lost_one_of,
            ..PATH
        };
        let ours = path.flow(joule(), &[], without_trust).run(60);
        let reno = path
            .flow(Controller::by_name("reno").unwrap(), &[], nothing)
            .run(60);
        assert!(
            (0.92..1.08).contains(&(ours / reno)),
            "1 loss in {lost_one_of}: {ours} against {reno}"
        );
    }
}

/// The queue of other flows never empties: the RTT is 70 ms, and the history knows 40 ms. No trust,
/// so NewReno.
#[test]
fn a_path_slower_than_its_history_is_not_trusted() {
    let path = Pipe {
        lost_one_of: 20,
        base_us: 70_000,
        ..PATH
    };
    let known = |controller: Controller, connection: &mut Connection| {
        assert!(controller.set_history_rtt_us(connection, 0, 40_000));
    };
    let rate = path.flow(joule(), &[], known).run(30) / path.packets_per_s as f64;
    assert!(rate < 0.15, "{rate} of the path");
    let rate = path.flow(joule(), &[], nothing).run(30) / path.packets_per_s as f64;
    assert!(rate > 0.6, "{rate} of the path without a history");
}

fn config(cases: u32) -> ProptestConfig {
    ProptestConfig {
        cases,
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

/// A random event of a subflow, with RTTs of 50 to 100 ms.
fn event() -> impl Strategy<Value = Event> {
    let counts = (
        0u32..60,
        0u32..4,
        any::<[bool; 5]>(),
        50_000u32..100_000,
        0u32..200,
    );
    counts.prop_map(
        |(acked, lost, [limited, ends, episode, idle, samples], rtt_us, in_flight)| {
            let flags = AckFlags::NONE
                .with(AckFlags::CWND_LIMITED, limited)
                .with(AckFlags::ROUND_END, ends)
                .with(AckFlags::EPISODE, episode && lost > 0)
                .with(AckFlags::RESTARTS, idle && acked == 0);
            let interval_us = if samples { rtt_us } else { 0 };
            let event = Event {
                acked,
                rtt_us,
                flags,
                lost,
                in_flight,
                mss: 1_400,
                ..Event::default()
            };
            Event {
                prior_in_flight: in_flight + acked,
                delivered: acked,
                interval_us,
                ..event
            }
        },
    )
}

proptest! {
    #![proptest_config(config(256))]

    /// Never below the shadow, and never above it without trust.
    #[test]
    fn the_window_is_at_least_the_shadow_and_equal_without_trust(
        events in proptest::collection::vec((event(), 0u64..200_000), 1..300),
        trusts in any::<bool>(),
    ) {
        let told = if trusts { nothing } else { without_trust };
        let mut flow = PATH.flow(joule(), &[], told);
        let mut total = 0u32;
        for (event, after_us) in events {
            flow.connection.now_us += after_us;
            flow.connection.subflows[0].srtt_us = event.rtt_us;
            total += event.acked;
            flow.control(&Event { total_delivered: total, ..event });
            let least = shadow(&flow.connection, 0).floor().max(2.0) as u64;
            prop_assert!(flow.cwnd() >= least, "{} below {least}", flow.cwnd());
            prop_assert!(trusts || flow.cwnd() == least, "{} above {least}", flow.cwnd());
        }
    }

    /// Alone on a path whose only losses are queue overflows it delivers at least NewReno's goodput
    /// in the four minutes after the first; 3 % tolerance for the phase at the end.
    #[test]
    fn alone_on_a_lossless_path_it_is_newreno_or_better(
        (packets_per_s, base_us, queue) in prop_oneof![
            (200u64..5_000, 10_000u64..200_000, 0.25..2.0f64),
            // at least 400 packets with a short queue: a window that grows by a quarter overflows
            // it
            (4_000u64..5_000, 100_000u64..200_000, 0.25..0.3f64),
        ],
    ) {
        let path = Pipe { packets_per_s, base_us, queue_packets: 0, lost_one_of: 0 };
        let queue_packets = ((path.bdp_packets() as f64 * queue) as u64).max(10);
        let path = Pipe { queue_packets, ..path };
        let run = |controller| {
            let mut flow = path.flow(controller, &[], nothing);
            flow.run(60);
            flow.run(240)
        };
        let (ours, reno) = (run(joule()), run(Controller::by_name("reno").unwrap()));
        prop_assert!(ours >= 0.97 * reno, "{ours} against {reno} on {path:?}");
    }

    /// Any bits in the private area and any event give a window within bounds and no undefined
    /// behaviour, which a debug build traps.
    #[test]
    fn any_memory_gives_a_window_within_bounds(
        words in any::<[u64; 16]>(), raw in any::<[u32; 9]>(), flags in 0u32..512, cwnd in any::<u32>(),
        srtt_us in any::<u32>(), now_us in any::<u64>(),
    ) {
        let mut connection = Connection::new(1);
        connection.subflows[0] = Subflow { cwnd, srtt_us, flags: Subflow::ESTABLISHED, ..Subflow::default() };
        connection.now_us = now_us;
        let [acked, rtt_us, lost, marked, in_flight, mss, total_delivered, delivered, interval_us] = raw;
        let all = [
            AckFlags::ECE, AckFlags::CWND_LIMITED, AckFlags::ROUND_END, AckFlags::APP_LIMITED,
            AckFlags::STARTS, AckFlags::EPISODE, AckFlags::TIMED_OUT, AckFlags::RESTARTS, AckFlags::IN_VAIN,
        ];
        let pick = |(bit, flag): (usize, AckFlags)| AckFlags::NONE.with(flag, flags >> bit & 1 == 1);
        let flags = all.into_iter().enumerate().map(pick).fold(AckFlags::NONE, |sum, flag| sum | flag);
        let event = Event {
            acked, rtt_us, flags, lost, marked, prior_in_flight: in_flight, in_flight, mss, total_delivered,
            prior_delivered: delivered, delivered, interval_us,
        };
        let mut area = Area::of(words);
        for _ in 0..3 {
            joule().control(&mut connection, 0, &event, &mut area);
            prop_assert!((1..=1 << 20).contains(&connection.subflows[0].cwnd));
        }
    }

    /// A shadow's growth in its group, compared with LIA's definition in floating point.
    #[test]
    fn the_growth_in_a_group_is_that_of_lia(
        windows in proptest::collection::vec((2u32..2_000, 5_000u32..500_000), 2..=8),
    ) {
        let (mut connection, mut areas) = subflows(&windows);
        for i in 0..windows.len() {
            assert!(joule().set_group(&mut connection, i, 1));
        }
        let path = |&(w, rtt_us): &(u32, u32)| Path {
            w: w.into(), tau: f64::from(rtt_us) * 1e-6, tau_last: 0.0, tau_base: 0.0, l: 1.0, p: 0.1, e: 0.0,
            alpha: 0.0, u: 0.0, group: 0,
        };
        let paths: Vec<Path> = windows.iter().map(path).collect();
        let (w, rtt_us) = windows[0];
        let round = Event { flags: AckFlags::ROUND_END, ..ack(0, 0, w, rtt_us) };
        joule().control(&mut connection, 0, &round, &mut areas[0]);
        let before = shadow(&connection, 0);
        joule().control(&mut connection, 0, &ack(w, w, w, rtt_us), &mut areas[0]);
        let want = Law::Lia.increase(&paths, 0) * f64::from(w);
        let got = shadow(&connection, 0) - before;
        // the resolution of private_words is 1/256 of a packet; Σ is rounded down to 1/256 per
        // sibling
        prop_assert!((got - want).abs() <= 0.012 + 0.01 * want, "{got}, LIA {want}");
    }
}
