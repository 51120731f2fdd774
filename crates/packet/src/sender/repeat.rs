//! The retransmission timer of the data level, for schedulers that queue ahead
//! (`mptcp_set_timeout`, `__mptcp_retrans`).

use joulepath_control::schedule::PAGE_BYTES;

use super::connection::{Committed, Sender};
use super::subflow::SubflowSender;
use crate::connection::subflow::Phase;

impl Sender<'_> {
    /// Restarts the timer while data waits for its DATA_ACK.
    pub(super) fn arm_data(&mut self) {
        let data = &self.end.data;
        if data.una() == data.next() {
            return self.end.data_timer.clear();
        }
        self.set_data_timer(self.data_timeout_ns());
    }

    /// The longest remaining time of the subflows' own timers, without subflows in timeout; the
    /// minimum RTO if no timer is set.
    pub(super) fn data_timeout_ns(&self) -> u64 {
        let waiting = self
            .subflows
            .iter()
            .filter(|subflow| subflow.rtt.timeouts_in_a_row() == 0);
        let left_ns = waiting
            .filter_map(|subflow| subflow.timer.left_ns(self.cx.now_ns))
            .max();
        left_ns
            .filter(|&left_ns| left_ns > 0)
            .unwrap_or(self.cx.config.transport.rto_min.0)
    }

    pub(super) fn set_data_timer(&mut self, wait_ns: u64) {
        let source = self.cx.config.sources.data(self.cx.connection as usize);
        self.end
            .data_timer
            .set(self.cx.now_ns + wait_ns, source, &mut self.cx.net.queue);
    }

    /// Retransmits the oldest page on an idle subflow: the timer of [`Self::arm_data`] expired
    /// without a DATA_ACK.
    #[cold]
    pub(crate) fn retransmit_data(&mut self) {
        if self.end.has_relays && !self.end.queues_ahead {
            return self.repeat_past_relays();
        }
        let idle = |(i, subflow): &(usize, &SubflowSender)| {
            let unused = subflow.board.is_empty() && self.end.committed[*i].is_empty();
            subflow.phase == Phase::Established && unused && !self.end.views[*i].backup
        };
        if let Some((i, _)) = self.subflows.iter().enumerate().find(idle) {
            self.commit_page(i);
            self.send_committed(i);
            self.refresh_view(i);
        }
        self.arm_data();
    }

    /// Commits the oldest page that has not been DATA_ACKed to subflow `i`.
    fn commit_page(&mut self, i: usize) {
        let (una, next) = (self.end.data.una(), self.end.data.next());
        let page =
            |dsn: u32| u64::from(dsn) * self.cx.config.transport.mss.0 / u64::from(PAGE_BYTES);
        let until = (una..next)
            .find(|&dsn| page(dsn) > page(una))
            .unwrap_or(next);
        for dsn in una..until {
            self.end.data.carried_again(dsn, i);
            let len = self.end.writer.segment_len(dsn);
            self.end.committed[i].push_back(Committed {
                dsn,
                len,
                is_copy: true,
            });
        }
    }
}
