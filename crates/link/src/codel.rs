//! CoDel: drops packets when the lowest sojourn time of an interval is above the target (RFC 8289;
//! Linux: `codel_impl.h`).
//!
//! ```text
//!            sojourn ≥ target for a whole interval: drop or mark one
//!   CALM ─────────────────────────────────────────────────────────────► DROPPING: the n-th drop follows
//!    ▲                                                                     │      interval/√n after the last
//!    └───────────── sojourn < target, or no more than one packet waits ────┘
//! ```

use joulepath_model::aqm::CodelSpec;

use crate::packets::{Fifo, Packets};

/// Time of the next drop after a drop at `at_ns` (RFC 8289, section 3.2): t + interval/√count.
///
/// Linux approximates 1/√count by one step of Newton's method per drop; this function computes the
/// exact root.
pub(crate) fn control_law(at_ns: u64, interval_ns: u64, count: u32) -> u64 {
    at_ns + (interval_ns as f64 / libm::sqrt(f64::from(count))) as u64
}

/// State of CoDel at one queue, with the names of RFC 8289, section 4.4.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Codel {
    /// End of the interval for which the sojourn time must stay above the target, ns.
    first_above_ns: Option<u64>,
    /// Time of the next drop, ns.
    drop_next_ns: u64,
    /// Drops in the current dropping state.
    count: u32,
    /// `count` when the dropping state was last entered.
    last_count: u32,
    dropping: bool,
}

/// A queue under CoDel.
pub(crate) struct Head<'a> {
    pub(crate) spec: &'a CodelSpec,
    pub(crate) fifo: &'a mut Fifo,
    pub(crate) all: &'a mut Packets,
    /// Bytes that wait in all queues of the link.
    pub(crate) backlog: &'a mut u64,
    /// Dropped packets.
    pub(crate) dropped: &'a mut Vec<u32>,
    pub(crate) now: u64,
}

impl Head<'_> {
    fn pop(&mut self) -> Option<u32> {
        let number = self.fifo.pop(self.all)?;
        *self.backlog -= u64::from(self.all.get(number).size);
        Some(number)
    }

    fn sojourn_ns(&self, number: u32) -> u64 {
        self.now - self.all.get(number).entered_ns
    }

    fn marks(&mut self, number: u32) -> bool {
        self.spec.ecn && self.all.mark(number)
    }
}

impl Codel {
    /// Notes packets that were dropped because the queue was full: the signal must get stronger.
    pub(crate) fn overflowed(&mut self, drops: u32) {
        self.count = self.count.saturating_add(drops);
    }

    /// The next packet to send. Drops the packets that CoDel discards before it.
    pub(crate) fn dequeue(&mut self, queue: &mut Head<'_>) -> Option<u32> {
        let sent = self.decide(queue);
        if let (Some(number), Some(threshold)) = (sent, queue.spec.ce_threshold)
            && queue.sojourn_ns(number) > threshold.0
        {
            queue.all.mark(number);
        }
        sent
    }

    fn decide(&mut self, queue: &mut Head<'_>) -> Option<u32> {
        let Some(mut number) = queue.pop() else {
            self.dropping = false;
            return None;
        };
        let interval_ns = queue.spec.interval.0;
        let mut above = self.is_above(queue, Some(number));
        if !self.dropping {
            if !above {
                return Some(number);
            }
            let mut sent = Some(number);
            if !queue.marks(number) {
                queue.dropped.push(number);
                sent = queue.pop();
                self.is_above(queue, sent);
            }
            self.enter(queue.now, interval_ns);
            return sent;
        }
        while above && self.dropping && queue.now >= self.drop_next_ns {
            self.count = self.count.saturating_add(1);
            if queue.marks(number) {
                self.drop_next_ns = control_law(self.drop_next_ns, interval_ns, self.count);
                return Some(number);
            }
            queue.dropped.push(number);
            let next = queue.pop();
            above = self.is_above(queue, next);
            if above {
                self.drop_next_ns = control_law(self.drop_next_ns, interval_ns, self.count);
            }
            let Some(next) = next else {
                self.dropping = false;
                return None;
            };
            number = next;
        }
        self.dropping &= above;
        Some(number)
    }

    /// Enters the dropping state. If CoDel left it recently, the drop rate continues from the rate
    /// that controlled the queue then.
    fn enter(&mut self, now: u64, interval_ns: u64) {
        self.dropping = true;
        let drops = self.count.wrapping_sub(self.last_count);
        let recently = now.saturating_sub(self.drop_next_ns) < 16 * interval_ns;
        self.count = if drops > 1 && recently { drops } else { 1 };
        self.last_count = self.count;
        self.drop_next_ns = control_law(now, interval_ns, self.count);
    }

    /// True if the sojourn time has been above the target for an interval. A single packet is no
    /// standing queue.
    fn is_above(&mut self, queue: &Head<'_>, number: Option<u32>) -> bool {
        let low = number.is_none_or(|number| queue.sojourn_ns(number) < queue.spec.target.0)
            || *queue.backlog <= u64::from(queue.all.largest());
        if low {
            self.first_above_ns = None;
            return false;
        }
        let first_above_ns = *self
            .first_above_ns
            .get_or_insert(queue.now + queue.spec.interval.0);
        queue.now > first_above_ns
    }
}
