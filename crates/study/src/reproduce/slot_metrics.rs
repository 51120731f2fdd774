//! What is read off the runs of paper 003's slotted system.

use joulepath_report::{Bars, Figure, Finding, Line, Plot, Rule, interval, ratio_interval};
use joulepath_slotted::SlottedResult;

use super::experiment::OF_A_NUMBER;
use super::slotted::Scheme::{Emptcp, Mptcp, So};
use super::slotted::{FIGURES, LOADS, Scheme, SlottedRuns, TRANSIENT_S};

/// A number of a run.
pub(super) type Metric = fn(&SlottedResult) -> f64;

pub(super) fn finding(
    what: impl Into<String>,
    unit: &str,
    rule: Rule,
    runs: &[SlottedResult],
    metric: Metric,
) -> Finding {
    let values: Vec<f64> = runs.iter().map(metric).collect();
    Finding::new(what, unit, rule, interval(&values), values.len())
}

/// A number that the paper has from a single run.
pub(super) fn one_run(
    what: impl Into<String>,
    unit: &str,
    rule: Rule,
    runs: &[SlottedResult],
    metric: Metric,
) -> Finding {
    Finding::of_one_run(what, unit, rule, &runs.iter().map(metric).collect::<Vec<_>>())
}

pub(super) fn ratio(
    what: impl Into<String>,
    rule: Rule,
    above: &[SlottedResult],
    below: &[SlottedResult],
    metric: Metric,
) -> Finding {
    let pairs: Vec<(f64, f64)> = above.iter().zip(below).map(|(a, b)| (metric(a), metric(b))).collect();
    Finding::new(what, "", rule, ratio_interval(&pairs), pairs.len())
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

pub(super) fn by_policy(slotted: &SlottedRuns, load: u64, value: Sampled) -> Vec<Line> {
    FIGURES.map(|(scheme, name)| over_time(name, slotted.runs(load, scheme), value)).to_vec()
}

pub(super) fn averages(slotted: &SlottedRuns, title: &str, y: &str, metric: Metric) -> Figure {
    let bars = |&(scheme, name): &(Scheme, &str)| Bars {
        name: name.to_owned(),
        values: LOADS
            .map(|load| interval(&slotted.runs(load, scheme).iter().map(metric).collect::<Vec<_>>()))
            .to_vec(),
        stated: vec![],
    };
    let groups = LOADS.map(|load| format!("λ = {load} Mbit/s")).to_vec();
    let plot = Plot::Bars { groups, bars: FIGURES.iter().map(bars).collect() };
    Figure { title: title.to_owned(), x: String::new(), y: y.to_owned(), plot }
}

/// The eMPTCP that runs here: 003 cites another one (its [35]) and does not define it.
pub(super) const LIM: &str = "eMPTCP (Lim et al.)";

/// so-MPTCP against both others at both loads.
pub(super) fn against_both(
    slotted: &SlottedRuns,
    name: &str,
    rule: Rule,
    loads: &[u64],
    metric: Metric,
) -> Vec<Finding> {
    let mut findings = vec![];
    for &load in loads {
        // Ours is Lim et al.'s eMPTCP, the paper's [35] another one: shown, not judged.
        for (other, label, rule) in [(Emptcp, LIM, Rule::Shown), (Mptcp, "MPTCP", rule)] {
            let what = format!("{name} of so-MPTCP ÷ {label}'s, λ = {load}");
            findings.push(ratio(what, rule, slotted.runs(load, So), slotted.runs(load, other), metric));
        }
    }
    findings
}
