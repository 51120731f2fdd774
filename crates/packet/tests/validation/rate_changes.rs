//! Controllers that model their path, and `joule`, when its rate falls or rises at 400 ms. A queue
//! of 2000 packets lasts 12 s at 2 Mbit/s, so that a round is longer than the controllers'
//! timeouts.

use joulepath_model::result::RunResult;

use crate::{MSS_BITS, WIRE_BITS, assert_between, simulate_with_series};

/// A queue of at most this length has drained, packets: 0.6 s at 2 Mbit/s.
const DRAINED: f64 = 100.0;

fn after_change(policy: &str, from: &str, to: &str, seconds: u32) -> RunResult {
    let toml = format!(
        r#"
        duration = "{seconds} s"
        [[path]]
        name = "a"
        rate = {{ steps = [["0 s", "{from}"], ["400 ms", "{to}"]] }}
        delay = "25 ms"
        queue = "2000 packets"
        up = {{ rate = "100 Mbit/s" }}
        energy = "free"
        [workload]
        kind = "bulk"
        "#
    );
    simulate_with_series(&toml, policy, 1)
}

/// When the queue last exceeded [`DRAINED`], s.
fn drained_s(result: &RunResult) -> f64 {
    let series = result
        .series
        .as_ref()
        .expect("the options ask for a series");
    let long = series
        .time_s
        .iter()
        .zip(&series.queue[0])
        .filter(|(_, queue)| **queue > DRAINED);
    long.map(|(time_s, _)| *time_s).fold(0.0, f64::max)
}

/// The flow's fraction of a link of `rate_bps`.
fn part(result: &RunResult, rate_bps: f64) -> f64 {
    result.goodput_bps / MSS_BITS * WIRE_BITS / rate_bps
}

/// Controllers that drain the queue lose nothing. Copa does not drain it: its minimum RTT holds for
/// 10 s, and the queue lasts longer (docs/models/copa.md).
#[test]
fn a_queue_drains_after_the_rate_falls_to_a_fiftieth() {
    for (policy, drained_by_s) in [("bbr3", 30.0), ("bbr1", 60.0)] {
        let result = after_change(policy, "100 Mbit/s", "2 Mbit/s", 200);
        assert_between(
            &format!("{policy}: retransmitted"),
            result.retransmission_ratio,
            0.0,
            0.002,
        );
        assert_between(
            &format!("{policy}: queue drained, s"),
            drained_s(&result),
            0.0,
            drained_by_s,
        );
        assert_between(
            &format!("{policy}: fraction of the link"),
            part(&result, 2e6),
            0.93,
            1.06,
        );
    }
}

#[test]
fn a_queue_drains_after_the_rate_falls_to_a_tenth() {
    for (policy, drained_by_s) in [("bbr3", 13.0), ("bbr1", 20.0), ("copa", 80.0)] {
        let result = after_change(policy, "100 Mbit/s", "10 Mbit/s", 100);
        assert_between(
            &format!("{policy}: retransmitted"),
            result.retransmission_ratio,
            0.0,
            0.002,
        );
        assert_between(
            &format!("{policy}: queue drained, s"),
            drained_s(&result),
            0.0,
            drained_by_s,
        );
        assert_between(
            &format!("{policy}: fraction of the link"),
            part(&result, 1e7),
            0.88,
            1.06,
        );
    }
}

/// `joule` fills a queue as NewReno does. Vivace overfills the queue for minutes (see its page).
#[test]
fn retransmissions_after_a_rate_drop_are_bounded() {
    for (policy, rate, seconds, most) in [
        ("vivace", "10 Mbit/s", 100, 0.002),
        ("mptcp[cc=joule]", "2 Mbit/s", 200, 0.04),
        ("vivace", "2 Mbit/s", 200, 0.35),
        ("bbr1", "100 kbit/s", 600, 0.002),
        ("copa", "100 kbit/s", 600, 0.002),
        ("mptcp[cc=joule]", "100 kbit/s", 600, 0.16),
        ("bbr3", "100 kbit/s", 600, 0.14),
    ] {
        let result = after_change(policy, "100 Mbit/s", rate, seconds);
        assert_between(
            &format!("{policy} at {rate}: retransmitted"),
            result.retransmission_ratio,
            0.0,
            most,
        );
    }
}

#[test]
fn controllers_use_a_rate_that_rises_fiftyfold() {
    for (policy, least) in [
        ("bbr3", 0.9),
        ("bbr1", 0.9),
        ("copa", 0.5),
        ("vivace", 0.85),
        ("mptcp[cc=joule]", 0.9),
    ] {
        let result = after_change(policy, "2 Mbit/s", "100 Mbit/s", 60);
        assert_between(
            &format!("{policy}: retransmitted"),
            result.retransmission_ratio,
            0.0,
            0.005,
        );
        assert_between(
            &format!("{policy}: fraction of the link"),
            part(&result, 1e8),
            least,
            1.0,
        );
    }
}
