//! All policies on all of the papers' scenarios, in one order.
//!
//! | module | what |
//! |---|---|
//! | `cases` | which scenarios count, by a rule |
//! | `field` | which policies take part |
//! | `season` | every run, on all cores, and what came out on each scenario |
//!
//! What is measured, and the order, are in [`joulepath_report::league`].

mod cases;
mod field;
mod season;

use std::num::NonZeroUsize;

use joulepath_model::cancel::Cancel;
use joulepath_model::result::Provenance;
use joulepath_report::league::League;

use self::season::Season;
use crate::batch::Batch;
use crate::engine::Engine;
use crate::error::Result;
use crate::event::Watch;
use crate::seeds::seeds;
use crate::stored::StoredRuns;

/// Seeds of each policy on each scenario.
const SEEDS: u32 = 10;
/// As [`SEEDS`], for [`Request::quick`].
const SEEDS_QUICK: u32 = 2;

/// How much is run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Request {
    /// Three scenarios, cut short, under eight policies: seconds.
    pub quick: bool,
    /// Seeds of each policy on each scenario; 10 if none, or 2 if quick.
    pub seeds: Option<u32>,
    /// Runs at a time; as many as there are cores if none. The results do not depend on it.
    pub jobs: Option<NonZeroUsize>,
}

/// Does every run that `stored` does not have, and puts the policies into their order. A run that fails is
/// told, and its policy is missing on that scenario.
///
/// # Errors
/// If a scenario cannot be loaded.
pub fn league(
    request: &Request,
    engine: &dyn Engine,
    stored: Option<&mut StoredRuns>,
    by: &Provenance,
    watch: Watch<'_>,
    cancel: &Cancel,
) -> Result<League> {
    let (cases, left_out) = cases::cases(request.quick)?;
    let count = request.seeds.unwrap_or(if request.quick { SEEDS_QUICK } else { SEEDS });
    let season = Season::new(cases, field::policies(request.quick), seeds(1, count)?);
    let batch = Batch { engine, jobs: request.jobs, cancel };
    let (results, complete) = season.play(&batch, stored, watch);
    let (players, partial) = (season.players(), !complete || cancel.is_set());
    Ok(League::of(by.clone(), engine.name(), count, &players, &results, left_out, partial))
}
