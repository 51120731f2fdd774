//! The sender of data: ACKs in, window and loss recovery (RFC 5681, 6298, 6582, 6675), segments out.
//!
//! ```text
//!             3 dupacks / SACK rule            timeout (from every state)
//!   OPEN ─────────────────────────► RECOVERY ─────────────────────────► LOSS
//!    │ ▲ ECE                            │                                │
//!    ▼ │                                │ everything sent before is ACKed│
//!   CWR ─────────────► OPEN ◄───────────┴────────────────────────────────┘
//! ```

use joulepath_control::schedule::penalised;
use joulepath_controllers::{AckFlags, LossKind, Subflow as Window};
use joulepath_model::energy::Traffic;
use joulepath_model::scenario::{Direction, Recovery};
use joulepath_model::units::Nanos;

use crate::engine::Engine;
use crate::packet::{CWR, ECE, ECT, Kind, Packet, RETRANSMISSION, Tick};
use crate::scoreboard::Segment;
use crate::subflow::{Congestion, Phase};

impl Engine {
    pub(crate) fn receive_ack(&mut self, packet: Packet) {
        let s = packet.subflow as usize;
        let subflow = &mut self.subflows[s];
        if subflow.phase != Phase::Established {
            if packet.aux != 0 {
                self.net.sacks.take(packet.aux);
            }
            return;
        }
        let c = subflow.connection as usize;
        let connection = &mut self.connections[c];
        if let Some(device) = connection.device.as_mut().filter(|_| connection.direction == Direction::Upload) {
            device.meter.on_packet(subflow.interface as usize, Nanos(self.now_ns), self.sizes.ack, Traffic::Down);
        }
        if connection.sender.acknowledge(packet.dsn) {
            connection.application.forget(packet.dsn);
        }

        let rtt_ns = packet.sent.elapsed_ns(self.now_ns);
        subflow.rtt.sample(rtt_ns);
        subflow.stats.rtt_samples += 1;
        subflow.stats.rtt_sum_ns += rtt_ns;

        let prior_in_flight = subflow.board.in_flight();
        let acked = subflow.board.advance(packet.ssn);
        if acked > 0 {
            subflow.rtt.progress();
            let (source, rto_ns) = (self.sources.rto(s), subflow.rtt.rto_ns());
            if subflow.board.is_empty() {
                subflow.rto.clear();
            } else {
                subflow.rto.set(self.now_ns + rto_ns, source, &mut self.net.queue);
            }
        }
        let newly_lost = if packet.aux == 0 && acked > 0 {
            false
        } else {
            self.note_gaps(s, &packet, acked)
        };

        self.turn_congestion_state(s, acked, newly_lost, packet.flags & ECE != 0);
        self.control_congestion(s, &packet, acked, rtt_ns, prior_in_flight);
        self.repair(s);
        self.push(c);
    }

    /// What an ACK says about segments above a hole; whether something was judged lost.
    fn note_gaps(&mut self, s: usize, packet: &Packet, acked: u32) -> bool {
        let subflow = &mut self.subflows[s];
        if packet.aux != 0 {
            let blocks = self.net.sacks.take(packet.aux);
            subflow.board.sack(blocks.trigger);
            if blocks.serial != subflow.sack_serial {
                // An ACK was lost on the way: what it would have told is in the ranges.
                for &(start, end) in blocks.ranges() {
                    for ssn in start.max(subflow.board.una())..end {
                        subflow.board.sack(ssn);
                    }
                }
            }
            subflow.sack_serial = blocks.serial.wrapping_add(1);
            return subflow.board.judge() > 0;
        }
        let counts = self.transport.recovery == Recovery::NewReno && acked == 0 && !subflow.board.is_empty();
        counts && subflow.board.duplicate_ack() >= self.transport.dup_threshold
    }

    /// Moves between Open, CWR, Recovery and Loss.
    #[inline]
    fn turn_congestion_state(&mut self, s: usize, acked: u32, newly_lost: bool, echo: bool) {
        let subflow = &mut self.subflows[s];
        if subflow.congestion != Congestion::Open && subflow.board.una() >= subflow.recover {
            self.leave_recovery(s);
        }
        let subflow = &mut self.subflows[s];
        match subflow.congestion {
            Congestion::Open if newly_lost => self.enter_recovery(s),
            Congestion::Cwr if newly_lost => self.enter_recovery(s),
            Congestion::Open if echo => self.reduce_for_mark(s),
            // A partial ACK: the next hole is lost, too (RFC 6582, section 3.2).
            Congestion::Recovery if acked > 0 && self.transport.recovery == Recovery::NewReno => {
                subflow.board.mark_head_lost();
            }
            _ => {}
        }
    }

    fn window(&mut self, s: usize) -> &mut Window {
        let subflow = &self.subflows[s];
        &mut self.connections[subflow.connection as usize].cc.subflows[subflow.local as usize]
    }

    /// One congestion episode: the controller says the new ssthresh, packets.
    fn reduce(&mut self, s: usize, kind: LossKind) -> u32 {
        self.integrate_cwnd(s);
        let subflow = &mut self.subflows[s];
        subflow.stats.loss_events += 1;
        let connection = &mut self.connections[subflow.connection as usize];
        connection.cc.now_us = self.now_ns / 1_000;
        let controller = connection.controller;
        let ssthresh = controller.on_loss(&mut connection.cc, subflow.local as usize, kind);
        connection.cc.subflows[subflow.local as usize].ssthresh = ssthresh;
        ssthresh
    }

    fn enter_recovery(&mut self, s: usize) {
        let reduced_already = self.subflows[s].congestion == Congestion::Cwr;
        if !reduced_already {
            let ssthresh = self.reduce(s, LossKind::FastRetransmit);
            self.window(s).cwnd = ssthresh;
        }
        let window = self.window(s);
        window.flags |= Window::RECOVERY;
        let subflow = &mut self.subflows[s];
        subflow.congestion = Congestion::Recovery;
        subflow.recover = subflow.board.next();
        subflow.rescued = false;
        subflow.cwr_pending = true;
        if self.transport.recovery == Recovery::NewReno {
            subflow.board.mark_head_lost();
        }
        // Fast retransmit does not ask the pipe (RFC 6675, section 5, step 4.3).
        if let Some(ssn) = subflow.board.next_repair() {
            self.retransmit(s, ssn);
        }
    }

    fn reduce_for_mark(&mut self, s: usize) {
        let ssthresh = self.reduce(s, LossKind::Ecn);
        let window = self.window(s);
        window.cwnd = ssthresh;
        window.flags |= Window::RECOVERY;
        let subflow = &mut self.subflows[s];
        subflow.congestion = Congestion::Cwr;
        subflow.recover = subflow.board.next();
        subflow.cwr_pending = true;
    }

    fn leave_recovery(&mut self, s: usize) {
        self.integrate_cwnd(s);
        let subflow = &mut self.subflows[s];
        let reduced = subflow.congestion == Congestion::Recovery;
        subflow.congestion = Congestion::Open;
        subflow.board.forget_duplicates();
        let window = self.window(s);
        window.flags &= !(Window::RECOVERY | Window::LOSS);
        if reduced {
            window.cwnd = window.ssthresh;
        }
    }

    /// Tells the controller of the ACK.
    #[inline]
    fn control_congestion(&mut self, s: usize, packet: &Packet, acked: u32, rtt_ns: u64, prior_in_flight: u32) {
        self.integrate_cwnd(s);
        let subflow = &mut self.subflows[s];
        let local = subflow.local as usize;
        let connection = &mut self.connections[subflow.connection as usize];
        connection.cc.now_us = self.now_ns / 1_000;
        let window = &mut connection.cc.subflows[local];
        window.srtt_us = subflow.rtt.srtt_us();
        let limited = prior_in_flight >= window.cwnd
            || (window.cwnd < window.ssthresh && 2 * prior_in_flight >= window.cwnd);
        let round_ends = subflow.board.una() > window.own.round_end;
        if round_ends {
            window.own.round_end = subflow.board.next();
        }
        let flags = AckFlags::NONE
            .with(AckFlags::ECE, packet.flags & ECE != 0)
            .with(AckFlags::CWND_LIMITED, limited)
            .with(AckFlags::ROUND_END, round_ends);
        let rtt_us = rtt_ns.div_ceil(1_000) as u32;
        let controller = connection.controller;
        controller.on_ack(&mut connection.cc, local, acked, rtt_us, flags);
        self.refresh_view(s);
    }

    /// Adds cwnd × time to the statistics; before every change of cwnd.
    #[inline]
    pub(crate) fn integrate_cwnd(&mut self, s: usize) {
        let subflow = &mut self.subflows[s];
        let cwnd = self.connections[subflow.connection as usize].cc.subflows[subflow.local as usize].cwnd;
        let since_ns = std::mem::replace(&mut subflow.cwnd_since_ns, self.now_ns);
        subflow.stats.cwnd_ns += u128::from(u64::from(cwnd) * (self.now_ns - since_ns));
    }

    /// Shows the scheduler how the subflow stands.
    #[inline]
    pub(crate) fn refresh_view(&mut self, s: usize) {
        let subflow = &self.subflows[s];
        let local = subflow.local as usize;
        let connection = &mut self.connections[subflow.connection as usize];
        let window = &connection.cc.subflows[local];
        let view = &mut connection.views[local];
        view.cwnd = window.cwnd;
        view.ssthresh = window.ssthresh;
        view.srtt_us = window.srtt_us;
        view.in_flight = subflow.board.in_flight();
        view.in_loss = subflow.congestion == Congestion::Loss;
        view.in_recovery = matches!(subflow.congestion, Congestion::Recovery | Congestion::Cwr);
        if connection.scheduler.queues_ahead() {
            let unacked = subflow.board.next() - subflow.board.una();
            let packets = unacked + connection.committed[local].len() as u32;
            view.queued_bytes = packets.saturating_mul(self.transport.mss.0 as u32);
        }
    }

    /// Retransmits what the window admits.
    #[inline]
    fn repair(&mut self, s: usize) {
        if self.subflows[s].congestion == Congestion::Open {
            return;
        }
        loop {
            let cwnd = self.window(s).cwnd;
            let board = &mut self.subflows[s].board;
            if board.in_flight() >= cwnd {
                return;
            }
            match board.next_repair() {
                Some(ssn) => self.retransmit(s, ssn),
                None => return self.rescue_tail(s),
            }
        }
    }

    /// Without new data, holes and the tail are repaired on suspicion (RFC 6675, NextSeg rules 3 and 4).
    fn rescue_tail(&mut self, s: usize) {
        let subflow = &self.subflows[s];
        let connection = &self.connections[subflow.connection as usize];
        let may_send_new = connection.has_new_data() && connection.sender.window_open();
        if may_send_new || subflow.congestion != Congestion::Recovery || self.transport.recovery != Recovery::Sack {
            return;
        }
        let subflow = &mut self.subflows[s];
        if let Some(ssn) = subflow.board.next_hole() {
            self.retransmit(s, ssn);
        } else if !subflow.rescued && subflow.board.has_gaps() && !subflow.board.is_empty() {
            subflow.rescued = true;
            let last = subflow.board.next() - 1;
            if !subflow.board.is_settled(last) {
                self.retransmit(s, last);
            }
        }
    }

    fn retransmit(&mut self, s: usize, ssn: u32) {
        let subflow = &mut self.subflows[s];
        let segment = subflow.board.retransmit(ssn);
        subflow.stats.retransmissions += 1;
        if ssn == subflow.board.una() {
            // The oldest segment starts anew: its ACK needs another RTT (RFC 6582, section 3.2, step 3; Linux).
            subflow.rto.clear();
        }
        self.transmit(s, ssn, segment, RETRANSMISSION);
        self.refresh_view(s);
    }

    /// A new segment on this subflow.
    pub(crate) fn send_new(&mut self, s: usize, dsn: u32, len: u16) {
        let subflow = &mut self.subflows[s];
        if subflow.board.is_empty() && self.now_ns - subflow.last_send_ns > subflow.rtt.rto_ns() {
            self.restart_after_idle(s);
        }
        let subflow = &mut self.subflows[s];
        let ssn = subflow.board.push(dsn, len);
        self.connections[subflow.connection as usize].views[subflow.local as usize].in_flight += 1;
        let segment = subflow.board.get(ssn);
        self.transmit(s, ssn, segment, 0);
    }

    /// RFC 2861 as in Linux: half the window for each RTO of silence, down to the initial window.
    #[cold]
    fn restart_after_idle(&mut self, s: usize) {
        self.integrate_cwnd(s);
        let subflow = &self.subflows[s];
        let mut idle_ns = self.now_ns - subflow.last_send_ns;
        let (local, rto_ns) = (subflow.local as usize, subflow.rtt.rto_ns());
        let connection = &mut self.connections[subflow.connection as usize];
        let window = &mut connection.cc.subflows[local];
        let floor = self.transport.initial_window.min(window.cwnd);
        window.ssthresh = window.ssthresh.max(window.cwnd / 4 * 3);
        while idle_ns > rto_ns && window.cwnd > floor {
            window.cwnd = (window.cwnd / 2).max(floor);
            idle_ns -= rto_ns;
        }
        let controller = connection.controller;
        connection.cc.now_us = self.now_ns / 1_000;
        controller.on_restart(&mut connection.cc, local);
        self.refresh_view(s);
    }

    #[inline]
    fn transmit(&mut self, s: usize, ssn: u32, segment: Segment, mut flags: u8) {
        let subflow = &mut self.subflows[s];
        if self.transport.ecn {
            flags |= ECT;
            if std::mem::take(&mut subflow.cwr_pending) {
                flags |= CWR;
            }
        }
        subflow.stats.segments += 1;
        subflow.last_send_ns = self.now_ns;
        if !subflow.rto.is_set() {
            let (source, rto_ns) = (self.sources.rto(s), subflow.rtt.rto_ns());
            subflow.rto.set(self.now_ns + rto_ns, source, &mut self.net.queue);
        }
        let packet = Packet {
            arrival_ns: 0,
            sent: Tick::at(self.now_ns),
            subflow: s as u32,
            ssn,
            dsn: segment.dsn,
            aux: u32::from(segment.len),
            kind: Kind::Data,
            flags,
            hop: 0,
        };
        let (c, size) = (subflow.connection as usize, u32::from(segment.len) + self.sizes.header);
        let link = self.net.link_at(subflow.data_route, 0);
        self.wake_radio(s, link);
        if self.connections[c].direction == Direction::Upload {
            self.meter(s, size, Traffic::Up);
        }
        self.net.offer(self.now_ns, link, packet, size);
    }

    /// Sends whatever windows and scheduler admit.
    pub(crate) fn push(&mut self, c: usize) {
        let queues_ahead = self.connections[c].scheduler.queues_ahead();
        if queues_ahead {
            self.send_committed(c);
        }
        while let Some((local, dsn, len)) = self.connections[c].next_assignment() {
            let s = self.connections[c].subflow(local);
            if queues_ahead {
                self.connections[c].committed[local].push_back((dsn, len));
                self.send_committed_on(s);
                self.refresh_view(s);
            } else {
                self.send_new(s, dsn, len);
            }
        }
        if self.connections[c].n > 1 {
            self.rescue_connection(c);
        }
    }

    fn send_committed(&mut self, c: usize) {
        for local in 0..self.connections[c].n {
            self.send_committed_on(self.connections[c].subflow(local));
        }
    }

    fn send_committed_on(&mut self, s: usize) {
        let (c, local) = (self.subflows[s].connection as usize, self.subflows[s].local as usize);
        while self.connections[c].views[local].has_space() {
            let Some((dsn, len)) = self.connections[c].committed[local].pop_front() else { return };
            self.send_new(s, dsn, len);
        }
    }

    /// Opportunistic retransmission and penalisation while the data-level window is full.
    fn rescue_connection(&mut self, c: usize) {
        let connection = &mut self.connections[c];
        let una = connection.sender.una();
        if connection.sender.window_open() || una == connection.sender.next() {
            return;
        }
        let carried = connection.sender.carried(una);
        let n = connection.n;
        let Some(rescue) = connection.scheduler.rescue(&connection.views[..n], Nanos(self.now_ns), carried) else {
            return;
        };
        for local in (0..n).filter(|local| rescue.penalise & (1 << local) != 0) {
            let s = self.connections[c].subflow(local);
            self.integrate_cwnd(s);
            let window = self.window(s);
            (window.cwnd, window.ssthresh) = penalised(window.cwnd, window.ssthresh);
            self.refresh_view(s);
        }
        if let Some(local) = rescue.retransmit_on {
            let connection = &mut self.connections[c];
            connection.sender.carried_again(una, local);
            let (s, len) = (connection.subflow(local), connection.application.segment_len(una));
            self.subflows[s].stats.reinjections += 1;
            self.send_new(s, una, len);
        }
    }

    /// The retransmission timer expired (RFC 6298, section 5; RFC 5681, section 3.1, eq. 4).
    pub(crate) fn on_timeout(&mut self, s: usize) {
        let subflow = &mut self.subflows[s];
        if subflow.board.is_empty() {
            return;
        }
        subflow.stats.timeouts += 1;
        let first = subflow.congestion != Congestion::Loss || subflow.rtt.timeouts_in_a_row() == 0;
        subflow.rtt.back_off();
        if subflow.rtt.timeouts_in_a_row() > self.transport.max_retries {
            self.kill(s);
            return;
        }
        if first {
            self.reduce(s, LossKind::Timeout);
        }
        self.integrate_cwnd(s);
        let window = self.window(s);
        window.cwnd = 1;
        window.flags = (window.flags & !Window::RECOVERY) | Window::LOSS;
        let subflow = &mut self.subflows[s];
        subflow.congestion = Congestion::Loss;
        subflow.recover = subflow.board.next();
        subflow.cwr_pending = true;
        subflow.board.mark_all_lost();
        let (c, source, rto_ns) = (subflow.connection as usize, self.sources.rto(s), subflow.rtt.rto_ns());
        subflow.rto.set(self.now_ns + rto_ns, source, &mut self.net.queue);
        self.refresh_view(s);
        self.reinject_all(s);
        self.repair(s);
        self.push(c);
    }

    /// Everything that this subflow holds may travel on another one.
    fn reinject_all(&mut self, s: usize) {
        let subflow = &self.subflows[s];
        let connection = &mut self.connections[subflow.connection as usize];
        if connection.n > 1 {
            for segment in subflow.board.unsacked() {
                connection.sender.reinject(segment.dsn);
            }
        }
    }

    /// The subflow is given up; what it carried travels on.
    pub(crate) fn kill(&mut self, s: usize) {
        self.reinject_all(s);
        self.integrate_cwnd(s);
        let subflow = &mut self.subflows[s];
        subflow.phase = Phase::Dead;
        subflow.rto.clear();
        subflow.delayed_ack.clear();
        let (c, local) = (subflow.connection as usize, subflow.local as usize);
        let interface = subflow.interface as usize;
        let connection = &mut self.connections[c];
        connection.views[local].established = false;
        connection.cc.subflows[local].flags = 0;
        for (dsn, _) in std::mem::take(&mut connection.committed[local]) {
            connection.sender.reinject(dsn);
        }
        if let Some(device) = &mut connection.device {
            device.meter.close(interface, Nanos(self.now_ns));
        }
        self.push(c);
    }
}
