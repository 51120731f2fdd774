//! Order of arrival: blocks of 100 segments, and data that waits for earlier segments.

use joulepath_packet::RunOptions;

use crate::common;
use crate::{assert_between, assert_near, exact, simulate};

fn two_paths(slow_delay: &str) -> String {
    format!(
        r#"
        duration = "100 s"
        warm_up = "10 s"
        [[path]]
        name = "fast"
        rate = "4 Mbit/s"
        delay = "40 ms"
        queue = "50 packets"
        energy = "free"
        [[path]]
        name = "slow"
        rate = "2 Mbit/s"
        delay = "{slow_delay}"
        queue = "50 packets"
        energy = "free"
        [receiver]
        buffer = "146 kB"
        [workload]
        kind = "bulk"
        "#
    )
}

/// One path without loss: a block of 100 segments takes 99 gaps, none waits, and each needs room
/// only for itself.
#[test]
fn one_path_delivers_blocks_in_order() {
    let result = simulate(&two_paths("40 ms"), "single:fast", 1);
    let blocks = result.blocks.unwrap();
    assert_near(
        "blocks × 100 segments",
        blocks.count as f64 * 100.0 * 11_680.0,
        90.0 * result.goodput_bps,
        0.01,
    );
    assert_near(
        "goodput of the median block",
        blocks.goodput_bps.p50 * 0.99,
        4e6 * 1460.0 / 1500.0,
        0.001,
    );
    assert_eq!(
        (blocks.buffer.p50, result.receive_buffer.unwrap().p50),
        (100.0, 0.0)
    );
}

/// With a window of 100 segments only copies, a few of which wait on both paths, exceed it: a
/// block's buffer is below 200 plus these. With a slower second path more segments wait, and blocks
/// take longer.
#[test]
fn a_slower_path_fills_the_receive_buffer() {
    let of = |delay| {
        let result = simulate(&exact(&two_paths(delay)), "mptcp", 1);
        (
            result.blocks.unwrap(),
            result.receive_buffer.unwrap(),
            result.goodput_bps,
        )
    };
    let ((near, near_held, _), (far, far_held, far_bps)) = (of("40 ms"), of("160 ms"));
    assert!(
        far_held.max < 105.0 && far.buffer.max < 205.0,
        "{far_held:?} {far:?}"
    );
    assert!(
        far_held.max > 2.0 * near_held.max,
        "{far_held:?} {near_held:?}"
    );
    assert_between(
        "block goodput, far / near",
        far.goodput_bps.mean / near.goodput_bps.mean,
        0.3,
        0.95,
    );
    // Blocks overlap: each takes longer than its share of the time (defect 004-2).
    assert!(far.goodput_bps.p50 < far_bps, "{far:?} {far_bps}");
}

/// The series of blocks has all blocks, and the sampled buffer is within its bounds.
#[test]
fn the_series_agrees_with_the_sums() {
    let result = common::simulate(
        &two_paths("160 ms").replace("warm_up = \"10 s\"", ""),
        "mptcp",
        1,
        RunOptions {
            series: true,
            ..RunOptions::default()
        },
    );
    let (stats, series) = (result.blocks.unwrap(), result.series.unwrap());
    let blocks = series.blocks.unwrap();
    assert_eq!(blocks.time_s.len() as u64, stats.count);
    assert_near(
        "mean",
        blocks.goodput_bps.iter().sum::<f64>() / stats.count as f64,
        stats.goodput_bps.mean,
        1e-12,
    );
    assert!(blocks.time_s.is_sorted());
    let most = series.receive_buffer.iter().copied().fold(0.0, f64::max);
    assert!(
        most > 0.0 && most <= result.receive_buffer.unwrap().max,
        "{most}"
    );
}
