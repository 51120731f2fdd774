//! The state that undoing a reduction needs, and RACK's reordering window; for `spurious`.

use std::ops::Range;

use crate::path::packet::Stamp;

/// RACK.reo_wnd_persist: recoveries without a DSACK after which the reordering window is reset.
const PERSIST: u32 = 16;
/// Most quarters of the minimum RTT, as in Linux. The smoothed RTT is another bound.
const MAX_MULT: u32 = 255;

/// The latest reduction: which copies can prove it spurious, and the window before it
/// (`undo_marker`, `undo_retrans`, `retrans_stamp`, `prior_cwnd`, `prior_ssthresh` of Linux).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Undo {
    /// Oldest unacknowledged SSN at its beginning, and first SSN after all segments retransmitted
    /// since: only segments in between count. The copy of a probe does not.
    marker: u32,
    end: u32,
    /// Copies sent since then and not reported by a DSACK; `None` before the first copy.
    in_doubt: Option<u32>,
    /// Departure of the first copy that may still be acknowledged, including copies of earlier
    /// reductions.
    first: Option<Stamp>,
    pub(super) prior: PriorWindow,
}

/// The window before a reduction, packets; all 0 if it was not reduced.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PriorWindow {
    pub(super) cwnd: u32,
    pub(super) ssthresh: u32,
}

/// Copies that may still be acknowledged when a reduction begins, including copies of probes and of
/// earlier reductions.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct EarlierCopies {
    pub(super) in_flight: u32,
    /// When the first of them left.
    pub(super) first: Option<Stamp>,
}

impl Undo {
    /// Records a reduction that begins while the segments of these SSNs are outstanding.
    pub(super) fn new(outstanding: Range<u32>, copies: EarlierCopies, prior: PriorWindow) -> Self {
        let Range {
            start: marker,
            end: next,
        } = outstanding;
        let (end, in_doubt) = match copies.in_flight {
            0 => (marker, None),
            in_flight => (next, Some(in_flight)),
        };
        Undo {
            marker,
            end,
            in_doubt,
            first: copies.first,
            prior,
        }
    }

    /// Records the retransmission of segment `ssn`.
    pub(super) fn retransmitted(&mut self, ssn: u32, now: Stamp) {
        self.end = self.end.max(ssn + 1);
        self.in_doubt = Some(self.in_doubt.unwrap_or(0) + 1);
        self.first.get_or_insert(now);
    }

    /// Records a DSACK of `ssn`.
    pub(super) fn came_twice(&mut self, ssn: u32) {
        if (self.marker..self.end).contains(&ssn) {
            self.in_doubt = self.in_doubt.map(|copies| copies.saturating_sub(1));
        }
    }

    /// Whether every copy was unnecessary.
    pub(super) fn was_all_in_vain(&self) -> bool {
        self.in_doubt == Some(0)
    }

    /// Whether the segment of an ACK that echoes `echo` left before all copies.
    pub(super) fn came_late(&self, echo: Stamp) -> bool {
        self.first.is_none_or(|first| echo < first)
    }
}

/// RACK's reordering window, in quarters of the minimum RTT (RFC 8985, section 6.2, step 4).
#[derive(Clone, Copy, Debug)]
pub(crate) struct RackReoWnd {
    /// RACK.reo_wnd_mult.
    pub(super) mult: u32,
    /// RACK.reo_wnd_persist.
    persist: u32,
    /// RACK.dsack_round: until this SSN is acknowledged, further DSACKs do not widen the window.
    dsack_round: Option<u32>,
}

impl Default for RackReoWnd {
    fn default() -> Self {
        RackReoWnd {
            mult: 1,
            persist: 0,
            dsack_round: None,
        }
    }
}

impl RackReoWnd {
    /// Handles a DSACK. Segments from `una` up to `next` are outstanding.
    pub(super) fn widen(&mut self, una: u32, next: u32) {
        if self.dsack_round.is_none_or(|round| una >= round) {
            self.dsack_round = Some(next);
            self.mult = (self.mult + 1).min(MAX_MULT);
            self.persist = PERSIST;
        }
    }

    pub(super) fn end_recovery(&mut self) {
        self.persist = self.persist.saturating_sub(1);
        if self.persist == 0 {
            self.mult = 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT: fn(u64) -> Stamp = Stamp::at;

    #[test]
    fn a_reduction_is_spurious_if_every_copy_is_a_duplicate() {
        let mut undo = Undo::new(
            10..20,
            EarlierCopies::default(),
            PriorWindow {
                cwnd: 40,
                ssthresh: 100,
            },
        );
        assert!(!undo.was_all_in_vain(), "nothing was retransmitted");
        undo.retransmitted(10, AT(5));
        undo.retransmitted(12, AT(6));
        undo.came_twice(9);
        undo.came_twice(13);
        assert!(
            !undo.was_all_in_vain(),
            "9 was retransmitted earlier, 13 by a probe"
        );
        undo.came_twice(10);
        assert!(!undo.was_all_in_vain());
        undo.came_twice(12);
        assert!(undo.was_all_in_vain());
    }

    #[test]
    fn a_segment_sent_before_the_first_copy_came_late() {
        let mut undo = Undo::new(
            10..20,
            EarlierCopies::default(),
            PriorWindow {
                cwnd: 40,
                ssthresh: 100,
            },
        );
        assert!(undo.came_late(AT(7)), "there is no copy");
        undo.retransmitted(10, AT(5));
        undo.retransmitted(11, AT(9));
        assert!(undo.came_late(AT(4)) && !undo.came_late(AT(5)) && !undo.came_late(AT(8)));
    }

    /// Segments lost during a recovery start another recovery while their copies are in flight.
    /// When such a copy fills the hole, nothing came late.
    #[test]
    fn a_copy_from_an_earlier_recovery_is_not_an_original() {
        let copies = EarlierCopies {
            in_flight: 1,
            first: Some(AT(5)),
        };
        let mut undo = Undo::new(
            15..30,
            copies,
            PriorWindow {
                cwnd: 20,
                ssthresh: 20,
            },
        );
        undo.retransmitted(22, AT(9));
        assert!(!undo.came_late(AT(7)) && undo.came_late(AT(4)));
    }

    /// RFC 8985, section 6.2, step 4: each round with a DSACK adds a quarter; after 16 recoveries
    /// without one, the window is one quarter again.
    #[test]
    fn the_reordering_window_grows_once_in_a_round() {
        let mut reo_wnd = RackReoWnd::default();
        reo_wnd.widen(0, 20);
        reo_wnd.widen(5, 25);
        reo_wnd.widen(19, 39);
        assert_eq!(reo_wnd.mult, 2);
        reo_wnd.widen(20, 40);
        assert_eq!(reo_wnd.mult, 3);
        (0..15).for_each(|_| reo_wnd.end_recovery());
        assert_eq!(reo_wnd.mult, 3);
        reo_wnd.end_recovery();
        assert_eq!(reo_wnd.mult, 1);
    }
}
