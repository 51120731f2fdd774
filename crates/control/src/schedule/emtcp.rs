//! eMTCP (Chen, Yuan, Muntean, WCNC 2013), reconstructed: traffic goes to the cheapest interface.
//!
//! Interfaces are ranked by sunk power, then by marginal energy. A segment goes to the cheapest
//! subflow with window space; on a tie the smallest RTT decides, so equal paths give `minrtt` (001
//! says the same of eMTCP).
//!
//! Off-loading (001, section 5.2: once the WLAN path is idle, it takes over data of the 3G path),
//! option `offload`:
//!
//! | value | a cheaper subflow with window space sends again what only dearer ones carry |
//! |---|---|
//! | `none` | never |
//! | `idle` | before new data |
//! | `tail` | once there is no new data |
//!
//! Deviations: the text of the paper was not available. The subflow interface state detector is
//! "has window space". The channel-state factor that bounds off-loading in 000's description is
//! missing.

use joulepath_controllers::MAX_SUBFLOWS;
use joulepath_model::energy::Confidence;

use super::scheduler::{Features, Offload, PacketScheduler, Style};
use super::view::{PathView, members, open};
use crate::energy::PathEnergy;
use crate::options::{OptionError, PartInfo};

/// Cheapest subflow first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Emtcp {
    /// Number of cheaper paths.
    rank: [u8; MAX_SUBFLOWS],
    /// When data moves to a cheaper path.
    offload: Offload,
}

impl PacketScheduler for Emtcp {
    const INFO: PartInfo = PartInfo {
        confidence: Confidence::Reconstruction,
        ..PartInfo::verified(
            "emtcp",
            "the interface with the least sunk power that has window space",
            &["offload"],
            "Chen, Yuan, Muntean 2013",
        )
    };
    const FEATURES: Features = Features {
        style: Style::Plain,
        weighs_backlog: false,
        watches_rtt: false,
        wants_allotment: false,
    };

    fn new(_mss_bytes: u32) -> Self {
        Self::default()
    }

    fn pick(&mut self, paths: &[PathView], carried: u8, _segment_bytes: u32) -> Option<usize> {
        let free = members(open(paths, carried)).filter(|&i| paths[i].has_space());
        free.min_by_key(|&i| (self.rank[i], paths[i].srtt_us))
    }

    fn offloads(&self) -> Offload {
        self.offload
    }

    fn takes_over(&self, paths: &[PathView], carried: u8) -> Option<usize> {
        let cheapest = members(carried).map(|i| self.rank[i]).min()?;
        let free = members(open(paths, 0)).filter(|&i| paths[i].has_space() && !paths[i].in_loss);
        free.filter(|&i| self.rank[i] < cheapest)
            .min_by_key(|&i| (self.rank[i], paths[i].srtt_us))
    }

    fn set(&mut self, option: &str, value: &str) -> Result<(), OptionError> {
        self.offload = match (option, value) {
            ("offload", "none") => Offload::Never,
            ("offload", "idle") => Offload::First,
            ("offload", "tail") => Offload::Last,
            ("offload", _) => {
                return Err(OptionError::BadValue {
                    option: "offload",
                    value: value.to_owned(),
                    expected: "none, idle or tail",
                });
            }
            _ => {
                return Err(OptionError::unknown_option(
                    Self::INFO.name,
                    option,
                    Self::INFO.options,
                ));
            }
        };
        Ok(())
    }

    fn learn_costs(&mut self, costs: &[PathEnergy]) {
        let key = |cost: &PathEnergy| (cost.sunk_w, cost.slope_j_per_bit);
        for (rank, cost) in self.rank.iter_mut().zip(costs) {
            *rank = costs.iter().filter(|other| key(other) < key(cost)).count() as u8;
        }
    }
}
