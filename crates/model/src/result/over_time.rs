//! Time series of the runs of one policy.

use serde::{Deserialize, Serialize};

/// Medians and bands over the seeds, in bins of equal length. Inner vectors are by path, in the
/// scenario's order.
///
/// A bin has a value if at least half of the runs have one: runs that ended earlier do not count in
/// later bins.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct OverTime {
    /// Length of a bin, s. A run contributes its mean over the bin.
    pub bin_s: f64,
    /// The middle of each bin, s.
    pub time_s: Vec<f64>,
    /// Number of runs.
    pub runs: u32,
    /// Quantiles at the ends of a band, 0 to 1.
    pub band: (f64, f64),
    /// Total goodput of all paths, bit/s.
    pub total_goodput_bps: Band,
    /// Total power of all interfaces, W.
    pub total_power_w: Band,
    /// Goodput, bit/s.
    pub goodput_bps: Vec<Band>,
    /// Congestion window, packets.
    pub cwnd: Vec<Band>,
    /// Smoothed RTT, s.
    pub rtt_s: Vec<Band>,
    /// Queue of the path's slowest link towards the receiver of the data, packets.
    pub queue: Vec<Band>,
    /// Power of the interface, W.
    pub power_w: Vec<Band>,
}

/// One quantity, bin by bin; none in bins where too few runs have a value.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Band {
    /// Lower end.
    pub lo: Vec<Option<f64>>,
    /// Median over the runs.
    pub median: Vec<Option<f64>>,
    /// Upper end.
    pub hi: Vec<Option<f64>>,
}
