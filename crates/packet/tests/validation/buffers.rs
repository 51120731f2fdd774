//! One receive buffer for two paths whose RTTs are 1 : 10.

use crate::{assert_between, assert_near, simulate};

/// Two paths of 8 Mbit/s with RTTs of 20 and 200 ms, after a warm-up of 20 s, and the keys of
/// `[receiver]`.
pub(crate) fn unequal_paths(duration: &str, receiver: &str) -> String {
    format!(
        r#"
        duration = "{duration}"
        warm_up = "20 s"
        [[path]]
        name = "fast"
        rate = "8 Mbit/s"
        delay = "10 ms"
        queue = "20 packets"
        energy = "free"
        [[path]]
        name = "slow"
        rate = "8 Mbit/s"
        delay = "100 ms"
        queue = "20 packets"
        energy = "free"
        [workload]
        kind = "bulk"
        [receiver]
        {receiver}
        "#
    )
}

/// Goodput in Mbit/s with this buffer.
fn goodput_mbps(buffer: &str, policy: &str) -> f64 {
    let toml = unequal_paths("200 s", &format!("buffer = \"{buffer}\""));
    simulate(&toml, policy, 1).goodput_bps / 1e6
}

/// The fast path alone carries 8 × 1460/1500 = 7.79 Mbit/s. A segment on the slow path holds the
/// window for its 200 ms: meanwhile the fast path may send at most one buffer. 64 KiB per 200 ms
/// are 2.6 Mbit/s; both at full rate need at least 16 Mbit/s × 0.2 s = 400 kB, and as much again
/// during the repair of a loss on the slow path.
#[test]
fn a_small_receive_buffer_makes_two_paths_slower_than_the_fast_one_alone() {
    let plain = "uncoupled[opportunistic=off,penalise=off]";
    let alone = goodput_mbps("64 KiB", "single:fast");
    assert_near(
        "fast path alone, Mbit/s",
        alone,
        8.0 * 1460.0 / 1500.0,
        0.02,
    );
    let blocked = goodput_mbps("64 KiB", plain);
    assert_between(
        "64 KiB, both paths / fast alone",
        blocked / alone,
        0.25,
        0.8,
    );
    // The slow path's sawtooth with a buffer of 0.15 BDP uses 86 % (sawtooth.rs); the fast path is
    // full.
    let roomy = goodput_mbps("4 MiB", plain);
    assert_between("4 MiB, both paths / fast alone", roomy / alone, 1.8, 2.0);
    let rescued = goodput_mbps("64 KiB", "uncoupled[opportunistic=on,penalise=on]");
    assert_between(
        "64 KiB, with / without retransmission and penalisation",
        rescued / blocked,
        1.2,
        4.0,
    );
}
