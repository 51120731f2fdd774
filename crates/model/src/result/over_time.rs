//! How the runs of one policy went over time.

use serde::{Deserialize, Serialize};

/// Medians and bands over the seeds, in bins of equal length. Inner vectors are by path, in the scenario's
/// order.
///
/// A bin has a value where at least half of the runs have one: those that ended earlier say nothing of what
/// came later.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct OverTime {
    /// Length of a bin, s. What a run contributes to a bin is its mean over it.
    pub bin_s: f64,
    /// The middle of each bin, s.
    pub time_s: Vec<f64>,
    /// Number of runs.
    pub runs: u32,
    /// The quantiles that a band lies between, 0 to 1.
    pub band: (f64, f64),
    /// Goodput of all paths together, bit/s.
    pub total_goodput_bps: Band,
    /// Power of all interfaces together, W.
    pub total_power_w: Band,
    /// Goodput, bit/s.
    pub goodput_bps: Vec<Band>,
    /// Congestion window, packets.
    pub cwnd: Vec<Band>,
    /// Smoothed RTT, s.
    pub rtt_s: Vec<Band>,
    /// Queue of the path's slowest link in the data direction, packets.
    pub queue: Vec<Band>,
    /// Power of the interface, W.
    pub power_w: Vec<Band>,
}

/// One quantity, bin by bin; none where too few runs have a value.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Band {
    /// Lower end.
    pub lo: Vec<Option<f64>>,
    /// Median over the runs.
    pub median: Vec<Option<f64>>,
    /// Upper end.
    pub hi: Vec<Option<f64>>,
}
