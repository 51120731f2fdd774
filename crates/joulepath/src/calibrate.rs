//! `joulepath calibrate`: the energy model of a radio from a meter, as a profile with intervals.

use std::path::Path;
use std::time::SystemTime;

use joulepath_meter::calibrate::{Calibration, Circumstances, Progress, Refusal, Settings, Stop};
use joulepath_meter::hardware::{date, device_name, driver, notes, wifi_signal};
use joulepath_meter::live::{FarEnd, Link, LiveRig, ReadSignal, Switch, UdpLink};
use joulepath_meter::{Meter, Tree, by_name, command};
use joulepath_model::scenario::write_profile;
use joulepath_model::units::{BitRate, Nanos};
use joulepath_study::files;
use serde::Serialize;

use crate::cli::CalibrateOptions;
use crate::failure::{Exit, Failure};
use crate::meter::PROGRAM_LIMIT;
use crate::show::print_json;
use crate::{interrupt, terminal};

/// Version of the JSON: a change that breaks readers increases it.
const SCHEMA: u32 = 1;
/// Blocks between two lines of progress.
const TOLD_BLOCKS: usize = 10;

/// What a radio costs, as JSON.
#[derive(Serialize)]
struct Json<'a> {
    schema: u32,
    profile: &'a Path,
    calibration: &'a Calibration,
}

/// Runs the command.
///
/// # Errors
/// If something fails, or if the meter or the radio does not allow a model.
pub(crate) fn calibrate(options: &CalibrateOptions) -> Result<Exit, Failure> {
    if let Some(address) = &options.serve {
        return serve(address);
    }
    let (Some(path), Some(to), Some(out)) = (&options.interface, &options.to, &options.profile)
    else {
        return Err(Failure::usage("--interface, --to and --profile are needed"));
    };
    let settings = settings(options)?;
    files::prepare(out)?;
    let tree = Tree::new(&options.sysfs);
    let mut meter = open_meter(options, &tree)?;
    let name = meter.about().name.clone();
    // A meter that refuses does so before the far end is asked.
    meter.read()?;
    let mut links: Vec<(String, Box<dyn Link>)> = Vec::new();
    for interface in std::iter::once(path).chain(&options.second) {
        links.push((
            interface.clone(),
            Box::new(UdpLink::connect(interface, to)?),
        ));
    }
    let switch = options
        .off
        .clone()
        .zip(options.on.clone())
        .map(|(off, on)| Switch { off, on });
    let stop = interrupt::token();
    let [device, radio] = [options.device.clone(), options.radio.clone()];
    let device = device.or_else(|| device_name(&options.sysfs));
    let radio = radio.or_else(|| driver(&options.sysfs, path));
    let mut rig = LiveRig::new(meter, links, switch, tree, Path::new("/proc"), stop)
        .with_signal(signal_of(path, options.signal.as_deref()));
    let found =
        joulepath_meter::calibrate::calibrate(&mut rig, &settings, &mut tell).map_err(failure)?;
    let circumstances = Circumstances {
        meter: name,
        interface: path.clone(),
        date: date(SystemTime::now()),
        device,
        radio,
        firmware: options.firmware.clone(),
        notes: notes(options.second.as_deref()),
    };
    let file = out
        .file_name()
        .map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    files::write(out, &write_profile(&found.profile(&circumstances), &file))?;
    match options.json {
        true => print_json(&Json {
            schema: SCHEMA,
            profile: out,
            calibration: &found,
        }),
        false => terminal::print(&text(&found, out, &file)),
    }
}

fn settings(options: &CalibrateOptions) -> Result<Settings, Failure> {
    let rate = |text: &str| -> Result<BitRate, Failure> {
        let rate: BitRate = text
            .parse()
            .map_err(|error| Failure::usage(format!("{error}")))?;
        match rate.bps() {
            100_000..=1_000_000_000 => Ok(rate),
            _ => Err(
                Failure::usage(format!("a highest rate of {rate} cannot be made here"))
                    .help("write 100 kbit/s to 1 Gbit/s"),
            ),
        }
    };
    Ok(Settings {
        down: rate(&options.down)?,
        up: rate(&options.up)?,
        limit: options
            .minutes
            .map(|minutes| Nanos::from_secs(60 * minutes)),
        seed: options.seed,
    })
}

fn open_meter(options: &CalibrateOptions, tree: &Tree) -> Result<Box<dyn Meter>, Failure> {
    Ok(match (&options.command, &options.meter) {
        (Some(program), _) => command(program, PROGRAM_LIMIT)?,
        (None, Some(name)) => by_name(tree, name)?,
        (None, None) => return Err(Failure::usage("--meter or --command is needed")),
    })
}

fn failure(stop: Stop) -> Failure {
    match stop {
        Stop::Error(error) => error.into(),
        Stop::Refused(refusal) => {
            Failure::message(Exit::Failed, format!("there is no profile: {refusal}"))
                .help(Refusal::help(&refusal))
        }
    }
}

/// Progress on stderr.
fn tell(progress: Progress) {
    match progress {
        Progress::Meter => terminal::say("watching the meter at rest: 20 s"),
        Progress::Tail => terminal::say("looking for the tail: one to five minutes"),
        Progress::Blocks { done, all, left_s } if done.is_multiple_of(TOLD_BLOCKS) => {
            terminal::say(&format!(
                "block {} of {all}, {:.0} min left",
                done + 1,
                (left_s / 60.0).ceil()
            ));
        }
        Progress::Blocks { .. } => {}
    }
}

/// The result as text.
fn text(found: &Calibration, out: &Path, file: &str) -> String {
    let text = found.table();
    let mut notes = vec![format!(
        "{} blocks in {:.0} min. A mixed load that was not used for it is missed by {:.1} %.",
        found.blocks,
        found.seconds / 60.0,
        100.0 * found.hold_out_error
    )];
    if let Some([low, high]) = found.signal_dbm {
        notes.push(format!(
            "It holds at signals of about {low:.0} to {high:.0} dBm."
        ));
    }
    let untold = found.untold();
    if !untold.is_empty() {
        notes.push(format!("Not told from zero: {}.", untold.join(", ")));
    }
    notes.push(format!(
        "{} is written; a scenario beside it names it: energy = \"file:{file}\".",
        out.display()
    ));
    let notes: String = notes
        .iter()
        .map(|note| terminal::wrapped(note, "  ") + "\n")
        .collect();
    format!("{text}\n{notes}")
}

/// Runs the far end.
fn serve(address: &str) -> Result<Exit, Failure> {
    let far_end = FarEnd::open(address)?;
    let stop = interrupt::token();
    terminal::say(&format!(
        "listening at {}, TCP and UDP; Ctrl-C ends it",
        far_end.address()?
    ));
    far_end.serve(&stop)?;
    Ok(Exit::Ok)
}

/// Reads the signal by a command, or from the WiFi driver.
fn signal_of(interface: &str, command: Option<&str>) -> ReadSignal {
    let interface = interface.to_owned();
    match command.map(str::to_owned) {
        Some(command) => Box::new(move || joulepath_live::strength::read(&command).ok()),
        None => Box::new(move || wifi_signal(&interface)),
    }
}
