//! A run in parts gives the bytes of a run in one.

use joulepath_control::Setup;
use joulepath_model::cancel::Cancel;
use joulepath_model::result::Counters;
use joulepath_model::scenario::{Scenario, load};
use proptest::prelude::*;

use crate::{RunOptions, build};

fn scenario(text: &str) -> Scenario {
    load(text, &|trace| Err(format!("no trace {trace}"))).unwrap_or_else(|errors| panic!("{errors}\n{text}"))
}

/// The result as text, its counters, and into how many parts the network was cut.
fn run(scenario: &Scenario, policy: &str, seed: u64, parts: usize) -> (String, Counters, usize) {
    let setup = Setup::of(&policy.parse().unwrap(), scenario).unwrap();
    let options = RunOptions { series: true, ..RunOptions::default() };
    let mut engine = build::build(scenario, &setup, seed, &options, parts).unwrap();
    let parts = engine.net.border.as_ref().map_or(1, |border| border.map.parts);
    if parts == 1 {
        engine.run(&Cancel::new()).unwrap();
    } else {
        super::run(&mut engine, &Cancel::new()).unwrap();
    }
    let result = engine.result(scenario, policy, seed);
    (serde_json::to_string(&result).unwrap(), result.counters, parts)
}

/// Runs in 1, 2, 4 and 8 parts; returns the counters.
fn compare(text: &str, policy: &str, seed: u64) -> Counters {
    let scenario = scenario(text);
    let (one, counters, _) = run(&scenario, policy, seed, 1);
    for parts in [2, 4, 8] {
        let (several, _, cut) = run(&scenario, policy, seed, parts);
        assert!(cut > 1 && cut <= parts, "{cut} of {parts}");
        assert!(one == several, "{policy}, seed {seed}, {parts} parts\n{text}\n{one}\n{several}");
    }
    counters
}

/// Losses, timeouts, eight subflows on routes of six links.
#[test]
fn a_fat_tree_is_the_same_in_any_number_of_parts() {
    let text = "title = \"tree\"\nduration = \"300 ms\"\n[topology]\nkind = \"fat-tree\"\nk = 4\n\
                rate = \"100 Mbit/s\"\nqueue = \"20 packets\"\nspread = \"50 ms\"\n";
    for policy in ["mptcp", "dts"] {
        let counters = compare(text, policy, 1);
        assert!(counters.queue_drops > 100 && counters.packet_hops > 100_000, "{counters:?}");
    }
}
