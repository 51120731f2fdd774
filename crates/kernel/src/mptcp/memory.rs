//! Computes how much memory a receive window needs in Linux.
//!
//! Linux counts memory, not payload: a packet costs its `truesize`, and the window that a socket
//! offers is its free memory times a scaling ratio. Before Linux 6.6 the ratio is 1/2. Since Linux
//! 6.6 it is 1/2 until a segment of more than 536 bytes arrives (`TCP_MSS_DEFAULT`). From then on
//! it is the payload of a full segment over its `truesize` (`tcp_measure_rcv_mss`).
//!
//! ```text
//!                      larger segments, since Linux 6.6   segments of at most 536 bytes, or older kernels
//!   ratio              payload / truesize                 1/2
//!   memory for B       B / ratio: a window of B           cost of B bytes in such segments, with a reserve
//!   limit              the memory                         the route's metric `window`
//! ```
//!
//! Data that waits for its order occupies memory and so reduces a window that memory determines. A
//! connection with a small window and unequal paths would be offered less and less. RFC 9293 has no
//! such effect: data that waits lies within the window. An MPTCP socket therefore gets
//! [`ReceiveWindow::reserve`], more memory than its subflows: their own memory bounds their
//! windows, and data that waits moves to the socket's memory (`__tcp_select_window`,
//! `mptcp_space`).
//!
//! In the second case the memory alone is not enough: a packet of 536 bytes from a TUN device costs
//! 1280 bytes, so half of the memory is more than what it can hold. An MPTCP receiver whose memory
//! is full of data that waits for its order rejects even the segment that would complete it
//! (`mptcp_data_ready`), and the connection stalls for many seconds. The metric, `window_clamp` in
//! the kernel, applies while the ratio is constant: in the second case always, in the first only
//! until the first full segment.

use joulepath_model::receive::{DEFAULT_MSS, DEFAULT_RATIO, RATIO_ONE, measured_ratio, truesize};
use joulepath_model::units::Bytes;

/// Factor over what full segments need: writes end within pages of 32 KiB, so every 60th segment is
/// short, and copies of segments may wait, too.
const RESERVE: u64 = 2;
/// Memory of an MPTCP socket over that of a subflow: the window, a window of data that waits, and
/// the same again for short segments.
const SOCKET_RESERVE: u64 = 3;

/// The window that a receiver should offer, and the segments that fill it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceiveWindow {
    /// Payload in flight or waiting for its order, bytes.
    pub bytes: Bytes,
    /// Payload of a full segment, bytes.
    pub mss: Bytes,
}

impl ReceiveWindow {
    /// A window for packets of 1500 bytes.
    pub fn of(bytes: Bytes) -> Self {
        ReceiveWindow {
            bytes,
            mss: Bytes(1448),
        }
    }

    /// Receive buffer that results in this window on the running kernel, bytes of memory.
    pub fn memory(self) -> Bytes {
        self.memory_in(has_measured_ratio())
    }

    /// Memory of an MPTCP socket whose subflows have [`Self::memory`], bytes. `None` if the ratio
    /// is fixed and the window is half of any memory.
    pub fn reserve(self) -> Option<Bytes> {
        has_measured_ratio().then(|| Bytes(self.memory().0 * SOCKET_RESERVE))
    }

    /// Window to set in the route's metric, bytes. `None` if the memory determines the window.
    pub fn clamp(self) -> Option<Bytes> {
        self.clamp_in(has_measured_ratio())
    }

    fn memory_in(self, measured: bool) -> Bytes {
        let (window, mss) = (self.bytes.0, self.mss.0.max(1));
        let memory = if self.is_clamped(measured) {
            (window * RESERVE * truesize(mss) / mss).max(window * RATIO_ONE / DEFAULT_RATIO)
        } else if measured {
            (window * RATIO_ONE).div_ceil(measured_ratio(mss))
        } else {
            window * RATIO_ONE / DEFAULT_RATIO
        };
        Bytes(memory)
    }

    fn clamp_in(self, measured: bool) -> Option<Bytes> {
        self.is_clamped(measured).then_some(self.bytes)
    }

    /// True if half of the memory is more than what it holds in such segments.
    fn is_clamped(self, measured: bool) -> bool {
        let holds_less = self.mss.0 * RATIO_ONE < truesize(self.mss.0) * DEFAULT_RATIO;
        holds_less && (!measured || self.mss.0 <= DEFAULT_MSS)
    }
}

/// True if the kernel measures the payload's share of a packet: since Linux 6.6.
fn has_measured_ratio() -> bool {
    let release = rustix::system::uname()
        .release()
        .to_string_lossy()
        .into_owned();
    let mut numbers = release
        .split(|c: char| !c.is_ascii_digit())
        .map_while(|number| number.parse::<u32>().ok());
    !matches!((numbers.next(), numbers.next()), (Some(major), Some(minor)) if (major, minor) < (6, 6))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(mss: u64) -> ReceiveWindow {
        ReceiveWindow {
            bytes: Bytes(65_536),
            mss: Bytes(mss),
        }
    }

    #[test]
    fn memory_alone_sets_the_window_for_large_segments() {
        // ⌊256 · 1460 / 2304⌋ = 162: ⌈65,536 · 256 / 162⌉
        assert_eq!(window(1460).memory_in(true), Bytes(103_564));
        assert_eq!(window(1460).clamp_in(true), None);
        // The kernel's own computation gives the window back.
        assert_eq!(103_564 * 162 / 256, 65_536);
    }

    #[test]
    fn small_segments_need_memory_and_a_clamp() {
        // ⌊2 · 65,536 · 1280 / 536⌋: twice the memory for the window. Half of it, the offer, is
        // larger than the window.
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
