//! Random scenarios over the whole language against invariants, in the packet and the fluid engine:
//! no panic, finite numbers, energy as the sum of its parts, shares and ratios from 0 to 1, no more
//! than was offered or fits through the links, and the same seed gives the same bytes.
//!
//! `JOULEPATH_LANGUAGE=0..5000` tries these seeds; `make fuzz` does. A single seed, `4711..4712`,
//! also prints the scenario.

mod check;
mod write;

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};

use joulepath_control::Setup;
use joulepath_model::network::DeliveryTrace;
use joulepath_model::result::RunResult;
use joulepath_model::scenario::{Scenario, load};
use write::Dice;

/// The seeds of a plain test run.
const SEEDS: Range<u64> = 0..150;
/// Further seeds of a plain run. A managed queue of a recorded link sent before its radio was
/// awake.
const FOUND: [u64; 5] = [1447, 2182, 2716, 7_100_015, 7_101_510];
/// Every so many seeds, a run is repeated.
const REPEATED: u64 = 8;

fn seeds() -> Range<u64> {
    let Ok(text) = std::env::var("JOULEPATH_LANGUAGE") else {
        return SEEDS;
    };
    let (from, to) = text.split_once("..").expect("JOULEPATH_LANGUAGE=FROM..TO");
    from.parse().expect("a number")..to.parse().expect("a number")
}

/// Runs of a seed, by engine: `None` if the engine refuses the scenario.
struct Runs {
    scenario: Scenario,
    packet: RunResult,
    fluid: Option<RunResult>,
}

/// `None` if the scenario or the policy is refused.
fn runs(text: &str, policy: &str, seed: u64) -> Option<Runs> {
    let traces = |name: &str| {
        let opportunities_ms = vec![0, 10, 11, 40, 41, 90, 100];
        Ok(DeliveryTrace {
            source: name.to_owned(),
            opportunities_ms,
        })
    };
    let scenario = load(text, &traces).ok()?;
    let setup = Setup::of(&policy.parse().ok()?, &scenario).ok()?;
    let options = || joulepath_packet::RunOptions {
        links: true,
        ..Default::default()
    };
    let packet = joulepath_packet::run(&scenario, &setup, seed, options()).ok()?;
    let mut found = vec![packet];
    if seed.is_multiple_of(REPEATED) {
        found.extend(joulepath_packet::run(&scenario, &setup, seed, options()).ok());
    }
    assert!(
        found.iter().all(|run| json(run) == json(&found[0])),
        "two runs differ"
    );
    let fluid = joulepath_fluid::check(&scenario, &setup)
        .ok()
        .and_then(|()| joulepath_fluid::run(&scenario, &setup, seed, Default::default()).ok());
    Some(Runs {
        scenario,
        packet: found.swap_remove(0),
        fluid,
    })
}

fn json(run: &RunResult) -> String {
    serde_json::to_string(run).expect("a result is JSON")
}

#[test]
fn no_scenario_of_the_language_breaks_an_invariant() {
    let seeds = seeds();
    let alone = seeds.end - seeds.start == 1;
    let (mut findings, mut ran, mut fluid) = (vec![], 0, 0);
    let further: &[u64] = if seeds == SEEDS { &FOUND } else { &[] };
    for seed in seeds.clone().chain(further.iter().copied()) {
        let mut dice = Dice::new(seed);
        let (text, policy) = (write::scenario(&mut dice, seed), write::policy(&mut dice));
        if alone {
            println!("{policy}\n{text}");
        }
        let mut find = |what: String| {
            println!("FINDING seed {seed}, {policy}: {what}");
            findings.push(format!("seed {seed}, {policy}: {what}"));
        };
        match catch_unwind(AssertUnwindSafe(|| runs(&text, &policy, seed))) {
            Err(_) => find("a panic".to_owned()),
            Ok(None) => {}
            Ok(Some(runs)) => {
                ran += 1;
                fluid += u64::from(runs.fluid.is_some());
                check::broken(&runs.scenario, &runs.packet)
                    .into_iter()
                    .for_each(&mut find);
                let of_fluid = runs
                    .fluid
                    .iter()
                    .flat_map(|run| check::broken(&runs.scenario, run));
                of_fluid.for_each(|what| find(format!("fluid: {what}")));
            }
        }
    }
    println!(
        "{seeds:?}: {ran} ran, {fluid} of them also in the fluid engine, {} findings",
        findings.len()
    );
    assert!(findings.is_empty(), "{}", findings.join("\n"));
    let tried = seeds.end - seeds.start;
    assert!(
        20 * fluid + 20 >= tried,
        "only {fluid} of {tried} ran in the fluid engine"
    );
    assert!(
        2 * ran + 4 >= tried,
        "only {ran} of {tried} scenarios and policies fit together"
    );
}
