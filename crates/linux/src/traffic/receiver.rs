//! The end of a connection that the data goes to: it knows what must come and when it was due.

use std::io;
use std::os::fd::BorrowedFd;

use joulepath_link::demand::Demand;
use joulepath_model::scenario::Workload;
use joulepath_model::units::Nanos;
use rustix::io::Errno;

use super::pattern::Pattern;
use super::report::Delivery;

/// Most that one connection reads before others have their turn, bytes.
const TURN_BYTES: usize = 1 << 20;
/// A request on the wire, bytes.
pub(crate) const REQUEST_BYTES: u64 = 8;

/// An application that reads.
#[derive(Debug)]
pub(crate) struct Receiver {
    pattern: Pattern,
    /// The sender's demand, drawn a second time: it tells where writes end.
    demand: Demand,
    /// When the next write is due, since the sender began.
    due: Option<Nanos>,
    /// The write that arrives at present.
    current: Option<Piece>,
    /// Offset of the first byte behind the last complete one.
    complete: u64,
    received: u64,
    at_warm_up: u64,
    deliveries: Vec<Delivery>,
    /// What of a request the kernel has not taken yet, bytes.
    to_ask: u64,
}

/// A write, or an answer.
#[derive(Clone, Copy, Debug)]
struct Piece {
    /// Offset of the first byte behind it.
    end: u64,
    since_ns: u64,
}

/// What reading came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Read {
    /// There may be more later.
    Open,
    /// The sender has ended.
    Closed,
    /// A byte is not what it should be; its offset.
    Damaged(u64),
}

impl Receiver {
    /// For what comes from a sender with this demand.
    pub(crate) fn new(pattern: Pattern, mut demand: Demand) -> Self {
        let due = demand.start(Nanos::ZERO).next;
        Receiver {
            pattern,
            demand,
            due,
            current: None,
            complete: 0,
            received: 0,
            at_warm_up: 0,
            deliveries: vec![],
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

    /// From here on it counts.
    pub(crate) fn begin_measuring(&mut self) {
        self.at_warm_up = self.received;
    }

    /// Whether this was all.
    pub(crate) fn is_complete(&self) -> bool {
        matches!(self.demand.workload(), Workload::File { size } if self.received == size.0)
    }

    /// What has arrived in full.
    pub(crate) fn into_deliveries(self) -> Vec<Delivery> {
        self.deliveries
    }

    /// Asks for an answer, if this is a device that asks and waits for none.
    pub(crate) fn ask(&mut self, now_ns: u64) {
        if let (Workload::Requests { size, .. }, None) = (self.demand.workload(), self.current) {
            self.to_ask += REQUEST_BYTES;
            self.current = Some(Piece { end: self.received + size.0, since_ns: now_ns });
        }
    }

    /// Whether a request has not gone yet.
    pub(crate) fn is_pending(&self) -> bool {
        self.to_ask > 0
    }

    /// Sends what is left of a request.
    pub(crate) fn write(&mut self, socket: BorrowedFd<'_>) -> io::Result<()> {
        let request = [0; REQUEST_BYTES as usize];
        match rustix::net::send(socket, &request[..self.to_ask as usize], rustix::net::SendFlags::NOSIGNAL) {
            Ok(written) => self.to_ask -= written as u64,
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
        Ok(())
    }

    /// Reads what is there, or as much as is fair. The second value: when to ask again, ns.
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
                    if let Some(at) = self.pattern.first_difference(self.received, &buffer[..read]) {
                        return Ok((Read::Damaged(at), ask_at_ns));
                    }
                    self.received += read as u64;
                    ask_at_ns = self.arrived(now_ns()).or(ask_at_ns);
                    turn = turn.saturating_sub(read);
                }
                Err(Errno::AGAIN | Errno::INTR) => break,
                Err(errno) => return Err(errno.into()),
            }
        }
        Ok((Read::Open, ask_at_ns))
    }

    /// Notes each write that is complete now. When to ask again, ns.
    fn arrived(&mut self, now_ns: u64) -> Option<u64> {
        let mut ask_at_ns = None;
        while let Some(piece) = self.piece().filter(|piece| piece.end <= self.received) {
            self.deliveries.push(Delivery { since_ns: piece.since_ns, done_ns: now_ns });
            (self.current, self.complete) = (None, piece.end);
            if let Workload::Requests { think, .. } = self.demand.workload() {
                ask_at_ns = Some(now_ns + think.0.max(1));
            }
        }
        ask_at_ns
    }

    /// The write that arrives at present; none for bulk data and files, which nobody waits for piece by piece.
    fn piece(&mut self) -> Option<Piece> {
        while self.current.is_none() {
            let due = self.due?;
            let write = self.demand.wake(due);
            self.due = write.next;
            if write.bytes.0 > 0 {
                self.current = Some(Piece { end: self.complete + write.bytes.0, since_ns: due.0 });
            }
        }
        self.current
    }
}
