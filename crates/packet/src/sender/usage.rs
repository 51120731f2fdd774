//! Whether a subflow uses its window (`tcp_cwnd_validate` and `tcp_is_cwnd_limited` of Linux; RFC
//! 7661).

use std::ops::Range;

use joulepath_controllers::Subflow as Window;

/// Use of the window in the present round.
#[derive(Clone, Copy, Default)]
pub(crate) struct Usage {
    /// `is_cwnd_limited`: the window was full in this round.
    was_full: bool,
    /// `max_packets_out`: most segments that were outstanding in this round.
    most_out: u32,
    /// `cwnd_usage_seq`: the round ends when everything below this SSN is acknowledged.
    until: u32,
}

impl Usage {
    /// Records that the segments of these SSNs are outstanding, `in_flight` of them counting
    /// against a window of `cwnd` packets. Linux does this after sending. Doing it before the next
    /// ACK changes the state is equivalent, because no segment leaves the network in between.
    #[inline(always)]
    pub(super) fn note(&mut self, outstanding: Range<u32>, in_flight: u32, cwnd: u32) {
        let Range {
            start: una,
            end: next,
        } = outstanding;
        let (is_full, out) = (in_flight >= cwnd, next - una);
        if is_full || una >= self.until || (!self.was_full && out > self.most_out) {
            *self = Usage {
                was_full: is_full,
                most_out: out,
                until: next,
            };
        }
    }

    /// Whether the window was full in this round.
    #[inline(always)]
    pub(super) fn was_full(&self) -> bool {
        self.was_full
    }

    /// Whether the window may grow: it was full in this round, or, in slow start, is less than
    /// twice the most outstanding segments.
    #[inline(always)]
    pub(super) fn admits_growth(&self, window: &Window) -> bool {
        self.was_full || (window.cwnd < window.ssthresh && window.cwnd < 2 * self.most_out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A window of 10 packets, ssthresh 5: congestion avoidance.
    fn window() -> Window {
        let mut window = joulepath_controllers::Connection::new(1).subflows[0];
        (window.cwnd, window.ssthresh) = (10, 5);
        window
    }

    #[test]
    fn a_full_window_may_grow_until_its_last_segment_is_acknowledged() {
        let mut usage = Usage::default();
        usage.note(0..10, 10, 10);
        // The application is idle and its last response drains.
        for una in 1..10 {
            usage.note(una..10, 10 - una, 10);
            assert!(usage.admits_growth(&window()), "{una}");
        }
        // The next response has four segments.
        usage.note(10..14, 4, 10);
        assert!(!usage.admits_growth(&window()));
    }

    #[test]
    fn slow_start_grows_the_window_to_twice_the_outstanding_segments() {
        let (mut usage, mut window) = (Usage::default(), window());
        window.ssthresh = 100;
        usage.note(0..6, 6, 10);
        assert!(usage.admits_growth(&window));
        usage.note(5..6, 1, 10);
        window.cwnd = 11;
        assert!(usage.admits_growth(&window), "most of the round counts");
        window.cwnd = 12;
        assert!(!usage.admits_growth(&window));
    }
}
