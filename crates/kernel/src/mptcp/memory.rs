//! How much memory a receive window needs in Linux.
//!
//! Linux counts memory, not payload: a packet costs its `truesize`, and the window that a socket offers is
//! its free memory times a scaling ratio. Before Linux 6.6 the ratio is 1/2. Since then it is 1/2 at first,
//! and becomes the payload of a full segment over its `truesize` as soon as a segment arrives that is larger
//! than 536 bytes (`TCP_MSS_DEFAULT`, `tcp_measure_rcv_mss`).
//!
//! ```text
//!                      larger segments, Linux 6.6 on      segments of 536 bytes and less, or older kernels
//!   ratio              payload / truesize                 1/2
//!   memory of B        B / ratio: a window of B           what B bytes in such segments cost, with a reserve
//!   what bounds it     the memory                         the route's metric `window`
//! ```
//!
//! What waits for its order counts against the memory, and so against a window that memory makes. A
//! connection whose window is small and whose paths differ would be offered less and less. RFC 9293 knows no
//! such loss: what waits lies within the window. An MPTCP socket therefore gets [`ReceiveWindow::reserve`],
//! more memory than its subflows: their windows are bounded by their own memory, and what waits is moved to
//! the socket's (`__tcp_select_window`, `mptcp_space`).
//!
//! In the second case the memory alone would not do: a packet of 536 bytes from a TUN device costs 1280, so
//! that 1/2 of the memory is more than what it can hold. An MPTCP receiver whose memory is full of data that
//! waits for its order does not even take the segment that would bring it in order (`mptcp_data_ready`), and
//! the connection stands still for many seconds. The metric, which is `window_clamp` in the kernel, holds as
//! long as the ratio does not change: here for ever, in the first case only until the first full segment.

use joulepath_model::units::Bytes;

/// Segments of up to this payload leave the scaling ratio at 1/2, bytes (`TCP_MSS_DEFAULT`).
const DEFAULT_MSS: u64 = 536;
/// The ratio before a larger segment has been seen, 1/256 (`TCP_DEFAULT_SCALING_RATIO`).
const DEFAULT_RATIO: u64 = 128;
/// What a ratio is a multiple of (`TCP_RMEM_TO_WIN_SCALE` = 8).
const RATIO_ONE: u64 = 256;
/// Headers of a segment: IPv4, TCP with timestamps, the longest DSS that a sender of data writes, bytes.
const HEADERS: u64 = 20 + 32 + 24;
/// Room before a packet and records after it in its piece of memory, bytes (`NET_SKB_PAD`,
/// `skb_shared_info`).
const AROUND: u64 = 64 + 320;
/// `sk_buff`, bytes.
const RECORD: u64 = 256;
/// Memory beyond what full segments need: writes end within pages of 32 KiB, so that every 60th segment is
/// short, and copies of segments may wait, too.
const RESERVE: u64 = 2;
/// Memory of an MPTCP socket over that of a subflow: once for the window, once for a window full of what
/// waits, and as much again for short segments.
const SOCKET_RESERVE: u64 = 3;

/// A window that a receiver shall offer, and what will fill it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceiveWindow {
    /// Payload that may be on its way or wait for its order, bytes.
    pub bytes: Bytes,
    /// Payload of a full segment, bytes.
    pub mss: Bytes,
}

impl ReceiveWindow {
    /// A window for packets of 1500 bytes.
    pub fn of(bytes: Bytes) -> Self {
        ReceiveWindow { bytes, mss: Bytes(1448) }
    }

    /// The receive buffer that makes this window in the running kernel, bytes of memory.
    pub fn memory(self) -> Bytes {
        self.memory_in(has_measured_ratio())
    }

    /// The memory of an MPTCP socket whose subflows have [`Self::memory`], bytes: none where the ratio is
    /// fixed, and the window is half of any memory.
    pub fn reserve(self) -> Option<Bytes> {
        has_measured_ratio().then(|| Bytes(self.memory().0 * SOCKET_RESERVE))
    }

    /// The window that a route's metric has to set, bytes: none where the memory alone makes it.
    pub fn clamp(self) -> Option<Bytes> {
        self.clamp_in(has_measured_ratio())
    }

    fn memory_in(self, measured: bool) -> Bytes {
        let (window, mss) = (self.bytes.0, self.mss.0.max(1));
        let memory = if self.is_clamped(measured) {
            (window * RESERVE * truesize(mss) / mss).max(window * RATIO_ONE / DEFAULT_RATIO)
        } else if measured {
            (window * RATIO_ONE).div_ceil((mss * RATIO_ONE / truesize(mss)).max(1))
        } else {
            window * RATIO_ONE / DEFAULT_RATIO
        };
        Bytes(memory)
    }

    fn clamp_in(self, measured: bool) -> Option<Bytes> {
        self.is_clamped(measured).then_some(self.bytes)
    }

    /// Whether half of the memory is more than what it holds in such segments.
    fn is_clamped(self, measured: bool) -> bool {
        let holds_less = self.mss.0 * RATIO_ONE < truesize(self.mss.0) * DEFAULT_RATIO;
        holds_less && (!measured || self.mss.0 <= DEFAULT_MSS)
    }
}

/// Memory that a full segment from a TUN device costs, bytes: its piece of memory is a power of two.
fn truesize(mss: u64) -> u64 {
    (mss + HEADERS + AROUND).next_power_of_two() + RECORD
}

/// Whether the kernel measures how much of a packet is payload: since Linux 6.6.
fn has_measured_ratio() -> bool {
    let release = rustix::system::uname().release().to_string_lossy().into_owned();
    let mut numbers =
        release.split(|c: char| !c.is_ascii_digit()).map_while(|number| number.parse::<u32>().ok());
    !matches!((numbers.next(), numbers.next()), (Some(major), Some(minor)) if (major, minor) < (6, 6))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(mss: u64) -> ReceiveWindow {
        ReceiveWindow { bytes: Bytes(65_536), mss: Bytes(mss) }
    }

    #[test]
    fn packets_cost_what_ss_shows_of_them() {
        // 76 + 64 + 320 bytes around 1460 fit 2048, around 536 fit 1024; the record is beside them.
        assert_eq!((truesize(1460), truesize(1448), truesize(536)), (2304, 2304, 1280));
    }

    #[test]
    fn large_segments_show_their_ratio_and_memory_is_the_window() {
        // ⌊256 · 1460 / 2304⌋ = 162: ⌈65,536 · 256 / 162⌉
        assert_eq!(window(1460).memory_in(true), Bytes(103_564));
        assert_eq!(window(1460).clamp_in(true), None);
        // The kernel's own arithmetic gives the window back.
        assert_eq!(103_564 * 162 / 256, 65_536);
    }

    #[test]
    fn small_segments_get_their_memory_and_a_clamp() {
        // ⌊2 · 65,536 · 1280 / 536⌋: twice what holds the window; half of it would be offered, which is more.
        assert_eq!(window(536).memory_in(true), Bytes(313_007));
        assert_eq!(window(536).clamp_in(true), Some(Bytes(65_536)));
    }

    #[test]
    fn older_kernels_offer_half_of_the_memory() {
        assert_eq!(window(1460).memory_in(false), Bytes(131_072));
        assert_eq!(window(1460).clamp_in(false), None);
        assert!(window(536).clamp_in(false).is_some());
    }
}
