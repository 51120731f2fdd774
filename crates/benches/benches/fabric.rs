//! Speed and memory of the packet engine in FatTrees: growth with hosts, subflows and simulated
//! time on one core, and the gain from more cores.
//!
//! `cargo bench -p joulepath-benches --bench fabric [-- --quick] [--one-core]`. On one core: CPU
//! time of this process. `VmHWM` is the process's peak memory so far, so the networks run in the
//! order of their size. On several cores: wall-clock time, alternating, minimum of the rounds; the
//! ratio is meaningful only on an otherwise idle machine. `benches/peers/speed.py` reads the
//! output.

use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::OnceLock;
use std::time::Instant;

use cpu_time::ProcessTime;
use joulepath_control::Setup;
use joulepath_model::scenario::{Scenario, load_with};
use joulepath_packet::{Cores, RunOptions, run};

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
/// The case with the speed target.
const QUICK: [(u32, u32, &str); 1] = [(8, 8, "3 s")];
/// The cases for several cores.
const PARALLEL: [(u32, u32, &str); 2] = [(8, 8, "1 s"), (16, 8, "300 ms")];
/// Rounds of each.
const ROUNDS: usize = 3;

fn main() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/bench/fattree.toml");
    let text = std::fs::read_to_string(&path)
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let asked = |flag: &str| std::env::args().any(|argument| argument == flag);
    let cases = if asked("--quick") {
        &QUICK[..]
    } else {
        &CASES[..]
    };
    println!(
        " k  hosts  subflows  simulated   CPU s  sim s/s  M hops/s  M events/s  peak MiB  goodput/host"
    );
    for &(k, subflows, duration) in cases {
        let (scenario, setup) = fat_tree(&text, (k, subflows, duration));
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
    if !asked("--one-core") {
        println!("\n k  subflows  simulated  cores  clock s  times one core");
        PARALLEL
            .into_iter()
            .for_each(|case| on_several_cores(&text, case));
    }
}

/// A FatTree of switches with `k` ports, with the given subflows per connection and duration.
fn fat_tree(text: &str, (k, subflows, duration): (u32, u32, &str)) -> (Scenario, Setup) {
    let set = [
        ("topology.k", k.to_string()),
        ("topology.subflows", subflows.to_string()),
        ("duration", format!("{duration:?}")),
    ];
    let set = set.map(|(key, value)| (key.to_owned(), value));
    let scenario = load_with(text, &set, &|trace| Err(format!("no traces here: {trace}")))
        .unwrap_or_else(|errors| panic!("{errors}"));
    let policy = "lia".parse().expect("the name of a controller is a policy");
    let setup = Setup::of(&policy, &scenario).expect("the policy fits a FatTree");
    (scenario, setup)
}

/// The same run on 1, 2, 4 … cores, up to the machine's number.
fn on_several_cores(text: &str, case: (u32, u32, &str)) {
    let (scenario, setup) = fat_tree(text, case);
    let available = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let counts: Vec<usize> = (0..8)
        .map(|power| 1 << power)
        .take_while(|&cores| cores <= available)
        .collect();
    let mut seconds = vec![f64::INFINITY; counts.len()];
    let mut results = vec![];
    for _ in 0..ROUNDS {
        for (least, most) in seconds.iter_mut().zip(&counts) {
            let cores = NonZeroUsize::new(*most).map(|most| Cores { most, clock });
            let start = Instant::now();
            let result = run(
                &scenario,
                &setup,
                1,
                RunOptions {
                    cores,
                    ..RunOptions::default()
                },
            );
            *least = least.min(start.elapsed().as_secs_f64());
            results.push(result.expect("a FatTree runs"));
            assert!(
                results[0] == results[results.len() - 1],
                "{most} cores give another result than one"
            );
        }
    }
    for (cores, took) in counts.iter().zip(&seconds) {
        let ((k, subflows, duration), times) = (case, seconds[0] / took);
        println!("{k:2} {subflows:9} {duration:>10} {cores:6} {took:8.2} {times:15.2}");
    }
}

/// Time since the first call, ns.
fn clock() -> u64 {
    static START: OnceLock<Instant> = OnceLock::new();
    START.get_or_init(Instant::now).elapsed().as_nanos() as u64
}

/// Peak memory of this process, MiB; `None` without /proc.
fn peak_mib() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace()
        .nth(1)?
        .parse::<f64>()
        .ok()
        .map(|kib| kib / 1024.0)
}
