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

use joulepath_controllers::{self as controllers, Subflow as Window};
use joulepath_model::energy::Traffic;

use crate::lane::Lane;
use crate::packet::{Kind, Packet, Tick};
use crate::select::STALLED_AFTER;
use crate::subflow::Phase;

/// SYNs are repeated this often before the subflow is given up (Linux tcp_syn_retries).
const SYN_RETRIES: u32 = 6;

impl Lane<'_> {
    /// The timer of a subflow: it opens, repeats its handshake, or retransmits.
    pub(crate) fn retransmission_timer(&mut self, i: usize) {
        match self.subflows[i].phase {
            Phase::Closed => self.open(i),
            Phase::SynSent | Phase::Confirming => self.repeat_handshake(i),
            Phase::Established => self.on_timer(i),
            Phase::Closing => self.abandon(i),
            Phase::Dead => {}
        }
    }

    /// The selector wants a subflow on a path that has none.
    pub(crate) fn open_again(&mut self, i: usize) {
        let had_one = self.subflows[i].epoch > 0 || self.subflows[i].phase == Phase::Dead;
        self.subflows[i].wanted = true;
        if !self.connection.joined {
            let Some(first) = self.connection.opener else { return };
            if first == i || self.subflows[first].handshake_tries < STALLED_AFTER {
                return; // opens with the others, as soon as the server has answered
            }
            // The server has not answered on the path that was tried first: this one is tried.
            self.finish_closing(first);
            self.connection.opener = Some(i);
        }
        if had_one {
            self.renew(i);
        }
        if self.now_ns >= self.subflows[i].opens_at_ns {
            self.open(i);
        } else {
            let (at_ns, source) = (self.subflows[i].opens_at_ns, self.common.sources.rto(self.global(i)));
            self.subflows[i].rto.set(at_ns, source, &mut self.net.queue);
        }
    }

    /// A new subflow starts with a new window; what the control plane told of the path stays.
    fn renew(&mut self, i: usize) {
        if let Some(device) = self.connection.device.as_mut().filter(|_| self.subflows[i].relay.is_none()) {
            device.reception.held_by_subflows -= self.subflows[i].receiver.held();
        }
        self.subflows[i].renew(&self.common.transport);
        self.connection.sender.forget_carrier(i);
        self.connection.scheduler.forget(i);
        if self.connection.joined && self.connection.opener == Some(i) {
            self.connection.opener = None;
        }
        let own = self.window(i).own;
        let mut window = controllers::Connection::new(1).subflows[0];
        window.own.set_target_share(own.target_share());
        window.own.set_energy_cost(own.energy_cost());
        window.own.set_path_price(own.path_price());
        *self.window(i) = window;
        self.refresh_view(i);
    }

    /// The device opens a subflow.
    fn open(&mut self, i: usize) {
        self.catch_up();
        let now = self.now();
        self.subflows[i].phase = Phase::SynSent;
        if let Some(device) = &mut self.connection.device {
            device.meter.open(self.subflows[i].interface as usize, now);
        }
        self.send_control(i, Kind::Syn, Tick::at(self.now_ns), 0);
        self.set_handshake_timer(i);
    }

    fn set_handshake_timer(&mut self, i: usize) {
        let source = self.common.sources.rto(self.global(i));
        let subflow = &mut self.subflows[i];
        let wait_ns = self.common.transport.rto_initial.0 << subflow.handshake_tries.min(SYN_RETRIES);
        subflow.rto.set(self.now_ns + wait_ns, source, &mut self.net.queue);
    }

    fn repeat_handshake(&mut self, i: usize) {
        let subflow = &mut self.subflows[i];
        subflow.handshake_tries += 1;
        if subflow.handshake_tries > SYN_RETRIES {
            return self.kill(i);
        }
        let kind = if subflow.phase == Phase::SynSent { Kind::Syn } else { Kind::Third };
        self.send_control(i, kind, Tick::at(self.now_ns), 0);
        self.set_handshake_timer(i);
    }

    /// Sends a packet without payload; `number` is that of a request.
    pub(crate) fn send_control(&mut self, i: usize, kind: Kind, sent: Tick, number: u32) {
        let packet = Packet {
            arrival_ns: 0,
            sent,
            subflow: self.global(i) as u32,
            ssn: number,
            dsn: 0,
            aux: 0,
            kind,
            flags: 0,
            hop: 0,
            epoch: self.subflows[i].epoch,
        };
        let route = self.connection.route_of(kind, &self.subflows[i]);
        let link = self.net.link_at(route, 0);
        let size = self.common.sizes.ack;
        self.offer(i, link, packet, size);
        if self.connection.is_from_device(kind) {
            self.meter(i, size, Traffic::Up);
        }
    }

    /// A packet without payload has arrived.
    #[cold]
    pub(crate) fn receive_control(&mut self, i: usize, packet: Packet) {
        if matches!(self.subflows[i].phase, Phase::Closed | Phase::Dead) {
            return;
        }
        if !self.connection.is_from_device(packet.kind) {
            self.meter(i, self.common.sizes.ack, Traffic::Down);
        }
        let established = self.subflows[i].phase == Phase::Established;
        match packet.kind {
            Kind::Syn => {
                // The SYN/ACK carries the clock of the end that will need an RTT: the sender of data.
                let sent = if self.downloads() { Tick::at(self.now_ns) } else { packet.sent };
                self.send_control(i, Kind::SynAck, sent, 0);
            }
            Kind::SynAck => self.syn_acknowledged(i, packet),
            Kind::Third if self.downloads() && !established => {
                self.sample_rtt(i, packet.sent);
                self.establish(i);
            }
            Kind::Third if !self.downloads() && self.connection.opener != Some(i) => {
                self.send_control(i, Kind::Fourth, Tick::at(self.now_ns), 0)
            }
            Kind::Fourth if !established => self.establish(i),
            Kind::Priority | Kind::Leave => self.receive_wish(i, packet),
            Kind::Request if self.connection.application.answer(packet.ssn) => self.push(),
            _ => {}
        }
    }

    fn syn_acknowledged(&mut self, i: usize, packet: Packet) {
        let first_time = self.subflows[i].phase == Phase::SynSent;
        let uploads = !self.downloads();
        if uploads && first_time {
            self.sample_rtt(i, packet.sent);
        }
        self.send_control(i, Kind::Third, packet.sent, 0);
        if !first_time {
            return;
        }
        let subflow = &mut self.subflows[i];
        subflow.phase = Phase::Confirming;
        subflow.handshake_tries = 0;
        self.set_handshake_timer(i);
        if !self.connection.joined {
            self.join_others(i);
        }
        if uploads && self.connection.opener == Some(i) {
            self.establish(i);
        }
    }

    /// The device knows that the server speaks MPTCP: the other subflows may be opened.
    fn join_others(&mut self, opened: usize) {
        self.connection.joined = true;
        for i in 0..self.subflows.len() {
            if i == opened || !self.subflows[i].wanted {
                continue;
            }
            let source = self.common.sources.rto(self.global(i));
            let subflow = &mut self.subflows[i];
            subflow.rto.set(subflow.opens_at_ns.max(self.now_ns), source, &mut self.net.queue);
        }
    }

    fn sample_rtt(&mut self, i: usize, sent: Tick) {
        let subflow = &mut self.subflows[i];
        subflow.rtt.sample(sent.elapsed_ns(self.now_ns));
        let srtt_us = subflow.rtt.srtt_us();
        self.window(i).srtt_us = srtt_us;
    }

    /// The sender of data may send.
    fn establish(&mut self, i: usize) {
        let subflow = &mut self.subflows[i];
        subflow.phase = Phase::Established;
        subflow.rto.clear();
        subflow.cwnd_since_ns = self.now_ns;
        subflow.last_send_ns = self.now_ns;
        let connection = &mut *self.connection;
        connection.cc.now_us = self.now_ns / 1_000;
        let window = &mut connection.cc.subflows[i];
        window.cwnd = self.common.transport.initial_window;
        window.flags = Window::ESTABLISHED;
        connection.controller.init(&mut connection.cc, i);
        connection.views[i].established = true;
        let starts = !std::mem::replace(&mut connection.started, true);
        self.refresh_view(i);
        if starts {
            let next = self.connection.application.start(self.now_ns);
            self.follow(next);
        }
        self.push();
    }
}
