//! Metrics of a policy on a scenario.

use joulepath_model::metric::Better;
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

macro_rules! metrics {
    ($($(#[$doc:meta])* $id:ident: $name:literal, $better:ident, $heading:literal, $short:literal;)*) => {
        /// A metric.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
        pub enum Metric {
            $($(#[$doc])* #[serde(rename = $name)] $id,)*
        }

        impl Metric {
            /// Name in JSON and CSV.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Metric::$id => $name,)*
                }
            }

            /// Which of two values is better.
            pub(super) const fn better(self) -> Better {
                match self {
                    $(Metric::$id => Better::$better,)*
                }
            }

            /// Heading of its column in a random family, with `%` if values are in percent, and a
            /// short one for narrow terminals; empty: the same.
            pub(super) const fn heading(self) -> (&'static str, &'static str) {
                match self {
                    $(Metric::$id => ($heading, $short),)*
                }
            }
        }
    };
}

metrics! {
    /// Share of the TCP-rate reference times work.
    Score: "score", Higher, "score", "";
    /// Data per joule relative to the TCP-rate reference.
    TcpReference: "tcp_reference", Higher, "TCP ref. %", "";
    /// The same where goodput depends on the policy: the cost of goodput.
    TcpReferenceFree: "tcp_reference_free", Higher, "tcp_reference_free", "";
    /// Data per joule relative to the link bound.
    LinkBound: "link_bound", Higher, "link bound %", "link %";
    /// Share of the limit relative to the best single path, chosen in hindsight.
    Single: "single", Higher, "× best path", "× best";
    /// Work done in time relative to the offered work.
    Work: "work", Higher, "work", "";
    /// Goodput relative to the fastest single path, where the work depends on it.
    Goodput: "goodput", Higher, "× NewReno", "";
    /// Completion time, or 95th percentile of the delay, relative to the fastest single path.
    Time: "time", Lower, "time", "";
    /// Completion time, or 95th percentile of the delay, relative to that of `mptcp`, if it runs
    /// too.
    TimeToMptcp: "time_to_mptcp", Lower, "÷ MPTCP", "";
    /// Joules per delivered bit relative to the fastest single path.
    Joules: "joules", Lower, "joules", "";
    /// Goodput of one connection relative to one TCP flow: the highest of any shared link.
    Share: "share", Lower, "share", "";
    /// The same for links without random loss.
    QuietShare: "quiet_share", Lower, "quiet_share", "";
    /// Goodput of the competitors relative to their goodput next to a NewReno flow in the policy's
    /// place: the lowest of any shared link (Ware et al., HotNets 2019: one minus the harm).
    Kept: "kept", Higher, "kept", "";
    /// Jain's index of the connections' goodputs.
    Jain: "jain", Higher, "Jain", "";
    /// Share of the TCP-rate reference relative to the best policy of the portfolio, chosen in
    /// hindsight.
    Oracle: "oracle", Higher, "oracle %", "";
    /// The same relative to the best that the search has found.
    Searched: "searched", Higher, "searched %", "";
}

impl Metric {
    /// Whether `a` is worse than `b`.
    pub fn is_worse(self, a: f64, b: f64) -> bool {
        self.better().is_better(b, a)
    }
}
