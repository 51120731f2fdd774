//! Receive memory of Linux: how much payload it holds, and how it grows.
//!
//! Linux counts memory, not payload: a packet costs its `truesize`, and a socket offers its memory
//! times the part that is payload. Since Linux 6.6 that part is measured on full segments
//! (`tcp_measure_rcv_mss`). The memory starts at the second value of `net.ipv4.tcp_rmem` and grows
//! up to the third (Dynamic Right-Sizing; `net/mptcp/protocol.c`: `mptcp_rcv_space_init`,
//! `mptcp_rcv_space_adjust`, `mptcp_rcvbuf_grow`).

use serde::Serialize;

use crate::units::Bytes;

/// Unit of the payload's part (`TCP_RMEM_TO_WIN_SCALE` = 8).
pub const RATIO_ONE: u64 = 256;
/// The payload's part until a segment of more than [`DEFAULT_MSS`] arrives
/// (`TCP_DEFAULT_SCALING_RATIO`).
pub const DEFAULT_RATIO: u64 = 128;
/// Segments of at most this payload leave the part at [`DEFAULT_RATIO`], bytes (`TCP_MSS_DEFAULT`).
pub const DEFAULT_MSS: u64 = 536;
/// Headers of a segment, bytes: IPv4, TCP with timestamps, the longest DSS of a data sender.
const HEADERS: u64 = 20 + 32 + 24;
/// Headroom and `skb_shared_info` around a packet in its allocation, bytes (`NET_SKB_PAD`).
const AROUND: u64 = 64 + 320;
/// Size of `sk_buff`, bytes.
const RECORD: u64 = 256;
/// Segments that the first measurement is compared with (`TCP_INIT_CWND`).
const FIRST_SEGMENTS: u64 = 10;

/// Memory of a full segment of `mss` bytes from a TUN device, bytes: the allocation is a power of
/// two.
pub fn truesize(mss: u64) -> u64 {
    (mss + HEADERS + AROUND).next_power_of_two() + RECORD
}

/// The part of the memory that is payload, in 1/256, when segments of `mss` bytes arrive.
pub fn measured_ratio(mss: u64) -> u64 {
    (mss * RATIO_ONE / truesize(mss)).max(1)
}

/// The memory of a connection's receiver, which grows: the last two values of `net.ipv4.tcp_rmem`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct GrowingMemory {
    /// At the start.
    pub initial: Bytes,
    /// At most.
    pub most: Bytes,
}

impl GrowingMemory {
    /// Payload that `memory` holds in segments of `mss`.
    pub fn window(memory: Bytes, mss: Bytes) -> Bytes {
        Bytes(memory.0 * ratio(mss) / RATIO_ONE)
    }

    /// A receiver at the start of a connection.
    pub fn start(self, mss: Bytes) -> Growth {
        let space = Bytes(
            Self::window(self.initial, mss)
                .0
                .min(FIRST_SEGMENTS * mss.0),
        );
        Growth {
            memory: self.initial,
            most: self.most,
            ratio: ratio(mss),
            space,
        }
    }
}

/// [`measured_ratio`] as Linux measures it.
fn ratio(mss: Bytes) -> u64 {
    if mss.0 > DEFAULT_MSS {
        measured_ratio(mss.0)
    } else {
        DEFAULT_RATIO
    }
}

/// The memory of a receiver during a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Growth {
    /// `sk_rcvbuf`.
    memory: Bytes,
    most: Bytes,
    /// Payload's part, in 1/256.
    ratio: u64,
    /// The most that the application has read in one RTT (`rcvq_space.space`).
    space: Bytes,
}

impl Growth {
    /// The memory.
    pub fn memory(&self) -> Bytes {
        self.memory
    }

    /// Payload that the memory holds: the window while nothing waits in it.
    pub fn window(&self) -> Bytes {
        Bytes(self.memory.0 * self.ratio / RATIO_ONE)
    }

    /// Records that the application has read `copied` within one RTT. The window becomes twice of
    /// that, and more by the relative growth, so that the sender's slow start fits
    /// (`mptcp_rcvbuf_grow`): 2·copied·(1 + 2·(copied − space)/space).
    pub fn measure(&mut self, copied: Bytes) {
        let (copied, space) = (copied.0, self.space.0.max(1));
        if copied <= space {
            return;
        }
        let twice = 2 * copied;
        let grown = u128::from(twice) * u128::from(copied - space) / u128::from(space);
        let window = u128::from(twice) + 2 * grown;
        let memory =
            (window * u128::from(RATIO_ONE) / u128::from(self.ratio)).min(u128::from(self.most.0));
        self.memory = self.memory.max(Bytes(memory as u64));
        self.space = Bytes(copied);
    }
}

/// A receiver's estimate of a subflow's RTT: the minimum at once, larger samples smoothed
/// (`net/ipv4/tcp_input.c`, `tcp_rcv_rtt_update` with timestamps, since Linux 6.16 and in 6.12.y).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReceiverRtt {
    /// Eight times the estimate, ns; 0: none.
    eightfold_ns: u64,
}

impl ReceiverRtt {
    /// Adds a sample.
    pub fn add(&mut self, sample_ns: u64) {
        let (old, new) = (self.eightfold_ns, 8 * sample_ns);
        self.eightfold_ns = if old == 0 || new < old {
            new
        } else {
            old - old / 8 + sample_ns
        };
    }

    /// The estimate, ns; 0 before the first sample.
    pub fn ns(self) -> u64 {
        self.eightfold_ns / 8
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MEMORY: GrowingMemory = GrowingMemory {
        initial: Bytes(131_072),
        most: Bytes(6 << 20),
    };

    #[test]
    fn a_packets_memory_matches_what_ss_shows() {
        // 76 + 64 + 320 bytes around 1460 fit into 2048, around 536 into 1024; the `sk_buff` is
        // extra.
        assert_eq!(
            (truesize(1460), truesize(1448), truesize(536)),
            (2304, 2304, 1280)
        );
    }

    #[test]
    fn the_window_is_the_payloads_part_of_the_memory() {
        // ⌊256 · 1460 / 2304⌋ = 162: 131,072 · 162 / 256 = 82,944. Small segments: half.
        assert_eq!(MEMORY.start(Bytes(1460)).window(), Bytes(82_944));
        assert_eq!(MEMORY.start(Bytes(536)).window(), Bytes(65_536));
        assert_eq!(
            GrowingMemory::window(MEMORY.most, Bytes(1460)),
            Bytes(3_981_312)
        );
    }

    #[test]
    fn memory_grows_by_what_was_read_in_a_round() {
        let mut growth = MEMORY.start(Bytes(1460));
        // The second round of slow start, 20 segments, is twice the first, 10: a window of 2 ·
        // 29,200, and twice its growth of 100 %, 2 · 58,400: 175,200. Memory: 175,200 · 256 / 162 =
        // 276,859.
        growth.measure(Bytes(29_200));
        assert_eq!(
            (growth.memory(), growth.window()),
            (Bytes(276_859), Bytes(175_199))
        );
        // No more than before: nothing changes.
        growth.measure(Bytes(29_200));
        assert_eq!(growth.memory(), Bytes(276_859));
        // 10 % more: 64,240 + 2 · 6,424 = 77,088, less than the present window. Memory never
        // shrinks.
        growth.measure(Bytes(32_120));
        assert_eq!(growth.memory(), Bytes(276_859));
        // 10 times as much: 642,400 · (1 + 2 · 9) = 12 MB exceed the maximum.
        growth.measure(Bytes(321_200));
        assert_eq!(growth.memory(), MEMORY.most);
    }

    #[test]
    fn a_steady_rate_gets_twice_its_bytes_per_rtt() {
        // From 100,000 to 100,000 there is no growth; from 99,000 to 100,000 it is 1 %: 204,040.
        let mut growth = Growth {
            space: Bytes(99_000),
            ..MEMORY.start(Bytes(1460))
        };
        growth.measure(Bytes(100_000));
        assert_eq!(growth.memory(), Bytes(204_040 * 256 / 162));
    }

    #[test]
    fn the_receivers_rtt_follows_decreases_at_once() {
        let mut rtt = ReceiverRtt::default();
        assert_eq!(rtt.ns(), 0);
        rtt.add(80);
        // (640 − 80 + 160) / 8 = 90.
        rtt.add(160);
        assert_eq!(rtt.ns(), 90);
        rtt.add(50);
        assert_eq!(rtt.ns(), 50);
    }
}
