//! What an application writes, cut into segments, and when what it wrote has arrived.
//!
//! A write is never merged with the next one: its last segment may be short.

use std::collections::VecDeque;

use joulepath_link::demand::{self, Demand};
use joulepath_model::scenario::Workload;
use joulepath_model::units::{Bytes, Nanos};

/// DSNs of an endless source.
const ENDLESS: u32 = u32::MAX / 2;

/// A request without answer is sent again after this (the RTO before the first sample, RFC 6298).
const REQUEST_RETRY_NS: u64 = 1_000_000_000;

/// A contiguous piece that the application cares about: a file, a message, an answer.
#[derive(Clone, Copy)]
struct Write {
    /// First DSN behind it.
    end: u32,
    /// Payload of its last segment, bytes.
    last_len: u16,
    /// When the application wrote it (or the device asked for it), ns.
    since_ns: u64,
}

/// The application of one connection, at both of its ends.
pub(crate) struct Application {
    workload: Workload,
    demand: Demand,
    mss: u16,
    /// First DSN that was not written yet.
    written: u32,
    /// Writes that the sender may still have to send again.
    writes: VecDeque<Write>,
    /// How many at the front have arrived in full.
    arrived: usize,
    /// Requests issued so far.
    requests: u32,
    /// When the latest was issued, ns.
    asked_ns: u64,
    /// The latest that reached the server.
    answered: u32,
    /// Whether the device waits for an answer.
    waiting: bool,
    delays_s: Vec<f64>,
    measure_from_ns: u64,
}

/// What the application wants next.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Next {
    /// Nothing by itself.
    Nothing,
    /// To be called again at this instant, ns.
    At(u64),
    /// The device sends this request now, and is called again at `retry_ns` in case it gets lost.
    Ask {
        /// Counts from 1.
        number: u32,
        /// When to look again, ns.
        retry_ns: u64,
    },
    /// Everything has arrived.
    Done,
}

impl Application {
    pub(crate) fn new(demand: Demand, mss: Bytes, measure_from: Nanos) -> Self {
        let workload = demand.workload();
        Application {
            workload,
            demand,
            mss: u16::try_from(mss.0).expect("the scenario limits the MSS"),
            written: if workload == Workload::Bulk { ENDLESS } else { 0 },
            writes: VecDeque::new(),
            arrived: 0,
            requests: 0,
            asked_ns: 0,
            answered: 0,
            waiting: false,
            delays_s: vec![],
            measure_from_ns: measure_from.0,
        }
    }

    /// First DSN that may not be sent yet.
    #[inline]
    pub(crate) fn written(&self) -> u32 {
        self.written
    }

    /// What it does.
    pub(crate) fn workload(&self) -> Workload {
        self.workload
    }

    /// Whether it always has more to send.
    pub(crate) fn is_endless(&self) -> bool {
        self.written == ENDLESS
    }

    /// The connection is established.
    pub(crate) fn start(&mut self, now_ns: u64) -> Next {
        if let Workload::Requests { .. } = self.workload {
            return self.ask(now_ns);
        }
        let first = self.demand.start(Nanos(now_ns));
        self.act(first, now_ns)
    }

    /// An instant that was asked for has come.
    pub(crate) fn wake(&mut self, now_ns: u64) -> Next {
        if let Workload::Requests { .. } = self.workload {
            return self.ask(now_ns);
        }
        let next = self.demand.wake(Nanos(now_ns));
        self.act(next, now_ns)
    }

    fn act(&mut self, write: demand::Write, now_ns: u64) -> Next {
        self.write(write.bytes.0, now_ns);
        write.next.map_or(Next::Nothing, |at| Next::At(at.0))
    }

    /// A new request, or the last one again if it never reached the server.
    fn ask(&mut self, now_ns: u64) -> Next {
        if !self.waiting {
            self.waiting = true;
            self.requests += 1;
            self.asked_ns = now_ns;
        } else if self.answered == self.requests {
            return Next::Nothing;
        }
        Next::Ask { number: self.requests, retry_ns: now_ns + REQUEST_RETRY_NS }
    }

    /// The server has received request number `number` (from 1); whether it answers: not to a copy.
    pub(crate) fn answer(&mut self, number: u32) -> bool {
        let Workload::Requests { size, .. } = self.workload else { return false };
        let fresh = number > self.answered;
        if fresh {
            self.answered = number;
            self.write(size.0, self.asked_ns);
        }
        fresh
    }

    fn write(&mut self, bytes: u64, since_ns: u64) {
        if bytes == 0 {
            return;
        }
        let mss = u64::from(self.mss);
        let segments = bytes.div_ceil(mss);
        self.written += u32::try_from(segments).expect("the scenario limits the size");
        let last_len = (bytes - (segments - 1) * mss) as u16;
        self.writes.push_back(Write { end: self.written, last_len, since_ns });
    }

    /// Payload of a written segment, bytes.
    #[inline]
    pub(crate) fn segment_len(&self, dsn: u32) -> u16 {
        if self.written == ENDLESS {
            return self.mss;
        }
        let at = self.writes.partition_point(|write| write.end <= dsn);
        match self.writes.get(at) {
            Some(write) if write.end == dsn + 1 => write.last_len,
            _ => self.mss,
        }
    }

    /// Data below `next_dsn` has arrived in order.
    #[inline]
    pub(crate) fn delivered(&mut self, next_dsn: u32, now_ns: u64) -> Next {
        if self.arrived == self.writes.len() || self.writes[self.arrived].end > next_dsn {
            return Next::Nothing;
        }
        self.complete(next_dsn, now_ns)
    }

    fn complete(&mut self, next_dsn: u32, now_ns: u64) -> Next {
        while let Some(write) = self.writes.get(self.arrived).filter(|write| write.end <= next_dsn) {
            if write.since_ns >= self.measure_from_ns {
                self.delays_s.push((now_ns - write.since_ns) as f64 / 1e9);
            }
            self.arrived += 1;
        }
        match self.workload {
            Workload::File { .. } => Next::Done,
            Workload::Requests { think, .. } => {
                self.waiting = false;
                Next::At(now_ns + think.0.max(1))
            }
            _ => Next::Nothing,
        }
    }

    /// The sender will never need data below `una` again.
    #[inline]
    pub(crate) fn forget(&mut self, una: u32) {
        while self.arrived > 0 && self.writes.front().is_some_and(|write| write.end <= una) {
            self.writes.pop_front();
            self.arrived -= 1;
        }
    }

    /// Delays of complete messages; none for workloads without messages.
    pub(crate) fn delays_s(&self) -> &[f64] {
        match self.workload {
            Workload::Bulk | Workload::File { .. } => &[],
            _ => &self.delays_s,
        }
    }
}
