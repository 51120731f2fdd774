//! The behaviour of single controllers over time.

use joulepath_controllers::{
    Ack, AckFlags, Capability, Connection, Controller, LossKind, ParamValue, Subflow,
};

use crate::rounds;

pub(crate) fn controller(name: &str) -> Controller {
    Controller::by_name(name).unwrap()
}

/// Subflows in congestion avoidance: (cwnd packets, RTT µs).
pub(crate) fn established(controller: Controller, paths: &[(u32, u32)]) -> Connection {
    let mut connection = Connection::new(paths.len());
    for (i, &(cwnd, srtt_us)) in paths.iter().enumerate() {
        connection.subflows[i] = Subflow {
            cwnd,
            ssthresh: 2,
            srtt_us,
            flags: Subflow::ESTABLISHED,
            ..Subflow::default()
        };
        controller.init(&mut connection, i);
        let own = &mut connection.subflows[i].own;
        (own.last_rtt_us, own.base_rtt_us) = (srtt_us, srtt_us);
    }
    connection
}

pub(crate) const LIMITED: AckFlags = AckFlags::CWND_LIMITED;

#[test]
fn reno_grows_by_one_after_a_window_of_acks() {
    let reno = controller("reno");
    let mut connection = established(reno, &[(37, 50_000)]);
    for ack in 1..=37 {
        reno.on_ack(
            &mut connection,
            0,
            Ack {
                acked: 1,
                rtt_us: 50_000,
                flags: LIMITED,
            },
        );
        assert_eq!(
            connection.subflows[0].cwnd,
            if ack < 37 { 37 } else { 38 },
            "after {ack} ACKs"
        );
    }
}

#[test]
fn a_delayed_ack_of_two_packets_counts_once_with_growth_per_ack() {
    for name in ["reno", "lia", "olia"] {
        let controller = controller(name);
        let window_after = |acks: u32, growth: &str| {
            let mut connection = established(controller, &[(10, 50_000)]);
            controller
                .set_param(&mut connection, "growth", growth)
                .unwrap();
            for _ in 0..acks {
                controller.on_ack(
                    &mut connection,
                    0,
                    Ack {
                        acked: 2,
                        rtt_us: 50_000,
                        flags: LIMITED,
                    },
                );
            }
            connection.subflows[0].cwnd
        };
        // 10 increases of 1/10 make one packet: 5 ACKs of 2 packets, or 10 ACKs.
        assert_eq!(
            [4, 5].map(|acks| window_after(acks, "packets")),
            [10, 11],
            "{name}"
        );
        assert_eq!(
            [9, 10].map(|acks| window_after(acks, "acks")),
            [10, 11],
            "{name}"
        );
    }
}

#[test]
fn slow_start_counts_packets_whatever_congestion_avoidance_counts() {
    let reno = controller("reno");
    let mut connection = established(reno, &[(8, 50_000)]);
    reno.set_param(&mut connection, "growth", "acks").unwrap();
    connection.subflows[0].ssthresh = 12;
    // 4 up to ssthresh, and the rest of the ACK counts once
    reno.on_ack(
        &mut connection,
        0,
        Ack {
            acked: 7,
            rtt_us: 50_000,
            flags: LIMITED,
        },
    );
    assert_eq!(connection.subflows[0].cwnd, 12);
    assert!((connection.subflows[0].own.fraction() - 1.0 / 12.0).abs() < 1e-8);
}

#[test]
fn slow_start_passes_the_rest_of_an_ack_to_congestion_avoidance() {
    let reno = controller("reno");
    let mut connection = established(reno, &[(8, 50_000)]);
    connection.subflows[0].ssthresh = 10;
    // 2 up to ssthresh, 5 of the 10 for the next increase
    reno.on_ack(
        &mut connection,
        0,
        Ack {
            acked: 7,
            rtt_us: 50_000,
            flags: LIMITED,
        },
    );
    assert_eq!(connection.subflows[0].cwnd, 10);
    assert!((connection.subflows[0].own.fraction() - 0.5).abs() < 1e-8);
}

#[test]
fn no_window_grows_in_recovery_or_without_being_the_limit() {
    for controller in Controller::all() {
        let mut connection = established(controller, &[(10, 50_000), (10, 50_000)]);
        let flags = AckFlags::ROUND_END;
        for _ in 0..100 {
            connection.now_us += 10_000;
            controller.on_ack(
                &mut connection,
                0,
                Ack {
                    acked: 1,
                    rtt_us: 50_000,
                    flags,
                },
            );
        }
        assert!(
            connection.subflows[0].cwnd <= 10,
            "{controller} grew although cwnd was not the limit"
        );
        connection.subflows[0].flags |= Subflow::RECOVERY;
        for _ in 0..100 {
            connection.now_us += 10_000;
            controller.on_ack(
                &mut connection,
                0,
                Ack {
                    acked: 1,
                    rtt_us: 50_000,
                    flags: flags | LIMITED,
                },
            );
        }
        assert!(
            connection.subflows[0].cwnd <= 10,
            "{controller} grew in recovery"
        );
    }
}

#[test]
fn loss_marks_shift_once_per_loss_and_not_on_repeated_timeouts() {
    let olia = controller("olia");
    let mut connection = established(olia, &[(10, 50_000), (10, 50_000)]);
    let marks = |connection: &Connection| {
        let own = &connection.subflows[0].own;
        (own.acked_between_losses, own.acked_since_loss)
    };
    olia.on_ack(
        &mut connection,
        0,
        Ack {
            acked: 30,
            rtt_us: 50_000,
            flags: LIMITED,
        },
    );
    olia.on_loss(&mut connection, 0, LossKind::FastRetransmit);
    assert_eq!(marks(&connection), (30, 0));
    olia.on_loss(&mut connection, 0, LossKind::FastRetransmit);
    assert_eq!(marks(&connection), (30, 0), "no ACK between the losses");
    olia.on_ack(
        &mut connection,
        0,
        Ack {
            acked: 5,
            rtt_us: 50_000,
            flags: LIMITED,
        },
    );
    connection.subflows[0].flags |= Subflow::LOSS;
    olia.on_loss(&mut connection, 0, LossKind::Timeout);
    assert_eq!(marks(&connection), (30, 5), "a timeout after a timeout");
}

#[test]
fn lia_notices_a_sibling_within_sixteen_acks() {
    let lia = controller("lia");
    let mut connection = established(lia, &[(1000, 50_000), (1000, 50_000)]);
    lia.on_ack(
        &mut connection,
        0,
        Ack {
            acked: 1,
            rtt_us: 50_000,
            flags: LIMITED,
        },
    );
    let step = connection.subflows[0].own.fraction();
    connection.subflows[1].cwnd = 1;
    for _ in 0..16 {
        lia.on_ack(
            &mut connection,
            0,
            Ack {
                acked: 1,
                rtt_us: 50_000,
                flags: LIMITED,
            },
        );
    }
    let before = connection.subflows[0].own.fraction();
    lia.on_ack(
        &mut connection,
        0,
        Ack {
            acked: 1,
            rtt_us: 50_000,
            flags: LIMITED,
        },
    );
    assert!(
        connection.subflows[0].own.fraction() - before > 3.0 * step,
        "A rises fourfold"
    );
}

#[test]
fn cubic_returns_to_its_maximum_after_k_seconds() {
    // loss at 100 packets: W_max = 100, w = 70, K = cbrt(30 / 0.4) = 4.217 s
    let cubic = controller("cubic");
    let mut connection = established(cubic, &[(100, 100_000)]);
    let ssthresh = cubic.on_loss(&mut connection, 0, LossKind::FastRetransmit);
    assert_eq!(ssthresh, 70);
    connection.subflows[0].cwnd = ssthresh;
    connection.subflows[0].ssthresh = ssthresh;
    let mut at = |seconds: f64| {
        // one RTT of ACKs every 100 ms
        while (connection.now_us as f64) < seconds * 1e6 {
            let cwnd = connection.subflows[0].cwnd;
            for _ in 0..cwnd {
                connection.now_us += u64::from(100_000 / cwnd);
                cubic.on_ack(
                    &mut connection,
                    0,
                    Ack {
                        acked: 1,
                        rtt_us: 100_000,
                        flags: LIMITED,
                    },
                );
            }
        }
        f64::from(connection.subflows[0].cwnd)
    };
    // 0.4 (t − 4.217)³ + 100: at 2 s 95.6, at K 100, at 8 s 121.6
    for (seconds, window) in [(2.0, 95.6), (4.217, 100.0), (8.0, 121.6)] {
        let got = at(seconds);
        assert!(
            (got - window).abs() <= 2.0,
            "{got} packets after {seconds} s, not {window}"
        );
    }
}

#[test]
fn cubic_is_no_slower_than_reno_on_short_paths() {
    // 1 ms RTT, loss at 20: the cubic takes seconds; the Reno-friendly estimate adds 9/17 packet
    // per RTT until 20
    let cubic = controller("cubic");
    let mut connection = established(cubic, &[(20, 1000)]);
    let ssthresh = cubic.on_loss(&mut connection, 0, LossKind::FastRetransmit);
    connection.subflows[0].cwnd = ssthresh; // 14
    connection.subflows[0].ssthresh = ssthresh;
    for _ in 0..20 {
        for _ in 0..connection.subflows[0].cwnd {
            connection.now_us += 1000 / 14;
            cubic.on_ack(
                &mut connection,
                0,
                Ack {
                    acked: 1,
                    rtt_us: 1000,
                    flags: LIMITED,
                },
            );
        }
    }
    let cwnd = connection.subflows[0].cwnd;
    assert!(
        (22..=27).contains(&cwnd),
        "{cwnd} after 20 rounds: 14 + 12 rounds of 9/17, then 1 per round"
    );
}

#[test]
fn cubic_gives_way_after_a_loss_below_its_maximum() {
    let window_after = |fast_convergence: &str| {
        let cubic = controller("cubic");
        let mut connection = established(cubic, &[(100, 100_000)]);
        cubic
            .set_param(&mut connection, "fast_convergence", fast_convergence)
            .unwrap();
        cubic.on_loss(&mut connection, 0, LossKind::FastRetransmit);
        connection.subflows[0].cwnd = 80;
        cubic.on_loss(&mut connection, 0, LossKind::FastRetransmit); // W_max = 80, or 0.85 · 80 = 68
        connection.subflows[0].cwnd = 56;
        connection.subflows[0].ssthresh = 56;
        for _ in 0..300 {
            connection.now_us += 10_000;
            cubic.on_ack(
                &mut connection,
                0,
                Ack {
                    acked: 6,
                    rtt_us: 100_000,
                    flags: LIMITED,
                },
            );
        }
        connection.subflows[0].cwnd
    };
    assert!(window_after("on") < window_after("off"));
}

#[test]
fn dctcp_reduces_the_window_by_the_share_of_marks() {
    let dctcp = controller("dctcp");
    let mut connection = established(dctcp, &[(100, 1000)]);
    assert_eq!(
        dctcp.ssthresh_after(&connection, 0, LossKind::Ecn),
        50,
        "alpha starts at 1"
    );
    for _ in 0..200 {
        dctcp.on_ack(
            &mut connection,
            0,
            Ack {
                acked: 9,
                rtt_us: 0,
                flags: AckFlags::NONE,
            },
        );
        dctcp.on_ack(
            &mut connection,
            0,
            Ack {
                acked: 1,
                rtt_us: 0,
                flags: AckFlags::ECE | AckFlags::ROUND_END,
            },
        );
    }
    // F = 0.1: w (1 − 0.05)
    assert_eq!(dctcp.ssthresh_after(&connection, 0, LossKind::Ecn), 95);
    assert_eq!(
        dctcp.ssthresh_after(&connection, 0, LossKind::FastRetransmit),
        50,
        "a loss still halves"
    );
}

#[test]
fn dctcp_forgets_old_marks_completely() {
    let dctcp = controller("dctcp");
    let mut connection = established(dctcp, &[(100_000, 1000)]);
    for _ in 0..200 {
        dctcp.on_ack(
            &mut connection,
            0,
            Ack {
                acked: 10,
                rtt_us: 0,
                flags: AckFlags::ROUND_END,
            },
        );
    }
    // (15/16)^200 = 2.5e-6
    assert!(dctcp.ssthresh_after(&connection, 0, LossKind::Ecn) >= 99_999);
}

/// One RTT round of `packets` packets that are acknowledged evenly over `took_us`.
fn westwood_round(connection: &mut Connection, packets: u32, took_us: u64) {
    let westwood = controller("westwood");
    for packet in 1..=packets {
        connection.now_us += took_us / u64::from(packets);
        let flags = AckFlags::NONE.with(AckFlags::ROUND_END, packet == packets);
        westwood.on_ack(
            connection,
            0,
            Ack {
                acked: 1,
                rtt_us: took_us as u32,
                flags,
            },
        );
    }
}

#[test]
fn westwood_removes_the_queue_and_no_more() {
    // 100 packets in flight, 50 of them queued: 1000 packets/s over 100 ms, base RTT 50 ms
    let westwood = controller("westwood");
    let mut connection = established(westwood, &[(100, 100_000)]);
    connection.subflows[0].own.base_rtt_us = 50_000;
    for _ in 0..3 {
        westwood_round(&mut connection, 100, 100_000);
    }
    for kind in [LossKind::FastRetransmit, LossKind::Ecn, LossKind::Timeout] {
        let left = westwood.ssthresh_after(&connection, 0, kind);
        // 1000 packets/s · 50 ms, rounded down twice
        assert!((49..=50).contains(&left), "{left} after {kind:?}");
    }
    connection.subflows[0].cwnd = 20;
    assert_eq!(
        westwood.ssthresh_after(&connection, 0, LossKind::FastRetransmit),
        20,
        "a loss never raises the window"
    );
    let timeout = westwood.ssthresh_after(&connection, 0, LossKind::Timeout);
    assert!(
        (49..=50).contains(&timeout),
        "{timeout}: after a timeout ssthresh is the estimate"
    );
}

#[test]
fn westwood_weighs_a_new_round_by_a_tenth() {
    let westwood = controller("westwood");
    let mut connection = established(westwood, &[(1000, 100_000)]);
    westwood_round(&mut connection, 100, 100_000); // starts the measurement
    westwood_round(&mut connection, 100, 100_000); // B = 1000 packets/s
    westwood_round(&mut connection, 200, 100_000); // 0.9 · 1000 + 0.1 · 2000 = 1100
    let left = westwood.ssthresh(&connection, 0);
    assert!(
        (109..=110).contains(&left),
        "{left}: 1100 packets/s · 100 ms"
    );
    westwood.on_restart(&mut connection, 0);
    connection.now_us += 60_000_000;
    westwood_round(&mut connection, 1, 100_000);
    assert_eq!(
        westwood.ssthresh(&connection, 0),
        left,
        "an idle minute gives no sample"
    );
    westwood.set_param(&mut connection, "alpha", "0").unwrap();
    westwood_round(&mut connection, 50, 100_000);
    let left = westwood.ssthresh(&connection, 0);
    assert!(
        (49..=50).contains(&left),
        "{left}: only the last round counts"
    );
}

#[test]
fn dwc_groups_subflows_that_lose_together_and_separates_them_again() {
    let dwc = controller("dwc");
    let mut connection = established(dwc, &[(20, 50_000), (20, 50_000)]);
    connection.now_us = 10_000_000;
    let alone = 1.0 / 20.0;
    let coupled = 1.0 / (2.0 * 40.0);
    let close = |got: f64, want: f64| (got - want).abs() < 1e-6;
    assert!(close(dwc.increase(&connection, 0), alone));
    dwc.on_loss(&mut connection, 0, LossKind::FastRetransmit);
    assert!(
        close(dwc.increase(&connection, 0), alone),
        "a single loss groups no subflows"
    );
    connection.now_us += 40_000;
    dwc.on_loss(&mut connection, 1, LossKind::FastRetransmit);
    for i in 0..2 {
        assert!(
            close(dwc.increase(&connection, i), coupled),
            "both see the group"
        );
    }
    for _ in 0..3 {
        assert!(close(dwc.increase(&connection, 0), coupled));
        connection.now_us += 1_000_000;
        dwc.on_loss(&mut connection, 0, LossKind::FastRetransmit);
    }
    for i in 0..2 {
        assert!(
            close(dwc.increase(&connection, i), alone),
            "three losses of a single subflow separate them"
        );
    }
}

#[test]
fn dwc_joins_a_subflow_whose_delay_is_high() {
    let dwc = controller("dwc");
    let mut connection = established(dwc, &[(20, 50_000), (20, 50_000)]);
    connection.now_us = 10_000_000;
    // The maximum RTT, then one above 50 + 25 ms.
    dwc.on_ack(
        &mut connection,
        1,
        Ack {
            acked: 1,
            rtt_us: 100_000,
            flags: AckFlags::NONE,
        },
    );
    dwc.on_ack(
        &mut connection,
        1,
        Ack {
            acked: 1,
            rtt_us: 80_000,
            flags: AckFlags::NONE,
        },
    );
    dwc.on_loss(&mut connection, 0, LossKind::FastRetransmit);
    assert!(dwc.increase(&connection, 1) < 1.0 / 40.0);
    connection.now_us += 1;
    dwc.init(&mut connection, 1);
    assert!(
        (dwc.increase(&connection, 0) - 0.05).abs() < 1e-6,
        "a new subflow in the slot starts alone"
    );
}

fn round(controller: Controller, connection: &mut Connection, i: usize, rtt_us: u32) {
    for flags in [AckFlags::NONE, AckFlags::NONE, AckFlags::ROUND_END] {
        controller.on_ack(
            connection,
            i,
            Ack {
                acked: 1,
                rtt_us,
                flags: LIMITED | flags,
            },
        );
    }
}

#[test]
fn wvegas_leaves_slow_start_when_the_queue_grows() {
    let wvegas = controller("wvegas");
    let mut connection = established(wvegas, &[(40, 50_000)]);
    connection.subflows[0].ssthresh = 1000;
    connection.subflows[0].own.base_rtt_us = 50_000;
    round(wvegas, &mut connection, 0, 60_000);
    // three ACKs of slow start before: w = 42, d = 42 · 10/60 = 7 > 1, w = 42 · 50/60 + 1 = 36
    let subflow = &connection.subflows[0];
    assert_eq!((subflow.cwnd, subflow.ssthresh), (36, 35));
}

#[test]
fn wvegas_drains_the_queue_when_the_delay_has_doubled() {
    let wvegas = controller("wvegas");
    let mut connection = established(wvegas, &[(40, 50_000)]);
    round(wvegas, &mut connection, 0, 51_000); // q_min = 1 ms; d = 0.8 < 2: 41
    assert_eq!(connection.subflows[0].cwnd, 41);
    // q = 2 ms; d = 1.6 < 2: 42, then 42 · 50/104 = 20; below ssthresh this ACK already counts in
    // slow start
    round(wvegas, &mut connection, 0, 52_000);
    assert_eq!(connection.subflows[0].cwnd, 21);
}

#[test]
fn wvegas_never_drains_without_a_queue() {
    let wvegas = controller("wvegas");
    let mut connection = established(wvegas, &[(40, 50_000)]);
    for cwnd in [41, 42, 43] {
        round(wvegas, &mut connection, 0, 50_000);
        assert_eq!(connection.subflows[0].cwnd, cwnd);
    }
}

#[test]
fn mveno_treats_a_loss_with_a_full_queue_as_congestion() {
    let mveno = controller("mveno");
    let mut connection = established(mveno, &[(50, 50_000), (50, 50_000)]);
    assert_eq!(
        mveno.ssthresh(&connection, 0),
        40,
        "a loss without backlog is random"
    );
    round(mveno, &mut connection, 0, 60_000);
    assert_eq!(
        mveno.ssthresh(&connection, 0),
        25,
        "backlog 50 · 10/60 = 8.3"
    );
    assert_eq!(
        mveno.ssthresh_after(&connection, 1, LossKind::Timeout),
        25,
        "a timeout is never a random loss"
    );
}

#[test]
fn eemptcp_without_targets_is_lia() {
    let (eemptcp, lia) = (controller("eemptcp"), controller("lia"));
    let connection = established(eemptcp, &[(12, 50_000), (30, 80_000)]);
    assert_eq!(
        eemptcp.increase(&connection, 0),
        lia.increase(&connection, 0)
    );
}

#[test]
fn control_plane_values_survive_a_new_subflow() {
    let eemptcp = controller("eemptcp");
    let mut connection = Connection::new(1);
    connection.subflows[0].own.set_target_share(0.25);
    eemptcp.init(&mut connection, 0);
    assert_eq!(connection.subflows[0].own.target_share(), 0.25);
}

#[test]
fn an_unknown_name_suggests_the_nearest_one() {
    let message = Controller::by_name("Lya").unwrap_err().to_string();
    assert!(
        message.starts_with(
            "no congestion controller `Lya`; did you mean `lia`? There are: reno, cubic"
        ),
        "{message}"
    );
}

#[test]
fn parameters_accept_words_and_numbers_and_refuse_other_values() {
    let ewtcp = controller("ewtcp");
    let mut connection = Connection::new(1);
    let value = |connection: &Connection| ewtcp.param_value(connection, "a").unwrap();
    assert_eq!(value(&connection), ParamValue::Word("1/n^2"));
    ewtcp.set_param(&mut connection, "a", "1/sqrt(n)").unwrap();
    assert_eq!(value(&connection), ParamValue::Word("1/sqrt(n)"));
    ewtcp.set_param(&mut connection, "a", "0.5").unwrap();
    assert_eq!(value(&connection), ParamValue::Number(0.5));
    let message = ewtcp
        .set_param(&mut connection, "a", "2")
        .unwrap_err()
        .to_string();
    assert_eq!(
        message,
        "`2` is no value of ewtcp's `a`; write `1/n^2`, `1/sqrt(n)` or a number from 0.000001 to 1"
    );
    let message = ewtcp
        .set_param(&mut connection, "b", "1")
        .unwrap_err()
        .to_string();
    assert_eq!(message, "ewtcp has no parameter `b`; it has: a");
    assert!(
        controller("reno")
            .set_param(&mut connection, "a", "1")
            .is_err()
    );
}

#[test]
fn a_new_connection_has_the_default_of_every_parameter() {
    for controller in Controller::all() {
        for param in controller.params() {
            let mut connection = Connection::new(1);
            assert!(!param.doc().is_empty() && !param.allowed().is_empty());
            let default = param.default().to_string();
            controller
                .set_param(&mut connection, param.name(), &default)
                .expect("a default is allowed");
            assert_eq!(
                connection,
                Connection::new(1),
                "{controller}: {}",
                param.name()
            );
            for word in param.words() {
                controller
                    .set_param(&mut connection, param.name(), word)
                    .unwrap();
                assert_eq!(
                    controller.param_value(&connection, param.name()),
                    Ok(ParamValue::Word(word))
                );
            }
        }
    }
}

/// A trace in which every parameter has an effect: rounds of different rates with a queue, marks
/// and two paths of different delay.
fn trace(controller: Controller, params: &[(&str, &str)]) -> Vec<u32> {
    if controller.has(Capability::OwnsWindow) {
        return rounds::windows(controller, params);
    }
    let mut connection = established(controller, &[(60, 50_000), (240, 200_000)]);
    for (name, value) in params {
        controller.set_param(&mut connection, name, value).unwrap();
    }
    connection.subflows[0].ssthresh = 90;
    for (i, (cost, share)) in [(1.0, 0.98), (3.0, 0.02)].into_iter().enumerate() {
        let own = &mut connection.subflows[i].own;
        own.set_energy_cost(cost);
        own.set_target_share(share);
        own.set_path_price(1.0);
    }
    let mut windows = Vec::new();
    for step in 0..400u32 {
        for (i, base_us) in [(0, 50_000), (1, 200_000)] {
            connection.now_us += 20_000;
            let rtt_us = base_us + 400 * (step % 50) * (1 + i as u32);
            let flags = LIMITED
                .with(AckFlags::ROUND_END, step % 10 == 9)
                .with(AckFlags::ECE, step % 7 == 0);
            connection.subflows[i].srtt_us = base_us + 8_000;
            controller.on_ack(
                &mut connection,
                i,
                Ack {
                    acked: 4 + step / 10 % 3,
                    rtt_us,
                    flags,
                },
            );
            if (step + 40 * i as u32) % 97 == 96 {
                let kind = if step % 2 == 0 {
                    LossKind::FastRetransmit
                } else {
                    LossKind::Ecn
                };
                let ssthresh = controller.on_loss(&mut connection, i, kind);
                (connection.subflows[i].cwnd, connection.subflows[i].ssthresh) =
                    (ssthresh, ssthresh);
            }
            windows.push(connection.subflows[i].cwnd);
        }
    }
    windows
}

#[test]
fn no_parameter_is_ignored() {
    type Changed = &'static [(&'static str, &'static str)];
    let settings: &[(&str, &str, Changed)] = &[
        ("reno", "growth", &[("growth", "acks")]),
        ("lia", "growth", &[("growth", "acks")]),
        ("olia", "growth", &[("growth", "acks")]),
        ("cubic", "fast_convergence", &[("fast_convergence", "off")]),
        ("dctcp", "g", &[("g", "0.5")]),
        ("westwood", "alpha", &[("alpha", "0")]),
        ("ewtcp", "a", &[("a", "0.9")]),
        ("coupled", "epsilon", &[("epsilon", "1.5")]),
        ("balia", "kernel_quirk", &[("kernel_quirk", "on")]),
        ("dwc", "groups", &[("groups", "all")]),
        ("wvegas", "total_alpha", &[("total_alpha", "40")]),
        ("wvegas", "gamma", &[("gamma", "30")]),
        ("mveno", "beta", &[("beta", "40")]),
        (
            "mveno",
            "random_keep",
            &[("random_keep", "0.95"), ("beta", "9")],
        ),
        ("ecmtcp", "ratio", &[("ratio", "seed002")]),
        ("eemptcp", "g", &[("g", "inv_delivery")]),
        ("eemptcp", "cap_total", &[("cap_total", "on")]),
        ("dts", "c", &[("c", "0.5")]),
        ("dts", "rtt", &[("rtt", "smoothed")]),
        ("dts", "shape", &[("shape", "literal")]),
        ("edts", "c", &[("c", "0.5")]),
        ("edts", "rtt", &[("rtt", "smoothed")]),
        ("edts", "shape", &[("shape", "intended")]),
        ("edts", "kappa", &[("kappa", "0.01")]),
        (
            "cwa",
            "theta_min",
            &[("theta_min", "9"), ("theta_max", "10")],
        ),
        ("cwa", "theta_max", &[("theta_max", "10")]),
        ("cwa", "m", &[("m", "1"), ("theta_max", "10")]),
        ("cwa", "period", &[("period", "0.2"), ("theta_max", "10")]),
        ("cwa", "beyond", &[("beyond", "divide")]),
    ];
    for &(name, param, changed) in settings {
        // the same trace with all other settings equal
        let reference: Vec<(&str, &str)> = changed
            .iter()
            .filter(|(name, _)| *name != param)
            .copied()
            .collect();
        let controller = controller(name);
        assert!(
            trace(controller, changed) != trace(controller, &reference),
            "{name} ignores {param}"
        );
    }
    // controllers that own their window have their own test
    for controller in Controller::all().filter(|controller| !controller.has(Capability::OwnsWindow))
    {
        for param in controller.params() {
            // `reset` of CWA needs a path that stops being the slowest: a test above covers it.
            // `hystart` needs a long slow start: hystart.rs
            let told = settings
                .iter()
                .any(|(name, known, _)| *name == controller.name() && *known == param.name());
            let elsewhere = ["reset", "hystart"].contains(&param.name());
            assert!(
                told || elsewhere,
                "{controller}: {} is untested",
                param.name()
            );
        }
    }
}

#[test]
fn reconstructions_are_marked() {
    let marked: Vec<String> = Controller::all()
        .map(|controller| controller.display_name())
        .filter(|name| name.ends_with(" (recon.)"))
        .collect();
    assert_eq!(
        marked,
        [
            "DWC (recon.)",
            "mVeno (recon.)",
            "ecMTCP (recon.)",
            "emReno (recon.)",
            "Vivace (recon.)"
        ]
    );
}
