//! From runs to the numbers of the league: what each policy did on each scenario, and over all of them.

use joulepath_model::result::{Estimate, Limit, RunResult};
use joulepath_model::scenario::Scenario;
use serde::Serialize;

use crate::bootstrap::{median, ratio_estimate, resample};
use crate::summary::{LIMIT_LINK, LIMIT_TCP_FRIENDLY};

/// A policy that takes more than this many TCPs at a shared bottleneck is marked: a fifth above RFC 6356,
/// goal 2.
pub const MOST_TCPS: f64 = 1.2;

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Metric {
    /// Joules per bit of the TCP-friendly limit over the policy's.
    OfLimit,
    /// The same with the limit of the links.
    OfLinkLimit,
    /// Goodput over that of the best single path.
    Goodput,
    /// Goodput of one connection over that of one competing TCP.
    TcpShare,
}

impl Metric {
    pub const ALL: [Metric; 4] = [Metric::OfLimit, Metric::OfLinkLimit, Metric::Goodput, Metric::TcpShare];

    /// In JSON.
    pub fn name(self) -> &'static str {
        match self {
            Metric::OfLimit => "of_limit",
            Metric::OfLinkLimit => "of_link_limit",
            Metric::Goodput => "goodput",
            Metric::TcpShare => "tcp_share",
        }
    }

    /// The worst of several: the lowest, but for what is taken from TCP.
    fn is_worse(self, a: f64, b: f64) -> bool {
        if self == Metric::TcpShare { a > b } else { a < b }
    }
}

/// What a scenario is measured with.
#[derive(Clone, Copy, Debug, Default)]
pub struct Yardstick {
    /// bit/J.
    pub tcp_friendly: Option<f64>,
    /// bit/J.
    pub link: Option<f64>,
    /// Competitors that last as long as the run; 0 if there is no shared bottleneck.
    pub tcps: u32,
}

impl Yardstick {
    /// For `scenario` with its `limits`.
    pub fn of(scenario: &Scenario, limits: &[Limit]) -> Self {
        let limit = |kind: &str| limits.iter().find(|limit| limit.kind == kind).map(|l| l.bits_per_joule);
        let endless = scenario.competitors.iter().filter(|competitor| competitor.size.is_none());
        Yardstick {
            tcp_friendly: limit(LIMIT_TCP_FRIENDLY),
            link: limit(LIMIT_LINK),
            tcps: endless.map(|competitor| competitor.count).sum(),
        }
    }
}

/// One policy on one scenario, by seed: numerators and denominators.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cell {
    pairs: [Vec<(f64, f64)>; 4],
}

impl Cell {
    /// Of the policy's runs, with those of the best single path, both in the order of the same seeds.
    pub fn of(runs: &[RunResult], single: &[RunResult], with: Yardstick) -> Self {
        let over = |limit: Option<f64>| match limit {
            Some(limit) => runs.iter().map(|run| (run.bits_per_joule, limit)).collect(),
            None => vec![],
        };
        let goodput = runs.iter().zip(single).map(|(run, single)| (run.goodput_bps, single.goodput_bps));
        let share = |run: &RunResult| {
            let own = run.connections_bps.iter().sum::<f64>() / run.connections_bps.len().max(1) as f64;
            (own, run.competitors_bps / f64::from(with.tcps))
        };
        let shares = if with.tcps > 0 { runs.iter().map(share).collect() } else { vec![] };
        Cell { pairs: [over(with.tcp_friendly), over(with.link), goodput.collect(), shares] }
    }

    /// Ratio of the means over the runs with these indices; none if it is not measured there.
    fn ratio(&self, metric: Metric, indices: &[usize]) -> Option<f64> {
        let pairs = &self.pairs[metric as usize];
        if pairs.is_empty() {
            return None;
        }
        let sum = |(above, below): (f64, f64), &i: &usize| (above + pairs[i].0, below + pairs[i].1);
        let (above, below) = indices.iter().fold((0.0, 0.0), sum);
        (below > 0.0).then(|| above / below)
    }

    /// Mean with its interval over the seeds.
    pub fn estimate(&self, metric: Metric) -> Option<Estimate> {
        ratio_estimate(&self.pairs[metric as usize]).filter(|e| e.mean.is_finite())
    }
}

/// A metric over all scenarios.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Summary {
    /// Median over the scenarios, with its interval over the seeds.
    pub(super) median: Estimate,
    /// The worst of them.
    pub(super) worst: f64,
    /// Index of the cell that is the worst.
    pub(super) worst_at: usize,
}

/// The median of `metric` over `cells`, all with `seeds` runs; none where it is not measured. Seeds are drawn
/// for all scenarios at once.
pub(super) fn summary(cells: &[Option<Cell>], metric: Metric, seeds: usize) -> Option<Summary> {
    let all: Vec<usize> = (0..seeds).collect();
    let values = |indices: &[usize]| -> Vec<(usize, f64)> {
        let value = |(i, cell): (usize, &Option<Cell>)| Some((i, cell.as_ref()?.ratio(metric, indices)?));
        cells.iter().enumerate().filter_map(value).collect()
    };
    let means = values(&all);
    let worst = means.iter().copied().reduce(|a, b| if metric.is_worse(b.1, a.1) { b } else { a })?;
    let of_drawn = |indices: &[usize]| median(values(indices).into_iter().map(|(_, value)| value));
    let median = resample(seeds, |indices| of_drawn(indices).unwrap_or(f64::NAN))?;
    Some(Summary { median, worst: worst.1, worst_at: worst.0 })
}

/// Which of several runs per path have the highest mean of `metric`.
pub fn best_single(paths: &[Vec<RunResult>], metric: impl Fn(&RunResult) -> f64) -> Option<usize> {
    let mean = |runs: &Vec<RunResult>| runs.iter().map(&metric).sum::<f64>() / runs.len() as f64;
    let means: Vec<f64> = paths.iter().map(mean).collect();
    (0..paths.len()).filter(|&i| means[i].is_finite()).reduce(|a, b| if means[b] > means[a] { b } else { a })
}

/// An estimate with four significant digits, which is what ten seeds can tell.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
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
mod tests {
    use super::*;

    fn run(bits_per_joule: f64, connections: &[f64], competitors_bps: f64) -> RunResult {
        RunResult {
            bits_per_joule,
            goodput_bps: connections.iter().sum(),
            connections_bps: connections.to_vec(),
            competitors_bps,
            ..RunResult::default()
        }
    }

    #[test]
    fn a_cell_holds_policy_over_limit_single_path_and_tcp() {
        let yardstick = Yardstick { tcp_friendly: Some(200.0), link: None, tcps: 4 };
        // Two users of 3 and 5 Mbit/s beside four TCPs of 2 Mbit/s each: 4 : 2.
        let cell = Cell::of(&[run(150.0, &[3e6, 5e6], 8e6)], &[run(0.0, &[16e6], 0.0)], yardstick);
        let mean = |metric| cell.estimate(metric).map(|estimate| estimate.mean);
        assert_eq!(Metric::ALL.map(mean), [Some(0.75), None, Some(0.5), Some(2.0)]);
    }

    #[test]
    fn median_and_worst_are_over_the_scenarios_where_it_is_measured() {
        let cell = |efficiency, tcps| {
            let yardstick = Yardstick { tcp_friendly: Some(100.0), link: None, tcps };
            Some(Cell::of(&[run(efficiency, &[1e6], 2e6)], &[], yardstick))
        };
        let cells = [cell(90.0, 0), None, cell(20.0, 1), cell(50.0, 4)];
        let of_limit = summary(&cells, Metric::OfLimit, 1).unwrap();
        assert_eq!((of_limit.median.mean, of_limit.worst, of_limit.worst_at), (0.5, 0.2, 2));
        // One TCP has 2 Mbit/s: half of it is taken; of four each has 0.5: twice that is taken, which is
        // worse.
        let share = summary(&cells, Metric::TcpShare, 1).unwrap();
        assert_eq!((share.median.mean, share.worst, share.worst_at), (1.25, 2.0, 3));
        assert_eq!(summary(&cells, Metric::OfLinkLimit, 1), None);
    }

    #[test]
    fn the_interval_of_a_median_draws_the_same_seeds_for_all_scenarios() {
        let yardstick = Yardstick { tcp_friendly: Some(1.0), ..Yardstick::default() };
        let of = |values: [f64; 2]| {
            Some(Cell::of(&values.map(|efficiency| run(efficiency, &[], 0.0)), &[], yardstick))
        };
        // What one scenario loses with a seed the other gains: drawn together, the median of the two never
        // moves.
        let summary = summary(&[of([1.0, 3.0]), of([3.0, 1.0])], Metric::OfLimit, 2).unwrap();
        assert_eq!((summary.median.lo, summary.median.mean, summary.median.hi), (2.0, 2.0, 2.0));
    }

    #[test]
    fn numbers_have_four_digits() {
        assert_eq!((rounded(0.123_456), rounded(98_767.0), rounded(0.0)), (0.1235, 98_770.0, 0.0));
    }
}
