//! Round-robin, as in the out-of-tree Linux MPTCP module `roundrobin` (v0.95); 000 names it as its
//! scheduler.
//!
//! Deviations:
//! - of several subflows before their turn, the first is chosen (the module chooses the last in its
//!   list);
//! - a turn counts segments, not bytes divided by the MSS;
//! - backup subflows wait until no regular one is usable (the module ignores the flag).

use joulepath_controllers::MAX_SUBFLOWS;

use super::scheduler::{Features, PacketScheduler, Style};
use super::view::{PathView, members, open};
use crate::options::{self, OptionError, PartInfo};

/// Gives each subflow turns of `num_segments` segments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoundRobin {
    /// Consecutive segments per turn.
    pub num_segments: u32,
    /// Whether to skip a subflow without window space, or else to wait for it.
    pub cwnd_limited: bool,
    /// Segments of each subflow in this round.
    quota: [u32; MAX_SUBFLOWS],
}

impl Default for RoundRobin {
    /// The module's defaults: one segment per turn, skipping subflows without space.
    fn default() -> Self {
        RoundRobin {
            num_segments: 1,
            cwnd_limited: true,
            quota: [0; MAX_SUBFLOWS],
        }
    }
}

impl PacketScheduler for RoundRobin {
    const INFO: PartInfo = PartInfo::verified(
        "round-robin",
        "turns of num_segments segments each; skips subflows without window space unless cwnd_limited=off",
        &["num_segments", "cwnd_limited"],
        "out-of-tree Linux MPTCP v0.95",
    );
    const FEATURES: Features = Features {
        style: Style::Plain,
        weighs_backlog: false,
        watches_rtt: false,
        wants_allotment: false,
    };

    fn new(_mss_bytes: u32) -> Self {
        Self::default()
    }

    #[inline]
    fn pick(&mut self, paths: &[PathView], carried: u8, _segment_bytes: u32) -> Option<usize> {
        let mut open = open(paths, carried);
        if self.cwnd_limited {
            open = members(open)
                .filter(|&i| paths[i].has_space())
                .fold(0, |mask, i| mask | 1 << i);
        }
        let turn = self.turn(open).or_else(|| {
            members(open).for_each(|i| self.quota[i] = 0);
            self.turn(open)
        })?;
        if !paths[turn].has_space() {
            return None;
        }
        self.quota[turn] += 1;
        Some(turn)
    }

    fn set(&mut self, option: &str, value: &str) -> Result<(), OptionError> {
        match option {
            "num_segments" => self.num_segments = options::count("num_segments", value)?,
            "cwnd_limited" => self.cwnd_limited = options::switch("cwnd_limited", value)?,
            _ => {
                return Err(OptionError::unknown_option(
                    Self::INFO.name,
                    option,
                    Self::INFO.options,
                ));
            }
        }
        Ok(())
    }
}

impl RoundRobin {
    /// The subflow in the middle of its turn, or else the first without a turn so far.
    #[inline]
    fn turn(&self, open: u8) -> Option<usize> {
        let begun = |&i: &usize| (1..self.num_segments).contains(&self.quota[i]);
        members(open)
            .find(begun)
            .or_else(|| members(open).find(|&i| self.quota[i] == 0))
    }
}
