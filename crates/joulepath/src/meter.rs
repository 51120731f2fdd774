//! `joulepath meter`: the meters of power that this machine has, and what they say.

use std::thread;
use std::time::{Duration, Instant};

use joulepath_meter::{
    About, Error, Kind, Meter, Readings, Survey, Tree, Unit, all, by_name, command, survey,
};
use joulepath_model::cancel::Cancel;
use serde::Serialize;

use crate::cli::MeterOptions;
use crate::failure::{Exit, Failure};
use crate::show::print_json;
use crate::{interrupt, terminal};

/// Of the JSON; a change that breaks readers increases it.
const SCHEMA: u32 = 1;
/// Time between two readings: meters change more rarely.
const PACE: Duration = Duration::from_millis(5);
/// How long a program may print nothing.
pub(crate) const PROGRAM_LIMIT: Duration = Duration::from_secs(10);
/// Between two lines of `--watch`.
const WATCH: Duration = Duration::from_secs(1);
/// Shortest column of names, characters.
const NAME_WIDTH: usize = 24;
/// Longest one: what is longer moves the rest of its line.
const LONGEST_NAME: usize = 30;

/// A meter, or why there is none.
type Opened = Result<Box<dyn Meter>, Error>;

/// What became of one meter.
#[derive(Serialize)]
#[serde(untagged)]
enum Found {
    /// It was read.
    Read {
        #[serde(flatten)]
        about: About,
        #[serde(flatten)]
        survey: Survey,
    },
    /// It cannot be used at present.
    Unusable {
        #[serde(flatten)]
        about: Option<About>,
        error: String,
        help: Option<String>,
        #[serde(skip)]
        kind: Kind,
    },
}

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
    let readers: Vec<_> = meters.into_iter().map(|meter| thread::spawn(move || look(meter, lasts))).collect();
    let found: Vec<Found> =
        readers.into_iter().map(|reader| reader.join().expect("a reader ends with what it found")).collect();
    match options.json {
        true => print_json(&Json { schema: SCHEMA, meters: &found })?,
        false => terminal::print(&text(&found, options.seconds))?,
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

/// Reads a meter for a while.
fn look(meter: Opened, lasts: Duration) -> Found {
    let mut meter = match meter {
        Ok(meter) => meter,
        Err(error) => return unusable(None, error),
    };
    let about = meter.about().clone();
    let begin = Instant::now();
    let mut readings: Vec<(f64, f64)> = Vec::new();
    while begin.elapsed() < lasts {
        match meter.read() {
            Ok(reading) => {
                let at = reading.at.saturating_duration_since(begin).as_secs_f64();
                readings.push((at, reading.value.number()));
            }
            Err(error) => return unusable(Some(about), error),
        }
        thread::sleep(PACE);
    }
    Found::Read { survey: survey(about.unit, &readings), about }
}

fn unusable(about: Option<About>, error: Error) -> Found {
    Found::Unusable { about, error: error.message, help: error.help, kind: error.kind }
}

fn exit(found: &[Found]) -> Exit {
    if found.iter().any(|found| matches!(found, Found::Read { .. })) {
        return Exit::Ok;
    }
    let of = |wanted: Kind| {
        found.iter().any(|found| matches!(found, Found::Unusable { kind, .. } if *kind == wanted))
    };
    match () {
        () if of(Kind::Permission) => Exit::Permission,
        () if of(Kind::Failed) => Exit::Failed,
        () => Exit::Unsupported,
    }
}

/// The table for people.
fn text(found: &[Found], seconds: f64) -> String {
    if found.is_empty() {
        return terminal::wrapped(
            "This machine has no meter of its power: no hardware monitor of power or energy, no battery, no \
             RAPL. A USB-C meter with the driver `powerz`, or any program that prints watts (--command), \
             will do; `joulepath doctor` says more.",
            "",
        ) + "\n";
    }
    let names = found.iter().filter_map(|found| match found {
        Found::Read { about, .. } => Some(about.name.chars().count()),
        Found::Unusable { .. } => None,
    });
    // Without any that was read there is no table.
    let width = names.max().map_or(0, |longest| longest.clamp(NAME_WIDTH, LONGEST_NAME));
    let mut text = match width {
        0 => String::new(),
        _ => format!(
            "{:width$} {:>10} {:>8} {:>9} {:>9}  quality\n",
            "meter", "power", "period", "step", "noise"
        ),
    };
    for found in found {
        match found {
            Found::Read { about, survey } => text += &row(about, survey, width),
            Found::Unusable { about, error, help, .. } => {
                let name = about.as_ref().map(|about| format!("{}: ", about.name)).unwrap_or_default();
                // Most errors begin with the meter's name.
                let name = if error.starts_with(&name) { String::new() } else { name };
                text += &format!("{}\n", terminal::wrapped(&format!("{name}{error}"), "  "));
                if let Some(help) = help {
                    text += &format!("{}\n", terminal::wrapped(&format!("  → {help}"), "    "));
                }
            }
        }
    }
    if width == 0 {
        return text;
    }
    let note = format!("Seen in {seconds} s; a load that changes counts as noise. – is: not seen.");
    format!("{text}\n{}\n", terminal::wrapped(&note, ""))
}

fn row(about: &About, survey: &Survey, width: usize) -> String {
    let unit = if about.unit == Unit::Joules { "J" } else { "W" };
    let said = |value: Option<f64>, unit: &str| value.map_or("–".to_owned(), |value| prefixed(value, unit));
    let values = format!(
        "{:width$} {:>10} {:>8} {:>9} {:>9}  {}",
        about.name,
        said(survey.power_w, "W"),
        said(survey.period_s, "s"),
        said(survey.step, unit),
        said(survey.noise_w, "W"),
        about.quality,
    );
    format!("{values}\n{}\n", terminal::wrapped(&format!("  {}, {}", about.measures, about.place), "  "))
}

/// Three digits and a prefix: 12.5 mW.
fn prefixed(value: f64, unit: &str) -> String {
    let size = value.abs();
    let (scale, prefix) = match size {
        0.0 => (1.0, ""),
        _ if size < 0.9995e-3 => (1e6, "µ"),
        _ if size < 0.9995 => (1e3, "m"),
        _ => (1.0, ""),
    };
    let digits = match size * scale {
        scaled if scaled >= 99.95 || scaled == 0.0 => 0,
        scaled if scaled >= 9.995 => 1,
        _ => 2,
    };
    format!("{:.digits$} {prefix}{unit}", value * scale)
}

/// Prints what all meters say each second.
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
        return Err(Failure::message(Exit::Unsupported, "there is no meter to watch")
            .help("`joulepath meter --command \"…\"` reads any program that prints watts"));
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
        let line = if json { json_line(begin, &powers)? } else { text_line(begin, &powers) };
        terminal::print(&line)?;
        pause(WATCH.saturating_sub(round.elapsed()), &stop);
    }
    Ok(Exit::Ok)
}

/// Power between two readings of a counter.
fn counted(readings: &Readings) -> Option<f64> {
    joulepath_meter::mean_power(Unit::Joules, readings)
}

fn text_line(begin: Instant, powers: &[(String, Option<f64>)]) -> String {
    let said = |(name, power): &(String, Option<f64>)| {
        format!("  {name} {}", power.map_or("–".to_owned(), |power| prefixed(power, "W")))
    };
    let powers: String = powers.iter().map(said).collect();
    format!(
        "{}\n",
        terminal::wrapped(&format!("{:8.1} s{powers}", begin.elapsed().as_secs_f64()), "            ")
    )
}

fn json_line(begin: Instant, powers: &[(String, Option<f64>)]) -> Result<String, Failure> {
    let powers: serde_json::Map<String, serde_json::Value> =
        powers.iter().map(|(name, power)| (name.clone(), (*power).into())).collect();
    let line = serde_json::json!({ "seconds": begin.elapsed().as_secs_f64(), "power_w": powers });
    serde_json::to_string(&line).map(|line| line + "\n").map_err(|error| Failure::new(Exit::Failed, error))
}

fn pause(lasts: Duration, stop: &Cancel) {
    let until = Instant::now() + lasts;
    while !stop.is_set() && Instant::now() < until {
        thread::sleep(Duration::from_millis(20).min(until.saturating_duration_since(Instant::now())));
    }
}

#[cfg(test)]
mod tests {
    use joulepath_meter::Quality;

    use super::*;

    #[test]
    fn the_table_fits_eighty_columns() {
        let about = About {
            name: "hwmon:powerz:bus".into(),
            place: "/sys/class/hwmon/hwmon1/in0_input".into(),
            measures: "what its shunt is in".into(),
            quality: Quality::Instrument,
            unit: Unit::Watts,
        };
        let survey =
            Survey { period_s: Some(0.1), step: Some(0.0012), power_w: Some(6.3), noise_w: Some(0.0345) };
        let refused = Found::Unusable {
            about: None,
            error: "battery: BAT0 is being charged".into(),
            help: Some("pull the plug".into()),
            kind: Kind::Refused,
        };
        let text = text(&[Found::Read { about, survey }, refused], 3.0);
        let expected = "\
meter                         power   period      step     noise  quality
hwmon:powerz:bus             6.30 W   100 ms   1.20 mW   34.5 mW  instrument
  what its shunt is in, /sys/class/hwmon/hwmon1/in0_input
battery: BAT0 is being charged
  → pull the plug

Seen in 3 s; a load that changes counts as noise. – is: not seen.
";
        assert_eq!(text, expected);
        assert!(text.lines().all(|line| line.chars().count() <= 80));
    }

    #[test]
    fn numbers_have_three_digits_and_a_prefix() {
        let said = [0.0, 5e-7, 0.0123, 0.9999, 9.999, 123.4, -0.5].map(|value| prefixed(value, "W"));
        assert_eq!(said, ["0 W", "0.50 µW", "12.3 mW", "1.00 W", "10.0 W", "123 W", "-500 mW"]);
    }
}
