//! The default scheduler of out-of-tree Linux MPTCP (lowRTT, minRTT): smallest smoothed RTT first.

use joulepath_model::units::Nanos;

use super::rescue::{self, Rescue, Rescuer};
use super::scheduler::{Features, PacketScheduler, Style};
use super::view::{PathView, fastest_with_space};
use crate::options::{OptionError, PartInfo};

/// Chooses the smallest smoothed RTT.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MinRtt {
    /// Opportunistic retransmission and penalisation.
    pub rescuer: Rescuer,
}

impl PacketScheduler for MinRtt {
    const INFO: PartInfo = PartInfo::verified(
        "minrtt",
        "smallest smoothed RTT with window space, with opportunistic retransmission and penalisation",
        rescue::OPTIONS,
        "out-of-tree Linux MPTCP v0.95",
    );
    const FEATURES: Features = Features {
        style: Style::Plain,
        weighs_backlog: false,
        watches_rtt: false,
        wants_allotment: false,
    };
    const TAKES_THE_ONLY_CHOICE: bool = true;

    fn new(_mss_bytes: u32) -> Self {
        Self::default()
    }

    #[inline]
    fn pick(&mut self, paths: &[PathView], carried: u8, _segment_bytes: u32) -> Option<usize> {
        fastest_with_space(paths, carried)
    }

    fn rescue(&mut self, paths: &[PathView], now: Nanos, carried: u8) -> Option<Rescue> {
        self.rescuer.rescue(paths, now, carried)
    }

    fn set(&mut self, option: &str, value: &str) -> Result<(), OptionError> {
        self.rescuer.set(&Self::INFO, option, value)
    }
}
