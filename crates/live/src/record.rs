//! The input of decisions as JSON lines, and its replay.
//!
//! ```text
//!   {"what": "begin", "schema": 3, "version": …, "config": …}
//!   {"what": "look", "snapshot": …, "overrides": …, "decision": …}      one line per poll
//!   {"what": "reload", "config": …}                                     the configuration was reread
//! ```
//! A decision depends only on these and on earlier decisions.

use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use joulepath_model::live::LiveConfig;
use joulepath_model::scenario::{read_live, show_live};
use joulepath_model::units::Nanos;
use serde::{Deserialize, Serialize};

use crate::decide::{Decider, Decision, Overrides, Role};
use crate::error::{Error, Result};
use crate::snapshot::{Snapshot, Strength};

/// Schema version; increases when a field is removed or renamed.
const SCHEMA: u32 = 3;
/// Differences reported one by one.
const MOST_TOLD: usize = 10;

#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "lowercase")]
enum Line {
    Begin {
        schema: u32,
        version: String,
        config: String,
    },
    Reload {
        config: String,
    },
    Look(Box<Look>),
}

/// One poll and its decision.
#[derive(Debug, Serialize, Deserialize)]
struct Look {
    snapshot: Snapshot,
    overrides: Overrides,
    decision: Decision,
}

/// Writes a record.
#[derive(Debug)]
pub(crate) struct Recorder<W> {
    to: W,
}

impl Recorder<File> {
    /// Creates the file for its owner alone; it must not exist. Follows no symlink.
    pub(crate) fn create(path: &Path, config: &LiveConfig) -> Result<Self> {
        let failed = |source| Error::File {
            path: path.display().to_string(),
            source,
        };
        let file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(path)
            .map_err(failed)?;
        Recorder::begin(file, config).map_err(failed)
    }
}

impl<W: Write> Recorder<W> {
    fn begin(to: W, config: &LiveConfig) -> std::io::Result<Self> {
        let mut recorder = Recorder { to };
        let version = env!("CARGO_PKG_VERSION").into();
        recorder.write(&Line::Begin {
            schema: SCHEMA,
            version,
            config: show_live(config),
        })?;
        Ok(recorder)
    }

    pub(crate) fn reload(&mut self, config: &LiveConfig) -> std::io::Result<()> {
        self.write(&Line::Reload {
            config: show_live(config),
        })
    }

    pub(crate) fn look(
        &mut self,
        snapshot: &Snapshot,
        overrides: &Overrides,
        decision: &Decision,
    ) -> std::io::Result<()> {
        self.write(&Line::Look(Box::new(Look {
            snapshot: snapshot.clone(),
            overrides: overrides.clone(),
            decision: decision.clone(),
        })))
    }

    /// Writes each line at once: a killed daemon leaves at most one incomplete line.
    fn write(&mut self, line: &Line) -> std::io::Result<()> {
        let text = serde_json::to_string(line).map_err(std::io::Error::from)? + "\n";
        self.to.write_all(text.as_bytes())
    }
}

/// Result of a replay.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Replayed {
    /// Version of the daemon that wrote the record.
    pub version: String,
    /// Number of decisions.
    pub decisions: usize,
    /// Time from the first to the last decision, s.
    pub length_s: f64,
    /// Each change of a role: `12.0 s: wlan0: regular: …`.
    pub changes: Vec<String>,
    /// Number of decisions that differ from the record.
    pub differ: usize,
    /// The first differing decisions, with the difference.
    pub differences: Vec<String>,
    /// True if the last line is incomplete and was skipped.
    pub is_cut: bool,
}

/// Repeats the decisions of a record.
///
/// # Errors
/// [`Error::File`] if the file cannot be read; [`Error::Refused`], with the line, if it is no
/// record.
pub fn replay(path: &Path) -> Result<Replayed> {
    let mut replay = Replay::default();
    let is_cut = each_line(path, &mut |number, line| replay.line(number, line))?;
    replay.told.is_cut = is_cut;
    if replay.config.is_none() {
        return Err(nothing_in(path));
    }
    Ok(replay.told)
}

fn nothing_in(path: &Path) -> Error {
    let what = format!("{}: the record is empty", path.display());
    Error::Refused {
        what,
        remedy: NO_RECORD.into(),
    }
}

/// What is wrong with a line, and the remedy.
type Wrong = (String, &'static str);

/// Passes each line and its number to `each`. Returns true if the last line is incomplete, which is
/// skipped.
fn each_line(
    path: &Path,
    each: &mut dyn FnMut(usize, Line) -> std::result::Result<(), Wrong>,
) -> Result<bool> {
    let name = path.display().to_string();
    let failed = |source| Error::File {
        path: name.clone(),
        source,
    };
    let file = joulepath_files::open(path).map_err(|trouble| failed(trouble.into()))?;
    let mut from = BufReader::new(file);
    let mut text = String::new();
    for number in 1.. {
        text.clear();
        if from
            .by_ref()
            .take(LONGEST_LINE)
            .read_line(&mut text)
            .map_err(failed)?
            == 0
        {
            break;
        }
        if !text.ends_with('\n') {
            if text.len() as u64 == LONGEST_LINE {
                let what = format!(
                    "{name}:{number}: the line has more than {} MiB",
                    LONGEST_LINE >> 20
                );
                return Err(Error::Refused {
                    what,
                    remedy: NO_RECORD.into(),
                });
            }
            return Ok(true);
        }
        let line = serde_json::from_str(&text).map_err(|error| (error.to_string(), NO_RECORD));
        line.and_then(|line| each(number, line))
            .map_err(|(why, remedy)| Error::Refused {
                what: format!("{name}:{number}: {why}"),
                remedy: remedy.into(),
            })?;
    }
    Ok(false)
}

fn check_schema(schema: u32) -> std::result::Result<(), Wrong> {
    if schema <= SCHEMA {
        return Ok(());
    }
    let why = format!("its schema is {schema}, and this program supports {SCHEMA}");
    Err((why, "use the version that recorded it, or a newer one"))
}

/// Longest line accepted, bytes.
const LONGEST_LINE: u64 = 16 << 20;

const NO_RECORD: &str = "`joulepath live --record FILE` writes records";

/// The state of a replay.
#[derive(Default)]
struct Replay {
    config: Option<LiveConfig>,
    decider: Decider,
    first: Option<Nanos>,
    roles: Vec<(String, Role)>,
    told: Replayed,
}

impl Replay {
    fn line(&mut self, number: usize, line: Line) -> std::result::Result<(), Wrong> {
        match (line, &self.config) {
            (
                Line::Begin {
                    schema,
                    version,
                    config,
                },
                None,
            ) => {
                check_schema(schema)?;
                self.told.version = version;
                self.config = Some(read_config(&config)?);
            }
            (Line::Reload { config }, Some(_)) => {
                self.config = Some(read_config(&config)?);
                self.decider.reconfigured();
            }
            (Line::Look(look), Some(config)) => {
                let now = self.decider.decide(config, &look.overrides, &look.snapshot);
                self.compare(number, &look.snapshot, look.decision, now);
            }
            (Line::Begin { .. }, Some(_)) => {
                return Err(("a second line `begin`".into(), NO_RECORD));
            }
            (_, None) => return Err(("the line `begin` is missing".into(), NO_RECORD)),
        }
        Ok(())
    }

    fn compare(&mut self, number: usize, snapshot: &Snapshot, mut before: Decision, now: Decision) {
        take_over_texts(&mut before, &now);
        let first = *self.first.get_or_insert(snapshot.now);
        let at_s = snapshot.now.saturating_sub(first).as_secs_f64();
        self.told.decisions += 1;
        self.told.length_s = at_s;
        if before != now {
            self.told.differ += 1;
            if self.told.differences.len() < MOST_TOLD {
                let said = difference(&before, &now);
                self.told
                    .differences
                    .push(format!("line {number}, {at_s:.1} s: {said}"));
            }
        }
        let roles: Vec<_> = now
            .interfaces
            .iter()
            .map(|one| (one.name.clone(), one.role))
            .collect();
        for one in &now.interfaces {
            let is_new = !self.roles.contains(&(one.name.clone(), one.role));
            if is_new
                && (one.role != Role::Unused
                    || self.roles.iter().any(|(name, _)| *name == one.name))
            {
                let strength = snapshot
                    .interfaces
                    .iter()
                    .find(|seen| seen.name == one.name);
                let strength =
                    strength
                        .and_then(|seen| seen.strength)
                        .map_or(String::new(), |strength| {
                            let Strength { dbm, age, .. } = strength;
                            format!(" (signal {dbm:.0} dBm, {:.1} s old)", age.as_secs_f64())
                        });
                self.told
                    .changes
                    .push(format!("{at_s:.1} s: {one}{strength}"));
            }
        }
        self.roles = roles;
    }
}

fn read_config(text: &str) -> std::result::Result<LiveConfig, Wrong> {
    let remedy = "use the version that recorded it, or a newer one";
    read_live(text).map_err(|errors| {
        (
            errors
                .to_string()
                .split_whitespace()
                .collect::<Vec<_>>()
                .join(" "),
            remedy,
        )
    })
}

/// Records of schema 1 have reasons as text, those of schema 2 none for closed subflows. The wording
/// is not part of the decision, so equal roles and addresses count as the same decision.
fn take_over_texts(before: &mut Decision, now: &Decision) {
    for (one, other) in before.interfaces.iter_mut().zip(&now.interfaces) {
        if one.reason.is_text_only() && (&one.name, one.role) == (&other.name, other.role) {
            (one.reason, one.notes) = (other.reason.clone(), other.notes.clone());
        }
    }
    for (one, other) in before.closed.iter_mut().zip(&now.closed) {
        if one.reason.is_text_only() && one.address == other.address {
            one.reason = other.reason.clone();
        }
    }
}

/// The first difference, in words.
fn difference(before: &Decision, now: &Decision) -> String {
    let pairs = before.interfaces.iter().zip(&now.interfaces);
    if let Some((one, other)) = pairs.into_iter().find(|(one, other)| one != other) {
        return format!("was {one}; is {other}");
    }
    format!("was {before:?}; is {now:?}")
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;
    use std::os::unix::fs::{MetadataExt as _, symlink};

    use joulepath_model::units::Bytes;

    use super::*;
    use crate::samples::seen as interface;
    use crate::snapshot::{Battery, Families, StrengthSource};

    const CONFIG: &str = "intent = \"frugal\"\nbattery_below = \"20 %\"\n[[interface]]\nname = \"wlan0\"\n\
                          cost = 1\n\
                          energy = \"wifi-huang2012\"\n[[interface]]\nname = \"wwan0\"\ncost = 2\n\
                          energy = \"lte-huang2012\"\nquota = { soft = \"1 GB\", hard = \"2 GB\" }";

    /// An hour of two radios that come and go, with the decisions.
    fn recorded() -> Vec<u8> {
        let config = read_live(CONFIG).unwrap();
        let mut recorder = Recorder::begin(vec![], &config).unwrap();
        let (mut decider, mut overrides) = (Decider::default(), Overrides::default());
        let mut snapshot = Snapshot {
            interfaces: vec![interface(2, "wlan0"), interface(3, "wwan0")],
            families: Families { v4: 1, v6: 0 },
            ..Snapshot::default()
        };
        for k in 0..1800_u64 {
            snapshot.now = Nanos(2_000_000_123 * k);
            snapshot.battery = Some(Battery {
                level: 1.0 / (k + 1) as f64,
                discharging: k % 300 > 150,
            });
            let wlan = &mut snapshot.interfaces[0];
            wlan.usable = k % 97 > 20;
            wlan.rate_bps = 1e6 / 3.0 * (k % 31) as f64;
            wlan.capacity_bps = Some(4e7 / 7.0);
            wlan.rtt = Some(Nanos(12_345_678 + k));
            wlan.silent = (k % 61 > 55).then(|| Nanos::from_secs(k % 61 - 55));
            snapshot.interfaces[1].used = Some(Bytes(1_000_003 * k));
            snapshot.interfaces[1].stalled = k % 143 > 130;
            let (dbm, source) = (-90.0 - (k % 300) as f64 / 7.0, StrengthSource::Command);
            let age = Nanos::from_millis(500);
            snapshot.interfaces[1].strength =
                (k % 500 < 400).then_some(Strength { dbm, age, source });
            match k {
                600 => overrides.machine = Some(joulepath_model::live::Intent::Overflow),
                900 => {
                    decider.reconfigured();
                    overrides = Overrides::default();
                    recorder.reload(&config).unwrap();
                }
                _ => {}
            }
            let decision = decider.decide(&config, &overrides, &snapshot);
            recorder.look(&snapshot, &overrides, &decision).unwrap();
        }
        recorder.to
    }

    fn replay_lines(text: &[u8]) -> Result<Replayed> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x");
        std::fs::write(&path, text).unwrap();
        replay(&path)
    }

    #[test]
    fn a_replay_repeats_every_decision_exactly() {
        let replayed = replay_lines(&recorded()[..]).unwrap();
        assert_eq!(
            (replayed.decisions, replayed.differ, replayed.is_cut),
            (1800, 0, false)
        );
        assert!(replayed.changes.len() > 20, "{:?}", replayed.changes);
        assert!(
            replayed.changes[0].starts_with("0.0 s: wwan0: regular: "),
            "{}",
            replayed.changes[0]
        );
        assert!(
            replayed.changes[0].ends_with(" (signal -90 dBm, 0.5 s old)"),
            "{}",
            replayed.changes[0]
        );
        assert_eq!(replayed.version, env!("CARGO_PKG_VERSION"));
        assert!((replayed.length_s - 3598.0).abs() < 0.01);
    }

    /// WiFi fails for 100 s, then for 200 s.
    #[test]
    fn a_replay_repeats_what_waited() {
        let text = format!("{CONFIG}\n").replacen(
            "\n",
            "\npm = \"userspace\"\ntolerance = \"2 min\"\n",
            1,
        );
        let config = read_live(&text).unwrap();
        let mut recorder = Recorder::begin(vec![], &config).unwrap();
        let (mut decider, overrides) = (Decider::default(), Overrides::default());
        let mut snapshot = Snapshot {
            interfaces: vec![interface(2, "wlan0"), interface(3, "wwan0")],
            families: Families { v4: 1, v6: 0 },
            ..Snapshot::default()
        };
        for second in 0..500_u64 {
            snapshot.now = Nanos::from_secs(second);
            snapshot.interfaces[0].usable =
                !(10..110).contains(&second) && !(200..400).contains(&second);
            let decision = decider.decide(&config, &overrides, &snapshot);
            recorder.look(&snapshot, &overrides, &decision).unwrap();
        }
        let replayed = replay_lines(&recorder.to).unwrap();
        assert_eq!(
            (replayed.decisions, replayed.differ),
            (500, 0),
            "{:?}",
            replayed.differences
        );
        let opens = |change: &&String| change.contains("wwan0: regular");
        let opened: Vec<&String> = replayed.changes.iter().filter(opens).collect();
        assert!(
            opened.len() == 1 && opened[0].starts_with("320.0 s: "),
            "{:?}",
            replayed.changes
        );
    }

    #[test]
    fn a_different_decision_is_reported_with_its_line() {
        let text = String::from_utf8(recorded()).unwrap();
        let place = text.find("\"role\":\"regular\"").unwrap();
        let mut other = text.clone();
        other.replace_range(place..place + 16, "\"role\":\"unused\"");
        let replayed = replay_lines(other.as_bytes()).unwrap();
        assert_eq!((replayed.decisions, replayed.differ), (1800, 1));
        assert!(
            replayed.differences[0].starts_with("line 2, 0.0 s: was wwan0: not used: "),
            "{replayed:?}"
        );
        // Another observation leads to another decision, too.
        let other = text.replacen("\"usable\":true", "\"usable\":false", 40);
        assert!(replay_lines(other.as_bytes()).unwrap().differ > 0);
    }

    #[test]
    fn an_incomplete_last_line_is_skipped_and_a_bad_line_is_refused_with_its_number() {
        let text = String::from_utf8(recorded()).unwrap();
        let replayed = replay_lines(&text.as_bytes()[..text.len() - 5]).unwrap();
        assert_eq!(
            (replayed.decisions, replayed.differ, replayed.is_cut),
            (1799, 0, true)
        );
        let second = text.lines().nth(1).unwrap();
        for (bad, why) in [
            (String::new(), "the record is empty"),
            (format!("{second}\n"), "x:1: the line `begin` is missing"),
            (
                text.replacen("\"schema\":3", "\"schema\":4", 1),
                "x:1: its schema is 4",
            ),
            (text.replacen("intent", "intend", 1), "x:1: "),
            (text.replacen("\"now_ns\":0", "\"now_ns\":-1", 1), "x:2: "),
        ] {
            let error = replay_lines(bad.as_bytes()).unwrap_err().to_string();
            assert!(error.contains(why), "{why}: {error}");
        }
    }

    #[test]
    fn a_record_with_reasons_as_text_is_replayed_and_shows_them_where_roles_differ() {
        let text = String::from_utf8(recorded()).unwrap();
        let of_form_1 = |line: &str| {
            let mut line: serde_json::Value = serde_json::from_str(line).unwrap();
            if line["what"] == "begin" {
                line["schema"] = 1.into();
            }
            for told in line["decision"]["interfaces"]
                .as_array_mut()
                .into_iter()
                .flatten()
            {
                told["reason"] = "said at that time".into();
                told.as_object_mut().unwrap().remove("notes");
            }
            line.to_string() + "\n"
        };
        let old: String = text.lines().map(of_form_1).collect();
        let replayed = replay_lines(old.as_bytes()).unwrap();
        assert_eq!(
            (replayed.decisions, replayed.differ),
            (1800, 0),
            "{:?}",
            replayed.differences
        );
        let other = old.replacen("\"role\":\"regular\"", "\"role\":\"unused\"", 1);
        let replayed = replay_lines(other.as_bytes()).unwrap();
        assert_eq!(replayed.differ, 1);
        assert!(
            replayed.differences[0].contains("wwan0: not used: said at that time"),
            "{replayed:?}"
        );
    }

    #[test]
    fn closed_addresses_of_schema_2_are_read_without_a_reason() {
        let old =
            serde_json::json!({"closed": ["192.0.2.3"], "interfaces": [], "look_again_ns": null});
        let mut old: Decision = serde_json::from_value(old).unwrap();
        let closed = &old.closed[0];
        assert!(closed.address == IpAddr::from([192, 0, 2, 3]) && closed.reason.is_text_only());
        let mut now = old.clone();
        now.closed[0].reason = crate::reason::Reason::Metered;
        assert_ne!(old, now);
        take_over_texts(&mut old, &now);
        assert_eq!(old, now);
    }

    #[test]
    fn a_record_is_for_its_owner_alone_and_replaces_nothing() {
        let config = read_live(CONFIG).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("said.jsonl");
        drop(Recorder::create(&path, &config).unwrap());
        let file = std::fs::metadata(&path).unwrap();
        assert_eq!(file.mode() & 0o777, 0o600);
        assert_eq!(file.uid(), std::fs::metadata("/proc/self").unwrap().uid());
        let written = std::fs::read(&path).unwrap();

        let error = Recorder::create(&path, &config).unwrap_err().to_string();
        assert!(error.contains("said.jsonl"), "{error}");
        assert_eq!(replay(&path).unwrap().decisions, 0);
        let link = folder.path().join("link");
        symlink(folder.path().join("elsewhere"), &link).unwrap();
        Recorder::create(&link, &config).unwrap_err();
        assert_eq!(std::fs::read(&path).unwrap(), written);
        assert!(!folder.path().join("elsewhere").exists());
    }
}
