//! eMTCP (Chen, Yuan, Muntean, WCNC 2013), reconstructed: traffic is offloaded to the interface that costs least.
//!
//! Interfaces are ranked by sunk power, then by marginal energy. A segment goes to the cheapest subflow with window space; equal ones
//! are told apart by RTT, so that equal paths give `minrtt` (001 says so of eMTCP).
//!
//! Deviations: the text of the paper was not available. The subflow interface state detector is "has window space"; the offload controller
//! takes back what was assigned to a dearer subflow and not yet sent, of which there is none where segments are assigned when they are
//! sent. 000 mentions a channel-state factor that bounds what is offloaded: left out.

use super::{MAX_SUBFLOWS, PathCost, PathView, candidates, members, not_yet_carriers};

/// Cheapest subflow first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Emtcp {
    /// How many paths are cheaper.
    rank: [u8; MAX_SUBFLOWS],
}

impl Emtcp {
    pub(super) fn rank_by(&mut self, costs: &[PathCost]) {
        let key = |cost: &PathCost| (cost.sunk_w, cost.slope_j_per_bit);
        for (rank, cost) in self.rank.iter_mut().zip(costs) {
            *rank = costs.iter().filter(|other| key(other) < key(cost)).count() as u8;
        }
    }

    pub(super) fn pick(&self, paths: &[PathView], carried: u8) -> Option<usize> {
        let open = not_yet_carriers(candidates(paths, PathView::is_usable), carried);
        members(open).filter(|&i| paths[i].has_space()).min_by_key(|&i| (self.rank[i], paths[i].srtt_us))
    }
}
