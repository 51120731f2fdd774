//! A sender whose data travels through TCP relays: reports of the relays and of the device.

use super::connection::Sender;
use super::subflow::SubflowSender;
use crate::connection::subflow::Phase;

impl Sender<'_> {
    /// Extends the window of subflow `i`'s relay to SSN `window_end`.
    pub(crate) fn widen_window(&mut self, i: usize, window_end: u32) {
        if window_end > self.subflows[i].window_end {
            self.subflows[i].window_end = window_end;
            self.refresh_view(i);
        }
    }

    /// Takes a DATA_ACK of the device.
    pub(crate) fn receive_data_ack(&mut self, dsn: u32) {
        if self.end.acknowledge(dsn) {
            if self.end.queues_ahead {
                self.arm_data();
            } else {
                self.arm_data_past_relays();
            }
        }
        self.push();
    }

    /// Sets the timer of the data level, to retransmit what the device has not acknowledged for two
    /// RTOs. Losses before the relay are repaired by the subflow.
    pub(crate) fn arm_data_past_relays(&mut self) {
        let data = &self.end.data;
        if self.end.queues_ahead || data.una() == data.next() {
            return;
        }
        let open = self
            .subflows
            .iter()
            .filter(|subflow| subflow.phase == Phase::Established);
        if let Some(rto_ns) = open.map(|subflow| subflow.rtt.rto_ns()).max() {
            self.set_data_timer(2 * rto_ns);
        }
    }

    /// Retransmits the oldest segment, which the device has not acknowledged for long, on an idle
    /// subflow.
    #[cold]
    pub(super) fn repeat_past_relays(&mut self) {
        let una = self.end.data.una();
        if una == self.end.data.next() {
            return;
        }
        let idle = |subflow: &&SubflowSender| {
            subflow.phase == Phase::Established && subflow.board.is_empty()
        };
        let open = |subflow: &&SubflowSender| subflow.board.next() < subflow.window_end;
        let mut candidates = self.subflows.iter().filter(idle);
        let found = candidates.clone().find(open).or_else(|| candidates.next());
        if let Some(i) = found.map(|subflow| subflow.id.index()) {
            self.reinject_on(i, una);
        }
        self.arm_data_past_relays();
    }
}
