//! What is measured of a policy on a scenario.

use serde::{Deserialize, Serialize};

/// How a family is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// By the mean score; policies are put into tiers.
    Ranked,
    /// By median, worst 10 % and worst of several metrics, on random scenarios of a set.
    Random,
}

impl Kind {
    /// The metrics of its families, in the order of the columns.
    pub const fn metrics(self) -> &'static [Metric] {
        use Metric::*;
        match self {
            Kind::Ranked => &[Score, Limit, LimitFree, Work, Goodput, Time, Share, Kept],
            Kind::Random => &[Limit, Link, Single, Time, Goodput, Kept, Share, QuietShare, Jain],
        }
    }
}

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    /// Share of the limit times work.
    Score,
    /// Data per joule over that of the TCP-friendly limit.
    Limit,
    /// The same where goodput depends on the policy: what goodput costs.
    LimitFree,
    /// Data per joule over that of the limit of the links.
    Link,
    /// Share of the limit over that of the best single path, chosen in hindsight.
    Single,
    /// Work done in time over work offered.
    Work,
    /// Goodput over that of the fastest single path, where the work depends on it.
    Goodput,
    /// Completion time, or 95th percentile of the delay, over that of the fastest single path.
    Time,
    /// Goodput of one connection over that of one TCP: the most of any shared link.
    Share,
    /// The same over the links without random loss.
    QuietShare,
    /// Goodput of the competitors over what they have next to a NewReno in the policy's place: the least of
    /// any shared link (Ware et al., HotNets 2019: one minus the harm).
    Kept,
    /// Jain's index of the connections' goodputs.
    Jain,
}

impl Metric {
    /// In JSON and CSV.
    pub const fn name(self) -> &'static str {
        match self {
            Metric::Score => "score",
            Metric::Limit => "limit",
            Metric::LimitFree => "limit_free",
            Metric::Link => "link",
            Metric::Single => "single",
            Metric::Work => "work",
            Metric::Goodput => "goodput",
            Metric::Time => "time",
            Metric::Share => "share",
            Metric::QuietShare => "quiet_share",
            Metric::Kept => "kept",
            Metric::Jain => "jain",
        }
    }

    /// Whether `a` is worse than `b`.
    pub fn is_worse(self, a: f64, b: f64) -> bool {
        if self.is_low_bad() { a < b } else { a > b }
    }

    /// Whether less is worse.
    pub(super) const fn is_low_bad(self) -> bool {
        !matches!(self, Metric::Time | Metric::Share | Metric::QuietShare)
    }
}
