//! Controllers that own their window: they set cwnd and pacing rate in every state.

use super::{at_once, run, scenario};

/// One path with 2 % random loss.
const LOSSY: &str = r#"
title = "lossy"
duration = "8 s"
warm_up = "2 s"
[[path]]
name = "wifi"
rate = "20 Mbit/s"
delay = "20 ms"
queue = "67 packets"
loss = "2 %"
energy = "free"
"#;

#[test(needs(ENGINE))]
fn bbr_fills_a_link_with_random_losses_and_reno_does_not() {
    let scenario = scenario(LOSSY);
    let goodput_bps = |policy| {
        run(&scenario, policy)
            .unwrap_or_else(|error| panic!("{policy}: {error}"))
            .goodput_bps
    };
    let [reno, bbr1] =
        at_once(["uncoupled", "mptcp[cc=bbr1]"].map(|policy| move || goodput_bps(policy)));
    // Reno: 1.31 / sqrt(0.02) packets of 1460 bytes in 41 ms are 2.6 Mbit/s. BBR ignores the
    // losses: 98 % of 19.5 Mbit/s. A window that recovery freezes or reduces would give much less.
    assert!((1.3e6..5.2e6).contains(&reno), "{reno} bit/s");
    assert!(bbr1 > 0.8 * 19.5e6, "{bbr1} bit/s, reno {reno}");
}
