//! Compares the fluid engine with the packet engine: every controller on 20 random two-path
//! scenarios.
//!
//! `cargo run --release -p joulepath-benches --example fluid_gap` prints the gaps in
//! docs/models/fluid.md. The scenarios are always the same: 2 to 20 Mbit/s, RTTs of 20 to 160 ms,
//! buffers of 0.5 to 2 times the bandwidth-delay product, and in every second scenario losses of
//! 0.02 to 1 % on the wire, except for a controller that the fluid engine refuses there. Runs last
//! 200 s without the first 50 s; the packet engine uses three seeds.

use joulepath_control::Setup;
use joulepath_model::quantile::linear_unsorted;
use joulepath_model::random::{Domain, Stream};
use joulepath_model::result::RunResult;
use joulepath_model::scenario::{Scenario, load};

const SCENARIOS: u64 = 20;
const SEEDS: u64 = 3;
/// All except DCTCP, which is NewReno here.
const POLICIES: [&str; 16] = [
    "reno", "cubic", "ewtcp", "coupled", "lia", "olia", "balia", "dwc", "wvegas", "mveno",
    "ecmtcp", "emreno", "eemptcp", "dts", "edts", "cwa",
];

/// A random number from `low` to `high`, uniform in the logarithm.
fn between(random: &mut Stream, low: f64, high: f64) -> f64 {
    (low.ln() + (high.ln() - low.ln()) * random.uniform()).exp()
}

fn scenario(index: u64) -> Scenario {
    let mut random = Stream::new(index, Domain::Workload, 0);
    let mut toml = "title = \"random\"\nduration = \"200 s\"\nwarm_up = \"50 s\"\n".to_owned();
    for name in ["a", "b"] {
        let rate_bps = between(&mut random, 2e6, 20e6);
        let rtt_s = between(&mut random, 0.02, 0.16);
        let queue = (between(&mut random, 0.5, 2.0) * rate_bps * rtt_s / 12_000.0)
            .round()
            .max(5.0);
        let loss = between(&mut random, 2e-4, 1e-2) * (index % 2) as f64;
        toml += &format!(
            "[[path]]\nname = \"{name}\"\nrate = \"{rate_bps:.0} bit/s\"\ndelay = \"{:.0} us\"\n\
             queue = \"{queue} packets\"\n\
             loss = \"{:.4} %\"\nenergy = {{ per_mbps = \"{:.0} mW\", active = \"500 mW\" }}\n",
            rtt_s / 2.0 * 1e6,
            loss * 100.0,
            between(&mut random, 50.0, 500.0),
        );
    }
    toml += "[workload]\nkind = \"bulk\"\n[receiver]\nbuffer = \"16 MiB\"\n";
    load(&toml, &|name| Err(format!("no trace {name}")))
        .unwrap_or_else(|errors| panic!("{errors}\n{toml}"))
}

fn fluid(scenario: &Scenario, setup: &Setup) -> RunResult {
    joulepath_fluid::run(scenario, setup, 1, joulepath_fluid::RunOptions::default())
        .expect("the fluid engine runs it")
}

fn packets(scenario: &Scenario, setup: &Setup, seed: u64) -> RunResult {
    joulepath_packet::run(
        scenario,
        setup,
        seed,
        joulepath_packet::RunOptions::default(),
    )
    .expect("the packet engine runs it")
}

/// The values to compare in one scenario.
struct Seen {
    share: f64,
    goodput_bps: f64,
    power_w: f64,
}

fn seen(results: &[RunResult]) -> Seen {
    let mean =
        |of: fn(&RunResult) -> f64| results.iter().map(of).sum::<f64>() / results.len() as f64;
    Seen {
        share: mean(|r| r.paths[0].share),
        goodput_bps: mean(|r| r.goodput_bps),
        power_w: mean(|r| r.power_w),
    }
}

fn main() {
    let scenarios: Vec<Scenario> = (0..SCENARIOS).map(scenario).collect();
    println!(
        "| controller | share, median | 90 % | goodput, median | 90 % | bias | power, median | 90 % |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    for name in POLICIES {
        // Every controller's name is a policy; EEMPTCP's includes its allocator.
        let policy = name.parse().expect("the name of a controller is a policy");
        let (mut shares, mut rates, mut signed, mut powers) = (vec![], vec![], vec![], vec![]);
        for scenario in &scenarios {
            let setup = Setup::of(&policy, scenario).expect("the policy fits two paths");
            if joulepath_fluid::check(scenario, &setup).is_err() {
                continue;
            }
            let packet: Vec<RunResult> = (1..=SEEDS)
                .map(|seed| packets(scenario, &setup, seed))
                .collect();
            let (packet, fluid) = (seen(&packet), seen(&[fluid(scenario, &setup)]));
            shares.push((fluid.share - packet.share).abs() * 100.0);
            signed.push((fluid.goodput_bps / packet.goodput_bps - 1.0) * 100.0);
            rates.push((fluid.goodput_bps / packet.goodput_bps - 1.0).abs() * 100.0);
            powers.push((fluid.power_w / packet.power_w - 1.0).abs() * 100.0);
        }
        println!(
            "| {name} | {:.1} | {:.1} | {:.1} % | {:.1} % | {:+.1} % | {:.1} % | {:.1} % |",
            linear_unsorted(&mut shares, 0.5),
            linear_unsorted(&mut shares, 0.9),
            linear_unsorted(&mut rates, 0.5),
            linear_unsorted(&mut rates, 0.9),
            linear_unsorted(&mut signed, 0.5),
            linear_unsorted(&mut powers, 0.5),
            linear_unsorted(&mut powers, 0.9),
        );
    }
}
