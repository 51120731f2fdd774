//! Schedulers in the engine: nothing is lost, and each achieves its purpose.

use joulepath_control::schedule::SCHEDULERS;

use joulepath_model::result::RunResult;

use crate::{assert_between, assert_near, simulate};

/// A fast and a slow path with losses.
fn two_paths(duration_s: u32, rest: &str) -> String {
    format!(
        r#"
        duration = "{duration_s} s"
        [[path]]
        name = "fast"
        rate = "10 Mbit/s"
        delay = "10 ms"
        loss = "1 %"
        energy = "wifi-huang2012"
        [[path]]
        name = "slow"
        rate = "4 Mbit/s"
        delay = "80 ms"
        loss = "1 %"
        energy = "lte-huang2012"
        {rest}
        "#
    )
}

/// The radios of 000, table 1, and a receive buffer of two pages.
const LOSSY_RADIOS: &str = r#"
    duration = "60 s"
    [[path]]
    name = "wifi"
    rate = "10 Mbit/s"
    delay = "70 ms"
    loss = "10 %"
    queue = "50 packets"
    energy = "wifi-seed000"
    [[path]]
    name = "lte"
    rate = "4 Mbit/s"
    delay = "100 ms"
    loss = "2 %"
    queue = "50 packets"
    energy = "lte-seed000"
    [[path]]
    name = "umts"
    rate = "4 Mbit/s"
    delay = "120 ms"
    loss = "2 %"
    queue = "50 packets"
    energy = "umts-seed000"
    [receiver]
    buffer = "64 KiB"
    [transport]
    mss = "536 B"
"#;

/// Linux 6.18 on these radios, 20 seeds of 60 s: 299 ± 12 kbit/s, a tenth of it sent twice. If the
/// scheduler continued its page on the same subflow after each stop, it would be 238 kbit/s and a
/// fifth: data would wait for the slowest radio, and be sent on another one as well.
#[test]
fn mainline_refills_a_small_window_on_the_earliest_subflow() {
    let runs: Vec<_> = (1..=12)
        .map(|seed| simulate(LOSSY_RADIOS, "uncoupled[scheduler=mainline]", seed))
        .collect();
    let mean =
        |of: &dyn Fn(&RunResult) -> f64| runs.iter().map(of).sum::<f64>() / runs.len() as f64;
    assert_near(
        "Linux' scheduler, kbit/s",
        mean(&|run| run.goodput_bps / 1e3),
        299.0,
        0.08,
    );
    assert_between(
        "sent twice",
        mean(&|run| run.retransmission_ratio),
        0.07,
        0.15,
    );
}

#[test]
fn every_scheduler_completes_a_file_in_both_directions() {
    for direction in ["download", "upload"] {
        let file =
            format!("[workload]\nkind = \"file\"\nsize = \"2 MB\"\ndirection = \"{direction}\"");
        let toml = two_paths(60, &file);
        for info in SCHEDULERS {
            let policy = match info.name {
                "allotted" => "so-mptcp".to_owned(),
                name => format!("uncoupled[scheduler={name}]"),
            };
            let result = simulate(&toml, &policy, 1);
            assert!(
                result.completion_s.is_some(),
                "{policy} {direction}: {result:?}"
            );
            let bytes = result.goodput_bps * result.measured_s / 8.0;
            assert!((bytes - 2e6).abs() < 1.0, "{policy} {direction}: {bytes}");
        }
    }
}

#[test]
fn every_scheduler_has_the_same_goodput_on_one_path() {
    let toml = r#"
        duration = "10 s"
        [[path]]
        name = "only"
        rate = "10 Mbit/s"
        delay = "20 ms"
        energy = "wifi-huang2012"
        "#;
    let expected = simulate(toml, "uncoupled", 1).goodput_bps;
    assert!(expected > 9e6, "{expected}");
    for info in SCHEDULERS.iter().filter(|info| info.name != "allotted") {
        let policy = format!("uncoupled[scheduler={}]", info.name);
        let goodput_bps = simulate(toml, &policy, 1).goodput_bps;
        assert!(
            (goodput_bps / expected - 1.0).abs() < 0.02,
            "{policy}: {goodput_bps} against {expected}"
        );
    }
}

#[test]
fn redundant_copies_cost_energy_and_carry_no_more_than_the_fast_path() {
    let toml = two_paths(30, "[workload]\nkind = \"bulk\"");
    let redundant = simulate(&toml, "redundant[cc=reno]", 1);
    let uncoupled = simulate(&toml, "uncoupled", 1);
    let alone = simulate(&toml, "single:fast", 1);
    assert!(
        redundant.goodput_bps < 0.9 * uncoupled.goodput_bps,
        "{}",
        redundant.goodput_bps
    );
    assert!(
        redundant.goodput_bps > 0.9 * alone.goodput_bps,
        "{}",
        redundant.goodput_bps
    );
    assert!(redundant.bits_per_joule < uncoupled.bits_per_joule);
    // Both paths have sent, but next to nothing arrives first over the slow one.
    assert!(
        redundant.paths[1].segments > 1000 && redundant.paths[1].share < 0.1,
        "{:?}",
        redundant.paths
    );
}

/// A buffer of half the slow path's bandwidth-delay product: a scheduler that uses the slow path
/// blocks the fast one.
#[test]
fn waiting_schedulers_lose_less_to_a_small_buffer_than_minrtt_without_rescue() {
    let toml = two_paths(
        60,
        "[workload]\nkind = \"bulk\"\n[receiver]\nbuffer = \"60 kB\"",
    );
    let mean = |policy: &str| {
        (1..=5)
            .map(|seed| simulate(&toml, policy, seed).goodput_bps)
            .sum::<f64>()
            / 5.0
    };
    let minrtt = mean("uncoupled[opportunistic=off,penalise=off]");
    for scheduler in ["blest", "ecf", "sttf"] {
        let waits = mean(&format!(
            "uncoupled[scheduler={scheduler},opportunistic=off,penalise=off]"
        ));
        println!("{scheduler}: {waits:.0} bit/s, minrtt {minrtt:.0}");
        assert!(waits > minrtt, "{scheduler}: {waits} against {minrtt}");
    }
}

/// Steady delays, windows limited by loss: the slow path carries segments that are due when they
/// arrive, so the shared buffer blocks less. (With queues that fill, half of the RTT does not
/// estimate the delay, and the gain vanishes: see docs/models/schedulers.md.)
#[test]
fn the_proactive_scheduler_is_blocked_less_by_a_small_buffer_than_first_free() {
    let toml = r#"
        duration = "120 s"
        [[path]]
        name = "fast"
        rate = "100 Mbit/s"
        delay = "20 ms"
        loss = "0.5 %"
        energy = "free"
        [[path]]
        name = "slow"
        rate = "100 Mbit/s"
        delay = "60 ms"
        loss = "0.5 %"
        energy = "free"
        [workload]
        kind = "bulk"
        [receiver]
        buffer = "70 kB"
    "#;
    let mean = |policy: &str| {
        (1..=5)
            .map(|seed| simulate(toml, policy, seed).goodput_bps)
            .sum::<f64>()
            / 5.0
    };
    let first_free = mean("uncoupled[scheduler=first-free]");
    let proactive = mean("uncoupled[scheduler=proactive]");
    let spaced = mean("uncoupled[scheduler=proactive,spaced=on]");
    println!("first-free {first_free:.0}, proactive {proactive:.0}, spaced {spaced:.0} bit/s");
    assert!(proactive > first_free && spaced > first_free);
}

#[test]
fn a_larger_v_makes_so_mptcp_use_the_expensive_path_less() {
    let messages = "[workload]\nkind = \"messages\"\nmean_gap = \"50 ms\"\nsize = \"12 kB\"";
    let toml = two_paths(60, messages);
    let eager = simulate(&toml, "so-mptcp[V=0]", 1);
    let patient = simulate(&toml, "so-mptcp[V=1000]", 1);
    println!("{:?}\n{:?}", eager.paths, patient.paths);
    assert!(
        patient.paths[1].share < 0.5 * eager.paths[1].share,
        "{:?}",
        patient.paths
    );
    assert!(patient.delay.as_ref().unwrap().count > 1000);
}

/// 004's wired links: a window of 100 segments for 27 + 40 in flight and the segments that wait for
/// the slow path's. The links carry 6 Mbit/s of packets, 5.79 of payload.
#[test]
fn placing_fills_both_links_despite_a_small_window() {
    let toml = r#"
        duration = "100 s"
        warm_up = "5 s"
        [[path]]
        name = "fast"
        rate = "4 Mbit/s"
        delay = "40 ms"
        queue = "50 packets"
        energy = "free"
        [[path]]
        name = "slow"
        rate = "2 Mbit/s"
        delay = "120 ms"
        queue = "50 packets"
        energy = "free"
        [workload]
        kind = "bulk"
        [receiver]
        buffer = "144800 B"
        [transport]
        mss = "1448 B"
        header = "52 B"
    "#;
    for seed in 1..=5 {
        let goodput = |scheduler: &str| {
            simulate(toml, &format!("uncoupled[scheduler={scheduler}]"), seed).goodput_bps / 1e6
        };
        let [placing, daps, sttf] = ["placing", "daps", "sttf"].map(goodput);
        println!("{placing} {daps} {sttf}");
        assert!(
            placing > 0.99 * 5.79 && placing > 1.15 * daps.max(sttf),
            "{placing} {daps} {sttf}"
        );
    }
}

/// A window of 33 segments, which the first path fills alone: segments on the second one would
/// occupy it for a longer RTT, and longer with each loss.
#[test]
fn placing_leaves_a_slow_path_alone_if_the_fast_one_fills_the_window() {
    let toml = r#"
        duration = "60 s"
        [[path]]
        name = "a"
        rate = "10 Mbit/s"
        delay = "30 ms"
        energy = "free"
        [[path]]
        name = "b"
        rate = "10 Mbit/s"
        delay = "60 ms"
        loss = "4 %"
        energy = "free"
        [workload]
        kind = "bulk"
        [receiver]
        buffer = "48 KiB"
    "#;
    let goodput = |policy: &str| simulate(toml, policy, 1).goodput_bps / 1e6;
    let policies = [
        "uncoupled[scheduler=placing]",
        "uncoupled[scheduler=round-robin]",
        "single:a",
    ];
    let [placing, blind, alone] = policies.map(goodput);
    println!("{placing} {blind} {alone}");
    assert!(
        placing > 0.97 * alone && placing > 1.5 * blind,
        "{placing} {blind} {alone}"
    );
}

/// A path that loses 8 %, in a window of 29 segments that limits: p · window > 1. Its losses are
/// repaired sooner if they are also retransmitted on the other path.
#[test]
fn placing_repairs_on_two_paths_where_losses_are_frequent() {
    let toml = r#"
        duration = "60 s"
        [[path]]
        name = "a"
        rate = "4 Mbit/s"
        delay = "30 ms"
        queue = "40 packets"
        energy = "free"
        [[path]]
        name = "b"
        rate = "10 Mbit/s"
        delay = "32 ms"
        loss = "8 %"
        energy = "free"
        [workload]
        kind = "bulk"
        [receiver]
        buffer = "42 KiB"
    "#;
    let run = |copies: &str, seed| {
        simulate(
            toml,
            &format!("uncoupled[scheduler=placing,copies={copies}]"),
            seed,
        )
    };
    let mean = |copies: &str| {
        (1..=8)
            .map(|seed| run(copies, seed).goodput_bps / 8e6)
            .sum::<f64>()
    };
    let [with, without] = ["on", "off"].map(mean);
    println!("{with} {without}");
    assert!(with > without, "{with} {without}");
}

/// After an idle time the radio sleeps: the first ACK comes after the promotion of 79 ms, which is
/// more than the probe timeout of two RTTs. The data-level timer waits for the minimum RTO of 200
/// ms, as in Linux, so the idle second path does not carry the message again.
#[test]
fn the_default_scheduler_resends_no_message_because_a_radio_wakes_up() {
    let result = simulate(
        r#"
        duration = "60 s"
        [[path]]
        name = "wifi"
        rate = "20 Mbit/s"
        delay = "5 ms"
        energy = "wifi-huang2012"
        [[path]]
        name = "lte"
        rate = "20 Mbit/s"
        delay = "20 ms"
        energy = "free"
        [workload]
        kind = "messages"
        mean_gap = "5 s"
        size = "10 kB"
        [transport]
        recovery = "rack"
        "#,
        "linux",
        1,
    );
    assert_eq!(result.paths[1].retransmissions, 0, "copies on lte");
}
