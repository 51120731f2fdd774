//! A command from its start to its end: subflows that open later, signals, an emulator that dies.

use std::process::{Child, ExitStatus};
use std::thread;
use std::time::{Duration, Instant};

use joulepath_linux::Error;
use joulepath_linux::lab::Lab;
use joulepath_model::scenario::{PathIndex, Scenario};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::failure::{Exit, Failure};

/// Time between two looks.
const TICK: Duration = Duration::from_millis(20);
/// How long the command may take to end after SIGTERM.
const GRACE: Duration = Duration::from_secs(5);

/// A path on which connections open a subflow from an instant on.
pub(super) struct Opening {
    line: usize,
    at: Duration,
    backup: bool,
}

/// The openings of the scenario's paths. With a policy of one path the other interfaces are down.
///
/// # Errors
/// If the kernel refuses.
pub(super) fn openings(
    lab: &mut Lab,
    scenario: &Scenario,
    only: Option<PathIndex>,
) -> Result<Vec<Opening>, Failure> {
    let paths: Vec<(usize, PathIndex)> =
        lab.lines().iter().enumerate().filter_map(|(line, spec)| Some((line, spec.path?))).collect();
    let mut openings = vec![];
    for (line, path) in paths {
        if only.is_some_and(|only| only != path) {
            lab.set_line(line, false)?;
            continue;
        }
        let path = &scenario.paths[path];
        openings.push(Opening { line, at: Duration::from_nanos(path.start.0), backup: path.backup });
    }
    Ok(openings)
}

/// Waits for the command. Ctrl-C is the command's business; SIGTERM, SIGHUP and a second Ctrl-C end it.
///
/// # Errors
/// If the emulator dies: the command is ended, too.
pub(super) fn until_end(
    lab: &mut Lab,
    child: &mut Child,
    openings: &mut Vec<Opening>,
) -> Result<ExitStatus, Failure> {
    let signals = Signals::new([SIGINT, SIGTERM, SIGHUP]);
    let mut signals = signals.map_err(|error| Failure::io("cannot watch for signals", error))?;
    let begin = Instant::now();
    let mut interrupts = 0;
    let mut asked: Option<Instant> = None;
    loop {
        open_due(lab, openings, begin.elapsed())?;
        if let Some(status) = child.try_wait().map_err(lost)? {
            return Ok(status);
        }
        if !lab.is_alive() {
            end(child, true);
            child.wait().map_err(lost)?;
            // What it says is the reason.
            let error = lab.snapshot().err();
            let unknown = || Error::Run("the emulator has ended in mid-run".to_owned());
            return Err(error.unwrap_or_else(unknown).into());
        }
        for signal in signals.pending() {
            interrupts += u32::from(signal == SIGINT);
            if signal != SIGINT || interrupts > 1 {
                asked.get_or_insert_with(Instant::now);
                end(child, false);
            }
        }
        if asked.is_some_and(|at| at.elapsed() > GRACE) {
            end(child, true);
        }
        thread::sleep(TICK);
    }
}

fn open_due(lab: &Lab, openings: &mut Vec<Opening>, now: Duration) -> Result<(), Failure> {
    for opening in openings.extract_if(.., |opening| opening.at <= now) {
        lab.announce(opening.line, opening.backup)?;
    }
    Ok(())
}

fn end(child: &Child, at_once: bool) {
    use rustix::process::{Pid, Signal, kill_process};
    let signal = if at_once { Signal::KILL } else { Signal::TERM };
    // It may have ended at this moment, which is what was wanted; nobody has waited for it, so the number is still its own.
    let _ = kill_process(Pid::from_child(child), signal);
}

fn lost(error: std::io::Error) -> Failure {
    Failure::message(Exit::Failed, format!("cannot wait for the command: {error}"))
}
