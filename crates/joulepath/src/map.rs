//! `joulepath map`: where in a plane of two scenario keys which policy wins.
//!
//! | module | what |
//! |---|---|
//! | `axis` | a key and its values |
//! | `plane` | every scenario of the plane, run under every policy |
//! | `winners` | who wins where, ties, regions |
//! | `spot` | the packet engine at some of the points |
//! | `table`, `machine`, `page` | text, JSON and CSV, HTML |

mod axis;
mod machine;
mod page;
mod plane;
mod spot;
mod table;
mod winners;

use std::sync::atomic::Ordering;

use joulepath_report::map_html;

use self::axis::Axis;
use self::plane::Plane;
use self::spot::SpotCheck;
use self::winners::Winners;
use crate::cli::{Engine, MapOptions};
use crate::engine;
use crate::failure::{Exit, Failure};
use crate::interrupt;
use crate::outputs;
use crate::source::{self, Source};
use crate::terminal;

/// A map with all that was found.
struct Map<'a> {
    options: &'a MapOptions,
    plane: Plane,
    /// By policy, then point by point, row by row from the lowest y.
    values: Vec<Vec<Option<f64>>>,
    winners: Winners,
    spot: Option<SpotCheck>,
    engine: &'static str,
    partial: bool,
}

/// Runs the command.
///
/// # Errors
/// If an option is wrong, or the engine cannot run some scenario of the plane. A run that fails later is said, and left out.
pub(crate) fn map(options: &MapOptions) -> Result<Exit, Failure> {
    if !matches!(options.engine, Engine::Fluid | Engine::Packet) {
        return Err(Failure::usage("a map has hundreds of points: they are simulated")
            .help("use `--engine fluid`, or `--engine packet` with few points"));
    }
    let engine = engine::open(options.engine, None)?;
    let axes = [Axis::parse("x", &options.x)?, Axis::parse("y", &options.y)?];
    let source = Source::open(&options.scenario)?;
    if !options.quiet {
        source::announce(&source, &options.scenario);
    }
    let set = source.overrides(options.changes.variant.as_deref(), &options.changes.set)?;
    let plane = Plane::load(&source, set, axes, options.policies.as_deref(), &*engine)?;
    if let Some(place) = &options.report {
        outputs::make_folder(&outputs::page(place, &stem(&source)))?;
    }
    let stop = interrupt::flag();
    let seeds = if engine.draws() { options.seeds } else { 1 };
    let all: Vec<usize> = (0..plane.points.len()).collect();
    let (values, failed) = plane.values(&all, seeds, &*engine, options, stop);
    let winners = Winners::of(&values, options.metric);
    let mut partial = failed || stop.load(Ordering::SeqCst);
    let spot = match options.spot_check {
        0 => None,
        count => {
            let packet = engine::open(Engine::Packet, None)?;
            let chosen = spot::draw(plane.points.len(), count as usize);
            let (real, failed) = plane.values(&chosen, options.seeds, &*packet, options, stop);
            partial |= failed || stop.load(Ordering::SeqCst);
            Some(SpotCheck::of(&chosen, &values, &real, options.metric))
        }
    };
    let map = Map { options, plane, values, winners, spot, engine: engine.name(), partial };
    tell(&map, &stem(&source))?;
    Ok(if partial { Exit::Partial } else { Exit::Ok })
}

fn stem(source: &Source) -> String {
    format!("{}-map", source.stem())
}

fn tell(map: &Map<'_>, stem: &str) -> Result<(), Failure> {
    let (_, color) = terminal::stdout();
    let text = match () {
        () if map.options.json => machine::json(map)?,
        () if map.options.csv => machine::csv(map),
        () => table::text(map, color),
    };
    terminal::print(&text)?;
    let Some(place) = &map.options.report else { return Ok(()) };
    let file = outputs::page(place, stem);
    let html = map_html(&page::of(map)).map_err(|error| Failure::new(Exit::Failed, error))?;
    outputs::write(&file, &html)?;
    let line = format!("report: {}", file.display());
    match map.options.json || map.options.csv {
        true if map.options.quiet => Ok(()),
        true => {
            terminal::say(&line);
            Ok(())
        }
        false => terminal::print(&format!("{line}\n")).map(drop),
    }
}
