//! `[[mptcp]]` by BPF: the kernel selects the programs by their control groups while this process
//! runs. Services need no file of ours and no restart. On machines that cannot do that, services
//! get drop-ins.

use std::path::Path;
use std::time::Duration;

use joulepath_kernel::Error as KernelError;
use joulepath_kernel::programs::{Held, hold};
use joulepath_kernel::state::{Lock, State};
use joulepath_model::live::LiveConfig;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use super::selection::{Selection, select};
use crate::config::load;
use crate::error::Result;
use crate::notify::Manager;

/// The lock of the process that holds the eBPF program.
const LOCK: &str = "programs";
/// A stopping process holds the lock at most this long.
const PATIENCE: Duration = Duration::from_secs(2);

/// What holds the programs on MPTCP. Both end with the process.
struct Kept {
    _program: Held,
    lock: Lock,
}

/// Writes the drop-ins of a configuration and returns what it has done in lines; without one it
/// removes them.
pub(super) type DropIns = fn(Option<&LiveConfig>) -> Result<Vec<String>>;

/// See [`super::run`].
pub(super) fn run(path: &Path, drop_ins: DropIns, say: &mut dyn FnMut(&str)) -> Result<()> {
    let manager = Manager::from_environment();
    let signals = Signals::new([SIGHUP, SIGINT, SIGTERM]);
    let mut signals = signals.map_err(|error| KernelError::io("waiting for signals", error))?;
    let mut kept = begin(&load(path)?, None, drop_ins, say)?;
    loop {
        match &manager {
            Some(manager) => manager.tell("READY=1"),
            None if kept.is_none() => return Ok(()),
            None => {}
        }
        if signals.forever().next() != Some(SIGHUP) {
            return end(kept).map(drop);
        }
        kept = match load(path) {
            Ok(config) => begin(&config, kept, drop_ins, say)?,
            Err(error) => {
                say(&format!("the configuration is as before: {error}"));
                kept
            }
        };
    }
}

/// True if a process holds programs on MPTCP by BPF.
pub(super) fn is_held() -> bool {
    let state = State::existing().ok().flatten();
    state.is_some_and(|state| state.is_locked(LOCK).unwrap_or(false))
}

/// Applies a configuration by BPF, or by drop-ins where the kernel cannot.
fn begin(
    config: &LiveConfig,
    before: Option<Kept>,
    drop_ins: DropIns,
    say: &mut dyn FnMut(&str),
) -> Result<Option<Kept>> {
    if config.mptcp.is_empty() {
        drop_ins(None)?;
        return end(before);
    }
    let Selection { scope, on, notes } = select(Path::new("/"), config);
    // The new program is attached before the old one is detached.
    match hold(&scope) {
        Ok(program) => {
            let lock = match before {
                Some(kept) => kept.lock,
                None => State::open()?.lock(LOCK, PATIENCE)?,
            };
            drop_ins(None)?;
            on.iter()
                .for_each(|name| say(&format!("on MPTCP by BPF: {name}")));
            notes
                .iter()
                .for_each(|note| say(&format!("on TCP: {note}")));
            Ok(Some(Kept {
                _program: program,
                lock,
            }))
        }
        Err(error) => {
            say(&format!("by drop-ins, not by BPF: {error}"));
            drop_ins(Some(config))?.iter().for_each(|line| say(line));
            end(before)
        }
    }
}

fn end(kept: Option<Kept>) -> Result<Option<Kept>> {
    kept.map_or(Ok(None), |kept| Ok(kept.lock.remove().map(|()| None)?))
}
