//! Judges an energy profile that somebody sends: can others use it, and can its numbers be those of
//! a radio?

use serde::Serialize;

use super::beside::CalibratedProfile;
use crate::energy::InterfaceModel;
use crate::units::{Dbm, Nanos};

/// Largest accepted error of a profile for loads that were not fitted, relative.
pub const WORST_ERROR: f64 = 0.15;
/// Change of the active power per dB of the steepest radio of `results/radios`, relative: a line
/// through all samples of 5G mmWave has 61.3 mW/dB at 2806 mW.
const STEEPEST_PER_DB: f64 = 61.3 / 2806.0;
/// Signals of one calibration may differ by this, dB: more may change the power by over
/// [`WORST_ERROR`].
pub const BORNE_DB: f64 = WORST_ERROR / STEEPEST_PER_DB;

/// Plausible powers of an active radio, W: from a sleepy WiFi to mmWave at the edge of its cell.
const ACTIVE_W: [f64; 2] = [0.01, 12.0];
/// Largest plausible slope, J/bit; UMTS needs 0.87 µJ/bit for uploads (Huang et al. 2012).
const MOST_PER_BIT: f64 = 3e-6;
/// Largest plausible idle power, W, tail and promotion.
const MOST_IDLE_W: f64 = 1.0;
const LONGEST_TAIL: Nanos = Nanos::from_secs(60);
const LONGEST_PROMOTION: Nanos = Nanos::from_secs(10);

/// What a check found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// True if others cannot rely on the profile; else a remark.
    pub is_problem: bool,
    /// What is wrong.
    pub what: String,
    /// The fix.
    pub help: String,
}

#[derive(Default)]
struct Findings(Vec<Finding>);

impl Findings {
    fn add(&mut self, is_problem: bool, what: impl Into<String>, help: &str) {
        self.0.push(Finding {
            is_problem,
            what: what.into(),
            help: help.into(),
        });
    }

    fn problem(&mut self, what: impl Into<String>, help: &str) {
        self.add(true, what, help);
    }
}

/// What speaks against a profile, problems first.
pub fn judge(profile: &CalibratedProfile) -> Vec<Finding> {
    let mut findings = Findings::default();
    provenance(profile, &mut findings);
    domain(profile.signal, &mut findings);
    error(profile, &mut findings);
    powers(&profile.model, &mut findings);
    intervals(profile, &mut findings);
    findings.0.sort_by_key(|finding| !finding.is_problem);
    findings.0
}

fn provenance(profile: &CalibratedProfile, out: &mut Findings) {
    for (key, value, is_problem) in [
        ("meter", &Some(profile.meter.clone()), true),
        ("device", &profile.device, true),
        ("radio", &profile.radio, true),
        ("firmware", &profile.firmware, false),
    ] {
        if value.as_ref().is_none_or(|text| text.trim().is_empty()) {
            let help = "write it into the file, or calibrate with --device, --radio and --firmware";
            out.add(is_problem, format!("`{key}` is missing"), help);
        }
    }
    if !is_date(&profile.date) {
        out.problem(
            format!("`{}` is not a date", profile.date),
            "write for example date = \"2026-11-23\"",
        );
    }
}

fn is_date(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    let [year, month, day] = parts[..] else {
        return false;
    };
    let number = |text: &str, digits: usize| {
        text.parse::<u32>()
            .ok()
            .filter(|_| text.len() == digits && text.bytes().all(|b| b.is_ascii_digit()))
    };
    let within = |number: Option<u32>, least: u32, most: u32| {
        number.is_some_and(|n| (least..=most).contains(&n))
    };
    within(number(year, 4), 2000, 9999)
        && within(number(month, 2), 1, 12)
        && within(number(day, 2), 1, 31)
}

fn domain(signal: Option<[Dbm; 2]>, out: &mut Findings) {
    let Some([low, high]) = signal else {
        let help = "calibrate with --signal, or write signal = [\"-62 dBm\", \"-58 dBm\"]";
        return out.problem(
            "`signal` is missing: nobody knows where the numbers hold",
            help,
        );
    };
    let width = high.0 - low.0;
    if width < 0.0 {
        out.problem(
            "`signal` has its stronger end first",
            "write the weaker signal first",
        );
    } else if width > BORNE_DB {
        let what = format!(
            "the signals differ by {width:.1} dB, more than {BORNE_DB:.1} dB: one model cannot hold"
        );
        out.problem(what, "calibrate at a steady signal");
    }
}

fn error(profile: &CalibratedProfile, out: &mut Findings) {
    let noted = profile
        .notes
        .iter()
        .find(|(key, _)| key == "hold_out_error");
    let percent =
        noted.and_then(|(_, text)| text.trim().strip_suffix('%')?.trim().parse::<f64>().ok());
    match percent.filter(|percent| percent.is_finite() && *percent >= 0.0) {
        None => out.problem(
            "the error for loads that were not fitted is missing",
            "calibrate again, or write hold_out_error = \"5 %\" under [noted]",
        ),
        Some(percent) if percent > 100.0 * WORST_ERROR => out.problem(
            format!(
                "its error is {percent} %, more than {:.0} %",
                100.0 * WORST_ERROR
            ),
            "calibrate again, longer or with a better meter",
        ),
        Some(_) => {}
    }
}

fn powers(model: &InterfaceModel, out: &mut Findings) {
    use crate::energy::Traffic;
    let help = "compare the numbers with those of `joulepath list energy`; are the units right?";
    for (name, traffic) in [("per_mbps", Traffic::Down), ("up_per_mbps", Traffic::Up)] {
        let slope = model.slope(traffic).0;
        if slope > MOST_PER_BIT {
            let what = format!(
                "`{name}` of {:.0} mW/Mbps is not that of a radio",
                slope * 1e9
            );
            out.problem(what, help);
        }
    }
    let InterfaceModel::Rrc(rrc) = model else {
        return out.add(
            false,
            "the model is no radio's state machine: it has no tail",
            "calibrate it",
        );
    };
    let active = rrc.active.0;
    if !(ACTIVE_W[0]..=ACTIVE_W[1]).contains(&active) {
        out.problem(
            format!("an active power of {active:.3} W is not that of a radio"),
            help,
        );
    }
    if rrc.idle.0 > MOST_IDLE_W || rrc.idle.0 > active {
        let what = format!(
            "the idle power of {:.3} W is above the active power or 1 W",
            rrc.idle.0
        );
        out.problem(what, help);
    }
    let mut before = ("transferring".to_owned(), active);
    for (number, stage) in (1..).zip(&rrc.tail) {
        if stage.power.0 > before.1 {
            out.problem(
                format!("stage {number} of the tail draws more than {}", before.0),
                help,
            );
        }
        if stage.power.0 < rrc.idle.0 {
            out.problem(
                format!("stage {number} of the tail draws less than the idle radio"),
                help,
            );
        }
        before = (format!("stage {number}"), stage.power.0);
    }
    let tail = rrc
        .tail
        .iter()
        .fold(Nanos::ZERO, |sum, stage| sum.saturating_add(stage.duration));
    if tail > LONGEST_TAIL {
        out.problem(format!("a tail of {tail} is not that of a radio"), help);
    }
    if rrc.promotion.duration > LONGEST_PROMOTION {
        out.problem(
            format!(
                "a promotion of {} is not that of a radio",
                rrc.promotion.duration
            ),
            help,
        );
    }
}

/// Each interval ascends.
fn intervals(profile: &CalibratedProfile, out: &mut Findings) {
    if profile.intervals.is_empty() {
        out.problem(
            "[interval] is empty: nobody knows how sure the numbers are",
            "calibrate again",
        );
    }
    for (key, [low, high]) in &profile.intervals {
        let number = |text: &str| {
            text.split_whitespace()
                .next()
                .and_then(|word| word.parse::<f64>().ok())
        };
        match (number(low), number(high)) {
            (Some(low), Some(high)) if low <= high => {}
            _ => out.problem(
                format!("the interval of `{key}` does not ascend"),
                "write the lower end first, as in [\"1.2 W\", \"1.3 W\"]",
            ),
        }
    }
}
