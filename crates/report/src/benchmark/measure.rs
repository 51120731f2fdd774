//! Turns runs into ratios: the results of a policy on one scenario.
//!
//! ```text
//!              bits per joule of the run          work done in time
//!     limit  = ───────────────────────────, work = ─────────────────, at most 1;   score = limit × work
//!              bits per joule of the limit        work offered
//!
//!              goodput of the competitors on a link with the policy
//!     kept   = ──────────────────────────────────────────────────────────── ,   the lowest of all links
//!              their goodput with a NewReno flow in its place, with the same seed
//! ```
//! For work W, `limit` is the minimum energy for W divided by the policy's energy for W. So `score`
//! is an energy–delay product (Gonzalez and Horowitz, IEEE JSSC 31(9), 1996), except that work
//! beyond the offered work gains nothing. Random families have no `work`: there the share of
//! offered data that arrives in time is a factor of `limit`.

use std::collections::BTreeMap;

use joulepath_model::metric::{self, ENERGY_PER_BIT, GOODPUT};
use joulepath_model::result::{Estimate, RunResult};
use serde::{Deserialize, Serialize};

use super::metric::{Kind, Metric};
use super::yardstick::{SharedLink, Task, Yardstick};
use crate::bootstrap::resample;

/// Minimum value of a metric, so that a policy that fails on one scenario keeps a nonzero mean.
pub const LEAST: f64 = 0.01;

/// Pairs of numerator and denominator by seed.
type Pairs = Vec<(f64, f64)>;

/// Results of single paths on a scenario, with the policies' seeds.
#[derive(Clone, Debug, Default)]
pub struct Singles {
    /// Runs by path; `None` where the path could not run.
    runs: Vec<Option<Vec<RunResult>>>,
    /// The path with the most data per joule.
    pub thriftiest: Option<usize>,
    /// The path that completes the work first.
    pub fastest: Option<usize>,
    /// The path with the largest share of the limit.
    pub best: Option<usize>,
}

impl Singles {
    /// Evaluates the runs of each path alone.
    pub fn of(runs: Vec<Option<Vec<RunResult>>>, with: &Yardstick) -> Self {
        let best = |value: &dyn Fn(&[RunResult]) -> Option<f64>| {
            let of_path =
                |path: usize| value(runs[path].as_ref()?).filter(|value| value.is_finite());
            let known = (0..runs.len()).filter_map(|path| Some((of_path(path)?, path)));
            known
                .reduce(|a, b| if b.0 > a.0 { b } else { a })
                .map(|(_, path)| path)
        };
        let mean = |runs: &[RunResult], value: &dyn Fn(&RunResult) -> f64| {
            Some(runs.iter().map(value).sum::<f64>() / runs.len() as f64)
        };
        let speed = |run: &RunResult| {
            with.task
                .time_s(run)
                .map_or(run.goodput_bps, |seconds| -seconds)
        };
        Singles {
            thriftiest: best(&|runs| mean(runs, &|run| run.bits_per_joule)),
            fastest: best(&|runs| mean(runs, &speed)),
            best: best(&|runs| ratio(of_limit(runs, with, with.limit))),
            runs,
        }
    }

    /// Whether there are no single paths.
    pub fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// The runs of a path alone.
    pub fn runs(&self, path: Option<usize>) -> Option<&[RunResult]> {
        self.runs.get(path?)?.as_deref()
    }

    /// Runs of a NewReno flow on this link: on the path through it with the highest goodput.
    fn reno_at(&self, at: &SharedLink) -> Option<&[RunResult]> {
        let own_bps = |runs: &[RunResult]| runs.iter().map(|run| run.goodput_bps).sum::<f64>();
        let all = at.paths.iter().filter_map(|&path| self.runs(Some(path)));
        all.reduce(|a, b| if own_bps(b) > own_bps(a) { b } else { a })
    }

    /// Goodput of one TCP flow on each of these bottlenecks, summed, with the `i`-th seed, bit/s.
    fn fair_bps(&self, bottlenecks: &[Vec<usize>], i: usize) -> f64 {
        let of_path = |&path: &usize| Some(self.runs[path].as_ref()?.get(i)?.goodput_bps);
        bottlenecks
            .iter()
            .map(|paths| paths.iter().filter_map(of_path).fold(0.0, f64::max))
            .sum()
    }
}

/// Results of a policy on a scenario.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cell {
    seeds: usize,
    /// Values by shared link, for metrics of links.
    pairs: BTreeMap<Metric, Vec<Pairs>>,
}

impl Cell {
    /// Evaluates the policy's runs, given in the order of the seeds.
    pub fn of(runs: &[RunResult], singles: &Singles, with: &Yardstick) -> Self {
        let of_metric = |metric: Metric| {
            let groups = pairs(metric, runs, singles, with)
                .into_iter()
                .filter(|pairs| !pairs.is_empty());
            (metric, groups.collect::<Vec<Pairs>>())
        };
        let known = with.kind.metrics().iter().copied().map(of_metric);
        Cell {
            seeds: runs.len(),
            pairs: known.filter(|(_, groups)| !groups.is_empty()).collect(),
        }
    }

    /// Ratio of the means over the runs with these indices; `None` if the metric is not measured
    /// there.
    pub fn ratio(&self, metric: Metric, indices: &[usize]) -> Option<f64> {
        let of = |pairs: &Pairs| ratio(indices.iter().filter_map(|&i| pairs.get(i).copied()));
        match metric {
            Metric::Score => {
                let work = self.ratio(Metric::Work, indices)?;
                Some(self.ratio(Metric::TcpReference, indices)?.max(LEAST) * work.max(LEAST))
            }
            Metric::TcpReferenceFree if !self.pairs.contains_key(&Metric::Goodput) => None,
            Metric::TcpReferenceFree => self.ratio(Metric::TcpReference, indices),
            metric => {
                let of_links = self.pairs.get(&metric)?.iter().filter_map(of);
                of_links.reduce(|a, b| if metric.is_worse(b, a) { b } else { a })
            }
        }
    }

    /// Value over all seeds.
    pub(super) fn value(&self, metric: Metric) -> Option<f64> {
        let every: Vec<usize> = (0..self.seeds).collect();
        self.ratio(metric, &every).filter(|value| value.is_finite())
    }

    /// Like [`Cell::value`], with the interval over the seeds if there are several.
    pub(super) fn of_scenario(&self, metric: Metric) -> Option<Value> {
        let value = self.value(metric)?;
        if self.seeds < 2 {
            return Some(Value::One(rounded(value)));
        }
        let ratio = |indices: &[usize]| self.ratio(metric, indices).unwrap_or(f64::NAN);
        Some(Value::Several(resample(self.seeds, ratio)?.into()))
    }

    /// Adds a metric: the share of the limit of these runs relative to that of the `best` ones.
    #[must_use]
    pub fn beside(
        mut self,
        metric: Metric,
        runs: &[RunResult],
        best: &[RunResult],
        with: &Yardstick,
    ) -> Self {
        let pairs = beside(runs, best, with);
        if !pairs.is_empty() {
            self.pairs.insert(metric, vec![pairs]);
        }
        self
    }

    /// Adds [`Metric::TimeToMptcp`], relative to the runs of `mptcp`.
    #[must_use]
    pub fn timed(mut self, runs: &[RunResult], mptcp: &[RunResult], task: &Task) -> Self {
        let pairs = times(runs, mptcp, task);
        if !pairs.is_empty() {
            self.pairs.insert(Metric::TimeToMptcp, vec![pairs]);
        }
        self
    }

    /// A cell with invented numbers.
    #[cfg(test)]
    pub(super) fn made_up(values: &[(Metric, f64)]) -> Self {
        let pairs = values
            .iter()
            .map(|&(metric, value)| (metric, vec![vec![(value, 1.0)]]));
        Cell {
            seeds: 1,
            pairs: pairs.collect(),
        }
    }
}

/// Share of `limit` over these runs; with [`Yardstick::limit`] the value of
/// [`Metric::TcpReference`]. `None` if it is not measured.
pub fn share_of_limit(runs: &[RunResult], with: &Yardstick, limit: f64) -> Option<f64> {
    ratio(of_limit(runs, with, limit)).filter(|share| share.is_finite())
}

/// Shares of the limit of these runs and of the `best` ones, by seed.
fn beside(runs: &[RunResult], best: &[RunResult], with: &Yardstick) -> Pairs {
    let of = |runs: &[RunResult]| of_limit(runs, with, with.limit);
    of(runs)
        .into_iter()
        .zip(of(best))
        .map(|(own, best)| (own.0, best.0))
        .collect()
}

/// Times of these runs and of the `other` ones, by seed; empty for endless work.
fn times(runs: &[RunResult], other: &[RunResult], task: &Task) -> Pairs {
    let seconds = |(run, other)| Some((task.time_s(run)?, task.time_s(other)?));
    runs.iter().zip(other).filter_map(seconds).collect()
}

/// A metric of these runs and of the `other` ones, by seed.
fn relative(metric: &metric::Metric, runs: &[RunResult], other: &[RunResult]) -> Pairs {
    let of = |(run, other)| Some((metric.of(run)?, metric.of(other)?));
    runs.iter().zip(other).filter_map(of).collect()
}

/// Sum of the numerators divided by the sum of the denominators; `None` if that is 0.
fn ratio(pairs: impl IntoIterator<Item = (f64, f64)>) -> Option<f64> {
    let (above, below) = pairs
        .into_iter()
        .fold((0.0, 0.0), |sum, pair| (sum.0 + pair.0, sum.1 + pair.1));
    (below > 0.0).then(|| above / below)
}

fn pairs(metric: Metric, runs: &[RunResult], singles: &Singles, with: &Yardstick) -> Vec<Pairs> {
    let fastest = singles.runs(singles.fastest).unwrap_or_default();
    let best = singles.runs(singles.best).unwrap_or_default();
    let of_run = |limit: f64| of_limit(runs, with, limit);
    let on_links = |counts: &dyn Fn(&SharedLink) -> bool, of: &dyn Fn(&SharedLink) -> Pairs| {
        with.shared
            .iter()
            .filter(|link| counts(link))
            .map(of)
            .collect()
    };
    let share = |link: &SharedLink| {
        runs.iter()
            .filter_map(|run| link_share(run, link))
            .collect()
    };
    match metric {
        // The others are added or follow from those below.
        Metric::Score
        | Metric::TcpReferenceFree
        | Metric::TimeToMptcp
        | Metric::Oracle
        | Metric::Searched => vec![],
        Metric::TcpReference => vec![of_run(with.limit)],
        Metric::LinkBound => with.link_bound.into_iter().map(of_run).collect(),
        Metric::Single => vec![beside(runs, best, with)],
        Metric::Work => vec![work(runs, singles, &with.task)],
        Metric::Goodput if matches!(with.task, Task::Deadline { .. }) => vec![],
        Metric::Goodput => vec![relative(&GOODPUT, runs, fastest)],
        Metric::Time => vec![times(runs, fastest, &with.task)],
        Metric::Joules => vec![relative(&ENERGY_PER_BIT, runs, fastest)],
        Metric::Share => on_links(&|_| true, &share),
        Metric::QuietShare => on_links(&|link| !link.is_lossy, &share),
        Metric::Kept => on_links(&|_| true, &|link| kept(runs, singles, link)),
        Metric::Jain => vec![jain(runs)],
    }
}

/// Shares of a limit. In random families, offered data that misses its deadline counts as paid for
/// a second time, carrying less data for less energy gains nothing, and an incomplete file counts
/// with its fraction. Empty if a run lacks the data.
fn of_limit(runs: &[RunResult], with: &Yardstick, limit: f64) -> Pairs {
    if with.kind == Kind::Ranked {
        return runs.iter().map(|run| (run.bits_per_joule, limit)).collect();
    }
    let of_run = |run: &RunResult| {
        let share = run.bits_per_joule / limit;
        match with.task {
            Task::Endless { .. } | Task::Requests => Some(share),
            Task::Files { .. } if run.completion_s.is_some() => Some(share),
            Task::Files { bits } => {
                Some(share * (run.bits_per_joule * run.energy_j / bits).min(1.0))
            }
            Task::Deadline { seconds } => {
                let found = run
                    .punctuality
                    .iter()
                    .find(|one| one.deadline_s == seconds)?;
                let in_time = found.in_time as f64 / found.offered as f64;
                (found.offered > 0).then_some(share.min(1.0) * in_time)
            }
        }
    };
    let shares: Option<Pairs> = runs.iter().map(|run| Some((of_run(run)?, 1.0))).collect();
    shares.unwrap_or_default()
}

/// Work done in time and offered work by seed, in any unit.
fn work(runs: &[RunResult], singles: &Singles, task: &Task) -> Pairs {
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
            let delivered = if run.completion_s.is_some() {
                *bits
            } else {
                run.bits_per_joule * run.energy_j
            };
            let seconds = |run: &RunResult| task.time_s(run).unwrap_or(run.measured_s);
            let late = fastest
                .get(i)
                .map_or(1.0, |single| seconds(single) / seconds(run));
            (delivered.min(*bits) * late.min(1.0), *bits)
        }
        Task::Deadline { seconds } => {
            let found = run
                .punctuality
                .iter()
                .find(|one| one.deadline_s == *seconds);
            found.map_or((0.0, 0.0), |one| (one.in_time as f64, one.offered as f64))
        }
    };
    runs.iter().enumerate().map(of_run).collect()
}

/// Goodput of one connection through the link and of one TCP flow there, bit/s; `None` if the
/// engine does not separate the TCP flows.
fn link_share(run: &RunResult, at: &SharedLink) -> Option<(f64, f64)> {
    let connections = run.connections_bps.len().max(1) as f64;
    let through: f64 = at
        .paths
        .iter()
        .filter_map(|&path| Some(run.paths.get(path)?.share))
        .sum();
    let own = run.connections_bps.iter().sum::<f64>() / connections * through;
    Some((own, competitors_bps(run, at)? / f64::from(at.tcps)))
}

/// Goodput of the competitors on the link, bit/s; `None` if the engine does not separate them.
fn competitors_bps(run: &RunResult, at: &SharedLink) -> Option<f64> {
    at.competitors
        .iter()
        .map(|&group| run.competitor_groups_bps.get(group))
        .sum()
}

/// Goodput of the competitors next to the policy and next to a NewReno flow with the same seed,
/// bit/s.
fn kept(runs: &[RunResult], alone: &Singles, at: &SharedLink) -> Pairs {
    let reno = alone.reno_at(at).unwrap_or_default();
    let pair = |(run, reno)| Some((competitors_bps(run, at)?, competitors_bps(reno, at)?));
    runs.iter().zip(reno).filter_map(pair).collect()
}

/// (Σ x)²/(n Σ x²) of the connections' goodputs (Jain, Chiu and Hawe, DEC-TR-301, 1984); empty for
/// a single connection.
fn jain(runs: &[RunResult]) -> Pairs {
    let of_run = |run: &RunResult| {
        let x = &run.connections_bps;
        let (sum, squares) = x
            .iter()
            .fold((0.0, 0.0), |(sum, squares), x| (sum + x, squares + x * x));
        (x.len() > 1 && squares > 0.0).then(|| (sum * sum / (x.len() as f64 * squares), 1.0))
    };
    runs.iter()
        .map(of_run)
        .collect::<Option<Pairs>>()
        .unwrap_or_default()
}

/// The value of one seed, or the mean over several with its interval.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[serde(untagged)]
pub(super) enum Value {
    One(f64),
    Several(Rounded),
}

/// An estimate rounded to four significant digits.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
pub struct Rounded {
    /// Best estimate.
    pub mean: f64,
    /// Lower end of the 95 % interval.
    pub lo: f64,
    /// Upper end.
    pub hi: f64,
}

impl From<Estimate> for Rounded {
    fn from(estimate: Estimate) -> Self {
        Rounded {
            mean: rounded(estimate.mean),
            lo: rounded(estimate.lo),
            hi: rounded(estimate.hi),
        }
    }
}

/// Rounds to four significant digits.
pub(super) fn rounded(value: f64) -> f64 {
    crate::scale::rounded(value, 4)
}

#[cfg(test)]
mod tests;
