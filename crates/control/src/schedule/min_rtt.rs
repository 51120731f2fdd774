//! The default scheduler of out-of-tree Linux MPTCP (lowRTT, minRTT), with opportunistic retransmission and
//! penalisation (Raiciu et al., NSDI 2012, section 4.2).
//!
//! Deviations: with several carriers of the oldest segment, one that is slow enough suffices for a retransmission (the
//! module lets the last one that it looks at decide).

use joulepath_model::units::Nanos;

use super::{MAX_SUBFLOWS, PathView, candidates, members, not_yet_carriers};

/// A carrier with at most this window, packets, is too slow to wait for.
const TINY_WINDOW: u32 = 4;
/// A carrier whose RTT is more than this many times the free subflow's is too slow to wait for.
const SLOW_RTT_FACTOR: u64 = 4;

/// Smallest smoothed RTT first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MinRtt {
    /// Send the oldest unacknowledged segment again on a free, faster subflow when the data-level window is full.
    pub opportunistic: bool,
    /// Halve the windows of the subflows that hold it up.
    pub penalise: bool,
    /// When each subflow last had others penalised.
    last_penalty: [Option<Nanos>; MAX_SUBFLOWS],
}

impl Default for MinRtt {
    /// Both on, as in Linux MPTCP v0.8x to v0.95.
    fn default() -> Self {
        MinRtt { opportunistic: true, penalise: true, last_penalty: [None; MAX_SUBFLOWS] }
    }
}

impl MinRtt {
    /// Retransmits opportunistically, penalises nobody.
    pub(super) fn without_penalty() -> Self {
        MinRtt { penalise: false, ..Self::default() }
    }
}

/// What to do about the oldest segment that holds up the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rescue {
    /// Send it again on this subflow.
    pub retransmit_on: Option<usize>,
    /// Mask of the subflows whose window is to be cut by [`penalised`].
    pub penalise: u8,
}

/// cwnd and ssthresh (packets) of a penalised subflow; ssthresh stays if it was in slow start.
pub fn penalised(cwnd: u32, ssthresh: u32) -> (u32, u32) {
    let cut = if cwnd >= ssthresh { (ssthresh / 2).max(2) } else { ssthresh };
    ((cwnd / 2).max(1), cut)
}

/// The usable subflow with space and the smallest smoothed RTT; the first of equals.
#[inline]
pub(super) fn pick(paths: &[PathView], carried: u8) -> Option<usize> {
    let open = not_yet_carriers(candidates(paths, PathView::is_usable), carried);
    members(open).filter(|&i| paths[i].has_space()).min_by_key(|&i| paths[i].srtt_us)
}

impl MinRtt {
    pub(super) fn rescue(&mut self, paths: &[PathView], now: Nanos, carried: u8) -> Option<Rescue> {
        let free = pick(paths, 0)?;
        let others = carried & !(1 << free);
        let rescue = Rescue {
            retransmit_on: (self.opportunistic && self.should_retransmit(paths, free, carried))
                .then_some(free),
            penalise: if self.penalise { self.slower_carriers(paths, now, free, others) } else { 0 },
        };
        (rescue.retransmit_on.is_some() || rescue.penalise != 0).then_some(rescue)
    }

    /// Whether `free` has not carried the segment and some carrier is too slow to wait for.
    fn should_retransmit(&self, paths: &[PathView], free: usize, carried: u8) -> bool {
        let slow = SLOW_RTT_FACTOR * u64::from(paths[free].srtt_us);
        carried & (1 << free) == 0
            && members(carried)
                .filter_map(|i| paths.get(i))
                .any(|carrier| carrier.cwnd <= TINY_WINDOW || u64::from(carrier.srtt_us) > slow)
    }

    /// The slower carriers in the Open state, at most once per RTT of `free`.
    fn slower_carriers(&mut self, paths: &[PathView], now: Nanos, free: usize, others: u8) -> u8 {
        let rtt = Nanos::from_micros(paths[free].srtt_us.into());
        if self.last_penalty[free].is_some_and(|last| now.saturating_sub(last) < rtt) {
            return 0;
        }
        let slower = |path: &PathView| path.srtt_us > paths[free].srtt_us;
        let open = |path: &PathView| path.established && !path.in_loss && !path.in_recovery;
        let mask = members(others)
            .filter(|&i| paths.get(i).is_some_and(|path| slower(path) && open(path)))
            .fold(0, |mask, i| mask | 1 << i);
        if mask != 0 {
            self.last_penalty[free] = Some(now);
        }
        mask
    }
}
