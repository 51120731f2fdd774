//! Every fast path gives the result of the general path, to the last byte.

use joulepath_control::Setup;
use joulepath_model::cancel::Cancel;
use joulepath_model::scenario::load;
use proptest::prelude::*;

use crate::{RunOptions, build};

/// The result as text, its packet-hops, and the number of segments and ACKs that took a fast path.
fn run(text: &str, policy: &str, seed: u64, short: bool) -> (String, u64, u64) {
    let scenario = load(text, &|trace| Err(format!("no trace {trace}")));
    let scenario = scenario.unwrap_or_else(|errors| panic!("{errors}\n{text}"));
    let setup = Setup::of(&policy.parse().unwrap(), &scenario).unwrap();
    let options = RunOptions {
        series: true,
        links: true,
        ..RunOptions::default()
    };
    let mut engine = build::build(&scenario, &setup, seed, &options, 1).unwrap();
    engine.uses_fast_paths = short;
    engine.run(&Cancel::new()).unwrap();
    let (hops, fast_path_hits) = (
        engine.net.counts.counters().packet_hops,
        engine.fast_path_hits,
    );
    (
        serde_json::to_string(&engine.result(&scenario, policy, seed)).unwrap(),
        hops,
        fast_path_hits,
    )
}

/// Compares fast and general paths; returns the packet-hops, and the number of packets on fast
/// paths.
fn compare(text: &str, policy: &str, seed: u64) -> (u64, u64) {
    let (general, _, none) = run(text, policy, seed, false);
    let (short, hops, fast_path_hits) = run(text, policy, seed, true);
    assert!(
        general == short,
        "{policy}, seed {seed}: fast and general paths differ\n{text}\n{general}\n{short}"
    );
    assert_eq!(none, 0);
    (hops, fast_path_hits)
}

fn one_of(words: &'static [&'static str]) -> impl Strategy<Value = &'static str> {
    prop::sample::select(words)
}

/// A path with random rate, delay, queue, loss and radio.
fn path(name: usize) -> impl Strategy<Value = String> {
    let rate = one_of(&["300 kbit/s", "2 Mbit/s", "9 Mbit/s", "30 Mbit/s"]);
    let delay = one_of(&["1 ms", "15 ms", "90 ms"]);
    let queue = one_of(&["6 packets", "25 packets", "200 packets"]);
    let loss = one_of(&["0 %", "0.2 %", "3 %"]);
    let energy = one_of(&["free", "wifi-seed000", "wifi-huang2012", "lte-huang2012"]);
    (rate, delay, queue, loss, energy).prop_map(move |(rate, delay, queue, loss, energy)| {
        format!(
            "[[path]]\nname = \"p{name}\"\nrate = \"{rate}\"\ndelay = \"{delay}\"\nqueue = \"{queue}\"\n\
             ecn_threshold = \"4 packets\"\nloss = \"{loss}\"\nenergy = \"{energy}\"\n"
        )
    })
}

fn scenario() -> impl Strategy<Value = String> {
    let paths = prop_oneof![
        path(0),
        (path(0), path(1)).prop_map(|(a, b)| a + &b),
        (path(0), path(1), path(2)).prop_map(|(a, b, c)| a + &b + &c),
    ];
    let workload = one_of(&[
        "kind = \"bulk\"",
        "kind = \"file\"\nsize = \"700 kB\"",
        "kind = \"messages\"\nmean_gap = \"20 ms\"\nsize = \"20 kB\"",
        "kind = \"requests\"\nsize = \"150 kB\"\nthink = \"100 ms\"",
    ]);
    let direction = one_of(&["download", "upload"]);
    let buffer = one_of(&["24 KiB", "256 KiB", "4 MiB"]);
    let recovery = one_of(&["rack", "rack", "sack", "newreno"]);
    let transport = one_of(&[
        "",
        "ecn = true",
        "delayed_ack = \"40 ms\"",
        "processing_delay = \"0 s\"",
    ]);
    let device = one_of(&["", "[device]\nsharing_factor = 0.8"]);
    let rest = (workload, direction, buffer, recovery, transport, device);
    let rest = rest.prop_map(|(workload, direction, buffer, recovery, transport, device)| {
        let requests = workload.contains("requests");
        let direction = if requests { "download" } else { direction };
        format!(
            "[workload]\n{workload}\ndirection = \"{direction}\"\n[receiver]\nbuffer = \"{buffer}\"\n\
             [transport]\nrecovery = \"{recovery}\"\n{transport}\n{device}\n"
        )
    });
    let competitor = one_of(&["", "[[competitor]]\nname = \"tcp\"\npath = \"p0\"\n"]);
    (paths, competitor, rest).prop_map(|(paths, competitor, rest)| {
        format!(
            "title = \"random\"\nduration = \"5 s\"\nwarm_up = \"1 s\"\n{paths}{competitor}{rest}"
        )
    })
}

const POLICIES: &[&str] = &[
    "uncoupled",
    "mptcp",
    "olia",
    "dts",
    "dctcp",
    "prague",
    "linux",
    "joule",
    "joule[cc=joule]",
    "redundant",
    "emptcp",
    "mptcp[scheduler=round-robin]",
    "mptcp[scheduler=first-free]",
    "mptcp[scheduler=blest]",
    "mptcp[scheduler=sttf]",
    "mptcp[scheduler=placing]",
    "bbr1",
    "bbr3",
    "copa",
    "vivace",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    /// Losses, marks, delayed ACKs, sleeping radios, full buffers, every recovery: fast paths do
    /// what the general path does.
    #[test]
    fn fast_paths_match_the_general_path(text in scenario(), name in one_of(POLICIES), seed in 0u64..9) {
        compare(&text, name, seed);
    }
}

/// Without losses nearly every segment and ACK takes a fast path, so the comparison is not vacuous.
/// Two hops each: a segment's link, an ACK's link.
#[test]
fn most_packets_take_a_fast_path() {
    let path = |name: &str, delay: &str| {
        format!(
            "[[path]]\nname = \"{name}\"\nrate = \"8 Mbit/s\"\ndelay = \"{delay}\"\nenergy = \"free\"\n"
        )
    };
    let one = path("a", "10 ms");
    let two = format!("{one}{}", path("b", "25 ms"));
    let policies = [
        (&one, "uncoupled"),
        (&two, "mptcp"),
        (&two, "uncoupled"),
        (&one, "bbr3"),
        (&two, "joule"),
        (&two, "joule[cc=joule]"),
        (&two, "linux"),
    ];
    for (paths, policy) in policies {
        let text =
            format!("title = \"calm\"\nduration = \"20 s\"\n{paths}[workload]\nkind = \"bulk\"\n");
        let (hops, fast_path_hits) = compare(&text, policy, 1);
        assert!(
            hops > 20_000 && fast_path_hits * 10 > hops * 9,
            "{policy}: {fast_path_hits} of {hops}"
        );
    }
}

/// Losses do not keep the packets of a lone subflow from fast paths.
#[test]
fn packets_of_a_recovery_take_a_fast_path() {
    let text = "title = \"lossy\"\nduration = \"20 s\"\n[[path]]\nname = \"a\"\nrate = \"8 Mbit/s\"\n\
                delay = \"10 ms\"\nqueue = \"20 packets\"\nloss = \"2 %\"\nenergy = \"free\"\n\
                [workload]\nkind = \"bulk\"\n";
    let (hops, fast_path_hits) = compare(text, "uncoupled", 1);
    assert!(
        hops > 10_000 && fast_path_hits * 20 > hops * 19,
        "{fast_path_hits} of {hops}"
    );
}

/// Routes of six links, eight subflows, a timing wheel.
#[test]
fn fast_paths_do_not_change_a_data_centre() {
    let text = "title = \"tree\"\nduration = \"200 ms\"\n[topology]\nkind = \"fat-tree\"\nk = 4\n\
                rate = \"100 Mbit/s\"\nqueue = \"20 packets\"\nspread = \"50 ms\"\n";
    for policy in ["mptcp", "olia"] {
        let (hops, fast_path_hits) = compare(text, policy, 2);
        assert!(
            hops > 50_000 && fast_path_hits > 5_000,
            "{policy}: {fast_path_hits} of {hops}"
        );
    }
}
