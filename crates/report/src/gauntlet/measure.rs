//! From runs to the numbers of the gauntlet: what a policy did in one draw.
//!
//! ```text
//!             bits per joule of the run                           in time
//!   limit  =  ───────────────────────────── ,   offered data: × ─────────  and the first factor at most 1
//!              bits per joule of the limit                        offered
//!
//!             goodput of the competitors on a link beside the policy
//!   kept   =  ────────────────────────────────────────────────────────────── ,   the least over the links
//!             their goodput beside a NewReno in its place, with the same seed
//! ```
//! Kept is one minus the harm of Ware et al. (*Beyond Jain's Fairness Index*, HotNets 2019), measured against
//! the harm that a NewReno does. The NewReno is on the one of the policy's paths through the link on which it
//! has most.

use std::collections::BTreeMap;

use joulepath_model::result::{Limit, RunResult};
use joulepath_model::scenario::Scenario;
use serde::{Deserialize, Serialize};

use crate::league::{SharedBottleneck, Singles, Task, Yardstick as Equal, kept, link_share};
use crate::summary::{LIMIT_LINK, LIMIT_TCP_FRIENDLY};

/// What is measured in a draw.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    /// Share of the TCP-friendly limit.
    Limit,
    /// Share of the limit of the links.
    Link,
    /// Share of the TCP-friendly limit over that of the best single path, chosen in hindsight.
    Single,
    /// Completion time, or 95th percentile of the delay, over that of the fastest single path.
    Time,
    /// Goodput over that of the fastest single path.
    Goodput,
    /// Goodput of the competitors over what they have beside a NewReno: the least over the links.
    Kept,
    /// Goodput of a connection through a link over that of one of its TCPs: the most over the links.
    Share,
    /// The same over the links without random loss.
    QuietShare,
    /// Jain's index of the connections' goodputs.
    Jain,
}

impl Metric {
    /// All of them, in the order of the columns.
    pub const ALL: [Metric; 9] = [
        Metric::Limit,
        Metric::Link,
        Metric::Single,
        Metric::Time,
        Metric::Goodput,
        Metric::Kept,
        Metric::Share,
        Metric::QuietShare,
        Metric::Jain,
    ];

    /// In JSON and CSV.
    pub const fn name(self) -> &'static str {
        match self {
            Metric::Limit => "limit",
            Metric::Link => "link",
            Metric::Single => "single",
            Metric::Time => "time",
            Metric::Goodput => "goodput",
            Metric::Kept => "kept",
            Metric::Share => "share",
            Metric::QuietShare => "quiet_share",
            Metric::Jain => "jain",
        }
    }

    /// Whether less is worse.
    pub const fn is_low_bad(self) -> bool {
        !matches!(self, Metric::Time | Metric::Share | Metric::QuietShare)
    }
}

/// What a draw is measured with.
#[derive(Clone, Debug, PartialEq)]
pub struct Yardstick {
    /// Work and links with competitors; its limit is the TCP-friendly one.
    pub equal: Equal,
    /// Data per joule of the limit of the links, bit/J; none where nothing bounds it.
    pub link: Option<f64>,
    /// For each link with competitors whether the policy's data is lost on it, or on the way to it, at
    /// random.
    lossy: Vec<bool>,
}

impl Yardstick {
    /// For `scenario`. `limits` are those that work and deadlines follow from; `attainable(deadline)` those
    /// that policies are held against.
    ///
    /// # Errors
    /// Why policies cannot be compared there.
    pub fn of(
        scenario: &Scenario,
        limits: &[Limit],
        attainable: impl Fn(Option<f64>) -> Vec<Limit>,
    ) -> Result<Self, String> {
        let mut equal = Equal::of(scenario, limits)?;
        let deadline = match equal.task {
            Task::Deadline { seconds } => Some(seconds),
            _ => None,
        };
        let limits = attainable(deadline);
        let of = |kind: &str| {
            let known = limits.iter().find(|limit| limit.kind == kind);
            known.map(|limit| limit.bits_per_joule).filter(|bits| *bits > 0.0)
        };
        let link = of(LIMIT_LINK);
        equal.limit = of(LIMIT_TCP_FRIENDLY).or(link).ok_or("it has no energy limit")?;
        let loses = |path: &usize| {
            let path = &scenario.paths[*path];
            path.down.iter().chain(&path.up).any(|&link| scenario.links[link].loss.mean() > 0.0)
        };
        let lossy = equal.shared.iter().map(|shared| shared.paths.iter().any(loses)).collect();
        Ok(Yardstick { equal, link, lossy })
    }

    /// The path alone with the greatest share of the limit.
    pub fn best_path(&self, alone: &Singles) -> Option<usize> {
        let of = |path: usize| share(alone.runs(Some(path))?, self.equal.limit, &self.equal.task);
        let known = (0..alone.len()).filter_map(|path| Some((of(path)?, path)));
        known.reduce(|a, b| if b.0 > a.0 { b } else { a }).map(|(_, path)| path)
    }
}

/// What a policy did in a draw.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Measures(BTreeMap<Metric, f64>);

impl Measures {
    /// Of its runs, in the order of the seeds; `alone` are the runs of each path alone with the same seeds.
    pub fn of(runs: &[RunResult], alone: &Singles, with: &Yardstick) -> Self {
        let task = &with.equal.task;
        let limit = share(runs, with.equal.limit, task);
        let best = with.best_path(alone).and_then(|path| alone.runs(Some(path)));
        let best = best.and_then(|best| share(best, with.equal.limit, task));
        let fastest = alone.runs(alone.fastest);
        let of = |metric: Metric| match metric {
            Metric::Limit => limit,
            Metric::Link => with.link.and_then(|link| share(runs, link, task)),
            Metric::Single => ratio([(limit?, best?)]),
            Metric::Time => {
                let pairs = runs.iter().zip(fastest?);
                let pairs: Option<Vec<(f64, f64)>> =
                    pairs.map(|(run, single)| Some((task.time_s(run)?, task.time_s(single)?))).collect();
                ratio(pairs?)
            }
            Metric::Goodput if matches!(task, Task::Deadline { .. }) => None,
            Metric::Goodput => {
                ratio(runs.iter().zip(fastest?).map(|(run, single)| (run.goodput_bps, single.goodput_bps)))
            }
            Metric::Kept => {
                let kept = with.equal.shared.iter().filter_map(|link| ratio(kept(runs, alone, link)));
                kept.reduce(f64::min)
            }
            Metric::Share => shares(runs, with, |_| true),
            Metric::QuietShare => shares(runs, with, |lossy| !lossy),
            Metric::Jain => jain(runs),
        };
        let known = Metric::ALL.into_iter().filter_map(|metric| Some((metric, of(metric)?)));
        Measures(known.filter(|(_, value)| value.is_finite()).collect())
    }

    /// A number of it; none if it is not measured there.
    pub fn get(&self, metric: Metric) -> Option<f64> {
        self.0.get(&metric).copied()
    }

    /// All of them with four significant digits.
    pub(super) fn rounded(&self) -> BTreeMap<Metric, f64> {
        self.0.iter().map(|(&metric, &value)| (metric, crate::scale::rounded(value, 4))).collect()
    }

    /// Of numbers that a test makes up.
    #[cfg(test)]
    pub(super) fn made_up(values: &[(Metric, f64)]) -> Self {
        Measures(values.iter().copied().collect())
    }
}

/// Sum of the first ones over the sum of the second ones; none if that is 0.
fn ratio(pairs: impl IntoIterator<Item = (f64, f64)>) -> Option<f64> {
    let (above, below) = pairs.into_iter().fold((0.0, 0.0), |sum, pair| (sum.0 + pair.0, sum.1 + pair.1));
    (below > 0.0).then(|| above / below)
}

/// Share of a limit, mean over the seeds. Offered data that does not come in time counts as if it had to be
/// paid for once more, and nothing is gained by carrying less of it for less. A file that is not complete
/// counts by its part.
fn share(runs: &[RunResult], limit: f64, task: &Task) -> Option<f64> {
    let of_run = |run: &RunResult| {
        let share = run.bits_per_joule / limit;
        match task {
            Task::Endless { .. } | Task::Requests => Some(share),
            Task::Files { .. } if run.completion_s.is_some() => Some(share),
            Task::Files { bits } => Some(share * (run.bits_per_joule * run.energy_j / bits).min(1.0)),
            Task::Deadline { seconds } => {
                let found = run.punctuality.iter().find(|one| one.deadline_s == *seconds)?;
                let in_time = found.in_time as f64 / found.offered as f64;
                (found.offered > 0).then_some(share.min(1.0) * in_time)
            }
        }
    };
    let shares: Option<Vec<f64>> = runs.iter().map(of_run).collect();
    shares.filter(|shares| !shares.is_empty()).map(|shares| shares.iter().sum::<f64>() / shares.len() as f64)
}

/// The most of any link that counts.
fn shares(runs: &[RunResult], with: &Yardstick, counts: impl Fn(bool) -> bool) -> Option<f64> {
    let links = with.equal.shared.iter().zip(&with.lossy).filter(|(_, lossy)| counts(**lossy));
    let of_link = |link: &SharedBottleneck| {
        ratio(runs.iter().filter_map(|run| link_share(run, link)).collect::<Vec<_>>())
    };
    links.filter_map(|(link, _)| of_link(link)).reduce(f64::max)
}

/// (Σ x)²/(n Σ x²) of the connections' goodputs (Jain, Chiu and Hawe, DEC-TR-301, 1984), mean over the seeds;
/// none of one connection.
fn jain(runs: &[RunResult]) -> Option<f64> {
    let of_run = |run: &RunResult| {
        let x = &run.connections_bps;
        let (sum, squares) = x.iter().fold((0.0, 0.0), |(sum, squares), x| (sum + x, squares + x * x));
        (x.len() > 1 && squares > 0.0).then(|| sum * sum / (x.len() as f64 * squares))
    };
    let all: Option<Vec<f64>> = runs.iter().map(of_run).collect();
    all.filter(|all| !all.is_empty()).map(|all| all.iter().sum::<f64>() / all.len() as f64)
}

#[cfg(test)]
mod tests;
