//! `joulepath meter`: the power meters of this machine and their readings.

use std::thread;
use std::time::{Duration, Instant};

use joulepath_console::meters;
use joulepath_meter::{Found, Kind, Opened, Readings, Tree, Unit, all, by_name, command, look};
use joulepath_model::cancel::Cancel;
use serde::Serialize;

use crate::cli::MeterOptions;
use crate::failure::{Exit, Failure};
use crate::show::print_json;
use crate::{interrupt, terminal};

/// Version of the JSON: a change that breaks readers increases it.
const SCHEMA: u32 = 1;
/// How long a program may print nothing.
pub(crate) const PROGRAM_LIMIT: Duration = Duration::from_secs(10);
/// Between two lines of `--watch`.
const WATCH: Duration = Duration::from_secs(1);
#[derive(Serialize)]
struct Json<'a> {
    schema: u32,
    meters: &'a [Found],
}

/// Runs the command.
///
/// # Errors
/// If there is no meter of that name, or stdout cannot take it.
pub(crate) fn meter(options: &MeterOptions) -> Result<Exit, Failure> {
    let meters = open(options)?;
    if options.watch {
        return watch(meters, options.json);
    }
    let lasts = Duration::from_secs_f64(options.seconds);
    let readers: Vec<_> = meters
        .into_iter()
        .map(|meter| thread::spawn(move || look(meter, lasts)))
        .collect();
    let found: Vec<Found> = readers
        .into_iter()
        .map(|reader| reader.join().expect("a reader ends with what it found"))
        .collect();
    match options.json {
        true => print_json(&Json {
            schema: SCHEMA,
            meters: &found,
        })?,
        false => terminal::print(&meters::text(&found, options.seconds, terminal::stdout().0))?,
    };
    Ok(exit(&found))
}

fn open(options: &MeterOptions) -> Result<Vec<Opened>, Failure> {
    let tree = Tree::new(&options.sysfs);
    Ok(match (&options.command, &options.name) {
        (Some(program), _) => vec![Ok(command(program, PROGRAM_LIMIT)?)],
        (None, Some(name)) => vec![Ok(by_name(&tree, name)?)],
        (None, None) => all(&tree),
    })
}

fn exit(found: &[Found]) -> Exit {
    if found
        .iter()
        .any(|found| matches!(found, Found::Read { .. }))
    {
        return Exit::Ok;
    }
    let of = |wanted: Kind| {
        found
            .iter()
            .any(|found| matches!(found, Found::Unusable { kind, .. } if *kind == wanted))
    };
    match () {
        () if of(Kind::Permission) => Exit::Permission,
        () if of(Kind::Failed) => Exit::Failed,
        () => Exit::Unsupported,
    }
}

/// Prints all meters' power each second.
fn watch(meters: Vec<Opened>, json: bool) -> Result<Exit, Failure> {
    let stop = interrupt::token();
    let mut usable = Vec::new();
    for meter in meters {
        match meter {
            Ok(meter) => usable.push(meter),
            Err(error) => terminal::tell(&error.message),
        }
    }
    if usable.is_empty() {
        return Err(
            Failure::message(Exit::Unsupported, "there is no meter to watch")
                .help("`joulepath meter --command \"…\"` reads any program that prints watts"),
        );
    }
    let begin = Instant::now();
    let mut last: Vec<Option<(f64, f64)>> = vec![None; usable.len()];
    while !stop.is_set() {
        let round = Instant::now();
        let mut powers = Vec::new();
        for (meter, last) in usable.iter_mut().zip(&mut last) {
            let reading = meter.read()?;
            let at = reading.at.saturating_duration_since(begin).as_secs_f64();
            let now = (at, reading.value.number());
            let power = match meter.about().unit {
                Unit::Watts => Some(now.1),
                Unit::Joules => last.and_then(|last| counted(&[last, now])),
            };
            *last = Some(now);
            powers.push((meter.about().name.clone(), power));
        }
        let at_s = begin.elapsed().as_secs_f64();
        match json {
            true => terminal::data(&json_line(at_s, &powers)?)?,
            false => terminal::print(&meters::line(at_s, &powers, terminal::stdout().0))?,
        };
        pause(WATCH.saturating_sub(round.elapsed()), &stop);
    }
    Ok(Exit::Ok)
}

/// Power between two readings of a counter.
fn counted(readings: &Readings) -> Option<f64> {
    joulepath_meter::mean_power(Unit::Joules, readings)
}

fn json_line(at_s: f64, powers: &[(String, Option<f64>)]) -> Result<String, Failure> {
    let powers: serde_json::Map<String, serde_json::Value> = powers
        .iter()
        .map(|(name, power)| (name.clone(), (*power).into()))
        .collect();
    let line = serde_json::json!({ "seconds": at_s, "power_w": powers });
    serde_json::to_string(&line)
        .map(|line| line + "\n")
        .map_err(|error| Failure::new(Exit::Failed, error))
}

fn pause(lasts: Duration, stop: &Cancel) {
    let until = Instant::now() + lasts;
    while !stop.is_set() && Instant::now() < until {
        thread::sleep(
            Duration::from_millis(20).min(until.saturating_duration_since(Instant::now())),
        );
    }
}
