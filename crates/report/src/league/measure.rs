//! From runs to the numbers of the league: what each policy did on one scenario, at equal work.
//!
//! ```text
//!                  bits per joule of the run        work done in time
//!     score  =  ───────────────────────────── × ───────────────────────,   the second factor at most 1
//!                bits per joule of the limit        work offered
//! ```
//! For work W the first factor is the least energy for W over what the policy would burn for W. The second is
//! what is not done, or done late: who needs twice the time for the same work, or leaves half of it, has half
//! of the score. It is the energy–delay product (Gonzalez and Horowitz, IEEE JSSC 31(9), 1996), but for what
//! is gained by more than the offered work: nothing.

use joulepath_model::result::{Estimate, RunResult};
use serde::{Deserialize, Serialize};

use super::yardstick::{SharedBottleneck, Task, Yardstick};
use crate::bootstrap::{ratio_estimate, resample};

/// A policy that takes more than this many TCPs at a shared bottleneck is marked: a fifth above RFC 6356,
/// goal 2.
pub const MOST_TCPS: f64 = 1.2;
/// Competitors that keep less than this part of what they have beside a NewReno are harmed.
pub const LEAST_KEPT: f64 = 0.9;
/// Where a ratio is less, it counts as this: who does nothing on one scenario is not out of everything.
pub const LEAST: f64 = 0.01;

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Metric {
    /// The product of the next two.
    Score,
    /// Data per joule over that of the limit.
    OfLimit,
    /// The same where goodput depends on the policy: what goodput costs.
    OfLimitFree,
    /// Work done in time over work offered.
    Work,
    /// Goodput over that of the fastest single path; only where the work depends on it.
    Goodput,
    /// Completion time, or 95th percentile of the delay, over that of the fastest single path.
    Time,
    /// Most of the goodputs of one connection over that of one TCP, at the shared bottlenecks.
    TcpShare,
    /// Least of the goodputs of the competitors over what they have beside a NewReno in the policy's place,
    /// at the shared bottlenecks (Ware et al., HotNets 2019).
    Kept,
}

impl Metric {
    /// All of them, in the order of the columns.
    pub const ALL: [Metric; 8] = [
        Metric::Score,
        Metric::OfLimit,
        Metric::OfLimitFree,
        Metric::Work,
        Metric::Goodput,
        Metric::Time,
        Metric::TcpShare,
        Metric::Kept,
    ];

    /// In JSON.
    pub fn name(self) -> &'static str {
        match self {
            Metric::Score => "score",
            Metric::OfLimit => "of_limit",
            Metric::OfLimitFree => "of_limit_free",
            Metric::Work => "work",
            Metric::Goodput => "goodput",
            Metric::Time => "time",
            Metric::TcpShare => "tcp_share",
            Metric::Kept => "kept",
        }
    }

    /// The worst of several: the lowest, but for time and for what is taken from TCP.
    pub fn is_worse(self, a: f64, b: f64) -> bool {
        if matches!(self, Metric::Time | Metric::TcpShare) { a > b } else { a < b }
    }
}

/// What single paths did on a scenario, with the same seeds as the policies.
#[derive(Clone, Debug, Default)]
pub struct Singles {
    /// By path; none where that could not run.
    runs: Vec<Option<Vec<RunResult>>>,
    /// The path with the most data per joule.
    pub thriftiest: Option<usize>,
    /// The path that does the work the soonest.
    pub fastest: Option<usize>,
}

impl Singles {
    /// Of the runs of each path alone.
    pub fn of(runs: Vec<Option<Vec<RunResult>>>, task: &Task) -> Self {
        let best = |value: &dyn Fn(&RunResult) -> f64| {
            let mean = |runs: &Vec<RunResult>| runs.iter().map(value).sum::<f64>() / runs.len() as f64;
            let means: Vec<f64> = runs.iter().map(|runs| runs.as_ref().map_or(f64::NAN, mean)).collect();
            let known = (0..runs.len()).filter(|&i| means[i].is_finite());
            known.reduce(|a, b| if means[b] > means[a] { b } else { a })
        };
        let speed = |run: &RunResult| task.time_s(run).map_or(run.goodput_bps, |seconds| -seconds);
        Singles { thriftiest: best(&|run| run.bits_per_joule), fastest: best(&speed), runs }
    }

    /// How many paths there are.
    pub(crate) fn len(&self) -> usize {
        self.runs.len()
    }

    /// The runs of a NewReno at this bottleneck: on the path through it on which one has most.
    pub(crate) fn reno_at(&self, at: &SharedBottleneck) -> Option<&[RunResult]> {
        let own_bps = |runs: &[RunResult]| runs.iter().map(|run| run.goodput_bps).sum::<f64>();
        let all = at.paths.iter().filter_map(|&path| self.runs(Some(path)));
        all.reduce(|a, b| if own_bps(b) > own_bps(a) { b } else { a })
    }

    /// The runs of a path alone.
    pub fn runs(&self, path: Option<usize>) -> Option<&[RunResult]> {
        self.runs.get(path?)?.as_deref()
    }

    /// Goodput that one TCP on each of these bottlenecks has with the `i`-th seed, bit/s.
    fn fair_bps(&self, bottlenecks: &[Vec<usize>], i: usize) -> f64 {
        let of_path = |&path: &usize| Some(self.runs[path].as_ref()?.get(i)?.goodput_bps);
        bottlenecks.iter().map(|paths| paths.iter().filter_map(of_path).fold(0.0, f64::max)).sum()
    }
}

/// One policy on one scenario, by seed: numerators and denominators.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cell {
    of_limit: Vec<(f64, f64)>,
    work: Vec<(f64, f64)>,
    goodput: Vec<(f64, f64)>,
    time: Vec<(f64, f64)>,
    /// By shared bottleneck.
    shares: Vec<Vec<(f64, f64)>>,
    /// By shared bottleneck.
    kept: Vec<Vec<(f64, f64)>>,
}

impl Cell {
    /// Of the policy's runs, in the order of the seeds.
    pub fn of(runs: &[RunResult], singles: &Singles, with: &Yardstick) -> Self {
        let fastest = singles.runs(singles.fastest).unwrap_or_default();
        let depends = !matches!(with.task, Task::Deadline { .. });
        let paired = || runs.iter().zip(fastest);
        let time = |(run, single): (&RunResult, &RunResult)| {
            Some((with.task.time_s(run)?, with.task.time_s(single)?))
        };
        Cell {
            of_limit: runs.iter().map(|run| (run.bits_per_joule, with.limit)).collect(),
            work: work(runs, singles, &with.task),
            goodput: paired().filter(|_| depends).map(|(a, b)| (a.goodput_bps, b.goodput_bps)).collect(),
            time: paired().filter_map(time).collect(),
            shares: with
                .shared
                .iter()
                .map(|bottleneck| runs.iter().filter_map(|run| link_share(run, bottleneck)).collect())
                .collect(),
            kept: with.shared.iter().map(|bottleneck| kept(runs, singles, bottleneck)).collect(),
        }
    }

    /// Ratio of the means over the runs with these indices; none if it is not measured there.
    pub fn ratio(&self, metric: Metric, indices: &[usize]) -> Option<f64> {
        let of = |pairs: &Vec<(f64, f64)>| {
            let pair = |&i: &usize| pairs.get(i).copied();
            let (above, below) = indices
                .iter()
                .filter_map(pair)
                .fold((0.0, 0.0), |sum, pair| (sum.0 + pair.0, sum.1 + pair.1));
            (below > 0.0).then(|| above / below)
        };
        match metric {
            Metric::Score => {
                let work = self.ratio(Metric::Work, indices)?;
                Some(self.ratio(Metric::OfLimit, indices)?.max(LEAST) * work.max(LEAST))
            }
            Metric::OfLimit => of(&self.of_limit),
            Metric::OfLimitFree if self.goodput.is_empty() => None,
            Metric::OfLimitFree => of(&self.of_limit),
            Metric::Work => of(&self.work),
            Metric::Goodput => of(&self.goodput),
            Metric::Time => of(&self.time),
            Metric::TcpShare => self.shares.iter().filter_map(of).reduce(f64::max),
            Metric::Kept => self.kept.iter().filter_map(of).reduce(f64::min),
        }
    }

    /// Mean with its interval over the seeds.
    pub fn estimate(&self, metric: Metric) -> Option<Estimate> {
        let seeds = self.of_limit.len();
        match metric {
            Metric::OfLimit => ratio_estimate(&self.of_limit),
            _ => {
                self.ratio(metric, &(0..seeds).collect::<Vec<_>>())?;
                resample(seeds, |indices| self.ratio(metric, indices).unwrap_or(f64::NAN))
            }
        }
        .filter(|estimate| estimate.mean.is_finite())
    }
}

/// Work done in time and work offered, by seed, in any unit.
fn work(runs: &[RunResult], singles: &Singles, task: &Task) -> Vec<(f64, f64)> {
    let fastest = singles.runs(singles.fastest).unwrap_or_default();
    let of_run = |(i, run): (usize, &RunResult)| match task {
        Task::Endless { bottlenecks } => {
            let offered = singles.fair_bps(bottlenecks, i);
            (run.goodput_bps.min(offered), offered)
        }
        Task::Requests => {
            let offered = fastest.get(i).map_or(0.0, |single| single.goodput_bps);
            (run.goodput_bps.min(offered), offered)
        }
        Task::Files { bits } => {
            let delivered =
                if run.completion_s.is_some() { *bits } else { run.bits_per_joule * run.energy_j };
            let seconds = |run: &RunResult| task.time_s(run).unwrap_or(run.measured_s);
            let late = fastest.get(i).map_or(1.0, |single| seconds(single) / seconds(run));
            (delivered.min(*bits) * late.min(1.0), *bits)
        }
        Task::Deadline { seconds } => {
            let found = run.punctuality.iter().find(|one| one.deadline_s == *seconds);
            found.map_or((0.0, 0.0), |one| (one.in_time as f64, one.offered as f64))
        }
    };
    runs.iter().enumerate().map(of_run).collect()
}

/// Goodput of one connection through the bottleneck, and of one TCP there, bit/s; none if the engine does not
/// tell the TCPs apart.
pub(crate) fn link_share(run: &RunResult, at: &SharedBottleneck) -> Option<(f64, f64)> {
    let connections = run.connections_bps.len().max(1) as f64;
    let through: f64 = at.paths.iter().filter_map(|&path| Some(run.paths.get(path)?.share)).sum();
    let own = run.connections_bps.iter().sum::<f64>() / connections * through;
    Some((own, competitors_bps(run, at)? / f64::from(at.tcps)))
}

/// Goodput of the competitors at the bottleneck, bit/s; none if the engine does not tell them apart.
fn competitors_bps(run: &RunResult, at: &SharedBottleneck) -> Option<f64> {
    at.competitors.iter().map(|&group| run.competitor_groups_bps.get(group)).sum()
}

/// What the competitors have beside the policy and beside a NewReno with the same seed, bit/s.
pub(crate) fn kept(runs: &[RunResult], alone: &Singles, at: &SharedBottleneck) -> Vec<(f64, f64)> {
    let reno = alone.reno_at(at).unwrap_or_default();
    let pair = |(run, reno)| Some((competitors_bps(run, at)?, competitors_bps(reno, at)?));
    runs.iter().zip(reno).filter_map(pair).collect()
}

/// An estimate with four significant digits.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
pub struct Rounded {
    /// Best single number.
    pub mean: f64,
    /// Lower end of the 95 % interval.
    pub lo: f64,
    /// Upper end.
    pub hi: f64,
}

impl From<Estimate> for Rounded {
    fn from(estimate: Estimate) -> Self {
        Rounded { mean: rounded(estimate.mean), lo: rounded(estimate.lo), hi: rounded(estimate.hi) }
    }
}

/// Four significant digits.
pub(super) fn rounded(value: f64) -> f64 {
    crate::scale::rounded(value, 4)
}

#[cfg(test)]
mod tests;
