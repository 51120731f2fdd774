//! The receiving end of a connection. It knows the expected data and when it was due.

use std::io;
use std::os::fd::BorrowedFd;

use joulepath_link::writes::Writes;
use joulepath_model::scenario::Workload;
use joulepath_model::units::Nanos;
use rustix::io::Errno;

use super::pattern::Pattern;
use super::report::{Delivery, Pause};

/// Maximum number of bytes that one connection reads before the next connection's turn.
const TURN_BYTES: usize = 1 << 20;
/// Length of a request, bytes.
pub(crate) const REQUEST_BYTES: u64 = 8;

/// Shorter gaps between reads are summarised by the longest.
const PAUSE_NS: u64 = 10_000_000;

/// An application that reads.
#[derive(Debug)]
pub(crate) struct Receiver {
    pattern: Pattern,
    /// The sender's writes, drawn again: they give the end of each write.
    writes: Writes,
    /// When the next write is due, since the sender began.
    due: Option<Nanos>,
    /// The write that is arriving.
    current: Option<Piece>,
    /// Offset of the end of the last complete write.
    complete: u64,
    received: u64,
    at_warm_up: u64,
    deliveries: Vec<Delivery>,
    /// When bytes were last read, or the warm-up ended; `None` before the connection.
    progress_ns: Option<u64>,
    pauses: Vec<Pause>,
    longest_gap_ns: u64,
    /// Bytes of requests that the kernel has not taken yet.
    to_ask: u64,
}

/// A write, or an answer.
#[derive(Clone, Copy, Debug)]
struct Piece {
    /// Offset of its end.
    end: u64,
    since_ns: u64,
}

/// State of a connection after a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Read {
    /// More data may follow.
    Open,
    /// The sender has ended.
    Closed,
    /// The byte at this offset is wrong.
    Damaged(u64),
}

impl Receiver {
    /// A receiver for a sender with these writes.
    pub(crate) fn new(pattern: Pattern, mut writes: Writes) -> Self {
        let due = writes.start(Nanos::ZERO).next;
        Receiver {
            pattern,
            writes,
            due,
            current: None,
            complete: 0,
            received: 0,
            at_warm_up: 0,
            deliveries: vec![],
            progress_ns: None,
            pauses: vec![],
            longest_gap_ns: 0,
            to_ask: 0,
        }
    }

    /// Bytes read.
    pub(crate) fn received(&self) -> u64 {
        self.received
    }

    /// Bytes read since the warm-up.
    pub(crate) fn measured(&self) -> u64 {
        self.received - self.at_warm_up
    }

    /// Resets the counters at the end of the warm-up.
    pub(crate) fn begin_measuring(&mut self, now_ns: u64) {
        self.at_warm_up = self.received;
        self.progress_ns = self.progress_ns.map(|_| now_ns);
        (self.pauses, self.longest_gap_ns) = (vec![], 0);
    }

    /// The connection begins.
    pub(crate) fn begin(&mut self, now_ns: u64) {
        self.progress_ns = Some(now_ns);
        self.ask(now_ns);
    }

    /// Records the gap since the last read, before the bytes read at `now_ns` are taken.
    fn progress(&mut self, now_ns: u64) {
        let Some(from_ns) = self.progress_ns.replace(now_ns) else {
            return;
        };
        let gap_ns = now_ns.saturating_sub(from_ns);
        if gap_ns < PAUSE_NS {
            self.longest_gap_ns = self.longest_gap_ns.max(gap_ns);
        } else if self.waits() {
            let since_ns = self.piece().map(|piece| piece.since_ns);
            self.pauses.push(Pause {
                from_ns,
                to_ns: now_ns,
                since_ns,
            });
        }
    }

    /// Whether data is due, or will be.
    fn waits(&mut self) -> bool {
        match self.writes.workload() {
            Workload::Bulk | Workload::File { .. } => !self.is_complete(),
            _ => self.piece().is_some(),
        }
    }

    /// Ends at `now_ns`. Returns the pauses, and the longest shorter gap, ns.
    pub(crate) fn end(&mut self, now_ns: u64) -> (Vec<Pause>, u64) {
        self.progress(now_ns);
        (std::mem::take(&mut self.pauses), self.longest_gap_ns)
    }

    /// True if all data has arrived.
    pub(crate) fn is_complete(&self) -> bool {
        matches!(self.writes.workload(), Workload::File { size } if self.received == size.0)
    }

    /// The writes that have arrived completely.
    pub(crate) fn into_deliveries(self) -> Vec<Delivery> {
        self.deliveries
    }

    /// Sends a request, if the workload has requests and none is pending.
    pub(crate) fn ask(&mut self, now_ns: u64) {
        if let (Workload::Requests { size, .. }, None) = (self.writes.workload(), self.current) {
            self.to_ask += REQUEST_BYTES;
            self.current = Some(Piece {
                end: self.received + size.0,
                since_ns: now_ns,
            });
        }
    }

    /// True if part of a request is not sent yet.
    pub(crate) fn is_pending(&self) -> bool {
        self.to_ask > 0
    }

    /// Sends the rest of a request.
    pub(crate) fn write(&mut self, socket: BorrowedFd<'_>) -> io::Result<()> {
        let request = [0; REQUEST_BYTES as usize];
        match rustix::net::send(
            socket,
            &request[..self.to_ask as usize],
            rustix::net::SendFlags::NOSIGNAL,
        ) {
            Ok(written) => self.to_ask -= written as u64,
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
        Ok(())
    }

    /// Reads what has arrived, up to the limit of one turn. The second value is when to send the
    /// next request, ns.
    pub(crate) fn read(
        &mut self,
        socket: BorrowedFd<'_>,
        buffer: &mut [u8],
        mut now_ns: impl FnMut() -> u64,
    ) -> io::Result<(Read, Option<u64>)> {
        let (mut turn, mut ask_at_ns) = (TURN_BYTES, None);
        while turn > 0 {
            match rustix::io::read(socket, &mut *buffer) {
                Ok(0) => return Ok((Read::Closed, ask_at_ns)),
                Ok(read) => {
                    if let Some(at) = self
                        .pattern
                        .first_difference(self.received, &buffer[..read])
                    {
                        return Ok((Read::Damaged(at), ask_at_ns));
                    }
                    let now_ns = now_ns();
                    self.progress(now_ns);
                    self.received += read as u64;
                    ask_at_ns = self.arrived(now_ns).or(ask_at_ns);
                    turn = turn.saturating_sub(read);
                }
                Err(Errno::AGAIN | Errno::INTR) => break,
                Err(errno) => return Err(errno.into()),
            }
        }
        Ok((Read::Open, ask_at_ns))
    }

    /// Records each write that is complete. Returns when to send the next request, ns.
    fn arrived(&mut self, now_ns: u64) -> Option<u64> {
        let mut ask_at_ns = None;
        while let Some(piece) = self.piece().filter(|piece| piece.end <= self.received) {
            self.deliveries.push(Delivery {
                since_ns: piece.since_ns,
                done_ns: now_ns,
            });
            (self.current, self.complete) = (None, piece.end);
            if let Workload::Requests { think, .. } = self.writes.workload() {
                ask_at_ns = Some(now_ns + think.0.max(1));
            }
        }
        ask_at_ns
    }

    /// The write that is arriving; `None` for bulk data and files, which have no writes to wait
    /// for.
    fn piece(&mut self) -> Option<Piece> {
        while self.current.is_none() {
            let due = self.due?;
            let write = self.writes.wake(due);
            self.due = write.next;
            if write.bytes.0 > 0 {
                self.current = Some(Piece {
                    end: self.complete + write.bytes.0,
                    since_ns: write.since.0,
                });
            }
        }
        self.current
    }
}
