//! The default scheduler of mainline Linux MPTCP (`mptcp_subflow_get_send`, 6.x).
//!
//! ```text
//!                 queued bytes (sent, not acknowledged + waiting)
//!   linger time = ───────────────────────────────────────────────   least wins, for a burst of 65428 bytes
//!                          averaged pacing rate
//!
//!                   averaged · queued + current · burst
//!   averaged rate ← ───────────────────────────────────                when chosen
//!                             queued + burst
//! ```
//! A burst ends when the sender must stop: windows or memory are full, or there is no more data.
//! After the next ACK Linux chooses again (`__mptcp_check_push`), even within a page, and a burst
//! is at most as long as the receiver's window. So a connection limited by its window sends each
//! admitted piece on the subflow that sends it soonest.
//!
//! It ignores congestion windows: data may be queued on a subflow that cannot send it yet, and
//! stays there. That is this scheduler's known weakness, and the reason for [`Style::Queues`],
//! which no other scheduler has.
//!
//! Its bound is memory, which makes the connection wait for its slowest subflow:
//!
//! ```text
//!   send buffer of a subflow         2 · (largest window so far) · memory that Linux plans for a segment
//!   send buffer of the connection    the sum of the subflows' (`mptcp_sync_sndbuf`); unacknowledged data
//! ```
//! A writer blocked by a full connection buffer wakes when it is two thirds full
//! (`sk_stream_is_writeable`).
//!
//! Deviations:
//! - all subflows have one MSS, so rates are in packets/s: the MSS cancels;
//! - each segment has its own memory, as on a device without segmentation offload;
//! - send buffers ignore the limit of `tcp_wmem`;
//! - a subflow is stale after its second consecutive timeout; Linux waits for `stale_loss_cnt`
//!   expiries of its own timer. Its data is then reinjected on the best subflow that has not
//!   carried it; Linux resends everything that is not DATA_ACKed. Before that the oldest page is
//!   sent again on an idle subflow, as in Linux.

use joulepath_controllers::MAX_SUBFLOWS;

use super::scheduler::{Features, PacketScheduler, Style};
use super::view::{PathView, candidates, members, not_yet_carriers};
use crate::options::PartInfo;

/// Bytes per decision (`MPTCP_SEND_BURST_SIZE`): 65536 less TCP, IPv6 and fragment headers and TCP
/// options.
const BURST_BYTES: u32 = 65_536 - 20 - 40 - 40 - 8;
/// Minimum window for sizing the send buffer, packets (`TCP_INIT_CWND`).
const INITIAL_WINDOW: u32 = 10;
/// Windows per send buffer (`sndbuf_expand` of Reno and CUBIC).
const BUFFER_WINDOWS: u64 = 2;
/// Bytes that `tcp_sndbuf_expand` adds to a segment before it rounds up to a power of two:
/// MAX_TCP_HEADER, `skb_shared_info`.
const PLANNED_HEADERS: u64 = 192 + 320;
/// Bytes that it adds after rounding: `sk_buff`.
const PLANNED_RECORD: u64 = 256;
/// Memory of a segment beyond its payload, bytes (measured, Linux 6.18: 832 for payloads of 1460).
const SEGMENT_OVERHEAD: u64 = 832;
/// Send buffer of a connection without subflows (`tcp_wmem[0]`), bytes.
const LEAST_BUFFER: u64 = 4096;
/// Size of the pages that hold written data (`sk_page_frag_refill`), bytes.
pub const PAGE_BYTES: u32 = 32 * 1024;
/// A writer fills pages until the buffer is full: on average it exceeds the buffer by half a page.
const WRITTEN_BEYOND: u64 = PAGE_BYTES as u64 / 2;
/// Pacing rate in slow start below half of ssthresh, percent (`tcp_pacing_ss_ratio`).
const PACING_SLOW_START_PERCENT: u64 = 200;
/// Pacing rate otherwise, percent (`tcp_pacing_ca_ratio`).
const PACING_PERCENT: u64 = 120;

/// Chooses the least linger time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mainline {
    mss_bytes: u32,
    /// Memory that Linux plans for a segment, bytes.
    planned_bytes: u64,
    /// Averaged pacing rate of each subflow, 1/100 packet/s; 0 before its first use.
    average_rate: [u64; MAX_SUBFLOWS],
    /// Window that sizes each subflow's send buffer, packets.
    buffered_window: [u32; MAX_SUBFLOWS],
    /// Subflow of the present burst.
    current: usize,
    /// Rest of the present burst.
    burst_left_bytes: u32,
    /// Rest of the present page: bursts end, and memory is checked, only between pages.
    page_left_bytes: i32,
    /// Rest of the receiver's window.
    window_left_bytes: u64,
    /// Whether the sender has stopped since the last choice.
    stopped: bool,
}

/// `tcp_update_pacing_rate` in 1/100 packet/s; without an RTT sample the RTT counts as 1 µs.
fn pacing_rate(path: &PathView) -> u64 {
    let percent = if path.cwnd < path.ssthresh / 2 {
        PACING_SLOW_START_PERCENT
    } else {
        PACING_PERCENT
    };
    percent * u64::from(path.cwnd.max(path.in_flight)) * 1_000_000 / u64::from(path.srtt_us.max(1))
}

/// The weighted mean of two rates. The weights are not both 0.
fn mean([(a, weight_a), (b, weight_b)]: [(u64, u32); 2]) -> u64 {
    let sum = u128::from(a) * u128::from(weight_a) + u128::from(b) * u128::from(weight_b);
    let weight = u64::from(weight_a) + u64::from(weight_b);
    // A 128-bit division is many times slower and rarely needed.
    u64::try_from(sum).map_or_else(|_| (sum / u128::from(weight)) as u64, |sum| sum / weight)
}

/// Mask of the subflows that Linux gives data: it checks neither Loss state nor window
/// (`mptcp_subflow_active`). The only subflow is never stale (`mptcp_pm_subflow_chk_stale`).
fn active(paths: &[PathView]) -> u8 {
    match candidates(paths, |path| path.established && !path.stale) {
        0 => candidates(paths, |path| path.established),
        active => active,
    }
}

impl PacketScheduler for Mainline {
    const INFO: PartInfo = PartInfo::verified(
        "mainline",
        "Linux's default: least queued bytes per pacing rate, in bursts of 65428 bytes",
        &[],
        "Linux 6",
    );
    const FEATURES: Features = Features {
        style: Style::Queues,
        weighs_backlog: false,
        watches_rtt: false,
        wants_allotment: false,
    };

    fn new(mss_bytes: u32) -> Self {
        Mainline {
            mss_bytes,
            planned_bytes: (u64::from(mss_bytes) + PLANNED_HEADERS).next_power_of_two()
                + PLANNED_RECORD,
            average_rate: [0; MAX_SUBFLOWS],
            buffered_window: [INITIAL_WINDOW; MAX_SUBFLOWS],
            current: 0,
            burst_left_bytes: 0,
            page_left_bytes: 0,
            window_left_bytes: u64::MAX,
            stopped: true,
        }
    }

    fn begin(&mut self, next_byte: u64, window_bytes: u64) {
        let page = u64::from(PAGE_BYTES);
        self.page_left_bytes = (page - next_byte % page) as i32;
        self.window_left_bytes = window_bytes;
        self.stopped = true;
    }

    #[inline]
    fn pick(&mut self, paths: &[PathView], carried: u8, segment_bytes: u32) -> Option<usize> {
        let mut open = active(paths);
        if carried != 0 {
            open = not_yet_carriers(open, carried);
        }
        let page_ends = self.page_left_bytes <= 0;
        let over =
            page_ends && (self.burst_left_bytes == 0 || !self.has_memory(paths, self.current));
        if self.stopped || over || open & (1 << self.current) == 0 {
            self.burst_left_bytes = 0;
            let burst_bytes =
                self.window_left_bytes
                    .clamp(segment_bytes.into(), BURST_BYTES.into()) as u32;
            self.current = self.choose(paths, open, burst_bytes)?;
            (self.burst_left_bytes, self.stopped) = (burst_bytes, false);
        }
        if self.page_left_bytes <= 0 {
            self.page_left_bytes += PAGE_BYTES as i32;
        }
        self.page_left_bytes -= segment_bytes as i32;
        self.burst_left_bytes = self.burst_left_bytes.saturating_sub(segment_bytes);
        self.window_left_bytes = self.window_left_bytes.saturating_sub(segment_bytes.into());
        Some(self.current)
    }

    /// An ACK has been processed: the send buffer grows with the window, and never shrinks.
    fn acknowledged(&mut self, i: usize, path: &PathView) {
        self.buffered_window[i] = self.buffered_window[i].max(path.cwnd);
    }

    /// The subflow has been closed; the next one on its path starts fresh.
    fn forget(&mut self, i: usize) {
        self.buffered_window[i] = INITIAL_WINDOW;
        self.average_rate[i] = 0;
    }

    /// Payload that the connection holds until DATA_ACK, bytes.
    fn send_buffer_bytes(&self, paths: &[PathView]) -> Option<u64> {
        let established = (0..paths.len()).filter(|&i| paths[i].established);
        Some(LEAST_BUFFER + established.map(|i| self.buffer_bytes(i)).sum::<u64>() + WRITTEN_BEYOND)
    }
}

impl Mainline {
    /// The subflow with the least linger time, after updating its average rate for a burst of
    /// `burst_bytes`; `None` while its send buffer is full.
    fn choose(&mut self, paths: &[PathView], open: u8, burst_bytes: u32) -> Option<usize> {
        for i in members(open) {
            if self.average_rate[i] == 0 {
                self.average_rate[i] = pacing_rate(&paths[i]);
            }
        }
        let linger =
            |i: &usize| (u64::from(paths[*i].queued_bytes) << 32) / self.average_rate[*i].max(1);
        let best = members(open)
            .min_by_key(linger)
            .filter(|&i| self.has_memory(paths, i))?;
        let queued = (self.average_rate[best], paths[best].queued_bytes);
        self.average_rate[best] = mean([queued, (pacing_rate(&paths[best]), burst_bytes)]);
        Some(best)
    }

    /// Send buffer of a subflow, bytes of memory (`tcp_sndbuf_expand`).
    fn buffer_bytes(&self, i: usize) -> u64 {
        BUFFER_WINDOWS * u64::from(self.buffered_window[i]) * self.planned_bytes
    }

    /// `sk_stream_memory_free`: the queue is smaller than the send buffer.
    fn has_memory(&self, paths: &[PathView], i: usize) -> bool {
        let mss = u64::from(self.mss_bytes);
        // Both sides multiplied by the MSS, to avoid a division.
        u64::from(paths[i].queued_bytes) * (mss + SEGMENT_OVERHEAD)
            < self.buffer_bytes(i).saturating_mul(mss)
    }
}
