//! Segments that were late, not lost: pauses, probes, lost ACKs.

use joulepath_model::result::RunResult;

use crate::{assert_between, assert_near, exact, simulate};

/// A link of 20 Mbit/s that pauses; the receive buffer keeps about 340 segments in flight.
fn with_pauses(policy: &str, pauses: &[(f64, f64)]) -> RunResult {
    let steps: String = pauses
        .iter()
        .map(|(from, to)| format!(", [\"{from} s\", \"0 bit/s\"], [\"{to} s\", \"20 Mbit/s\"]"))
        .collect();
    let toml = format!(
        r#"
        duration = "20 s"
        [[path]]
        name = "lte"
        rate = {{ steps = [["0 s", "20 Mbit/s"]{steps}] }}
        delay = "25 ms"
        queue = "1000 packets"
        energy = "free"
        up = {{ rate = "20 Mbit/s" }}
        [receiver]
        buffer = "500 kB"
        "#
    );
    simulate(&toml, policy, 1)
}

/// Nothing is lost in a pause. Within 2 s a probe leaves after two RTTs of 0.21 s, and copies of
/// the oldest segment after RTOs of 0.41 and 0.82 s. The first ACK after the pause echoes a segment
/// that left before all of them: the reduction is undone (RFC 3522, RFC 4015), and the flight is
/// not sent again.
#[test]
fn a_timeout_in_a_pause_is_undone() {
    for policy in ["mptcp", "linux", "joule", "mptcp[cc=joule]"] {
        let undisturbed = with_pauses(policy, &[]);
        let result = with_pauses(policy, &[(8.0, 10.0)]);
        assert_eq!(result.paths[0].retransmissions, 3, "{policy}");
        let part = result.goodput_bps / undisturbed.goodput_bps;
        assert_near(
            &format!("{policy}: goodput with a pause of a tenth"),
            part,
            0.9,
            0.01,
        );
    }
}

/// A second pause begins while copies from the first are outstanding, and a third soon afterwards.
#[test]
fn timeouts_in_consecutive_pauses_are_undone() {
    for policy in ["mptcp", "linux", "joule", "mptcp[cc=joule]"] {
        let result = with_pauses(policy, &[(8.0, 10.0), (10.15, 12.0), (12.3, 14.0)]);
        assert!(
            result.paths[0].retransmissions <= 9,
            "{policy}: {:?}",
            result.paths[0]
        );
    }
}

/// A segment takes 0.75 s at 16 kbit/s, but the handshake measured 0.1 s: a probe and a timeout
/// precede the first possible ACK.
#[test]
fn a_timeout_on_a_link_of_16_kbps_is_undone() {
    let toml = r#"
        duration = "600 s"
        [[path]]
        name = "slow"
        rate = "16 kbit/s"
        delay = "25 ms"
        queue = "1000 packets"
        energy = "free"
        [workload]
        kind = "file"
        size = "100 kB"
    "#;
    for policy in ["mptcp", "linux", "joule", "mptcp[cc=joule]"] {
        let result = simulate(&exact(toml), policy, 1);
        assert!(
            result.paths[0].timeouts >= 1,
            "{policy}: {:?}",
            result.paths[0]
        );
        assert!(
            result.paths[0].retransmissions <= 3,
            "{policy}: {:?}",
            result.paths[0]
        );
        // 69 segments of 0.75 s.
        let completion = result.completion_s.expect("complete");
        assert_between(&format!("{policy}: s"), completion, 51.0, 54.0);
    }
}

/// A window of two segments, whose ACKs are lost once. The probe's copy is a duplicate, and the
/// receiver reports it: nothing was lost (RFC 8985, section 7.4.2).
#[test]
fn a_probe_of_a_segment_that_arrived_does_not_count_as_a_loss() {
    // Segments leave within 2 ms from 60.227 ms + n · 41.1 ms on, and their ACKs 21 to 22 ms later.
    let from_ms = 60.227 + 10.0 * 41.1 + 20.0;
    let toml = format!(
        r#"
        duration = "60 s"
        [[path]]
        name = "only"
        rate = "12 Mbit/s"
        delay = "20 ms"
        queue = "500 packets"
        energy = "free"
        up = {{ rate = "3.2 Mbit/s", outages = [["{from_ms} ms", "{} ms"]] }}
        [receiver]
        buffer = "2920 B"
        [workload]
        kind = "file"
        size = "58400 B"
        "#,
        from_ms + 4.0
    );
    let path = &simulate(&exact(&toml), "uncoupled", 1).paths[0];
    assert_eq!(
        (path.retransmissions, path.timeouts, path.loss_event_rate),
        (1, 0, 0.0),
        "{path:?}"
    );
}
