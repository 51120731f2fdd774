//! Packet-hops per second of the packet engine on one core, on the three workloads of the peers.
//!
//! `cargo bench -p joulepath-benches --bench workloads [-- --repeat N]`. A packet-hop is a packet
//! (data or ACK) that reaches the far end of a link. Time is the CPU time of this process.
//! `benches/peers/speed.py` runs this next to the peers, and reads the output.

use std::path::{Path, PathBuf};

use cpu_time::ProcessTime;
use joulepath_control::Setup;
use joulepath_model::quantile::median;
use joulepath_model::scenario::{Scenario, load};
use joulepath_packet::{RunOptions, run};

/// Name, scenario file, congestion controller.
const WORKLOADS: [(&str, &str, &str); 3] = [
    ("W1", "w1", "reno"),
    ("W2", "w2", "reno"),
    ("W3", "w3", "lia"),
];
const DEFAULT_REPEAT: usize = 7;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn scenario(file: &str) -> Scenario {
    let path = root().join(format!("scenarios/bench/{file}.toml"));
    let text = std::fs::read_to_string(&path)
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    load(&text, &|trace| Err(format!("no traces here: {trace}")))
        .unwrap_or_else(|errors| panic!("{errors}"))
}

/// A controller with the scheduler `minrtt`.
fn setup(controller: &str, scenario: &Scenario) -> Setup {
    let policy = controller
        .parse()
        .expect("the name of a controller is a policy");
    Setup::of(&policy, scenario).expect("the policy fits the workloads")
}

/// Packet-hops, and the CPU seconds of each repetition.
fn measure(scenario: &Scenario, setup: &Setup, repeat: usize) -> (u64, Vec<f64>) {
    let mut hops = 0;
    let seconds = (0..repeat)
        .map(|_| {
            let start = ProcessTime::now();
            let result = run(scenario, setup, 1, RunOptions::default()).expect("a workload runs");
            hops = result.counters.packet_hops;
            start.elapsed().as_secs_f64()
        })
        .collect();
    (hops, seconds)
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let value = |flag: &str| {
        arguments
            .iter()
            .position(|a| a == flag)
            .and_then(|i| arguments.get(i + 1))
    };
    let repeat = value("--repeat").map_or(DEFAULT_REPEAT, |n| {
        n.parse().expect("--repeat takes a number")
    });
    for (workload, file, controller) in WORKLOADS {
        let scenario = scenario(file);
        let (hops, seconds) = measure(&scenario, &setup(controller, &scenario), repeat);
        let best = seconds.iter().copied().fold(f64::INFINITY, f64::min);
        let typical = median(seconds).expect("there is at least one repetition");
        let rate = hops as f64 / typical / 1e6;
        println!(
            "{workload}: {hops} packet-hops, {typical:.4} s median of {repeat}: {rate:.1} M packet-hops/s \
             (best {:.1}), {:.0} simulated s per s",
            hops as f64 / best / 1e6,
            scenario.duration.as_secs_f64() / typical,
        );
    }
}
