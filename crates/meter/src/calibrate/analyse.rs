//! From the records to the coefficients, their intervals, and reasons to refuse them.

use joulepath_model::energy::DeviceEnergy;
use joulepath_model::energy::meter::DeviceMeter;
use joulepath_model::quantile::linear_unsorted;
use joulepath_model::random::{Domain, Stream};
use joulepath_model::scenario::WORST_ERROR;
use joulepath_model::units::Nanos;
use nalgebra::{DMatrix, DVector};

use super::fit::{self, COVERAGE, Fit};
use super::outcome::{Calibration, Estimate};
use super::plan::{Purpose, Settings};
use super::refusal::{Refusal, Stop};
use super::tail::{self, Bracket};
use super::timeline::{Activity, SHORTEST_TAIL, Seen, Timeline, Timers, Window, between};
use crate::meter::Unit;
use crate::robust::spread;
use crate::survey::Survey;

/// Coefficients: [`Activity::columns`], a busy processor, the idle radio.
const COLUMNS: usize = 8;
const ACTIVE: usize = 0;
const TAIL: usize = 1;
const PROMOTION: usize = 2;
const DOWN: usize = 3;
const UP: usize = 4;
const PACKET: usize = 5;
const CORE: usize = 6;
const IDLE: usize = 7;

/// Largest step of the meter, and largest drift, relative to the swing between idle and full rate.
const COARSEST: f64 = 0.05;
const WORST_DRIFT: f64 = 0.15;
/// Largest half interval relative to the value: of the swing, of the tail.
const WIDEST_SWING: f64 = 0.10;
const WIDEST_TAIL: f64 = 0.25;
/// Largest certain difference between the power of the first half of a tail and of the whole.
const LARGEST_STAGE: f64 = 0.10;
/// A step within an idle block counts if it exceeds this fraction of the swing and this many
/// standard errors.
const STEP_SHARE: f64 = 0.10;
const STEP_SIGNAL: f64 = 5.0;
/// A step is abrupt if this many readings on either side show at least this fraction of it.
const NEAR: usize = 3;
const AT_ONCE: f64 = 0.7;
/// Largest fraction of idle blocks with a step.
const MOST_STEPS: f64 = 0.15;
/// Largest ratio of other programs' bytes to own bytes.
const MOST_FOREIGN: f64 = 0.01;

/// A block with the adjacent halves of its idle neighbours.
#[derive(Clone, Copy, Debug)]
pub(super) struct Measured {
    pub(super) purpose: Purpose,
    pub(super) before: Window,
    pub(super) window: Window,
    pub(super) after: Window,
}

/// A block as a row of the regression: its difference from the line between its neighbours.
struct Row {
    purpose: Purpose,
    power: f64,
    cores: f64,
    /// Weights of the neighbours.
    share: [f64; 2],
    seen: [Seen; 3],
    weight: f64,
}

/// Input of the checks.
struct Judge<'a> {
    timeline: &'a Timeline,
    meter: Survey,
    /// Readings of the idle halves.
    idle: Vec<Seen>,
}

pub(super) fn analyse(
    timeline: &Timeline,
    measured: &[Measured],
    bracket: &Bracket,
    meter: Survey,
    settings: &Settings,
) -> Result<Calibration, Stop> {
    let foreign = timeline.foreign_share();
    if foreign > MOST_FOREIGN {
        return Err(Refusal::ForeignTraffic { share: foreign }.into());
    }
    let rows: Vec<Row> = measured
        .iter()
        .map(|block| Row::new(timeline, block))
        .collect::<Option<_>>()
        .ok_or(Refusal::Slow {
            period_s: meter.period_s,
        })?;
    let (promotion_s, promotion_range) =
        tail::promotion(&timeline.echoes, bracket).ok_or(Refusal::Undetermined)?;
    let idle = rows
        .iter()
        .flat_map(|row| [row.seen[0], row.seen[2]])
        .collect();
    let judge = Judge {
        timeline,
        meter,
        idle,
    };

    let fitted: Vec<&Row> = rows
        .iter()
        .filter(|row| matches!(row.purpose, Purpose::Fit | Purpose::Early | Purpose::Off))
        .collect();
    let timers = |tail: Nanos| Timers {
        tail,
        promotion: Nanos::from_secs_f64(promotion_s),
    };
    let design = |tail: Nanos| self::design(timeline, &fitted, timers(tail));
    let middle = design(bracket.middle());
    let used: Vec<usize> = (0..COLUMNS)
        .filter(|j| middle.column(*j).iter().any(|x| *x != 0.0))
        .collect();
    let observed = DVector::from_iterator(fitted.len(), fitted.iter().map(|row| row.power));
    let weights: Vec<f64> = fitted.iter().map(|row| row.weight).collect();
    let fit = fit::fit(&middle.select_columns(&used), &observed, &weights)
        .ok_or(Refusal::Undetermined)?;
    // Change of the coefficients from one end of the tail's bracket to the other.
    let at = |tail: Nanos| fit.with_design(&design(tail).select_columns(&used), &observed);
    let slope = at(bracket.asleep)
        .zip(at(bracket.awake))
        .map(|(asleep, awake)| asleep - awake)
        .ok_or(Refusal::Undetermined)?;

    let combined = Combined::new(&fit, &slope, &used, settings);
    let highest = settings.down.bps() as f64;
    let swing = combined.estimate(&[(ACTIVE, 1.0), (DOWN, highest)]);
    judge.check(&swing)?;
    let idle = used
        .contains(&IDLE)
        .then(|| combined.estimate(&[(IDLE, 1.0)]));
    let idle_w = idle.map_or(0.0, |idle| idle.value.max(0.0));
    let has_tail = bracket.middle() >= SHORTEST_TAIL;
    let tail = has_tail.then(|| combined.estimate(&[(TAIL, 1.0), (IDLE, 1.0)]));
    if let Some(tail) = &tail {
        let above = combined.estimate(&[(TAIL, 1.0)]);
        if above.margin() > WIDEST_TAIL * tail.value.abs() {
            let margin = above.margin() / tail.value.abs();
            return Err(Refusal::Noisy {
                margin,
                what: "the power of the tail",
            }
            .into());
        }
    }
    let host = [
        combined.value(&[(CORE, 1.0)]),
        combined.value(&[(PACKET, 1.0)]),
    ];
    one_stage(&middle, &fitted, &observed, &weights, &used, settings)?;
    let calibration = Calibration {
        idle,
        active: combined.estimate(&[(ACTIVE, 1.0), (IDLE, 1.0)]),
        tail,
        tail_s: Estimate {
            value: bracket.middle().as_secs_f64(),
            low: bracket.awake.as_secs_f64(),
            high: bracket.asleep.as_secs_f64(),
        },
        promotion: combined.promotion(promotion_s, promotion_range),
        promotion_s: Estimate {
            value: promotion_s,
            low: promotion_range[0],
            high: promotion_range[1],
        },
        down: combined.estimate(&[(DOWN, 1.0)]),
        up: combined.estimate(&[(UP, 1.0)]),
        packet: combined.estimate(&[(PACKET, 1.0)]),
        core: combined.estimate(&[(CORE, 1.0)]),
        sharing: sharing(
            timeline,
            &rows,
            host,
            idle_w,
            timers(bracket.middle()),
            settings,
        ),
        signal_dbm: timeline.signal_dbm(),
        hold_out_error: 0.0,
        survey: meter,
        blocks: rows.len(),
        seconds: measured
            .last()
            .map_or(0.0, |block| block.after.to.as_secs_f64()),
    };
    let hold_out_error = hold_out(timeline, &rows, &calibration);
    if hold_out_error > WORST_ERROR {
        return Err(Refusal::HoldOut {
            error: hold_out_error,
        }
        .into());
    }
    Ok(Calibration {
        hold_out_error,
        ..calibration
    })
}

impl Row {
    fn new(timeline: &Timeline, block: &Measured) -> Option<Row> {
        let seen = [
            timeline.seen(block.before)?,
            timeline.seen(block.window)?,
            timeline.seen(block.after)?,
        ];
        let [before, during, after] = &seen;
        let share = between(before, during, after);
        let rest = |value: fn(&Seen) -> f64| {
            value(during) - share[0] * value(before) - share[1] * value(after)
        };
        // White noise: the variance of a window's mean is inverse to its length.
        let variance = |seen: &Seen, share: f64| share * share / seen.window.seconds();
        let weight =
            1.0 / (variance(during, 1.0) + variance(before, share[0]) + variance(after, share[1]));
        let (power, cores) = (rest(|seen| seen.power), rest(|seen| seen.cores));
        Some(Row {
            purpose: block.purpose,
            power,
            cores,
            share,
            seen,
            weight,
        })
    }

    /// The corresponding difference of the radio's activity.
    fn activity(&self, [before, during, after]: [Activity; 3]) -> [f64; 6] {
        let (before, during, after) = (before.columns(), during.columns(), after.columns());
        std::array::from_fn(|j| during[j] - self.share[0] * before[j] - self.share[1] * after[j])
    }
}

/// The design matrix.
fn design(timeline: &Timeline, rows: &[&Row], timers: Timers) -> DMatrix<f64> {
    let windows: Vec<Window> = rows
        .iter()
        .flat_map(|row| row.seen.map(|seen| seen.window))
        .collect();
    let activity = timeline.activity(0, timers, &windows);
    let mut design = DMatrix::zeros(rows.len(), COLUMNS);
    for (i, row) in rows.iter().enumerate() {
        let columns = row.activity([activity[3 * i], activity[3 * i + 1], activity[3 * i + 2]]);
        for (j, column) in columns.into_iter().enumerate() {
            design[(i, j)] = column;
        }
        design[(i, CORE)] = row.cores;
        design[(i, IDLE)] = if row.purpose == Purpose::Off {
            -1.0
        } else {
            0.0
        };
    }
    design
}

/// Refuses a tail whose first half has a different power than the whole.
fn one_stage(
    design: &DMatrix<f64>,
    rows: &[&Row],
    observed: &DVector<f64>,
    weights: &[f64],
    used: &[usize],
    settings: &Settings,
) -> Result<(), Refusal> {
    if !used.contains(&TAIL) || rows.iter().all(|row| row.purpose != Purpose::Early) {
        return Ok(()); // too short to have stages
    }
    let early = |row: usize| {
        if rows[row].purpose == Purpose::Early {
            design[(row, TAIL)]
        } else {
            0.0
        }
    };
    let mut design = design.select_columns(used).insert_column(used.len(), 0.0);
    (0..rows.len()).for_each(|row| design[(row, used.len())] = early(row));
    let fit = fit::fit(&design, observed, weights).ok_or(Refusal::Undetermined)?;
    let combine = DMatrix::from_fn(
        1,
        used.len() + 1,
        |_, j| if j == used.len() { 1.0 } else { 0.0 },
    );
    let mut stream = Stream::new(settings.seed, Domain::Calibration, 5);
    let step = symmetric(
        fit.beta[used.len()],
        fit.deviations(&combine, &mut stream).remove(0),
    );
    let tail = used
        .iter()
        .position(|column| *column == TAIL)
        .map_or(0.0, |at| fit.beta[at]);
    // The difference minus its half interval.
    let least = step.value.abs() - step.margin();
    if least > LARGEST_STAGE * tail.abs() {
        return Err(Refusal::Tail { step_w: step.value });
    }
    Ok(())
}

/// Linear combinations of coefficients with intervals.
struct Combined<'a> {
    fit: &'a Fit,
    /// Change of the coefficients over the tail's bracket.
    slope: &'a DVector<f64>,
    used: &'a [usize],
    seed: u64,
}

impl<'a> Combined<'a> {
    fn new(fit: &'a Fit, slope: &'a DVector<f64>, used: &'a [usize], settings: &Settings) -> Self {
        Combined {
            fit,
            slope,
            used,
            seed: settings.seed,
        }
    }

    /// The weights of `terms`. An unused coefficient is 0: its state never occurred, or its power
    /// is the idle power.
    fn weights(&self, terms: &[(usize, f64)]) -> DMatrix<f64> {
        let weight = |column: usize| {
            terms
                .iter()
                .filter(|term| term.0 == column)
                .map(|term| term.1)
                .sum()
        };
        DMatrix::from_iterator(
            1,
            self.used.len(),
            self.used.iter().map(|column| weight(*column)),
        )
    }

    fn value(&self, terms: &[(usize, f64)]) -> f64 {
        (self.weights(terms) * &self.fit.beta)[0]
    }

    /// Deviations due to noise and to the unknown length of the tail.
    fn deviations(&self, terms: &[(usize, f64)]) -> Vec<f64> {
        let weights = self.weights(terms);
        let by_tail = (&weights * self.slope)[0];
        let mut stream = Stream::new(self.seed, Domain::Calibration, 1);
        let mut place = Stream::new(self.seed, Domain::Calibration, 2);
        let by_noise = self.fit.deviations(&weights, &mut stream).remove(0);
        by_noise
            .into_iter()
            .map(|noise| noise + by_tail * (place.uniform() - 0.5))
            .collect()
    }

    fn estimate(&self, terms: &[(usize, f64)]) -> Estimate {
        symmetric(self.value(terms), self.deviations(terms))
    }

    /// Power of the promotion: its energy divided by its length, above the idle power.
    fn promotion(&self, seconds: f64, range: [f64; 2]) -> Estimate {
        const INTERVAL_IN_DEVIATIONS: f64 = 2.0 * 1.959_963_985;
        let terms = [(PROMOTION, 1.0 / seconds), (IDLE, 1.0)];
        let value = self.value(&terms);
        let energy = self.value(&[(PROMOTION, 1.0)]);
        let deviation = (range[1] - range[0]) / INTERVAL_IN_DEVIATIONS;
        let mut stream = Stream::new(self.seed, Domain::Calibration, 3);
        let by_length = |_: &f64| {
            let longer = (seconds + deviation * stream.normal()).max(0.1 * seconds);
            energy / longer - energy / seconds
        };
        let by_length: Vec<f64> = self.deviations(&terms).iter().map(by_length).collect();
        let deviations = self.deviations(&terms);
        symmetric(
            value,
            deviations
                .iter()
                .zip(by_length)
                .map(|(a, b)| a + b)
                .collect(),
        )
    }
}

fn symmetric(value: f64, mut deviations: Vec<f64>) -> Estimate {
    deviations
        .iter_mut()
        .for_each(|deviation| *deviation = deviation.abs());
    Estimate::symmetric(value, linear_unsorted(&mut deviations, COVERAGE))
}

impl Judge<'_> {
    /// Refuses what the meter cannot measure, most specific reason first.
    fn check(&self, swing: &Estimate) -> Result<(), Refusal> {
        let swing_w = swing.value;
        let wandering = self.wandering();
        let steps = self.steps(swing_w.abs());
        let white = self.meter.noise_w.unwrap_or(0.0) * self.noise_share();
        if swing_w > 0.0 && wandering > WORST_DRIFT * swing_w && wandering > 2.0 * white {
            return Err(match steps > MOST_STEPS {
                true => Refusal::SecondConsumer {
                    share: steps,
                    swing_w,
                },
                false => Refusal::Drift {
                    scatter_w: wandering,
                    swing_w,
                },
            });
        }
        if swing.low <= 0.0 {
            return Err(Refusal::Blind {
                swing_w,
                margin_w: swing.margin(),
            });
        }
        let step_w = self.step_w();
        if step_w > COARSEST * swing_w {
            return Err(Refusal::Coarse { step_w, swing_w });
        }
        if swing.margin() > WIDEST_SWING * swing_w {
            let margin = swing.margin() / swing_w;
            return Err(Refusal::Noisy {
                margin,
                what: "what the radio adds at full rate",
            });
        }
        Ok(())
    }

    /// The meter's step as a step of the mean power of an idle half, W.
    fn step_w(&self) -> f64 {
        let step = self.meter.step.unwrap_or(0.0);
        match self.timeline_unit() {
            Unit::Watts => step,
            Unit::Joules => step / self.idle[0].window.seconds(),
        }
    }

    fn timeline_unit(&self) -> Unit {
        self.timeline.unit()
    }

    /// Ratio of the noise of an idle half's mean to that of a single reading.
    fn noise_share(&self) -> f64 {
        let updates = self
            .meter
            .period_s
            .map_or(1.0, |period| self.idle[0].window.seconds() / period);
        1.0 / updates.max(1.0).sqrt()
    }

    /// Distance of idle blocks from the line between their neighbours, as a standard deviation.
    fn wandering(&self) -> f64 {
        // One half of each idle block: both halves of a block are too close in time to show drift.
        let idle: Vec<&Seen> = self.idle.iter().step_by(2).collect();
        let bend = |seen: &[&Seen]| {
            let share = between(seen[0], seen[1], seen[2]);
            let bend = seen[1].power - share[0] * seen[0].power - share[1] * seen[2].power;
            bend / (1.0 + share[0] * share[0] + share[1] * share[1]).sqrt()
        };
        spread_of_all(&idle.windows(3).map(bend).collect::<Vec<f64>>())
    }

    /// Fraction of the idle halves in which the power steps.
    fn steps(&self, swing_w: f64) -> f64 {
        let stepped = self.idle.iter().filter(|seen| {
            let values = self.timeline.powers(seen.window);
            steps_at_once(&values, STEP_SHARE * swing_w)
        });
        stepped.count() as f64 / self.idle.len() as f64
    }
}

/// The standard deviation; the robust one if outliers are rare, since a rare consumer disturbs few
/// blocks.
fn spread_of_all(values: &[f64]) -> f64 {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let variance = values
        .iter()
        .map(|value| (value - mean) * (value - mean))
        .sum::<f64>();
    let deviation = (variance / values.len() as f64).sqrt();
    let robust = spread(values);
    if deviation > 6.0 * robust {
        deviation
    } else {
        robust.max(0.5 * deviation)
    }
}

/// True if the mean changes by at least `least`, significantly and abruptly: drift is not abrupt.
fn steps_at_once(values: &[f64], least: f64) -> bool {
    let differences: Vec<f64> = values.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let noise = spread(&differences) / std::f64::consts::SQRT_2;
    let mean = |part: &[f64]| part.iter().sum::<f64>() / part.len() as f64;
    let squares = |part: &[f64]| {
        let mean = mean(part);
        part.iter()
            .map(|value| (value - mean) * (value - mean))
            .sum::<f64>()
    };
    let split = |at: &usize| squares(&values[..*at]) + squares(&values[*at..]);
    let best = (NEAR + 1..values.len().saturating_sub(NEAR + 1))
        .min_by(|a, b| split(a).total_cmp(&split(b)));
    let Some(at) = best else { return false };
    let (left, right) = values.split_at(at);
    let step = mean(left) - mean(right);
    let error = noise * (1.0 / left.len() as f64 + 1.0 / right.len() as f64).sqrt();
    // The reading during the step belongs to neither side.
    let (before, after) = (
        &left[left.len() - 1 - NEAR..left.len() - 1],
        &right[1..=NEAR],
    );
    let near = mean(before) - mean(after);
    let near_error = noise * (2.0 / NEAR as f64).sqrt();
    step.abs() > least.max(STEP_SIGNAL * error)
        && near.abs() > STEP_SIGNAL * near_error
        && near / step > AT_ONCE
}

/// κ: both radios together divided by the sum of each alone, minus the host's share (`host`: W of a
/// processor, J of a packet). The model scales all of a radio's power, so the idle power is added
/// if it is known. Each row has its own idle neighbours, so rows are independent.
fn sharing(
    timeline: &Timeline,
    rows: &[Row],
    host: [f64; 2],
    idle_w: f64,
    timers: Timers,
    settings: &Settings,
) -> Option<Estimate> {
    let of = |which: usize| -> Vec<f64> {
        let rows = rows
            .iter()
            .filter(|row| row.purpose == Purpose::Share(which));
        let radios = |row: &Row| {
            let window = [row.seen[1].window];
            let packets: f64 = (0..2)
                .map(|radio| timeline.activity(radio, timers, &window)[0].all_packets())
                .sum();
            row.power - host[0] * row.cores - host[1] * packets
        };
        rows.map(radios).collect()
    };
    let (first, second, both) = (of(0), of(1), of(2));
    if both.is_empty() {
        return None;
    }
    let sums: Vec<f64> = first
        .iter()
        .zip(&second)
        .map(|(first, second)| first + second + idle_w)
        .collect();
    let both: Vec<f64> = both.iter().map(|both| both + idle_w).collect();
    let design = DMatrix::from_column_slice(sums.len(), 1, &sums);
    let fit = fit::fit(&design, &DVector::from_vec(both), &vec![1.0; sums.len()])?;
    let mut stream = Stream::new(settings.seed, Domain::Calibration, 4);
    let deviations = fit
        .deviations(&DMatrix::from_element(1, 1, 1.0), &mut stream)
        .remove(0);
    Some(symmetric(fit.beta[0], deviations))
}

/// Relative error of the model's energy for bursts outside the fit.
fn hold_out(timeline: &Timeline, rows: &[Row], calibration: &Calibration) -> f64 {
    let (mut predicted, mut measured) = (0.0, 0.0);
    let idle_w = calibration.idle.map_or(0.0, |idle| idle.value.max(0.0));
    let rows: Vec<&Row> = rows
        .iter()
        .filter(|row| row.purpose == Purpose::HoldOut)
        .collect();
    let windows: Vec<Window> = rows
        .iter()
        .flat_map(|row| row.seen.map(|seen| seen.window))
        .collect();
    let joules = model_joules(timeline, calibration, &windows);
    let tail = Nanos::from_secs_f64(calibration.tail_s.value);
    let timers = Timers {
        tail,
        promotion: Nanos::from_secs_f64(calibration.promotion_s.value),
    };
    let activity = timeline.activity(0, timers, &windows);
    for (i, row) in rows.iter().enumerate() {
        let seconds = row.seen[1].window.seconds();
        let power = |at: usize| joules[3 * i + at] / windows[3 * i + at].seconds() - idle_w;
        let packets = row.activity([activity[3 * i], activity[3 * i + 1], activity[3 * i + 2]])[5];
        let rest = calibration.core.value * row.cores + calibration.packet.value * packets;
        let radio = power(1) - row.share[0] * power(0) - row.share[1] * power(2);
        predicted += (radio + rest) * seconds;
        measured += row.power * seconds;
    }
    (predicted - measured).abs() / measured.abs().max(f64::MIN_POSITIVE)
}

/// Energy of the model in each window, J, from the meter used in simulations.
fn model_joules(timeline: &Timeline, calibration: &Calibration, windows: &[Window]) -> Vec<f64> {
    let mut ends: Vec<Nanos> = windows
        .iter()
        .flat_map(|window| [window.from, window.to])
        .collect();
    ends.sort();
    ends.dedup();
    let mut meter = DeviceMeter::new(&[calibration.model()], &DeviceEnergy::ADDITIVE, Nanos::ZERO);
    let mut passed = timeline
        .passed
        .iter()
        .filter(|passed| passed.interface == 0)
        .peekable();
    let mut sums = Vec::with_capacity(ends.len());
    for &end in &ends {
        while let Some(passed) = passed.next_if(|passed| passed.at <= end) {
            meter.on_packet(0, passed.at, passed.bytes, passed.direction, Nanos::ZERO);
        }
        sums.push(meter.snapshot(end).total_j());
    }
    let sum = |at: Nanos| {
        sums[ends
            .binary_search(&at)
            .expect("every end of a window is listed")]
    };
    windows
        .iter()
        .map(|window| sum(window.to) - sum(window.from))
        .collect()
}
