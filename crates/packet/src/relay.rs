//! TCP relays (004, section IV-A): the subflow ends at the relay, data-level acknowledgements at the device.
//!
//! ```text
//!   source ── data ──► relay ── Relayed ──► channel ──► device
//!     ▲ ◄─ RelayAck ──── │                                 │
//!     └───────────────── │ ◄── DataAck (MIN) ── channel ◄──┘   all relays of the connection overhear it
//! ```
//!
//! - A RelayAck acknowledges segments of the subflow and tells the window: how far the relay's buffer reaches.
//! - A DataAck is the device's DATA_ACK; its DSN is MIN, and MAX lies a fixed range above it. Segments below MAX are passed on at once,
//!   the others when MAX has moved, or from the head when the buffer is full.
//! - A segment stays in the buffer until the channel has delivered it.
//! - Nothing stalls: a full buffer passes on its head; whatever DataAck or window got lost, the source repeats its oldest segment on an idle
//!   subflow after a while, and whoever takes it answers.

use std::collections::VecDeque;

use joulepath_model::energy::Traffic;

use crate::application::Next;
use crate::lane::Lane;
use crate::network::Route;
use crate::packet::{ECE, Kind, Packet, Tick, WINDOW};
use crate::reassembly::Arrival;
use crate::subflow::Phase;

/// A window that was nearly closed is told again when it has opened by this, segments.
const UPDATE: u32 = 2;

/// A relay that ends subflows, for one of them.
pub(crate) struct Relay {
    /// What is no data: from the server past the relay to the device, and back.
    pub(crate) down: Route,
    pub(crate) up: Route,
    /// The channel alone.
    pub(crate) last: Route,
    /// Its station.
    pub(crate) station: u32,
    /// Segments that it holds.
    pub(crate) capacity: u32,
    /// MAX − MIN, segments.
    pub(crate) range: u32,
    /// MIN: all below has arrived at the device, as far as is known here.
    min: u32,
    /// In the order of arrival: DSN and payload.
    waiting: VecDeque<(u32, u16)>,
    /// In the station's queue.
    sending: u32,
    /// First SSN beyond the window that was told last.
    told_end: u32,
    /// Integral of the buffer over time, segments × ns, up to an instant; its maximum.
    held_ns: u128,
    since_ns: u64,
    most: u32,
}

impl Relay {
    pub(crate) fn new(routes: [Route; 3], station: u32, capacity: u32, range: u32) -> Self {
        let [down, up, last] = routes;
        Relay {
            down,
            up,
            last,
            station,
            capacity,
            range,
            min: 0,
            waiting: VecDeque::new(),
            sending: 0,
            told_end: capacity,
            held_ns: 0,
            since_ns: 0,
            most: 0,
        }
    }

    /// Segments in the buffer.
    fn held(&self) -> u32 {
        self.waiting.len() as u32 + self.sending
    }

    /// First SSN beyond the window, if `next` is expected: what is out of order on the subflow lies within.
    fn window_end(&self, next: u32) -> u32 {
        next + self.capacity.saturating_sub(self.held())
    }

    /// The window of a subflow that starts now.
    pub(crate) fn first_window(&mut self) -> u32 {
        self.told_end = self.window_end(0);
        self.told_end
    }

    /// The next segment to pass on: the first below MAX; the head if the buffer is full and nothing of it is on the way.
    fn next(&self) -> Option<usize> {
        let inside = self.waiting.iter().position(|&(dsn, _)| dsn < self.min.saturating_add(self.range));
        let full = self.held() >= self.capacity && self.sending == 0 && !self.waiting.is_empty();
        inside.or(full.then_some(0))
    }

    /// Adds the time since the last change.
    pub(crate) fn bring_up(&mut self, now_ns: u64) {
        let since_ns = std::mem::replace(&mut self.since_ns, now_ns);
        self.held_ns += u128::from(self.held()) * u128::from(now_ns - since_ns);
        self.most = self.most.max(self.held());
    }

    /// Mean of the buffer until now and its maximum, segments.
    pub(crate) fn buffer(&mut self, now_ns: u64) -> (f64, f64) {
        self.bring_up(now_ns);
        (self.held_ns as f64 / now_ns.max(1) as f64, f64::from(self.most))
    }
}

impl Lane<'_> {
    /// A data segment reaches the end of its subflow at the relay.
    pub(crate) fn receive_at_relay(&mut self, i: usize, packet: Packet) {
        let now_ns = self.now_ns;
        let subflow = &mut self.subflows[i];
        let (receiver, Some(relay)) = (&mut subflow.receiver, &mut subflow.relay) else { return };
        relay.bring_up(now_ns);
        let known = packet.dsn < relay.min;
        // Beyond the window there is no room: the answer tells where it ends.
        if packet.ssn < relay.window_end(receiver.next())
            && receiver.accept(packet.ssn, packet.dsn, packet.aux as u16) == Arrival::InOrder
        {
            let mut segment = Some((packet.dsn, packet.aux as u16));
            while let Some((dsn, len)) = segment {
                if dsn >= relay.min {
                    relay.waiting.push_back((dsn, len));
                }
                segment = receiver.next_in_order();
            }
        }
        self.note_mark(i, &packet);
        self.pass_on(i);
        self.acknowledge_as_relay(i, packet.sent, packet.ssn, 0);
        if known {
            self.pass_data_ack(i);
        }
    }

    /// Passes on what may go.
    fn pass_on(&mut self, i: usize) {
        let header = self.common.sizes.header;
        let subflow_index = self.global(i) as u32;
        let subflow = &mut self.subflows[i];
        let Some(relay) = &mut subflow.relay else { return };
        relay.bring_up(self.now_ns);
        while let Some(at) = relay.next().filter(|_| self.net.has_room(relay.station)) {
            let (dsn, len) = relay.waiting.remove(at).expect("found in the buffer");
            relay.sending += 1;
            let packet = Packet {
                dsn,
                aux: u32::from(len),
                kind: Kind::Relayed,
                ..blank(subflow_index, subflow.epoch, self.now_ns)
            };
            self.net.offer(self.now_ns, relay.station, packet, u32::from(len) + header);
        }
    }

    /// The channel has given up a segment: the relay sends it again.
    pub(crate) fn relay_again(&mut self, i: usize, packet: Packet) {
        let size = packet.aux + self.common.sizes.header;
        let Some(relay) = &self.subflows[i].relay else { return };
        self.net.offer(self.now_ns, relay.station, packet, size);
    }

    /// The channel has delivered a segment of the relay's buffer.
    pub(crate) fn relay_delivered(&mut self, i: usize) {
        let now_ns = self.now_ns;
        let Some(relay) = &mut self.subflows[i].relay else { return };
        relay.bring_up(now_ns);
        relay.sending -= 1;
        self.pass_on(i);
        let subflow = &self.subflows[i];
        let (next, Some(relay)) = (subflow.receiver.next(), &subflow.relay) else { return };
        let least = UPDATE.min(relay.capacity);
        if relay.told_end < next + least && relay.window_end(next) >= relay.told_end + least {
            self.acknowledge_as_relay(i, Tick::at(now_ns), next, WINDOW);
        }
    }

    /// A RelayAck, caused by segment `trigger`; with the flag [`WINDOW`] it only tells the window.
    fn acknowledge_as_relay(&mut self, i: usize, echo: Tick, trigger: u32, flag: u8) {
        let subflow_index = self.global(i) as u32;
        let subflow = &mut self.subflows[i];
        let (receiver, Some(relay)) = (&mut subflow.receiver, &mut subflow.relay) else { return };
        let blocks = if receiver.has_holes() && flag == 0 && self.common.transport.recovery.has_sack() {
            self.net.sacks.store(receiver.sack_blocks(trigger))
        } else {
            0
        };
        relay.told_end = relay.window_end(receiver.next());
        let packet = Packet {
            sent: echo,
            ssn: receiver.next(),
            dsn: relay.told_end,
            aux: blocks,
            kind: Kind::RelayAck,
            flags: flag | if receiver.ece { ECE } else { 0 },
            ..blank(subflow_index, subflow.epoch, self.now_ns)
        };
        let link = self.net.link_at(subflow.ack_route, 0);
        self.net.offer(self.now_ns, link, packet, self.common.sizes.ack);
    }

    /// The relay tells the source what it knows of the device: the segment that came is old.
    #[cold]
    fn pass_data_ack(&mut self, i: usize) {
        let subflow_index = self.global(i) as u32;
        let subflow = &self.subflows[i];
        let Some(relay) = &subflow.relay else { return };
        let packet = Packet {
            ssn: relay.told_end,
            dsn: relay.min,
            kind: Kind::DataAck,
            hop: 1, // the channel lies behind it
            ..blank(subflow_index, subflow.epoch, self.now_ns)
        };
        let link = self.net.link_at(relay.up, 1);
        self.net.offer(self.now_ns, link, packet, self.common.sizes.ack);
    }

    /// A DataAck of the device is on the channel: every relay of the connection hears it, and the one that passes it on adds its window.
    pub(crate) fn overhear(&mut self, i: usize, packet: &mut Packet) {
        let now_ns = self.now_ns;
        for j in 0..self.subflows.len() {
            let Some(relay) = &mut self.subflows[j].relay else { continue };
            if packet.dsn > relay.min {
                relay.bring_up(now_ns);
                relay.min = packet.dsn;
                relay.waiting.retain(|&(dsn, _)| dsn >= packet.dsn);
                self.pass_on(j);
            }
        }
        let subflow = &mut self.subflows[i];
        if let Some(relay) = &mut subflow.relay {
            relay.told_end = relay.window_end(subflow.receiver.next());
            packet.ssn = relay.told_end;
        }
    }

    /// A packet between source, relay and device has arrived.
    pub(crate) fn receive_of_relay(&mut self, i: usize, packet: Packet) {
        match packet.kind {
            Kind::Relayed => self.receive_relayed(i, &packet),
            Kind::RelayAck => self.receive_relay_ack(i, packet),
            _ => {
                self.widen_window(i, packet.ssn);
                self.receive_data_ack(packet.dsn);
            }
        }
    }

    /// The device has a segment that a relay has passed on.
    pub(crate) fn receive_relayed(&mut self, i: usize, packet: &Packet) {
        if self.connection.done {
            return;
        }
        let len = packet.aux as u16;
        self.meter(i, packet.aux + self.common.sizes.header, Traffic::Down);
        if self.connection.receiver.accept(packet.dsn, len) {
            self.subflows[i].stats.first_copy_bytes += u64::from(len);
        }
        let (data, now_ns) = (&self.connection.receiver, self.now_ns);
        if let Some(device) = &mut self.connection.device {
            device.reception.arrive(packet.dsn, now_ns);
            device.reception.settle(data.next(), data.held(), now_ns);
        }
        let next = self.connection.application.delivered(data.next(), now_ns);
        self.send_data_ack(i);
        if next != Next::Nothing {
            self.follow(next);
        }
    }

    /// The device tells MIN.
    fn send_data_ack(&mut self, i: usize) {
        let subflow_index = self.global(i) as u32;
        let subflow = &self.subflows[i];
        let Some(relay) = &subflow.relay else { return };
        let packet = Packet {
            dsn: self.connection.receiver.next(),
            kind: Kind::DataAck,
            ..blank(subflow_index, subflow.epoch, self.now_ns)
        };
        let (link, size) = (self.net.link_at(relay.up, 0), self.common.sizes.ack);
        self.net.offer(self.now_ns, link, packet, size);
        self.meter(i, size, Traffic::Up);
    }

    /// The source hears of the subflow's segments and of the window behind them.
    fn receive_relay_ack(&mut self, i: usize, packet: Packet) {
        self.widen_window(i, packet.dsn);
        if packet.flags & WINDOW != 0 {
            return self.push();
        }
        // It says nothing of the data level.
        let dsn = self.connection.sender.una();
        self.receive_ack(i, Packet { dsn, kind: Kind::Ack, ..packet });
        if !self.connection.data_timer.is_set() {
            self.arm_data_behind_relays();
        }
    }

    fn widen_window(&mut self, i: usize, window_end: u32) {
        let subflow = &mut self.subflows[i];
        if window_end > subflow.window_end {
            subflow.window_end = window_end;
            self.refresh_view(i);
        }
    }

    /// The source hears of what has reached the device.
    pub(crate) fn receive_data_ack(&mut self, dsn: u32) {
        if self.connection.done {
            return;
        }
        if self.connection.sender.acknowledge(dsn) {
            self.connection.application.forget(dsn);
            if self.connection.queues_ahead {
                self.arm_data();
            } else {
                self.arm_data_behind_relays();
            }
        }
        self.push();
    }

    /// What no device has acknowledged for two RTOs is repeated; what no relay has acknowledged is the subflow's business.
    fn arm_data_behind_relays(&mut self) {
        let sender = &self.connection.sender;
        if self.connection.queues_ahead || sender.una() == sender.next() {
            return;
        }
        let open = self.subflows.iter().filter(|subflow| subflow.phase == Phase::Established);
        let Some(rto_ns) = open.map(|subflow| subflow.rtt.rto_ns()).max() else { return };
        let source = self.common.sources.data(self.index);
        self.connection.data_timer.set(self.now_ns + 2 * rto_ns, source, &mut self.net.queue);
    }

    /// Nothing has been heard of the device for long: an idle subflow carries the oldest segment again.
    #[cold]
    pub(crate) fn repeat_behind_relays(&mut self) {
        let una = self.connection.sender.una();
        if una == self.connection.sender.next() {
            return;
        }
        let idle = |i: &usize| {
            let subflow = &self.subflows[*i];
            subflow.phase == Phase::Established && subflow.board.is_empty()
        };
        let open = |i: &usize| self.subflows[*i].board.next() < self.subflows[*i].window_end;
        let candidates = || (0..self.subflows.len()).filter(idle);
        if let Some(i) = candidates().find(open).or_else(|| candidates().next()) {
            self.connection.sender.carried_again(una, i);
            let len = self.connection.application.segment_len(una);
            self.subflows[i].stats.reinjections += 1;
            self.send_new(i, una, len);
        }
        self.arm_data_behind_relays();
    }

    /// Whether some subflow ends at a relay.
    pub(crate) fn has_relays(&self) -> bool {
        self.subflows.iter().any(|subflow| subflow.relay.is_some())
    }
}

/// A packet that leaves now.
fn blank(subflow: u32, epoch: u8, now_ns: u64) -> Packet {
    Packet {
        arrival_ns: 0,
        sent: Tick::at(now_ns),
        subflow,
        ssn: 0,
        dsn: 0,
        aux: 0,
        kind: Kind::Relayed,
        flags: 0,
        hop: 0,
        epoch,
    }
}
