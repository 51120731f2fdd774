//! A run in parts gives the bytes of a run in one.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicU64, Ordering};

use joulepath_control::Setup;
use joulepath_model::cancel::Cancel;
use joulepath_model::result::Counters;
use joulepath_model::scenario::{Scenario, load};
use proptest::prelude::*;

use crate::{Cores, RunOptions, build};

fn scenario(text: &str) -> Scenario {
    load(text, &|trace| Err(format!("no trace {trace}"))).unwrap_or_else(|errors| panic!("{errors}\n{text}"))
}

/// A clock that goes fast and slowly in turn, so that parts run side by side now and alone then.
fn clock() -> u64 {
    static LOOKS: AtomicU64 = AtomicU64::new(0);
    let looks = LOOKS.fetch_add(1, Ordering::Relaxed);
    looks * 1_000_000_000 + looks.wrapping_mul(0x9E37_79B9_7F4A_7C15) % 1_000_000_000
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
        let cores = Cores { most: NonZeroUsize::new(parts).unwrap(), clock };
        super::run(&mut engine, cores, &Cancel::new()).unwrap();
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

fn one_of(words: &'static [&'static str]) -> impl Strategy<Value = &'static str> {
    prop::sample::select(words)
}

fn topology() -> impl Strategy<Value = String> {
    let kind = one_of(&[
        "kind = \"fat-tree\"\nk = 4",
        "kind = \"vl2\"\nd_a = 4\nd_i = 4\nhosts_per_tor = 3",
        "kind = \"bcube\"\nn = 4\nk = 1",
        "kind = \"vpc\"\nhosts = 9\ninterfaces = 2",
    ]);
    let rate = one_of(&["20 Mbit/s", "100 Mbit/s"]);
    let delay = one_of(&["30 us", "100 us", "2 ms"]);
    let queue = one_of(&["queue = \"5 packets\"", "queue = \"40 packets\"\necn_threshold = \"5 packets\""]);
    let rest = one_of(&["traffic = \"random\"", "routing = \"ecmp\"\nsubflows = 3", "subflows = 1", ""]);
    (kind, rate, delay, queue, rest).prop_map(|(kind, rate, delay, queue, rest)| {
        format!(
            "[topology]\n{kind}\nrate = \"{rate}\"\ndelay = \"{delay}\"\n{queue}\n{rest}\nspread = \"15 ms\"\n\
             energy = {{ per_mbps = \"5 mW\", up_per_mbps = \"7 mW\", active = \"1 W\" }}\n"
        )
    })
}

fn text() -> impl Strategy<Value = String> {
    let workload = one_of(&["kind = \"bulk\"", "kind = \"messages\"\nmean_gap = \"10 ms\"\nsize = \"20 kB\""]);
    let direction = one_of(&["download", "upload"]);
    let transport = one_of(&[
        "",
        "ecn = true",
        "delayed_ack = \"4 ms\"",
        "recovery = \"sack\"",
        "recovery = \"newreno\"\nprocessing_delay = \"0 s\"",
        // Many timeouts, lost handshakes that are repeated, subflows that are given up.
        "max_retries = 1\nrto_min = \"1 ms\"\nrto_initial = \"4 ms\"",
    ]);
    let device = one_of(&["", "[device]\npreset = \"host-relative\"\n"]);
    (topology(), workload, direction, transport, device).prop_map(
        |(topology, workload, direction, transport, device)| {
            format!(
                "title = \"random\"\nduration = \"80 ms\"\nwarm_up = \"20 ms\"\n{topology}{device}\
                 [workload]\n{workload}\ndirection = \"{direction}\"\n[transport]\n{transport}\n"
            )
        },
    )
}

const POLICIES: &[&str] = &[
    "uncoupled",
    "mptcp",
    "olia",
    "dts",
    "dctcp",
    "mptcp[cc=bbr1]",
    "linux",
    "redundant",
    "eemptcp",
    "so-mptcp",
    "mptcp[scheduler=round-robin]",
    "mptcp[scheduler=blest]",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    /// Whatever the network, the traffic and the policy, the number of parts does not show in the result.
    #[test]
    fn a_random_data_centre_is_the_same_in_any_number_of_parts(
        text in text(), policy in one_of(POLICIES), seed in 0u64..9,
    ) {
        compare(&text, policy, seed);
    }
}
