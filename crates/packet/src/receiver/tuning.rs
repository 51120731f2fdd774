//! A receive buffer that grows as in Linux (`net/mptcp/protocol.c`, `mptcp_rcv_space_adjust`).
//!
//! Memory holds what waits for its order, too: an ACK offers what is left (`__mptcp_space`), but never takes
//! an offer back. The application reads at once.

use joulepath_control::schedule::MAX_SUBFLOWS;
use joulepath_model::receive::{Growth, ReceiverRtt};
use joulepath_model::units::Bytes;

use super::reassembly::DataReceiver;
use crate::connection::offers::Offers;
use crate::path::packet::Stamp;

/// Resolution of TCP's timestamps, ns: a segment with the timestamp of the one before gives no sample.
const TIMESTAMP_NS: u64 = 1_000_000;

/// The autotuning of one connection's receive buffer.
pub(crate) struct Tuning {
    growth: Growth,
    mss_bytes: u64,
    subflows: [SubflowRtt; MAX_SUBFLOWS],
    /// Longest RTT of the subflows at the last measurement, ns; 0: none.
    rtt_ns: u64,
    /// Begin of the present round, ns, and the bytes delivered before it.
    since_ns: u64,
    before_bytes: u64,
    /// The first DSN beyond the window offered.
    end: u32,
    offers: Offers,
}

/// What the receiver knows of a subflow's RTT.
#[derive(Clone, Copy, Default)]
struct SubflowRtt {
    rtt: ReceiverRtt,
    /// Propagation delay of the ACKs, ns.
    ack_delay_ns: u64,
    /// Timestamp of the last segment.
    timestamp: Option<u64>,
}

impl Tuning {
    /// A receiver at `now_ns`. `ack_delays_ns`: propagation delay of each subflow's ACKs.
    pub(crate) fn new(
        growth: Growth,
        mss: Bytes,
        ack_delays_ns: impl Iterator<Item = u64>,
        now_ns: u64,
    ) -> Self {
        let mut subflows = [SubflowRtt::default(); MAX_SUBFLOWS];
        for (subflow, ack_delay_ns) in subflows.iter_mut().zip(ack_delays_ns) {
            subflow.ack_delay_ns = ack_delay_ns;
        }
        let mut tuning = Tuning {
            growth,
            mss_bytes: mss.0,
            subflows,
            rtt_ns: 0,
            since_ns: now_ns,
            before_bytes: 0,
            end: 0,
            offers: Offers::default(),
        };
        tuning.end = tuning.window();
        tuning
    }

    /// The sender's handle.
    pub(crate) fn offers(&self) -> Offers {
        self.offers.clone()
    }

    /// The window, segments.
    pub(crate) fn window(&self) -> u32 {
        u32::try_from(self.growth.window().0 / self.mss_bytes).unwrap_or(u32::MAX / 4).max(1)
    }

    /// Forgets the RTT of subflow `i`: it is closed.
    pub(crate) fn forget(&mut self, i: usize) {
        let subflow = &mut self.subflows[i];
        *subflow = SubflowRtt { ack_delay_ns: subflow.ack_delay_ns, ..SubflowRtt::default() };
    }

    /// Records a segment of subflow `i`, sent at `sent`, after which `data` is the data level. Call before
    /// the ACK leaves.
    #[inline(never)]
    pub(crate) fn arrive(&mut self, i: usize, sent: Stamp, data: &DataReceiver, now_ns: u64) {
        self.subflows[i].sample(sent, now_ns);
        self.adjust(data.delivered_bytes, now_ns);
        let end = data.next() + self.window().saturating_sub(data.held());
        if end > self.end {
            self.end = end;
            self.offers.offer(data.next(), end);
        }
    }

    /// Measures a round at its end: the longest RTT of the subflows.
    fn adjust(&mut self, delivered_bytes: u64, now_ns: u64) {
        let elapsed_ns = now_ns - self.since_ns;
        if delivered_bytes == self.before_bytes || (self.rtt_ns > 0 && elapsed_ns < self.rtt_ns) {
            return;
        }
        self.rtt_ns = self.subflows.iter().map(|subflow| subflow.rtt.ns()).max().unwrap_or(0);
        if self.rtt_ns == 0 || elapsed_ns < self.rtt_ns {
            return;
        }
        self.growth.measure(Bytes(delivered_bytes - self.before_bytes));
        (self.since_ns, self.before_bytes) = (now_ns, delivered_bytes);
    }
}

impl SubflowRtt {
    /// Adds the RTT of a segment and of the ACK that released it.
    fn sample(&mut self, sent: Stamp, now_ns: u64) {
        let timestamp = sent.since_start_ns() / TIMESTAMP_NS;
        if self.timestamp != Some(timestamp) {
            self.timestamp = Some(timestamp);
            self.rtt.add(sent.elapsed_ns(now_ns) + self.ack_delay_ns);
        }
    }
}
