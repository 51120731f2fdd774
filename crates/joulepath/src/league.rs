//! `joulepath league`: all policies on all of the papers' scenarios, in one order.
//!
//! | module | what |
//! |---|---|
//! | `cases` | which scenarios count, by a rule |
//! | `field` | who plays |
//! | `season` | every run, on all cores, and what came out on each scenario |
//! | `measure` | shares of the limit, of the best single path, of a TCP; medians with intervals |
//! | `standing` | the order |
//! | `table` | text and Markdown |

mod cases;
mod field;
mod measure;
mod season;
mod standing;
mod table;

use std::sync::atomic::Ordering;

use self::season::Season;
use self::standing::League;
use crate::cli::{Engine, LeagueOptions};
use crate::engine;
use crate::failure::{Exit, Failure};
use crate::interrupt;
use crate::kept::Kept;
use crate::marks;
use crate::terminal;

/// Seeds of each policy on each scenario.
const SEEDS: u32 = 10;
/// As [`SEEDS`], for `--quick`.
const SEEDS_QUICK: u32 = 2;

/// Runs the command.
///
/// # Errors
/// Whatever keeps it from starting. A run that fails later is said, and missing.
pub(crate) fn league(options: &LeagueOptions) -> Result<Exit, Failure> {
    let engine = engine::open(Engine::Packet, None)?;
    let (cases, left_out) = cases::cases(options.quick)?;
    let seeds = options.seeds.unwrap_or(if options.quick { SEEDS_QUICK } else { SEEDS });
    let mut kept = options.runs.as_deref().map(Kept::open).transpose()?.unwrap_or_default();
    let stop = interrupt::flag();
    let season = Season::new(cases, field::policies(options.quick), seeds, &*engine);
    let failures = season.play(options, stop, &mut kept);
    let results = season.results(&kept, &failures);
    let partial = stop.load(Ordering::SeqCst) || !failures.is_empty();
    let league = League::of(&season.players(), &results, left_out, engine.name(), seeds, partial);
    tell(options, &league)?;
    Ok(if partial { Exit::Partial } else { Exit::Ok })
}

fn tell(options: &LeagueOptions, league: &League) -> Result<(), Failure> {
    if let Some(page) = &options.markdown {
        marks::write(page, table::MARK, &table::markdown(league))?;
    }
    match options.json {
        true => terminal::print(&league.json()?).map(drop),
        false => terminal::print(&table::text(league)).map(drop),
    }
}
