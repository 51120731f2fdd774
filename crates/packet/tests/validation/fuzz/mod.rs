//! Random scenarios against invariants: no data is lost or invented, no run takes longer than its
//! working paths allow, no link carries more than its capacity.
//!
//! `JOULEPATH_FUZZ=0..20000 cargo test -p joulepath-packet --test validation fuzz -- --nocapture`
//! tries these seeds. A single seed, `JOULEPATH_FUZZ=4711..4712`, also prints the scenario.

mod bounds;
mod draw;
mod invariants;

use std::ops::Range;

use draw::Drawn;
use invariants::Judge;

/// The seeds of a plain test run.
const SEEDS: Range<u64> = 0..400;

fn seeds() -> Range<u64> {
    let Ok(text) = std::env::var("JOULEPATH_FUZZ") else {
        return SEEDS;
    };
    let (from, to) = text.split_once("..").expect("JOULEPATH_FUZZ=FROM..TO");
    from.parse().expect("a number")..to.parse().expect("a number")
}

#[test]
fn random_scenarios_break_no_invariant() {
    let seeds = seeds();
    let alone = seeds.end - seeds.start == 1;
    let (mut findings, mut refused, mut tightest) = (vec![], 0, 0.0_f64);
    for seed in seeds.clone() {
        let mut judge = Judge::of(seed, Drawn::of(seed));
        if alone {
            println!("{}\n{}", judge.drawn.policy, judge.toml());
        }
        match judge.run() {
            None => refused += 1,
            Some(part) => {
                if part > tightest {
                    tightest = part;
                    println!(
                        "seed {seed}: {part:.3} of the bound, {}",
                        judge.drawn.policy
                    );
                }
            }
        }
        for finding in &judge.findings {
            println!(
                "FINDING seed {seed}: {} ({}, {})",
                finding, judge.drawn.policy, judge.drawn.recovery
            );
        }
        findings.append(&mut judge.findings);
    }
    println!(
        "{seeds:?}: {} findings, {refused} refused, {tightest:.3} of the bound at most",
        findings.len()
    );
    assert!(findings.is_empty(), "{findings:?}");
    // Some controllers and selectors need what other parts do not supply.
    assert!(
        10 * refused <= seeds.end - seeds.start + 10,
        "{refused} policies are refused"
    );
}
