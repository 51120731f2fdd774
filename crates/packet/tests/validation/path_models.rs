//! Controllers that model their path (BBR, Copa, Vivace), and Westwood+, against published results
//! of their authors and others.

use joulepath_model::result::RunResult;

use crate::{MSS_BITS, WIRE_BITS, assert_between, simulate};

/// One flow over a link of 20 Mbit/s and 40 ms without a queue: a BDP of 66.7 packets.
const LINK_BPS: f64 = 20e6;
const BDP: f64 = 66.7;
const RTT_MS: f64 = 40.0;

struct Case {
    /// Length of the queue, packets.
    queue: u32,
    loss_percent: f64,
    /// Controller of the competitors, and their number.
    others: (&'static str, u32),
    duration_s: u32,
}

/// Alone, with a queue of one BDP.
const ALONE: Case = Case {
    queue: 67,
    loss_percent: 0.0,
    others: ("reno", 0),
    duration_s: 60,
};

fn result(case: &Case, policy: &str, seed: u64) -> RunResult {
    let Case {
        queue,
        loss_percent,
        others: (cc, count),
        duration_s,
    } = case;
    let others = match count {
        0 => String::new(),
        _ => format!(
            "[[competitor]]\nname = \"others\"\npath = \"only\"\nspread = \"1 s\"\n\
             cc = \"{cc}\"\ncount = {count}\n"
        ),
    };
    let toml = format!(
        r#"
        duration = "{duration_s} s"
        warm_up = "15 s"
        [[path]]
        name = "only"
        rate = "20 Mbit/s"
        delay = "20 ms"
        loss = "{loss_percent} %"
        queue = "{queue} packets"
        energy = "free"
        {others}
        [workload]
        kind = "bulk"
        "#
    );
    simulate(&toml, policy, seed)
}

/// The flow's fraction of the link, 0 to 1.
fn part(case: &Case, policy: &str) -> f64 {
    result(case, policy, 1).goodput_bps / MSS_BITS * WIRE_BITS / LINK_BPS
}

/// The flow's fraction of the link, and the mean queue, packets, from the RTT above 40 ms and the
/// packet's own time.
fn part_and_queue(case: &Case, policy: &str) -> (f64, f64) {
    let result = result(case, policy, 1);
    let waits_ms = result.paths[0].mean_rtt_s.expect("ACKs came") * 1e3 - RTT_MS;
    (
        result.goodput_bps / MSS_BITS * WIRE_BITS / LINK_BPS,
        waits_ms / RTT_MS * BDP,
    )
}

/// Cardwell et al. (ACM Queue 2016): the link is full, with at most two BDP in flight, so that at
/// most a BDP waits, for any length of the queue. PROBE_RTT takes 200 ms and a round of 10 s, 2.4
/// %; the margin of 1 % is regained in the phase of 5/4.
#[test]
fn bbr_fills_a_link_and_queues_at_most_a_bdp() {
    for (policy, least) in [("bbr1", 0.95), ("bbr3", 0.95)] {
        for queue in [67, 667] {
            let (part, waits) = part_and_queue(&Case { queue, ..ALONE }, policy);
            assert_between(
                &format!("{policy}, queue of {queue}: fraction of the link"),
                part,
                least,
                1.0,
            );
            assert_between(
                &format!("{policy}, queue of {queue}: packets that wait"),
                waits,
                0.0,
                BDP,
            );
        }
    }
    let reno = part_and_queue(
        &Case {
            queue: 667,
            duration_s: 200,
            ..ALONE
        },
        "uncoupled",
    )
    .1;
    assert_between("Reno fills the queue: packets", reno, 3.0 * BDP, 667.0);
}

/// Ware et al. (IMC 2019, figures 2 and 5): about 40 % of a link for any number of loss-based
/// flows, if the queue is a few BDP; a Reno in its place would get 1/(n + 1).
#[test]
fn bbr1_takes_the_same_share_from_any_number_of_renos() {
    let beside = |renos| {
        let case = Case {
            queue: 134,
            others: ("reno", renos),
            duration_s: 120,
            ..ALONE
        };
        part(&case, "bbr1")
    };
    assert_between("share next to 1 Reno", beside(1), 0.35, 0.60);
    for renos in [4, 8, 16] {
        assert_between(
            &format!("share next to {renos} Renos"),
            beside(renos),
            0.30,
            0.45,
        );
    }
    let case = Case {
        queue: 134,
        others: ("reno", 8),
        duration_s: 120,
        ..ALONE
    };
    assert_between(
        "share of a Reno next to 8 Renos",
        part(&case, "uncoupled"),
        0.08,
        0.15,
    );
}

/// Cardwell et al. (2016, figure 8): BBR keeps nearly 1 − p of the link up to 5 % and most of it at
/// 15 %, where a loss-based flow gets a tenth at 1 %. Version 3 tolerates 2 % (draft-ietf-ccwg-bbr:
/// LossThresh).
#[test]
fn bbr1_ignores_random_losses_and_bbr3_tolerates_two_percent() {
    let lossy = |loss_percent, policy: &str| {
        part(
            &Case {
                loss_percent,
                ..ALONE
            },
            policy,
        )
    };
    assert_between("BBRv1 at 1 %", lossy(1.0, "bbr1"), 0.94, 0.99);
    assert_between("BBRv1 at 5 %", lossy(5.0, "bbr1"), 0.88, 0.95);
    assert_between("BBRv1 at 15 %", lossy(15.0, "bbr1"), 0.65, 0.85);
    assert_between("BBRv3 at 0.5 %", lossy(0.5, "bbr3"), 0.85, 0.995);
    assert_between("BBRv3 at 1 %", lossy(1.0, "bbr3"), 0.70, 0.99);
    assert_between("BBRv3 at 5 %", lossy(5.0, "bbr3"), 0.05, 0.40);
    assert_between("Reno at 1 %", lossy(1.0, "uncoupled"), 0.15, 0.25);
}

/// The purpose of version 3 (Cardwell et al., IETF 117): at a queue of a quarter BDP, version 1
/// loses a percent of its packets and leaves a Reno next to nothing; version 3 loses less than a
/// fifth of that.
#[test]
fn bbr3_coexists_where_the_queue_is_short_and_bbr1_does_not() {
    let short = Case { queue: 17, ..ALONE };
    let lost = |policy| result(&short, policy, 1).retransmission_ratio;
    let (first, third) = (lost("bbr1"), lost("bbr3"));
    assert_between("BBRv1 alone, fraction lost", first, 0.008, 0.03);
    assert_between("BBRv3 alone, fraction lost", third, 0.0, first / 5.0);
    let beside = Case {
        others: ("reno", 1),
        duration_s: 120,
        ..short
    };
    let reno =
        |policy| result(&beside, policy, 1).competitors_bps / MSS_BITS * WIRE_BITS / LINK_BPS;
    assert_between("a Reno next to BBRv1", reno("bbr1"), 0.01, 0.15);
    assert_between("a Reno next to BBRv3", reno("bbr3"), 0.25, 0.50);
}

/// Copa in steady state (Arun and Balakrishnan, section 3.1 and appendix): the queue swings between
/// 0 and 2.5/δ packets in 5 RTTs, so that 1.25/δ wait on average; hosts that take up to a packet's
/// time add one or two. Losses do not matter: 1 − p of the link remains.
#[test]
fn copa_queues_few_packets_and_ignores_losses() {
    for (policy, delta) in [
        ("copa", 0.5),
        ("copa[delta=0.1]", 0.1),
        ("copa[delta=0.05]", 0.05),
    ] {
        let (part, waits) = part_and_queue(
            &Case {
                queue: 667,
                ..ALONE
            },
            policy,
        );
        assert_between(&format!("{policy}: fraction of the link"), part, 0.98, 1.0);
        assert_between(
            &format!("{policy}: waits · δ/1.25"),
            (waits - 2.0) * delta / 1.25,
            0.5,
            2.2,
        );
    }
    for loss_percent in [1.0, 5.0, 10.0] {
        let left = part(
            &Case {
                loss_percent,
                ..ALONE
            },
            "copa",
        ) / (1.0 - loss_percent / 100.0);
        assert_between(
            &format!("fraction of the capacity left by {loss_percent} % loss"),
            left,
            0.97,
            1.0,
        );
    }
}

/// Section 2.2 of the paper: the competitive mode takes about as much as a TCP; without it d_q is
/// that of the full queue, and the rate 1/(δ d_q): 2 packets in 80 ms, 1.5 % of the link. Two Copas
/// keep their queue short and stay in the default mode.
#[test]
fn copa_competes_where_others_fill_the_queue() {
    let beside = Case {
        queue: 134,
        others: ("reno", 1),
        duration_s: 120,
        ..ALONE
    };
    assert_between("next to a Reno", part(&beside, "copa"), 0.33, 0.67);
    assert_between(
        "next to a Reno, without the competitive mode",
        part(&beside, "copa[competitive=off]"),
        0.005,
        0.08,
    );
    let (part, waits) = part_and_queue(
        &Case {
            others: ("copa", 1),
            ..beside
        },
        "copa",
    );
    assert_between("next to a Copa", part, 0.4, 0.6);
    // 5 to 29 depending on the seed: each takes some of the other's queue for a Reno's.
    assert_between("packets that wait, two flows", waits, 1.0, 30.0);
}

/// Dong et al. (NSDI 2018, section 3): slopes of the RTT weigh 900, so that hardly any queue forms;
/// losses of L are tolerated up to 0.9 r^−0.1/c, 6 % here. At 67 packets per interval, chance blurs
/// the steps at 1 %.
#[test]
fn vivace_keeps_the_queue_empty_and_tolerates_losses_by_its_parameter() {
    let (alone, waits) = part_and_queue(&ALONE, "vivace");
    assert_between("fraction of the link", alone, 0.88, 1.0);
    assert_between("packets that wait", waits, 0.0, 10.0);
    let one = Case {
        loss_percent: 1.0,
        duration_s: 120,
        ..ALONE
    };
    assert_between("at 1 %", part(&one, "vivace"), 0.55, 0.99);
    let five = Case {
        loss_percent: 5.0,
        duration_s: 120,
        ..ALONE
    };
    let (patient, default) = (part(&five, "vivace[c=0.5]"), part(&five, "vivace"));
    assert_between("at 5 %, c = 0.5", patient, 0.75, 0.95);
    assert_between("at 5 %, c = 11.35 / c = 0.5", default / patient, 0.0, 0.7);
}

/// Grieco and Mascolo (2004, sections 3 and 4): x = 1/√(p τ T_q) instead of √(2/p)/τ, with the
/// queueing time T_q. Random losses keep T_q near 0: far more than Reno. Without random losses:
/// about Reno's share.
#[test]
fn westwood_exceeds_reno_only_under_random_losses() {
    for (loss_percent, least) in [(0.1, 1.3), (1.0, 2.0)] {
        let case = Case {
            loss_percent,
            duration_s: 120,
            ..ALONE
        };
        let ratio = part(&case, "westwood") / part(&case, "uncoupled");
        assert_between(
            &format!("times Reno at {loss_percent} %"),
            ratio,
            least,
            6.0,
        );
    }
    assert_between("alone", part(&ALONE, "westwood"), 0.97, 1.0);
    let beside = Case {
        others: ("reno", 3),
        duration_s: 300,
        ..ALONE
    };
    assert_between(
        "next to 3 Renos, in fair shares",
        part(&beside, "westwood") * 4.0,
        0.6,
        1.5,
    );
}
