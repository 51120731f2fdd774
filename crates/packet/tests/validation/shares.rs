//! Share of a bottleneck that a connection with two subflows takes from TCP.

use joulepath_model::result::RunResult;

use crate::{assert_between, simulate};

/// Two subflows and `tcps` Reno connections with 60 ms, through one link with 4 Mbit/s for each TCP
/// and for the MPTCP connection, whose RTTs are longer by `offset_ms`. `noise` desynchronises the
/// flows.
fn share_of_a_tcp(policy: &str, tcps: u32, (offset_ms, noise): (f64, Noise), seed: u64) -> f64 {
    let (on_link, cross) = match noise {
        Noise::LossAndJitter => (
            "loss = \"0.02 %\"\n        jitter = \"1 ms\"",
            String::new(),
        ),
        Noise::Background(part) => {
            let rate = f64::from(4_000_000 * (tcps + 1)) * part;
            let cross = format!(
                "[[cross]]\nlink = \"bottleneck\"\nkind = \"poisson\"\nrate = \"{rate} bit/s\"\n"
            );
            ("", if part > 0.0 { cross } else { String::new() })
        }
    };
    let one_way = 20.0 + offset_ms / 2.0;
    let toml = format!(
        r#"
        duration = "2000 s"
        warm_up = "50 s"
        [[link]]
        name = "bottleneck"
        rate = "{} Mbit/s"
        delay = "10 ms"
        queue = "{} packets"
        {on_link}
        [[link]]
        name = "last"
        rate = "10 Gbit/s"
        delay = "20 ms"
        [[path]]
        name = "a"
        via = ["bottleneck"]
        delay = "{one_way} ms"
        energy = "free"
        [[path]]
        name = "b"
        via = ["bottleneck"]
        delay = "{one_way} ms"
        energy = "free"
        [[competitor]]
        name = "tcp"
        via = ["bottleneck", "last"]
        count = {tcps}
        spread = "1 s"
        [workload]
        kind = "bulk"
        {cross}
        "#,
        4 * (tcps + 1),
        20 * (tcps + 1),
    );
    let result: RunResult = simulate(&toml, policy, seed);
    result.goodput_bps / (result.competitors_bps / f64::from(tcps))
}

/// Random events at the bottleneck.
#[derive(Clone, Copy)]
enum Noise {
    /// Random loss of 0.02 % and jitter of 1 ms.
    LossAndJitter,
    /// Poisson cross traffic of this part of the link's rate.
    Background(f64),
}

/// Uncoupled subflows are two TCPs. EWTCP's a = 1/n² makes each half a TCP at equal loss rate; LIA,
/// OLIA and Balia together are one TCP on the best path, here on either. This holds in the mean
/// field. Under random losses a coupled connection gets a few percent less than a TCP
/// (equilibria.rs: LIA 0.85 against 0.91 of the fluid), and two small windows lose twice the half
/// packet that halving to whole packets costs. "About one" is 0.7 to 1.15: neither half a TCP, nor
/// 2^(3/4) = 1.68, nor two.
#[test]
fn at_a_shared_bottleneck_only_uncoupled_subflows_take_two_shares() {
    for tcps in [1, 4] {
        for (policy, low, high) in [
            ("uncoupled", 1.85, 2.1),
            ("ewtcp", 0.7, 1.15),
            ("lia", 0.7, 1.15),
            ("hybrid", 0.7, 1.15),
            ("olia", 0.7, 1.15),
            ("balia", 0.7, 1.15),
        ] {
            let noise = (0.0, Noise::LossAndJitter);
            let share = (1..=2)
                .map(|seed| share_of_a_tcp(policy, tcps, noise, seed))
                .sum::<f64>()
                / 2.0;
            assert_between(
                &format!("{policy} next to {tcps} TCPs, in TCP shares"),
                share,
                low,
                high,
            );
        }
    }
}

/// RTTs 1.2 ms and 6 ms longer than the TCP's, 0.8 and 4 packets of the link's time: with noise,
/// LIA takes at most half a share too much, and two subflows take two to three.
#[test]
fn with_noise_small_differences_of_rtt_change_shares_little() {
    for offset_ms in [1.2, 6.0] {
        for (policy, low, high) in [("uncoupled", 1.6, 3.0), ("lia", 0.65, 1.5)] {
            let noise = (offset_ms, Noise::Background(0.1));
            let share = share_of_a_tcp(policy, 1, noise, 1);
            assert_between(
                &format!("{policy}, RTT + {offset_ms} ms, in TCP shares"),
                share,
                low,
                high,
            );
        }
    }
}

/// The same without noise: the order of arrival decides, and two subflows take more than three
/// shares.
#[test]
fn without_noise_shares_rest_on_phase() {
    let shares = [0.4, 1.2, 3.0]
        .map(|offset| share_of_a_tcp("uncoupled", 1, (offset, Noise::Background(0.0)), 1));
    let most = shares.into_iter().fold(0.0, f64::max);
    assert!(most > 3.0, "{shares:?}");
}
