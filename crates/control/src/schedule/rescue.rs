//! Opportunistic retransmission and penalisation (Raiciu et al., NSDI 2012, section 4.2), as in the
//! schedulers of the out-of-tree Linux MPTCP.
//!
//! Deviations: if several subflows carry the oldest segment, one slow carrier suffices for a
//! retransmission (in the module the last carrier in its list decides).

use joulepath_model::units::Nanos;

use super::view::{PathView, fastest_with_space, members};
use crate::options::{self, OptionError, PartInfo};
use joulepath_controllers::MAX_SUBFLOWS;

/// A carrier with at most this window, packets, is too slow to wait for.
const TINY_WINDOW: u32 = 4;
/// A carrier whose RTT is more than this many times the free subflow's is too slow to wait for.
const SLOW_RTT_FACTOR: u64 = 4;

/// Options of the schedulers that rescue segments.
pub(super) const OPTIONS: &[&str] = &["opportunistic", "penalise"];

/// Actions for the oldest segment, which holds up the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rescue {
    /// Send it again on this subflow.
    pub retransmit_on: Option<usize>,
    /// Mask of the subflows to penalise by [`penalised`].
    pub penalise: u8,
}

/// cwnd and ssthresh (packets) of a penalised subflow; in slow start ssthresh does not change.
pub fn penalised(cwnd: u32, ssthresh: u32) -> (u32, u32) {
    let cut = if cwnd >= ssthresh {
        (ssthresh / 2).max(2)
    } else {
        ssthresh
    };
    ((cwnd / 2).max(1), cut)
}

/// Decides on a [`Rescue`] when the data-level window is full.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rescuer {
    /// Whether to send the oldest unacknowledged segment again on a free, faster subflow when the
    /// data-level window is full.
    pub opportunistic: bool,
    /// Whether to halve the windows of the subflows that hold it up.
    pub penalise: bool,
    /// Time of the last penalty that each subflow caused.
    last_penalty: [Option<Nanos>; MAX_SUBFLOWS],
}

impl Default for Rescuer {
    /// Both on, as in Linux MPTCP v0.8x to v0.95.
    fn default() -> Self {
        Rescuer {
            opportunistic: true,
            penalise: true,
            last_penalty: [None; MAX_SUBFLOWS],
        }
    }
}

impl Rescuer {
    /// With opportunistic retransmission and without penalties.
    pub(super) fn without_penalty() -> Self {
        Rescuer {
            penalise: false,
            ..Self::default()
        }
    }

    /// Sets one of [`OPTIONS`] of the scheduler `part`.
    pub(super) fn set(
        &mut self,
        part: &PartInfo,
        option: &str,
        value: &str,
    ) -> Result<(), OptionError> {
        match option {
            "opportunistic" => self.opportunistic = options::switch("opportunistic", value)?,
            "penalise" => self.penalise = options::switch("penalise", value)?,
            _ => return Err(OptionError::unknown_option(part.name, option, part.options)),
        }
        Ok(())
    }

    pub(super) fn rescue(&mut self, paths: &[PathView], now: Nanos, carried: u8) -> Option<Rescue> {
        let free = fastest_with_space(paths, 0)?;
        let others = carried & !(1 << free);
        let rescue = Rescue {
            retransmit_on: (self.opportunistic && should_retransmit(paths, free, carried))
                .then_some(free),
            penalise: if self.penalise {
                self.slower_carriers(paths, now, free, others)
            } else {
                0
            },
        };
        (rescue.retransmit_on.is_some() || rescue.penalise != 0).then_some(rescue)
    }

    /// The slower carriers in the Open state; at most once per RTT of `free`.
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

/// True if `free` has not carried the segment and some carrier is too slow to wait for.
fn should_retransmit(paths: &[PathView], free: usize, carried: u8) -> bool {
    let slow = SLOW_RTT_FACTOR * u64::from(paths[free].srtt_us);
    carried & (1 << free) == 0
        && members(carried)
            .filter_map(|i| paths.get(i))
            .any(|carrier| carrier.cwnd <= TINY_WINDOW || u64::from(carrier.srtt_us) > slow)
}
