//! Where a scenario comes from: a file, or the binary itself.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use joulepath_link::trace;
use joulepath_model::network::{DeliveryTrace, RateSpec};
use joulepath_model::scenario::{self, Scenario, Variant};
use sha2::{Digest, Sha256};

use crate::failure::{Exit, Failure};
use crate::nearest::suggest;
use crate::shipped;
use crate::terminal;

/// Longest scenario that is read, bytes. More is not a scenario.
const MAX_SCENARIO_BYTES: u64 = 16 << 20;
/// Longest trace that is read, bytes: two days at 100 Mbit/s.
const MAX_TRACE_BYTES: u64 = 1 << 30;

/// Keys and values that replace what the scenario says.
pub(crate) type Overrides = Vec<(String, String)>;

/// A scenario's text and the traces that belong to it.
pub(crate) struct Source {
    /// The file as given, or the name of a shipped scenario.
    pub(crate) name: String,
    text: String,
    /// What trace paths are relative to; none for a shipped scenario.
    folder: Option<PathBuf>,
    /// Traces by the path in the scenario: they are needed once for each link, and for the hash.
    traces: RefCell<BTreeMap<String, (DeliveryTrace, Digested)>>,
    /// A trace may not be read.
    denied: Cell<bool>,
}

/// Length and hash of a trace.
type Digested = (u64, [u8; 32]);

impl Source {
    /// Opens a file or a shipped scenario; a file goes first.
    ///
    /// # Errors
    /// If there is no such thing, or it cannot be read.
    pub(crate) fn open(argument: &str) -> Result<Self, Failure> {
        let path = Path::new(argument);
        match (path.try_exists(), shipped::find(argument)) {
            (Ok(false), Some(shipped)) => Ok(Self::shipped(shipped)),
            (Ok(false), None) => Err(missing(argument)),
            _ => {
                let text = read_text(path)?;
                let folder = path.parent().map(Path::to_path_buf).unwrap_or_default();
                Ok(Self::new(argument, text, Some(folder)))
            }
        }
    }

    /// The shipped scenario of that name, whatever files there are.
    ///
    /// # Errors
    /// If none has it.
    pub(crate) fn named(name: &str) -> Result<Self, Failure> {
        shipped::find(name).map(Self::shipped).ok_or_else(|| missing(name))
    }

    /// A shipped scenario: its name and its text.
    pub(crate) fn shipped((name, text): (&str, &str)) -> Self {
        Self::new(name, text.to_owned(), None)
    }

    fn new(name: &str, text: String, folder: Option<PathBuf>) -> Self {
        Source { name: name.to_owned(), text, folder, traces: RefCell::default(), denied: Cell::new(false) }
    }

    /// Name for the files that are written about it.
    pub(crate) fn stem(&self) -> String {
        Path::new(&self.name)
            .file_stem()
            .map_or_else(|| "scenario".to_owned(), |stem| stem.to_string_lossy().into_owned())
    }

    /// Loads the scenario after setting keys.
    ///
    /// # Errors
    /// Everything that is wrong with it; a usage error if all of that is in the overrides.
    pub(crate) fn load(&self, overrides: &[(String, String)]) -> Result<Scenario, Failure> {
        scenario::load_with(&self.text, overrides, &|name| self.trace(name)).map_err(|errors| {
            let in_overrides = errors.problems().iter().all(|p| p.span.start >= self.text.len());
            let exit = match () {
                () if self.denied.get() => Exit::Permission,
                () if !overrides.is_empty() && in_overrides => Exit::Usage,
                () => Exit::Failed,
            };
            Failure::scenario(exit, errors.in_file(&self.name))
        })
    }

    /// The variants of the scenario.
    ///
    /// # Errors
    /// What keeps them from being read.
    pub(crate) fn variants(&self) -> Result<Vec<Variant>, Failure> {
        scenario::variants(&self.text)
            .map_err(|errors| Failure::scenario(Exit::Failed, errors.in_file(&self.name)))
    }

    /// What a variant sets, if one is named, and then `set`.
    ///
    /// # Errors
    /// If there is no such variant.
    pub(crate) fn overrides(
        &self,
        variant: Option<&str>,
        set: &[(String, String)],
    ) -> Result<Overrides, Failure> {
        let mut overrides = variant.map_or(Ok(vec![]), |name| self.variant(name))?;
        overrides.extend_from_slice(set);
        Ok(overrides)
    }

    fn variant(&self, name: &str) -> Result<Overrides, Failure> {
        let variants = self.variants()?;
        let names: Vec<&str> = variants.iter().map(|variant| variant.name.as_str()).collect();
        let unknown =
            || Failure::usage(format!("`{}` has no variant `{name}`", self.name)).help(suggest(name, &names));
        variants.iter().find(|variant| variant.name == name).map(|v| v.set.clone()).ok_or_else(unknown)
    }

    /// SHA-256 of the text, as `sha256sum` prints it, if the scenario names no traces; with traces, of the text followed by
    /// each trace's name, length and SHA-256, in the order of the names.
    pub(crate) fn sha256(&self, scenario: &Scenario) -> String {
        let named: BTreeSet<&str> = scenario.links.iter().filter_map(|link| trace_of(&link.rate)).collect();
        let mut hash = Sha256::new_with_prefix(&self.text);
        for (name, (_, (length, digest))) in self.traces.borrow().iter() {
            if named.contains(name.as_str()) {
                hash.update(format!("\n{name}\n{length}\n"));
                hash.update(digest);
            }
        }
        hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
    }

    fn trace(&self, name: &str) -> Result<DeliveryTrace, String> {
        if let Some((trace, _)) = self.traces.borrow().get(name) {
            return Ok(trace.clone());
        }
        let bytes = match &self.folder {
            None => {
                shipped::trace(&self.name, name).map(|text| text.as_bytes().to_vec()).ok_or_else(|| {
                    format!("a shipped scenario has no folder to find `{name}` in; save it as a file first")
                })?
            }
            Some(folder) => {
                let path = folder.join(name);
                read_bytes(&path, MAX_TRACE_BYTES).map_err(|error| {
                    let denied = error.kind() == io::ErrorKind::PermissionDenied;
                    self.denied.set(self.denied.get() || denied);
                    format!("{}: {error}; its path is relative to the scenario", path.display())
                })?
            }
        };
        let trace = trace::parse(&bytes, name).map_err(|error| error.to_string())?;
        let digested = (bytes.len() as u64, Sha256::digest(&bytes).into());
        self.traces.borrow_mut().insert(name.to_owned(), (trace.clone(), digested));
        Ok(trace)
    }
}

/// The name of the trace behind a rate.
fn trace_of(rate: &RateSpec) -> Option<&str> {
    match rate {
        RateSpec::Trace(trace) => Some(&trace.source),
        _ => None,
    }
}

fn missing(argument: &str) -> Failure {
    let failure =
        Failure::usage(format!("there is no scenario `{argument}`: neither a file nor a shipped one"));
    match shipped::most_like(argument) {
        Some(nearest) => failure
            .help(format!("did you mean `{nearest}`? `joulepath list scenarios` names the shipped ones")),
        None => failure.help("check the path; `joulepath list scenarios` names the shipped ones"),
    }
}

fn read_text(path: &Path) -> Result<String, Failure> {
    let what = format!("cannot read the scenario {}", path.display());
    if path.is_dir() {
        return Err(Failure::usage(format!("{} is a folder, not a scenario", path.display()))
            .help("name a file in it, such as `my.toml`"));
    }
    let bytes = read_bytes(path, MAX_SCENARIO_BYTES).map_err(|error| Failure::io(&what, error))?;
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        Failure::message(Exit::Failed, format!("{what}: byte {at} is not UTF-8 text"))
            .help("a scenario is a TOML file; save it as UTF-8")
    })
}

/// What is in a file of at most `limit` bytes.
fn read_bytes(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(limit + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit {
        return Err(io::Error::new(
            io::ErrorKind::FileTooLarge,
            format!("it has more than {} MiB, so it is something else", limit >> 20),
        ));
    }
    Ok(bytes)
}

/// The scenario `argument` with a variant and keys set, for commands that need no more.
///
/// # Errors
/// If it cannot be opened or loaded.
pub(crate) fn load(argument: &str, changes: &crate::cli::Changes) -> Result<Scenario, Failure> {
    let source = Source::open(argument)?;
    source.load(&source.overrides(changes.variant.as_deref(), &changes.set)?)
}

/// Whether a word on the command line names a scenario rather than a file to write.
pub(crate) fn looks_like_scenario(word: &str) -> bool {
    word.ends_with(".toml") || (shipped::find(word).is_some() && !Path::new(word).exists())
}

/// Says which file or shipped scenario is used, where the two could be confused.
pub(crate) fn announce(source: &Source, argument: &str) {
    if source.folder.is_none() && argument != source.name {
        terminal::say(&format!(
            "note: {argument} is not a file here; using the shipped scenario {}",
            source.name
        ));
    }
}
