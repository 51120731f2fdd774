//! What is asked, and why there may be no answer.

use joulepath_model::energy::InterfaceModel;
use joulepath_model::units::{BitRate, Bytes, Nanos, Probability, Watts};

use crate::limit::Capacity;

/// Most paths that are advised on: the time doubles and more with each.
pub const MOST_PATHS: usize = 5;

/// A path of the device.
#[derive(Clone, Debug, PartialEq)]
pub struct Path {
    /// As the advice calls it.
    pub name: String,
    /// Of the link, headers included.
    pub rate: BitRate,
    /// There and back.
    pub rtt: Nanos,
    /// Random loss of the link, less than 1.
    pub loss: Probability,
    /// Of the interface.
    pub energy: InterfaceModel,
}

/// When the data must be there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Within {
    /// Energy alone counts.
    Whenever,
    /// At most so long after the start.
    Deadline(Nanos),
    /// It is made, or played, at this rate, and so neither faster nor slower.
    Rate(BitRate),
}

/// What is asked.
#[derive(Clone, Debug, PartialEq)]
pub struct Question {
    /// 1 to [`MOST_PATHS`].
    pub paths: Vec<Path>,
    /// Payload.
    pub size: Bytes,
    /// When.
    pub within: Within,
    /// Burns while at least one interface is active.
    pub base: Watts,
    /// What bounds a path's rate: the limits' two kinds.
    pub capacity: Capacity,
}

/// Why there is no advice.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum Impossible {
    /// All paths together are too slow.
    #[error("all paths together need {fastest_s:.3} s")]
    Deadline {
        /// Least time, s.
        fastest_s: f64,
    },
    /// All paths together carry less.
    #[error("all paths together carry {:.3} Mbit/s", .most_bps / 1e6)]
    Rate {
        /// Their sum, bit/s of payload.
        most_bps: f64,
    },
    /// A path carries nothing, or there are none or too many, or nothing is to be carried.
    #[error("there must be 1 to {MOST_PATHS} paths that carry data, and data")]
    Degenerate,
}
