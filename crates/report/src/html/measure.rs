//! Measures by which policies are compared.

use std::collections::BTreeMap;

use joulepath_model::result::{Comparison, Estimate, Row, RunResult};

use crate::bootstrap::ratio_estimate;
use crate::scale::{Quantity, Value};

/// A measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Measure {
    EnergyPerBit,
    Completion,
    DelayP95,
    Goodput,
    /// Goodput of a connection relative to a competing TCP flow.
    TcpShare,
    /// Goodput of all competitors.
    Competitors,
}

impl Measure {
    /// The user's cost: time if data ends or is waited for, else rate.
    pub(super) fn of_user(comparison: &Comparison) -> Measure {
        let any = |has: fn(&Row) -> bool| comparison.rows.iter().any(has);
        match () {
            () if any(|row| row.completion_s.is_some()) => Measure::Completion,
            () if any(|row| row.delay_p95_s.is_some()) => Measure::DelayP95,
            () => Measure::Goodput,
        }
    }

    /// Whether lower values are better.
    pub(super) fn less_is_better(self) -> bool {
        match self {
            Measure::EnergyPerBit | Measure::Completion | Measure::DelayP95 | Measure::TcpShare => true,
            Measure::Goodput | Measure::Competitors => false,
        }
    }

    pub(super) fn title(self) -> &'static str {
        match self {
            Measure::EnergyPerBit => "Energy per bit",
            Measure::Completion => "Completion time",
            Measure::DelayP95 => "Delay, 95th percentile",
            Measure::Goodput => "Goodput",
            Measure::TcpShare => "Goodput relative to a competing TCP’s",
            Measure::Competitors => "Goodput of the competitors",
        }
    }

    pub(super) fn quantity(self) -> Quantity {
        match self {
            Measure::EnergyPerBit => Quantity::EnergyPerBit,
            Measure::Completion | Measure::DelayP95 => Quantity::Time,
            Measure::Goodput | Measure::Competitors => Quantity::Rate,
            Measure::TcpShare => Quantity::Ratio,
        }
    }

    pub(super) fn of_row(self, row: &Row) -> Option<Value> {
        let value = |estimate: Estimate| Value::of(estimate, row, row.n);
        let value = match self {
            Measure::EnergyPerBit => value(inverse(row.bits_per_joule?)),
            Measure::Completion => Value::of(row.completion_s?, row, row.completed.unwrap_or(row.n)),
            Measure::DelayP95 => value(row.delay_p95_s?),
            Measure::Goodput => value(row.goodput_bps),
            Measure::TcpShare => value(row.tcp_share?),
            Measure::Competitors => value(row.competitors_bps?),
        };
        value.mean.is_finite().then_some(value)
    }

    /// Value of a run. Energy per bit is averaged as its inverse, as in the table.
    fn of_run(self, run: &RunResult) -> Option<f64> {
        match self {
            Measure::EnergyPerBit => (run.energy_j > 0.0).then_some(run.bits_per_joule),
            Measure::Completion => run.completion_s,
            Measure::DelayP95 => run.delay.map(|delay| delay.p95_s),
            Measure::Goodput => Some(run.goodput_bps),
            Measure::Competitors | Measure::TcpShare => Some(run.competitors_bps),
        }
    }
}

/// Converts the estimate of the inverse of a positive quantity: the ends of a percentile interval swap.
fn inverse(estimate: Estimate) -> Estimate {
    Estimate { mean: 1.0 / estimate.mean, lo: 1.0 / estimate.hi, hi: 1.0 / estimate.lo }
}

/// A policy relative to another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Contrast {
    /// Ratio of the means.
    pub(super) ratio: f64,
    /// Its 95 % interval, paired by seed; `None` with fewer than two common seeds.
    pub(super) interval: Option<(f64, f64)>,
    /// Whether the runs of either policy are random. If not, the interval's ends equal the ratio and are not
    /// shown.
    pub(super) by_chance: bool,
}

/// Meaning of a contrast.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tone {
    Better,
    Worse,
    /// The interval contains 1, or there is none.
    Unclear,
}

impl Contrast {
    /// `own` divided by `other`, over their common seeds; from the means if the single runs are not
    /// available.
    pub(super) fn of(measure: Measure, own: &Row, other: &Row) -> Option<Contrast> {
        let of_run = |run: &RunResult| Some((run.seed, measure.of_run(run)?));
        let theirs: BTreeMap<u64, f64> = other.runs.iter().filter_map(of_run).collect();
        let pair = |(seed, value): (u64, f64)| Some((value, *theirs.get(&seed)?));
        let pairs: Vec<(f64, f64)> = own.runs.iter().filter_map(of_run).filter_map(pair).collect();
        let ratio = match ratio_estimate(&pairs) {
            Some(ratio) if measure == Measure::EnergyPerBit => inverse(ratio),
            Some(ratio) => ratio,
            None => {
                let ratio = measure.of_row(own)?.mean / measure.of_row(other)?.mean;
                Estimate { mean: ratio, lo: ratio, hi: ratio }
            }
        };
        let interval =
            (pairs.len() > 1 && ratio.lo.is_finite() && ratio.hi.is_finite()).then_some((ratio.lo, ratio.hi));
        let by_chance = !(own.deterministic && other.deterministic);
        ratio.mean.is_finite().then_some(Contrast { ratio: ratio.mean, interval, by_chance })
    }

    pub(super) fn tone(&self, measure: Measure) -> Tone {
        let Some((lo, hi)) = self.interval else { return Tone::Unclear };
        match measure.less_is_better() {
            true if hi < 1.0 => Tone::Better,
            true if lo > 1.0 => Tone::Worse,
            false if lo > 1.0 => Tone::Better,
            false if hi < 1.0 => Tone::Worse,
            _ => Tone::Unclear,
        }
    }

    /// The ratio for display.
    pub(super) fn factor(&self) -> Value {
        Value { mean: self.ratio, interval: self.interval.filter(|_| self.by_chance) }
    }

    /// The difference in percent.
    pub(super) fn percent(&self) -> Value {
        let percent = |ratio: f64| 100.0 * (ratio - 1.0);
        let Value { mean, interval } = self.factor();
        Value { mean: percent(mean), interval: interval.map(|(lo, hi)| (percent(lo), percent(hi))) }
    }
}
