//! Packet schedulers: which subflow carries the next segment.
//!
//! ```text
//!  segment to send ──▶ usable subflows ──▶ not yet carriers of it ──▶ the scheduler's choice ──▶ Some(i) | None
//!  (new or reinjected) regular, else backup   all carried it: start over
//! ```
//!
//! A scheduler is asked once per segment, so it dispatches over an enum and never allocates. It sees what the old
//! out-of-tree Linux MPTCP shows its schedulers; [`PathView`] is that view.

mod mainline;
mod min_rtt;
mod round_robin;

use joulepath_model::units::Nanos;

use crate::options::{self, OptionError};
pub use mainline::Mainline;
pub use min_rtt::{MinRtt, Rescue, penalised};
pub use round_robin::RoundRobin;

/// The most subflows that a connection has; path masks are `u8`.
pub const MAX_SUBFLOWS: usize = 8;

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

/// A packet scheduler with its state: one per connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scheduler {
    /// `round-robin`: turns of equal length.
    RoundRobin(RoundRobin),
    /// `first-free`: the first subflow, in the connection's order, that has space (the ns-2 module of 004; ACK clocked).
    FirstFree,
    /// `minrtt`: the subflow with the smallest smoothed RTT among those with space.
    MinRtt(MinRtt),
    /// `mainline`: the default scheduler of Linux 6, least time to drain what is queued.
    Mainline(Mainline),
}

/// A scheduler as the registry lists it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SchedulerInfo {
    /// Name on the command line.
    pub name: &'static str,
    /// One line for humans.
    pub summary: &'static str,
    /// Names of its options.
    pub options: &'static [&'static str],
}

/// Every scheduler.
pub const SCHEDULERS: [SchedulerInfo; 4] = [
    SchedulerInfo {
        name: "round-robin",
        summary: "turns of num_segments segments each; skips subflows without window space unless cwnd_limited=off",
        options: &["num_segments", "cwnd_limited"],
    },
    SchedulerInfo { name: "first-free", summary: "first subflow with window space", options: &[] },
    SchedulerInfo {
        name: "minrtt",
        summary: "smallest smoothed RTT with window space, with opportunistic retransmission and penalisation",
        options: &["opportunistic", "penalise"],
    },
    SchedulerInfo {
        name: "mainline",
        summary: "Linux's default: least queued bytes per pacing rate, in bursts of 65428 bytes",
        options: &[],
    },
];

impl Scheduler {
    /// The scheduler called `name`, with `options` in the order written. `mss_bytes` is the payload of a full segment.
    ///
    /// # Errors
    /// An unknown name or option, or a value that does not fit; the message names what would be right.
    pub fn by_name(name: &str, options: &[(String, String)], mss_bytes: u32) -> Result<Self, OptionError> {
        let Some(info) = SCHEDULERS.iter().find(|info| info.name == name) else {
            let known = SCHEDULERS.map(|info| info.name);
            return Err(OptionError::unknown_name("scheduler", name, &known));
        };
        let mut scheduler = match name {
            "round-robin" => Scheduler::RoundRobin(RoundRobin::default()),
            "first-free" => Scheduler::FirstFree,
            "minrtt" => Scheduler::MinRtt(MinRtt::default()),
            "mainline" => Scheduler::Mainline(Mainline::new(mss_bytes)),
            other => unreachable!("`{other}` is in the registry"),
        };
        for (key, value) in options {
            scheduler.set(info, key, value)?;
        }
        Ok(scheduler)
    }

    fn set(&mut self, info: &SchedulerInfo, key: &str, value: &str) -> Result<(), OptionError> {
        match (self, key) {
            (Scheduler::RoundRobin(s), "num_segments") => {
                s.num_segments = options::count("num_segments", value)?;
            }
            (Scheduler::RoundRobin(s), "cwnd_limited") => {
                s.cwnd_limited = options::switch("cwnd_limited", value)?;
            }
            (Scheduler::MinRtt(s), "opportunistic") => {
                s.opportunistic = options::switch("opportunistic", value)?;
            }
            (Scheduler::MinRtt(s), "penalise") => s.penalise = options::switch("penalise", value)?,
            _ => return Err(OptionError::unknown_option(info.name, key, info.options)),
        }
        Ok(())
    }

    /// Whether [`Scheduler::pick`] may name a subflow without window space. The segment then waits in that subflow's own
    /// queue, and no other subflow takes it from there.
    #[inline]
    pub fn queues_ahead(&self) -> bool {
        matches!(self, Scheduler::Mainline(_))
    }

    /// The subflow for the next segment; `None`: nothing may be sent now.
    ///
    /// `carried` is the mask of subflows that have already carried this segment: 0 for new data. `Some` is a commitment:
    /// the caller hands the segment of `segment_bytes` to that subflow, so it checks the data-level window before it asks.
    #[inline]
    pub fn pick(&mut self, paths: &[PathView], carried: u8, segment_bytes: u32) -> Option<usize> {
        debug_assert!(paths.len() <= MAX_SUBFLOWS);
        match self {
            Scheduler::MinRtt(_) => min_rtt::pick(paths, carried),
            Scheduler::Mainline(scheduler) => scheduler.pick(paths, carried, segment_bytes),
            Scheduler::RoundRobin(scheduler) => scheduler.pick(paths, carried),
            Scheduler::FirstFree => {
                let open = not_yet_carriers(candidates(paths, PathView::is_usable), carried);
                members(open).find(|&i| paths[i].has_space())
            }
        }
    }

    /// What to do about the oldest segment without DATA_ACK, carried by the subflows in `oldest_carried`, when the
    /// data-level window is full (or the send buffer is full and everything in it has been sent).
    ///
    /// `None`: nothing. Only `minrtt` ever rescues.
    #[inline]
    pub fn rescue(&mut self, paths: &[PathView], now: Nanos, oldest_carried: u8) -> Option<Rescue> {
        match self {
            Scheduler::MinRtt(scheduler) => scheduler.rescue(paths, now, oldest_carried),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests;
