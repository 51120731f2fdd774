//! Opening subflows: MP_CAPABLE for the first, MP_JOIN for the others (RFC 8684, sections 3.1 and 3.2).
//!
//! ```text
//!   device                                   server
//!     │ ── SYN ───────────────────────────────► │
//!     │ ◄────────────────────────── SYN/ACK ─── │     the device may now open further subflows
//!     │ ── third packet ──────────────────────► │     a download may start
//!     │ ◄──── fourth packet (MP_JOIN only) ──── │     an upload over a joined subflow may start
//! ```
//! Deviation: the device repeats its last packet until both ends are established; the server does not repeat its own.

use joulepath_controllers::Subflow as Window;
use joulepath_model::energy::Traffic;
use joulepath_model::scenario::Direction;
use joulepath_model::units::Nanos;

use crate::application::Next;
use crate::engine::Engine;
use crate::packet::{Kind, Packet, Tick};
use crate::subflow::Phase;

/// SYNs are repeated this often before the subflow is given up (Linux tcp_syn_retries).
const SYN_RETRIES: u32 = 6;

impl Engine {
    /// The device opens a subflow.
    pub(crate) fn open(&mut self, s: usize) {
        let subflow = &mut self.subflows[s];
        subflow.phase = Phase::SynSent;
        if let Some(device) = &mut self.connections[subflow.connection as usize].device {
            device.meter.open(subflow.interface as usize, Nanos(self.now_ns));
        }
        self.send_control(s, Kind::Syn, Tick::at(self.now_ns), 0);
        self.set_handshake_timer(s);
    }

    fn set_handshake_timer(&mut self, s: usize) {
        let subflow = &mut self.subflows[s];
        let wait_ns = self.transport.rto_initial.0 << subflow.handshake_tries.min(SYN_RETRIES);
        subflow.rto.set(self.now_ns + wait_ns, self.sources.rto(s), &mut self.net.queue);
    }

    pub(crate) fn repeat_handshake(&mut self, s: usize) {
        let subflow = &mut self.subflows[s];
        subflow.handshake_tries += 1;
        if subflow.handshake_tries > SYN_RETRIES {
            self.kill(s);
            return;
        }
        let kind = if subflow.phase == Phase::SynSent { Kind::Syn } else { Kind::Third };
        self.send_control(s, kind, Tick::at(self.now_ns), 0);
        self.set_handshake_timer(s);
    }

    /// Sends a packet without payload; `number` is that of a request.
    pub(crate) fn send_control(&mut self, s: usize, kind: Kind, sent: Tick, number: u32) {
        let packet = Packet {
            arrival_ns: 0,
            sent,
            subflow: s as u32,
            ssn: number,
            dsn: 0,
            aux: 0,
            kind,
            flags: 0,
            hop: 0,
        };
        let subflow = &self.subflows[s];
        let downloads = self.downloads(subflow);
        let from_device = match kind {
            Kind::Syn | Kind::Third => true,
            Kind::Request => downloads,
            _ => false,
        };
        let with_data = from_device != downloads;
        let route = if with_data { subflow.data_route } else { subflow.ack_route };
        let link = self.net.link_at(route, 0);
        self.wake_radio(s, link);
        if from_device {
            self.meter(s, self.sizes.ack, Traffic::Up);
        }
        self.net.offer(self.now_ns, link, packet, self.sizes.ack);
    }

    /// A packet without payload has arrived.
    pub(crate) fn receive_control(&mut self, packet: Packet) {
        let s = packet.subflow as usize;
        let subflow = &self.subflows[s];
        if subflow.phase == Phase::Dead {
            return;
        }
        let (c, local) = (subflow.connection as usize, subflow.local);
        let downloads = self.downloads(subflow);
        match packet.kind {
            Kind::Syn => {
                // The SYN/ACK carries the clock of the end that will need an RTT: the sender of data.
                let sent = if downloads { Tick::at(self.now_ns) } else { packet.sent };
                self.send_control(s, Kind::SynAck, sent, 0);
            }
            Kind::SynAck => {
                self.meter(s, self.sizes.ack, Traffic::Down);
                self.syn_acknowledged(s, packet);
            }
            Kind::Third => {
                if downloads && self.subflows[s].phase != Phase::Established {
                    self.sample_rtt(s, packet.sent);
                    self.establish(s);
                }
                if !downloads && local > 0 {
                    self.send_control(s, Kind::Fourth, Tick::at(self.now_ns), 0);
                }
            }
            Kind::Fourth => {
                self.meter(s, self.sizes.ack, Traffic::Down);
                if self.subflows[s].phase != Phase::Established {
                    self.establish(s);
                }
            }
            Kind::Request => {
                if !downloads {
                    self.meter(s, self.sizes.ack, Traffic::Down);
                }
                if self.connections[c].application.answer(packet.ssn) {
                    self.push(c);
                }
            }
            Kind::Data | Kind::Ack | Kind::Cross => unreachable!("dispatched elsewhere"),
        }
    }

    fn syn_acknowledged(&mut self, s: usize, packet: Packet) {
        let subflow = &mut self.subflows[s];
        let c = subflow.connection as usize;
        let first_time = subflow.phase == Phase::SynSent;
        if first_time {
            subflow.phase = Phase::Confirming;
            subflow.handshake_tries = 0;
        }
        let uploads = self.connections[c].direction == Direction::Upload;
        if uploads && first_time {
            self.sample_rtt(s, packet.sent);
        }
        self.send_control(s, Kind::Third, packet.sent, 0);
        if first_time {
            self.set_handshake_timer(s);
            if !self.connections[c].joined {
                self.join_others(c, s);
            }
            if uploads && s == self.connections[c].first as usize {
                self.establish(s);
            }
        }
    }

    /// The device knows that the server speaks MPTCP: the other subflows may be opened.
    fn join_others(&mut self, c: usize, opened: usize) {
        let connection = &mut self.connections[c];
        connection.joined = true;
        for s in connection.first as usize..connection.first as usize + connection.n {
            if s != opened {
                let at_ns = self.subflows[s].opens_at_ns.max(self.now_ns);
                self.subflows[s].rto.set(at_ns, self.sources.rto(s), &mut self.net.queue);
            }
        }
    }

    fn sample_rtt(&mut self, s: usize, sent: Tick) {
        let subflow = &mut self.subflows[s];
        subflow.rtt.sample(sent.elapsed_ns(self.now_ns));
        let srtt_us = subflow.rtt.srtt_us();
        let connection = &mut self.connections[subflow.connection as usize];
        connection.cc.subflows[subflow.local as usize].srtt_us = srtt_us;
    }

    /// The sender of data may send.
    fn establish(&mut self, s: usize) {
        let subflow = &mut self.subflows[s];
        subflow.phase = Phase::Established;
        subflow.rto.clear();
        subflow.cwnd_since_ns = self.now_ns;
        subflow.last_send_ns = self.now_ns;
        let (c, local) = (subflow.connection as usize, subflow.local as usize);
        let connection = &mut self.connections[c];
        let controller = connection.controller;
        connection.cc.now_us = self.now_ns / 1_000;
        let window = &mut connection.cc.subflows[local];
        window.cwnd = self.transport.initial_window;
        window.flags = Window::ESTABLISHED;
        controller.init(&mut connection.cc, local);
        let first = connection.views[..connection.n].iter().all(|view| !view.established);
        connection.views[local].established = true;
        self.refresh_view(s);
        let next = if first && !self.connections[c].started {
            self.connections[c].started = true;
            self.connections[c].application.start(self.now_ns)
        } else {
            Next::Nothing
        };
        self.follow(c, next);
        self.push(c);
    }
}
