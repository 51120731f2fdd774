//! Segments that were late, not lost. The receiver reports duplicates (DSACK, RFC 2883), and an ACK
//! echoes the send time of the copy that caused it (Eifel detection, RFC 3522). A spurious
//! reduction is undone (RFC 4015; Linux: `tcp_try_undo_recovery`, `_partial`, `_dsack` and
//! `_loss`), and RACK waits longer (RFC 8985, section 6.2, step 4).
//!
//! Like RACK, this is only for `recovery = "rack"`: RFC 6582 and RFC 6675 do not include it.
//!
//! Deviation: while retransmissions of a recovery are in flight, Linux neither undoes nor marks
//! further segments as lost; this code may mark them.

use joulepath_controllers::{AckFlags, Subflow as Window};

use super::connection::SenderEnd;
use super::subflow::{Congestion, SubflowSender};
use super::undo::{EarlierCopies, PriorWindow, Undo};
use crate::path::packet::Stamp;
use crate::run::config::Config;

impl SubflowSender {
    /// Processes a DSACK: the receiver got a segment twice.
    #[cold]
    pub(super) fn note_duplicate(&mut self, ssn: u32) {
        if let Some(undo) = &mut self.undo {
            undo.came_twice(ssn);
        }
        if self
            .probe
            .is_some_and(|probe| probe.copied_at.is_some() && ssn + 1 == probe.end)
        {
            // Both copies arrived, so nothing was lost (RFC 8985, section 7.4.2), and reordering
            // did not cause the probe.
            self.probe = None;
        } else if self.board.reordering_seen() {
            self.reo_wnd.widen(self.board.una(), self.board.next());
        }
    }

    /// Stores the window at the beginning of a reduction.
    pub(super) fn remember(&mut self, prior: PriorWindow) {
        let copies = EarlierCopies {
            in_flight: self.board.retransmitted(),
            first: self.board.first_copy(),
        };
        self.undo = Some(Undo::new(
            self.board.una()..self.board.next(),
            copies,
            prior,
        ));
    }

    /// Undoes the latest reduction if an ACK that echoes `echo` and acknowledges `acked` new
    /// segments shows it to be spurious. Returns whether it did.
    #[inline(always)]
    pub(super) fn undo_if_spurious(
        &mut self,
        config: &Config,
        now_ns: u64,
        end: &mut SenderEnd,
        echo: Stamp,
        acked: u32,
    ) -> bool {
        let spurious = self.is_spurious(echo, acked);
        if spurious {
            self.take_back(now_ns, end);
            self.refresh_view_at(config, end, now_ns);
        }
        spurious
    }

    /// Whether an ACK that echoes `echo` and acknowledges `acked` new segments shows the latest
    /// reduction to be spurious.
    #[inline(always)]
    fn is_spurious(&self, echo: Stamp, acked: u32) -> bool {
        let Some(undo) = &self.undo else { return false };
        let may_tell = match self.congestion {
            Congestion::Open | Congestion::Cwr => false,
            Congestion::Loss => true,
            // While a copy is in flight, it is unknown whether another segment was lost.
            Congestion::Recovery => self.board.retransmitted() == 0,
        };
        undo.was_all_in_vain() || (acked > 0 && may_tell && undo.came_late(echo))
    }

    /// Undoes the latest reduction.
    #[cold]
    fn take_back(&mut self, now_ns: u64, end: &mut SenderEnd) {
        let Some(undo) = self.undo.take() else { return };
        if self.congestion != Congestion::Loss {
            // An overtaken segment was retransmitted too early: RACK must wait longer
            // (`tcp_check_sack_reordering`).
            self.board.note_reordering();
        }
        let window = &mut end.cc.subflows[self.id.index()];
        self.integrate_cwnd(window.cwnd, now_ns);
        match &mut self.owned {
            Some(owned) => owned.note(AckFlags::IN_VAIN),
            None => {
                window.cwnd = window.cwnd.max(undo.prior.cwnd);
                window.ssthresh = window.ssthresh.max(undo.prior.ssthresh);
            }
        }
        if self.is_recovering() {
            window.flags &= !(Window::RECOVERY | Window::LOSS);
            self.congestion = Congestion::Open;
            self.board.unmark_lost();
            self.reo_wnd.end_recovery();
        }
    }
}
