//! One test in its own process: its output is shown if it fails, its child threads end with it, and
//! a crash is a failure.

use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::os::fd::AsRawFd;
use std::os::unix::process::ExitStatusExt;
use std::panic;
use std::process::{Child, Command, ExitCode, ExitStatus, Stdio};
use std::thread;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, set_parent_process_death_signal};

use crate::needs::{Need, flat};
use crate::registry::Test;
use crate::turn::MACHINE_STATE;

/// The environment variable that names the one test to run.
pub(crate) const ONE: &str = "JOULEPATH_TESTBED_ONE";
/// The file into which that process writes why it ignores the test.
const REASON: &str = "JOULEPATH_TESTBED_REASON";

/// The environment variable that names the role to play.
pub(crate) const ROLE: &str = "JOULEPATH_TESTBED_ROLE";

/// A test that takes longer hangs. The longest takes some minutes on a busy machine.
const HANGS_AFTER: Duration = Duration::from_secs(20 * 60);
/// Same as libtest's.
const FAILED: u8 = 101;

/// What a test did.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) end: End,
    /// Why it repeated parts of itself: see [`repeated`].
    pub(crate) repeats: Vec<String>,
    /// CPU time of the process and of its descendants that have ended; `None` if it was killed.
    pub(crate) cpu: Option<Duration>,
}

/// Outcome of a test.
#[derive(Debug)]
pub(crate) enum End {
    Passed,
    /// With its output.
    Failed(String),
    Ignored(Stop),
}

/// Why a running test stops.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// [`skip`]
    Skip(String),
    /// [`too_busy`]
    TooBusy(String),
}

/// Ends the calling test as ignored, with this reason; as failed if needs are strict. Call only on
/// the test's own thread.
pub fn skip(reason: impl Into<String>) -> ! {
    panic::resume_unwind(Box::new(Stop::Skip(reason.into())))
}

/// Ends the calling test as ignored, because this machine was too busy; `measured` says how late it
/// was. Call it instead of an assertion whose measurement the lateness voids. If needs are strict,
/// a few of these are tolerated: see [`crate::verdict::TOO_BUSY`]. Call only on the test's own
/// thread.
pub fn too_busy(measured: impl Into<String>) -> ! {
    panic::resume_unwind(Box::new(Stop::TooBusy(measured.into())))
}

/// Notes that the calling test repeats a part of itself, and why. The closing lines name the test.
///
/// # Panics
/// Outside of a test under this harness.
pub fn repeated(why: &str) {
    note(&format!("{AGAIN}{}", why.replace('\n', " ")));
}

/// How the note of a repetition begins.
const AGAIN: &str = "again ";

/// Adds a line to what the harness reads when the test ends.
fn note(line: &str) {
    let file = std::env::var_os(REASON).expect("set by the harness");
    let mut file = File::options()
        .append(true)
        .open(file)
        .expect("the harness waits for it");
    file.write_all(format!("{line}\n").as_bytes())
        .expect("memory takes it");
}

/// This test program in another process, which runs the role that `main` was given under this name:
/// for a part that is killed, or needs another namespace or other rights.
#[must_use]
pub fn in_role(name: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("/proc is mounted"));
    command.env_remove(ONE).env(ROLE, name);
    command
}

impl Stop {
    fn to_text(&self) -> String {
        match self {
            Stop::Skip(reason) => format!("skip {reason}"),
            Stop::TooBusy(measured) => format!("busy {measured}"),
        }
    }

    fn of_text(text: &str) -> Option<Self> {
        match text.split_once(' ')? {
            ("skip", reason) => Some(Stop::Skip(reason.to_owned())),
            ("busy", measured) => Some(Stop::TooBusy(measured.to_owned())),
            _ => None,
        }
    }
}

/// Runs the test in this process, which `run` started for it.
pub(crate) fn be(test: &Test) -> ExitCode {
    set_parent_process_death_signal(Some(Signal::KILL)).expect("a signal that exists");
    // In a thread with the test's name, which panics include.
    let ended = thread::Builder::new()
        .name(test.name())
        .spawn(test.run)
        .expect("one thread can be made")
        .join();
    match ended.map_err(|payload| payload.downcast::<Stop>()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(Ok(stop)) => {
            note(&stop.to_text());
            ExitCode::SUCCESS
        }
        Err(Err(_)) => ExitCode::from(FAILED),
    }
}

/// Runs a test in its own process. Its output goes to the terminal if `shown`.
pub(crate) fn run(test: &Test, shown: bool) -> io::Result<Ran> {
    let (mut said, mut reason) = (memory("output")?, memory("reason")?);
    let mut command = Command::new(std::env::current_exe()?);
    let of_this_process = format!("/proc/{}/fd/{}", std::process::id(), reason.as_raw_fd());
    command
        .env(ONE, test.name())
        .env(REASON, of_this_process)
        .stdin(Stdio::null());
    if flat(test.needs).contains(&Need::MachineState) {
        command.env(MACHINE_STATE, "1");
    }
    if !shown {
        // One file for both streams keeps their lines in order.
        command.stdout(said.try_clone()?).stderr(said.try_clone()?);
    }
    let mut child = command.spawn()?;
    let (status, cpu) = wait(&mut child)?;
    let noted = text(&mut reason)?;
    let mut rest = noted.as_str();
    let mut repeats = vec![];
    while let Some((why, next)) = rest
        .strip_prefix(AGAIN)
        .and_then(|line| line.split_once('\n'))
    {
        repeats.push(why.to_owned());
        rest = next;
    }
    let end = if let Some(stop) = Stop::of_text(rest.trim_end()) {
        End::Ignored(stop)
    } else if status.is_some_and(|status| status.success()) {
        End::Passed
    } else {
        End::Failed(text(&mut said)? + &unusual(status).unwrap_or_default())
    };
    Ok(Ran { end, repeats, cpu })
}

/// The exit status, `None` if it hung and was killed, and the CPU time.
fn wait(child: &mut Child) -> io::Result<(Option<ExitStatus>, Option<Duration>)> {
    let pidfd = pidfd_open(Pid::from_child(child), PidfdFlags::empty())?;
    let limit = Timespec::try_from(HANGS_AFTER).expect("some minutes");
    let ready = loop {
        match poll(&mut [PollFd::new(&pidfd, PollFlags::IN)], Some(&limit)) {
            Err(rustix::io::Errno::INTR) => {}
            ready => break ready?,
        }
    };
    if ready == 0 {
        child.kill()?;
        child.wait()?;
        return Ok((None, None));
    }
    // A process that has ended keeps its counters until somebody waits for it.
    let cpu = cpu_time(child.id());
    Ok((child.wait().map(Some)?, cpu))
}

/// Ticks per second in `/proc`, the same on every architecture that Rust supports.
const USER_HZ: u32 = 100;

/// CPU time of a process and of its descendants that it has waited for, from `/proc/PID/stat`.
fn cpu_time(pid: u32) -> Option<Duration> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, fields) = stat.rsplit_once(") ")?;
    // utime, stime, cutime, cstime: fields 14 to 17 of proc_pid_stat(5); the state is field 3.
    let ticks = fields.split(' ').skip(11).take(4);
    let ticks = ticks.map(|text| text.parse::<u32>().ok());
    let ticks = ticks.sum::<Option<u32>>()?;
    Some(Duration::from_secs(1) * ticks / USER_HZ)
}

/// Addition to the test's own output.
fn unusual(status: Option<ExitStatus>) -> Option<String> {
    match status {
        None => Some(format!(
            "killed: still running after {} s\n",
            HANGS_AFTER.as_secs()
        )),
        Some(status) if status.code() == Some(FAILED.into()) => None,
        Some(status) => Some(match status.signal() {
            Some(signal) => format!("the test's process was killed by signal {signal}\n"),
            None => format!("the test's process ended with {status}\n"),
        }),
    }
}

fn memory(name: &str) -> io::Result<File> {
    Ok(File::from(memfd_create(name, MemfdFlags::CLOEXEC)?))
}

fn text(file: &mut File) -> io::Result<String> {
    file.flush()?;
    file.rewind()?;
    let mut bytes = vec![];
    file.read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
