//! Growth of the packet engine's cost with paths, connections and simulated time.
//!
//! `cargo bench -p joulepath-benches --bench growth`. CPU time of this process per packet-hop,
//! minimum of the rounds; see `fabric` for hosts, subflows and memory. `benches/peers/speed.py`
//! reads the output.

use std::fmt::Write;

use cpu_time::ProcessTime;
use joulepath_control::Setup;
use joulepath_model::scenario::{Scenario, load};
use joulepath_packet::{RunOptions, run};

const ROUNDS: usize = 3;
/// Numbers of paths, each with its own link.
const PATHS: [usize; 5] = [1, 2, 3, 4, 8];
/// Numbers of TCPs on the link, including the connection under test.
const FLOWS: [usize; 4] = [1, 10, 100, 1000];
/// Simulated times, s.
const SECONDS: [usize; 4] = [2, 20, 200, 2000];

fn main() {
    println!("what  number  packet-hops  ns per packet-hop");
    PATHS
        .into_iter()
        .for_each(|paths| row("paths", paths, &scenario(paths, 0, 100)));
    FLOWS
        .into_iter()
        .for_each(|flows| row("flows", flows, &scenario(1, flows - 1, 20)));
    SECONDS
        .into_iter()
        .for_each(|seconds| row("seconds", seconds, &scenario(2, 0, seconds)));
}

/// `paths` paths of 10 Mbit/s, and `competitors` TCPs on the first one; every link has 1 Mbit/s
/// more for each of them.
fn scenario(paths: usize, competitors: usize, seconds: usize) -> Scenario {
    let mut text = format!("title = \"growth\"\nduration = \"{seconds} s\"\n");
    for path in 0..paths {
        let rate = 10 + competitors;
        let (delay, queue) = (20 + 10 * path, 50 + 5 * competitors);
        write!(
            text,
            "[[path]]\nname = \"p{path}\"\nrate = \"{rate} Mbit/s\"\ndelay = \"{delay} ms\"\n\
             queue = \"{queue} packets\"\nenergy = \"wifi-huang2012\"\n"
        )
        .expect("a string takes all text");
    }
    if competitors > 0 {
        write!(
            text,
            "[[competitor]]\nname = \"tcp\"\npath = \"p0\"\ncount = {competitors}\n"
        )
        .expect("a string takes all text");
    }
    load(&text, &|trace| Err(format!("no traces here: {trace}")))
        .unwrap_or_else(|errors| panic!("{errors}"))
}

fn row(what: &str, number: usize, scenario: &Scenario) {
    let policy = "lia".parse().expect("the name of a controller is a policy");
    let setup = Setup::of(&policy, scenario).expect("the policy fits paths");
    let mut least = f64::INFINITY;
    let mut hops = 0;
    for _ in 0..ROUNDS {
        let start = ProcessTime::now();
        let result = run(scenario, &setup, 1, RunOptions::default()).expect("the scenario runs");
        least = least.min(start.elapsed().as_secs_f64());
        hops = result.counters.packet_hops;
    }
    println!(
        "{what:7} {number:5} {hops:12} {:18.1}",
        least * 1e9 / hops as f64
    );
}
