//! The receiver of data: reassembly, delivery to the application, ACKs (RFC 5681, section 4.2).

use joulepath_model::energy::Traffic;

use super::connection::{Receiver, ReceiverEnd};
use super::reassembly::{Arrival, Received};
use super::subflow::SubflowReceiver;
use crate::application::Next;
use crate::connection::context::Context;
use crate::path::packet::{CE, CWR, ECE, Kind, Packet, Stamp, Usual};
use crate::path::sack::{SackArena, SackBlocks};
use crate::run::config::Config;

/// At least every second segment is acknowledged (RFC 5681).
const SEGMENTS_PER_ACK: u32 = 2;

impl Receiver<'_> {
    /// Handles a segment on subflow `i`. Returns what the application does next.
    #[inline(always)]
    pub(crate) fn receive_data(&mut self, i: usize, packet: Packet) -> Next {
        let (subflow, cx, end) = (&mut self.subflows[i], &mut self.cx, &mut *self.end);
        if !subflow.is_open {
            return Next::Nothing;
        }
        if subflow.relay.is_some() {
            self.receive_at_relay(i, packet);
            return Next::Nothing;
        }
        if cx.downloads {
            cx.meter(i, packet.aux() + cx.config.sizes.header, Traffic::Down);
        }
        let had_holes = subflow.order.has_holes();
        let taken = subflow.take_in::<false>(end, &packet, cx.now_ns);
        // RFC 5681, section 4.2: an ACK is not delayed if a segment is out of order or fills a
        // hole.
        let at_once =
            subflow.note_mark(end, &packet) || taken.arrival != Arrival::InOrder || had_holes;
        subflow.acknowledge(cx, end, &packet, taken.received, at_once);
        if taken.completes {
            end.reader.delivered(end.data.next(), cx.now_ns)
        } else {
            Next::Nothing
        }
    }

    /// Sends the delayed ACK of subflow `i`: its timer expired.
    pub(crate) fn send_pending_ack(&mut self, i: usize) {
        let subflow = &mut self.subflows[i];
        if subflow.unacknowledged > 0 {
            let echo = subflow.echo;
            subflow.send_ack(&mut self.cx, self.end, echo, None);
        }
    }
}

/// A segment that a subflow has accepted.
pub(crate) struct TakenIn {
    pub(crate) arrival: Arrival,
    pub(crate) received: Received,
    /// Whether it completes the data that the application waits for.
    pub(crate) completes: bool,
}

impl SubflowReceiver {
    /// Whether nothing waits for an earlier segment, and ACKs need neither ECE nor a DSACK.
    pub(crate) fn is_plain(&self) -> bool {
        self.is_open
            && !self.ece
            && !self.order.has_holes()
            && self.duplicate.is_none()
            && self.relay.is_none()
    }

    /// Whether the packet is the next segment in order, unmarked, while this end [is
    /// plain](Self::is_plain). If plainness is unknown, it is recomputed only if `may_be`.
    #[inline(always)]
    pub(crate) fn takes_plainly(&mut self, packet: &Packet, may_be: bool) -> bool {
        let is_usual =
            packet.is_usual_segment(self.usual) || (may_be && self.becomes_plain(packet));
        if !is_usual {
            return false;
        }
        debug_assert!(
            self.is_plain() && packet.epoch() == self.id.epoch && packet.flags() & CE == 0
        );
        packet.ssn() == self.order.next()
    }

    /// Whether a segment may be processed next to holes, as a duplicate, or while others wait for
    /// it.
    #[inline(always)]
    pub(crate) fn may_have_gaps(&self, packet: &Packet) -> bool {
        packet.epoch() == self.id.epoch && self.is_open && self.relay.is_none()
    }

    /// Processes a segment: reassembly by SSN on the subflow, then by DSN (RFC 8684, section
    /// 3.3.1). `IN_ORDER`: it [is taken plainly](Self::takes_plainly), and the compiler omits the
    /// other cases.
    #[inline(always)]
    pub(crate) fn take_in<const IN_ORDER: bool>(
        &mut self,
        end: &mut ReceiverEnd,
        packet: &Packet,
        now_ns: u64,
    ) -> TakenIn {
        let (dsn, len, held) = (packet.dsn(), packet.aux() as u16, self.order.held());
        let (arrival, received) = if IN_ORDER {
            (Arrival::InOrder, self.order.accept_next())
        } else {
            self.order.accept(packet.ssn(), dsn, len)
        };
        let next = end.data.next();
        match arrival {
            Arrival::InOrder if IN_ORDER => self.deliver_one(end, dsn, len),
            Arrival::InOrder => self.deliver(end, dsn, len),
            Arrival::Duplicate => self.duplicate = Some(packet.ssn()),
            Arrival::OutOfOrder => {}
        }
        if end.data.next() != next {
            end.reader.progress(now_ns);
        }
        let completes = arrival == Arrival::InOrder && end.reader.is_complete(end.data.next());
        if let Some(reception) = &mut end.reception {
            reception.arrive(dsn, now_ns);
            if !IN_ORDER {
                let gained = self.order.held().wrapping_sub(held);
                reception.held_by_subflows = reception.held_by_subflows.wrapping_add(gained);
            }
            reception.settle(end.data.next(), end.data.held(), now_ns);
        }
        if let Some(tuning) = &mut end.tuning {
            tuning.arrive(self.id.index(), packet.sent(), &end.data, now_ns);
        }
        TakenIn {
            arrival,
            received,
            completes,
        }
    }

    /// Recomputes the pattern of usual segments and compares a segment with it.
    #[inline(never)]
    fn becomes_plain(&mut self, packet: &Packet) -> bool {
        self.usual = if self.is_plain() {
            Packet::usual(self.id.epoch)
        } else {
            Usual::NONE
        };
        packet.is_usual_segment(self.usual)
    }

    /// Delivers an in-order segment and then the segments that waited for it.
    #[inline]
    fn deliver(&mut self, end: &mut ReceiverEnd, dsn: u32, len: u16) {
        self.deliver_one(end, dsn, len);
        while let Some((dsn, len)) = self.order.next_in_order() {
            self.deliver_one(end, dsn, len);
        }
    }

    #[inline(always)]
    fn deliver_one(&mut self, end: &mut ReceiverEnd, dsn: u32, len: u16) {
        if end.data.accept(dsn, len) {
            self.first_copy_bytes += u64::from(len);
        }
    }

    /// Records whether a segment is marked. Returns whether the sender must learn of a change at
    /// once (RFC 8257, section 3.2).
    #[inline]
    pub(crate) fn note_mark(&mut self, end: &ReceiverEnd, packet: &Packet) -> bool {
        let marked = packet.flags() & CE != 0;
        if end.echoes_each_mark() {
            return marked != std::mem::replace(&mut self.ece, marked);
        }
        self.ece = marked || (self.ece && packet.flags() & CWR == 0);
        false
    }

    #[inline(always)]
    fn acknowledge(
        &mut self,
        cx: &mut Context<'_>,
        end: &ReceiverEnd,
        packet: &Packet,
        received: Received,
        at_once: bool,
    ) {
        let Some(delay) = cx.config.transport.delayed_ack else {
            return self.send_ack(cx, end, packet.sent(), Some(received));
        };
        if self.unacknowledged == 0 {
            self.echo = packet.sent();
        }
        self.unacknowledged += 1;
        if at_once {
            // The ACK echoes the segment's own send time, so that the sender measures this
            // segment's RTT.
            self.send_ack(cx, end, packet.sent(), Some(received));
        } else if self.unacknowledged >= SEGMENTS_PER_ACK {
            let echo = self.echo;
            self.send_ack(cx, end, echo, Some(received));
        } else {
            let source = cx.config.sources.delayed_ack(cx.global(self.id.index()));
            self.delayed_ack
                .set(cx.now_ns + delay.0, source, &mut cx.net.queue);
        }
    }

    /// Adds the expected SSN and DSN, SACK blocks and ECE to an ACK. `trigger`: the segment that
    /// caused it.
    #[inline(always)]
    pub(crate) fn complete_ack(
        &mut self,
        ack: Packet,
        end: &ReceiverEnd,
        config: &Config,
        sacks: &mut SackArena,
        trigger: Option<Received>,
    ) -> Packet {
        ack.numbered(self.order.next(), end.data.next())
            .with_aux(self.sack(config, sacks, trigger))
            .with_flags(if self.ece { ECE } else { 0 })
    }

    /// Reference to the SACK blocks of an ACK (0: none). `trigger`: the segment that caused it.
    #[inline(always)]
    pub(super) fn sack(
        &mut self,
        config: &Config,
        sacks: &mut SackArena,
        trigger: Option<Received>,
    ) -> u32 {
        let duplicate = self.duplicate.take();
        if (self.order.has_holes() || duplicate.is_some()) && config.transport.recovery.has_sack() {
            let (reference, place) = sacks.place();
            *place = SackBlocks {
                duplicate,
                ..self.order.sack_blocks(trigger)
            };
            reference
        } else {
            0
        }
    }

    /// Acknowledges all received segments; `trigger`: the segment that caused the ACK.
    #[inline(always)]
    fn send_ack(
        &mut self,
        cx: &mut Context<'_>,
        end: &ReceiverEnd,
        echo: Stamp,
        trigger: Option<Received>,
    ) {
        let i = self.id.index();
        self.unacknowledged = 0;
        self.delayed_ack.clear();
        let ack = Packet::new(Kind::Ack, cx.global(i) as u32, self.id.epoch, echo);
        let packet = self.complete_ack(ack, end, cx.config, &mut cx.net.sacks, trigger);
        let size = cx.config.sizes.ack;
        cx.send(i, self.first_hop, packet, size);
        if cx.downloads {
            cx.meter(i, size, Traffic::Up);
        }
    }
}
