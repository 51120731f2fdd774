//! The question for `advise`, and the reasons for no answer.

use joulepath_model::energy::{self, InterfaceModel, Traffic};
use joulepath_model::network::LossSpec;
use joulepath_model::units::{BitRate, Bytes, Nanos, Watts};

use super::coupling::Coupling;
use crate::limit::Capacity;

/// Maximum number of paths: each further path more than doubles the run time.
pub const MOST_PATHS: usize = 5;

/// A path of the device.
#[derive(Clone, Debug, PartialEq)]
pub struct Path {
    /// Its name in the advice.
    pub name: String,
    /// Rate of the link, headers included.
    pub rate: BitRate,
    /// Round-trip time.
    pub rtt: Nanos,
    /// Random loss of the link, on average less than 1.
    pub loss: LossSpec,
    /// Energy model of the interface.
    pub energy: InterfaceModel,
}

impl Path {
    /// Says within which bounds the profile of its energy is estimated; `None` if it was measured.
    pub fn estimate(&self) -> Option<String> {
        energy::named(&self.energy)?.estimate()
    }

    /// Says that the profile of its energy is extrapolated at the link's rate; `None` if it holds
    /// there.
    pub fn extrapolated(&self) -> Option<String> {
        energy::named(&self.energy)?.beyond(Traffic::Down, self.rate.bps() as f64)
    }
}

/// Time limit of the transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Within {
    /// No time limit: only energy counts.
    Whenever,
    /// At most this long after the start.
    Deadline(Nanos),
    /// The data is produced or played at this rate, so it is neither faster nor slower.
    Rate(BitRate),
}

/// A transfer, and the device that makes it.
#[derive(Clone, Debug, PartialEq)]
pub struct Question {
    /// The paths, 1 to [`MOST_PATHS`].
    pub paths: Vec<Path>,
    /// Payload.
    pub size: Bytes,
    /// Time limit.
    pub within: Within,
    /// Energy that a second until the last byte is worth: the best plan has the least sum of its
    /// energy and this price. Without effect at a given rate.
    pub delay_price: Watts,
    /// Power while at least one interface is active.
    pub base: Watts,
    /// The bound on a path's rate, as in the limits.
    pub capacity: Capacity,
    /// The congestion control of several paths.
    pub coupling: Coupling,
}

impl Question {
    /// What the best plan has least of: the energy and the price of the time, J.
    pub fn cost_j(&self, energy_j: f64, seconds: f64) -> f64 {
        energy_j + self.price_w() * seconds
    }

    /// Price of a second until the last byte, W.
    pub(super) fn price_w(&self) -> f64 {
        match self.within {
            Within::Rate(_) => 0.0,
            Within::Whenever | Within::Deadline(_) => self.delay_price.0,
        }
    }
}

/// Reason why there is no advice.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum Impossible {
    /// All paths together are too slow for the deadline.
    #[error("all paths together need {fastest_s:.3} s")]
    Deadline {
        /// Least time, s.
        fastest_s: f64,
    },
    /// All paths together are slower than the rate.
    #[error("all paths together carry {:.3} Mbit/s", .most_bps / 1e6)]
    Rate {
        /// Total rate of all paths, bit/s of payload.
        most_bps: f64,
    },
    /// A path carries nothing, there are no paths or too many, or there is no data.
    #[error("advice needs 1 to {MOST_PATHS} paths that carry data, and data to carry")]
    Degenerate,
}
