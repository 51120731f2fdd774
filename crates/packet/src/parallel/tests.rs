//! A run in parts gives the same bytes as a run in one.

use std::cell::Cell;
use std::num::NonZeroUsize;

use joulepath_control::Setup;
use joulepath_model::cancel::Cancel;
use joulepath_model::result::Counters;
use joulepath_model::scenario::{Scenario, load};
use proptest::prelude::*;

use super::parts_for;
use crate::{Cores, RunOptions, build};

fn scenario(text: &str) -> Scenario {
    load(text, &|trace| Err(format!("no trace {trace}")))
        .unwrap_or_else(|errors| panic!("{errors}\n{text}"))
}

thread_local! {
    /// Number of readings of the clock in this run.
    static LOOKS: Cell<u64> = const { Cell::new(0) };
}

/// A clock by which the first, parallel windows take very long, so that one thread runs the others.
fn of_busy_cores() -> u64 {
    let looks = LOOKS.replace(LOOKS.get() + 1);
    looks + if looks > 0 { 1_000_000_000_000 } else { 0 }
}

/// A clock by which both modes take no time, so that the parts run in parallel.
fn of_free_cores() -> u64 {
    0
}

/// The result as text, its counters, and the number of parts.
fn run(
    scenario: &Scenario,
    (policy, seed): (&str, u64),
    parts: usize,
    clock: fn() -> u64,
) -> (String, Counters, usize) {
    let setup = Setup::of(&policy.parse().unwrap(), scenario).unwrap();
    let options = RunOptions {
        series: true,
        ..RunOptions::default()
    };
    let mut engine = build::build(scenario, &setup, seed, &options, parts).unwrap();
    let parts = engine
        .net
        .border
        .as_ref()
        .map_or(1, |border| border.map.parts);
    if parts == 1 {
        engine.run(&Cancel::new()).unwrap();
    } else {
        LOOKS.set(0);
        let cores = Cores {
            most: NonZeroUsize::new(parts).unwrap(),
            clock,
        };
        super::run(&mut engine, cores, &Cancel::new()).unwrap();
    }
    let result = engine.result(scenario, policy, seed);
    (
        serde_json::to_string(&result).unwrap(),
        result.counters,
        parts,
    )
}

/// Compares runs in one part and in each number of `parts`; returns the counters.
fn compare(
    text: &str,
    (policy, seed): (&str, u64),
    parts: &[usize],
    clock: fn() -> u64,
) -> Counters {
    let scenario = scenario(text);
    let (one, counters, _) = run(&scenario, (policy, seed), 1, clock);
    for &parts in parts {
        let (several, _, cut) = run(&scenario, (policy, seed), parts, clock);
        assert!(cut > 1 && cut <= parts, "{cut} of {parts}");
        assert!(
            one == several,
            "{policy}, seed {seed}, {parts} parts\n{text}\n{one}\n{several}"
        );
    }
    counters
}

const TREE: &str = "title = \"tree\"\nduration = \"60 ms\"\n[topology]\nkind = \"fat-tree\"\nk = 4\n\
                    rate = \"100 Mbit/s\"\nqueue = \"20 packets\"\nspread = \"10 ms\"\n";

/// Losses, eight subflows on routes of six links, one thread per part.
#[test]
fn a_fat_tree_gives_the_same_result_on_any_number_of_cores() {
    let counters = compare(TREE, ("mptcp", 1), &[2, 4], of_free_cores);
    assert!(
        counters.queue_drops > 10 && counters.packet_hops > 10_000,
        "{counters:?}"
    );
}

/// The same with one thread for all parts, and with a control plane.
#[test]
fn parts_run_in_turn_give_the_same_result() {
    for policy in ["mptcp", "dts"] {
        compare(
            &TREE.replace("60 ms", "250 ms"),
            (policy, 2),
            &[2, 4, 8],
            of_busy_cores,
        );
    }
}

/// Repeated handshakes, timeouts, and subflows that are killed after the second timeout in a row.
#[test]
fn killed_subflows_give_the_same_result_in_parts() {
    let text = TREE
        .replace("60 ms", "250 ms")
        .replace("20 packets", "3 packets");
    let text = text + "[transport]\nmax_retries = 1\nrto_min = \"1 ms\"\nrto_initial = \"4 ms\"\n";
    let counters = compare(&text, ("uncoupled", 3), &[2, 4, 8], of_busy_cores);
    assert!(counters.queue_drops > 100, "{counters:?}");
}

/// Windows that the receiver offers while the sender, in another thread, runs ahead or behind.
#[test]
fn receive_buffers_that_grow_give_the_same_result_in_parts() {
    let growing = "[receiver]\nbuffer = \"auto\"\nmemory = \"8 KiB\"\nmax_memory = \"64 KiB\"\n";
    let counters = compare(
        &format!("{TREE}{growing}"),
        ("mptcp", 4),
        &[2, 4],
        of_free_cores,
    );
    let fixed = compare(TREE, ("mptcp", 4), &[2], of_free_cores);
    assert!(
        counters.packet_hops < fixed.packet_hops,
        "the windows limit: {counters:?} {fixed:?}"
    );
}

#[test]
fn a_run_is_divided_only_if_possible_and_worthwhile() {
    let parts = |text: &str, policy: &str, most: usize| {
        let scenario = scenario(text);
        let setup = Setup::of(&policy.parse().unwrap(), &scenario).unwrap();
        let cores = Cores {
            most: NonZeroUsize::new(most).unwrap(),
            clock: of_free_cores,
        };
        parts_for(
            &scenario,
            &setup,
            &RunOptions {
                cores: Some(cores),
                ..RunOptions::default()
            },
        )
    };
    // 128 hosts × 100 Mbit/s × 100 µs are 107 packets of 1500 B: enough for six parts with 16 each.
    let large = TREE.replace("k = 4", "k = 8");
    assert_eq!(
        (
            parts(&large, "mptcp", 1),
            parts(&large, "mptcp", 2),
            parts(&large, "mptcp", 9)
        ),
        (1, 2, 6)
    );
    // 16 hosts have 13 packets.
    assert_eq!(parts(TREE, "mptcp", 8), 1);
    let file = format!("{large}[workload]\nkind = \"file\"\nsize = \"1 MB\"\n");
    assert_eq!(parts(&file, "mptcp", 8), 1);
    let path = "title = \"path\"\nduration = \"1 s\"\n[[path]]\nname = \"a\"\nrate = \"9 Gbit/s\"\n\
                delay = \"9 ms\"\nenergy = \"free\"\n";
    assert_eq!(parts(path, "mptcp", 8), 1);
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
    let delay = one_of(&["70 us", "100 us", "1 ms"]);
    let queue = one_of(&[
        "queue = \"5 packets\"",
        "queue = \"40 packets\"\necn_threshold = \"5 packets\"",
    ]);
    let rest = one_of(&[
        "traffic = \"random\"",
        "routing = \"ecmp\"\nsubflows = 3",
        "subflows = 1",
        "",
    ]);
    (kind, rate, delay, queue, rest).prop_map(|(kind, rate, delay, queue, rest)| {
        format!(
            "[topology]\n{kind}\nrate = \"{rate}\"\ndelay = \"{delay}\"\n{queue}\n{rest}\nspread = \"5 ms\"\n\
             energy = {{ per_mbps = \"5 mW\", up_per_mbps = \"7 mW\", active = \"1 W\" }}\n"
        )
    })
}

fn text() -> impl Strategy<Value = String> {
    let workload = one_of(&[
        "kind = \"bulk\"",
        "kind = \"messages\"\nmean_gap = \"5 ms\"\nsize = \"20 kB\"",
    ]);
    let direction = one_of(&["download", "upload"]);
    let transport = one_of(&[
        "",
        "ecn = true",
        "delayed_ack = \"4 ms\"",
        "recovery = \"sack\"",
        "recovery = \"newreno\"\nprocessing_delay = \"0 s\"",
        // Many timeouts, repeated handshakes, killed subflows.
        "max_retries = 1\nrto_min = \"1 ms\"\nrto_initial = \"4 ms\"",
    ]);
    let device = one_of(&["", "[device]\npreset = \"host-relative\"\n"]);
    (topology(), workload, direction, transport, device).prop_map(
        |(topology, workload, direction, transport, device)| {
            format!(
                "title = \"random\"\nduration = \"40 ms\"\nwarm_up = \"10 ms\"\n{topology}{device}\
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
    #![proptest_config(ProptestConfig { cases: 16, ..ProptestConfig::default() })]

    /// For any network, traffic and policy, the result does not depend on the number of parts.
    #[test]
    fn a_random_data_centre_gives_the_same_result_in_any_number_of_parts(
        text in text(), policy in one_of(POLICIES), seed in 0u64..9,
    ) {
        compare(&text, (policy, seed), &[2, 4, 8], of_busy_cores);
    }
}
