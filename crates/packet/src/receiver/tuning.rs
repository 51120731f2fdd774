//! A receive buffer that grows as in Linux (`net/mptcp/protocol.c`, `mptcp_rcv_space_adjust`).
//!
//! Memory holds what waits for its order, too: an ACK offers what is left (`__mptcp_space`), but
//! never takes an offer back. The application reads at once.

use joulepath_control::schedule::MAX_SUBFLOWS;
use joulepath_model::receive::{Growth, ReceiverRtt};
use joulepath_model::units::Bytes;

use super::reassembly::DataReceiver;
use crate::connection::offers::Offers;
use crate::path::packet::Stamp;

/// Resolution of TCP's timestamps, ns: a segment with the timestamp of the one before gives no
/// sample.
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
        u32::try_from(self.growth.window().0 / self.mss_bytes)
            .unwrap_or(u32::MAX / 4)
            .max(1)
    }

    /// Forgets the RTT of subflow `i`: it is closed.
    pub(crate) fn forget(&mut self, i: usize) {
        let subflow = &mut self.subflows[i];
        *subflow = SubflowRtt {
            ack_delay_ns: subflow.ack_delay_ns,
            ..SubflowRtt::default()
        };
    }

    /// Records a segment of subflow `i`, sent at `sent`, after which `data` is the data level. Call
    /// before the ACK leaves.
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
        self.rtt_ns = self
            .subflows
            .iter()
            .map(|subflow| subflow.rtt.ns())
            .max()
            .unwrap_or(0);
        if self.rtt_ns == 0 || elapsed_ns < self.rtt_ns {
            return;
        }
        self.growth
            .measure(Bytes(delivered_bytes - self.before_bytes));
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

#[cfg(test)]
mod tests {
    use joulepath_model::receive::GrowingMemory;

    use super::*;

    const MSS: Bytes = Bytes(1460);

    /// Memory of 32 KiB: ⌊32,768 · 162 / 256⌋ = 20,736 bytes, 14 segments. ACKs take 10 ms.
    fn tuning() -> Tuning {
        let memory = GrowingMemory {
            initial: Bytes(32 << 10),
            most: Bytes(6 << 20),
        };
        Tuning::new(memory.start(MSS), MSS, [10_000_000; 2].into_iter(), 0)
    }

    /// Segment `dsn` arrives on subflow 0 at `now_ms`, 10 ms after it was sent.
    fn arrive(tuning: &mut Tuning, data: &mut DataReceiver, dsn: u32, now_ms: u64) {
        data.accept(dsn, MSS.0 as u16);
        tuning.arrive(
            0,
            Stamp::at((now_ms - 10) * 1_000_000),
            data,
            now_ms * 1_000_000,
        );
    }

    #[test]
    fn data_that_waits_reduces_what_is_offered_but_takes_nothing_back() {
        let (mut tuning, mut data) = (tuning(), DataReceiver::default());
        let offers = tuning.offers();
        assert_eq!(tuning.window(), 14);
        arrive(&mut tuning, &mut data, 0, 10);
        assert_eq!(offers.take(1), Some(15));
        // Segments 3 and 4 wait: 1 + 14 − 2 = 13 are below the offer.
        arrive(&mut tuning, &mut data, 3, 11);
        arrive(&mut tuning, &mut data, 4, 11);
        assert_eq!(offers.take(1), None);
        // 2 + 14 − 2 = 14 are, too.
        arrive(&mut tuning, &mut data, 1, 12);
        assert_eq!(offers.take(2), None);
        arrive(&mut tuning, &mut data, 2, 13);
        assert_eq!(offers.take(5), Some(19));
    }

    /// The RTT is 10 ms + 10 ms. After 20 ms 21 segments have arrived, against 10 of the initial
    /// window: growth of 110 %, a window of 2 · 21 · (1 + 2 · 1.1) = 134.4 segments.
    #[test]
    fn a_round_lasts_for_the_longest_rtt() {
        let (mut tuning, mut data) = (tuning(), DataReceiver::default());
        (0..20).for_each(|dsn| arrive(&mut tuning, &mut data, dsn, 19));
        assert_eq!(tuning.window(), 14, "the round has not ended");
        arrive(&mut tuning, &mut data, 20, 20);
        assert_eq!(tuning.window(), 134);
        // A subflow with an RTT of 60 ms: the next round lasts until 80 ms.
        data.accept(21, MSS.0 as u16);
        tuning.arrive(1, Stamp::at(0), &data, 50_000_000);
        (22..60).for_each(|dsn| arrive(&mut tuning, &mut data, dsn, 79));
        assert_eq!(tuning.window(), 134);
        arrive(&mut tuning, &mut data, 60, 80);
        let grown = tuning.window();
        assert!(grown > 134);
        // It is closed. The present round ends at 140 ms, the next after 20 ms.
        tuning.forget(1);
        arrive(&mut tuning, &mut data, 61, 140);
        (62..200).for_each(|dsn| arrive(&mut tuning, &mut data, dsn, 159));
        assert_eq!(tuning.window(), grown);
        arrive(&mut tuning, &mut data, 200, 160);
        assert!(tuning.window() > grown);
    }
}
