//! The reading end of the application. For workloads of requests it also sends the requests.

use std::collections::VecDeque;

use joulepath_model::result::Delivery;
use joulepath_model::scenario::Workload;
use joulepath_model::units::{Bytes, Nanos};

use super::segments::cut;

/// A request without an answer is sent again after this time (the RTO before the first sample, RFC
/// 6298).
const REQUEST_RETRY_NS: u64 = 1_000_000_000;

/// An incomplete write.
#[derive(Clone, Copy)]
struct Expected {
    /// First DSN after it.
    end: u32,
    /// When the application created it, or the device requested it, ns.
    since_ns: u64,
}

/// What the application does next.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Next {
    /// Nothing until more data arrives.
    Nothing,
    /// It must be called again at this instant, ns.
    At(u64),
    /// The device sends this request at once. Call again at `retry_ns`, in case the request is
    /// lost.
    Ask {
        /// Number of the request, from 1.
        number: u32,
        /// When to check again for the answer, ns.
        retry_ns: u64,
    },
    /// The workload is complete.
    Done,
}

/// The application at the receiver.
#[repr(C)]
pub(crate) struct Reader {
    /// First, because every segment reads it.
    expected: VecDeque<Expected>,
    /// Since when data waits without progress, not before `measure_from_ns`, ns; `u64::MAX`: never
    /// waited.
    waits_since_ns: u64,
    longest_stall_ns: u64,
    workload: Workload,
    mss_bytes: u16,
    /// First DSN after all expected data.
    end: u32,
    /// Requests issued so far.
    requests: u32,
    /// Whether the latest request is unanswered.
    waiting: bool,
    /// Complete writes, in order.
    complete: Vec<Delivery>,
    measure_from_ns: u64,
}

impl Reader {
    /// Delays are measured for data that is created from `measure_from` on.
    pub(crate) fn new(workload: Workload, mss: Bytes, measure_from: Nanos) -> Self {
        Reader {
            workload,
            mss_bytes: u16::try_from(mss.0).expect("the scenario limits the MSS"),
            expected: VecDeque::new(),
            waits_since_ns: u64::MAX,
            longest_stall_ns: 0,
            end: 0,
            requests: 0,
            waiting: false,
            complete: vec![],
            measure_from_ns: measure_from.0,
        }
    }

    /// Expects `bytes` more, created or requested at `since_ns`. Data of a bulk transfer waits from
    /// the first call on.
    pub(crate) fn expect(&mut self, bytes: u64, since_ns: u64) {
        let begins = if self.is_endless() {
            self.waits_since_ns == u64::MAX
        } else {
            bytes > 0 && self.expected.is_empty()
        };
        if begins {
            self.waits_since_ns = since_ns.max(self.measure_from_ns);
        }
        if bytes > 0 {
            self.end += cut(bytes, self.mss_bytes).0;
            self.expected.push_back(Expected {
                end: self.end,
                since_ns,
            });
        }
    }

    /// Sends the next request; or the latest again, if the server, which has answered up to request
    /// `answered`, never received it.
    pub(crate) fn ask(&mut self, now_ns: u64, answered: u32) -> Next {
        let Workload::Requests { size, .. } = self.workload else {
            return Next::Nothing;
        };
        if !self.waiting {
            self.waiting = true;
            self.requests += 1;
            self.expect(size.0, now_ns);
        } else if answered == self.requests {
            return Next::Nothing;
        }
        Next::Ask {
            number: self.requests,
            retry_ns: now_ns + REQUEST_RETRY_NS,
        }
    }

    fn is_endless(&self) -> bool {
        matches!(self.workload, Workload::Bulk)
    }

    /// More data has arrived in order.
    #[inline(always)]
    pub(crate) fn progress(&mut self, now_ns: u64) {
        let waited_ns = now_ns.saturating_sub(self.waits_since_ns);
        self.longest_stall_ns = self.longest_stall_ns.max(waited_ns);
        self.waits_since_ns = now_ns.max(self.measure_from_ns);
    }

    /// The longest time without progress while data waited, until `end_ns`, in the measured
    /// interval, ns.
    pub(crate) fn longest_stall_ns(&self, end_ns: u64) -> u64 {
        let waits = self.is_endless() || !self.expected.is_empty();
        let last_ns = if waits {
            end_ns.saturating_sub(self.waits_since_ns)
        } else {
            0
        };
        self.longest_stall_ns.max(last_ns)
    }

    /// Data below `next_dsn` has arrived in order. Returns what the application does next.
    #[inline]
    pub(crate) fn delivered(&mut self, next_dsn: u32, now_ns: u64) -> Next {
        if self.is_complete(next_dsn) {
            self.complete(next_dsn, now_ns)
        } else {
            Next::Nothing
        }
    }

    /// Whether data below `next_dsn` completes the first incomplete write.
    #[inline(always)]
    pub(crate) fn is_complete(&self, next_dsn: u32) -> bool {
        self.expected
            .front()
            .is_some_and(|first| first.end <= next_dsn)
    }

    #[cold]
    fn complete(&mut self, next_dsn: u32, now_ns: u64) -> Next {
        while let Some(&Expected { end, since_ns }) = self.expected.front()
            && end <= next_dsn
        {
            if since_ns >= self.measure_from_ns {
                let delay_s = Some((now_ns - since_ns) as f64 / 1e9);
                self.complete.push(self.delivery(since_ns, delay_s));
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

    /// Writes or requests from `measure_from` on, complete or not; empty for workloads without
    /// messages.
    pub(crate) fn deliveries(&self) -> Vec<Delivery> {
        if matches!(self.workload, Workload::Bulk | Workload::File { .. }) {
            return vec![];
        }
        let waiting = self
            .expected
            .iter()
            .filter(|expected| expected.since_ns >= self.measure_from_ns);
        let waiting = waiting.map(|expected| self.delivery(expected.since_ns, None));
        self.complete.iter().copied().chain(waiting).collect()
    }

    fn delivery(&self, since_ns: u64, delay_s: Option<f64>) -> Delivery {
        let tolerance_s = match self.workload {
            Workload::Messages { tolerance, .. } => tolerance.as_secs_f64(),
            _ => 0.0,
        };
        Delivery {
            since_s: since_ns as f64 / 1e9,
            tolerance_s,
            delay_s,
        }
    }
}
