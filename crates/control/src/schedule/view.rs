//! The inputs of a scheduler: subflows and waiting data.

use joulepath_model::units::Nanos;

/// RTT statistics of a subflow besides the smoothed RTT, µs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RttView {
    /// Latest sample.
    pub last_us: u32,
    /// Least sample.
    pub min_us: u32,
    /// Greatest sample.
    pub max_us: u32,
    /// Mean deviation (RFC 6298: RTTVAR).
    pub var_us: u32,
}

/// One subflow as a scheduler sees it. Bit `i` of every path mask is the subflow at index `i`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PathView {
    /// The handshake is complete and the subflow has not been declared dead.
    pub established: bool,
    /// Established as a backup, or made one by MP_PRIO.
    pub backup: bool,
    /// Recovering from a retransmission timeout (Linux: `TCP_CA_Loss`).
    pub in_loss: bool,
    /// Several consecutive timeouts without a reply (Linux: `stale`). Updated only for a scheduler
    /// that queues data ahead of windows.
    pub stale: bool,
    /// In fast recovery or reducing after an ECN echo (Linux: `TCP_CA_Recovery`, `TCP_CA_CWR`).
    pub in_recovery: bool,
    /// Congestion window, packets.
    pub cwnd: u32,
    /// Slow start threshold, packets.
    pub ssthresh: u32,
    /// Packets that count against the window (RFC 6675: pipe).
    pub in_flight: u32,
    /// Smoothed RTT, µs. Before the first sample it is 0, which compares as the smallest, as in
    /// Linux.
    pub srtt_us: u32,
    /// Bytes handed to the subflow and not yet acknowledged: waiting for window space or in flight.
    pub queued_bytes: u32,
    /// Updated only for a scheduler that [watches RTTs](super::Features::watches_rtt).
    pub rtt: RttView,
}

impl PathView {
    /// True if the window admits one more packet.
    #[inline]
    pub fn has_space(&self) -> bool {
        self.in_flight < self.cwnd
    }

    /// True if established and not recovering from a timeout: it may get data as soon as it has
    /// space.
    #[inline]
    pub fn is_usable(&self) -> bool {
        self.established && !self.in_loss
    }

    /// True in slow start (RFC 5681: cwnd < ssthresh).
    #[inline]
    pub fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }
}

/// The data waiting at the sender, in segments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Backlog {
    /// Present time.
    pub now: Nanos,
    /// First DSN without DATA_ACK.
    pub una: u32,
    /// First DSN that no subflow has carried.
    pub next: u32,
    /// Segments in the send buffer from `next` on, limited to the data-level window.
    pub unsent: u32,
    /// The whole data-level window, from `una` on.
    pub window: u32,
}

/// Choice for new data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placement {
    /// The subflow.
    pub path: usize,
    /// The segment to carry. If it has been sent, the next unsent one is taken; without a next one,
    /// the last unsent one before it.
    pub dsn: u32,
}

/// Mask of the regular subflows for which `usable` holds, or of the backups if there are none.
#[inline]
pub(super) fn candidates(paths: &[PathView], usable: impl Fn(&PathView) -> bool) -> u8 {
    let (mut regular, mut backup) = (0u8, 0u8);
    for (i, path) in paths.iter().enumerate() {
        let bit = u8::from(usable(path)) << i;
        if path.backup {
            backup |= bit;
        } else {
            regular |= bit;
        }
    }
    if regular != 0 { regular } else { backup }
}

/// `candidates` without the carriers of the segment; all `candidates` if every one has carried it,
/// which restarts the record.
#[inline]
pub(super) fn not_yet_carriers(candidates: u8, carried: u8) -> u8 {
    match candidates & !carried {
        0 => candidates,
        fresh => fresh,
    }
}

/// Mask of the subflows that may carry data: the usable regular ones, or the usable backups if
/// there are none.
#[inline]
pub fn usable(paths: &[PathView]) -> u8 {
    candidates(paths, PathView::is_usable)
}

/// Mask of the usable subflows that have not carried the segment; all usable ones if every one has.
#[inline]
pub(super) fn open(paths: &[PathView], carried: u8) -> u8 {
    not_yet_carriers(usable(paths), carried)
}

/// Indices of the set bits, ascending.
#[inline]
pub(crate) fn members(mut mask: u8) -> impl Iterator<Item = usize> + Clone {
    std::iter::from_fn(move || {
        let lowest = mask.trailing_zeros() as usize;
        (mask != 0).then(|| {
            mask &= mask - 1;
            lowest
        })
    })
}

/// The usable subflow with the smallest smoothed RTT, with or without space; the first on a tie.
pub(super) fn fastest(paths: &[PathView]) -> Option<usize> {
    members(usable(paths)).min_by_key(|&i| paths[i].srtt_us)
}

/// The usable subflow with space and the smallest smoothed RTT; the first on a tie.
#[inline]
pub(super) fn fastest_with_space(paths: &[PathView], carried: u8) -> Option<usize> {
    members(open(paths, carried))
        .filter(|&i| paths[i].has_space())
        .min_by_key(|&i| paths[i].srtt_us)
}
