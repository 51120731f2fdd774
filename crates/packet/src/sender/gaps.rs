//! ACKs and segments of a subflow on which segments are missing and nothing else is unusual: what `ack`,
//! `recovery`, `rack` and `transmit` do in that case, and no more. See `run::fast::gaps`.

use super::connection::SenderEnd;
use super::subflow::{Congestion, SubflowSender};
use crate::connection::context::Clock;
use crate::connection::subflow::Phase;
use crate::path::packet::{ECE, Packet, RETRANSMISSION, Stamp};
use crate::sender::scoreboard::Segment;

/// A segment that leaves: its SSN, what the packet carries, and the packet's flags.
pub(crate) struct Departing {
    pub(crate) ssn: u32,
    pub(crate) dsn: u32,
    pub(crate) len: u16,
    pub(crate) flags: u8,
}

impl SubflowSender {
    /// Whether an ACK tells of no mark, and comes while the subflow neither probes nor reduces its window but
    /// for a loss that RACK has found.
    #[inline(always)]
    pub(crate) fn may_have_gaps(&self, packet: &Packet) -> bool {
        packet.epoch() == self.id.epoch
            && packet.flags() & ECE == 0
            && packet.ssn() <= self.board.next()
            && self.phase == Phase::Established
            && matches!(self.congestion, Congestion::Open | Congestion::Recovery)
            && self.probe.is_none()
    }

    /// Brings the view of such a subflow up to date, number `i` of its connection.
    #[inline(always)]
    pub(crate) fn show_gaps(&self, end: &mut SenderEnd, i: usize) {
        self.show((&mut *end, i), self.board.in_flight(), self.congestion, false);
        end.note_space(i);
    }

    /// The next segment of such a subflow that leaves while the window has space, if there is one: a lost one
    /// if it recovers, else a new one where those are admitted.
    #[inline(always)]
    pub(crate) fn next_departing(
        &mut self,
        end: &mut SenderEnd,
        repairs: &mut bool,
        admits_new: bool,
        clock: &mut Clock<'_>,
    ) -> Option<Departing> {
        let lost = if *repairs { self.board.next_repair() } else { None };
        let departing = if let Some(ssn) = lost {
            let Segment { dsn, len, .. } = self.note_repeated(ssn, clock.now_ns);
            Departing { ssn, dsn, len, flags: RETRANSMISSION }
        } else {
            *repairs = false;
            if !admits_new || !end.may_send_new() || self.board.next() >= self.window_end {
                return None;
            }
            let len = end.writer.segment_len(end.data.next());
            let dsn = end.data.take_new(0);
            let ssn = self.board.push(Segment::new(dsn, len, Stamp::at(clock.now_ns)));
            Departing { ssn, dsn, len, flags: 0 }
        };
        self.note_departed(clock);
        Some(departing)
    }
}
