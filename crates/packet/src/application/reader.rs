//! The end of the application that reads. If the workload is made of requests, it also asks.

use std::collections::VecDeque;

use joulepath_model::result::Delivery;
use joulepath_model::scenario::Workload;
use joulepath_model::units::{Bytes, Nanos};

use super::segments::cut;

/// A request that has not been answered is sent again after this time (the RTO before the first sample, RFC
/// 6298).
const REQUEST_RETRY_NS: u64 = 1_000_000_000;

/// A write that has not arrived in full.
#[derive(Clone, Copy)]
struct Expected {
    /// First DSN after it.
    end: u32,
    /// When the application wrote it, or the device asked for it, ns.
    since_ns: u64,
}

/// What the application wants next.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Next {
    /// It does nothing by itself.
    Nothing,
    /// It wants to be called again at this instant, ns.
    At(u64),
    /// The device sends this request now. It is called again at `retry_ns` in case the request gets lost.
    Ask {
        /// Number of the request, from 1.
        number: u32,
        /// When to look again whether the answer has arrived, ns.
        retry_ns: u64,
    },
    /// Everything has arrived.
    Done,
}

/// The application at the end where data arrives.
#[repr(C)]
pub(crate) struct Reader {
    /// Every segment touches it.
    expected: VecDeque<Expected>,
    workload: Workload,
    mss_bytes: u16,
    /// First DSN after all that is expected.
    end: u32,
    /// Requests issued so far.
    requests: u32,
    /// Whether an answer is awaited.
    waiting: bool,
    /// What has arrived in full, in order.
    complete: Vec<Delivery>,
    measure_from_ns: u64,
}

impl Reader {
    /// Delays are measured for what is written from `measure_from` on.
    pub(crate) fn new(workload: Workload, mss: Bytes, measure_from: Nanos) -> Self {
        Reader {
            workload,
            mss_bytes: u16::try_from(mss.0).expect("the scenario limits the MSS"),
            expected: VecDeque::new(),
            end: 0,
            requests: 0,
            waiting: false,
            complete: vec![],
            measure_from_ns: measure_from.0,
        }
    }

    /// Expects `bytes` more, which were written, or asked for, at `since_ns`.
    pub(crate) fn expect(&mut self, bytes: u64, since_ns: u64) {
        if bytes > 0 {
            self.end += cut(bytes, self.mss_bytes).0;
            self.expected.push_back(Expected { end: self.end, since_ns });
        }
    }

    /// Sends the next request; or the last one again if it never reached the server, which has answered
    /// request `answered`.
    pub(crate) fn ask(&mut self, now_ns: u64, answered: u32) -> Next {
        let Workload::Requests { size, .. } = self.workload else { return Next::Nothing };
        if !self.waiting {
            self.waiting = true;
            self.requests += 1;
            self.expect(size.0, now_ns);
        } else if answered == self.requests {
            return Next::Nothing;
        }
        Next::Ask { number: self.requests, retry_ns: now_ns + REQUEST_RETRY_NS }
    }

    /// Data below `next_dsn` has arrived in order. Returns what the application wants next.
    #[inline]
    pub(crate) fn delivered(&mut self, next_dsn: u32, now_ns: u64) -> Next {
        if self.is_complete(next_dsn) { self.complete(next_dsn, now_ns) } else { Next::Nothing }
    }

    /// Whether the first write that has not arrived in full is below `next_dsn`.
    #[inline(always)]
    pub(crate) fn is_complete(&self, next_dsn: u32) -> bool {
        self.expected.front().is_some_and(|first| first.end <= next_dsn)
    }

    #[cold]
    fn complete(&mut self, next_dsn: u32, now_ns: u64) -> Next {
        while let Some(&Expected { end, since_ns }) = self.expected.front()
            && end <= next_dsn
        {
            if since_ns >= self.measure_from_ns {
                let delay_s = Some((now_ns - since_ns) as f64 / 1e9);
                self.complete.push(Delivery { since_s: since_ns as f64 / 1e9, delay_s });
            }
            self.expected.pop_front();
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

    /// What was written, or asked for, from `measure_from` on, complete or not; nothing for workloads without
    /// messages.
    pub(crate) fn deliveries(&self) -> Vec<Delivery> {
        if matches!(self.workload, Workload::Bulk | Workload::File { .. }) {
            return vec![];
        }
        let waiting = self.expected.iter().filter(|expected| expected.since_ns >= self.measure_from_ns);
        let waiting =
            waiting.map(|expected| Delivery { since_s: expected.since_ns as f64 / 1e9, delay_s: None });
        self.complete.iter().copied().chain(waiting).collect()
    }
}
