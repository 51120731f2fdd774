//! What a TCP relay does with segments, and what the device does with the segments that a relay has passed
//! on.

use joulepath_model::energy::Traffic;

use super::connection::Receiver;
use super::reassembly::{Arrival, Received};
use super::subflow::SubflowReceiver;
use crate::application::Next;
use crate::connection::context::Context;
use crate::path::packet::{ECE, Kind, Packet, Stamp, WINDOW};

/// A window that was nearly closed is told again when it has opened by so many segments.
const UPDATE: u32 = 2;

impl Receiver<'_> {
    /// Handles a data segment that has reached the end of its subflow at the relay.
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

    /// Sends a segment again that the channel has given up.
    pub(crate) fn relay_again(&mut self, i: usize, mut packet: Packet) {
        let size = packet.aux() + self.cx.config.sizes.header;
        if let Some(relay) = &self.subflows[i].relay {
            self.cx.net.offer(self.cx.now_ns, relay.routes.station, &mut packet, size);
        }
    }

    /// Removes a segment from the relay's buffer: the channel has delivered it.
    pub(crate) fn relay_delivered(&mut self, i: usize) {
        let (subflow, cx) = (&mut self.subflows[i], &mut self.cx);
        let Some(relay) = &mut subflow.relay else { return };
        relay.bring_up(cx.now_ns);
        relay.sending -= 1;
        subflow.pass_on(cx);
        let (next, Some(relay)) = (subflow.order.next(), &subflow.relay) else { return };
        let least = UPDATE.min(relay.capacity);
        if relay.told_end < next + least && relay.window_end(next) >= relay.told_end + least {
            subflow.send_relay_ack(cx, Stamp::at(cx.now_ns), 0, WINDOW);
        }
    }

    /// Every relay of the connection hears a DataAck of the device on the channel. The relay that passes it
    /// on adds its window.
    pub(crate) fn overhear(&mut self, i: usize, packet: &mut Packet) {
        for subflow in self.subflows.iter_mut() {
            let Some(relay) = &mut subflow.relay else { continue };
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

    /// Takes a segment at the device that a relay has passed on. Returns what the application wants next.
    pub(crate) fn receive_relayed(&mut self, i: usize, packet: &Packet) -> Next {
        let (subflow, cx, end) = (&mut self.subflows[i], &mut self.cx, &mut *self.end);
        if end.done {
            return Next::Nothing;
        }
        let len = packet.aux() as u16;
        cx.meter(i, packet.aux() + cx.config.sizes.header, Traffic::Down);
        if end.data.accept(packet.dsn(), len) {
            subflow.first_copy_bytes += u64::from(len);
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
    /// Takes a segment into the relay's buffer if there is room. Returns whether the device is known to have
    /// that segment already, and the segment if it was taken.
    fn take_at_relay(&mut self, now_ns: u64, packet: &Packet) -> (bool, Option<Received>) {
        let Some(relay) = &mut self.relay else { return (false, None) };
        relay.bring_up(now_ns);
        let known = packet.dsn() < relay.min;
        // Beyond the window there is no room. The answer tells the source where the window ends.
        if packet.ssn() >= relay.window_end(self.order.next()) {
            return (known, None);
        }
        let (arrival, received) = self.order.accept(packet.ssn(), packet.dsn(), packet.aux() as u16);
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

    /// A packet of this subflow that leaves now.
    fn packet(&self, cx: &Context<'_>, kind: Kind) -> Packet {
        Packet::new(kind, cx.global(self.id.index()) as u32, self.id.epoch, Stamp::at(cx.now_ns))
    }

    /// Passes on the segments that may go.
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
            cx.net.offer(cx.now_ns, station, &mut packet, u32::from(len) + header);
        }
    }

    /// Sends a RelayAck. `trigger` is the segment that causes it, if that segment was taken.
    fn acknowledge_as_relay(&mut self, cx: &mut Context<'_>, echo: Stamp, trigger: Option<Received>) {
        let aux = self.sack(cx.config, &mut cx.net.sacks, trigger);
        self.send_relay_ack(cx, echo, aux, 0);
    }

    /// Sends a RelayAck with a reference to SACK blocks. With the flag [`WINDOW`] it only tells the window.
    fn send_relay_ack(&mut self, cx: &mut Context<'_>, echo: Stamp, aux: u32, flag: u8) {
        let Some(relay) = &mut self.relay else { return };
        relay.told_end = relay.window_end(self.order.next());
        let (s, epoch) = (cx.global(self.id.index()) as u32, self.id.epoch);
        let mut packet = Packet::new(Kind::RelayAck, s, epoch, echo)
            .numbered(self.order.next(), relay.told_end)
            .with_aux(aux)
            .with_flags(flag | if self.ece { ECE } else { 0 });
        cx.net.offer(cx.now_ns, self.first_hop, &mut packet, cx.config.sizes.ack);
    }

    /// Tells the source what the device is known to have: the segment that has come is an old one.
    #[cold]
    fn pass_data_ack(&mut self, cx: &mut Context<'_>) {
        let Some(relay) = &self.relay else { return };
        // It begins after the channel.
        let mut packet = self.packet(cx, Kind::DataAck).numbered(relay.told_end, relay.min).after_hop();
        let hop = cx.net.routes.hop(relay.routes.up, 1);
        cx.net.offer(cx.now_ns, hop, &mut packet, cx.config.sizes.ack);
    }

    /// Sends MIN from the device: the DSN that it expects next.
    fn send_data_ack(&mut self, cx: &mut Context<'_>, min: u32) {
        let Some(relay) = &self.relay else { return };
        let mut packet = self.packet(cx, Kind::DataAck).numbered(0, min);
        let (hop, size) = (cx.net.routes.hop(relay.routes.up, 0), cx.config.sizes.ack);
        cx.net.offer(cx.now_ns, hop, &mut packet, size);
        cx.meter(self.id.index(), size, Traffic::Up);
    }
}
