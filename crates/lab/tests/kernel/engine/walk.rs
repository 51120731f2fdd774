//! A walk costs the same joules in the kernel engine as in the packet engine. `JOULEPATH_WALKS=N`
//! runs N seeds.

use super::{run_seed, scenario, setup};

const WALK: &str = include_str!("../../../../../scenarios/walk-into-5g.toml");
/// Number of seeds per test run: each takes 80 s.
const SEEDS: u64 = 1;
/// Variable for a different number.
const MORE: &str = "JOULEPATH_WALKS";
/// Allowed difference of the energy.
const NEAR: f64 = 0.05;

/// The shipped walk out of the house: rates and powers follow two shadowed signals, and WiFi ends
/// at 60 s. A machine that is busy with other things carries less over WiFi, whose joules follow
/// its bytes.
#[test(needs(ENGINE, QUIET_CLOCK))]
fn a_walk_costs_the_same_joules_in_both_engines() {
    let seeds = std::env::var(MORE).map_or(SEEDS, |seeds| seeds.parse().expect("a number"));
    let scenario = scenario(WALK);
    let setup = setup("mptcp", &scenario);
    for seed in 1..=seeds {
        let kernel = run_seed(&scenario, "mptcp", seed).unwrap();
        let options = joulepath_packet::RunOptions::default();
        let packet = joulepath_packet::run(&scenario, &setup, seed, options).unwrap();
        let paths_j =
            [&kernel, &packet].map(|result| [0, 1].map(|path: usize| result.paths[path].energy_j));
        println!(
            "seed {seed}: {} J and {} J; {paths_j:?}",
            kernel.energy_j, packet.energy_j
        );
        assert!(
            (kernel.energy_j / packet.energy_j - 1.0).abs() < NEAR,
            "seed {seed}: {paths_j:?} J"
        );
    }
}
