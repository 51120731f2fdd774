//! Calibration: the energy model of one radio from traffic and a meter of the whole device.
//!
//! 1. Watch the meter at rest: period, step, noise.
//! 2. Bracket the tail with round trips after quiet times, which also give the promotion (`tail`).
//! 3. Run blocks of traffic between idle blocks, in random order: rates in both directions with
//!    large and small packets, computing without traffic, trains of probes with quiet times shorter
//!    and longer than the tail, the radio off, both radios (`plan`). Subtracting the line between
//!    the adjacent idle blocks also removes drift.
//! 4. Fit these differences to the radio's activity with one robust regression (`timeline`, `fit`).
//! 5. Test the model on bursts outside the fit. Undetermined values are refused (`refusal`).

mod analyse;
mod fit;
mod outcome;
mod plan;
mod profile;
mod refusal;
mod rig;
mod signals;
mod tail;
mod timeline;

use joulepath_model::units::Nanos;

use self::analyse::{Measured, analyse};
use self::timeline::{Timeline, Window};
use crate::survey::{Survey, survey};

pub use outcome::{Calibration, Estimate};
pub use plan::Settings;
pub use profile::Circumstances;
pub use refusal::{Refusal, Stop};
pub use rig::{Action, Flow, Passed, Record, Rig, Sample};

/// How long to watch the meter at rest.
const WATCHED: Nanos = Nanos::from_secs(20);
/// Longest usable period of a meter, s.
const SLOWEST_S: f64 = 10.0;

/// The current phase.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Progress {
    /// Watching the meter.
    Meter,
    /// Searching for the tail.
    Tail,
    /// Running blocks.
    Blocks {
        /// Finished blocks.
        done: usize,
        /// Blocks in total.
        all: usize,
        /// Remaining time, s.
        left_s: f64,
    },
}

/// Calibrates the radio of the rig's first interface.
///
/// # Errors
/// If the rig fails, or the measurements do not determine the model.
pub fn calibrate(
    rig: &mut dyn Rig,
    settings: &Settings,
    watch: &mut dyn FnMut(Progress),
) -> Result<Calibration, Stop> {
    let mut timeline = Timeline::new(rig.unit());
    watch(Progress::Meter);
    let meter = watch_meter(rig, &mut timeline)?;
    watch(Progress::Tail);
    let bracket = tail::search(rig, 0, &mut |record| timeline.add(record))?;
    let first_echoes = timeline.echoes.len();
    let second_tail = second_tail(rig, &mut timeline)?;
    // Round trips on the other interface say nothing about this radio.
    timeline.echoes.truncate(first_echoes);
    let plan = plan::plan(
        settings,
        &bracket,
        timeline.period,
        second_tail,
        rig.can_switch_off(),
    )?;
    let mut measured = Vec::with_capacity(plan.blocks.len());
    let mut left_s = plan.lasts().as_secs_f64();
    let mut before = idle(rig, plan.settle, plan.half, &mut timeline)?;
    for (done, block) in plan.blocks.iter().enumerate() {
        watch(Progress::Blocks {
            done,
            all: plan.blocks.len(),
            left_s,
        });
        let record = rig.run(&block.action)?;
        timeline.add(&record);
        timeline.check_signal()?;
        let window = Window {
            from: record.start + block.lead,
            to: record.end,
        };
        let after = idle(rig, block.settle, plan.half, &mut timeline)?;
        measured.push(Measured {
            purpose: block.purpose,
            before: before[1],
            window,
            after: after[0],
        });
        before = after;
        left_s -= plan.lasts_with_idle(block).as_secs_f64();
    }
    analyse(&timeline, &measured, &bracket, meter, settings)
}

fn watch_meter(rig: &mut dyn Rig, timeline: &mut Timeline) -> Result<Survey, Stop> {
    let record = rig.run(&Action::Idle(WATCHED))?;
    let readings: Vec<(f64, f64)> = record
        .samples
        .iter()
        .map(|sample| (sample.at.as_secs_f64(), sample.value))
        .collect();
    let meter = survey(rig.unit(), &readings);
    match meter.period_s.filter(|period| *period <= SLOWEST_S) {
        Some(period) => timeline.period = Nanos::from_secs_f64(period),
        None => {
            return Err(Refusal::Slow {
                period_s: meter.period_s,
            }
            .into());
        }
    }
    rig.pace(timeline.period);
    timeline.add(&record);
    Ok(meter)
}

/// How long the second interface's radio may stay awake, if there is one. Idle blocks must outlast
/// it.
fn second_tail(rig: &mut dyn Rig, timeline: &mut Timeline) -> Result<Option<Nanos>, Stop> {
    if rig.interfaces() < 2 {
        return Ok(None);
    }
    match tail::search(rig, 1, &mut |record| timeline.add(record)) {
        Ok(bracket) => Ok(Some(bracket.asleep)),
        // Here the length serves only for waiting: the longest quiet time tried suffices.
        Err(Stop::Refused(Refusal::NoPromotion { longest, .. })) => Ok(Some(longest)),
        Err(stop) => Err(stop),
    }
}

/// Runs an idle block. Returns its halves.
fn idle(
    rig: &mut dyn Rig,
    settle: Nanos,
    half: Nanos,
    timeline: &mut Timeline,
) -> Result<[Window; 2], Stop> {
    let record = rig.run(&Action::Idle(settle + half + half))?;
    timeline.add(&record);
    let begin = record.start + settle;
    let middle = Nanos((begin.0 + record.end.0) / 2);
    Ok([
        Window {
            from: begin,
            to: middle,
        },
        Window {
            from: middle,
            to: record.end,
        },
    ])
}
