//! The benchmark: policies on families of scenarios.
//!
//! | module | what |
//! |---|---|
//! | `family`, `set` | the families; the sets of random scenarios |
//! | `scenarios` | random scenarios, as texts |
//! | `plan` | what is asked for, checked |
//! | `cases` | which scenarios count, by a rule |
//! | `field` | which policies take part |
//! | `runs` | every run on all cores, and what came out |
//! | `warm`, `sealed` | what earlier visits left; the log of runs of sealed scenarios |
//!
//! What is measured, and the tiers, are in [`joulepath_report::benchmark`].

mod cases;
mod family;
mod field;
mod plan;
mod runs;
mod scenarios;
mod sealed;
mod set;
mod warm;

use joulepath_model::cancel::Cancel;
use joulepath_model::result::Provenance;
use joulepath_report::benchmark::{Benchmark, Sealed};

use self::runs::Rounds;
use crate::batch::Batch;
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::event::Watch;
use crate::stored::StoredRuns;
pub use family::Family;
pub use plan::{Plan, Request};
pub use sealed::{SealedLog, day_and_time};
pub use set::Set;

/// Does every run that `stored` does not have, and measures every policy on every scenario. A run that fails
/// is reported, and its policy is missing on that scenario.
///
/// # Errors
/// If a scenario cannot be loaded; if scenarios are sealed and there is no `sealed` entry of their log.
pub fn benchmark(
    plan: &Plan,
    sealed: Option<Sealed>,
    engine: &dyn Engine,
    stored: Option<&mut StoredRuns>,
    by: &Provenance,
    watch: Watch<'_>,
    cancel: &Cancel,
) -> Result<Benchmark> {
    if plan.is_sealed() != sealed.is_some() {
        return Err(Error::usage("sealed scenarios are run with an entry in their log, and no others are")
            .with_help("`joulepath benchmark --random sealed --sealed-log FILE` keeps the log"));
    }
    let rounds = Rounds::of(plan, engine)?;
    let batch = Batch { engine, jobs: plan.jobs, cancel };
    let (results, complete) = rounds.run(&batch, stored, watch);
    let mut extent = plan.extent(engine.name(), sealed);
    extent.partial = !complete || cancel.is_set();
    Ok(Benchmark::of(by.clone(), extent, rounds.measured(&results)))
}

/// The random scenarios of `plan` as files: their names and texts, and the traces that they name.
///
/// # Errors
/// If the scenarios are sealed, or there are none: the papers' ship.
pub fn scenario_files(plan: &Plan) -> Result<Vec<(String, String)>> {
    if plan.is_sealed() {
        return Err(Error::usage("sealed scenarios are not for reading")
            .with_help("nothing can be tuned on what nobody has seen; write those of --random check"));
    }
    let of_family = |&family: &Family| cases::random(plan, family);
    let files = |random: scenarios::Random| {
        [Some((random.name + ".toml", random.text)), random.trace].into_iter().flatten()
    };
    let all: Vec<(String, String)> = plan.families.iter().flat_map(of_family).flat_map(files).collect();
    if all.is_empty() {
        return Err(Error::usage("the papers' scenarios are not random: they are part of this program")
            .with_help("run one with `joulepath compare papers/000-table1`, or name another family"));
    }
    Ok(all)
}

/// The `index`-th scenario, from 1, of `set` for a random family: its name and the scenario; none for other
/// families, and beyond the end of the set. The error is that of a scenario that cannot be loaded.
#[cfg(feature = "packet")]
pub(crate) fn random_scenario(
    family: Family,
    set: Set,
    index: u32,
) -> Option<Result<(String, joulepath_model::scenario::Scenario)>> {
    let random = scenarios::of_set(family, set, index)?;
    let source = crate::source::Source::with_trace(&random.name, random.text, random.trace);
    Some(source.load(&[]).map(|scenario| (random.name, scenario)))
}

#[cfg(all(test, feature = "packet"))]
mod tests;
