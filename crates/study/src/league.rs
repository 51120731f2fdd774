//! All policies on families of scenarios, at equal work, in tiers.
//!
//! | module | what |
//! |---|---|
//! | `family` | the families |
//! | `draw` | scenarios drawn at random |
//! | `cases` | which scenarios count, by a rule |
//! | `field` | which policies take part |
//! | `lineup` | policies on a scenario, and every run on all cores |
//! | `season` | what came out on each scenario |
//! | [`gauntlet`] | the gauntlet: other families, on draws of three ranges |
//! | `range`, `seal`, `warm` | which draws are for what, a log of the sealed ones, what earlier visits left |
//!
//! What is measured, and the tiers, are in [`joulepath_report::league`].

mod cases;
mod draw;
mod family;
mod field;
pub mod gauntlet;
mod lineup;
mod range;
mod seal;
mod season;
mod warm;

use std::num::NonZeroUsize;

use joulepath_model::cancel::Cancel;
use joulepath_model::result::Provenance;
use joulepath_report::league::{FamilyRow, League, Played};

use self::season::Season;
use crate::batch::Batch;
use crate::engine::Engine;
use crate::error::Result;
use crate::event::Watch;
use crate::seeds::seeds;
use crate::stored::StoredRuns;
pub use family::Family;
pub use range::Range;
pub use seal::{SealedLog, day_and_time};

/// Seeds of each policy on each scenario: what differs between scenarios outweighs what differs between
/// seeds.
const SEEDS: u32 = 3;
/// As [`SEEDS`], for [`Request::quick`].
const SEEDS_QUICK: u32 = 2;
/// Seed of the draws of the published league.
pub const DRAW_SEED: u64 = 1;

/// How much is run.
#[derive(Clone, Debug)]
pub struct Request {
    /// One scenario of each drawn family and two of the papers', cut short, under eight policies: seconds.
    pub quick: bool,
    /// The families; all of them if empty.
    pub families: Vec<Family>,
    /// Seed of the draws: another one draws other scenarios.
    pub draw_seed: u64,
    /// Seeds of each policy on each scenario; 3 if none, or 2 if quick.
    pub seeds: Option<u32>,
    /// Runs at a time; as many as there are cores if none. The results do not depend on it.
    pub jobs: Option<NonZeroUsize>,
}

impl Default for Request {
    fn default() -> Self {
        Request { quick: false, families: vec![], draw_seed: DRAW_SEED, seeds: None, jobs: None }
    }
}

impl Request {
    /// The families, in the order of the tables.
    fn families(&self) -> Vec<Family> {
        let asked = |family: &Family| self.families.is_empty() || self.families.contains(family);
        Family::LEAGUE.into_iter().filter(asked).collect()
    }
}

/// The scenarios that are drawn for `request`: name and text, as files that any command takes. The papers'
/// are not among them: they ship.
pub fn drawn(request: &Request) -> Vec<(String, String)> {
    let numbers = || 1..=if request.quick { 1 } else { draw::DRAWS };
    let of_family =
        |family: Family| numbers().filter_map(move |number| draw::draw(family, request.draw_seed, number));
    request.families().into_iter().flat_map(of_family).map(|draw| (draw.name, draw.text)).collect()
}

/// The files of the draws of the gauntlet that `request` asks for, and the traces that they name.
pub fn drawn_of_gauntlet(request: &gauntlet::Request) -> Vec<(String, String)> {
    let of_family = |family: Family| {
        request.numbers().filter_map(move |index| draw::draw_of(family, request.range, index))
    };
    let files = |draw: draw::Draw| [Some((draw.name + ".toml", draw.text)), draw.trace].into_iter().flatten();
    request.families().into_iter().flat_map(of_family).flat_map(files).collect()
}

/// The `index`-th draw, from 1, of `range` for a family of the gauntlet: its name and the scenario; none for
/// other families, and beyond the end of the range. The error is that of a draw that cannot be loaded.
#[cfg(feature = "packet")]
pub(crate) fn draw_of_gauntlet(
    family: Family,
    range: Range,
    index: u32,
) -> Option<Result<(String, joulepath_model::scenario::Scenario)>> {
    let draw = draw::draw_of(family, range, index)?;
    let source = crate::source::Source::with_trace(&draw.name, draw.text, draw.trace);
    Some(source.load(&[]).map(|scenario| (draw.name, scenario)))
}

/// Does every run that `stored` does not have, and puts the policies into their tiers. A run that fails is
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
    let families = request.families();
    let (cases, mut left_out) = cases::cases(&families, request.draw_seed, request.quick)?;
    let count = request.seeds.unwrap_or(if request.quick { SEEDS_QUICK } else { SEEDS });
    let (season, unfit) = Season::new(cases, field::policies(request.quick), seeds(1, count)?, engine);
    left_out.extend(unfit);
    let batch = Batch { engine, jobs: request.jobs, cancel };
    let (results, complete) = season.play(&batch, stored, watch);
    let row = |family: Family| FamilyRow { name: family.name().to_owned(), what: family.what().to_owned() };
    let played = Played {
        engine: engine.name(),
        seeds: count,
        draw_seed: request.draw_seed,
        families: families.into_iter().map(row).collect(),
        players: &season.players(),
        results: &results,
        left_out,
        partial: !complete || cancel.is_set(),
    };
    Ok(League::of(by.clone(), played))
}

#[cfg(all(test, feature = "packet"))]
mod tests;
