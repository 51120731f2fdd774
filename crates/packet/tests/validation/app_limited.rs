//! Growth of windows that the application does not always fill (RFC 7661).

use crate::{assert_between, simulate};

/// Responses of 30 kB, 20 ms apart, with 80 ms of RTT and 1 % of loss. Linux 6.18 takes 185 ms on
/// average on this path. A window that was full in a round may grow at each ACK of the round; if
/// every ACK had to find it full, the mean would be 214 ms.
#[test]
fn a_window_that_is_full_once_in_a_round_grows_during_the_whole_round() {
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
        let mean = |seed| {
            simulate(toml, policy, seed)
                .delay
                .expect("there are responses")
                .mean_s
        };
        let mean_ms = (1..=20).map(mean).sum::<f64>() / 20.0 * 1e3;
        assert_between(
            &format!("{policy}: mean response time, ms"),
            mean_ms,
            173.0,
            197.0,
        );
    }
}
