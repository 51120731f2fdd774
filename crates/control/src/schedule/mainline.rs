//! The default scheduler of mainline Linux MPTCP (`mptcp_subflow_get_send`, 6.x).
//!
//! ```text
//!                 queued bytes (sent, not acknowledged + waiting)
//!   linger time = ───────────────────────────────────────────────      least wins, for a burst of 65428 bytes
//!                          averaged pacing rate
//!
//!                   averaged · queued + current · burst
//!   averaged rate ← ───────────────────────────────────                when chosen
//!                             queued + burst
//! ```
//! It looks at no window: data may be queued on a subflow that cannot send it yet, and stays there. That is the known
//! weakness of this scheduler, and why [`super::Scheduler::queues_ahead`] is true for it alone.
//!
//! Deviations:
//! - payload bytes are counted, where Linux counts the memory of the buffers; both sides of the comparisons scale alike;
//! - all subflows have one MSS, so rates are in packets/s: the MSS cancels;
//! - the socket's send buffer is twice the largest window so far, at least of [`INITIAL_WINDOW`] packets
//!   (`tcp_sndbuf_expand`), without the limit of `tcp_wmem`;
//! - a burst is not shortened by the data-level window, and goes on after a pause; Linux then chooses anew;
//! - a reinjected segment goes to the best subflow that has not carried it; Linux sends it only on an idle one.

use super::{MAX_SUBFLOWS, PathView, candidates, members, not_yet_carriers};

/// Bytes per decision (`MPTCP_SEND_BURST_SIZE`): 65536 less TCP, IPv6 and fragment headers and TCP options.
const BURST_BYTES: u32 = 65_536 - 20 - 40 - 40 - 8;
/// Smallest window for which the send buffer is made, packets (`TCP_INIT_CWND`).
const INITIAL_WINDOW: u32 = 10;
/// The send buffer holds this many windows (`sndbuf_expand` of Reno and CUBIC).
const BUFFER_WINDOWS: u64 = 2;
/// Pacing rate in slow start below half of ssthresh, percent (`tcp_pacing_ss_ratio`).
const PACING_SLOW_START_PERCENT: u64 = 200;
/// Pacing rate otherwise, percent (`tcp_pacing_ca_ratio`).
const PACING_PERCENT: u64 = 120;

/// Least linger time first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mainline {
    mss_bytes: u32,
    /// Averaged pacing rate of each subflow, 1/100 packet/s; 0 before it was first looked at.
    average_rate: [u64; MAX_SUBFLOWS],
    /// Largest window of each subflow so far, packets.
    peak_window: [u32; MAX_SUBFLOWS],
    /// Where the present burst goes.
    current: usize,
    /// What is left of it.
    burst_left_bytes: u32,
}

/// `tcp_update_pacing_rate` in 1/100 packet/s; a subflow without RTT sample counts as one with 1 µs.
fn pacing_rate(path: &PathView) -> u64 {
    let percent = if path.cwnd < path.ssthresh / 2 { PACING_SLOW_START_PERCENT } else { PACING_PERCENT };
    percent * u64::from(path.cwnd.max(path.in_flight)) * 1_000_000 / u64::from(path.srtt_us.max(1))
}

/// Whether Linux hands data to the subflow: it looks at neither Loss state nor window (`mptcp_subflow_active`).
fn is_active(path: &PathView) -> bool {
    path.established
}

impl Mainline {
    pub(super) fn new(mss_bytes: u32) -> Self {
        Mainline {
            mss_bytes,
            average_rate: [0; MAX_SUBFLOWS],
            peak_window: [INITIAL_WINDOW; MAX_SUBFLOWS],
            current: 0,
            burst_left_bytes: 0,
        }
    }

    #[inline]
    pub(super) fn pick(&mut self, paths: &[PathView], carried: u8, segment_bytes: u32) -> Option<usize> {
        for (peak, path) in self.peak_window.iter_mut().zip(paths) {
            *peak = (*peak).max(path.cwnd);
        }
        let mut open = candidates(paths, is_active);
        if carried != 0 {
            open = not_yet_carriers(open, carried);
        }
        if self.burst_left_bytes == 0
            || open & (1 << self.current) == 0
            || !self.has_memory(paths, self.current)
        {
            self.burst_left_bytes = 0;
            self.current = self.choose(paths, open)?;
            self.burst_left_bytes = BURST_BYTES;
        }
        self.burst_left_bytes = self.burst_left_bytes.saturating_sub(segment_bytes);
        Some(self.current)
    }

    /// The subflow with the least linger time, its average rate brought up to date; none while its send buffer is full.
    fn choose(&mut self, paths: &[PathView], open: u8) -> Option<usize> {
        for i in members(open) {
            if self.average_rate[i] == 0 {
                self.average_rate[i] = pacing_rate(&paths[i]);
            }
        }
        let linger =
            |i: &usize| (u128::from(paths[*i].queued_bytes) << 32) / u128::from(self.average_rate[*i].max(1));
        let best = members(open).min_by_key(linger).filter(|&i| self.has_memory(paths, i))?;
        let (queued, burst) = (u128::from(paths[best].queued_bytes), u128::from(BURST_BYTES));
        let sum =
            u128::from(self.average_rate[best]) * queued + u128::from(pacing_rate(&paths[best])) * burst;
        self.average_rate[best] = (sum / (queued + burst)) as u64;
        Some(best)
    }

    /// `sk_stream_memory_free`: less is queued than the send buffer holds.
    fn has_memory(&self, paths: &[PathView], i: usize) -> bool {
        let buffer = BUFFER_WINDOWS * u64::from(self.peak_window[i]) * u64::from(self.mss_bytes);
        u64::from(paths[i].queued_bytes) < buffer
    }
}
