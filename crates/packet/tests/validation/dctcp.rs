//! Controllers at a marking queue.

use crate::{
    MSS_BITS, WIRE_BITS, assert_between, assert_near, exact, simulate, simulate_with_series,
};

/// Alizadeh et al. (SIGCOMM 2010, section 3.3): N synchronised flows oscillate below Q_max = K + N
/// by A = ½ √(2N(C·RTT + K)) packets. One flow, 1 Gbit/s = 83,333 packets/s, RTT 200 µs, K = 20:
/// A = ½ √(2 × 36.7) = 4.3. The queue stays between 16.7 and 21 and never empties, so the link is
/// always busy.
#[test]
fn dctcp_keeps_the_queue_at_the_marking_threshold() {
    let toml = r#"
        duration = "4 s"
        warm_up = "0.5 s"
        [[path]]
        name = "only"
        rate = "1 Gbit/s"
        delay = "93.8 us"
        queue = "200 packets"
        ecn_threshold = "20 packets"
        energy = "free"
        [transport]
        ecn = true
        [workload]
        kind = "bulk"
    "#;
    let result = simulate_with_series(&exact(toml), "dctcp", 1);
    let series = result
        .series
        .as_ref()
        .expect("the options ask for a series");
    let steady: Vec<f64> = series
        .time_s
        .iter()
        .zip(&series.queue[0])
        .filter(|(t, _)| **t > 0.5)
        .map(|(_, &queue)| queue)
        .collect();
    let mean = steady.iter().sum::<f64>() / steady.len() as f64;
    let (least, most) = steady
        .iter()
        .fold((f64::MAX, 0.0_f64), |(lo, hi), &q| (lo.min(q), hi.max(q)));
    assert_between("mean queue, packets", mean, 16.7, 21.0);
    // A packet more or less on either side: ACKs and whole windows.
    assert_between("shortest queue, packets", least, 14.0, 20.0);
    assert_between("longest queue, packets", most, 20.0, 23.0);
    assert_between(
        "utilisation",
        result.goodput_bps / MSS_BITS * WIRE_BITS / 1e9,
        0.999,
        1.0001,
    );
    assert_eq!(result.counters.queue_drops, 0);

    let reno = simulate_with_series(
        &exact(&toml.replace("ecn = true", "ecn = false")),
        "dctcp",
        1,
    );
    assert!(reno.counters.queue_drops > 0, "without ECN the queue fills");
}

/// Reno reacts once to a marked window (RFC 3168, section 6.1.2): the sawtooth of sawtooth.rs
/// without loss. B = 200 packets, marks from a queue of 200 on: the window grows from 200 to 400 in
/// 200 RTTs of 150 ms on average, 30 s. 900 s: 30 reductions. At one packet per RTT = w/C the time
/// spent at w is proportional to w: mean (2/3)(400³ − 200³)/(400² − 200²) = 311.1.
///
/// Without PRR, which keeps sending while the queue is above the threshold, so that some windows
/// are halved twice.
#[test]
fn reno_halves_once_per_marked_window_and_loses_nothing() {
    let toml = r#"
        duration = "1000 s"
        warm_up = "100 s"
        [[path]]
        name = "only"
        rate = "24 Mbit/s"
        delay = "49.75 ms"
        queue = "1000 packets"
        ecn_threshold = "200 packets"
        energy = "free"
        [transport]
        ecn = true
        recovery = "sack"
        [workload]
        kind = "bulk"
    "#;
    let result = simulate(toml, "uncoupled", 1);
    let path = &result.paths[0];
    assert_between(
        "reductions",
        path.loss_event_rate * path.segments as f64,
        28.0,
        32.0,
    );
    assert_near("mean window, packets", path.mean_cwnd, 311.1, 0.01);
    assert_between(
        "utilisation",
        result.goodput_bps / MSS_BITS * WIRE_BITS / 24e6,
        0.995,
        1.0001,
    );
    assert_eq!(path.retransmissions, 0);
}
