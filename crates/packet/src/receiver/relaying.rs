//! How a TCP relay handles segments, and how the device handles forwarded segments.

use joulepath_model::energy::Traffic;

use super::connection::Receiver;
use super::reassembly::{Arrival, Received};
use super::subflow::SubflowReceiver;
use crate::application::Next;
use crate::connection::context::Context;
use crate::path::packet::{ECE, Kind, Packet, Stamp, WINDOW};

/// A nearly closed window is advertised again after it has opened by this many segments.
const UPDATE: u32 = 2;

impl Receiver<'_> {
    /// Handles a data segment at the relay, the end of its subflow.
    pub(super) fn receive_at_relay(&mut self, i: usize, packet: Packet) {
        let (subflow, cx) = (&mut self.subflows[i], &mut self.cx);
        let (known, received) = subflow.take_at_relay(cx.now_ns, &packet);
        subflow.note_mark(self.end, &packet);
        subflow.pass_on(cx);
        subflow.acknowledge_as_relay(cx, packet.sent(), received);
        if known {
            subflow.pass_data_ack(cx);
        }
    }

    /// Retransmits a segment that the channel gave up.
    pub(crate) fn relay_again(&mut self, i: usize, mut packet: Packet) {
        let size = packet.aux() + self.cx.config.sizes.header;
        if let Some(relay) = &self.subflows[i].relay {
            self.cx
                .net
                .offer(self.cx.now_ns, relay.routes.station, &mut packet, size);
        }
    }

    /// Removes a segment that the channel delivered from the relay's buffer.
    pub(crate) fn relay_delivered(&mut self, i: usize) {
        let (subflow, cx) = (&mut self.subflows[i], &mut self.cx);
        let Some(relay) = &mut subflow.relay else {
            return;
        };
        relay.bring_up(cx.now_ns);
        relay.sending -= 1;
        subflow.pass_on(cx);
        let (next, Some(relay)) = (subflow.order.next(), &subflow.relay) else {
            return;
        };
        let least = UPDATE.min(relay.capacity);
        if relay.told_end < next + least && relay.window_end(next) >= relay.told_end + least {
            subflow.send_relay_ack(cx, Stamp::at(cx.now_ns), 0, WINDOW);
        }
    }

    /// Handles a DataAck of the device, which every relay of the connection overhears on the
    /// channel. The relay that forwards it adds its window.
    pub(crate) fn overhear(&mut self, i: usize, packet: &mut Packet) {
        for subflow in self.subflows.iter_mut() {
            let Some(relay) = &mut subflow.relay else {
                continue;
            };
            if packet.dsn() > relay.min {
                relay.bring_up(self.cx.now_ns);
                relay.min = packet.dsn();
                relay.waiting.retain(|&(dsn, _)| dsn >= packet.dsn());
                subflow.pass_on(&mut self.cx);
            }
        }
        let subflow = &mut self.subflows[i];
        if let Some(relay) = &mut subflow.relay {
            relay.told_end = relay.window_end(subflow.order.next());
            *packet = packet.numbered(relay.told_end, packet.dsn());
        }
    }

    /// Handles a forwarded segment at the device. Returns what the application does next.
    pub(crate) fn receive_relayed(&mut self, i: usize, packet: &Packet) -> Next {
        let (subflow, cx, end) = (&mut self.subflows[i], &mut self.cx, &mut *self.end);
        if end.done {
            return Next::Nothing;
        }
        let len = packet.aux() as u16;
        cx.meter(i, packet.aux() + cx.config.sizes.header, Traffic::Down);
        let next = end.data.next();
        if end.data.accept(packet.dsn(), len) {
            subflow.first_copy_bytes += u64::from(len);
        }
        if end.data.next() != next {
            end.reader.progress(cx.now_ns);
        }
        if let Some(reception) = &mut end.reception {
            reception.arrive(packet.dsn(), cx.now_ns);
            reception.settle(end.data.next(), end.data.held(), cx.now_ns);
        }
        let next = end.reader.delivered(end.data.next(), cx.now_ns);
        subflow.send_data_ack(cx, end.data.next());
        next
    }
}

impl SubflowReceiver {
    /// Takes a segment into the relay's buffer if it fits. Returns whether the device is known to
    /// have it already, and the segment if it was taken.
    fn take_at_relay(&mut self, now_ns: u64, packet: &Packet) -> (bool, Option<Received>) {
        let Some(relay) = &mut self.relay else {
            return (false, None);
        };
        relay.bring_up(now_ns);
        let known = packet.dsn() < relay.min;
        // Segments beyond the window do not fit. The answer shows the source the end of the window.
        if packet.ssn() >= relay.window_end(self.order.next()) {
            return (known, None);
        }
        let (arrival, received) =
            self.order
                .accept(packet.ssn(), packet.dsn(), packet.aux() as u16);
        if arrival == Arrival::InOrder {
            let mut segment = Some((packet.dsn(), packet.aux() as u16));
            while let Some((dsn, len)) = segment {
                if dsn >= relay.min {
                    relay.waiting.push_back((dsn, len));
                }
                segment = self.order.next_in_order();
            }
        }
        (known, Some(received))
    }

    /// A packet of this subflow, sent now.
    fn packet(&self, cx: &Context<'_>, kind: Kind) -> Packet {
        Packet::new(
            kind,
            cx.global(self.id.index()) as u32,
            self.id.epoch,
            Stamp::at(cx.now_ns),
        )
    }

    /// Forwards segments while the station has room.
    fn pass_on(&mut self, cx: &mut Context<'_>) {
        let header = cx.config.sizes.header;
        let blank = self.packet(cx, Kind::Relayed);
        let Some(relay) = &mut self.relay else { return };
        let station = relay.routes.station;
        relay.bring_up(cx.now_ns);
        while cx.net.has_room(station)
            && let Some((dsn, len)) = relay.take_next()
        {
            let mut packet = blank.numbered(0, dsn).with_aux(u32::from(len));
            cx.net
                .offer(cx.now_ns, station, &mut packet, u32::from(len) + header);
        }
    }

    /// Sends a RelayAck. `trigger`: the segment that caused it, if that was taken.
    fn acknowledge_as_relay(
        &mut self,
        cx: &mut Context<'_>,
        echo: Stamp,
        trigger: Option<Received>,
    ) {
        let aux = self.sack(cx.config, &mut cx.net.sacks, trigger);
        self.send_relay_ack(cx, echo, aux, 0);
    }

    /// Sends a RelayAck with a reference to SACK blocks. With the flag [`WINDOW`] it only updates
    /// the window.
    fn send_relay_ack(&mut self, cx: &mut Context<'_>, echo: Stamp, aux: u32, flag: u8) {
        let Some(relay) = &mut self.relay else { return };
        relay.told_end = relay.window_end(self.order.next());
        let (s, epoch) = (cx.global(self.id.index()) as u32, self.id.epoch);
        let mut packet = Packet::new(Kind::RelayAck, s, epoch, echo)
            .numbered(self.order.next(), relay.told_end)
            .with_aux(aux)
            .with_flags(flag | if self.ece { ECE } else { 0 });
        cx.net
            .offer(cx.now_ns, self.first_hop, &mut packet, cx.config.sizes.ack);
    }

    /// Answers an old segment: tells the source what the device is known to have.
    #[cold]
    fn pass_data_ack(&mut self, cx: &mut Context<'_>) {
        let Some(relay) = &self.relay else { return };
        // Its route starts after the channel.
        let mut packet = self
            .packet(cx, Kind::DataAck)
            .numbered(relay.told_end, relay.min)
            .after_hop();
        let hop = cx.net.routes.hop(relay.routes.up, 1);
        cx.net
            .offer(cx.now_ns, hop, &mut packet, cx.config.sizes.ack);
    }

    /// Sends MIN, the next DSN expected, from the device.
    fn send_data_ack(&mut self, cx: &mut Context<'_>, min: u32) {
        let Some(relay) = &self.relay else { return };
        let mut packet = self.packet(cx, Kind::DataAck).numbered(0, min);
        let (hop, size) = (cx.net.routes.hop(relay.routes.up, 0), cx.config.sizes.ack);
        cx.net.offer(cx.now_ns, hop, &mut packet, size);
        cx.meter(self.id.index(), size, Traffic::Up);
    }
}
