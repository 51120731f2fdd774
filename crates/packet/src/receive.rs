//! The receiver of data: reassembly, delivery to the application, acknowledgements (RFC 5681, section 4.2).

use joulepath_model::energy::Traffic;
use joulepath_model::scenario::{Direction, Recovery};
use joulepath_model::units::Nanos;

use crate::application::Next;
use crate::engine::Engine;
use crate::packet::{CE, CWR, ECE, Kind, Packet, Tick};
use crate::reassembly::Arrival;
use crate::subflow::Phase;

/// An ACK at least for every second segment (RFC 5681).
const SEGMENTS_PER_ACK: u32 = 2;

impl Engine {
    pub(crate) fn receive_data(&mut self, packet: Packet) {
        let s = packet.subflow as usize;
        let subflow = &mut self.subflows[s];
        if subflow.phase == Phase::Dead {
            return;
        }
        let c = subflow.connection as usize;
        let connection = &mut self.connections[c];
        let downloads = connection.direction == Direction::Download;
        if let Some(device) = connection.device.as_mut().filter(|_| downloads) {
            let size = packet.aux + self.sizes.header;
            device.meter.on_packet(subflow.interface as usize, Nanos(self.now_ns), size, Traffic::Down);
        }

        let had_holes = subflow.receiver.has_holes();
        let arrival = subflow.receiver.accept(packet.ssn, packet.dsn, packet.aux as u16);
        let mut next = Next::Nothing;
        if arrival == Arrival::InOrder {
            let (mut dsn, mut len) = (packet.dsn, packet.aux as u16);
            loop {
                if connection.receiver.accept(dsn, len) {
                    subflow.stats.first_copy_bytes += u64::from(len);
                }
                match subflow.receiver.next_in_order() {
                    Some(held) => (dsn, len) = held,
                    None => break,
                }
            }
            next = connection.application.delivered(connection.receiver.next(), self.now_ns);
        }

        let marked = packet.flags & CE != 0;
        let echo_changes = if connection.echoes_each_mark {
            marked != std::mem::replace(&mut subflow.receiver.ece, marked)
        } else {
            subflow.receiver.ece = marked || (subflow.receiver.ece && packet.flags & CWR == 0);
            false
        };

        if subflow.receiver.unacknowledged == 0 {
            subflow.receiver.echo = packet.sent;
        }
        subflow.receiver.unacknowledged += 1;
        let at_once = arrival != Arrival::InOrder || had_holes || echo_changes;
        match self.transport.delayed_ack {
            Some(delay) if !at_once && subflow.receiver.unacknowledged < SEGMENTS_PER_ACK => {
                let source = self.sources.delayed_ack(s);
                subflow.delayed_ack.set(self.now_ns + delay.0, source, &mut self.net.queue);
            }
            _ => {
                // Out of order the echo is the clock of the segment itself, so that its RTT is its own.
                let echo = if at_once { packet.sent } else { subflow.receiver.echo };
                self.send_ack(s, echo, packet.ssn);
            }
        }
        self.follow(c, next);
    }

    /// The delayed-ACK timer expired.
    pub(crate) fn send_pending_ack(&mut self, s: usize) {
        let receiver = &self.subflows[s].receiver;
        if receiver.unacknowledged > 0 {
            let (echo, trigger) = (receiver.echo, receiver.next());
            self.send_ack(s, echo, trigger);
        }
    }

    /// Acknowledges everything received; `trigger` is the segment that causes it.
    #[inline]
    fn send_ack(&mut self, s: usize, echo: Tick, trigger: u32) {
        let subflow = &mut self.subflows[s];
        let connection = &self.connections[subflow.connection as usize];
        let receiver = &mut subflow.receiver;
        receiver.unacknowledged = 0;
        subflow.delayed_ack.clear();
        let sacked = self.transport.recovery == Recovery::Sack;
        let blocks = if sacked && receiver.has_holes() {
            self.net.sacks.store(receiver.sack_blocks(trigger))
        } else {
            0
        };
        let packet = Packet {
            arrival_ns: 0,
            sent: echo,
            subflow: s as u32,
            ssn: receiver.next(),
            dsn: connection.receiver.next(),
            aux: blocks,
            kind: Kind::Ack,
            flags: if receiver.ece { ECE } else { 0 },
            hop: 0,
        };
        let downloads = connection.direction == Direction::Download;
        let link = self.net.link_at(subflow.ack_route, 0);
        self.wake_radio(s, link);
        if downloads {
            self.meter(s, self.sizes.ack, Traffic::Up);
        }
        self.net.offer(self.now_ns, link, packet, self.sizes.ack);
    }
}
