//! One Reno connection under random loss: the square-root law, and Padhye's formula where timeouts
//! dominate.

use joulepath_control::allocate::rate::pftk_pps;
use joulepath_model::result::RunResult;

use crate::{MSS_BITS, assert_between, assert_near, simulate};

const RTT_S: f64 = 0.1;

/// A path without queueing: 10 Gbit/s, 50 ms each way.
fn lossy(loss_percent: f64, duration_s: u64, recovery: &str) -> RunResult {
    let transport = format!("recovery = \"{recovery}\"");
    on_lossy_path(loss_percent, duration_s, &transport, "uncoupled")
}

fn on_lossy_path(loss_percent: f64, duration_s: u64, transport: &str, policy: &str) -> RunResult {
    let toml = format!(
        r#"
        duration = "{duration_s} s"
        warm_up = "60 s"
        [[path]]
        name = "only"
        rate = "10 Gbit/s"
        delay = "50 ms"
        loss = "{loss_percent} %"
        queue = "100000 packets"
        energy = "free"
        [workload]
        kind = "bulk"
        [transport]
        {transport}
        "#
    );
    simulate(&toml, policy, 1)
}

/// The mean-field model dw/dt = 1/τ − p w²/(2τ) has its fixed point at √(2/p). Under Bernoulli loss
/// the window is the random process that grows by 1 per RTT and is halved at rate p w/τ. Its
/// generator applied to w gives E[1/τ − (w/2) p w/τ] = 0: √(2/p) is exactly the root mean square.
/// Its mean is lower, 1.3098/√p (Ott, Kemperman, Mathis: The stationary behavior of ideal TCP
/// congestion avoidance, 1996); periodic loss would give √(3/2)/√p = 1.2247/√p (Mathis et al., CCR
/// 1997).
///
/// Fast recovery holds the window for one RTT per loss event; events come every 1/(p w) RTTs, so
/// that 1/τ above becomes (1 − p w)/τ on average, and the mean 1.3098 √((1 − p w)/p) with w the
/// mean itself. The window is halved to a whole packet, which costs a quarter of a packet per
/// cycle: below 1 % here. The standard error is about 0.7 √(3/events): 2 % or less.
#[test]
fn reno_obeys_the_square_root_law() {
    for (loss, duration_s) in [
        (1e-4, 16_000),
        (5e-4, 14_000),
        (1e-3, 14_000),
        (5e-3, 8_000),
    ] {
        let result = lossy(loss * 100.0, duration_s, "sack");
        let sent = result.goodput_bps / MSS_BITS / (1.0 - loss) * RTT_S;
        let held = 1.0 - loss * result.paths[0].mean_cwnd;
        let expected = 1.3098 * (held / loss).sqrt();
        println!(
            "p = {loss}: constant {:.4} of 1/sqrt(p); sqrt(2/p) = {:.2}",
            sent * loss.sqrt(),
            (2.0 / loss).sqrt()
        );
        assert_near(
            &format!("mean window at p = {loss}"),
            result.paths[0].mean_cwnd,
            expected,
            0.03,
        );
        // The rate per RTT is the window, except for the pause while the pipe drains.
        assert_near(
            &format!("packets per RTT at p = {loss}"),
            sent,
            result.paths[0].mean_cwnd,
            0.03,
        );
    }
}

/// With delayed ACKs the window grows by half a packet per RTT, if growth counts ACKs: the
/// square-root law then has 1/√2 of the window.
#[test]
fn growth_per_ack_with_delayed_acks_carries_the_root_of_half() {
    let packets_per_rtt = |policy: &str, delayed: &str| {
        let result = on_lossy_path(
            0.05,
            14_000,
            &format!("recovery = \"sack\"\n{delayed}"),
            policy,
        );
        result.goodput_bps / MSS_BITS * RTT_S
    };
    let delayed = "delayed_ack = \"40 ms\"";
    let of_packets = packets_per_rtt("uncoupled", delayed);
    let of_acks = packets_per_rtt("uncoupled[growth=acks]", delayed);
    assert_near(
        "rate, ACKs ÷ packets",
        of_acks / of_packets,
        0.5f64.sqrt(),
        0.05,
    );
    // Without delayed ACKs every packet has its own.
    let at_once = packets_per_rtt("uncoupled[growth=acks]", "");
    assert_near(
        "rate without delayed ACKs",
        at_once,
        packets_per_rtt("uncoupled", ""),
        1e-9,
    );
}

/// Padhye et al. assume that after a lost packet the rest of its round is lost, and that there is
/// no SACK; Bernoulli losses are single. So their formula is a lower bound, close where timeouts
/// are few; the law without timeouts, 1.3098/√p, is the upper bound. T₀ = srtt + the minimum of 200
/// ms, because the RTT is constant.
#[test]
fn at_high_loss_reno_is_between_padhye_and_the_law_without_timeouts() {
    for loss in [0.02, 0.05, 0.1] {
        let result = lossy(loss * 100.0, 20_000, "sack");
        let sent_pps = result.paths[0].segments as f64 / result.measured_s;
        let pftk = pftk_pps(RTT_S, RTT_S + 0.2, loss, 1.0);
        let without_timeouts = 1.3098 / loss.sqrt() / RTT_S;
        println!(
            "p = {loss}: rate / PFTK {:.3}, timeouts {}",
            sent_pps / pftk,
            result.paths[0].timeouts
        );
        assert_between(
            &format!("packets/s at p = {loss}"),
            sent_pps,
            pftk,
            without_timeouts,
        );
        if loss < 0.03 {
            assert_near("the same against PFTK", sent_pps, pftk, 0.15);
        }
    }
}

/// Apart from the losses, only timeouts retransmit, unnecessarily: 6 timeouts in 14,000 s, each
/// less than a window of 40. (Without the guard of RFC 6582, section 3.2, step 2, the duplicates of
/// one timeout cause spurious recoveries for tens of seconds.)
#[test]
fn only_lost_segments_are_retransmitted() {
    for recovery in ["rack", "sack", "newreno"] {
        let result = lossy(0.1, 14_000, recovery);
        let ratio = result.paths[0].retransmissions as f64 / result.counters.wire_losses as f64;
        assert_between(
            &format!("{recovery}: retransmissions / losses"),
            ratio,
            0.99,
            1.05,
        );
        assert_near(
            &format!("{recovery}: mean window"),
            result.paths[0].mean_cwnd,
            40.5,
            0.03,
        );
    }
}
