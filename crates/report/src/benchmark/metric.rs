//! Metrics of a policy on a scenario.

use serde::{Deserialize, Serialize};

/// Kind of a family, which decides how it is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// By mean score, with policies grouped into tiers.
    Ranked,
    /// By median, worst 10 % and worst value of several metrics, on random scenarios of a set.
    Random,
}

impl Kind {
    /// Metrics of its families, in the order of the columns.
    pub const fn metrics(self) -> &'static [Metric] {
        use Metric::*;
        match self {
            Kind::Ranked => &[
                Score,
                TcpReference,
                TcpReferenceFree,
                Work,
                Goodput,
                Time,
                Share,
                Kept,
            ],
            Kind::Random => &[
                TcpReference,
                LinkBound,
                Single,
                Time,
                TimeToMptcp,
                Joules,
                Goodput,
                Kept,
                Share,
                QuietShare,
                Jain,
                Oracle,
                Searched,
            ],
        }
    }
}

/// A metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    /// Share of the TCP-rate reference times work.
    Score,
    /// Data per joule relative to the TCP-rate reference.
    TcpReference,
    /// The same where goodput depends on the policy: the cost of goodput.
    TcpReferenceFree,
    /// Data per joule relative to the link bound.
    LinkBound,
    /// Share of the limit relative to the best single path, chosen in hindsight.
    Single,
    /// Work done in time relative to the offered work.
    Work,
    /// Goodput relative to the fastest single path, where the work depends on it.
    Goodput,
    /// Completion time, or 95th percentile of the delay, relative to the fastest single path.
    Time,
    /// Completion time, or 95th percentile of the delay, relative to that of `mptcp`, if it runs
    /// too.
    TimeToMptcp,
    /// Joules per delivered bit relative to the fastest single path.
    Joules,
    /// Goodput of one connection relative to one TCP flow: the highest of any shared link.
    Share,
    /// The same for links without random loss.
    QuietShare,
    /// Goodput of the competitors relative to their goodput next to a NewReno flow in the policy's
    /// place: the lowest of any shared link (Ware et al., HotNets 2019: one minus the harm).
    Kept,
    /// Jain's index of the connections' goodputs.
    Jain,
    /// Share of the TCP-rate reference relative to the best policy of the portfolio, chosen in
    /// hindsight.
    Oracle,
    /// The same relative to the best that the search has found.
    Searched,
}

impl Metric {
    /// Name in JSON and CSV.
    pub const fn name(self) -> &'static str {
        match self {
            Metric::Score => "score",
            Metric::TcpReference => "tcp_reference",
            Metric::TcpReferenceFree => "tcp_reference_free",
            Metric::LinkBound => "link_bound",
            Metric::Single => "single",
            Metric::Work => "work",
            Metric::Goodput => "goodput",
            Metric::Time => "time",
            Metric::TimeToMptcp => "time_to_mptcp",
            Metric::Joules => "joules",
            Metric::Share => "share",
            Metric::QuietShare => "quiet_share",
            Metric::Kept => "kept",
            Metric::Jain => "jain",
            Metric::Oracle => "oracle",
            Metric::Searched => "searched",
        }
    }

    /// Whether `a` is worse than `b`.
    pub fn is_worse(self, a: f64, b: f64) -> bool {
        if self.is_low_bad() { a < b } else { a > b }
    }

    /// Whether lower values are worse.
    pub(super) const fn is_low_bad(self) -> bool {
        use Metric::*;
        !matches!(self, Time | TimeToMptcp | Joules | Share | QuietShare)
    }
}
