//! Phases: hosts that take no time synchronise flows at a DropTail queue (Floyd and Jacobson,
//! 1992).

use crate::{assert_between, assert_near, exact, simulate};

/// A TCP with 60 ms of propagation and one with 20 ms through a DropTail queue of 60 ms. Returns
/// the goodput of the slow one over that of the fast one.
fn slow_over_fast(change: impl Fn(&str) -> String, seed: u64) -> f64 {
    let toml = r#"
        duration = "300 s"
        warm_up = "20 s"
        [[link]]
        name = "bottleneck"
        rate = "10 Mbit/s"
        delay = "5 ms"
        queue = "50 packets"
        [[link]]
        name = "near"
        rate = "10 Gbit/s"
        delay = "5 ms"
        [[link]]
        name = "far"
        rate = "10 Gbit/s"
        delay = "25 ms"
        [[path]]
        name = "slow"
        via = ["bottleneck", "far"]
        energy = "free"
        [[competitor]]
        name = "fast"
        via = ["bottleneck", "near"]
        spread = "1 s"
        [[connection]]
        name = "user"
        spread = "1 s"
        [workload]
        kind = "bulk"
    "#;
    let result = simulate(&change(toml), "uncoupled", seed);
    result.goodput_bps / result.competitors_bps
}

/// With the full queue the RTTs are 80 and 120 ms. At equal loss rates the goodputs are as 80 to
/// 120; if both lose together, as their squares: 0.44 to 0.67. Phases make the slow one the faster:
/// its packets arrive just when there is room again.
#[test]
fn random_processing_breaks_the_phases_of_two_tcps() {
    let mean = |change: &dyn Fn(&str) -> String| {
        (1..=3)
            .map(|seed| slow_over_fast(change, seed))
            .sum::<f64>()
            / 3.0
    };
    assert_between("slow over fast TCP", mean(&str::to_owned), 0.4, 0.7);
    assert_between(
        "slow over fast TCP, hosts that take no time",
        mean(&exact),
        1.2,
        4.0,
    );
}

/// The RTT without processing is 41.1 ms (recovery.rs). Each of the two hosts takes half a packet
/// time on average, 0.5 ms. The mean of about 1300 responses has a standard error of 0.41/√1300 =
/// 0.011 ms. While the device thinks, its ACK goes ahead, so that the request does not wait.
#[test]
fn processing_adds_one_packet_time_to_the_mean_rtt() {
    let toml = r#"
        duration = "60 s"
        [[path]]
        name = "only"
        rate = "12 Mbit/s"
        delay = "20 ms"
        energy = "free"
        up = { rate = "3.2 Mbit/s" }
        [workload]
        kind = "requests"
        size = "1460 B"
        think = "5 ms"
    "#;
    let delays = simulate(toml, "uncoupled", 1)
        .delay
        .expect("there are responses");
    assert_near(
        "mean response time, ms",
        delays.mean_s * 1e3,
        41.1 + 2.0 * 0.5,
        0.0013,
    );
    // The sum of two uniform times of up to 1 ms: 5 % are above 2 − √0.1 = 1.684 ms, half above 1
    // ms.
    assert_near(
        "95th percentile, ms",
        delays.p95_s * 1e3,
        41.1 + 1.684,
        0.002,
    );
    assert_near("median, ms", delays.p50_s * 1e3, 42.1, 0.002);
    let fixed = format!("{toml}\n[transport]\nprocessing_delay = \"10 ms\"\n");
    let delays = simulate(&fixed, "uncoupled", 1)
        .delay
        .expect("there are responses");
    assert_near(
        "mean with hosts of up to 10 ms",
        delays.mean_s * 1e3,
        41.1 + 10.0,
        0.01,
    );
}
