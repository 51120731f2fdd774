//! The sender of data, segments out: retransmissions, new data by the scheduler's choice, reinjection, rescue.

use joulepath_control::schedule::{PAGE_BYTES, Style, penalised};
use joulepath_model::energy::Traffic;
use joulepath_model::scenario::Recovery;
use joulepath_model::units::Nanos;

use crate::lane::Lane;
use crate::packet::{CWR, ECT, Kind, Packet, RETRANSMISSION, Tick};
use crate::scoreboard::Segment;
use crate::subflow::{Congestion, Phase, Waiting};

impl Lane<'_> {
    /// Retransmits what the window admits.
    #[cold]
    pub(crate) fn repair(&mut self, i: usize) {
        loop {
            let cwnd = self.window(i).cwnd;
            let board = &mut self.subflows[i].board;
            if board.in_flight() >= cwnd {
                return;
            }
            match board.next_repair() {
                Some(ssn) => self.retransmit(i, ssn),
                None => return self.rescue_tail(i),
            }
        }
    }

    /// Without new data, holes and the tail are repaired on suspicion (RFC 6675, NextSeg rules 3 and 4).
    fn rescue_tail(&mut self, i: usize) {
        let subflow = &mut self.subflows[i];
        let sack = self.common.transport.recovery == Recovery::Sack;
        if self.connection.may_send_new() || subflow.congestion != Congestion::Recovery || !sack {
            return;
        }
        if let Some(ssn) = subflow.board.next_hole() {
            return self.retransmit(i, ssn);
        }
        if !subflow.rescued && subflow.board.has_gaps() && !subflow.board.is_empty() {
            subflow.rescued = true;
            let last = subflow.board.next() - 1;
            if !subflow.board.is_settled(last) {
                self.retransmit(i, last);
            }
        }
    }

    pub(crate) fn retransmit(&mut self, i: usize, ssn: u32) {
        let subflow = &mut self.subflows[i];
        let segment = subflow.board.retransmit(ssn, Tick::at(self.now_ns));
        subflow.stats.retransmissions += 1;
        if ssn == subflow.board.una() {
            // The oldest segment starts anew: its ACK needs another RTT (RFC 6582, section 3.2, step 3; Linux).
            subflow.rto.clear();
        }
        self.transmit(i, ssn, segment, RETRANSMISSION);
        self.refresh_view(i);
    }

    /// A second copy of a segment that may well be on its way.
    pub(crate) fn copy(&mut self, i: usize, ssn: u32) {
        let subflow = &mut self.subflows[i];
        let segment = subflow.board.copy(ssn, Tick::at(self.now_ns));
        subflow.stats.retransmissions += 1;
        self.transmit(i, ssn, segment, RETRANSMISSION);
        self.refresh_view(i);
    }

    /// A new segment on this subflow.
    #[inline(always)]
    pub(crate) fn send_new(&mut self, i: usize, dsn: u32, len: u16) {
        let subflow = &mut self.subflows[i];
        if subflow.board.is_empty() && self.now_ns - subflow.last_send_ns > subflow.rtt.rto_ns() {
            self.restart_after_idle(i);
        }
        let segment = Segment::new(dsn, len, Tick::at(self.now_ns));
        let ssn = self.subflows[i].board.push(segment);
        self.connection.views[i].in_flight += 1;
        self.transmit(i, ssn, segment, 0);
    }

    /// RFC 2861 as in Linux: half the window for each RTO of silence, down to the initial window.
    #[cold]
    fn restart_after_idle(&mut self, i: usize) {
        self.integrate_cwnd(i);
        let subflow = &self.subflows[i];
        let mut idle_ns = self.now_ns - subflow.last_send_ns;
        let rto_ns = subflow.rtt.rto_ns();
        let connection = &mut *self.connection;
        let window = &mut connection.cc.subflows[i];
        let floor = self.common.transport.initial_window.min(window.cwnd);
        window.ssthresh = window.ssthresh.max(window.cwnd / 4 * 3);
        while idle_ns > rto_ns && window.cwnd > floor {
            window.cwnd = (window.cwnd / 2).max(floor);
            idle_ns -= rto_ns;
        }
        connection.cc.now_us = self.now_ns / 1_000;
        connection.controller.on_restart(&mut connection.cc, i);
        self.refresh_view(i);
    }

    #[inline(always)]
    fn transmit(&mut self, i: usize, ssn: u32, segment: Segment, mut flags: u8) {
        let global = self.global(i);
        let subflow = &mut self.subflows[i];
        // Retransmissions are not ECN-capable (RFC 3168, section 6.1.5).
        if self.common.transport.ecn && flags & RETRANSMISSION == 0 {
            flags |= ECT;
            if std::mem::take(&mut subflow.cwr_pending) {
                flags |= CWR;
            }
        }
        subflow.stats.segments += 1;
        subflow.last_send_ns = self.now_ns;
        subflow.reduction.out += 1;
        if !subflow.rto.is_set() || subflow.waiting == Waiting::Probe {
            self.arm(i);
        }
        let subflow = &mut self.subflows[i];
        let packet = Packet {
            arrival_ns: 0,
            sent: Tick::at(self.now_ns),
            subflow: global as u32,
            ssn,
            dsn: segment.dsn,
            aux: u32::from(segment.len),
            kind: Kind::Data,
            flags,
            hop: 0,
            epoch: subflow.epoch,
        };
        let size = u32::from(segment.len) + self.common.sizes.header;
        let link = self.net.link_at(subflow.data_route, 0);
        self.offer(i, link, packet, size);
        if !self.downloads() {
            self.meter(i, size, Traffic::Up);
        }
    }

    /// Sends whatever windows and scheduler admit.
    #[inline(always)]
    pub(crate) fn push(&mut self) {
        if !self.connection.is_scheduled {
            while self.connection.may_send_new() && self.has_space(0) {
                let len = self.connection.application.segment_len(self.connection.sender.next());
                let dsn = self.connection.sender.take_new(0);
                self.send_new(0, dsn, len);
            }
        } else {
            self.push_by_scheduler();
        }
    }

    /// Whether subflow `i` may send one more segment.
    #[inline]
    fn has_space(&self, i: usize) -> bool {
        let subflow = &self.subflows[i];
        subflow.board.in_flight() < self.connection.cc.subflows[i].cwnd
            && subflow.phase == Phase::Established
            && subflow.board.next() < subflow.window_end
    }

    fn push_by_scheduler(&mut self) {
        if self.connection.queues_ahead {
            return self.push_ahead();
        }
        while self.connection.has_space()
            && let Some((i, dsn, len)) = self.connection.next_assignment(Nanos(self.now_ns))
        {
            self.send_new(i, dsn, len);
        }
        self.rescue();
    }

    /// The scheduler commits segments to subflows before their windows admit them.
    #[cold]
    fn push_ahead(&mut self) {
        self.connection.fill_send_buffer(self.common.transport.mss.0);
        for i in 0..self.subflows.len() {
            self.send_committed(i);
        }
        while let Some((i, dsn, len)) = self.connection.next_assignment(Nanos(self.now_ns)) {
            self.connection.committed[i].push_back((dsn, len));
            self.send_committed(i);
            self.refresh_view(i);
        }
        if !self.connection.data_timer.is_set() {
            self.arm_data();
        }
    }

    /// Sets the timer of the data level: for as long as the subflows' timers have left, if they have not expired yet (`mptcp_set_timeout`).
    #[cold]
    pub(crate) fn arm_data(&mut self) {
        let sender = &self.connection.sender;
        if sender.una() == sender.next() {
            return self.connection.data_timer.clear();
        }
        let waiting = self.subflows.iter().filter(|subflow| subflow.rtt.timeouts_in_a_row() == 0);
        let left_ns = waiting.filter_map(|subflow| subflow.rto.left_ns(self.now_ns)).max();
        let wait_ns = left_ns.filter(|&left_ns| left_ns > 0).unwrap_or(self.common.transport.rto_min.0);
        let source = self.common.sources.data(self.index);
        self.connection.data_timer.set(self.now_ns + wait_ns, source, &mut self.net.queue);
    }

    /// No DATA_ACK for as long as [`Self::arm_data`] says: a subflow that has nothing to do carries the oldest page again
    /// (`__mptcp_retrans`).
    #[cold]
    pub(crate) fn retransmit_data(&mut self) {
        if self.has_relays() && !self.connection.queues_ahead {
            return self.repeat_behind_relays();
        }
        let idle = |i: &usize| {
            let subflow = &self.subflows[*i];
            let unused = subflow.board.is_empty() && self.connection.committed[*i].is_empty();
            subflow.phase == Phase::Established && unused && !self.connection.views[*i].backup
        };
        if let Some(i) = (0..self.subflows.len()).find(idle) {
            let una = self.connection.sender.una();
            let page = |dsn: u32| u64::from(dsn) * self.common.transport.mss.0 / u64::from(PAGE_BYTES);
            let end = (una..self.connection.sender.next()).find(|&dsn| page(dsn) > page(una));
            for dsn in una..end.unwrap_or(self.connection.sender.next()) {
                self.connection.sender.carried_again(dsn, i);
                let len = self.connection.application.segment_len(dsn);
                self.connection.committed[i].push_back((dsn, len));
                self.subflows[i].stats.reinjections += 1;
            }
            self.send_committed(i);
            self.refresh_view(i);
        }
        self.arm_data();
    }

    fn send_committed(&mut self, i: usize) {
        while self.has_space(i) {
            let Some((dsn, len)) = self.connection.committed[i].pop_front() else { return };
            self.send_new(i, dsn, len);
        }
    }

    /// Opportunistic retransmission and penalisation while the data-level window is full.
    fn rescue(&mut self) {
        let connection = &mut *self.connection;
        let una = connection.sender.una();
        if connection.sender.window_open() || una == connection.sender.next() {
            return;
        }
        let carried = connection.sender.carried(una);
        let views = &connection.views[..connection.n];
        let Some(rescue) = connection.scheduler.rescue(views, Nanos(self.now_ns), carried) else { return };
        for i in (0..self.subflows.len()).filter(|i| rescue.penalise & (1 << i) != 0) {
            self.integrate_cwnd(i);
            let window = self.window(i);
            (window.cwnd, window.ssthresh) = penalised(window.cwnd, window.ssthresh);
            self.refresh_view(i);
        }
        if let Some(i) = rescue.retransmit_on {
            self.connection.sender.carried_again(una, i);
            let len = self.connection.application.segment_len(una);
            self.subflows[i].stats.reinjections += 1;
            self.send_new(i, una, len);
        }
    }

    /// Everything that this subflow holds may travel on another one.
    pub(crate) fn reinject_all(&mut self, i: usize) {
        if self.connection.n > 1 && self.connection.style != Style::Copies {
            for segment in self.subflows[i].board.unsacked() {
                self.connection.sender.reinject(segment.dsn);
            }
        }
    }

    /// Everything that this subflow has not delivered travels on another one: what was SACKed, too, for it waits at a receiver that goes.
    pub(crate) fn reinject_outstanding(&mut self, i: usize) {
        if self.connection.n > 1 && self.connection.style != Style::Copies {
            let board = &self.subflows[i].board;
            for ssn in board.una()..board.next() {
                self.connection.sender.reinject(board.get(ssn).dsn);
            }
        }
    }

    /// The subflow is given up; what it carried travels on.
    pub(crate) fn kill(&mut self, i: usize) {
        self.reinject_outstanding(i);
        for (dsn, _) in std::mem::take(&mut self.connection.committed[i]) {
            self.connection.sender.reinject(dsn);
        }
        self.close(i);
        self.push();
    }

    /// No packet leaves this subflow from now on, and none is taken in.
    pub(crate) fn close(&mut self, i: usize) {
        self.integrate_cwnd(i);
        self.catch_up();
        let now = self.now();
        let subflow = &mut self.subflows[i];
        let was_open = !matches!(subflow.phase, Phase::Closed | Phase::Dead);
        subflow.phase = Phase::Dead;
        subflow.rto.clear();
        subflow.delayed_ack.clear();
        self.connection.views[i].established = false;
        self.connection.cc.subflows[i].flags = 0;
        self.connection.cc.subflows[i].cwnd = 0;
        if let Some(device) = self.connection.device.as_mut().filter(|_| was_open) {
            device.meter.close(subflow.interface as usize, now);
        }
    }
}
