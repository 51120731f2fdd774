//! HyStart of CUBIC: slow start ends before the queue overflows.

use joulepath_model::result::RunResult;

use crate::{assert_between, simulate};

/// The first 1.5 s on a path of 83 packets in flight (20 Mbit/s, 50 ms): slow start, but no
/// sawtooth after it. `queue` in packets.
fn start(policy: &str, queue: u32) -> RunResult {
    let toml = format!(
        r#"
        duration = "1500 ms"
        [[path]]
        name = "only"
        rate = "20 Mbit/s"
        delay = "25 ms"
        queue = "{queue} packets"
        energy = "free"
        [transport]
        recovery = "rack"
        "#
    );
    simulate(&toml, policy, 1)
}

/// Slow start doubles the window in a round trip, so the overflow costs up to pipe and queue.
#[test]
fn slow_start_that_hystart_ends_loses_no_packet() {
    for queue in [200, 400] {
        let without = start("cubic[hystart=off]", queue).paths[0].retransmissions;
        assert!(
            without >= 25,
            "without, queue of {queue}: {without} packets lost"
        );
        for policy in ["cubic", "linux"] {
            let with = start(policy, queue);
            assert_eq!(
                with.paths[0].retransmissions, 0,
                "{policy} with a queue of {queue}"
            );
            assert_between(
                &format!("{policy}, goodput of 20 Mbit/s"),
                with.goodput_bps / 1e6,
                15.0,
                19.5,
            );
        }
    }
}

/// NewReno, and the coupled controllers that start like it, double until a loss.
#[test]
fn controllers_of_the_papers_start_as_before() {
    for policy in ["uncoupled", "mptcp", "dts", "eemptcp", "cwa"] {
        let lost = start(policy, 200).paths[0].retransmissions;
        assert!(lost >= 25, "{policy} lost {lost} packets");
    }
}
