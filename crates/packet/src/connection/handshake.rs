//! Opening subflows: MP_CAPABLE on the first one, MP_JOIN on the others (RFC 8684, sections 3.1 and
//! 3.2).
//!
//! ```text
//!   device                                   server
//!     │ ── SYN ───────────────────────────────► │
//!     │ ◄────────────────────────── SYN/ACK ─── │     the device may now open further subflows
//!     │ ── third packet ──────────────────────► │     a download may start
//!     │ ◄──── fourth packet (MP_JOIN only) ──── │     an upload over a joined subflow may start
//! ```
//! Deviation: the device repeats its last packet until both ends are established; the server never
//! repeats.

use joulepath_controllers::{self as controllers, Subflow as Window, within};
use joulepath_model::energy::Traffic;

use crate::connection::endpoints::Endpoints;
use crate::connection::selection::STALLED_AFTER;
use crate::connection::subflow::{Phase, SubflowId};
use crate::path::packet::{Kind, Packet, Stamp};

/// SYN retransmissions before the subflow is given up (Linux: tcp_syn_retries).
const SYN_RETRIES: u32 = 6;

impl Endpoints<'_> {
    /// Handles the timer of a subflow that is not established: opens it, repeats its handshake, or
    /// closes it with data unacknowledged.
    pub(crate) fn subflow_timer(&mut self, i: usize) {
        match self.senders[i].phase {
            Phase::Closed => self.open(i),
            Phase::SynSent | Phase::Confirming => self.repeat_handshake(i),
            Phase::Closing => self.abandon(i),
            Phase::Established | Phase::Dead => {}
        }
    }

    /// Opens a subflow that the selector wants on a path without one.
    pub(crate) fn open_again(&mut self, i: usize) {
        let had_one = self.senders[i].id.epoch > 0 || self.senders[i].phase == Phase::Dead;
        self.subflows[i].wanted = true;
        if !self.connection.joined {
            let Some(first) = self.connection.opener else {
                return;
            };
            if first == i || self.subflows[first].handshake_tries < STALLED_AFTER {
                return; // opens with the others after the server's answer
            }
            // The server has not answered on the first path, so this path is tried.
            self.finish_closing(first);
            self.connection.opener = Some(i);
        }
        if had_one {
            self.renew(i);
        }
        if self.cx.now_ns >= self.subflows[i].opens_at_ns {
            self.open(i);
        } else {
            self.set_subflow_timer(i, self.subflows[i].opens_at_ns);
        }
    }

    fn set_subflow_timer(&mut self, i: usize, at_ns: u64) {
        let source = self.cx.config.sources.rto(self.cx.global(i));
        self.senders[i]
            .timer
            .set(at_ns, source, &mut self.cx.net.queue);
    }

    /// Resets the subflow for a new one on its path, except the control plane's values for the
    /// path.
    fn renew(&mut self, i: usize) {
        let (receiver, reception) = (
            &mut self.receivers[i],
            &mut self.connection.receiver.reception,
        );
        if let Some(reception) = reception.as_mut().filter(|_| receiver.relay.is_none()) {
            reception.held_by_subflows -= receiver.order.held();
        }
        let id = SubflowId {
            epoch: receiver.id.epoch.wrapping_add(1),
            ..receiver.id
        };
        let window_end = receiver.renew(id).unwrap_or(u32::MAX);
        self.senders[i].renew(id, window_end, &self.cx.config.transport);
        self.subflows[i].renew();
        self.connection.sender.forget_carrier(i);
        if self.connection.joined && self.connection.opener == Some(i) {
            self.connection.opener = None;
        }
        let own = self.window(i).own;
        let mut window = controllers::Connection::new(1).subflows[0];
        window.own.set_target_share(own.target_share());
        window.own.set_energy_cost(own.energy_cost());
        window.own.set_path_price(own.path_price());
        *self.window(i) = window;
        self.sender().refresh_view(i);
    }

    fn open(&mut self, i: usize) {
        self.cx.catch_up();
        self.set_phase(i, Phase::SynSent);
        let now = self.cx.now();
        if let Some((device, interface)) = self.cx.device_of(i) {
            device.meter.open(interface.index.into(), now);
        }
        self.send_control(i, Kind::Syn, Stamp::at(self.cx.now_ns), 0);
        self.set_handshake_timer(i);
    }

    fn set_handshake_timer(&mut self, i: usize) {
        let tries = self.subflows[i].handshake_tries.min(SYN_RETRIES);
        let wait_ns = self.cx.config.transport.rto_initial.0 << tries;
        self.set_subflow_timer(i, self.cx.now_ns + wait_ns);
    }

    fn repeat_handshake(&mut self, i: usize) {
        self.subflows[i].handshake_tries += 1;
        if self.subflows[i].handshake_tries > SYN_RETRIES {
            return self.kill(i);
        }
        let kind = if self.senders[i].phase == Phase::SynSent {
            Kind::Syn
        } else {
            Kind::Third
        };
        self.send_control(i, kind, Stamp::at(self.cx.now_ns), 0);
        self.set_handshake_timer(i);
    }

    /// Sends a packet without payload; `number` goes into its SSN.
    pub(crate) fn send_control(&mut self, i: usize, kind: Kind, sent: Stamp, number: u32) {
        let (global, receiver) = (self.cx.global(i) as u32, &self.receivers[i]);
        let packet = Packet::new(kind, global, receiver.id.epoch, sent).numbered(number, 0);
        let route = self.connection.route_of(
            kind,
            self.cx.net.routes.of(global),
            receiver.relay.as_deref(),
        );
        let size = self.cx.config.sizes.ack;
        self.cx
            .send(i, self.cx.net.routes.hop(route, 0), packet, size);
        if self.connection.is_from_device(kind) {
            self.cx.meter(i, size, Traffic::Up);
        }
    }

    /// Handles an arriving packet without payload.
    #[cold]
    pub(crate) fn receive_control(&mut self, i: usize, packet: Packet) {
        let phase = self.senders[i].phase;
        if !phase.is_open() {
            return;
        }
        if !self.connection.is_from_device(packet.kind()) {
            self.cx.meter(i, self.cx.config.sizes.ack, Traffic::Down);
        }
        let (now, downloads) = (Stamp::at(self.cx.now_ns), self.cx.downloads);
        let established = phase == Phase::Established;
        match packet.kind() {
            Kind::Syn => {
                // The SYN/ACK carries the send time for the end that needs an RTT: the sender of
                // data.
                self.send_control(
                    i,
                    Kind::SynAck,
                    if downloads { now } else { packet.sent() },
                    0,
                );
            }
            Kind::SynAck => self.syn_acknowledged(i, packet),
            Kind::Third if downloads && !established => {
                self.sample_rtt(i, packet.sent());
                self.establish(i);
            }
            Kind::Third if !downloads && self.connection.opener != Some(i) => {
                self.send_control(i, Kind::Fourth, now, 0)
            }
            Kind::Fourth if !established => self.establish(i),
            Kind::Priority | Kind::Leave => self.receive_wish(i, packet),
            Kind::Request if self.connection.sender.writer.answer(packet.ssn()) => {
                self.sender().push()
            }
            _ => {}
        }
    }

    fn syn_acknowledged(&mut self, i: usize, packet: Packet) {
        let first_time = self.senders[i].phase == Phase::SynSent;
        let uploads = !self.cx.downloads;
        if uploads && first_time {
            self.sample_rtt(i, packet.sent());
        }
        self.send_control(i, Kind::Third, packet.sent(), 0);
        if !first_time {
            return;
        }
        self.set_phase(i, Phase::Confirming);
        self.subflows[i].handshake_tries = 0;
        self.set_handshake_timer(i);
        if !self.connection.joined {
            self.join_others(i);
        }
        if uploads && self.connection.opener == Some(i) {
            self.establish(i);
        }
    }

    /// Opens the other subflows: the server has confirmed MPTCP.
    fn join_others(&mut self, opened: usize) {
        self.connection.joined = true;
        for i in 0..self.subflows.len() {
            if i != opened && self.subflows[i].wanted {
                self.set_subflow_timer(i, self.subflows[i].opens_at_ns.max(self.cx.now_ns));
            }
        }
    }

    fn sample_rtt(&mut self, i: usize, sent: Stamp) {
        let sender = &mut self.senders[i];
        sender.rtt.sample(sent.elapsed_ns(self.cx.now_ns));
        let srtt_us = sender.rtt.srtt_us();
        self.window(i).srtt_us = srtt_us;
    }

    /// Establishes a subflow: the sender of data may now use it.
    fn establish(&mut self, i: usize) {
        self.set_phase(i, Phase::Established);
        self.senders[i].establish(self.cx.now_ns);
        let end = &mut self.connection.sender;
        end.cc.now_us = self.cx.now_ns / 1_000;
        let window = &mut end.cc.subflows[i];
        window.cwnd = self.cx.config.transport.initial_window;
        window.flags = Window::ESTABLISHED;
        within(&mut end.hosting, || end.controller.init(&mut end.cc, i));
        self.sender().tell_of_start(i);
        self.connection.sender.views[i].established = true;
        let starts = !std::mem::replace(&mut self.connection.started, true);
        self.sender().refresh_view(i);
        if starts {
            self.start_application();
        }
        self.sender().push();
    }
}
