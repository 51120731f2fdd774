//! Runs the same small scenarios in the kernel engine and in the packet engine, and compares the
//! results within loose bounds. `JOULEPATH_DIFFERENTIAL=N` runs the first N random scenarios.

use joulepath_model::random::{Domain, Stream};
use joulepath_model::result::RunResult;

use super::{run, scenario, setup};
use joulepath_model::scenario::{Beside, Scenario, load_beside};

/// Number of random scenarios per test run. A file takes about a second.
const SCENARIOS: u64 = 4;
/// Variable for a different number.
const MORE: &str = "JOULEPATH_DIFFERENTIAL";
/// Allowed factor between times, apart from a retransmission timeout of the kernel.
const TIME: f64 = 2.0;
const TIMEOUT_S: f64 = 0.5;
/// Allowed factor between retransmissions, apart from the burst that ends slow start on a short
/// queue.
const RESENT: f64 = 3.0;
const BURST: f64 = 60.0;
/// Payload of a full segment per size on the wire.
const PAYLOAD: f64 = 1460.0 / 1500.0;

/// A scenario and the rates of its links, bit/s.
struct Small {
    toml: String,
    links_bps: f64,
}

/// One or two paths of 1 to 20 Mbit/s, and a file that takes about a second on them.
fn random(index: u64) -> Small {
    let mut random = Stream::new(index, Domain::Workload, 0);
    let mut between = |low: f64, high: f64| low * (high / low).powf(random.uniform());
    let mut toml = "title = \"random\"\nduration = \"20 s\"\n".to_owned();
    let mut links_bps = 0.0;
    for path in 0..=index % 2 {
        let (rate_bps, delay_ms) = (between(1e6, 20e6).round(), between(5.0, 50.0).round());
        let queue = between(20.0, 200.0).round();
        let loss = if index % 4 < 2 { 0.0 } else { 0.5 };
        links_bps += rate_bps;
        toml += &format!(
            "[[path]]\nname = \"p{path}\"\nrate = \"{rate_bps} bit/s\"\ndelay = \"{delay_ms} ms\"\n\
             queue = \"{queue} packets\"\nloss = \"{loss} %\"\nenergy = \"free\"\n"
        );
    }
    let size = (links_bps * PAYLOAD / 8.0).round();
    Small {
        toml: format!("{toml}[workload]\nkind = \"file\"\nsize = \"{size} B\"\n"),
        links_bps,
    }
}

/// The results of the kernel and of the packet engine.
fn both(toml: &str, policy: &str) -> [RunResult; 2] {
    both_of(&scenario(toml), policy)
}

fn both_of(scenario: &Scenario, policy: &str) -> [RunResult; 2] {
    let kernel = run(scenario, policy).unwrap();
    let options = joulepath_packet::RunOptions::default();
    let packet = joulepath_packet::run(scenario, &setup(policy, scenario), 1, options).unwrap();
    [kernel, packet]
}

fn resent(result: &RunResult) -> f64 {
    result
        .paths
        .iter()
        .map(|path| path.retransmissions as f64)
        .sum()
}

#[track_caller]
fn check_resent(results: &[RunResult; 2], what: &str) {
    let [kernel, packet] = [resent(&results[0]), resent(&results[1])];
    println!("{what}: resent {kernel} and {packet}");
    let most = |other: f64| RESENT * other + BURST;
    assert!(
        packet <= most(kernel) && kernel <= most(packet),
        "{what}: resent {kernel} and {packet}"
    );
}

#[track_caller]
fn check_completion(results: &[RunResult; 2], least_s: f64, what: &str) {
    let [kernel_s, packet_s] = [0, 1].map(|of| results[of].completion_s.unwrap());
    println!("{what}: {kernel_s:.3} s and {packet_s:.3} s, at least {least_s:.3} s");
    for (one_s, other_s) in [(kernel_s, packet_s), (packet_s, kernel_s)] {
        assert!(
            one_s >= 0.99 * least_s,
            "{what}: {one_s} s, at least {least_s}"
        );
        assert!(
            one_s <= TIME * other_s + TIMEOUT_S,
            "{what}: {kernel_s} s and {packet_s} s"
        );
    }
}

#[test(needs(ENGINE))]
fn random_files_take_as_long_in_both_engines() {
    let count = std::env::var(MORE).map_or(SCENARIOS, |count| count.parse().expect("a number"));
    for index in 0..count {
        let Small { toml, links_bps } = random(index);
        let policy = ["mptcp", "bbr3", "uncoupled"][(index % 3) as usize];
        let results = both(&toml, policy);
        // The file is what the links carry in a second.
        check_completion(&results, 1.0, &format!("{policy}\n{toml}"));
        check_resent(&results, &toml);
        for result in &results {
            assert!(
                result.goodput_bps <= 1.01 * links_bps * PAYLOAD,
                "{toml}{result:#?}"
            );
        }
    }
}

/// The second path goes down permanently during the file. Its data moves to the first path, RFC
/// 8684, section 3.3.6: 1.43 Mbit at 600 kbit/s take 2.4 s.
#[test(needs(ENGINE))]
fn a_file_moves_off_a_path_that_goes_down_in_both_engines() {
    let toml = r#"
        title = "a dead path"
        duration = "40 s"
        [[path]]
        name = "p0"
        rate = "600 kbit/s"
        delay = "7 ms"
        queue = "1000 packets"
        energy = "free"
        [[path]]
        name = "p1"
        rate = "700 kbit/s"
        delay = "44 ms"
        queue = "10 packets"
        outages = [["500 ms", "40 s"]]
        energy = "free"
        [workload]
        kind = "file"
        size = "178280 B"
    "#;
    let results = both(toml, "mptcp");
    check_completion(&results, 1.2, "a path that went down");
}

/// A link pauses for a second without losses: its timeout is undone (RFC 3522, 4015), and few
/// segments are retransmitted.
#[test(needs(ENGINE))]
fn a_pause_without_losses_causes_few_retransmissions_in_both_engines() {
    let toml = r#"
        title = "a pause"
        duration = "5 s"
        [[path]]
        name = "lte"
        rate = { steps = [["0 s", "20 Mbit/s"], ["2 s", "0 bit/s"], ["3 s", "20 Mbit/s"]] }
        delay = "25 ms"
        queue = "1000 packets"
        energy = "free"
        up = { rate = "20 Mbit/s" }
        [receiver]
        buffer = "500 kB"
        [workload]
        kind = "bulk"
    "#;
    check_resent(&both(toml, "uncoupled"), "a pause");
}

/// The emulator gets the delays and signals of files.
#[test(needs(ENGINE))]
fn recorded_delays_and_signals_are_the_same_in_both_engines() {
    const RECORDED: &str = r#"
title = "recorded"
duration = "3 s"
[[path]]
name = "leo"
rate = { by_signal = [["-100 dBm", "4 Mbit/s"], ["-80 dBm", "8 Mbit/s"]] }
signal = { trace = "signal.csv" }
delay = { trace = "delay.csv" }
queue = "20 packets"
energy = "5g-sa-2021"
[workload]
kind = "bulk"
"#;
    let series = |name: &str| match name {
        "signal.csv" => Ok("0 -80\n2 -100\n".to_owned()),
        _ => Ok("0 10\n1 80\n".to_owned()),
    };
    let (traces, profiles) = (|_: &str| Err("none".into()), |_: &str| Err("none".into()));
    let beside = Beside {
        traces: &traces,
        series: &series,
        profiles: &profiles,
    };
    let scenario = load_beside(RECORDED, &[], &beside).unwrap();
    let [kernel, packet] = both_of(&scenario, "single:leo");
    let rtts = [&kernel, &packet].map(|result| result.paths[0].mean_rtt_s.unwrap());
    let goodputs = [&kernel, &packet].map(|result| result.goodput_bps);
    for [one, other] in [rtts, goodputs] {
        assert!(
            (one / other - 1.0).abs() < 0.15,
            "{rtts:?} s, {goodputs:?} bit/s"
        );
    }
    // 10 and 80 ms of delay in each direction, and at most 20 packets in the queue.
    assert!((0.08..0.25).contains(&rtts[0]), "{rtts:?}");
}
