//! What has to be known to take a reduction back, and RACK's reordering window. `spurious` acts on them.

use std::ops::Range;

use crate::path::packet::Stamp;

/// RACK.reo_wnd_persist: recoveries without a DSACK after which the reordering window is as at first.
const PERSIST: u32 = 16;
/// Most quarters of the least RTT, as in Linux. The smoothed RTT bounds the window besides.
const MOST_QUARTERS: u32 = 255;

/// What the latest reduction has to be known by, and what it took (`undo_marker`, `undo_retrans`,
/// `retrans_stamp`, `prior_cwnd`, `prior_ssthresh` of Linux).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Undo {
    /// Oldest unacknowledged SSN when it began, and the first SSN after all that were sent again since: only
    /// segments between are in doubt. The copy of a probe is not among them.
    marker: u32,
    end: u32,
    /// Copies that have been sent since and that no DSACK has reported; none before the first.
    in_doubt: Option<u32>,
    /// When the first copy left, of those of earlier reductions, too, that may still be acknowledged.
    first: Option<Stamp>,
    pub(super) prior: PriorWindow,
}

/// The window before a reduction, packets; all 0 if the window was not reduced.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PriorWindow {
    pub(super) cwnd: u32,
    pub(super) ssthresh: u32,
}

/// The copies that may still be acknowledged when a reduction begins, of probes and earlier reductions too.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct EarlierCopies {
    pub(super) in_flight: u32,
    /// When the first of them left.
    pub(super) first: Option<Stamp>,
}

impl Undo {
    /// A reduction begins while the segments of these SSNs are outstanding.
    pub(super) fn new(outstanding: Range<u32>, copies: EarlierCopies, prior: PriorWindow) -> Self {
        let Range { start: marker, end: next } = outstanding;
        let (end, in_doubt) = match copies.in_flight {
            0 => (marker, None),
            in_flight => (next, Some(in_flight)),
        };
        Undo { marker, end, in_doubt, first: copies.first, prior }
    }

    /// Notes that segment `ssn` is sent again.
    pub(super) fn retransmitted(&mut self, ssn: u32, now: Stamp) {
        self.end = self.end.max(ssn + 1);
        self.in_doubt = Some(self.in_doubt.unwrap_or(0) + 1);
        self.first.get_or_insert(now);
    }

    /// Notes that `ssn` has come twice.
    pub(super) fn came_twice(&mut self, ssn: u32) {
        if (self.marker..self.end).contains(&ssn) {
            self.in_doubt = self.in_doubt.map(|copies| copies.saturating_sub(1));
        }
    }

    /// Whether every copy was sent in vain.
    pub(super) fn was_all_in_vain(&self) -> bool {
        self.in_doubt == Some(0)
    }

    /// Whether what an ACK that echoes `echo` is for left before all copies.
    pub(super) fn came_late(&self, echo: Stamp) -> bool {
        self.first.is_none_or(|first| echo < first)
    }
}

/// RACK's reordering window, in quarters of the least RTT (RFC 8985, section 6.2, step 4).
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReorderingWindow {
    /// RACK.reo_wnd_mult.
    pub(super) quarters: u32,
    /// RACK.reo_wnd_persist.
    persist: u32,
    /// RACK.dsack_round: until this SSN is acknowledged, further DSACKs do not widen it.
    round: Option<u32>,
}

impl Default for ReorderingWindow {
    fn default() -> Self {
        ReorderingWindow { quarters: 1, persist: 0, round: None }
    }
}

impl ReorderingWindow {
    /// A segment has come twice. `una` and `next` bound what is outstanding.
    pub(super) fn widen(&mut self, una: u32, next: u32) {
        if self.round.is_none_or(|round| una >= round) {
            self.round = Some(next);
            self.quarters = (self.quarters + 1).min(MOST_QUARTERS);
            self.persist = PERSIST;
        }
    }

    /// A recovery has ended.
    pub(super) fn end_recovery(&mut self) {
        self.persist = self.persist.saturating_sub(1);
        if self.persist == 0 {
            self.quarters = 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT: fn(u64) -> Stamp = Stamp::at;

    #[test]
    fn a_reduction_was_for_nothing_when_every_copy_came_twice() {
        let mut undo = Undo::new(10..20, EarlierCopies::default(), PriorWindow { cwnd: 40, ssthresh: 100 });
        assert!(!undo.was_all_in_vain(), "nothing was sent again");
        undo.retransmitted(10, AT(5));
        undo.retransmitted(12, AT(6));
        undo.came_twice(9);
        undo.came_twice(13);
        assert!(!undo.was_all_in_vain(), "9 was sent again before, 13 by a probe");
        undo.came_twice(10);
        assert!(!undo.was_all_in_vain());
        undo.came_twice(12);
        assert!(undo.was_all_in_vain());
    }

    #[test]
    fn what_left_before_the_first_copy_came_late() {
        let mut undo = Undo::new(10..20, EarlierCopies::default(), PriorWindow { cwnd: 40, ssthresh: 100 });
        assert!(undo.came_late(AT(7)), "there is no copy");
        undo.retransmitted(10, AT(5));
        undo.retransmitted(11, AT(9));
        assert!(undo.came_late(AT(4)) && !undo.came_late(AT(5)) && !undo.came_late(AT(8)));
    }

    /// Segments that were lost while the recovery before lasted start another one, and their copies are under
    /// way. When one of those fills the hole, nothing came late.
    #[test]
    fn a_copy_of_the_recovery_before_is_no_original() {
        let copies = EarlierCopies { in_flight: 1, first: Some(AT(5)) };
        let mut undo = Undo::new(15..30, copies, PriorWindow { cwnd: 20, ssthresh: 20 });
        undo.retransmitted(22, AT(9));
        assert!(!undo.came_late(AT(7)) && undo.came_late(AT(4)));
    }

    /// RFC 8985, section 6.2, step 4: one more quarter in each round with a DSACK, and one again after 16
    /// recoveries without.
    #[test]
    fn the_reordering_window_grows_once_in_a_round() {
        let mut window = ReorderingWindow::default();
        window.widen(0, 20);
        window.widen(5, 25);
        window.widen(19, 39);
        assert_eq!(window.quarters, 2);
        window.widen(20, 40);
        assert_eq!(window.quarters, 3);
        (0..15).for_each(|_| window.end_recovery());
        assert_eq!(window.quarters, 3);
        window.end_recovery();
        assert_eq!(window.quarters, 1);
    }
}
