//! What a daemon leaves behind, and what takes it back.
//!
//! | what stays | goes when |
//! |---|---|
//! | endpoints that connections need | they have ended: a process of its own, or a unit, waits for that |
//! | all endpoints, of a daemon that was killed or keeps them | the next start takes them over, or [`undo`] |
//! | journals of network namespaces that are no more | the next start |

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
use joulepath_kernel::state::{Lock, State};
use joulepath_model::units::Nanos;

use crate::act::{Actor, FOLDER, Kernel, OnDisk, Outcome};
use crate::error::{Error, Result};

/// A daemon that ends has its lock for this long still.
const PATIENCE: Duration = Duration::from_millis(500);
/// The command that waits, of this program.
const WAIT: [&str; 3] = ["live", "--undo", "--wait"];
/// Ends the name of the lock that it holds.
const WAITS: &str = "-wait";
/// After an error it tries again.
const AFTER_ERROR: Duration = Duration::from_secs(30);

/// Whether a daemon runs in this network namespace.
pub(super) fn is_running() -> Result<bool> {
    let Some(state) = State::existing()? else { return Ok(false) };
    let Some(folder) = state.existing_folder(FOLDER)? else { return Ok(false) };
    Ok(folder.is_locked(&Cookie::own()?.to_string())?)
}

/// Where daemons keep locks and journals, and what those of this network namespace are called.
fn place() -> Result<(State, String)> {
    error::require(&[Task::Network], "managing MPTCP's endpoints")?;
    Ok((State::open()?.folder(FOLDER)?, Cookie::own()?.to_string()))
}

/// The lock of this network namespace, and what changes its table.
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
    // Of daemons that were killed in namespaces that are no more. It hinders nothing if it stays.
    let _ = state.sweep_locks();
    let table = Kernel::open()?;
    Ok((lock, Actor::open(table, OnDisk { state, name })?))
}

/// What was put back, and what was not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Undone {
    /// Endpoints, limits and settings that were put back.
    pub changes: usize,
    /// What stays, why, and when it goes.
    pub stays: Vec<String>,
}

impl From<Outcome> for Undone {
    fn from(outcome: Outcome) -> Self {
        Undone { changes: outcome.changes, stays: outcome.staying().collect() }
    }
}

impl Undone {
    /// Endpoints are kept on purpose, if there are some.
    pub(super) fn keeping((changes, are_some): (usize, bool)) -> Self {
        let kept = "endpoints and limits stay for the next start; `joulepath live --undo` puts them back";
        Undone { changes, stays: are_some.then(|| kept.into()).into_iter().collect() }
    }

    /// Whether nothing stays.
    pub fn is_whole(&self) -> bool {
        self.stays.is_empty()
    }

    /// `3 changes were put back`.
    pub fn words(&self) -> String {
        match (self.changes, self.is_whole()) {
            (0, true) => "nothing was left to put back".into(),
            (0, false) => "nothing was put back".into(),
            (1, _) => "1 change was put back".into(),
            (n, _) => format!("{n} changes were put back"),
        }
    }

    /// Says what stays, and which process waits for its time.
    pub(super) fn tell(&self, waiting: Option<io::Result<u32>>, say: &mut dyn FnMut(&str)) {
        self.stays.iter().for_each(|line| say(line));
        match waiting {
            None => {}
            Some(Ok(pid)) => say(&format!("process {pid} waits for that (`joulepath live --undo --wait`)")),
            Some(Err(error)) => {
                say(&format!("nothing waits for that ({error}): `joulepath live --undo --wait` does"));
            }
        }
    }
}

/// Puts back what a daemon of this network namespace has left. What connections need stays; with `wait` this
/// returns when they have ended, or a daemon has taken over, otherwise a process begins that does so.
///
/// # Errors
/// [`joulepath_kernel::Error::Busy`] if a daemon runs, without `wait`. With `wait`, errors after the first
/// attempt are said, and it tries again.
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
    let waits = match state.lock(&(name + WAITS), Duration::ZERO) {
        Ok(lock) => lock,
        Err(KernelError::Busy { .. }) => {
            say("another process waits already");
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
                thread::sleep(Duration::from_nanos(at.saturating_sub(Nanos(monotonic_ns())).0));
            }
            Err(Error::Kernel(KernelError::Busy { .. })) => {
                say("a daemon runs: it takes over what is left");
                return Ok(waits.remove().map(|()| Undone::default())?);
            }
            Err(error) if told.is_none() => return Err(error),
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

/// Says what was put back, and what stays that was not said `before`.
fn told_anew(before: Option<&Undone>, undone: &Undone, say: &mut dyn FnMut(&str)) {
    if before.is_none() || undone.changes > 0 {
        say(&undone.words());
    }
    let before = before.map_or(&[][..], |before| &before.stays);
    undone.stays.iter().filter(|line| !before.contains(line)).for_each(|line| say(line));
}

/// Where this program was removed meanwhile, nobody removes its folder if this does not; unless other network
/// namespaces have something in it.
fn forget_package(state: &State) {
    let program = fs::read_link("/proc/self/exe").unwrap_or_default();
    let was_at = program.to_string_lossy().strip_suffix(" (deleted)").map(PathBuf::from);
    if was_at.is_some_and(|path| !path.exists()) && fs::remove_dir(state.path()).is_ok() {
        state.path().parent().map(fs::remove_dir_all);
    }
}

/// Puts back what can be put back now; when to try again.
fn once() -> Result<(Undone, Option<Nanos>)> {
    let (lock, mut actor) = actor()?;
    let outcome = actor.undo(Nanos(monotonic_ns()))?;
    let again = outcome.again;
    let undone = Undone::from(outcome);
    if undone.is_whole() {
        lock.remove()?;
    }
    Ok((undone, again))
}

/// Begins to wait in a process of its own, which outlives this one; its number.
pub(super) fn wait_apart() -> io::Result<u32> {
    // The file may have been replaced or removed by an upgrade: this is what runs.
    let mut command = Command::new("/proc/self/exe");
    command.arg0("joulepath").args(WAIT).current_dir("/").process_group(0);
    let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    Ok(child.id())
}

/// Removes the journals of daemons that were killed in network namespaces that are no more: the kernel has
/// forgotten their endpoints. They hinder nothing if they stay.
pub(super) fn sweep() {
    let _ = place().and_then(|(state, _)| sweep_in(&state));
}

fn sweep_in(state: &State) -> Result<()> {
    let own = Cookie::own()?;
    let journals: Vec<Cookie> =
        state.names()?.iter().filter_map(|name| name.parse().ok().map(Cookie)).collect();
    if journals.iter().all(|cookie| *cookie == own) {
        return Ok(());
    }
    // Searched after the folder was read: a namespace that has a journal there was alive before.
    let search = namespace::search()?;
    for cookie in dead(journals, &search.cookies(), search.hidden) {
        let name = cookie.to_string();
        // A daemon in a namespace that was not found holds it.
        if let Ok(lock) = state.lock(&name, Duration::ZERO) {
            state.remove(&name)?;
            lock.remove()?;
        }
    }
    Ok(())
}

/// Those of namespaces that are no more: of those that were not `seen` all but the `hidden` youngest, which
/// may still be there. The kernel counts cookies up.
fn dead(mut journals: Vec<Cookie>, seen: &[Cookie], hidden: usize) -> Vec<Cookie> {
    journals.retain(|cookie| !seen.contains(cookie));
    journals.sort_unstable();
    journals.truncate(journals.len().saturating_sub(hidden));
    journals
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn journals_of_dead_namespaces_go_but_for_as_many_as_may_be_hidden() {
        let all = || [7, 3, 9, 5].map(Cookie).to_vec();
        assert_eq!(dead(all(), &[Cookie(5)], 0), [3, 7, 9].map(Cookie));
        assert_eq!(dead(all(), &[Cookie(5)], 2), [Cookie(3)]);
        assert_eq!(dead(all(), &[Cookie(5)], 100), []);
    }
}
