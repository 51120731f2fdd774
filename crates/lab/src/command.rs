//! Runs a command in a lab: opens subflows at their times, handles signals, and detects the
//! emulator's death.
//!
//! ```text
//!            SIGTERM, SIGHUP: at once                            TERM_GRACE later
//!   Running ─────────────────────────────► Asked (SIGTERM sent) ──────────────────► Killed
//!      │    SIGINT from another process,      ▲
//!      │    second Ctrl-C: INT_GRACE later    │
//!      └──────────────────────────────────────┘
//! ```
//! The lab ends within a second after a signal to this process. Ctrl-C also reaches the command,
//! which handles it itself.

use std::process::{Child, ExitStatus};
use std::thread;
use std::time::{Duration, Instant};

use joulepath_model::scenario::{PathIndex, Scenario};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::SignalsInfo;
use signal_hook::iterator::exfiltrator::WithRawSiginfo;

use crate::{Error, Lab, Result};

/// How often to check the command, the emulator and the signals.
const TICK: Duration = Duration::from_millis(20);
/// How long to wait after SIGTERM before SIGKILL.
const TERM_GRACE: Duration = Duration::from_millis(500);
/// How long to wait after SIGINT before SIGTERM. Usually the command has received SIGINT, too.
const INT_GRACE: Duration = Duration::from_millis(200);
/// `si_code` of a signal from the kernel; for SIGINT this means the terminal
/// (asm-generic/siginfo.h).
const SI_KERNEL: i32 = 0x80;

/// A path on which connections open a subflow at a later time.
#[derive(Debug)]
pub struct Opening {
    tunnel: usize,
    at: Duration,
    backup: bool,
}

/// The later openings of the scenario's paths. With a policy of one path the other interfaces are
/// down.
///
/// # Errors
/// If the kernel refuses.
pub fn openings(
    lab: &mut Lab,
    scenario: &Scenario,
    only: Option<PathIndex>,
) -> Result<Vec<Opening>> {
    let tunnels = lab.tunnels().iter().enumerate();
    let paths: Vec<(usize, PathIndex)> = tunnels
        .filter_map(|(tunnel, of)| Some((tunnel, of.path?)))
        .collect();
    let mut openings = vec![];
    for (tunnel, path) in paths {
        if only.is_some_and(|only| only != path) {
            lab.set_tunnel(tunnel, false)?;
            continue;
        }
        let path = &scenario.paths[path];
        openings.push(Opening {
            tunnel,
            at: Duration::from_nanos(path.start.0),
            backup: path.backup,
        });
    }
    Ok(openings)
}

/// Catches the signals that end a lab. Create it before the command starts: the command may
/// announce at once that it runs, and a signal sent in response must not be lost.
#[derive(Debug)]
pub struct Signals(SignalsInfo<WithRawSiginfo>);

impl Signals {
    /// # Errors
    /// If the system refuses the signal handlers.
    pub fn caught() -> Result<Self> {
        let signals = SignalsInfo::new([SIGINT, SIGTERM, SIGHUP]);
        signals
            .map(Signals)
            .map_err(|error| Error::Run(format!("cannot watch for signals: {error}")))
    }
}

/// Waits until the command has ended, by itself or because of a signal.
///
/// # Errors
/// If the emulator dies; the command is then ended, too.
pub fn until_end(
    lab: &mut Lab,
    child: &mut Child,
    openings: &mut Vec<Opening>,
    Signals(mut signals): Signals,
) -> Result<ExitStatus> {
    let begin = Instant::now();
    let mut stage = Stage::Running;
    loop {
        open_due(lab, openings, begin.elapsed())?;
        if let Some(status) = child.try_wait().map_err(lost)? {
            return Ok(status);
        }
        if !lab.is_alive() {
            kill(child, rustix::process::Signal::KILL);
            child.wait().map_err(lost)?;
            // Its last message is the reason.
            let error = lab.snapshot().err();
            let unknown = || Error::Run("the emulator ended during the run".to_owned());
            return Err(error.unwrap_or_else(unknown));
        }
        let now = Instant::now();
        for signal in signals.pending() {
            stage = stage.after(signal.si_signo, signal.si_code == SI_KERNEL, now);
        }
        stage = stage.act(now, child);
        thread::sleep(TICK);
    }
}

/// Progress of ending a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Running,
    /// One Ctrl-C has been received.
    Interrupted,
    /// Send SIGTERM at this time.
    Ending(Instant),
    /// SIGTERM is sent; send SIGKILL at this time.
    Asked(Instant),
    Killed,
}

impl Stage {
    fn after(self, signal: i32, is_from_terminal: bool, now: Instant) -> Self {
        match (self, signal) {
            (Stage::Running, SIGINT) if is_from_terminal => Stage::Interrupted,
            (Stage::Running | Stage::Interrupted, SIGINT) => Stage::Ending(now + INT_GRACE),
            (Stage::Running | Stage::Interrupted | Stage::Ending(_), _) => Stage::Ending(now),
            (Stage::Asked(_) | Stage::Killed, _) => self,
        }
    }

    fn act(self, now: Instant, child: &Child) -> Self {
        match self {
            Stage::Ending(at) if now >= at => {
                kill(child, rustix::process::Signal::TERM);
                Stage::Asked(now + TERM_GRACE)
            }
            Stage::Asked(at) if now >= at => {
                kill(child, rustix::process::Signal::KILL);
                Stage::Killed
            }
            _ => self,
        }
    }
}

fn open_due(lab: &Lab, openings: &mut Vec<Opening>, now: Duration) -> Result<()> {
    for opening in openings.extract_if(.., |opening| opening.at <= now) {
        lab.announce(opening.tunnel, opening.backup)?;
    }
    Ok(())
}

fn kill(child: &Child, signal: rustix::process::Signal) {
    // The command may have just ended. It has not been reaped, so its process id is still its own.
    let _ = rustix::process::kill_process(rustix::process::Pid::from_child(child), signal);
}

fn lost(error: std::io::Error) -> Error {
    Error::Run(format!("cannot wait for the command: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_ctrl_c_ends_the_lab() {
        let now = Instant::now();
        let once = Stage::Running.after(SIGINT, true, now);
        assert_eq!(once, Stage::Interrupted);
        assert_eq!(
            once.after(SIGINT, true, now),
            Stage::Ending(now + INT_GRACE)
        );
    }

    #[test]
    fn a_signal_of_another_process_ends_the_lab() {
        let now = Instant::now();
        assert_eq!(
            Stage::Running.after(SIGINT, false, now),
            Stage::Ending(now + INT_GRACE)
        );
        assert_eq!(
            Stage::Running.after(SIGTERM, false, now),
            Stage::Ending(now)
        );
        assert_eq!(
            Stage::Interrupted.after(SIGHUP, true, now),
            Stage::Ending(now)
        );
        // SIGTERM does not wait for the grace period of SIGINT, and a further signal delays
        // nothing.
        assert_eq!(
            Stage::Ending(now + INT_GRACE).after(SIGTERM, false, now),
            Stage::Ending(now)
        );
        let asked = Stage::Asked(now + TERM_GRACE);
        assert_eq!(asked.after(SIGTERM, false, now + INT_GRACE), asked);
    }
}
