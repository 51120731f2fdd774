//! Messages between a worker and its parent, each a line of JSON.

use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde::{Deserialize, Serialize};

use joulepath_kernel::capability::Denial;
use joulepath_kernel::error::Error as KernelError;

use crate::error::Error;

/// First argument that makes a program a worker; the second is the role.
pub(super) const FLAG: &str = "--joulepath-worker";

/// A message from a worker.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Message<T> {
    Event(T),
    Failed(Failure),
}

/// An [`Error`] as sent to the parent.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Failure {
    Permission {
        doing: String,
        denial: Denial,
        remedy: String,
    },
    Unsupported {
        what: String,
        why: String,
        remedy: String,
    },
    Other {
        message: String,
    },
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        match error {
            Error::Kernel(KernelError::Permission {
                doing,
                denial,
                remedy,
            }) => Failure::Permission {
                doing,
                denial,
                remedy,
            },
            Error::Kernel(KernelError::Unsupported { what, why, remedy }) => {
                Failure::Unsupported { what, why, remedy }
            }
            other => Failure::Other {
                message: other.to_string(),
            },
        }
    }
}

impl From<Failure> for Error {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Permission {
                doing,
                denial,
                remedy,
            } => KernelError::Permission {
                doing,
                denial,
                remedy,
            }
            .into(),
            Failure::Unsupported { what, why, remedy } => {
                KernelError::Unsupported { what, why, remedy }.into()
            }
            Failure::Other { message } => Error::Run(message),
        }
    }
}

/// Splits incoming bytes into lines.
#[derive(Debug)]
pub(super) struct Inbox<R> {
    source: R,
    bytes: Vec<u8>,
    /// Number of bytes already searched for the end of a line.
    searched: usize,
}

impl<R: AsFd> Inbox<R> {
    pub(super) fn new(source: R) -> Self {
        Inbox {
            source,
            bytes: vec![],
            searched: 0,
        }
    }

    /// To wait until it becomes readable.
    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.source.as_fd()
    }

    /// True if [`Self::line`] returns a line without another read.
    pub(super) fn has_line(&self) -> bool {
        self.bytes[self.searched..].contains(&b'\n')
    }

    /// The next complete line.
    pub(super) fn line(&mut self) -> Option<Vec<u8>> {
        let Some(found) = self.bytes[self.searched..]
            .iter()
            .position(|&byte| byte == b'\n')
        else {
            self.searched = self.bytes.len();
            return None;
        };
        let rest = self.bytes.split_off(self.searched + found + 1);
        self.searched = 0;
        Some(std::mem::replace(&mut self.bytes, rest))
    }

    /// Reads once; false at end of file. Bypasses the buffer of [`io::Stdin`], which `poll` does
    /// not see.
    pub(super) fn fill(&mut self) -> io::Result<bool> {
        let mut chunk = [0; 1 << 16];
        let n = retry(|| rustix::io::read(self.source.as_fd(), &mut chunk[..]))?;
        self.bytes.extend_from_slice(&chunk[..n]);
        Ok(n > 0)
    }
}

/// Writes one message.
pub(super) fn write_line(out: &mut impl Write, message: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    out.write_all(&line)?;
    out.flush()
}

/// Waits until one of `files` is readable or at its end; false after the deadline.
pub(super) fn readable_until(files: &[BorrowedFd<'_>], deadline: Instant) -> io::Result<bool> {
    let mut watched: Vec<PollFd<'_>> = files
        .iter()
        .map(|file| PollFd::from_borrowed_fd(*file, PollFlags::IN))
        .collect();
    retry(|| {
        let left = Timespec::try_from(deadline.saturating_duration_since(Instant::now())).ok();
        Ok(poll(&mut watched, left.as_ref())? > 0)
    })
}

/// As [`readable_until`], for one file and a duration.
pub(super) fn readable_within(file: BorrowedFd<'_>, patience: Duration) -> io::Result<bool> {
    readable_until(&[file], Instant::now() + patience)
}

/// Repeats a call that a signal interrupts.
fn retry<T>(mut call: impl FnMut() -> rustix::io::Result<T>) -> io::Result<T> {
    loop {
        match call() {
            Err(rustix::io::Errno::INTR) => {}
            done => return Ok(done?),
        }
    }
}
