//! Turns the runs of each policy into the rows of a comparison.

use std::num::NonZeroUsize;
use std::panic::resume_unwind;
use std::sync::{Mutex, PoisonError};
use std::thread;

use joulepath_model::metric::{COMPETITORS, DELAY, EFFICIENCY, GOODPUT, METRICS, Metric};
use joulepath_model::result::{
    Estimate, Estimates, LayerResult, NetworkResult, PathRow, Reference, Row, RunResult,
    ScenarioRef, Series,
};

use crate::bootstrap::{estimate, ratio_estimate};
use crate::over_time::{bin_length, over_time};

/// [`Reference::kind`] of the optimum over rates that TCP would reach on each path.
pub const TCP_REFERENCE: &str = "tcp-reference";
/// [`Reference::kind`] of the optimum over the links' own rates.
pub const LINK_BOUND: &str = "link-bound";

/// Runs of a policy in the order of the seeds.
#[derive(Clone, Debug, PartialEq)]
pub struct PolicyRuns {
    /// The policy as the user wrote it.
    pub policy: String,
    /// Name for readers, with `(recon.)` if a part is reconstructed.
    pub label: String,
    /// Parts of the policy.
    pub parts: String,
    /// See [`Row::uncoupled`].
    pub uncoupled: bool,
    /// One run for each finished seed.
    pub runs: Vec<RunResult>,
}

/// One row for each policy in the given order; ratios refer to the first policy. A policy without
/// runs has no row, and the caller must mark the comparison as partial.
pub fn summarise(
    scenario: &ScenarioRef,
    limits: &[Reference],
    policies: Vec<PolicyRuns>,
) -> Vec<Row> {
    summarise_on(NonZeroUsize::MIN, scenario, limits, policies)
}

/// [`summarise`] on `threads` threads, because resampling takes time. The rows do not depend on the
/// number.
pub fn summarise_on(
    threads: NonZeroUsize,
    scenario: &ScenarioRef,
    limits: &[Reference],
    policies: Vec<PolicyRuns>,
) -> Vec<Row> {
    let policies: Vec<_> = policies
        .into_iter()
        .filter(|policy| !policy.runs.is_empty())
        .collect();
    let all_runs = || policies.iter().flat_map(|policy| &policy.runs);
    let context = Context {
        has_files: scenario.workload == "file" || all_runs().any(|run| run.completion_s.is_some()),
        has_competitors: all_runs().any(|run| run.competitors_bps > 0.0),
        rivals: scenario.rivals,
        bin_s: bin_length(all_runs().filter_map(|run| run.series.as_ref())),
        first: policies
            .first()
            .map(|policy| efficiencies(&policy.runs))
            .unwrap_or_default(),
        limits,
    };
    let helpers = threads.get().min(policies.len()).saturating_sub(1);
    let left = Mutex::new(policies.into_iter().enumerate());
    let next = || left.lock().unwrap_or_else(PoisonError::into_inner).next();
    let work = || -> Vec<(usize, Row)> {
        std::iter::from_fn(|| next().map(|(index, policy)| (index, context.row(index, policy))))
            .collect()
    };
    let mut rows = thread::scope(|scope| {
        let helpers: Vec<_> = (0..helpers).map(|_| scope.spawn(work)).collect();
        let mut rows = work();
        for helper in helpers {
            rows.extend(helper.join().unwrap_or_else(|panic| resume_unwind(panic)));
        }
        rows
    });
    rows.sort_by_key(|(index, _)| *index);
    rows.into_iter().map(|(_, row)| row).collect()
}

/// Data that the rows of a comparison share.
struct Context<'a> {
    has_files: bool,
    has_competitors: bool,
    rivals: u32,
    /// Length of a bin over time, s; `None` without series.
    bin_s: Option<f64>,
    /// Seeds and efficiencies of the first policy's runs.
    first: Vec<(u64, f64)>,
    limits: &'a [Reference],
}

impl Context<'_> {
    fn row(&self, index: usize, policy: PolicyRuns) -> Row {
        let PolicyRuns {
            policy,
            label,
            parts,
            uncoupled,
            mut runs,
        } = policy;
        let series: Vec<Series> = runs
            .iter_mut()
            .filter_map(|run| run.series.take())
            .collect();
        let mut estimates: Estimates = METRICS
            .iter()
            .map(|&metric| (metric, over(&runs, metric)))
            .collect();
        if !self.has_competitors {
            estimates.set(&COMPETITORS, None);
        }
        let efficiency = estimates
            .of(&EFFICIENCY)
            .map_or(f64::NAN, |estimate| estimate.mean);
        let completed = runs.iter().filter(|run| run.completion_s.is_some()).count() as u32;
        let whole = !self.has_files || completed as usize == runs.len();
        Row {
            n: runs.len() as u32,
            deterministic: differ_in_nothing(&runs),
            ratio: efficiency / mean(self.first.iter().map(|&(_, efficiency)| efficiency)),
            ratio_interval: if index == 0 {
                None
            } else {
                self.ratio_interval(&runs)
            },
            completed: self.has_files.then_some(completed),
            // The limit is for whole files including tails, so it does not apply to runs that were
            // cut short.
            tcp_reference_share: whole
                .then(|| self.share_of(TCP_REFERENCE, efficiency, (&estimates, &runs)))
                .flatten(),
            link_bound_share: whole
                .then(|| self.share_of(LINK_BOUND, efficiency, (&estimates, &runs)))
                .flatten(),
            tcp_share: tcp_share(self.rivals, &runs),
            tcp_share_background: None,
            competitors_background_bps: None,
            network: network(&runs),
            paths: path_rows(&runs),
            estimates,
            policy,
            label,
            parts,
            uncoupled,
            over_time: self.bin_s.and_then(|bin_s| over_time(&series, bin_s)),
            runs,
        }
    }

    fn share_of(
        &self,
        kind: &str,
        bits_per_joule: f64,
        (estimates, runs): (&Estimates, &[RunResult]),
    ) -> Option<f64> {
        let limit = self.limits.iter().find(|limit| limit.kind == kind)?;
        let delay = estimates.of(&DELAY).map(|delay| delay.mean);
        let goodput_bps = estimates.of(&GOODPUT)?.mean;
        let applies = limit.applies_to(goodput_bps, delay);
        // Random messages may be more than offered on average.
        let more = match limit.delivers.filter(|delivers| !delivers.others) {
            Some(delivers) => (goodput_bps / delivers.goodput_bps).max(1.0),
            None => 1.0,
        };
        let of_links = self.limits.iter().find(|limit| limit.kind == LINK_BOUND);
        let in_time = match of_links.filter(|links| links.energy_j.is_none()) {
            Some(links) => in_time(&links.capacities_bps, runs),
            None => 1.0,
        };
        let share = bits_per_joule / more / limit.bits_per_joule * in_time;
        (applies && share.is_finite()).then_some(share)
    }

    /// Over the seeds that both this policy and the first one ran.
    fn ratio_interval(&self, runs: &[RunResult]) -> Option<Estimate> {
        let pairs: Vec<_> = efficiencies(runs)
            .into_iter()
            .filter_map(|(seed, own)| {
                let &(_, first) = self.first.iter().find(|(other, _)| *other == seed)?;
                Some((own, first))
            })
            .collect();
        if pairs.len() < 2 {
            None
        } else {
            ratio_estimate(&pairs).filter(|ratio| ratio.mean.is_finite())
        }
    }
}

/// Part of the delivered data that these links (bit/s of each path) can have carried in the measured
/// interval. The rest came during the warm-up, and waited at the receiver for data before it.
fn in_time(capacities_bps: &[f64], runs: &[RunResult]) -> f64 {
    let of_path = |path: usize| mean(runs.iter().map(|run| run.paths[path].goodput_bps));
    let paths = runs.first().map_or(0, |run| run.paths.len());
    let (mut delivered, mut carried) = (0.0, 0.0);
    for (path, &most) in (0..paths).zip(capacities_bps) {
        delivered += of_path(path);
        carried += of_path(path).min(most);
    }
    if delivered > 0.0 {
        carried / delivered
    } else {
        1.0
    }
}

/// Mean goodput of a connection under test relative to one of `rivals` competitors. Connections
/// under test are alike, and so are the competitors: compares their means. `None` without rivals.
pub fn tcp_share(rivals: u32, runs: &[RunResult]) -> Option<Estimate> {
    if rivals == 0 {
        return None;
    }
    let of_run = |run: &RunResult| {
        let own = mean(run.connections_bps.iter().copied());
        (own, run.competitors_bps / f64::from(rivals))
    };
    let shares: Vec<(f64, f64)> = runs.iter().map(of_run).collect();
    ratio_estimate(&shares).filter(|share| share.mean.is_finite())
}

/// Whether there are several runs that differ only in their seed.
pub(crate) fn differ_in_nothing(runs: &[RunResult]) -> bool {
    let Some((first, others)) = runs.split_first() else {
        return false;
    };
    let mut first = first.clone();
    let is_same = |other: &RunResult| {
        first.seed = other.seed;
        first == *other
    };
    !others.is_empty() && others.iter().all(is_same)
}

fn efficiencies(runs: &[RunResult]) -> Vec<(u64, f64)> {
    runs.iter()
        .map(|run| (run.seed, run.bits_per_joule))
        .collect()
}

/// Estimate over the runs that have the metric.
fn over(runs: &[RunResult], metric: &Metric) -> Option<Estimate> {
    estimate(
        &runs
            .iter()
            .filter_map(|run| metric.of(run))
            .collect::<Vec<_>>(),
    )
}

/// Mean; NaN without values.
fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = values.fold((0.0, 0u32), |(sum, count), value| (sum + value, count + 1));
    sum / f64::from(count)
}

/// Means over the runs; `None` without a topology.
fn network(runs: &[RunResult]) -> Option<NetworkResult> {
    let all: Vec<&NetworkResult> = runs.iter().filter_map(|run| run.network.as_ref()).collect();
    let of = |value: &dyn Fn(&NetworkResult) -> f64| mean(all.iter().map(|network| value(network)));
    let layer = |(index, layer): (usize, &LayerResult)| LayerResult {
        utilisation: of(&|network| network.layers[index].utilisation),
        busiest: of(&|network| network.layers[index].busiest),
        ..layer.clone()
    };
    Some(NetworkResult {
        idle_j: of(&|network| network.idle_j),
        traffic_j: of(&|network| network.traffic_j),
        price_packets: of(&|network| network.price_packets),
        layers: all.first()?.layers.iter().enumerate().map(layer).collect(),
    })
}

fn path_rows(runs: &[RunResult]) -> Vec<PathRow> {
    let row = |path: usize| {
        let paths = || runs.iter().filter_map(move |run| run.paths.get(path));
        let rtts: Vec<f64> = paths().filter_map(|path| path.mean_rtt_s).collect();
        PathRow {
            name: runs[0].paths[path].name.clone(),
            share: mean(paths().map(|path| path.share)),
            goodput_bps: mean(paths().map(|path| path.goodput_bps)),
            energy_j: mean(paths().map(|path| path.energy_j)),
            mean_rtt_s: (!rtts.is_empty()).then(|| mean(rtts.into_iter())),
            mean_cwnd: mean(paths().map(|path| path.mean_cwnd)),
            timeouts: mean(paths().map(|path| path.timeouts as f64)),
        }
    };
    (0..runs[0].paths.len()).map(row).collect()
}
