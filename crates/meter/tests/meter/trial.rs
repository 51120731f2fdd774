//! Accuracy of calibrations: on random simulated radios, and under conditions in which a
//! calibration must be refused.

use joulepath_meter::calibrate::{Calibration, Estimate, Refusal, Settings, Stop, calibrate};
use joulepath_meter::{Result, Unit};
use joulepath_model::energy::{InterfaceModel, RrcModel, profile};
use joulepath_model::quantile;
use joulepath_model::random::{Domain, Stream};
use joulepath_model::units::{BitRate, JoulesPerBit, Nanos, Watts};

use crate::simulate::{Consumer, MeterTruth, Simulated, Truth};

/// Accuracy of one parameter over many radios.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Coverage {
    /// Name of the parameter in the table.
    pub(crate) parameter: &'static str,
    /// Radios for which it was estimated.
    pub(crate) draws: usize,
    /// Radios whose interval contains the true value.
    pub(crate) covered: usize,
    /// Median relative error.
    pub(crate) median_error: f64,
    /// Median half width of the interval relative to the true value.
    pub(crate) median_margin: f64,
}

/// Accuracy over many radios.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Trial {
    /// Number of radios.
    pub(crate) draws: usize,
    /// Refused radios, with reasons.
    pub(crate) refused: Vec<String>,
    /// Accuracy by parameter.
    pub(crate) parameters: Vec<Coverage>,
    /// Largest error on a hold-out.
    pub(crate) worst_hold_out: f64,
}

impl Trial {
    /// The table as Markdown.
    pub(crate) fn markdown(&self) -> String {
        let mut text = String::from(
            "| parameter | draws | truth within the interval | median error | median half width |\n\
             |---|---:|---:|---:|---:|\n",
        );
        for row in &self.parameters {
            let [share, error, margin] = [
                row.covered as f64 / row.draws as f64,
                row.median_error,
                row.median_margin,
            ]
            .map(|share| 100.0 * share);
            text += &format!(
                "| {} | {} | {share:.0} % | {error:.2} % | {margin:.2} % |\n",
                row.parameter, row.draws
            );
        }
        let refused = self.refused.len();
        text + &format!(
            "\n{} draws, of which {refused} were refused. Largest error on a hold-out: {:.1} %.\n",
            self.draws,
            100.0 * self.worst_hold_out
        )
    }
}

/// The table of conditions, as Markdown.
pub(crate) fn refusals_markdown(refusals: &[Refused]) -> String {
    let mut text = String::from("| condition | answer |\n|---|---|\n");
    for refused in refusals {
        let answer = refused
            .reason
            .as_ref()
            .map_or("a profile".to_owned(), Refusal::to_string);
        text += &format!("| {} | {answer} |\n", refused.condition);
    }
    text
}

/// A condition under which a calibration must be refused, and the result.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Refused {
    /// The condition in words.
    pub(crate) condition: &'static str,
    /// The reason given; `None` if there was a profile.
    pub(crate) reason: Option<Refusal>,
    /// True if the reason is correct.
    pub(crate) right: bool,
}

fn settings(seed: u64) -> Settings {
    Settings {
        down: BitRate::from_bps(20_000_000),
        up: BitRate::from_bps(10_000_000),
        limit: None,
        seed,
    }
}

/// The parameters: name, true value, estimate.
fn parameters(truth: &Truth, found: &Calibration) -> Vec<(&'static str, f64, Option<Estimate>)> {
    let radio = &truth.radio;
    // A slope applies to full packets of 1400 B.
    let packet = truth.packet_j / (1400.0 * 8.0);
    // If the radio cannot be switched off, its idle power counts for the device.
    let idle = if truth.can_switch_off {
        0.0
    } else {
        radio.idle.0
    };
    let stage = radio.tail.first();
    vec![
        ("active", radio.active.0 - idle, Some(found.active)),
        ("down", radio.down.0 + packet, Some(found.down)),
        ("up", radio.up.0 + packet, Some(found.up)),
        (
            "tail power",
            stage.map_or(0.0, |stage| stage.power.0) - idle,
            found.tail,
        ),
        (
            "tail length",
            stage.map_or(0.0, |stage| stage.duration.as_secs_f64()),
            Some(found.tail_s),
        ),
        (
            "promotion power",
            radio.promotion.power.0 - idle,
            Some(found.promotion),
        ),
        (
            "promotion length",
            radio.promotion.duration.as_secs_f64(),
            Some(found.promotion_s),
        ),
        ("idle", radio.idle.0, found.idle),
        ("packet", truth.packet_j, Some(found.packet)),
        ("processor", truth.core_w, Some(found.core)),
        ("sharing factor", sharing(truth), found.sharing),
    ]
}

/// κ as defined by a profile: relative to the power above the unknown idle power, at 8 Mbit/s each.
fn sharing(truth: &Truth) -> f64 {
    let Some(second) = &truth.second else {
        return truth.sharing_factor;
    };
    let power = |radio: &RrcModel| radio.active.0 + radio.down.0 * 8e6;
    let alone = power(&truth.radio) + power(second);
    let own = if truth.can_switch_off {
        0.0
    } else {
        truth.radio.idle.0
    };
    let unknown = own + second.idle.0;
    (truth.sharing_factor * alone - unknown) / (alone - unknown)
}

/// A random radio, device and meter: a shipped radio with every value changed by up to a third.
pub(crate) fn draw(seed: u64) -> Truth {
    let mut stream = Stream::new(seed, Domain::Calibration, 200);
    let names = [
        "wifi-huang2012",
        "lte-huang2012",
        "5g-lowband-2021",
        "lte-2021",
    ];
    let name = names[stream.below(names.len() as u64) as usize];
    let mut vary = |value: f64| value * libm::exp(0.3 * (2.0 * stream.uniform() - 1.0));
    let radio = shipped(name, &mut vary);
    let other = shipped(
        if name.starts_with("wifi") {
            "lte-huang2012"
        } else {
            "wifi-huang2012"
        },
        &mut vary,
    );
    let swing = radio.active.0 + radio.down.0 * 20e6;
    let rtt = vary(0.03);
    let period = Nanos::from_secs_f64(vary(0.1));
    let mut truth = Truth {
        sharing_factor: vary(0.8).min(1.0),
        packet_j: vary(20e-6),
        core_w: vary(2.0),
        cores_per_mbps: vary(0.004),
        base_w: vary(4.0),
        can_switch_off: stream.uniform() < 0.5,
        rtt_s: [rtt, 0.03 * rtt],
        meter: MeterTruth {
            unit: Unit::Watts,
            period,
            noise_w: 0.03 * swing,
            step: 0.0,
            sees: 1.0,
        },
        drift_w_per_s: 2e-5 * swing * (2.0 * stream.uniform() - 1.0),
        walk_w: 2e-4 * swing,
        consumer: None,
        foreign: 0.002,
        signal: None,
        second: (stream.uniform() < 0.5).then_some(other),
        radio,
    };
    // Half of the meters are coarse, a third count energy. Half of the devices have another
    // consumer.
    truth.meter.step = if stream.uniform() < 0.5 {
        0.01 * swing
    } else {
        0.0
    };
    if stream.uniform() < 0.33 {
        truth.meter.unit = Unit::Joules;
        truth.meter.step *= period.as_secs_f64();
    }
    if stream.uniform() < 0.5 {
        let power_w = 0.05 * swing;
        truth.consumer = Some(Consumer {
            power_w,
            on_off_s: [2.0, 20.0],
        });
    }
    truth
}

/// A shipped radio with varied values.
fn shipped(name: &str, vary: &mut dyn FnMut(f64) -> f64) -> RrcModel {
    let energy = profile(name).expect("the names are those of shipped profiles");
    let InterfaceModel::Rrc(radio) = energy.model else {
        unreachable!("{name} is an RRC machine")
    };
    let mut changed = radio.clone();
    changed.down = JoulesPerBit(vary(radio.down.0));
    changed.up = JoulesPerBit(vary(radio.up.0));
    changed.active = Watts(vary(radio.active.0));
    changed.idle = Watts(vary(radio.idle.0.max(0.02)));
    changed.promotion.power = Watts(vary(radio.promotion.power.0));
    changed.promotion.duration = Nanos::from_secs_f64(vary(radio.promotion.duration.as_secs_f64()));
    for stage in &mut changed.tail {
        stage.power = Watts(vary(stage.power.0));
        stage.duration = Nanos::from_secs_f64(vary(stage.duration.as_secs_f64()));
    }
    changed
}

/// Calibrates `draws` random radios, starting with seed `seed`.
pub(crate) fn trial(seed: u64, draws: usize) -> Result<Trial> {
    let mut found: Vec<(&'static str, Vec<(f64, Estimate)>)> = Vec::new();
    let (mut refused, mut worst_hold_out) = (Vec::new(), 0.0f64);
    for seed in (seed..).take(draws) {
        let truth = draw(seed);
        let calibration = match calibrate(
            &mut Simulated::new(truth.clone(), seed),
            &settings(seed),
            &mut |_| {},
        ) {
            Ok(calibration) => calibration,
            Err(Stop::Error(error)) => return Err(error),
            Err(Stop::Refused(refusal)) => {
                refused.push(format!("draw {seed}: {refusal}"));
                continue;
            }
        };
        worst_hold_out = worst_hold_out.max(calibration.hold_out_error);
        for (at, (name, value, estimate)) in
            parameters(&truth, &calibration).into_iter().enumerate()
        {
            if found.len() <= at {
                found.push((name, Vec::new()));
            }
            found[at]
                .1
                .extend(estimate.map(|estimate| (value, estimate)));
        }
    }
    let parameters = found
        .into_iter()
        .map(|(parameter, all)| coverage(parameter, &all))
        .collect();
    Ok(Trial {
        draws,
        refused,
        parameters,
        worst_hold_out,
    })
}

fn coverage(parameter: &'static str, all: &[(f64, Estimate)]) -> Coverage {
    let relative = |of: &dyn Fn(&(f64, Estimate)) -> f64| {
        quantile::median(all.iter().map(|one| (of(one) / one.0).abs())).unwrap_or(0.0)
    };
    Coverage {
        parameter,
        draws: all.len(),
        covered: all
            .iter()
            .filter(|(truth, estimate)| estimate.covers(*truth))
            .count(),
        median_error: relative(&|(truth, estimate)| estimate.value - truth),
        median_margin: relative(&|(_, estimate)| estimate.margin()),
    }
}

/// Name, change of the true values, check of the reason.
type Condition = (&'static str, fn(&mut Truth), fn(&Refusal) -> bool);

/// Conditions that must be refused.
const CONDITIONS: &[Condition] = &[
    (
        "meter of something else (a processor's package)",
        |truth| truth.meter.sees = 0.0,
        |refusal| matches!(refusal, Refusal::Blind { .. }),
    ),
    (
        "meter with steps of 20 % of the swing",
        |truth| truth.meter.step = 0.2 * swing(truth),
        |refusal| matches!(refusal, Refusal::Coarse { .. } | Refusal::Slow { .. }),
    ),
    (
        "meter that shows one value",
        |truth| truth.meter.step = 1e3,
        |refusal| matches!(refusal, Refusal::Slow { period_s: None }),
    ),
    (
        "meter that changes once in 15 s",
        |truth| truth.meter.period = Nanos::from_secs(15),
        |refusal| matches!(refusal, Refusal::Slow { .. }),
    ),
    (
        "noise of ten times the swing",
        |truth| truth.meter.noise_w = 10.0 * swing(truth),
        |refusal| matches!(refusal, Refusal::Noisy { .. } | Refusal::Blind { .. }),
    ),
    (
        "idle power that drifts by half the swing in 10 s",
        |truth| truth.walk_w = 0.5 * swing(truth) / 10.0f64.sqrt(),
        // Fast drift looks like a switching consumer.
        |refusal| {
            matches!(
                refusal,
                Refusal::Drift { .. } | Refusal::SecondConsumer { .. }
            )
        },
    ),
    (
        "a second consumer as large as the radio, on and off every few seconds",
        |truth| {
            truth.consumer = Some(Consumer {
                power_w: swing(truth),
                on_off_s: [5.0, 5.0],
            })
        },
        |refusal| matches!(refusal, Refusal::SecondConsumer { .. }),
    ),
    (
        "other programs' traffic of 5 % of the own",
        |truth| truth.foreign = 0.05,
        |refusal| matches!(refusal, Refusal::ForeignTraffic { .. }),
    ),
    (
        "a radio that wakes without a delay",
        |truth| truth.radio.promotion.duration = Nanos::from_micros(100),
        |refusal| matches!(refusal, Refusal::NoPromotion { .. }),
    ),
    (
        "RTTs that scatter by the length of the promotion",
        |truth| truth.rtt_s[1] = truth.radio.promotion.duration.as_secs_f64(),
        |refusal| {
            matches!(
                refusal,
                Refusal::NoPromotion { .. } | Refusal::HoldOut { .. }
            )
        },
    ),
    (
        "a tail of two stages, as in 3G",
        |truth| {
            truth.radio = shipped("3g-aro-i997", &mut |value| value);
            truth.radio.promotion.duration = Nanos::from_millis(300);
        },
        |refusal| matches!(refusal, Refusal::HoldOut { .. } | Refusal::Tail { .. }),
    ),
];

fn swing(truth: &Truth) -> f64 {
    truth.radio.active.0 + truth.radio.down.0 * 20e6
}

/// Calibrates under each of the conditions.
pub(crate) fn refusals(seed: u64) -> Result<Vec<Refused>> {
    let try_one = |(number, (condition, change, is_right)): (u64, &Condition)| {
        let mut truth = draw(seed + number);
        truth.meter.unit = Unit::Watts;
        truth.meter.step = 0.0;
        truth.consumer = None;
        change(&mut truth);
        let mut rig = Simulated::new(truth, seed + number);
        let reason = match calibrate(&mut rig, &settings(seed), &mut |_| {}) {
            Ok(_) => None,
            Err(Stop::Refused(refusal)) => Some(refusal),
            Err(Stop::Error(error)) => return Err(error),
        };
        let right = reason.as_ref().is_some_and(is_right);
        Ok(Refused {
            condition,
            reason,
            right,
        })
    };
    (0..).zip(CONDITIONS).map(try_one).collect()
}
