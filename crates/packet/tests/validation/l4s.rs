//! L4S: DualPI2 with Prague and classic flows (RFC 9330 to 9332).

use joulepath_model::result::RunResult;

use crate::{MSS_BITS, WIRE_BITS, assert_between, exact, simulate};

/// One path of 40 Mbit/s with a base RTT of `rtt_ms` for `count` connections, beside as many of
/// NewReno if `beside`.
fn link(rtt_ms: f64, count: u32, beside: bool) -> String {
    let competitor = match beside {
        false => String::new(),
        true => format!(
            "[[competitor]]\nname = \"classic\"\npath = \"only\"\ncc = \"reno\"\ncount = {count}\n"
        ),
    };
    exact(&format!(
        r#"
        duration = "240 s"
        warm_up = "40 s"
        [[path]]
        name = "only"
        rate = "40 Mbit/s"
        delay = "{} ms"
        aqm = "dualpi2"
        energy = "free"
        [[connection]]
        name = "tested"
        count = {count}
        {competitor}
        [transport]
        ecn = true
        [workload]
        kind = "bulk"
        "#,
        rtt_ms / 2.0 - 0.15
    ))
}

/// Queueing delay that the tested flows see, ms.
fn queueing_ms(result: &RunResult, rtt_ms: f64) -> f64 {
    result.paths[0].mean_rtt_s.expect("it carried data") * 1e3 - rtt_ms
}

/// Fraction of the link in use at a goodput.
fn used(goodput_bps: f64) -> f64 {
    goodput_bps / MSS_BITS * WIRE_BITS / 40e6
}

/// The windows in equilibrium: NewReno √(3/2p) at p = p'², Prague 2a/p at p = 2 p', with a = (R/25
/// ms)² below 25 ms (De Schepper et al., *PI2*, CoNEXT 2016; RFC 9332, section 2.1): 1.22/p' and
/// a/p'. With a classic queue of 15 ms the rates are as a (R + 15 ms)/1.22 R. Five flows of each
/// kind, because one NewReno flow does not keep a queue of 15 ms.
#[test]
fn prague_and_newreno_share_a_dual_queue() {
    for rtt_ms in [20.0_f64, 40.0, 80.0] {
        let result = simulate(&link(rtt_ms, 5, true), "uncoupled[cc=prague]", 1);
        let growth = (rtt_ms / rtt_ms.max(25.0)).powi(2);
        let expected = growth * (rtt_ms + 15.0) / (1.22 * rtt_ms);
        let ratio = result.goodput_bps / result.competitors_bps;
        assert_between(
            &format!("{rtt_ms} ms: Prague ÷ NewReno ÷ expected"),
            ratio / expected,
            0.75,
            1.33,
        );
        let used = used(result.goodput_bps + result.competitors_bps);
        assert_between("utilisation", used, 0.98, 1.0001);
        let queueing_ms = queueing_ms(&result, rtt_ms);
        assert_between("queueing delay of Prague, ms", queueing_ms, 0.0, 0.6);
    }
}

/// Prague waits less than the step of 1 ms, NewReno the target of 15 ms.
#[test]
fn alone_prague_waits_less_than_the_step_and_newreno_the_target() {
    for rtt_ms in [20.0, 40.0] {
        let prague = simulate(&link(rtt_ms, 5, false), "uncoupled[cc=prague]", 1);
        let reno = simulate(&link(rtt_ms, 5, false), "uncoupled", 1);
        assert_between("wait of Prague, ms", queueing_ms(&prague, rtt_ms), 0.0, 1.0);
        assert_between("use by Prague", used(prague.goodput_bps), 0.95, 1.0001);
        assert_between(
            "wait of NewReno, ms",
            queueing_ms(&reno, rtt_ms),
            14.0,
            16.0,
        );
        assert_between("use by NewReno", used(reno.goodput_bps), 0.98, 1.0001);
        let drops = (prague.counters.queue_drops, reno.counters.queue_drops);
        assert_eq!(drops, (0, 0), "packets are marked instead");
    }
}
