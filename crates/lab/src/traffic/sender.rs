//! The sending end of a connection.

use std::io;
use std::os::fd::BorrowedFd;

use joulepath_link::writes::{Write, Writes};
use joulepath_model::scenario::Workload;
use joulepath_model::units::Nanos;
use rustix::io::Errno;

use super::pattern::Pattern;
use super::receiver::REQUEST_BYTES;

/// Maximum number of bytes that one connection writes before the next connection's turn.
const TURN_BYTES: usize = 1 << 20;

/// An application that writes.
#[derive(Debug)]
pub(crate) struct Sender {
    pattern: Pattern,
    writes: Writes,
    /// When it began, ns. Times of its writes are relative to this.
    began_ns: u64,
    /// When it acts next, since it began.
    due: Option<Nanos>,
    /// Bytes that the application has written.
    offered: u64,
    /// Bytes that the kernel has taken.
    sent: u64,
    /// Bytes of requests that have arrived.
    asked_bytes: u64,
}

/// Result of reading from the receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Heard {
    /// Nothing, or requests.
    Open,
    /// The receiver has closed the connection.
    Closed,
}

impl Sender {
    /// A sender whose connection is established since `now_ns`. The second value is when the
    /// application acts next, ns.
    pub(crate) fn begin(pattern: Pattern, mut writes: Writes, now_ns: u64) -> (Self, Option<u64>) {
        let first = writes.start(Nanos::ZERO);
        let endless = writes.workload() == Workload::Bulk;
        let mut sender = Sender {
            pattern,
            writes,
            began_ns: now_ns,
            due: None,
            offered: 0,
            sent: 0,
            asked_bytes: 0,
        };
        let next = sender.take(first);
        if endless {
            sender.offered = u64::MAX;
        }
        (sender, next)
    }

    /// Lets the application act at its time. Returns the next time, ns.
    pub(crate) fn wake(&mut self, now_ns: u64) -> Option<u64> {
        // Writes have their own clock: a late wake-up delays one write, not those after it.
        while let Some(due) = self.due.filter(|due| self.began_ns + due.0 <= now_ns) {
            let write = self.writes.wake(due);
            self.take(write);
        }
        self.due.map(|due| self.began_ns + due.0)
    }

    fn take(&mut self, write: Write) -> Option<u64> {
        self.offered += write.bytes.0;
        self.due = write.next;
        self.due.map(|due| self.began_ns + due.0)
    }

    /// True if the kernel has not taken all written data yet.
    pub(crate) fn is_pending(&self) -> bool {
        self.sent < self.offered
    }

    /// True if it has written all its data.
    pub(crate) fn is_complete(&self) -> bool {
        matches!(self.writes.workload(), Workload::File { .. }) && !self.is_pending()
    }

    /// Bytes that the kernel has not taken yet; `None` for endless data.
    pub(crate) fn backlog(&self) -> Option<u64> {
        (self.offered != u64::MAX).then(|| self.offered - self.sent)
    }

    /// Bytes that the kernel has taken.
    pub(crate) fn sent(&self) -> u64 {
        self.sent
    }

    /// Stops writing.
    pub(crate) fn stop(&mut self) {
        self.offered = self.sent;
    }

    /// Writes as much as the kernel takes, up to the limit of one turn.
    pub(crate) fn write(&mut self, socket: BorrowedFd<'_>, buffer: &mut [u8]) -> io::Result<()> {
        let mut turn = TURN_BYTES;
        while self.is_pending() && turn > 0 {
            let size = (self.offered - self.sent).min(buffer.len().min(turn) as u64) as usize;
            self.pattern.fill(self.sent, &mut buffer[..size]);
            match rustix::net::send(socket, &buffer[..size], rustix::net::SendFlags::NOSIGNAL) {
                Ok(written) => {
                    self.sent += written as u64;
                    turn -= written;
                    if written < size {
                        break;
                    }
                }
                Err(Errno::AGAIN | Errno::INTR) => break,
                Err(errno) => return Err(errno.into()),
            }
        }
        Ok(())
    }

    /// Reads requests.
    pub(crate) fn hear(&mut self, socket: BorrowedFd<'_>, buffer: &mut [u8]) -> io::Result<Heard> {
        loop {
            match rustix::io::read(socket, &mut *buffer) {
                Ok(0) => return Ok(Heard::Closed),
                Ok(read) => self.asked(read as u64),
                Err(Errno::AGAIN | Errno::INTR) => return Ok(Heard::Open),
                Err(errno) => return Err(errno.into()),
            }
        }
    }

    fn asked(&mut self, bytes: u64) {
        let before = self.asked_bytes / REQUEST_BYTES;
        self.asked_bytes += bytes;
        if let Workload::Requests { size, .. } = self.writes.workload() {
            self.offered += (self.asked_bytes / REQUEST_BYTES - before) * size.0;
        }
    }
}
