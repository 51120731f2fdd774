//! eMTCP (Chen, Yuan, Muntean, WCNC 2013), reconstructed: traffic goes to the cheapest interface.
//!
//! Interfaces are ranked by sunk power, then by marginal energy. A segment goes to the cheapest subflow with
//! window space; on a tie the smallest RTT decides, so equal paths give `minrtt` (001 says the same of
//! eMTCP).
//!
//! Deviations: the text of the paper was not available. The subflow interface state detector is "has window
//! space". The paper's offload controller takes back unsent data from a more expensive subflow; here segments
//! are assigned when they are sent, so there is nothing to take back. The channel-state factor that bounds
//! offloading in 000's description is missing.

use joulepath_controllers::MAX_SUBFLOWS;
use joulepath_model::energy::Confidence;

use super::scheduler::{Features, PacketScheduler, Style};
use super::view::{PathView, members, open};
use crate::energy::PathEnergy;
use crate::options::PartInfo;

/// Cheapest subflow first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Emtcp {
    /// Number of cheaper paths.
    rank: [u8; MAX_SUBFLOWS],
}

impl PacketScheduler for Emtcp {
    const INFO: PartInfo = PartInfo {
        confidence: Confidence::Reconstruction,
        ..PartInfo::verified(
            "emtcp",
            "the interface with the least sunk power that has window space",
            &[],
            "Chen, Yuan, Muntean 2013",
        )
    };
    const FEATURES: Features =
        Features { style: Style::Plain, weighs_backlog: false, watches_rtt: false, wants_allotment: false };

    fn new(_mss_bytes: u32) -> Self {
        Self::default()
    }

    fn pick(&mut self, paths: &[PathView], carried: u8, _segment_bytes: u32) -> Option<usize> {
        let free = members(open(paths, carried)).filter(|&i| paths[i].has_space());
        free.min_by_key(|&i| (self.rank[i], paths[i].srtt_us))
    }

    fn learn_costs(&mut self, costs: &[PathEnergy]) {
        let key = |cost: &PathEnergy| (cost.sunk_w, cost.slope_j_per_bit);
        for (rank, cost) in self.rank.iter_mut().zip(costs) {
            *rank = costs.iter().filter(|other| key(other) < key(cost)).count() as u8;
        }
    }
}
