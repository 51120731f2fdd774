//! Paper 003's slotted system (docs/models/slotted.md): its runs, done once and on many cores, and what is read off them. A run takes a fraction of
//! a second, so none is kept for another session.

use std::num::NonZeroUsize;
use std::sync::OnceLock;
use std::sync::atomic::AtomicBool;

use joulepath_report::{Bars, Figure, Finding, Line, Plot, Rule, estimate, ratio_estimate};
use joulepath_slotted::{Params, Policy, SlottedResult, run};

use super::experiment::OF_A_NUMBER;
use crate::study;

/// λ of the paper, read as Mbit/s (003-12).
pub(super) const LOADS: [u64; 2] = [35, 45];
/// Algorithm 1.
pub(super) const V: f64 = 100.0;
pub(super) const SWEPT_V: [f64; 9] = [0.0, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0];
/// V of the theorems on fixed windows.
pub(super) const BOUNDED_V: [f64; 4] = [1.0, 10.0, 100.0, 1000.0];
const FIXED_SLOTS: u64 = 50_000;
const SEEDS: u64 = 10;
pub(super) const SWEEP_SEEDS: u64 = 5;
pub(super) const DURATION_S: f64 = 500.0;
/// "The initial period of 0-30 seconds".
pub(super) const TRANSIENT_S: f64 = 30.0;

/// The paper's three policies, and so-MPTCP with the larger set X.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Who {
    So,
    Emptcp,
    Mptcp,
    SoWithinLinks,
}

use Who::{Emptcp, Mptcp, So, SoWithinLinks};

pub(super) const FIGURES: [(Who, &str); 3] = [(So, "so-MPTCP"), (Emptcp, "eMPTCP"), (Mptcp, "MPTCP")];
const ALL: [Who; 4] = [So, Emptcp, Mptcp, SoWithinLinks];

fn policy(who: Who) -> Policy {
    match who {
        So => Policy::so_mptcp(V),
        Emptcp => Policy::Emptcp,
        Mptcp => Policy::Mptcp,
        SoWithinLinks => Policy::so_mptcp_within_links(V),
    }
}

/// Runs of one system and policy, in the order of the seeds.
type Runs = Vec<SlottedResult>;
pub(super) type Metric = fn(&SlottedResult) -> f64;

/// Systems and policies that run together, once in a process.
pub(crate) struct Batch {
    cases: fn() -> Vec<(Params, Policy)>,
    seeds: u64,
    /// By case; a case that lacks a run has none.
    done: OnceLock<Vec<Runs>>,
}

impl Batch {
    const fn new(cases: fn() -> Vec<(Params, Policy)>, seeds: u64) -> Self {
        Batch { cases, seeds, done: OnceLock::new() }
    }

    /// Every case with every seed on `jobs` cores, unless that has been done; after a `stop` no more begins.
    pub(super) fn execute(&self, jobs: NonZeroUsize, stop: &AtomicBool) {
        self.done.get_or_init(|| all(&(self.cases)(), self.seeds, jobs, stop));
    }

    /// How many runs there should be and are not.
    pub(super) fn missing(&self) -> u64 {
        let there: usize = self.iter().map(<[_]>::len).sum();
        (self.cases)().len() as u64 * self.seeds - there as u64
    }

    /// The runs of a case; all of them, or none.
    pub(super) fn case(&self, case: usize) -> &[SlottedResult] {
        self.done.get().map_or(&[], |done| &done[case])
    }

    /// Case by case.
    pub(super) fn iter(&self) -> impl Iterator<Item = &[SlottedResult]> {
        (0..(self.cases)().len()).map(|case| self.case(case))
    }
}

/// Every case with every seed. A case that `stop` has kept from having them all has none: its mean would be of other seeds.
fn all(cases: &[(Params, Policy)], seeds: u64, jobs: NonZeroUsize, stop: &AtomicBool) -> Vec<Runs> {
    let tasks: Vec<(usize, u64)> =
        (0..cases.len()).flat_map(|case| (1..=seeds).map(move |seed| (case, seed))).collect();
    let work = |&(case, seed): &(usize, u64)| {
        let (params, policy) = &cases[case];
        run(params, *policy, seed).map_err(|error| error.to_string())
    };
    let mut by_case = vec![vec![]; cases.len()];
    for ((case, _), outcome) in study::run(&tasks, jobs, stop, work, |_, _| {}) {
        by_case[case].push(outcome.expect("constants that fit"));
    }
    by_case.iter_mut().filter(|runs| (runs.len() as u64) < seeds).for_each(Runs::clear);
    by_case
}

/// By load and policy.
pub(super) static RUNS: Batch = Batch::new(
    || {
        let case = |load| ALL.map(move |who| (Params::three_radios(load), policy(who)));
        LOADS.into_iter().flat_map(case).collect()
    },
    SEEDS,
);

/// The same with losses of 1, 0.5 and 2 %.
pub(super) static LOSSY: Batch = Batch::new(
    || {
        let case = |load| FIGURES.map(move |(who, _)| (Params::three_radios_lossy(load), policy(who)));
        LOADS.into_iter().flat_map(case).collect()
    },
    SWEEP_SEEDS,
);

pub(super) static SWEEP: Batch = Batch::new(
    || SWEPT_V.map(|v| (Params::three_radios(LOADS[0]), Policy::so_mptcp(v))).to_vec(),
    SWEEP_SEEDS,
);

pub(super) static FIXED: Batch = Batch::new(
    || BOUNDED_V.map(|v| (Params::fixed_windows(FIXED_SLOTS), Policy::so_mptcp(v))).to_vec(),
    SWEEP_SEEDS,
);

/// Index of a load.
fn place(load: u64) -> usize {
    LOADS.iter().position(|&known| known == load).expect("one of the paper's loads")
}

pub(super) fn runs(load: u64, who: Who) -> &'static [SlottedResult] {
    let who = ALL.iter().position(|&known| known == who).expect("one of the policies");
    RUNS.case(place(load) * ALL.len() + who)
}

/// With losses, in the order of [`FIGURES`].
pub(super) fn lossy_runs(load: u64) -> [&'static [SlottedResult]; FIGURES.len()] {
    std::array::from_fn(|who| LOSSY.case(place(load) * FIGURES.len() + who))
}

pub(super) fn finding(
    what: impl Into<String>,
    unit: &str,
    rule: Rule,
    runs: &[SlottedResult],
    metric: Metric,
) -> Finding {
    let values: Vec<f64> = runs.iter().map(metric).collect();
    Finding::new(what, unit, rule, estimate(&values), values.len())
}

pub(super) fn ratio(
    what: impl Into<String>,
    rule: Rule,
    above: &[SlottedResult],
    below: &[SlottedResult],
    metric: Metric,
) -> Finding {
    let pairs: Vec<(f64, f64)> = above.iter().zip(below).map(|(a, b)| (metric(a), metric(b))).collect();
    Finding::new(what, "", rule, ratio_estimate(&pairs), pairs.len())
}

pub(super) const MORE: Rule = Rule::Above { than: 1.0 };
pub(super) const LESS: Rule = Rule::Below { than: 1.0 };

pub(super) fn stated(stated: f64) -> Rule {
    Rule::Value { stated, tolerance: OF_A_NUMBER }
}

pub(super) fn throughput(run: &SlottedResult) -> f64 {
    run.means.throughput_mbps
}

pub(super) fn delay(run: &SlottedResult) -> f64 {
    run.means.delay_s.unwrap_or(f64::NAN)
}

pub(super) fn power(run: &SlottedResult) -> f64 {
    run.means.power_w
}

pub(super) fn backlog(run: &SlottedResult) -> f64 {
    run.means.backlog_packets
}

/// The largest second.
pub(super) fn peak_power(run: &SlottedResult) -> f64 {
    run.series.power_w.iter().copied().fold(0.0, f64::max)
}

/// Standard deviation of the seconds after the transient.
pub(super) fn power_deviation(run: &SlottedResult) -> f64 {
    let values = &run.series.power_w[TRANSIENT_S as usize..];
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    (values.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / values.len() as f64).sqrt()
}

/// Throughput of the first 30 s by that of the rest.
pub(super) fn start(run: &SlottedResult) -> f64 {
    let (first, rest) = run.series.throughput_mbps.split_at(TRANSIENT_S as usize);
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    mean(first) / mean(rest)
}

/// A line over time: the mean over the seeds.
pub(super) fn over_time(
    name: &str,
    runs: &[SlottedResult],
    value: impl Fn(&SlottedResult, usize) -> Option<f64>,
) -> Line {
    let time_s = runs.first().map_or(&[][..], |run| &run.series.time_s);
    let at = |second: usize| {
        let values: Vec<f64> = runs.iter().filter_map(|run| value(run, second)).collect();
        (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
    };
    // Every second point: a figure has no more pixels.
    Line::new(name, (0..time_s.len()).step_by(2).map(|i| (time_s[i], at(i))))
}

/// A value of a second.
pub(super) type Sampled = fn(&SlottedResult, usize) -> Option<f64>;

pub(super) fn by_policy(load: u64, value: Sampled) -> Vec<Line> {
    FIGURES.map(|(who, name)| over_time(name, runs(load, who), value)).to_vec()
}

pub(super) fn averages(title: &str, y: &str, metric: Metric) -> Figure {
    let bars = |&(who, name): &(Who, &str)| Bars {
        name: name.to_owned(),
        values: LOADS.map(|load| estimate(&runs(load, who).iter().map(metric).collect::<Vec<_>>())).to_vec(),
        stated: vec![],
    };
    let groups = LOADS.map(|load| format!("λ = {load} Mbit/s")).to_vec();
    let plot = Plot::Bars { groups, bars: FIGURES.iter().map(bars).collect() };
    Figure { title: title.to_owned(), x: String::new(), y: y.to_owned(), plot }
}

/// so-MPTCP against both others at both loads.
pub(super) fn against_both(name: &str, rule: Rule, loads: &[u64], metric: Metric) -> Vec<Finding> {
    let mut findings = vec![];
    for &load in loads {
        for (other, label) in [(Emptcp, "eMPTCP"), (Mptcp, "MPTCP")] {
            let what = format!("{name} of so-MPTCP ÷ {label}'s, λ = {load}");
            findings.push(ratio(what, rule, runs(load, So), runs(load, other), metric));
        }
    }
    findings
}
