//! HyStart of the kernel's CUBIC and of ours as eBPF, on the path of the packet engine's own test.

use super::{run, scenario};

/// 83 packets in flight and a queue of 200: slow start without HyStart loses up to half of the last
/// window.
const PATH: &str = r#"
title = "slow start"
duration = "1500 ms"
[[path]]
name = "only"
rate = "20 Mbit/s"
delay = "25 ms"
queue = "200 packets"
energy = "free"
"#;

/// With a parameter that has no effect before the second loss, the engine takes ours instead of the
/// kernel's.
const OURS: &str = "cubic[fast_convergence=off]";

#[test(needs(ENGINE, QUIET_CLOCK))]
fn hystart_ends_slow_start_before_a_loss_in_the_kernel() {
    let scenario = scenario(PATH);
    let retransmissions = |policy| run(&scenario, policy).unwrap().paths[0].retransmissions;
    let [kernels, ours, without] = ["linux", OURS, "cubic[hystart=off]"].map(retransmissions);
    // The default of Linux is the reference. A few packets: a pause may look like a loss.
    assert!(
        kernels <= 5 && ours <= 5,
        "the kernel's CUBIC lost {kernels} packets, ours {ours}"
    );
    assert!(without >= 25, "without HyStart {without} packets were lost");
}
