//! A calibrated energy profile as a versioned TOML file. Scenarios refer to it as `file:NAME`.

use std::fmt::Write as _;

use super::beside::CalibratedProfile;
use super::declare::table;
use super::document::{Document, quoted};
use super::error::{Problems, ScenarioErrors};
use super::exact::Exact;
use super::parts::RawEnergy;
use super::read::{At, Node, Read, kind_of};
use super::resolve;
use super::show;
use crate::energy::FILE_PREFIX;
use crate::units::Dbm;

/// The version that is written and read.
const VERSION: u32 = 1;
/// Value of `quality` in such a file.
const QUALITY: &str = "calibrated";

table! {
    /// A calibrated energy profile.
    struct RawCalibrated in "a calibrated profile" {
        /// Version of the format.
        version: At<Version>,
        /// Origin of the numbers.
        quality: At<String>,
        /// Name of the meter.
        meter: String,
        /// Name of the interface.
        interface: String,
        /// Day.
        date: String,
        /// The device.
        device: Option<String>,
        /// The radio: driver or modem.
        radio: Option<String>,
        /// Version of the radio's firmware.
        firmware: Option<String>,
        /// Weakest and strongest signal of the measurements.
        signal: Option<(Dbm, Dbm)>,
        /// The model.
        energy: At<RawEnergy>,
        /// κ of the device together with a second interface.
        sharing_factor: Option<At<f64>>,
        /// 95 % intervals.
        interval: Pairs,
        /// Further notes.
        noted: Notes,
    }
}

/// The version of a file.
#[derive(Clone, Copy, Debug, schemars::JsonSchema)]
pub(super) struct Version(u32);

impl Read for Version {
    const EXAMPLE: &'static str = "1";

    fn read(node: &Node<'_>, out: &mut Problems) -> Option<Self> {
        u32::read(node, out).map(Version)
    }
}

/// Lists of two strings, by name.
#[derive(Clone, Debug, schemars::JsonSchema)]
pub(super) struct Pairs(std::collections::BTreeMap<String, Vec<String>>);

/// Strings by name.
#[derive(Clone, Debug, schemars::JsonSchema)]
pub(super) struct Notes(std::collections::BTreeMap<String, String>);

/// The values of a table with arbitrary keys.
fn free_table<T: Read>(
    node: &Node<'_>,
    what: &str,
    out: &mut Problems,
) -> Option<Vec<(String, T)>> {
    let Some(table) = node.get_ref().as_table() else {
        out.note(
            &node.span(),
            format!("{what} is a table, not {}", kind_of(node)),
        );
        return None;
    };
    let read = |(key, value): (&toml::Spanned<std::borrow::Cow<'_, str>>, &Node<'_>)| {
        T::read(value, out).map(|value| (key.get_ref().to_string(), value))
    };
    table.iter().map(read).collect()
}

impl Read for Pairs {
    const EXAMPLE: &'static str = "{ active = [\"1.2 W\", \"1.3 W\"] }";

    fn read(node: &Node<'_>, out: &mut Problems) -> Option<Self> {
        let pairs = free_table::<At<Vec<String>>>(node, "[interval]", out)?;
        let before = out.len();
        for (key, ends) in pairs.iter().filter(|(_, ends)| ends.value.len() != 2) {
            let help = format!("write for example {key} = [\"1.2 W\", \"1.3 W\"]");
            out.note_with_help(&ends.span, "an interval has two ends", help);
        }
        (out.len() == before)
            .then(|| Pairs(pairs.into_iter().map(|(key, at)| (key, at.value)).collect()))
    }
}

impl Read for Notes {
    const EXAMPLE: &'static str = "{ minutes = \"25\" }";

    fn read(node: &Node<'_>, out: &mut Problems) -> Option<Self> {
        free_table(node, "[noted]", out).map(|notes| Notes(notes.into_iter().collect()))
    }
}

/// Reads a calibrated profile.
///
/// # Errors
/// All problems, each with its position and fix.
pub fn read_profile(text: &str) -> Result<CalibratedProfile, ScenarioErrors> {
    let mut problems = Problems::default();
    let document = Document::new(text, &[]);
    let raw = document
        .parse(&mut problems)
        .and_then(|root| RawCalibrated::read(&root, &mut problems));
    let profile = raw.and_then(|raw| resolved(raw, &mut problems));
    problems
        .finish(document.text, profile)
        .map_err(|errors| errors.of("the profile"))
}

/// Like [`read_profile`], for a named file.
///
/// # Errors
/// The first problem: a message with its position in `file`, and the fix.
pub fn read_profile_in(text: &str, file: &str) -> Result<CalibratedProfile, (String, String)> {
    read_profile(text).map_err(|errors| {
        let first = &errors.problems()[0];
        let (line, column) = errors.place(first);
        let fix = first
            .help
            .as_deref()
            .unwrap_or("fix the file, or calibrate again");
        (
            format!("{file}:{line}:{column}: {}", first.message),
            fix.to_owned(),
        )
    })
}

fn resolved(raw: RawCalibrated, out: &mut Problems) -> Option<CalibratedProfile> {
    if raw.version.value.0 != VERSION {
        let message = format!(
            "version {} is not known: this program reads version {VERSION}",
            raw.version.value.0
        );
        out.note_with_help(
            &raw.version.span,
            message,
            "calibrate again with this program",
        );
        return None;
    }
    if raw.quality.value != QUALITY {
        let message = format!(
            "`{}` is not a quality of a profile in a file",
            raw.quality.value
        );
        out.note_with_help(
            &raw.quality.span,
            message,
            format!("write quality = \"{QUALITY}\""),
        );
        return None;
    }
    if let Some(factor) = &raw.sharing_factor {
        resolve::sharing_factor(factor, out)?;
    }
    let model = resolve::model(&raw.energy, out)?;
    let pair =
        |(key, ends): (String, Vec<String>)| Some((key, <[String; 2]>::try_from(ends).ok()?));
    Some(CalibratedProfile {
        model,
        sharing_factor: raw.sharing_factor.map(|at| at.value),
        meter: raw.meter,
        interface: raw.interface,
        date: raw.date,
        device: raw.device,
        radio: raw.radio,
        firmware: raw.firmware,
        signal: raw.signal.map(|(low, high)| [low, high]),
        intervals: raw
            .interval
            .0
            .into_iter()
            .map(pair)
            .collect::<Option<_>>()?,
        notes: raw.noted.0.into_iter().collect(),
    })
}

/// Writes a profile that [`read_profile`] reads. `file` is the file's name, for the comments in it.
pub fn write_profile(profile: &CalibratedProfile, file: &str) -> String {
    let mut text = format!(
        "# Energy model of {}, calibrated by `joulepath calibrate`. A scenario beside this file names it as\n\
         #   energy = {}\n\
         # [interval] has the 95 % intervals. Powers are above those of the device without this radio.\n\
         version = {VERSION}\nquality = {}\nmeter = {}\ninterface = {}\ndate = {}\n",
        profile.interface,
        quoted(&format!("{FILE_PREFIX}{file}")),
        quoted(QUALITY),
        quoted(&profile.meter),
        quoted(&profile.interface),
        quoted(&profile.date),
    );
    let CalibratedProfile {
        device,
        radio,
        firmware,
        ..
    } = profile;
    for (key, value) in [("device", device), ("radio", radio), ("firmware", firmware)] {
        if let Some(value) = value {
            let _ = writeln!(text, "{key} = {}", quoted(value));
        }
    }
    if let Some([low, high]) = profile.signal {
        let _ = writeln!(text, "signal = [{}, {}]", low.exact(), high.exact());
    }
    if let Some(factor) = profile.sharing_factor {
        let _ = write!(
            text,
            "# With a second interface; name this file as `preset` of [device].\n\
             sharing_factor = {factor:?}\n"
        );
    }
    let _ = write!(
        text,
        "energy = {{ {} }}\n\n[interval]\n",
        show::numbers(&profile.model)
    );
    for (key, [low, high]) in &profile.intervals {
        let _ = writeln!(text, "{key} = [{}, {}]", quoted(low), quoted(high));
    }
    text += "\n[noted]\n";
    for (key, value) in &profile.notes {
        let _ = writeln!(text, "{key} = {}", quoted(value));
    }
    text
}
