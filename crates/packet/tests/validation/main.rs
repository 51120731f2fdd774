//! The packet engine against closed forms, fixed points and hand calculations.
//!
//! `cargo test -p joulepath-packet --test validation -- --nocapture` prints measured and expected
//! values, which docs/models/packet.md lists.

#[path = "../common/mod.rs"]
mod common;

mod app_limited;
mod buffers;
mod buffers_growing;
mod cancelled;
mod dctcp;
mod dead_paths;
mod determinism;
mod energy;
mod equilibria;
mod fuzz;
mod handshake;
mod hystart;
mod ideal;
mod l4s;
mod limits;
mod limits_terms;
mod managed;
mod multipath;
mod owned;
mod passing;
mod path_models;
mod phases;
mod rate_changes;
mod reception;
mod recovery;
mod relays;
mod reno;
mod saver;
mod sawtooth;
mod schedulers;
mod selection;
mod shares;
mod spurious;
mod tally;
mod topologies;
mod workloads;

use joulepath_model::result::RunResult;
use joulepath_packet::RunOptions;

/// Payload and wire size of a full segment, bits.
const MSS_BITS: f64 = 1460.0 * 8.0;
const WIRE_BITS: f64 = 1500.0 * 8.0;

fn simulate(toml: &str, policy: &str, seed: u64) -> RunResult {
    common::simulate(toml, policy, seed, RunOptions::default())
}

fn simulate_with_series(toml: &str, policy: &str, seed: u64) -> RunResult {
    common::simulate(
        toml,
        policy,
        seed,
        RunOptions {
            series: true,
            ..RunOptions::default()
        },
    )
}

/// The scenario with hosts that take no time, for exact arithmetic.
fn exact(toml: &str) -> String {
    const TRANSPORT: &str = "[transport]\n";
    const NO_TIME: &str = "processing_delay = \"0 s\"\n";
    match toml.split_once(TRANSPORT) {
        Some((before, after)) => format!("{before}{TRANSPORT}{NO_TIME}{after}"),
        None => format!("{toml}\n{TRANSPORT}{NO_TIME}"),
    }
}

/// Prints measured and expected value; fails if they differ by more than `tolerance`, relative.
#[track_caller]
fn assert_near(what: &str, measured: f64, expected: f64, tolerance: f64) {
    let deviation = measured / expected - 1.0;
    println!(
        "{what}: measured {measured:.5}, expected {expected:.5}, deviation {:+.2} %",
        deviation * 100.0
    );
    assert!(
        deviation.abs() <= tolerance,
        "{what}: {measured} is not within {tolerance} of {expected}"
    );
}

/// [`assert_near`] for a value between two bounds.
#[track_caller]
fn assert_between(what: &str, measured: f64, low: f64, high: f64) {
    println!("{what}: measured {measured:.5}, bounds {low:.5} to {high:.5}");
    assert!(
        (low..=high).contains(&measured),
        "{what}: {measured} is not between {low} and {high}"
    );
}
