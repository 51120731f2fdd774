//! Processes that are this program again: the emulator, the traffic's two ends.
//!
//! ```text
//!   parent ── stdin: spec, then commands ──►  worker
//!          ◄── stdout: events, one per line ──
//! ```
//!
//! Both ways a message is one line of JSON. A worker never outlives the parent, however that ends.

use std::io::{self, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitCode, ExitStatus, Stdio};
use std::sync::{Mutex, OnceLock, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{
    Pid, PidfdFlags, Signal, getppid, kill_process, pidfd_open, set_parent_process_death_signal,
};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::emulator;
use crate::error::{Doing, Error, Result};
use crate::namespace::{self, Namespace};
use crate::traffic;

/// First argument of a program that is to be a worker; the role is the second.
const FLAG: &str = "--joulepath-worker";
/// How long a worker may take to end after SIGTERM.
const GRACE: Duration = Duration::from_secs(2);

/// What a worker does. The first message that it receives is its spec.
pub type Role = fn(&mut Parent) -> Result<()>;

/// Every role there is.
const ROLES: &[(&str, Role)] =
    &[("emulator", emulator::run), (traffic::SERVER, traffic::serve), (traffic::CLIENT, traffic::connect)];

/// Takes over if this process was started as a worker: call it first thing in `main`.
pub fn run_if_asked() -> Option<ExitCode> {
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next()? != FLAG {
        return None;
    }
    let name = arguments.next().unwrap_or_default();
    let role = ROLES.iter().find(|(known, _)| name == *known);
    let mut parent = Parent { inbox: Inbox::new(io::stdin()) };
    let done = match role {
        Some((_, role)) => role(&mut parent),
        None => Err(Error::Run(format!("there is no worker called {name:?}"))),
    };
    let Err(error) = done else { return Some(ExitCode::SUCCESS) };
    // If the parent is gone there is nobody to tell.
    let _ = parent.put(&Line::<()>::Failed(error.into()));
    Some(ExitCode::FAILURE)
}

/// The program that is run again.
#[derive(Clone, Debug)]
pub struct Program {
    path: PathBuf,
}

impl Program {
    /// This one, even if its file has been replaced meanwhile. Its `main` begins with [`run_if_asked`].
    pub fn current() -> Self {
        Program { path: "/proc/self/exe".into() }
    }

    /// Another one that begins with [`run_if_asked`].
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Program { path: path.into() }
    }
}

/// A worker, from its parent's side. Dropped, it ends.
#[derive(Debug)]
pub struct Worker {
    role: &'static str,
    child: Child,
    stdin: Option<ChildStdin>,
    inbox: Inbox<ChildStdout>,
    /// How it ended.
    ended: Option<ExitStatus>,
}

impl Worker {
    /// Starts `program` in a role, inside a namespace or in the caller's, and sends it its spec.
    ///
    /// # Errors
    /// If the process cannot be started.
    pub fn spawn(
        role: &'static str,
        spec: &impl Serialize,
        inside: Option<&Namespace>,
        program: &Program,
    ) -> Result<Self> {
        let mut command = Command::new(&program.path);
        command.args([FLAG, role]).stdin(Stdio::piped()).stdout(Stdio::piped());
        // A process group of its own: Ctrl-C is for the parent, which still wants the worker's results.
        command.process_group(0);
        let mut child = launch(command, inside).doing(format!("starting the {role}"))?;
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take().expect("stdout is piped"));
        let mut worker = Worker { role, child, stdin, inbox: Inbox::new(stdout), ended: None };
        worker.send(spec)?;
        Ok(worker)
    }

    /// Its process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends a command.
    ///
    /// # Errors
    /// If the worker has ended; what it said last is the reason.
    pub fn send(&mut self, command: &impl Serialize) -> Result<()> {
        let Some(stdin) = &mut self.stdin else { return Err(self.gone()) };
        match write_line(stdin, command) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Err(self.last_words()),
            written => written.doing(format!("talking to the {}", self.role)),
        }
    }

    /// Waits for the next event, at most for `patience`; none if that passed.
    ///
    /// # Errors
    /// What the worker failed with, or that it died.
    pub fn receive_within<T: DeserializeOwned>(&mut self, patience: Duration) -> Result<Option<T>> {
        let deadline = Instant::now() + patience;
        loop {
            if let Some(line) = self.inbox.line() {
                return self.parse(&line).map(Some);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if !readable_within(self.inbox.source.as_fd(), left).doing("waiting for a worker")? {
                return Ok(None);
            }
            if !self.inbox.fill().doing(format!("listening to the {}", self.role))? {
                return Err(self.gone());
            }
        }
    }

    /// Waits for the next event.
    ///
    /// # Errors
    /// What the worker failed with, that it died, or that it said nothing for `patience`.
    pub fn receive<T: DeserializeOwned>(&mut self, patience: Duration) -> Result<T> {
        let event = self.receive_within(patience)?;
        event.ok_or_else(|| {
            Error::Run(format!("the {} said nothing for {} s", self.role, patience.as_secs_f64()))
        })
    }

    /// Waits until one of `workers` has said something, or has ended; false if that was not before the deadline.
    ///
    /// # Errors
    /// If it cannot be waited for.
    pub fn any_readable_until(workers: &[&Worker], deadline: Instant) -> Result<bool> {
        // What came together with an earlier event is no longer in the pipe.
        if workers.iter().any(|worker| worker.inbox.has_line()) {
            return Ok(true);
        }
        let mut watched: Vec<PollFd<'_>> =
            workers.iter().map(|w| PollFd::from_borrowed_fd(w.inbox.source.as_fd(), PollFlags::IN)).collect();
        retry(|| {
            let left = Timespec::try_from(deadline.saturating_duration_since(Instant::now())).ok();
            Ok(poll(&mut watched, left.as_ref())? > 0)
        })
        .doing("waiting for workers")
    }

    /// Whether the process runs.
    pub fn is_alive(&mut self) -> bool {
        self.reap(Duration::ZERO).is_none()
    }

    /// Ends it: SIGTERM, and SIGKILL if it does not listen. Returns how it ended; idempotent.
    pub fn stop(&mut self) -> Option<ExitStatus> {
        self.stdin = None;
        if self.reap(Duration::ZERO).is_none() {
            self.signal(Signal::TERM);
            if self.reap(GRACE).is_none() {
                self.signal(Signal::KILL);
                self.ended = self.child.wait().ok();
            }
        }
        self.ended
    }

    /// Not after it was reaped: the number may be another's by then.
    fn signal(&self, signal: Signal) {
        if self.ended.is_none() {
            // It may have ended at this moment, which is what was wanted.
            let _ = kill_process(Pid::from_child(&self.child), signal);
        }
    }

    fn reap(&mut self, patience: Duration) -> Option<ExitStatus> {
        if self.ended.is_none() {
            if let Ok(handle) = pidfd_open(Pid::from_child(&self.child), PidfdFlags::empty()) {
                // An error here shows in the wait that follows.
                let _ = readable_within(handle.as_fd(), patience);
            }
            self.ended = self.child.try_wait().ok().flatten();
        }
        self.ended
    }

    fn parse<T: DeserializeOwned>(&self, line: &[u8]) -> Result<T> {
        match serde_json::from_slice(line) {
            Ok(Line::Event(event)) => Ok(event),
            Ok(Line::Failed(failure)) => Err(failure.into()),
            Err(error) => Err(Error::Run(format!(
                "the {} said {:?}, which is none of its messages: {error}",
                self.role,
                String::from_utf8_lossy(line)
            ))),
        }
    }

    /// What a worker that does not listen any more failed with.
    fn last_words(&mut self) -> Error {
        loop {
            match self.receive_within::<serde_json::Value>(GRACE) {
                Ok(Some(_)) => {}
                Ok(None) => return self.gone(),
                Err(error) => return error,
            }
        }
    }

    fn gone(&mut self) -> Error {
        let how = match self.reap(GRACE) {
            Some(status) => match status.signal() {
                Some(signal) => format!("was killed by signal {signal}"),
                None => format!("ended with exit code {}", status.code().unwrap_or_default()),
            },
            None => "closed its output".to_owned(),
        };
        Error::Run(format!("the {} {how} in mid-run", self.role))
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.stop();
    }
}

/// The parent, from a worker's side.
#[derive(Debug)]
pub struct Parent {
    inbox: Inbox<io::Stdin>,
}

impl Parent {
    /// Waits for the next message; none when the parent has closed the channel.
    ///
    /// # Errors
    /// If it is not what was expected.
    pub fn receive<T: DeserializeOwned>(&mut self) -> Result<Option<T>> {
        loop {
            if let Some(message) = self.received()? {
                return Ok(Some(message));
            }
            if !self.fill()? {
                return Ok(None);
            }
        }
    }

    /// A message that is here already: look for one after each [`Self::fill`], until there is none.
    ///
    /// # Errors
    /// If it is not what was expected.
    pub fn received<T: DeserializeOwned>(&mut self) -> Result<Option<T>> {
        let Some(line) = self.inbox.line() else { return Ok(None) };
        serde_json::from_slice(&line)
            .map(Some)
            .map_err(|error| Error::Run(format!("a message of the parent: {error}")))
    }

    /// Reads what the parent has written, once; waits if that is nothing. False when it has closed the channel.
    ///
    /// # Errors
    /// If stdin cannot be read.
    pub fn fill(&mut self) -> Result<bool> {
        self.inbox.fill().doing("listening to the parent")
    }

    /// Sends an event.
    ///
    /// # Errors
    /// If the parent does not listen.
    pub fn send(&mut self, event: &impl Serialize) -> Result<()> {
        self.put(&Line::Event(event))
    }

    fn put(&mut self, line: &Line<impl Serialize>) -> Result<()> {
        write_line(&mut io::stdout().lock(), line).doing("talking to the parent")
    }
}

/// For `poll` and `epoll`: readable when [`Parent::fill`] does not wait.
impl AsFd for Parent {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.inbox.source.as_fd()
    }
}

/// What a worker writes.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Line<T> {
    Event(T),
    Failed(Failure),
}

/// An [`Error`] on its way to the parent.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Failure {
    Permission { doing: String, remedy: String },
    Unsupported { what: String, why: String, remedy: String },
    Other { message: String },
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        match error {
            Error::Permission { doing, remedy } => Failure::Permission { doing, remedy },
            Error::Unsupported { what, why, remedy } => Failure::Unsupported { what, why, remedy },
            other => Failure::Other { message: other.to_string() },
        }
    }
}

impl From<Failure> for Error {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Permission { doing, remedy } => Error::Permission { doing, remedy },
            Failure::Unsupported { what, why, remedy } => Error::Unsupported { what, why, remedy },
            Failure::Other { message } => Error::Run(message),
        }
    }
}

/// Lines as they come in.
#[derive(Debug)]
struct Inbox<R> {
    source: R,
    bytes: Vec<u8>,
    /// Bytes that were searched for the end of a line.
    searched: usize,
}

impl<R: AsFd> Inbox<R> {
    fn new(source: R) -> Self {
        Inbox { source, bytes: vec![], searched: 0 }
    }

    /// Whether [`Self::line`] has one without another read.
    fn has_line(&self) -> bool {
        self.bytes[self.searched..].contains(&b'\n')
    }

    /// The next line that is complete.
    fn line(&mut self) -> Option<Vec<u8>> {
        let Some(found) = self.bytes[self.searched..].iter().position(|&byte| byte == b'\n') else {
            self.searched = self.bytes.len();
            return None;
        };
        let rest = self.bytes.split_off(self.searched + found + 1);
        self.searched = 0;
        Some(std::mem::replace(&mut self.bytes, rest))
    }

    /// One read; false at the end. Past the buffer of [`io::Stdin`], which `poll` would not know of.
    fn fill(&mut self) -> io::Result<bool> {
        let mut chunk = [0; 1 << 16];
        let n = retry(|| rustix::io::read(self.source.as_fd(), &mut chunk[..]))?;
        self.bytes.extend_from_slice(&chunk[..n]);
        Ok(n > 0)
    }
}

fn write_line(out: &mut impl Write, message: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    out.write_all(&line)?;
    out.flush()
}

fn retry<T>(mut call: impl FnMut() -> rustix::io::Result<T>) -> io::Result<T> {
    loop {
        match call() {
            Err(rustix::io::Errno::INTR) => {}
            done => return Ok(done?),
        }
    }
}

/// Whether `file` can be read, or is at its end, before `patience` has passed.
fn readable_within(file: BorrowedFd<'_>, patience: Duration) -> io::Result<bool> {
    let deadline = Instant::now() + patience;
    retry(|| {
        let left = Timespec::try_from(deadline.saturating_duration_since(Instant::now())).ok();
        Ok(poll(&mut [PollFd::from_borrowed_fd(file, PollFlags::IN)], left.as_ref())? > 0)
    })
}

/// Starts a child, inside a namespace or in the caller's, that is killed when this process ends, however it ends.
///
/// # Errors
/// As [`Command::spawn`].
pub fn launch(mut command: Command, inside: Option<&Namespace>) -> io::Result<Child> {
    let parent = Pid::from_raw(std::process::id() as i32);
    let namespace = inside.map(|namespace| namespace.as_fd().as_raw_fd());
    let prepare = move || {
        if let Some(namespace) = namespace {
            // SAFETY: the caller holds the namespace until the child has started.
            namespace::enter(unsafe { BorrowedFd::borrow_raw(namespace) })?;
        }
        set_parent_process_death_signal(Some(Signal::KILL))?;
        // The parent may have died before the line above: then nobody would send that signal.
        if getppid() == parent { Ok(()) } else { Err(io::Error::from_raw_os_error(libc::ESRCH)) }
    };
    // SAFETY: between fork and exec only system calls are made, nothing is allocated and no lock is taken.
    unsafe { command.pre_exec(prepare) };
    on_lasting_thread(move || command.spawn())
}

/// The death signal comes when the *thread* ends that made the child: so one thread makes them all, and never ends.
fn on_lasting_thread<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    type Job = Box<dyn FnOnce() + Send>;
    static JOBS: OnceLock<Mutex<mpsc::Sender<Job>>> = OnceLock::new();
    let jobs = JOBS.get_or_init(|| {
        let (sender, receiver) = mpsc::channel::<Job>();
        thread::spawn(move || receiver.iter().for_each(|job| job()));
        Mutex::new(sender)
    });
    let (reply, answer) = mpsc::channel();
    let job = Box::new(move || drop(reply.send(work())));
    let sent = jobs.lock().unwrap_or_else(std::sync::PoisonError::into_inner).send(job);
    sent.expect("the thread never ends");
    answer.recv().expect("the thread answers")
}
