//! Segments that were late and not lost. The receiver reports what came twice (DSACK, RFC 2883), and an ACK
//! echoes the clock of the copy that it is for (Eifel detection, RFC 3522). A reduction that was for nothing is
//! taken back (RFC 4015; Linux: `tcp_try_undo_recovery`, `_partial`, `_dsack` and `_loss`), and RACK waits
//! longer (RFC 8985, section 6.2, step 4).
//!
//! As all of RACK, this is for `recovery = "rack"`: RFC 6582 and RFC 6675 know nothing of it.
//!
//! Deviation: while retransmissions of a recovery are in flight, Linux neither undoes nor marks further
//! segments as lost; here they may be marked.

use joulepath_controllers::Subflow as Window;

use super::connection::SenderEnd;
use super::subflow::{Congestion, SubflowSender};
use crate::context::Context;
use crate::packet::Stamp;

/// RACK.reo_wnd_persist: recoveries without a DSACK after which the reordering window is as at first.
const PERSIST: u32 = 16;
/// Most quarters of the least RTT, as in Linux. The smoothed RTT bounds the window besides.
const MOST_QUARTERS: u32 = 255;

/// What the latest reduction has to be known by, and what it took (`undo_marker`, `undo_retrans`,
/// `retrans_stamp`, `prior_cwnd`, `prior_ssthresh` of Linux).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Undo {
    /// Oldest unacknowledged SSN when it began.
    marker: u32,
    /// Copies that have been sent since and that no DSACK has reported; none before the first.
    in_doubt: Option<u32>,
    /// When the first of them left.
    first: Option<Stamp>,
    /// The window and ssthresh before it, packets; 0 if there was no reduction of its own.
    cwnd: u32,
    ssthresh: u32,
}

impl Undo {
    /// A reduction begins at a window of `cwnd` packets, while `in_flight` retransmissions are under way.
    pub(super) fn new(marker: u32, in_flight: u32, cwnd: u32, ssthresh: u32) -> Self {
        Undo { marker, in_doubt: (in_flight > 0).then_some(in_flight), first: None, cwnd, ssthresh }
    }

    /// Notes that a segment is sent again.
    pub(super) fn retransmitted(&mut self, now: Stamp) {
        self.in_doubt = Some(self.in_doubt.unwrap_or(0) + 1);
        self.first.get_or_insert(now);
    }

    /// Notes that `ssn` has come twice.
    fn came_twice(&mut self, ssn: u32) {
        if ssn >= self.marker {
            self.in_doubt = self.in_doubt.map(|copies| copies.saturating_sub(1));
        }
    }

    /// Whether every copy was sent in vain.
    fn was_all_in_vain(&self) -> bool {
        self.in_doubt == Some(0)
    }

    /// Whether what an ACK that echoes `echo` is for left before all copies.
    fn came_late(&self, echo: Stamp) -> bool {
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
    fn widen(&mut self, una: u32, next: u32) {
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

impl SubflowSender {
    /// Notes that the receiver has had a segment twice.
    #[cold]
    pub(super) fn note_duplicate(&mut self, ssn: u32) {
        if let Some(undo) = &mut self.undo {
            undo.came_twice(ssn);
        }
        // The copy of a probe was not sent because of reordering.
        let is_probe = self.probe.is_some_and(|probe| probe.copied_at.is_some() && ssn + 1 == probe.end);
        if self.board.reordering_seen() && !is_probe {
            self.window.widen(self.board.una(), self.board.next());
        }
    }

    /// Remembers the window before a reduction, which begins now.
    pub(super) fn remember(&mut self, cwnd: u32, ssthresh: u32) {
        self.undo = Some(Undo::new(self.board.una(), self.board.retransmitted(), cwnd, ssthresh));
    }

    /// Takes the latest reduction back if an ACK, which echoes `echo` and acknowledges `acked` more segments,
    /// shows that it was for nothing. Returns whether it did.
    #[cold]
    pub(super) fn undo_if_spurious(
        &mut self,
        cx: &Context<'_>,
        end: &mut SenderEnd,
        echo: Stamp,
        acked: u32,
    ) -> bool {
        let Some(undo) = self.undo else { return false };
        let came_late = acked > 0 && undo.came_late(echo);
        let spurious = undo.was_all_in_vain()
            || match self.congestion {
                Congestion::Open | Congestion::Cwr => false,
                Congestion::Loss => came_late,
                // While a copy is in flight, nobody knows whether another segment was lost.
                Congestion::Recovery => came_late && self.board.retransmitted() == 0,
            };
        if !spurious {
            return false;
        }
        self.undo = None;
        if self.congestion != Congestion::Loss {
            // A segment that was overtaken has been sent again too early: RACK has to wait longer
            // (`tcp_check_sack_reordering`).
            self.board.note_reordering();
        }
        let window = &mut end.cc.subflows[self.id.index()];
        self.integrate_cwnd(window.cwnd, cx.now_ns);
        window.cwnd = window.cwnd.max(undo.cwnd);
        window.ssthresh = window.ssthresh.max(undo.ssthresh);
        if self.is_recovering() {
            window.flags &= !(Window::RECOVERY | Window::LOSS);
            self.congestion = Congestion::Open;
            self.board.unmark_lost();
            self.window.end_recovery();
        }
        self.refresh_view(cx, end);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT: fn(u64) -> Stamp = Stamp::at;

    #[test]
    fn a_reduction_was_for_nothing_when_every_copy_came_twice() {
        let mut undo = Undo::new(10, 0, 40, 100);
        assert!(!undo.was_all_in_vain(), "nothing was sent again");
        undo.retransmitted(AT(5));
        undo.retransmitted(AT(6));
        undo.came_twice(9);
        assert!(!undo.was_all_in_vain(), "9 was sent again before");
        undo.came_twice(10);
        assert!(!undo.was_all_in_vain());
        undo.came_twice(12);
        assert!(undo.was_all_in_vain());
    }

    #[test]
    fn what_left_before_the_first_copy_came_late() {
        let mut undo = Undo::new(10, 0, 40, 100);
        assert!(undo.came_late(AT(7)), "there is no copy");
        undo.retransmitted(AT(5));
        undo.retransmitted(AT(9));
        assert!(undo.came_late(AT(4)) && !undo.came_late(AT(5)) && !undo.came_late(AT(8)));
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
