//! Packet schedulers: which subflow carries the next segment.
//!
//! ```text
//!  segment to send ──▶ usable subflows ──▶ not yet carriers of it ──▶ the scheduler's choice ──▶ Some(i) | None
//!  (new or reinjected) regular, else backup   all carried it: start over
//! ```
//!
//! A scheduler is asked once per segment, so it dispatches over an enum and never allocates. It sees what the old
//! out-of-tree Linux MPTCP shows its schedulers; [`PathView`] is that view of a subflow, [`Backlog`] that of the data.
//!
//! New data is asked about with [`Scheduler::place`], which may answer with a later segment than the next one; segments that are sent
//! again with [`Scheduler::pick`].

mod allotted;
mod blest;
mod daps;
mod ecf;
mod emtcp;
mod mainline;
mod min_rtt;
mod proactive;
mod redundant;
mod registry;
mod round_robin;
mod sttf;

use joulepath_model::units::Nanos;

pub use allotted::Allotted;
pub use blest::Blest;
pub use daps::Daps;
pub use ecf::Ecf;
pub use emtcp::Emtcp;
pub use mainline::{Mainline, PAGE_BYTES};
pub use min_rtt::{MinRtt, Rescue, penalised};
pub use proactive::Proactive;
pub use redundant::Redundant;
pub use registry::SCHEDULERS;
pub(crate) use registry::info;
pub use round_robin::RoundRobin;
pub use sttf::Sttf;

/// The most subflows that a connection has; path masks are `u8`.
pub const MAX_SUBFLOWS: usize = 8;

/// From here on ssthresh means "none yet" (Linux: `TCP_INFINITE_SSTHRESH`), packets.
pub const NO_SSTHRESH: u32 = 0x7fff_ffff;

/// RTT of a subflow beyond its smoothed one, µs.
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
    /// Established as backup, or made one by MP_PRIO.
    pub backup: bool,
    /// Recovering from a retransmission timeout (Linux: `TCP_CA_Loss`).
    pub in_loss: bool,
    /// In fast recovery or reducing after an ECN echo (Linux: `TCP_CA_Recovery`, `TCP_CA_CWR`).
    pub in_recovery: bool,
    /// Congestion window, packets.
    pub cwnd: u32,
    /// Slow start threshold, packets.
    pub ssthresh: u32,
    /// Packets that count against the window (RFC 6675: pipe).
    pub in_flight: u32,
    /// Smoothed RTT, µs; 0 before the first sample, which every comparison takes for the smallest, as Linux does.
    pub srtt_us: u32,
    /// Bytes handed to the subflow and not yet acknowledged: waiting for window space or in flight.
    pub queued_bytes: u32,
    /// Kept up to date only for a scheduler that [`Scheduler::watches_rtt`].
    pub rtt: RttView,
}

/// The data that waits at the sender, in segments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Backlog {
    /// The present.
    pub now: Nanos,
    /// Everything below is DATA_ACKed.
    pub una: u32,
    /// First DSN that no subflow has carried.
    pub next: u32,
    /// Segments in the send buffer from `next` on; none of them beyond the data-level window.
    pub unsent: u32,
    /// The whole data-level window, from `una` on.
    pub window: u32,
}

/// Where new data goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placement {
    /// The subflow.
    pub path: usize,
    /// The segment that it shall carry. If that has been sent, the next one that has not; if there is none, the last before it.
    pub dsn: u32,
}

/// What a path costs, for schedulers that rank by it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PathCost {
    /// θ, W.
    pub sunk_w: f64,
    /// b, J/bit.
    pub slope_j_per_bit: f64,
}

/// How a scheduler deals with data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// The next segment, on a subflow with space.
    Plain,
    /// The next segment, perhaps on a subflow without space: it then waits in that subflow's own queue, and no other subflow takes it from
    /// there.
    Queues,
    /// Perhaps a later segment than the next.
    Places,
    /// Copies of what other subflows carry.
    Copies,
}

impl PathView {
    /// Whether the window admits one more packet.
    #[inline]
    pub fn has_space(&self) -> bool {
        self.in_flight < self.cwnd
    }

    /// Established and not recovering from a timeout: it may be given data as soon as it has space.
    #[inline]
    pub fn is_usable(&self) -> bool {
        self.established && !self.in_loss
    }

    /// In slow start (RFC 5681: cwnd < ssthresh).
    #[inline]
    pub fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }
}

/// Mask of the subflows that may carry data: the usable regular ones; the usable backups if there is no such.
#[inline]
fn candidates(paths: &[PathView], usable: impl Fn(&PathView) -> bool) -> u8 {
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

/// `candidates` without those that have carried the segment; all of them if every one has: the record starts over.
#[inline]
fn not_yet_carriers(candidates: u8, carried: u8) -> u8 {
    match candidates & !carried {
        0 => candidates,
        fresh => fresh,
    }
}

/// The indices of the bits that are set, ascending.
#[inline]
fn members(mut mask: u8) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let lowest = mask.trailing_zeros() as usize;
        (mask != 0).then(|| {
            mask &= mask - 1;
            lowest
        })
    })
}

/// The usable subflow with the smallest smoothed RTT, with space or without; the first of equals.
fn fastest(paths: &[PathView]) -> Option<usize> {
    members(candidates(paths, PathView::is_usable)).min_by_key(|&i| paths[i].srtt_us)
}

/// A packet scheduler with its state: one per connection.
#[derive(Clone, Debug, PartialEq)]
pub enum Scheduler {
    /// `round-robin`: turns of equal length.
    RoundRobin(RoundRobin),
    /// `first-free`: the first subflow, in the connection's order, that has space (the ns-2 module of 004; ACK clocked).
    FirstFree,
    /// `minrtt`: the subflow with the smallest smoothed RTT among those with space.
    MinRtt(MinRtt),
    /// `mainline`: the default scheduler of Linux 6, least time to drain what is queued.
    Mainline(Mainline),
    /// `blest`: waits for the fast subflow rather than block the window.
    Blest(Blest),
    /// `ecf`: earliest completion first.
    Ecf(Ecf),
    /// `daps`: in the order of arrival.
    Daps(Daps),
    /// `sttf`: shortest transfer time first.
    Sttf(Sttf),
    /// `redundant`: everything everywhere.
    Redundant(Redundant),
    /// `emtcp`: cheapest interface first.
    Emtcp(Emtcp),
    /// `proactive`: slow paths carry later segments.
    Proactive(Proactive),
    /// `allotted`: spends what an allocator allots.
    Allotted(Allotted),
}

impl Scheduler {
    /// How it deals with data.
    pub fn style(&self) -> Style {
        match self {
            Scheduler::Mainline(_) => Style::Queues,
            Scheduler::Sttf(_) | Scheduler::Proactive(_) => Style::Places,
            Scheduler::Redundant(_) => Style::Copies,
            _ => Style::Plain,
        }
    }

    /// Whether [`Scheduler::pick`] may name a subflow without window space.
    #[inline]
    pub fn queues_ahead(&self) -> bool {
        self.style() == Style::Queues
    }

    /// Whether [`Scheduler::place`] looks at the backlog; without it, it is [`Scheduler::pick`].
    pub fn weighs_backlog(&self) -> bool {
        !matches!(
            self,
            Scheduler::RoundRobin(_)
                | Scheduler::FirstFree
                | Scheduler::MinRtt(_)
                | Scheduler::Mainline(_)
                | Scheduler::Emtcp(_)
        )
    }

    /// Whether it reads [`PathView::rtt`].
    pub fn watches_rtt(&self) -> bool {
        matches!(self, Scheduler::Blest(_) | Scheduler::Ecf(_) | Scheduler::Sttf(_))
    }

    /// Whether [`Scheduler::allot`] must be called before it sends anything.
    pub fn wants_allotment(&self) -> bool {
        matches!(self, Scheduler::Allotted(_))
    }

    /// What the paths cost, in the order of the subflows. Only `emtcp` cares.
    pub fn learn_costs(&mut self, costs: &[PathCost]) {
        if let Scheduler::Emtcp(scheduler) = self {
            scheduler.rank_by(costs);
        }
    }

    /// The subflow has been closed; a later one on its path has carried nothing.
    pub fn forget(&mut self, path: usize) {
        match self {
            Scheduler::Redundant(scheduler) => scheduler.forget(path),
            Scheduler::Mainline(scheduler) => scheduler.forget(path),
            _ => {}
        }
    }

    /// An ACK for subflow `path` has been dealt with, and what it admits has been sent. Only `mainline` cares.
    pub fn acknowledged(&mut self, path: usize, view: &PathView) {
        if let Scheduler::Mainline(scheduler) = self {
            scheduler.acknowledged(path, view);
        }
    }

    /// How much the socket takes from the application before the first of it is DATA_ACKed, bytes of payload; none: as much as the
    /// scenario's buffers allow. Only `mainline` knows: Linux' send buffers grow with the windows.
    pub fn send_buffer_bytes(&self, paths: &[PathView]) -> Option<u64> {
        match self {
            Scheduler::Mainline(scheduler) => Some(scheduler.send_buffer_bytes(paths)),
            _ => None,
        }
    }

    /// A slot begins in which each path may carry so many packets. Only `allotted` cares.
    pub fn allot(&mut self, packets: &[f64]) {
        if let Scheduler::Allotted(scheduler) = self {
            scheduler.allot(packets);
        }
    }

    /// The subflow for a segment that those in the mask `carried` have carried already; `None`: it has to wait.
    ///
    /// `Some` is a commitment: the caller hands the segment of `segment_bytes` to that subflow.
    #[inline]
    pub fn pick(&mut self, paths: &[PathView], carried: u8, segment_bytes: u32) -> Option<usize> {
        debug_assert!(paths.len() <= MAX_SUBFLOWS);
        let open = || not_yet_carriers(candidates(paths, PathView::is_usable), carried);
        match self {
            Scheduler::MinRtt(_) => min_rtt::pick(paths, carried),
            Scheduler::Mainline(scheduler) => scheduler.pick(paths, carried, segment_bytes),
            Scheduler::RoundRobin(scheduler) => scheduler.pick(paths, carried),
            Scheduler::FirstFree | Scheduler::Proactive(_) => members(open()).find(|&i| paths[i].has_space()),
            Scheduler::Emtcp(scheduler) => scheduler.pick(paths, carried),
            Scheduler::Sttf(_) => sttf::pick(paths, open()),
            Scheduler::Blest(_)
            | Scheduler::Ecf(_)
            | Scheduler::Daps(_)
            | Scheduler::Redundant(_)
            | Scheduler::Allotted(_) => min_rtt::pick(paths, carried),
        }
    }

    /// The subflow for new data and which segment; `None`: nothing may be sent now.
    ///
    /// `Some` is a commitment, as in [`Scheduler::pick`]. There is something to send: `backlog.unsent` > 0, except for
    /// [`Style::Copies`].
    #[inline]
    pub fn place(&mut self, paths: &[PathView], segment_bytes: u32, backlog: &Backlog) -> Option<Placement> {
        let path = match self {
            Scheduler::Blest(scheduler) => scheduler.place(paths, backlog),
            Scheduler::Ecf(scheduler) => scheduler.place(paths, backlog),
            Scheduler::Daps(scheduler) => scheduler.place(paths),
            Scheduler::Allotted(scheduler) => scheduler.place(paths),
            Scheduler::Sttf(scheduler) => return scheduler.place(paths, backlog),
            Scheduler::Proactive(scheduler) => return scheduler.place(paths, backlog),
            Scheduler::Redundant(scheduler) => return scheduler.place(paths, backlog),
            _ => self.pick(paths, 0, segment_bytes),
        };
        Some(Placement { path: path?, dsn: backlog.next })
    }

    /// What became of a [`Placement`]: `dsn` is the segment that was sent.
    #[inline]
    pub fn placed(&mut self, placement: Placement) {
        if let Scheduler::Proactive(scheduler) = self {
            scheduler.placed(placement);
        }
    }

    /// What to do about the oldest segment without DATA_ACK, carried by the subflows in `oldest_carried`, when the
    /// data-level window is full (or the send buffer is full and everything in it has been sent). `None`: nothing.
    #[inline]
    pub fn rescue(&mut self, paths: &[PathView], now: Nanos, oldest_carried: u8) -> Option<Rescue> {
        match self {
            Scheduler::MinRtt(scheduler) => scheduler.rescue(paths, now, oldest_carried),
            Scheduler::Blest(scheduler) => scheduler.rescue(paths, now, oldest_carried),
            Scheduler::Ecf(scheduler) => scheduler.rescue(paths, now, oldest_carried),
            Scheduler::Sttf(scheduler) => scheduler.rescue(paths, now, oldest_carried),
            Scheduler::Daps(scheduler) => scheduler.rescue(paths, oldest_carried),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_placing;
