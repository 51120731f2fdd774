//! Share of a bottleneck that a connection with two subflows takes from TCP.

use joulepath_model::result::RunResult;

use crate::{assert_between, simulate};

/// Two subflows and `tcps` Reno connections, all with 60 ms, through one link with 4 Mbit/s for each TCP
/// and for the MPTCP connection. Random loss of 0.02 % and jitter of 1 ms desynchronise the flows.
fn share_of_a_tcp(policy: &str, tcps: u32, seed: u64) -> f64 {
    let toml = format!(
        r#"
        duration = "2000 s"
        warm_up = "50 s"
        [[link]]
        name = "bottleneck"
        rate = "{} Mbit/s"
        delay = "10 ms"
        queue = "{} packets"
        loss = "0.02 %"
        jitter = "1 ms"
        [[path]]
        name = "a"
        via = ["bottleneck"]
        delay = "20 ms"
        energy = "free"
        [[path]]
        name = "b"
        via = ["bottleneck"]
        delay = "20 ms"
        energy = "free"
        [[competitor]]
        name = "tcp"
        path = "a"
        count = {tcps}
        spread = "1 s"
        [workload]
        kind = "bulk"
        "#,
        4 * (tcps + 1),
        20 * (tcps + 1),
    );
    let result: RunResult = simulate(&toml, policy, seed);
    result.goodput_bps / (result.competitors_bps / f64::from(tcps))
}

/// Uncoupled subflows are two TCPs. EWTCP's a = 1/n² makes each half a TCP at equal loss rate; LIA, OLIA
/// and Balia together are one TCP on the best path, here on either. This holds in the mean field. Under
/// random losses a coupled connection gets a few percent less than a TCP (equilibria.rs: LIA 0.85 against
/// 0.91 of the fluid), and two small windows lose twice the half packet that halving to whole packets
/// costs. "About one" is 0.7 to 1.15: neither half a TCP, nor 2^(3/4) = 1.68, nor two.
#[test]
fn at_a_shared_bottleneck_only_uncoupled_subflows_take_two_shares() {
    for tcps in [1, 4] {
        for (policy, low, high) in [
            ("uncoupled", 1.85, 2.1),
            ("ewtcp", 0.7, 1.15),
            ("lia", 0.7, 1.15),
            ("olia", 0.7, 1.15),
            ("balia", 0.7, 1.15),
        ] {
            let share = (1..=2).map(|seed| share_of_a_tcp(policy, tcps, seed)).sum::<f64>() / 2.0;
            assert_between(&format!("{policy} next to {tcps} TCPs, in TCP shares"), share, low, high);
        }
    }
}
