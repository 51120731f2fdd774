//! The transmitter of a recorded link: it sends at the times of a trace, 1500 bytes each.

use std::sync::Arc;

use joulepath_model::network::DeliveryTrace;

const NS_PER_MS: u64 = 1_000_000;

/// A position in an endlessly repeated trace.
#[derive(Clone, Debug)]
pub(crate) struct Opportunities {
    trace: Arc<DeliveryTrace>,
    /// Start of the current pass through the trace, ns.
    pass_ns: u64,
    /// Line of the current opportunity, and the bytes that it still lets through: at least 1.
    line: usize,
    left: u32,
}

impl Opportunities {
    /// # Panics
    /// If the trace is empty, ends at 0 or goes backwards. [`crate::trace::parse`] refuses such
    /// traces.
    pub(crate) fn new(trace: Arc<DeliveryTrace>) -> Self {
        let lines = &trace.opportunities_ms;
        assert!(
            lines.last().is_some_and(|&last| last > 0),
            "a trace ends after time 0"
        );
        assert!(lines.is_sorted(), "a trace ascends in time");
        Opportunities {
            trace,
            pass_ns: 0,
            line: 0,
            left: DeliveryTrace::OPPORTUNITY_BYTES,
        }
    }

    /// Skips the opportunities before `from`, which are wasted. Returns the time of the current
    /// one, ns.
    pub(crate) fn seek(&mut self, from: u64) -> u64 {
        if self.at() < from {
            self.advance();
            if self.at() < from {
                self.jump(from);
            }
        }
        self.at()
    }

    /// Sends `size` bytes. Returns the time of the opportunity that takes the last byte, ns.
    pub(crate) fn send(&mut self, mut size: u32) -> u64 {
        while size > self.left {
            size -= self.left;
            self.advance();
        }
        let finish = self.at();
        self.left -= size;
        if self.left == 0 {
            self.advance();
        }
        finish
    }

    fn at(&self) -> u64 {
        self.pass_ns + self.trace.opportunities_ms[self.line] * NS_PER_MS
    }

    fn period_ns(&self) -> u64 {
        self.trace.opportunities_ms[self.trace.opportunities_ms.len() - 1] * NS_PER_MS
    }

    fn advance(&mut self) {
        self.left = DeliveryTrace::OPPORTUNITY_BYTES;
        self.line += 1;
        if self.line == self.trace.opportunities_ms.len() {
            self.line = 0;
            self.pass_ns += self.period_ns();
        }
    }

    /// Moves to the first opportunity at or after `from`, which is later than the current one.
    fn jump(&mut self, from: u64) {
        // The end of a pass and the start of the next are the same time. The opportunity at the end
        // comes first.
        let passes = (from - self.pass_ns - 1) / self.period_ns();
        self.pass_ns += passes * self.period_ns();
        let from_ms = (from - self.pass_ns).div_ceil(NS_PER_MS);
        self.line = self
            .trace
            .opportunities_ms
            .partition_point(|&ms| ms < from_ms);
        self.left = DeliveryTrace::OPPORTUNITY_BYTES;
    }
}
