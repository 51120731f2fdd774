//! Properties of a meter from its readings: period, step, noise.

use serde::Serialize;

use crate::meter::Unit;
use crate::robust::{median, spread};

/// Readings in order: time in s, and J or W.
pub type Readings = [(f64, f64)];

/// Properties of a meter.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Survey {
    /// Time between two changes, s; `None` with fewer than four changes.
    pub period_s: Option<f64>,
    /// Smallest difference between two values, W or J; `None` if the value never changed.
    pub step: Option<f64>,
    /// Mean power, W; `None` with a single reading of a counter.
    pub power_w: Option<f64>,
    /// Scatter of the power between updates (robust standard deviation), W.
    pub noise_w: Option<f64>,
}

/// Computes the properties from readings faster than the meter's updates.
pub fn survey(unit: Unit, readings: &Readings) -> Survey {
    let mut changes: Vec<(f64, f64)> = Vec::new();
    for &(at, value) in readings {
        if changes.last().is_none_or(|&(_, last)| last != value) {
            changes.push((at, value));
        }
    }
    // The first value began before the first reading.
    let intervals: Vec<f64> = changes
        .windows(2)
        .skip(1)
        .map(|pair| pair[1].0 - pair[0].0)
        .collect();
    let period_s = (intervals.len() >= 3).then(|| median(&intervals));
    let powers = match unit {
        Unit::Watts => changes.iter().map(|&(_, watts)| watts).collect(),
        Unit::Joules => powers(&changes[1.min(changes.len())..]),
    };
    Survey {
        period_s,
        step: step(unit, &changes),
        power_w: mean_power(unit, readings),
        noise_w: (powers.len() >= 3).then(|| noise(&powers)),
    }
}

/// Power between successive values of a counter, W.
fn powers(counts: &Readings) -> Vec<f64> {
    counts
        .windows(2)
        .map(|pair| (pair[1].1 - pair[0].1) / (pair[1].0 - pair[0].0))
        .collect()
}

/// The smallest difference. For power: between any two values. For a counter: between any two
/// increments, which are whole numbers of steps; or the increment itself if all are equal.
fn step(unit: Unit, changes: &Readings) -> Option<f64> {
    let smallest = |mut values: Vec<f64>, least: f64| {
        values.sort_by(f64::total_cmp);
        let differences = values.windows(2).map(|pair| pair[1] - pair[0]);
        differences
            .filter(|difference| *difference > least)
            .min_by(f64::total_cmp)
    };
    let values: Vec<f64> = changes.iter().map(|&(_, value)| value).collect();
    if unit == Unit::Watts {
        return smallest(values, 0.0);
    }
    // The difference of two large counts is inexact.
    let rounding = 1e-12 * values.last().map_or(0.0, |last| last.abs());
    let increments: Vec<f64> = values.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let least = increments.iter().copied().min_by(f64::total_cmp)?;
    smallest(increments, 4.0 * rounding).or(Some(least))
}

/// Noise without slow changes: from differences of neighbours, whose variance is twice that of one
/// value.
fn noise(powers: &[f64]) -> f64 {
    let differences: Vec<f64> = powers.windows(2).map(|pair| pair[1] - pair[0]).collect();
    spread(&differences) / std::f64::consts::SQRT_2
}

/// Mean power over `readings`.
pub fn mean_power(unit: Unit, readings: &Readings) -> Option<f64> {
    let (first, last) = (readings.first()?, readings.last()?);
    match unit {
        Unit::Watts => {
            Some(readings.iter().map(|&(_, watts)| watts).sum::<f64>() / readings.len() as f64)
        }
        Unit::Joules => (last.0 > first.0).then(|| (last.1 - first.1) / (last.0 - first.0)),
    }
}
