//! Path selection: carries out a selector's actions, by handshakes, MP_PRIO and FIN.
//!
//! ```text
//!   device decides:   SYN + MP_JOIN ──► …            an open subflow (`handshake`)
//!                     MP_PRIO ──► the sender sees another backup flag
//!                     FIN ──► the sender gives it nothing new; it is closed when all is acknowledged,
//!                             or after a timeout
//! ```
//! Deviations: MP_PRIO and FIN cross the path once, and the answer is not modelled. If one is lost,
//! a later run of the selector sends it again.

use joulepath_control::select::{Action, Counters, Demand, PathState};
use joulepath_model::units::Nanos;

use crate::connection::endpoints::Endpoints;
use crate::connection::selection::STALLED_AFTER;
use crate::connection::subflow::Phase;
use crate::path::packet::{Kind, Packet, Stamp};
use crate::sender::Congestion;

impl Endpoints<'_> {
    /// The counters of each subflow, as `TCP_INFO` reports them.
    pub(crate) fn counters(&self) -> Vec<Counters> {
        (0..self.subflows.len())
            .map(|i| self.counters_of(i))
            .collect()
    }

    fn counters_of(&self, i: usize) -> Counters {
        let (sender, window) = (&self.senders[i], &self.connection.sender.cc.subflows[i]);
        let repeats = sender
            .rtt
            .timeouts_in_a_row()
            .max(self.subflows[i].handshake_tries);
        // A subflow closed in Loss keeps its congestion state and its count of timeouts.
        let waits = match sender.phase {
            Phase::SynSent | Phase::Confirming => true,
            Phase::Established | Phase::Closing => sender.congestion == Congestion::Loss,
            Phase::Closed | Phase::Dead => false,
        };
        Counters {
            state: match sender.phase {
                Phase::Closed | Phase::Dead => PathState::Closed,
                Phase::SynSent | Phase::Confirming => PathState::Opening,
                Phase::Established => PathState::Open,
                Phase::Closing => PathState::Closing,
            },
            backup: self.connection.sender.views[i].backup,
            stalled: waits && repeats >= STALLED_AFTER,
            srtt: Nanos::from_micros(window.srtt_us.into()),
            cwnd: window.cwnd,
            delivered_bytes: self.receivers[i].first_copy_bytes,
            loss_events: sender.stats.loss_events,
        }
    }

    /// Data that waits: what is written and has not arrived, so that `delivered_bytes` of all paths
    /// and this are the data written; of data that an allocator supplies, the segments that are not
    /// DATA_ACKed.
    pub(crate) fn demand(&self) -> Demand {
        let sender = &self.connection.sender;
        if sender.writer.is_endless() {
            return Demand::Endless;
        }
        let bytes = match sender.writer.written_bytes() {
            Some(written) => {
                let arrived: u64 = self
                    .receivers
                    .iter()
                    .map(|receiver| receiver.first_copy_bytes)
                    .sum();
                written.saturating_sub(arrived)
            }
            None => {
                let segments = sender.writer.written() - sender.data.una();
                u64::from(segments) * self.cx.config.transport.mss.0
            }
        };
        Demand::Bytes(bytes as f64)
    }

    /// Runs the selector and carries out its actions.
    pub(crate) fn look(&mut self) {
        let Some(mut selection) = self.connection.selection.take() else {
            return;
        };
        let (now, demand) = (self.cx.now(), self.demand());
        selection.observer.observe(now, &self.counters(), demand);
        let snapshot =
            selection
                .surroundings
                .snapshot(self.cx.config, now, demand, &selection.observer);
        let actions = selection.selector.decide(&snapshot);
        let period = selection.selector.period(&snapshot);
        let groups = selection.selector.groups();
        self.connection.selection = Some(selection);
        let end = &mut self.connection.sender;
        for (i, group) in groups.into_iter().enumerate().take(self.senders.len()) {
            // Only controllers that own their windows use it.
            end.controller.set_group(&mut end.cc, i, group.into());
        }
        for action in actions {
            self.carry_out(action);
        }
        let source = self.cx.config.sources.look(self.cx.connection as usize);
        self.connection
            .look_timer
            .set(self.cx.now_ns + period.0, source, &mut self.cx.net.queue);
    }

    /// Carries out one action of a selector.
    pub(crate) fn carry_out(&mut self, action: Action) {
        match action {
            Action::Open(i) => self.open_again(i),
            Action::Close(i) => self.ask_to_close(i),
            Action::SetBackup(i, backup) => self.ask_for_priority(i, backup),
        }
    }

    fn ask_for_priority(&mut self, i: usize, backup: bool) {
        if self.senders[i].phase != Phase::Established {
            // The MP_JOIN handshake will carry the backup flag.
            self.set_backup(i, backup);
        } else if self.may_ask(i) {
            self.send_control(
                i,
                Kind::Priority,
                Stamp::at(self.cx.now_ns),
                u32::from(backup),
            );
            if !self.cx.downloads {
                self.set_backup(i, backup);
            }
        }
    }

    fn set_backup(&mut self, i: usize, backup: bool) {
        self.connection.sender.views[i].backup = backup;
    }

    fn ask_to_close(&mut self, i: usize) {
        match self.senders[i].phase {
            Phase::Established => self.send_leave(i),
            Phase::SynSent | Phase::Confirming => self.finish_closing(i),
            _ => {}
        }
    }

    fn send_leave(&mut self, i: usize) {
        if !self.may_ask(i) {
            return;
        }
        self.send_control(i, Kind::Leave, Stamp::at(self.cx.now_ns), 0);
        if !self.cx.downloads {
            self.begin_closing(i);
        }
    }

    /// Whether the last MP_PRIO or FIN is old enough to have been lost. If so, the caller sends
    /// another now.
    fn may_ask(&mut self, i: usize) -> bool {
        let may = self.cx.now_ns >= self.subflows[i].asked_until_ns;
        if may {
            self.subflows[i].asked_until_ns = self.cx.now_ns + self.senders[i].rtt.rto_ns();
        }
        may
    }

    /// Handles the device's MP_PRIO or FIN at the sender of a download.
    pub(crate) fn receive_wish(&mut self, i: usize, packet: Packet) {
        if !self.cx.downloads || self.senders[i].phase != Phase::Established {
            return;
        }
        if packet.kind() == Kind::Leave {
            return self.begin_closing(i);
        }
        self.set_backup(i, packet.ssn() == 1);
        self.sender().push();
    }

    /// Stops assigning new data to the subflow. It sends what is committed to it, as in Linux.
    fn begin_closing(&mut self, i: usize) {
        self.set_phase(i, Phase::Closing);
        self.connection.sender.views[i].established = false;
        if self.senders[i].board.is_empty() && self.connection.sender.committed[i].is_empty() {
            self.finish_closing(i);
        }
        self.sender().push();
    }

    /// Closes a subflow after the ACK for its last data, and sends what that ACK admits.
    #[cold]
    pub(crate) fn close_drained(&mut self, i: usize) {
        self.finish_closing(i);
        self.sender().push_after(i);
    }

    /// Closes a subflow that did not deliver its data in time, and reinjects the data.
    pub(crate) fn abandon(&mut self, i: usize) {
        self.sender().reinject_everything(i);
        self.finish_closing(i);
        self.sender().push();
    }

    pub(crate) fn finish_closing(&mut self, i: usize) {
        let (end, had_data) = (
            &mut self.connection.sender,
            self.senders[i].phase == Phase::Closing,
        );
        if had_data && end.queues_ahead && end.can_reinject() {
            // Linux sends all data again that is not DATA_ACKed, whichever subflow carries it
            // (`__mptcp_retransmit_pending_data`).
            end.data.reinject_all();
        }
        self.close(i);
        self.set_phase(i, Phase::Closed);
        self.subflows[i].wanted = false;
        let epoch = self.senders[i].id.epoch.wrapping_add(1);
        (self.senders[i].id.epoch, self.receivers[i].id.epoch) = (epoch, epoch);
        self.connection.sender.forget_carrier(i);
    }
}
