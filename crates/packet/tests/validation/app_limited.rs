//! Growth of windows that the application does not always fill (RFC 7661).

use crate::{assert_between, simulate};

/// Answers of 30 kB, 20 ms apart, over 80 ms of RTT and 1 % of loss. Linux 6.18 on this path: 185 ms in the
/// mean. A window that was full in a round may grow at each ACK of the round; if every ACK had to find it
/// full it would be 214 ms.
#[test]
fn a_window_that_was_full_in_a_round_grows_for_the_whole_round() {
    let toml = r#"
        duration = "25 s"
        [[path]]
        name = "p"
        rate = "20 Mbit/s"
        delay = "40 ms"
        loss = "1 %"
        queue = "200 packets"
        energy = "free"
        [workload]
        kind = "requests"
        size = "30 kB"
        think = "20 ms"
    "#;
    for policy in ["uncoupled", "linux"] {
        let mean = |seed| simulate(toml, policy, seed).delay.expect("answers").mean_s;
        let mean_ms = (1..=20).map(mean).sum::<f64>() / 20.0 * 1e3;
        assert_between(&format!("{policy}: mean answer, ms"), mean_ms, 173.0, 197.0);
    }
}
