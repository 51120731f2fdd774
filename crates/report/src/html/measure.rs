//! Measures by which policies are compared.

use std::collections::BTreeMap;

use joulepath_model::metric::{
    Better, COMPETITORS, COMPLETION, DELAY_P95, EFFICIENCY, ENERGY_PER_BIT, GOODPUT, Metric,
};
use joulepath_model::names::capitalised;
use joulepath_model::result::{Comparison, Estimate, Row, RunResult};

use crate::bootstrap::ratio_estimate;
use crate::scale::{Quantity, Value};

/// A measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Measure {
    /// The inverse of the mean efficiency, as in the table.
    EnergyPerBit,
    /// Goodput of a connection relative to a competing TCP flow.
    TcpShare,
    Metric(&'static Metric),
}

impl Measure {
    /// The user's cost: time if data ends or is waited for, else rate.
    pub(super) fn of_user(comparison: &Comparison) -> Measure {
        let has = |metric: &&Metric| comparison.rows.iter().any(|row| row.has(metric));
        Measure::Metric(
            [&COMPLETION, &DELAY_P95]
                .into_iter()
                .find(has)
                .unwrap_or(&GOODPUT),
        )
    }

    /// Whether lower values are better.
    pub(super) fn less_is_better(self) -> bool {
        match self {
            Measure::EnergyPerBit | Measure::TcpShare => true,
            Measure::Metric(metric) => metric.better == Better::Lower,
        }
    }

    pub(super) fn title(self) -> String {
        match self {
            Measure::EnergyPerBit => capitalised(ENERGY_PER_BIT.title),
            Measure::TcpShare => "Goodput relative to a competing TCP’s".into(),
            Measure::Metric(metric) => capitalised(metric.title),
        }
    }

    pub(super) fn quantity(self) -> Quantity {
        match self {
            Measure::EnergyPerBit => Quantity::EnergyPerBit,
            Measure::TcpShare => Quantity::Ratio,
            Measure::Metric(metric) => metric.quantity,
        }
    }

    pub(super) fn of_row(self, row: &Row) -> Option<Value> {
        let value = |estimate: Estimate| Value::of(estimate, row, row.n);
        let value = match self {
            Measure::EnergyPerBit => value(inverse(row.estimate(&EFFICIENCY)?)),
            Measure::TcpShare => value(row.tcp_share?),
            Measure::Metric(metric) => Value::of_row(metric, row)?,
        };
        value.mean.is_finite().then_some(value)
    }

    /// Value of a run. Energy per bit is averaged as its inverse.
    fn of_run(self, run: &RunResult) -> Option<f64> {
        match self {
            Measure::EnergyPerBit => EFFICIENCY.of(run),
            Measure::TcpShare => COMPETITORS.of(run),
            Measure::Metric(metric) => metric.of(run),
        }
    }
}

/// Converts the estimate of the inverse of a positive quantity: the ends of a percentile interval
/// swap.
fn inverse(estimate: Estimate) -> Estimate {
    Estimate {
        mean: 1.0 / estimate.mean,
        lo: 1.0 / estimate.hi,
        hi: 1.0 / estimate.lo,
    }
}

/// A policy relative to another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Contrast {
    /// Ratio of the means.
    pub(super) ratio: f64,
    /// Its 95 % interval, paired by seed; `None` with fewer than two common seeds.
    pub(super) interval: Option<(f64, f64)>,
    /// Whether the runs of either policy are random. If not, the interval's ends equal the ratio
    /// and are not shown.
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
        let pairs: Vec<(f64, f64)> = own
            .runs
            .iter()
            .filter_map(of_run)
            .filter_map(pair)
            .collect();
        let ratio = match ratio_estimate(&pairs) {
            Some(ratio) if measure == Measure::EnergyPerBit => inverse(ratio),
            Some(ratio) => ratio,
            None => {
                let ratio = measure.of_row(own)?.mean / measure.of_row(other)?.mean;
                Estimate {
                    mean: ratio,
                    lo: ratio,
                    hi: ratio,
                }
            }
        };
        let interval = (pairs.len() > 1 && ratio.lo.is_finite() && ratio.hi.is_finite())
            .then_some((ratio.lo, ratio.hi));
        let by_chance = !(own.deterministic && other.deterministic);
        ratio.mean.is_finite().then_some(Contrast {
            ratio: ratio.mean,
            interval,
            by_chance,
        })
    }

    pub(super) fn tone(&self, measure: Measure) -> Tone {
        let Some((lo, hi)) = self.interval else {
            return Tone::Unclear;
        };
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
        Value {
            mean: self.ratio,
            interval: self.interval.filter(|_| self.by_chance),
        }
    }

    /// The difference in percent.
    pub(super) fn percent(&self) -> Value {
        let percent = |ratio: f64| 100.0 * (ratio - 1.0);
        let Value { mean, interval } = self.factor();
        Value {
            mean: percent(mean),
            interval: interval.map(|(lo, hi)| (percent(lo), percent(hi))),
        }
    }
}
