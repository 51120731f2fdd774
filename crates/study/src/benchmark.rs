//! The benchmark: policies on families of scenarios.
//!
//! | module | what |
//! |---|---|
//! | `family`, `set` | families of scenarios; sets of random scenarios |
//! | `scenarios` | random scenarios as TOML |
//! | `plan` | checks the request |
//! | `cases` | the rule that selects the scenarios that count |
//! | `field` | policies that take part |
//! | `round` | one scenario with its policies and baselines |
//! | `runs` | does every run on all cores and collects the results |
//! | `oracle`, `search` | the best policies in hindsight |
//! | `warm`, `sealed` | state of earlier visits; log of runs of sealed scenarios |
//!
//! [`joulepath_report::benchmark`] defines the measures and the tiers.

mod cases;
mod family;
mod field;
mod oracle;
mod plan;
mod round;
mod runs;
mod scenarios;
mod sealed;
mod search;
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

/// Does every run that `stored` lacks, and measures every policy on every scenario. Reports failed
/// runs; their policy has no result on that scenario.
///
/// # Errors
/// If a scenario cannot be loaded, or if the scenarios are sealed and their log has no `sealed`
/// entry.
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
        return Err(Error::usage(
            "sealed scenarios need an entry in their log, and other scenarios must not have one",
        )
        .with_help("`joulepath benchmark --random sealed --sealed-log FILE` keeps the log"));
    }
    let rounds = Rounds::of(plan, engine)?;
    let batch = Batch {
        jobs: plan.jobs,
        cancel,
    };
    let (results, complete) = rounds.run(plan, engine, &batch, stored, watch);
    let mut extent = plan.extent(engine.name(), sealed);
    extent.partial = !complete || cancel.is_set();
    Ok(Benchmark::of(by.clone(), extent, rounds.measured(&results)))
}

/// The random scenarios of `plan` as files: names and texts, and the traces that they name.
///
/// # Errors
/// If the scenarios are sealed, or if the plan has none because it uses the papers' shipped
/// scenarios.
pub fn scenario_files(plan: &Plan) -> Result<Vec<(String, String)>> {
    if plan.is_sealed() {
        return Err(
            Error::usage("sealed scenarios are not for reading").with_help(
                "sealed scenarios stay unseen so that nobody can tune on them; use --random check",
            ),
        );
    }
    let of_family = |&family: &Family| cases::random(plan, family);
    let files = |random: scenarios::Random| {
        [Some((random.name + ".toml", random.text)), random.trace]
            .into_iter()
            .flatten()
    };
    let all: Vec<(String, String)> = plan
        .families
        .iter()
        .flat_map(of_family)
        .flat_map(files)
        .collect();
    if all.is_empty() {
        return Err(Error::usage(
            "the papers' scenarios are not random: they are part of this program",
        )
        .with_help("run one with `joulepath compare papers/000-table1`, or name another family"));
    }
    Ok(all)
}

/// The `index`-th scenario of `set`, from 1, for a random family: its name and the scenario. `None`
/// for other families and beyond the end of the set. Fails if the scenario cannot be loaded.
#[cfg(feature = "packet")]
pub(crate) fn random_scenario(
    family: Family,
    set: Set,
    index: u32,
) -> Option<Result<(String, joulepath_model::scenario::Scenario)>> {
    let random = scenarios::of_set(family, set, index)?;
    let source = crate::source::Source::given(
        &random.name,
        random.text,
        random.trace.into_iter().collect(),
        None,
    );
    Some(source.load(&[]).map(|scenario| (random.name, scenario)))
}

#[cfg(all(test, feature = "packet"))]
mod tests;
