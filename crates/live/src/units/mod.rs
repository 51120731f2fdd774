//! Programs whose TCP sockets become MPTCP: `[[mptcp]]`. By BPF where the kernel can (`hold`), else
//! because systemd starts them so:
//!
//! A drop-in gives each service the variables with which [`programs`] starts a program.
//! systemd reads it at the next start of the service, also before the daemon runs after a boot.
//! Nothing restarts a service. Values that a service sets itself are kept: the drop-in adds ours to
//! them.
//!
//! | module | what |
//! |---|---|
//! | `files` | systemd's unit files |
//! | `selection` | the services of each entry, and the control groups of all |
//! | `hold` | keeps programs on MPTCP by BPF |
//! | `waiting` | services that started before their drop-in |

mod files;
mod hold;
mod selection;
mod waiting;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use joulepath_kernel::programs::probe;
use joulepath_kernel::state::boot_id;
use joulepath_model::live::{LiveConfig, Programs};

use self::files::{NAME, Services, Uncopied, VARIABLES, Variables, defaults};
use self::selection::{Selection, select, services_of};
use crate::error::{Error, Result};
use crate::owned::{self, Found, Stamp};
use crate::programs;
use crate::status::ProgramsStatus;
use crate::systemd;

const PURPOSE: &str =
    "[[mptcp]] of joulepathd's live.toml; `joulepath live --undo` removes it unless changed";
/// Where administrators' units and drop-ins are.
pub(crate) const FOLDER: &str = "etc/systemd/system";
/// Files of systemd for `all`: of the system's services and of the users'.
const ALL: [&str; 2] = ["system.conf", "user.conf"];

/// What [`apply`] has done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Applied {
    /// Number of files written and removed.
    changes: usize,
    /// What is on MPTCP from its next start on: names of services, or `all services`.
    on: Vec<String>,
    /// What is not, and why.
    notes: Vec<String>,
}

impl Applied {
    /// Each service and each note as a line.
    fn lines(&self) -> Vec<String> {
        let on = self
            .on
            .iter()
            .map(|name| format!("on MPTCP from its next start: {name}"));
        on.chain(self.notes.iter().map(|note| format!("on TCP: {note}")))
            .collect()
    }
}

/// The files that should exist.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Plan {
    /// Bodies by file.
    files: BTreeMap<PathBuf, String>,
    notes: Vec<String>,
}

/// Puts the programs of the configuration on MPTCP. By BPF it returns after SIGTERM or SIGINT, and
/// SIGHUP rereads the configuration; with drop-ins it returns at once, unless a service manager has
/// started it. `say` gets each service and each note as a line.
///
/// # Errors
/// If the configuration is wrong, or another process holds the eBPF program, or a file cannot be
/// written.
pub fn run(path: &Path, say: &mut dyn FnMut(&str)) -> Result<()> {
    hold::run(path, drop_ins, say)
}

fn drop_ins(config: Option<&LiveConfig>) -> Result<Vec<String>> {
    match config {
        Some(config) => Ok(apply(config)?.lines()),
        None => undo(&|_| false).map(|_| vec![]),
    }
}

/// Writes the drop-ins of the configuration, removes our other ones, and makes systemd read them.
///
/// # Errors
/// If a file cannot be written, or systemd does not read them. The call may be repeated.
fn apply(config: &LiveConfig) -> Result<Applied> {
    let root = Path::new("/");
    if config.mptcp.is_empty() {
        return Ok(Applied {
            changes: undo(&|_| false)?,
            ..Applied::default()
        });
    }
    let library = programs::place().map_err(|what| Error::Refused {
        what,
        remedy: String::new(),
    })?;
    let applied = apply_in(root, config, &library)?;
    if applied.changes > 0 && systemd::is_running(root) {
        systemd::reload()?;
    }
    Ok(applied)
}

/// Removes our drop-ins, except those whose stamp `stays`, and makes systemd forget them. Returns
/// their number. Running programs keep their sockets.
///
/// # Errors
/// If a file cannot be removed, or systemd does not read its files again. The call may be repeated.
pub(crate) fn undo(stays: &dyn Fn(&Stamp) -> bool) -> Result<usize> {
    let root = Path::new("/");
    let changes = undo_in(root, stays)?;
    if changes > 0 && systemd::is_running(root) {
        systemd::reload()?;
    }
    Ok(changes)
}

/// What a start would write, one line per file; or by BPF, one line per unit.
pub(crate) fn steps(config: &LiveConfig) -> Vec<String> {
    let root = Path::new("/");
    if !config.mptcp.is_empty() && (hold::is_held() || probe().is_ok()) {
        let Selection { on, notes, .. } = select(root, config);
        let on = on
            .iter()
            .map(|name| format!("put {name} on MPTCP by BPF, from the next socket"));
        return on
            .chain(notes.iter().map(|note| format!("leave on TCP: {note}")))
            .collect();
    }
    let plan = plan(root, config, &programs::installed());
    let is_new = |file: &&PathBuf| matches!(owned::look(file), Ok(Found::Absent));
    let line = |file: &PathBuf| {
        format!(
            "put {} on MPTCP at the next start: write {}",
            subject(file).words(),
            file.display()
        )
    };
    let files = plan.files.keys().filter(is_new).map(line);
    files
        .chain(
            plan.notes
                .iter()
                .map(|note| format!("leave on TCP: {note}")),
        )
        .collect()
}

/// The state of `[[mptcp]]`; `None` if it has no entry.
pub(crate) fn status(config: &LiveConfig) -> Option<ProgramsStatus> {
    status_in(
        Path::new("/"),
        config,
        &boot_id().unwrap_or_default(),
        hold::is_held(),
    )
}

fn status_in(
    root: &Path,
    config: &LiveConfig,
    boot: &str,
    is_held: bool,
) -> Option<ProgramsStatus> {
    if config.mptcp.is_empty() {
        return None;
    }
    if is_held {
        let Selection { on, notes, .. } = select(root, config);
        return Some(ProgramsStatus {
            bpf: true,
            on,
            notes,
            ..ProgramsStatus::default()
        });
    }
    let plan = plan(root, config, &programs::installed());
    let mut status = ProgramsStatus {
        notes: plan.notes,
        ..ProgramsStatus::default()
    };
    for file in plan.files.keys() {
        let subject = subject(file);
        let Ok(Found::Ours(own)) = owned::look(file) else {
            status.missing.push(subject.words());
            continue;
        };
        status.on.push(subject.words());
        // The files of systemd for users are of no effect on the system's services.
        let pattern = match &subject {
            Subject::Service(name) => name.replace("@.service", "@*.service"),
            Subject::All if file.ends_with(Path::new("system.conf.d").join(NAME)) => {
                "*.service".into()
            }
            Subject::All => continue,
        };
        if own.stamp.boot == boot {
            status
                .waiting
                .extend(waiting::older(root, &pattern, own.stamp.since_boot_ns));
        }
    }
    for list in [&mut status.on, &mut status.missing, &mut status.waiting] {
        list.sort();
        list.dedup();
    }
    Some(status)
}

fn apply_in(root: &Path, config: &LiveConfig, library: &Path) -> Result<Applied> {
    let Plan { files, mut notes } = plan(root, config, library);
    let mut applied = Applied::default();
    for file in ours(root)
        .into_iter()
        .filter(|file| !files.contains_key(file))
    {
        applied.changes +=
            usize::from(owned::remove(&file).map_err(|error| unwritten(&file, &error))?);
    }
    let stamp = Stamp::now()?;
    for (file, body) in &files {
        if owned::look(file).map_err(|error| unwritten(file, &error))? == Found::Foreign {
            notes.push(format!(
                "{} is not ours or was changed: delete it",
                file.display()
            ));
            continue;
        }
        let written = owned::put(file, PURPOSE, body, stamp.clone());
        applied.changes += usize::from(written.map_err(|error| unwritten(file, &error))?);
        applied.on.push(subject(file).words());
    }
    applied.on.dedup();
    Ok(Applied { notes, ..applied })
}

fn undo_in(root: &Path, stays: &dyn Fn(&Stamp) -> bool) -> Result<usize> {
    let mut changes = 0;
    for file in ours(root) {
        if matches!(owned::look(&file), Ok(Found::Ours(own)) if stays(&own.stamp)) {
            continue;
        }
        changes += usize::from(owned::remove(&file).map_err(|error| unwritten(&file, &error))?);
    }
    Ok(changes)
}

/// Every path at which a file of ours, or a draft of one, may be.
fn ours(root: &Path) -> Vec<PathBuf> {
    let folder = root.join(FOLDER);
    let entries = fs::read_dir(&folder).into_iter().flatten().flatten();
    let drop_ins = entries
        .map(|entry| entry.path())
        .filter(|path| path.extension() == Some(OsStr::new("d")));
    let all = ALL.map(|name| root.join("etc/systemd").join(format!("{name}.d")));
    // The last one stands for a draft of a new folder.
    let folders = drop_ins.chain(all).chain([folder.join("none.service.d")]);
    folders.map(|folder| folder.join(NAME)).collect()
}

fn unwritten(file: &Path, error: &std::io::Error) -> Error {
    Error::Refused {
        what: format!("cannot change {}: {error}", file.display()),
        remedy: "call it as root on a machine whose /etc is writable".into(),
    }
}

/// What a file of ours concerns.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Subject {
    Service(String),
    All,
}

impl Subject {
    fn words(&self) -> String {
        match self {
            Subject::Service(name) => name.clone(),
            Subject::All => "all services".into(),
        }
    }
}

fn subject(file: &Path) -> Subject {
    let folder = file
        .parent()
        .and_then(Path::file_name)
        .and_then(OsStr::to_str)
        .unwrap_or_default();
    match folder.strip_suffix(".d") {
        Some(name) if name.ends_with(".service") => Subject::Service(name.into()),
        _ => Subject::All,
    }
}

fn plan(root: &Path, config: &LiveConfig, library: &Path) -> Plan {
    let services = Services::read(root);
    let mut plan = Plan::default();
    let mut named = BTreeSet::new();
    for entry in &config.mptcp {
        match services_of(root, &services, entry) {
            Ok(found) => named.extend(found),
            Err(why) => plan.notes.push(format!("{}: {why}", entry.words())),
        }
    }
    if config
        .mptcp
        .iter()
        .any(|entry| entry.programs == Programs::All)
    {
        plan.all(root, library);
        // Variables of a service override those for all.
        let sets = |name: &&String| {
            services
                .service(name)
                .is_some_and(|found| !found.variables.is_empty())
        };
        named.extend(services.names().filter(sets).cloned());
    }
    for name in named {
        plan.service(root, &services, &name, library);
    }
    plan
}

impl Plan {
    fn all(&mut self, root: &Path, library: &Path) {
        for name in ALL {
            match assignments(&defaults(root, name), true, library) {
                Ok(words) => {
                    let body = format!("[Manager]\nDefaultEnvironment={}\n", words.join(" "));
                    let folder = root.join("etc/systemd").join(format!("{name}.d"));
                    self.files.insert(folder.join(NAME), body);
                }
                Err(why) => self
                    .notes
                    .push(format!("all: DefaultEnvironment of {name}: {why}")),
            }
        }
    }

    fn service(&mut self, root: &Path, services: &Services, name: &str, library: &Path) {
        let Some(service) = services.service(name) else {
            return;
        };
        let kinds: Vec<_> = service
            .programs
            .iter()
            .map(|program| kind(root, program))
            .collect();
        let loads_library = kinds.iter().all(|(loads_library, _)| *loads_library);
        self.notes.extend(
            kinds
                .into_iter()
                .filter_map(|(_, note)| Some(format!("{name}: {}", note?))),
        );
        for variable in &service.fixed {
            self.notes.push(format!(
                "{name}: a file of the service sets or unsets {variable} last"
            ));
        }
        match assignments(&service.variables, loads_library, library) {
            Ok(words) => {
                let lines: String = words
                    .iter()
                    .map(|word| format!("Environment={word}\n"))
                    .collect();
                let folder = root.join(FOLDER).join(format!("{name}.d"));
                self.files
                    .insert(folder.join(NAME), format!("[Service]\n{lines}"));
            }
            Err(why) => self.notes.push(format!("{name}: {why}")),
        }
    }
}

/// Whether a service's program loads the library, and why its own sockets stay TCP.
fn kind(root: &Path, program: &str) -> (bool, Option<String>) {
    match program.strip_prefix('/') {
        Some(inside) => programs::limits(root.join(inside)),
        // systemd searches for the others; specifiers are unknown here.
        None => (true, None),
    }
}

/// Assignments in double quotes that add ours to what is set.
fn assignments(
    present: &Variables,
    loads_library: bool,
    library: &Path,
) -> std::result::Result<Vec<String>, String> {
    let mut words = vec![];
    for name in VARIABLES {
        let before = match present.get(name) {
            None => None,
            Some(Ok(value)) => Some(OsStr::new(value)),
            Some(Err(Uncopied)) => {
                return Err(format!(
                    "the value of {name} has quotation marks or backslashes"
                ));
            }
        };
        let value = match name {
            programs::GODEBUG => programs::go_debug(before),
            _ if !loads_library => continue,
            _ => programs::preload(before, library),
        };
        words.push(format!("\"{name}={}\"", value.to_string_lossy()));
    }
    Ok(words)
}

#[cfg(test)]
mod tests;
