//! TCP through policers, over reordering paths and over aggregating links.

use crate::{MSS_BITS, WIRE_BITS, assert_between, assert_near, exact, simulate};

/// A policer is a queue in which nothing waits: the bucket's missing tokens are its backlog. At a
/// rate of r and an RTT of τ a Reno window above B = r τ drains the bucket by w − B packets per RTT
/// and grows by one in that time, so that the bucket of b packets has lost (w − B)²/2. At W there
/// is a drop and the window is halved; below B the bucket fills. If it is full again before w = B,
/// the mean rate is (3/4) W/τ, otherwise every token is used: U = min(1, (3/4) W/B).
///
/// W depends on the spacing of a round trip's packets, because no queue spaces them:
/// - evenly: the drop comes when the bucket is empty, (W − B)²/2 = b;
/// - all at once: when it holds less than a window, W + max(0, W − B)²/2 = b.
///
/// A real flow is between the two. Flach et al. observed that unpaced TCP gets so little from small
/// buckets (An Internet-Wide Analysis of Traffic Policing, SIGCOMM 2016).
#[test]
fn a_policed_reno_has_the_rate_that_the_bucket_allows() {
    // 12 Mbit/s = 1000 packets/s, 100 ms: B = 100 packets. The link itself is never full.
    // b = 200: evenly W = 100 + √400; at once W = 100 + x, 100 + x + x²/2 = 200, x = √201 − 1.
    for (packets, at_once, evenly) in [(50, 0.375, 0.825), (200, 0.849, 0.90), (1000, 1.0, 1.0)] {
        let burst = packets * 1500;
        let toml = format!(
            r#"
            duration = "900 s"
            warm_up = "100 s"
            [[path]]
            name = "only"
            rate = "200 Mbit/s"
            delay = "49.97 ms"
            queue = "1000 packets"
            policer = {{ rate = "12 Mbit/s", burst = "{burst} B" }}
            energy = "free"
            [workload]
            kind = "bulk"
            "#
        );
        let result = simulate(&toml, "uncoupled", 1);
        let used = result.goodput_bps / MSS_BITS * WIRE_BITS / 12e6;
        // The recovery costs a round trip without growth in a cycle of about fifty: 2 %.
        assert_between(
            &format!("a bucket of {packets} packets"),
            used,
            0.97 * at_once,
            1.005 * evenly,
        );
    }
}

fn reordered(reorder: &str, recovery: &str) -> joulepath_model::result::RunResult {
    let toml = format!(
        r#"
        duration = "200 s"
        warm_up = "20 s"
        [[path]]
        name = "only"
        rate = "24 Mbit/s"
        delay = "25 ms"
        queue = "100 packets"
        {reorder}
        energy = "free"
        [transport]
        recovery = "{recovery}"
        [workload]
        kind = "bulk"
        "#
    );
    simulate(&toml, "uncoupled", 1)
}

/// One packet in a hundred is 5 or 20 packets, or 3 or 10 ms, late. Taken for losses they would
/// cost as much as a loss of 1 %: √(3/2)/√p = 12 packets of a BDP of 100, an eighth (Mathis et al.
/// 1997); a sender by RFC 6675 gets that. RACK waits, and undoes spurious reductions: only a few
/// copies are lost.
#[test]
fn reordering_is_not_taken_for_loss() {
    let plain = reordered("", "rack").goodput_bps;
    for depth in ["5 packets", "20 packets", "3 ms", "10 ms"] {
        let reorder = format!("reorder = {{ share = \"1 %\", depth = \"{depth}\" }}");
        let rack = reordered(&reorder, "rack");
        assert_between(
            &format!("{depth}: fraction of the goodput"),
            rack.goodput_bps / plain,
            0.97,
            1.0,
        );
        assert_between(
            &format!("{depth}: retransmitted"),
            rack.retransmission_ratio,
            0.0,
            0.005,
        );
        assert_eq!(rack.paths[0].timeouts, 0);
        let sack = reordered(&reorder, "sack");
        assert_between(
            &format!("{depth}: under RFC 6675"),
            sack.goodput_bps / plain,
            0.1,
            0.3,
        );
    }
}

/// RACK cannot tell packets that are late by more than the RTT of 51 ms from losses: each costs a
/// copy and a reduction, which is undone when the original arrives or the copy is reported as a
/// duplicate.
#[test]
fn a_reduction_for_a_late_packet_is_undone() {
    let plain = reordered("", "rack").goodput_bps;
    let late = reordered("reorder = { share = \"0.1 %\", depth = \"70 ms\" }", "rack");
    assert!(
        late.paths[0].retransmissions > 100,
        "{}",
        late.paths[0].retransmissions
    );
    assert_between(
        "fraction of the goodput",
        late.goodput_bps / plain,
        0.9,
        1.0,
    );
}

/// ACKs in bursts every 8 ms: the RTT grows by half a period on average; the rate stays, because
/// the window is large enough.
#[test]
fn aggregated_acks_add_half_a_period_to_the_rtt() {
    let run = |aggregate: &str| {
        let toml = format!(
            r#"
            duration = "100 s"
            warm_up = "10 s"
            [[path]]
            name = "only"
            rate = "24 Mbit/s"
            delay = "25 ms"
            queue = "1000 packets"
            energy = "free"
            [path.up]
            rate = "100 Mbit/s"
            {aggregate}
            [receiver]
            buffer = "120 kB"
            [workload]
            kind = "bulk"
            "#
        );
        let result = simulate(&exact(&toml), "uncoupled", 1);
        (result.goodput_bps, result.paths[0].mean_rtt_s.unwrap())
    };
    // A window of 82 segments on a BDP of 101: no queue, and the rate is W/RTT.
    let (plain_bps, plain_s) = run("");
    let (bps, s) = run("aggregate = { period = \"8 ms\", size = \"1000 packets\" }");
    assert_near("RTT without aggregation, s", plain_s, 0.0506, 0.01);
    assert_between("RTT added by aggregation, s", s - plain_s, 0.003, 0.0085);
    assert_near("W = rate × RTT", bps * s, plain_bps * plain_s, 0.01);
}
