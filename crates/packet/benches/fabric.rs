//! Speed and memory of the packet engine in FatTrees, one core: how they grow with hosts, subflows and
//! simulated time.
//!
//! `cargo bench -p joulepath-packet --bench fabric [-- --quick]`. CPU time of this process; `VmHWM` is the
//! most memory that it has had so far, so the networks come in the order of their size.

use std::path::Path;

use cpu_time::ProcessTime;
use joulepath_control::Setup;
use joulepath_model::scenario::load_with;
use joulepath_packet::{RunOptions, run};

/// Ports of a switch, subflows, simulated time.
const CASES: [(u32, u32, &str); 9] = [
    (4, 8, "3 s"),
    (8, 1, "3 s"),
    (8, 2, "3 s"),
    (8, 4, "3 s"),
    (8, 8, "1 s"),
    (8, 8, "3 s"),
    (8, 8, "10 s"),
    (16, 1, "1 s"),
    (16, 8, "1 s"),
];
/// The case that the target is about.
const QUICK: [(u32, u32, &str); 1] = [(8, 8, "3 s")];

fn main() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/bench/fattree.toml");
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let cases = if std::env::args().any(|argument| argument == "--quick") { &QUICK[..] } else { &CASES[..] };
    println!(" k  hosts  subflows  simulated   CPU s  sim s/s  M hops/s  M events/s  peak MiB  goodput/host");
    for &(k, subflows, duration) in cases {
        let set = [
            ("topology.k", k.to_string()),
            ("topology.subflows", subflows.to_string()),
            ("duration", format!("{duration:?}")),
        ];
        let set = set.map(|(key, value)| (key.to_owned(), value));
        let scenario = load_with(&text, &set, &|trace| Err(format!("no traces here: {trace}")))
            .unwrap_or_else(|errors| panic!("{errors}"));
        let policy = "lia".parse().expect("the name of a controller is a policy");
        let setup = Setup::of(&policy, &scenario).expect("the policy fits a FatTree");
        let start = ProcessTime::now();
        let result = run(&scenario, &setup, 1, RunOptions::default()).expect("a FatTree runs");
        let seconds = start.elapsed().as_secs_f64();
        let hosts = result.connections_bps.len();
        println!(
            "{k:2} {hosts:6} {subflows:9} {duration:>10} {seconds:7.2} {:8.2} {:9.2} {:11.2} {:>9} \
             {:8.1} Mbit/s",
            scenario.duration.as_secs_f64() / seconds,
            result.counters.packet_hops as f64 / seconds / 1e6,
            result.counters.events as f64 / seconds / 1e6,
            peak_mib().map_or("?".to_owned(), |mib| format!("{mib:.0}")),
            result.goodput_bps / hosts as f64 / 1e6,
        );
    }
}

/// The most memory that this process has had, MiB; none where there is no /proc.
fn peak_mib() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse::<f64>().ok().map(|kib| kib / 1024.0)
}
