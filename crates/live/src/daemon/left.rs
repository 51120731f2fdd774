//! What a stopped daemon leaves behind, and how it is removed.
//!
//! | left behind | removed by |
//! |---|---|
//! | endpoints and rules that connections need | a waiting process or unit, when the connections have ended |
//! | all endpoints of a killed daemon, or of one with `--keep` | the next start, or [`undo`] |
//! | journals of network namespaces that no longer exist | the next start |

use std::fs;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use joulepath_kernel::Error as KernelError;
use joulepath_kernel::capability::Task;
use joulepath_kernel::error;
use joulepath_kernel::namespace::{self, Cookie};
use joulepath_kernel::reactor::monotonic_ns;
use joulepath_kernel::route::Monitor;
use joulepath_kernel::state::{Lock, State, boot_id};
use joulepath_model::units::Nanos;

use crate::act::{Actor, FOLDER, Kernel, OnDisk, Outcome};
use crate::error::{Error, Result};
use crate::first;
use crate::units;

/// A stopping daemon holds its lock at most this long.
const PATIENCE: Duration = Duration::from_millis(500);
/// A waiting process that is about to end, or a process that only checks the lock, holds it at most
/// this much longer.
const ENDING: Duration = Duration::from_secs(5);
/// The command line of the waiting process.
const WAIT: [&str; 3] = ["live", "--undo", "--wait"];
/// Suffix of the waiting process's lock.
const WAITS: &str = "-wait";
/// Pause after an error.
const AFTER_ERROR: Duration = Duration::from_secs(30);

/// True if a daemon runs in this network namespace.
pub(crate) fn is_running() -> Result<bool> {
    let Some(state) = State::existing()? else {
        return Ok(false);
    };
    let Some(folder) = state.existing_folder(FOLDER)? else {
        return Ok(false);
    };
    Ok(folder.is_locked(&Cookie::own()?.to_string())?)
}

/// The folder of locks and journals, and their name for this network namespace.
fn place() -> Result<(State, String)> {
    error::require(&[Task::Network], "managing MPTCP's endpoints")?;
    Ok((State::open()?.folder(FOLDER)?, Cookie::own()?.to_string()))
}

/// Locks this network namespace and opens its table of endpoints.
pub(super) fn actor() -> Result<(Lock, Actor<Kernel, OnDisk>)> {
    let (state, name) = place()?;
    let lock = state.lock(&name, PATIENCE).map_err(|error| match error {
        joulepath_kernel::Error::Busy { why, .. } => joulepath_kernel::Error::Busy {
            what: "a daemon runs in this network namespace".into(),
            why,
            remedy: "stop it first".into(),
        },
        error => error,
    })?;
    // Locks of daemons that were killed in namespaces that no longer exist. Leaving them does no
    // harm.
    let _ = state.sweep_locks();
    let table = Kernel::open()?;
    Ok((lock, Actor::open(table, OnDisk { state, name })?))
}

/// Result of an undo.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Undone {
    /// Number of restored endpoints, limits and settings.
    pub changes: usize,
    /// What stays, why, and until when.
    pub stays: Vec<String>,
}

impl From<Outcome> for Undone {
    fn from(outcome: Outcome) -> Self {
        Undone {
            changes: outcome.changes,
            stays: outcome.staying().collect(),
        }
    }
}

impl Undone {
    /// Also with the rules for new connections.
    pub(super) fn and(mut self, first: first::Outcome) -> Self {
        self.changes += first.changes;
        self.stays.extend(first.staying());
        self
    }

    /// Also with the files of `[[mptcp]]`.
    pub(super) fn and_files(mut self, changes: usize) -> Self {
        self.changes += changes;
        self
    }

    /// For `--keep`: `are_some` if there are endpoints to keep.
    pub(super) fn keeping((changes, are_some): (usize, bool)) -> Self {
        let kept =
            "endpoints and limits stay for the next start; `joulepath live --undo` undoes them";
        Undone {
            changes,
            stays: are_some.then(|| kept.into()).into_iter().collect(),
        }
    }

    /// True if nothing stays.
    pub fn is_whole(&self) -> bool {
        self.stays.is_empty()
    }

    /// For example `3 changes were undone`.
    pub fn words(&self) -> String {
        match (self.changes, self.is_whole()) {
            (0, true) => "nothing to undo".into(),
            (0, false) => "nothing was undone".into(),
            (1, _) => "1 change was undone".into(),
            (n, _) => format!("{n} changes were undone"),
        }
    }

    /// Logs what stays, and which process waits for it.
    pub(super) fn tell(&self, waiting: Option<io::Result<u32>>, say: &mut dyn FnMut(&str)) {
        self.stays.iter().for_each(|line| say(line));
        match waiting {
            None => {}
            Some(Ok(pid)) => say(&format!(
                "process {pid} waits and removes them (`joulepath live --undo --wait`)"
            )),
            Some(Err(error)) => {
                say(&format!(
                    "no process could be started that waits ({error}): run `joulepath live --undo --wait`"
                ));
            }
        }
    }
}

/// Undoes the changes of a stopped daemon in this network namespace. Endpoints that connections
/// need stay: with `wait` this returns when those connections have ended or a daemon has taken
/// over; otherwise it starts a process that waits.
///
/// # Errors
/// Without `wait`, [`joulepath_kernel::Error::Busy`] if a daemon runs. With `wait`, errors after
/// the first attempt, and failures of system calls, are logged and retried.
pub fn undo(wait: bool, say: &mut dyn FnMut(&str)) -> Result<Undone> {
    if wait {
        return wait_here(say);
    }
    sweep();
    let undone = once()?.0;
    say(&undone.words());
    if !undone.is_whole() {
        undone.tell(Some(wait_apart()), say);
    }
    Ok(undone)
}

fn wait_here(say: &mut dyn FnMut(&str)) -> Result<Undone> {
    let (state, name) = place()?;
    let waits = match state.lock(&(name + WAITS), ENDING) {
        Ok(lock) => lock,
        Err(KernelError::Busy { .. }) => {
            say("another process is waiting already");
            return Ok(Undone::default());
        }
        Err(error) => return Err(error.into()),
    };
    let mut told = None;
    loop {
        match once() {
            Ok((undone, again)) => {
                told_anew(told.as_ref(), &undone, say);
                let Some(at) = again else { break };
                told = Some(undone);
                thread::sleep(Duration::from_nanos(
                    at.saturating_sub(Nanos(monotonic_ns())).0,
                ));
            }
            Err(Error::Kernel(KernelError::Busy { .. })) => {
                say("a daemon runs and takes over");
                return Ok(waits.remove().map(|()| Undone::default())?);
            }
            Err(error) if told.is_none() && !may_pass(&error) => return Err(error),
            Err(error) => {
                say(&error.to_string());
                thread::sleep(AFTER_ERROR);
            }
        }
    }
    waits.remove()?;
    forget_package(&state);
    Ok(Undone::default())
}

/// True if a later attempt may succeed.
fn may_pass(error: &Error) -> bool {
    matches!(
        error,
        Error::Kernel(KernelError::Io { .. } | KernelError::Overrun { .. })
    )
}

/// Logs what was restored, and what stays unless it was logged `before`.
fn told_anew(before: Option<&Undone>, undone: &Undone, say: &mut dyn FnMut(&str)) {
    if before.is_none() || undone.changes > 0 {
        say(&undone.words());
    }
    let before = before.map_or(&[][..], |before| &before.stays);
    undone
        .stays
        .iter()
        .filter(|line| !before.contains(line))
        .for_each(|line| say(line));
}

/// If this program's package was removed in the meantime, nothing else removes its folder. The
/// folder stays if other network namespaces have files in it.
fn forget_package(state: &State) {
    let program = fs::read_link("/proc/self/exe").unwrap_or_default();
    let was_at = program
        .to_string_lossy()
        .strip_suffix(" (deleted)")
        .map(PathBuf::from);
    if was_at.is_some_and(|path| !path.exists()) && fs::remove_dir(state.path()).is_ok() {
        state.path().parent().map(fs::remove_dir_all);
    }
}

/// Removes the files of `[[mptcp]]`, except those of a daemon that runs in another network
/// namespace. Returns their number.
pub(super) fn undo_files() -> Result<usize> {
    let ((state, own), boot) = (place()?, boot_id()?);
    units::undo(&|stamp| {
        let name = stamp.namespace.to_string();
        stamp.boot == boot && name != own && state.is_locked(&name).unwrap_or(true)
    })
}

/// Undoes what it can now. Returns when to try again.
fn once() -> Result<(Undone, Option<Nanos>)> {
    let (lock, mut actor) = actor()?;
    let now = Nanos(monotonic_ns());
    let first = first::undo(&mut first::Kernel::open()?, Monitor::open()?.view(), now);
    let outcome = actor.undo(now)?;
    let first = first?;
    let again = outcome.again.into_iter().chain(first.again).min();
    let undone = Undone::from(outcome).and(first).and_files(undo_files()?);
    if undone.is_whole() {
        lock.remove()?;
    }
    Ok((undone, again))
}

/// Starts a waiting process that outlives this one. Returns its process id.
pub(super) fn wait_apart() -> io::Result<u32> {
    // An upgrade may have replaced or removed the file; this link is the running program.
    let mut command = Command::new("/proc/self/exe");
    command
        .arg0("joulepath")
        .args(WAIT)
        .current_dir("/")
        .process_group(0);
    let child = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    Ok(child.id())
}

/// Removes journals of daemons that were killed in network namespaces that no longer exist: their
/// endpoints are gone. Leaving them does no harm.
pub(super) fn sweep() {
    let _ = place().and_then(|(state, _)| sweep_in(&state));
}

fn sweep_in(state: &State) -> Result<()> {
    let own = Cookie::own()?;
    let journals: Vec<Cookie> = state
        .names()?
        .iter()
        .filter_map(|name| name.parse().ok().map(Cookie))
        .collect();
    if journals.iter().all(|cookie| *cookie == own) {
        return Ok(());
    }
    // The search must follow the reading of the folder: a namespace with a journal there existed
    // before.
    let search = namespace::search()?;
    for cookie in dead(journals, &search.cookies(), search.unseen()) {
        let name = cookie.to_string();
        // A daemon in a namespace that the search missed holds the lock.
        if let Ok(lock) = state.lock(&name, Duration::ZERO) {
            state.remove(&name)?;
            lock.remove()?;
        }
    }
    Ok(())
}

/// Journals of dead namespaces: all that were not `seen`, except the `unseen` youngest, which may
/// still exist. The kernel numbers cookies in ascending order.
fn dead(mut journals: Vec<Cookie>, seen: &[Cookie], unseen: usize) -> Vec<Cookie> {
    journals.retain(|cookie| !seen.contains(cookie));
    journals.sort_unstable();
    journals.truncate(journals.len().saturating_sub(unseen));
    journals
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn journals_of_dead_namespaces_are_removed_except_possibly_unseen_ones() {
        let all = || [7, 3, 9, 5].map(Cookie).to_vec();
        assert_eq!(dead(all(), &[Cookie(5)], 0), [3, 7, 9].map(Cookie));
        assert_eq!(dead(all(), &[Cookie(5)], 2), [Cookie(3)]);
        assert_eq!(dead(all(), &[Cookie(5)], 100), []);
    }
}
