//! TCP through managed queues, against the claims of their RFCs and closed forms.

use crate::{MSS_BITS, WIRE_BITS, assert_between, assert_near, exact, simulate};

/// One connection over 24 Mbit/s (2000 packets/s) and 50 ms; `queue` has the bottleneck's keys.
fn one(queue: &str) -> joulepath_model::result::RunResult {
    let toml = format!(
        r#"
        duration = "300 s"
        warm_up = "60 s"
        [[path]]
        name = "only"
        rate = "24 Mbit/s"
        delay = "25 ms"
        {queue}
        energy = "free"
        [path.up]
        aqm = "drop-tail"
        [workload]
        kind = "bulk"
        "#
    );
    simulate(&exact(&toml), "uncoupled", 1)
}

fn utilisation(result: &joulepath_model::result::RunResult) -> f64 {
    result.goodput_bps / MSS_BITS * WIRE_BITS / 24e6
}

/// Mean time in the queue, s: the RTT less 50 ms of delay, 0.5 ms of the packet and 0.013 ms of the
/// ACK.
fn queueing_s(result: &joulepath_model::result::RunResult) -> f64 {
    result.paths[0].mean_rtt_s.unwrap() - 0.050_513
}

/// A Reno flow fills a DropTail queue of 1000 packets, 500 ms. CoDel and PIE prevent that (RFC
/// 8289, section 3.2; RFC 8033, section 4).
///
/// CoDel's sawtooth has a closed form. The window grows by a packet per RTT of 50 ms. When 10
/// packets wait, the sojourn time is at the target of 5 ms; 100 ms later, which are two RTTs and
/// two packets, comes the drop, and its effect on the queue one RTT later: at a BDP of 100 packets
/// β = 0.13. The sawtooth then uses 1 − (1 − β)²/(4 (1 + β + β²)) = 83.5 % (sawtooth.rs). The queue
/// is not empty for 13 of 56 RTTs, with a mean of 6.5 packets: 0.75 ms over all RTTs, and more over
/// all packets.
#[test]
fn codel_and_pie_keep_the_queue_near_their_targets() {
    let tail = one("queue = \"1000 packets\"");
    assert_between("DropTail, s", queueing_s(&tail), 0.2, 0.5);
    let codel = one("aqm = \"codel\"");
    assert_between("CoDel, s", queueing_s(&codel), 0.000_75, 0.002);
    assert_near("CoDel, utilisation", utilisation(&codel), 0.835, 0.01);
    let pie = one("aqm = \"pie\"");
    assert_between("PIE, s", queueing_s(&pie), 0.0075, 0.0225);
    assert_between("PIE, utilisation", utilisation(&pie), 0.90, 1.0);
    let fq = one("aqm = \"fq-codel\"");
    assert_near(
        "FQ-CoDel with one flow against CoDel, s",
        queueing_s(&fq),
        queueing_s(&codel),
        0.3,
    );
}

/// Two flows of 20 and 200 ms: under DropTail the fast one gets many times as much. FQ-CoDel gives
/// half to each (RFC 8290, section 3), of which each flow uses what CoDel's sawtooth allows at its
/// RTT: for the slow one at 500 packets/s the BDP is 100 packets, the target 2.5 packets, the
/// interval half an RTT, so that β = 0.03 and it uses 77 %. The fast one gets the rest.
#[test]
fn fq_codel_shares_equally_between_unequal_rtts() {
    let run = |queue: &str| {
        let toml = format!(
            r#"
            duration = "400 s"
            warm_up = "100 s"
            [[link]]
            name = "shared"
            rate = "12 Mbit/s"
            delay = "5 ms"
            {queue}
            [[path]]
            name = "near"
            delay = "5 ms"
            via = ["shared"]
            energy = "free"
            [[path]]
            name = "far"
            delay = "95 ms"
            via = ["shared"]
            energy = "free"
            [[connection]]
            name = "tested"
            paths = ["near"]
            [[competitor]]
            name = "other"
            path = "far"
            start = "100 ms"
            [workload]
            kind = "bulk"
            "#
        );
        let result = simulate(&exact(&toml), "uncoupled", 1);
        (result.goodput_bps, result.competitors_bps)
    };
    let (near, far) = run("queue = \"100 packets\"");
    assert_between("DropTail, near over far", near / far, 1.5, 20.0);
    let (near, far) = run("aqm = { kind = \"fq-codel\", ecn = false }");
    assert_between(
        "FQ-CoDel, far, fraction of its half",
        far / MSS_BITS * WIRE_BITS / 6e6,
        0.77,
        1.0,
    );
    assert_between("FQ-CoDel, near over far", near / far, 1.0, 1.6);
    assert_between(
        "FQ-CoDel, both",
        (near + far) / MSS_BITS * WIRE_BITS / 12e6,
        0.95,
        1.0,
    );
}

/// A sparse stream next to a bulk flow: its packets wait for the whole queue under DropTail, for
/// one packet under FQ-CoDel.
#[test]
fn fq_codel_keeps_the_delay_of_a_sparse_flow_low() {
    let delay = |queue: &str| {
        let toml = format!(
            r#"
            duration = "120 s"
            [[path]]
            name = "only"
            rate = "12 Mbit/s"
            delay = "20 ms"
            {queue}
            energy = "free"
            [[competitor]]
            name = "bulk"
            path = "only"
            [workload]
            kind = "messages"
            mean_gap = "200 ms"
            size = "1 kB"
            "#
        );
        simulate(&exact(&toml), "uncoupled", 1)
            .delay
            .unwrap()
            .mean_s
    };
    // 20 ms of delay, 0.7 ms of its own, up to 1 ms of the packet in transmission, and sometimes
    // the previous message.
    assert_between("FQ-CoDel, s", delay("aqm = \"fq-codel\""), 0.0207, 0.0220);
    assert_between(
        "DropTail of 100 packets, s",
        delay("queue = \"100 packets\""),
        0.060,
        0.2,
    );
}

/// With ECN the three queues mark, nothing is lost, and nothing is retransmitted.
#[test]
fn with_ecn_managed_queues_lose_nothing() {
    for aqm in [
        "{ kind = \"codel\", ecn = true }",
        "\"fq-codel\"",
        "{ kind = \"pie\", ecn = true }",
    ] {
        let toml = format!(
            r#"
            duration = "60 s"
            warm_up = "10 s"
            [[path]]
            name = "only"
            rate = "24 Mbit/s"
            delay = "25 ms"
            aqm = {aqm}
            energy = "free"
            [transport]
            ecn = true
            [workload]
            kind = "bulk"
            "#
        );
        let result = simulate(&exact(&toml), "uncoupled", 1);
        assert_eq!(
            result.paths[0].retransmissions, 0,
            "{aqm}: {:?}",
            result.counters
        );
        assert!(
            result.paths[0].loss_event_rate > 0.0,
            "{aqm}: the window was reduced"
        );
        assert_between(aqm, queueing_s(&result), 0.001, 0.0225);
    }
}
