//! The end of a connection that the data comes from.

use std::io;
use std::os::fd::BorrowedFd;

use joulepath_link::demand::{Demand, Write};
use joulepath_model::scenario::Workload;
use joulepath_model::units::Nanos;
use rustix::io::Errno;

use super::pattern::Pattern;
use super::receiver::REQUEST_BYTES;

/// Most that one connection writes before others have their turn, bytes.
const TURN_BYTES: usize = 1 << 20;

/// An application that writes.
#[derive(Debug)]
pub(crate) struct Sender {
    pattern: Pattern,
    demand: Demand,
    /// When it began: instants of its demand count from here, ns.
    began_ns: u64,
    /// When it acts next, since it began.
    due: Option<Nanos>,
    /// What the application has written so far, bytes.
    offered: u64,
    /// What the kernel has taken of it, bytes.
    sent: u64,
    /// Bytes of requests that have come.
    asked_bytes: u64,
}

/// What came from the receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Heard {
    /// Nothing, or requests.
    Open,
    /// It wants no more.
    Closed,
}

impl Sender {
    /// The connection stands at `now_ns`. The second value: when the application acts next, ns.
    pub(crate) fn begin(pattern: Pattern, mut demand: Demand, now_ns: u64) -> (Self, Option<u64>) {
        let first = demand.start(Nanos::ZERO);
        let endless = demand.workload() == Workload::Bulk;
        let mut sender =
            Sender { pattern, demand, began_ns: now_ns, due: None, offered: 0, sent: 0, asked_bytes: 0 };
        let next = sender.take(first);
        if endless {
            sender.offered = u64::MAX;
        }
        (sender, next)
    }

    /// The instant has come that was named. The next one, ns.
    pub(crate) fn wake(&mut self, now_ns: u64) -> Option<u64> {
        // A demand follows its own clock: a late wake-up delays one write, not those after it.
        while let Some(due) = self.due.filter(|due| self.began_ns + due.0 <= now_ns) {
            let write = self.demand.wake(due);
            self.take(write);
        }
        self.due.map(|due| self.began_ns + due.0)
    }

    fn take(&mut self, write: Write) -> Option<u64> {
        self.offered += write.bytes.0;
        self.due = write.next;
        self.due.map(|due| self.began_ns + due.0)
    }

    /// Whether there is something that the kernel has not taken yet.
    pub(crate) fn is_pending(&self) -> bool {
        self.sent < self.offered
    }

    /// Whether it has written all that it ever will.
    pub(crate) fn is_complete(&self) -> bool {
        matches!(self.demand.workload(), Workload::File { .. }) && !self.is_pending()
    }

    /// What the kernel has not taken yet, bytes; none if there is always more.
    pub(crate) fn backlog(&self) -> Option<u64> {
        (self.offered != u64::MAX).then(|| self.offered - self.sent)
    }

    /// What the kernel has taken, bytes.
    pub(crate) fn sent(&self) -> u64 {
        self.sent
    }

    /// Stops: nothing more is written.
    pub(crate) fn stop(&mut self) {
        self.offered = self.sent;
    }

    /// Writes as much as the kernel takes, or as much as is fair.
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
        if let Workload::Requests { size, .. } = self.demand.workload() {
            self.offered += (self.asked_bytes / REQUEST_BYTES - before) * size.0;
        }
    }
}
