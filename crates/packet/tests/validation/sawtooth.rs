//! A single Reno connection at a DropTail queue.

use crate::{MSS_BITS, WIRE_BITS, assert_near, simulate};

/// The window w oscillates between W/2 and W = (1 + β)B, where B is the bandwidth-delay product and
/// βB the buffer. It grows by 1 packet per RTT.
///
/// - w < B: the queue is empty, RTT = τ, rate w/τ < C = B/τ. From W/2 to B that lasts (B − W/2) τ
///   and carries (B² − W²/4)/2.
/// - w ≥ B: the queue holds w − B, RTT = w/C, rate C. From B to W that lasts (W² − B²)/(2C) and
///   carries (W² − B²)/2.
///
/// Carried: (3/8) W². At full rate the time would carry C T = (B − W/2) B + (W² − B²)/2. With W =
/// (1 + β)B:
///
///   U = (3/4)(1 + β)² / (1 + β + β²)   for β ≤ 1, and 1 above:   0.893, 0.964, 1, 1.
///
/// This is 1 − (1 − β)²/(4(1 + β + β²)). Fast recovery adds one RTT without growth to the W/2 of a
/// cycle; at half the window for β < 1: at most 1/125 × (1 − U(W/2)) < 0.4 %.
#[test]
fn the_sawtooth_has_the_utilisation_that_the_buffer_allows() {
    // 24 Mbit/s = 2000 packets/s; RTT 100 ms with the packet's own 0.5 ms and the ACK's 0.013 ms: B
    // = 200.03 packets.
    for (beta, queue) in [(0.25, 50), (0.5, 100), (1.0, 200), (2.0, 400)] {
        let toml = format!(
            r#"
            duration = "1000 s"
            warm_up = "100 s"
            [[path]]
            name = "only"
            rate = "24 Mbit/s"
            delay = "49.75 ms"
            queue = "{queue} packets"
            energy = "free"
            [workload]
            kind = "bulk"
            "#
        );
        let result = simulate(&toml, "uncoupled", 1);
        let utilisation = result.goodput_bps / MSS_BITS * WIRE_BITS / 24e6;
        let below: f64 = (1.0_f64 - beta).max(0.0);
        let expected = 1.0 - below.powi(2) / (4.0 * (1.0 + beta + beta * beta));
        assert_near(
            &format!("utilisation with {beta} BDP"),
            utilisation,
            expected,
            0.006,
        );
    }
}
