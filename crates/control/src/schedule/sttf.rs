//! STTF, shortest transfer time first (Hurtig, Grinnemo, Brunstrom, Ferlin, Alay, Kuhn, ToN 2019),
//! as in the Karlstad kernel tree.
//!
//! ```text
//!   transfer time of a segment with q segments before it on a path:
//!       q < free window:  τ/2
//!       otherwise:        τ per window that must go first (×2 in slow start, +1 afterwards), and τ/2
//! ```
//! Each unsent segment, in order, belongs to the path that delivers it soonest, even if that path
//! has no space yet. So a path with space gets the first segment that no full path would deliver
//! sooner: earlier segments are left for the faster paths. The plan is recomputed for every
//! segment, the limiting case of replanning at each change of the assignment.
//!
//! Deviations: there are no queues below the data level, so data waits only in the plan; packets
//! replace bytes.

use joulepath_model::units::Nanos;

use super::rescue::{self, Rescue, Rescuer};
use super::scheduler::{Features, PacketScheduler, Style};
use super::view::{Backlog, PathView, Placement, candidates, members, open};
use crate::options::{OptionError, PartInfo};

/// Chooses the shortest transfer time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sttf {
    /// Opportunistic retransmission, kept from `minrtt`; penalisation is off.
    pub rescuer: Rescuer,
}

impl Default for Sttf {
    fn default() -> Self {
        Sttf {
            rescuer: Rescuer::without_penalty(),
        }
    }
}

/// Latest RTT, µs.
fn rtt_us(path: &PathView) -> u64 {
    path.rtt.last_us.into()
}

/// Segments that a full path delivers sooner than `limit_x2`/2 µs from now.
fn brought_sooner(path: &PathView, limit_x2: u64, most: u64) -> u64 {
    let (rtt, mut window, mut sum) = (rtt_us(path).max(1), u64::from(path.cwnd), 0);
    // The windows leave at τ, 2τ, …; each takes τ/2 to arrive.
    let mut arrival_x2 = 3 * rtt;
    while arrival_x2 < limit_x2 && sum < most {
        sum += window;
        window = if window < u64::from(path.ssthresh) {
            2 * window
        } else {
            window + 1
        };
        arrival_x2 += 2 * rtt;
    }
    sum
}

impl PacketScheduler for Sttf {
    const INFO: PartInfo = PartInfo::verified(
        "sttf",
        "each segment goes to the subflow that delivers it soonest, even if it has no space yet",
        rescue::OPTIONS,
        "Hurtig et al. 2019",
    );
    const FEATURES: Features = Features {
        style: Style::Places,
        weighs_backlog: true,
        watches_rtt: true,
        wants_allotment: false,
    };

    fn new(_mss_bytes: u32) -> Self {
        Self::default()
    }

    fn pick(&mut self, paths: &[PathView], carried: u8, _segment_bytes: u32) -> Option<usize> {
        soonest(paths, open(paths, carried))
    }

    fn place(
        &mut self,
        paths: &[PathView],
        _segment_bytes: u32,
        backlog: &Backlog,
    ) -> Option<Placement> {
        let usable = candidates(paths, PathView::is_usable);
        let path = soonest(paths, usable)?;
        let limit_x2 = rtt_us(&paths[path]);
        let full = members(usable).filter(|&i| !paths[i].has_space());
        let most = u64::from(backlog.unsent);
        let before: u64 = full
            .map(|i| brought_sooner(&paths[i], limit_x2, most))
            .sum();
        (before < most).then(|| Placement {
            path,
            dsn: backlog.next + before as u32,
        })
    }

    fn rescue(&mut self, paths: &[PathView], now: Nanos, carried: u8) -> Option<Rescue> {
        self.rescuer.rescue(paths, now, carried)
    }

    fn set(&mut self, option: &str, value: &str) -> Result<(), OptionError> {
        self.rescuer.set(&Self::INFO, option, value)
    }
}

/// The path in `open` with space and the lowest latest RTT; the first on a tie.
fn soonest(paths: &[PathView], open: u8) -> Option<usize> {
    members(open)
        .filter(|&i| paths[i].has_space())
        .min_by_key(|&i| rtt_us(&paths[i]))
}
