//! A worker, as its parent uses it.

use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};
use std::{io, thread};

use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open};
use serde::Serialize;
use serde::de::DeserializeOwned;

use joulepath_kernel::error::Doing;
use joulepath_kernel::namespace::Namespace;
use joulepath_model::cancel::Cancel;

use super::launch::{Place, launch};
use super::wire::{FLAG, Inbox, Message, readable_until, readable_within, write_line};
use crate::error::{Error, Result};

/// How long to wait after SIGTERM before SIGKILL.
const GRACE: Duration = Duration::from_secs(2);
/// How often to check for cancellation while waiting for a worker.
const TURN: Duration = Duration::from_millis(50);

/// The program to start as a worker.
#[derive(Clone, Debug)]
pub struct Program {
    path: PathBuf,
}

impl Program {
    /// This program, even if its file has been replaced meanwhile. Its `main` must start with
    /// [`run_if_asked`](super::run_if_asked).
    pub fn current() -> Self {
        Program {
            path: "/proc/self/exe".into(),
        }
    }

    /// Another program whose `main` starts with [`run_if_asked`](super::run_if_asked).
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Program { path: path.into() }
    }
}

/// A worker process. Dropping the value ends it.
#[derive(Debug)]
pub struct Worker {
    role: &'static str,
    child: std::process::Child,
    stdin: Option<ChildStdin>,
    inbox: Inbox<ChildStdout>,
    cancel: Cancel,
    /// Its exit status.
    ended: Option<ExitStatus>,
}

impl Worker {
    /// Starts `program` in a role, inside a network namespace or in the caller's, and sends it its
    /// spec. Setting `cancel` ends every wait for the worker.
    ///
    /// # Errors
    /// If the process cannot be started.
    pub fn spawn(
        role: &'static str,
        spec: &impl Serialize,
        network: Option<&Namespace>,
        program: &Program,
        cancel: &Cancel,
    ) -> Result<Self> {
        Self::spawn_at(
            role,
            spec,
            Place {
                network,
                ..Place::default()
            },
            program,
            cancel,
        )
    }

    /// As [`Self::spawn`], in other namespaces.
    ///
    /// # Errors
    /// As [`Self::spawn`].
    pub(crate) fn spawn_at(
        role: &'static str,
        spec: &impl Serialize,
        place: Place<'_>,
        program: &Program,
        cancel: &Cancel,
    ) -> Result<Self> {
        let mut command = Command::new(&program.path);
        command
            .args([FLAG, role])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        // A process group of its own: Ctrl-C is for the parent, which still needs the worker's
        // results.
        command.process_group(0);
        let mut child = launch(command, place).doing(format!("starting the {role}"))?;
        let (stdin, stdout) = (
            child.stdin.take(),
            child.stdout.take().expect("stdout is piped"),
        );
        let cancel = cancel.clone();
        let mut worker = Worker {
            role,
            child,
            stdin,
            inbox: Inbox::new(stdout),
            cancel,
            ended: None,
        };
        worker.send(spec)?;
        Ok(worker)
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends a command.
    ///
    /// # Errors
    /// If the worker has ended; its last message is the reason.
    pub fn send(&mut self, command: &impl Serialize) -> Result<()> {
        let Some(stdin) = &mut self.stdin else {
            return Err(self.gone());
        };
        match write_line(stdin, command) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Err(self.last_words()),
            written => Ok(written.doing(format!("sending to the {}", self.role))?),
        }
    }

    /// Waits for the next event, at most for `patience`; `None` after that.
    ///
    /// # Errors
    /// The worker's error, or that it died; [`Error::Cancelled`].
    pub fn receive_within<T: DeserializeOwned>(&mut self, patience: Duration) -> Result<Option<T>> {
        let deadline = Instant::now() + patience;
        loop {
            if let Some(line) = self.inbox.line() {
                return self.parse(&line).map(Some);
            }
            if self.cancel.is_set() {
                return Err(Error::Cancelled);
            }
            let turn = deadline.min(Instant::now() + TURN);
            if readable_until(&[self.inbox.fd()], turn).doing("waiting for a worker")? {
                if !self
                    .inbox
                    .fill()
                    .doing(format!("receiving from the {}", self.role))?
                {
                    return Err(self.gone());
                }
            } else if turn == deadline {
                return Ok(None);
            }
        }
    }

    /// Waits for the next event.
    ///
    /// # Errors
    /// The worker's error, that it died, or that it sent nothing within `patience`;
    /// [`Error::Cancelled`].
    pub fn receive<T: DeserializeOwned>(&mut self, patience: Duration) -> Result<T> {
        let event = self.receive_within(patience)?;
        event.ok_or_else(|| {
            Error::Run(format!(
                "the {} sent nothing for {} s",
                self.role,
                patience.as_secs_f64()
            ))
        })
    }

    /// Waits until one of `workers` has sent something or ended; false after the deadline.
    ///
    /// # Errors
    /// If the wait fails.
    pub fn any_readable_until(workers: &[&Worker], deadline: Instant) -> Result<bool> {
        // An event that arrived together with an earlier one is already in the inbox.
        if workers.iter().any(|worker| worker.inbox.has_line()) {
            return Ok(true);
        }
        let files: Vec<BorrowedFd<'_>> = workers.iter().map(|worker| worker.inbox.fd()).collect();
        Ok(readable_until(&files, deadline).doing("waiting for workers")?)
    }

    /// True if the process runs.
    pub fn is_alive(&mut self) -> bool {
        self.reap(Duration::ZERO).is_none()
    }

    /// Ends it by SIGTERM, and by SIGKILL if necessary. Returns its exit status; does nothing when
    /// called again.
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

    /// Lets it end by itself. A thread waits for it, so that it does not stay a zombie.
    pub(crate) fn let_go(mut self) {
        self.stdin = None;
        // Usually it ends at once.
        if self.reap(TURN).is_some() {
            return;
        }
        thread::spawn(move || {
            self.ended = self.child.wait().ok();
            drop(self);
        });
    }

    /// Sends nothing after it was reaped, as its process id may have been reused.
    fn signal(&self, signal: Signal) {
        if self.ended.is_none() {
            // It may have just ended, which is the purpose anyway.
            let _ = kill_process(Pid::from_child(&self.child), signal);
        }
    }

    fn reap(&mut self, patience: Duration) -> Option<ExitStatus> {
        if self.ended.is_none() {
            if let Ok(handle) = pidfd_open(Pid::from_child(&self.child), PidfdFlags::empty()) {
                // An error here also shows in the wait below.
                let _ = readable_within(handle.as_fd(), patience);
            }
            self.ended = self.child.try_wait().ok().flatten();
        }
        self.ended
    }

    fn parse<T: DeserializeOwned>(&self, line: &[u8]) -> Result<T> {
        match serde_json::from_slice(line) {
            Ok(Message::Event(event)) => Ok(event),
            Ok(Message::Failed(failure)) => Err(failure.into()),
            Err(error) => Err(Error::Run(format!(
                "the {} sent the invalid message {:?}: {error}",
                self.role,
                String::from_utf8_lossy(line)
            ))),
        }
    }

    /// The error of a worker that reads no more messages.
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
        Error::Run(format!("the {} {how} during the run", self.role))
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.stop();
    }
}
