//! Sources of scenarios: files, texts, and this library.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard};

use joulepath_files::{By, Trouble};
use joulepath_link::trace;
use joulepath_model::names::suggest;
use joulepath_model::network::{DeliveryTrace, LinkSpec, RateSpec};
use joulepath_model::scenario::{self, Beside, CalibratedProfile, Scenario, Variant};
use joulepath_model::signal::SignalSpec;
use sha2::{Digest, Sha256};

use crate::digest::hex;
use crate::error::{Error, Kind, Result};
use crate::files;
use crate::shipped;

/// Maximum size of a scenario, bytes.
const MAX_SCENARIO_BYTES: u64 = 16 << 20;
/// Maximum size of a trace, bytes: two days at 100 Mbit/s.
const MAX_TRACE_BYTES: u64 = 1 << 30;
/// Maximum size of a calibrated profile, bytes.
const MAX_PROFILE_BYTES: u64 = 1 << 20;

/// Keys and values that replace those of the scenario.
pub type Overrides = Vec<(String, String)>;

/// A scenario's text and its traces.
pub struct Source {
    /// File name as given, or the name of a shipped scenario.
    name: String,
    text: String,
    /// Whether messages may quote the text.
    may_be_quoted: bool,
    traces_in: TracesIn,
    /// Traces by their path in the scenario. Each link needs them, and so does the hash.
    traces: Mutex<Traces>,
    /// Files of signals and delays by their path in the scenario.
    series: Mutex<BTreeMap<String, Digested>>,
}

/// Place of the traces.
enum TracesIn {
    /// This library, next to the shipped scenario.
    Library,
    /// The folder that their paths are relative to.
    Folder(PathBuf),
    /// Texts by name; others are in this library, next to the shipped scenario of this name, if
    /// there is one.
    Given {
        texts: BTreeMap<String, String>,
        beside: Option<String>,
    },
    /// No traces.
    Nowhere,
}

type Traces = BTreeMap<String, (DeliveryTrace, Digested)>;

/// Length and hash of a trace.
type Digested = (u64, [u8; 32]);

impl Source {
    /// Opens a file or a shipped scenario; a file takes precedence.
    ///
    /// # Errors
    /// If neither exists, or it cannot be read.
    pub fn open(argument: impl AsRef<OsStr>) -> Result<Self> {
        let argument = argument.as_ref();
        Self::find(
            Path::new(argument),
            &argument.to_string_lossy(),
            By::Argument,
        )
    }

    /// Opens a scenario named in a file in `folder`: a file relative to the folder, or a shipped
    /// scenario.
    ///
    /// # Errors
    /// Those of [`Source::open`], and if the user who called `sudo` may not read the file.
    #[cfg(not(target_family = "wasm"))]
    pub(crate) fn open_beside(folder: &Path, name: &str) -> Result<Self> {
        Self::find(&folder.join(name), name, By::File)
    }

    fn find(path: &Path, name: &str, by: By) -> Result<Self> {
        let Some(text) = Text::read(path, "scenario", by)? else {
            return shipped::find(name)
                .map(Self::shipped)
                .ok_or_else(|| missing(name));
        };
        let folder = path.parent().map(Path::to_path_buf).unwrap_or_default();
        let traces_in = TracesIn::Folder(folder);
        let shown = path.to_string_lossy();
        Ok(Source {
            may_be_quoted: text.may_be_quoted,
            ..Self::new(&shown, text.text, traces_in)
        })
    }

    /// The shipped scenario of that name, even if a file has the name.
    ///
    /// # Errors
    /// If there is none.
    pub fn named(name: &str) -> Result<Self> {
        shipped::find(name)
            .map(Self::shipped)
            .ok_or_else(|| missing(name))
    }

    /// A shipped scenario from its name and text.
    pub fn shipped((name, text): (&str, &str)) -> Self {
        Self::new(name, text.to_owned(), TracesIn::Library)
    }

    /// A text whose traces are `texts` by name, and those of the shipped scenario `original` if it
    /// was made from one.
    pub fn given(
        name: &str,
        text: impl Into<String>,
        texts: BTreeMap<String, String>,
        original: Option<&str>,
    ) -> Self {
        Self::new(
            name,
            text.into(),
            TracesIn::Given {
                texts,
                beside: original.map(str::to_owned),
            },
        )
    }

    fn new(name: &str, text: String, traces_in: TracesIn) -> Self {
        Source {
            name: name.to_owned(),
            text,
            may_be_quoted: true,
            traces_in,
            traces: Mutex::default(),
            series: Mutex::default(),
        }
    }

    /// A text from the user. Its traces are files in `folder`, if given.
    pub fn text(name: &str, text: impl Into<String>, folder: Option<PathBuf>) -> Self {
        Self::new(
            name,
            text.into(),
            folder.map_or(TracesIn::Nowhere, TracesIn::Folder),
        )
    }

    /// File name as given, or the name of a shipped scenario.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The text as read.
    pub fn content(&self) -> &str {
        &self.text
    }

    /// The text, unless messages and pages may not quote it.
    pub(crate) fn quotable(&self) -> Option<&str> {
        self.may_be_quoted.then_some(self.text.as_str())
    }

    /// The folder of traces, if there is one.
    pub fn folder(&self) -> Option<&Path> {
        match &self.traces_in {
            TracesIn::Folder(folder) => Some(folder),
            TracesIn::Library | TracesIn::Given { .. } | TracesIn::Nowhere => None,
        }
    }

    /// Whether it is a shipped scenario.
    pub fn is_shipped(&self) -> bool {
        matches!(self.traces_in, TracesIn::Library)
    }

    /// Name for output files about it.
    pub fn stem(&self) -> String {
        Path::new(&self.name).file_stem().map_or_else(
            || "scenario".to_owned(),
            |stem| stem.to_string_lossy().into_owned(),
        )
    }

    /// Loads the scenario with overrides.
    ///
    /// # Errors
    /// All mistakes in it. The kind is usage if all are in the overrides, and permission if a trace
    /// is not readable.
    pub fn load(&self, overrides: &[(String, String)]) -> Result<Scenario> {
        let denied = Cell::new(false);
        let trace = |name: &str| {
            self.trace(name).map_err(|error| {
                denied.set(denied.get() || error.kind() == Kind::Permission);
                in_scenario(&error)
            })
        };
        let profile = |name: &str| {
            self.profile(name).map_err(|error| {
                denied.set(denied.get() || error.kind() == Kind::Permission);
                in_scenario(&error)
            })
        };
        let series = |name: &str| {
            self.series(name).map_err(|error| {
                denied.set(denied.get() || error.kind() == Kind::Permission);
                in_scenario(&error)
            })
        };
        let beside = Beside {
            traces: &trace,
            series: &series,
            profiles: &profile,
        };
        scenario::load_beside(&self.text, overrides, &beside).map_err(|errors| {
            if !self.may_be_quoted {
                return not_shown(&self.name);
            }
            let errors = match errors.in_file(&self.name) {
                errors if overrides.is_empty() => errors,
                errors => errors.with_overrides(self.text.len(), "--set"),
            };
            let in_overrides = errors
                .problems()
                .iter()
                .all(|p| p.span.start >= self.text.len());
            let kind = match () {
                () if denied.get() => Kind::Permission,
                () if !overrides.is_empty() && in_overrides => Kind::Usage,
                () => Kind::Failed,
            };
            Error::Scenario {
                errors: Box::new(errors),
                kind,
            }
        })
    }

    /// The variants of the scenario.
    ///
    /// # Errors
    /// If the scenario cannot be read.
    pub fn variants(&self) -> Result<Vec<Variant>> {
        scenario::variants(&self.text).map_err(|errors| match self.may_be_quoted {
            true => Error::Scenario {
                errors: Box::new(errors.in_file(&self.name)),
                kind: Kind::Failed,
            },
            false => not_shown(&self.name),
        })
    }

    /// The overrides of a variant, if named, followed by `set`.
    ///
    /// # Errors
    /// If there is no such variant.
    pub fn overrides(&self, variant: Option<&str>, set: &[(String, String)]) -> Result<Overrides> {
        let mut overrides = variant.map_or(Ok(vec![]), |name| self.variant(name))?;
        overrides.extend_from_slice(set);
        Ok(overrides)
    }

    fn variant(&self, name: &str) -> Result<Overrides> {
        let variants = self.variants()?;
        let names: Vec<&str> = variants
            .iter()
            .map(|variant| variant.name.as_str())
            .collect();
        let unknown = || {
            Error::usage(format!("`{}` has no variant `{name}`", self.name))
                .with_help(suggest(name, &names))
        };
        variants
            .iter()
            .find(|variant| variant.name == name)
            .map(|v| v.set.clone())
            .ok_or_else(unknown)
    }

    /// SHA-256 of the text, as `sha256sum` prints it, if the scenario names no traces. With traces:
    /// of the text followed by each trace's name, length and SHA-256, ordered by name. With
    /// calibrated profiles: of that followed by the output of `joulepath show`.
    pub fn sha256(&self, scenario: &Scenario) -> String {
        let named: BTreeSet<&str> = scenario
            .links
            .iter()
            .filter_map(|link| trace_of(&link.rate))
            .collect();
        let delays = scenario.links.iter().filter_map(delay_trace_of);
        let signals = scenario.paths.iter().filter_map(signal_trace_of);
        let recorded: BTreeSet<&str> = signals.chain(delays).collect();
        let mut hash = Sha256::new_with_prefix(&self.text);
        let mut add = |name: &str, (length, digest): &Digested| {
            hash.update(format!("\n{name}\n{length}\n"));
            hash.update(digest);
        };
        for (name, (_, digested)) in self
            .traces()
            .iter()
            .filter(|(name, _)| named.contains(name.as_str()))
        {
            add(name, digested);
        }
        let series = self
            .series
            .lock()
            .expect("no thread panics while it holds the traces");
        for (name, digested) in series
            .iter()
            .filter(|(name, _)| recorded.contains(name.as_str()))
        {
            add(name, digested);
        }
        let calibrated = |path: &scenario::PathSpec| path.energy.is_calibrated();
        if self.text.contains("\"file:") || scenario.paths.iter().any(calibrated) {
            hash.update(scenario::show(scenario));
        }
        hex(&hash.finalize())
    }

    fn trace(&self, name: &str) -> Result<DeliveryTrace> {
        if let Some((trace, _)) = self.traces().get(name) {
            return Ok(trace.clone());
        }
        let bytes = self.trace_bytes(name)?;
        let trace = trace::parse(&bytes, name).map_err(Error::usage)?;
        self.traces()
            .insert(name.to_owned(), (trace.clone(), digested(&bytes)));
        Ok(trace)
    }

    fn trace_bytes(&self, name: &str) -> Result<Vec<u8>> {
        match &self.traces_in {
            TracesIn::Folder(folder) => files::read_beside(folder, name, MAX_TRACE_BYTES),
            TracesIn::Given { texts, beside } => match (texts.get(name), beside) {
                (Some(text), _) => Ok(text.as_bytes().to_vec()),
                (None, Some(original)) => shipped::trace(original, name)
                    .map(|text| text.as_bytes().to_vec())
                    .ok_or_else(|| not_given(name)),
                (None, None) => Err(not_given(name)),
            },
            TracesIn::Library => shipped_trace(&self.name, name),
            TracesIn::Nowhere => Err(without_folder(name)),
        }
    }

    /// A file of signals or delays next to the scenario.
    fn series(&self, name: &str) -> Result<String> {
        let bytes = self.trace_bytes(name)?;
        let mut series = self
            .series
            .lock()
            .expect("no thread panics while it holds the traces");
        series.insert(name.to_owned(), digested(&bytes));
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// The calibrated profile in a file next to the scenario.
    fn profile(&self, name: &str) -> Result<CalibratedProfile> {
        let TracesIn::Folder(folder) = &self.traces_in else {
            return Err(without_folder(name));
        };
        let bytes = files::read_beside(folder, name, MAX_PROFILE_BYTES)?;
        let text = String::from_utf8_lossy(&bytes);
        scenario::read_profile_in(&text, name).map_err(|(why, help)| Error::Refused {
            doing: format!("cannot read `{name}`"),
            why,
            help,
            kind: Kind::Failed,
        })
    }

    fn traces(&self) -> MutexGuard<'_, Traces> {
        self.traces
            .lock()
            .expect("no thread panics while it holds the traces")
    }
}

fn digested(bytes: &[u8]) -> Digested {
    (bytes.len() as u64, Sha256::digest(bytes).into())
}

/// Name of the trace of a path's signal.
fn signal_trace_of(path: &scenario::PathSpec) -> Option<&str> {
    match &path.signal.as_ref()?.spec {
        SignalSpec::Trace(trace) => Some(&trace.source),
        _ => None,
    }
}

fn delay_trace_of(link: &LinkSpec) -> Option<&str> {
    link.delays.as_ref()?.source.as_deref()
}

/// Bytes of a trace next to a shipped scenario.
fn shipped_trace(scenario: &str, name: &str) -> Result<Vec<u8>> {
    shipped::trace(scenario, name)
        .map(|text| text.as_bytes().to_vec())
        .ok_or_else(|| without_folder(name))
}

fn not_given(name: &str) -> Error {
    Error::Refused {
        doing: format!("cannot read `{name}`"),
        why: "there is no such trace with this scenario".to_owned(),
        help: "add the file".to_owned(),
        kind: Kind::Failed,
    }
}

fn without_folder(name: &str) -> Error {
    Error::Refused {
        doing: format!("cannot read `{name}`"),
        why: "the scenario is not a file, so it has no folder".to_owned(),
        help: "save the scenario as a file first".to_owned(),
        kind: Kind::Failed,
    }
}

/// Message for a trace or a profile as a problem of the scenario: the mistake, a semicolon, and the
/// fix.
fn in_scenario(error: &Error) -> String {
    match error {
        Error::File { source, .. } => format!("{source}; its path is relative to the scenario"),
        Error::Refused { why, help, .. } => format!("{why}; {help}"),
        error => error.to_string(),
    }
}

/// Name of the trace of a rate.
fn trace_of(rate: &RateSpec) -> Option<&str> {
    match rate {
        RateSpec::Trace(trace) => Some(&trace.source),
        _ => None,
    }
}

fn missing(argument: &str) -> Error {
    let error = Error::usage(format!(
        "there is no scenario `{argument}`: neither a file nor a shipped one"
    ));
    match shipped::most_like(argument) {
        Some(nearest) => error.with_help(format!(
            "did you mean `{nearest}`? `joulepath list scenarios` names the shipped ones"
        )),
        None => {
            error.with_help("check the path; `joulepath list scenarios` names the shipped ones")
        }
    }
}

/// Text of a TOML file that a user names.
pub(crate) struct Text {
    pub(crate) text: String,
    /// Whether messages may quote the text. If not, use [`not_shown`] for its errors.
    pub(crate) may_be_quoted: bool,
}

impl Text {
    /// Reads the file; `what` describes it, for example `scenario`. `None` if there is no such
    /// file.
    ///
    /// # Errors
    /// If it cannot be read, or is not UTF-8.
    pub(crate) fn read(path: &Path, what: &str, by: By) -> Result<Option<Self>> {
        let doing = format!("cannot read the {what} {}", path.display());
        let content = match joulepath_files::read(path, by, MAX_SCENARIO_BYTES) {
            Err(trouble) if trouble.is_missing() => return Ok(None),
            Err(Trouble::Folder) => {
                return Err(
                    Error::usage(format!("{} is a folder, not a {what}", path.display()))
                        .with_help("name a file in it, such as `my.toml`"),
                );
            }
            content => content.map_err(|trouble| files::unread(trouble, doing.clone()))?,
        };
        let text = String::from_utf8(content.bytes).map_err(|error| Error::Refused {
            doing,
            why: format!(
                "byte {} is not UTF-8 text",
                error.utf8_error().valid_up_to()
            ),
            help: format!("a {what} is a TOML file; save it as UTF-8"),
            kind: Kind::Failed,
        })?;
        Ok(Some(Text {
            text,
            may_be_quoted: content.may_be_quoted,
        }))
    }

    /// Like [`Text::read`], but a missing file is an error.
    ///
    /// # Errors
    /// Those of [`Text::read`], and if there is no such file.
    #[cfg(not(target_family = "wasm"))]
    pub(crate) fn named(path: &Path, what: &str) -> Result<Self> {
        let missing = || {
            let doing = format!("cannot read the {what} {}", path.display());
            Error::file(
                doing,
                std::io::Error::new(std::io::ErrorKind::NotFound, "there is no such file"),
            )
        };
        Self::read(path, what, By::Argument)?.ok_or_else(missing)
    }
}

/// The error for mistakes in a file that the user who called `sudo` may not read.
pub(crate) fn not_shown(name: &str) -> Error {
    Error::Refused {
        doing: format!("cannot use {name}"),
        why: "it has mistakes, which are hidden because the user who called sudo may not read it"
            .to_owned(),
        help: "let that user read the file, or run the command in a root shell".to_owned(),
        kind: Kind::Failed,
    }
}

/// Whether a word on the command line names a scenario, not an output file.
pub fn looks_like_scenario(word: &str) -> bool {
    word.ends_with(".toml") || (shipped::find(word).is_some() && !Path::new(word).exists())
}
