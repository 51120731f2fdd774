//! Reasons not to write a profile.

use std::fmt;

use joulepath_model::scenario::{BORNE_DB, WORST_ERROR};
use joulepath_model::units::Nanos;

use crate::error::Error;

/// Why a calibration ends without a profile.
#[derive(Clone, Debug, PartialEq)]
pub enum Stop {
    /// The profile would be wrong.
    Refused(Refusal),
    /// The rig or the meter failed.
    Error(Error),
}

/// Why a value is undetermined. Powers in W, times in s, fractions of 1.
#[derive(Clone, Debug, PartialEq)]
pub enum Refusal {
    /// The meter changes too rarely, or never.
    Slow {
        /// Time between two changes, if there were enough.
        period_s: Option<f64>,
    },
    /// The meter's step is too large.
    Coarse {
        /// Step of the meter.
        step_w: f64,
        /// Power between idle and the highest rate.
        swing_w: f64,
    },
    /// The meter does not see the radio.
    Blind {
        /// Estimated power between idle and the highest rate.
        swing_w: f64,
        /// Half of its interval.
        margin_w: f64,
    },
    /// The noise is too large.
    Noisy {
        /// Half of the interval relative to the value.
        margin: f64,
        /// The value concerned.
        what: &'static str,
    },
    /// The idle power drifts.
    Drift {
        /// Scatter of idle blocks around a straight line.
        scatter_w: f64,
        /// Power between idle and the highest rate.
        swing_w: f64,
    },
    /// Another consumer switches on and off.
    SecondConsumer {
        /// Fraction of the idle blocks with a step.
        share: f64,
        /// Power between idle and the highest rate.
        swing_w: f64,
    },
    /// Other programs use the interface.
    ForeignTraffic {
        /// Their bytes divided by ours.
        share: f64,
    },
    /// Too few probes are answered.
    NoEchoes {
        /// Probes sent.
        sent: usize,
        /// Probes answered.
        answered: usize,
    },
    /// No quiet time delays a probe.
    NoPromotion {
        /// The longest quiet time tried.
        longest: Nanos,
        /// Standard deviation of the RTT.
        scatter_s: f64,
    },
    /// The power is not constant between the last packet and sleep.
    Tail {
        /// Difference between two parts of the tail, W.
        step_w: f64,
    },
    /// The measurements do not determine the model, for example because rates were not reached.
    Undetermined,
    /// The signal changed by more than the model bears.
    Signal {
        /// Weakest and strongest signal, dBm.
        ends_dbm: [f64; 2],
    },
    /// The model does not predict the energy of a mixed load.
    HoldOut {
        /// Relative error.
        error: f64,
    },
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = |share: f64| format!("{:.0} %", 100.0 * share);
        match self {
            Refusal::Slow { period_s: None } => {
                write!(f, "the meter changed less than four times in 20 s")
            }
            Refusal::Slow {
                period_s: Some(period),
            } => {
                write!(
                    f,
                    "the meter changes once in {period:.1} s, which is too slow"
                )
            }
            Refusal::Coarse { step_w, swing_w } => write!(
                f,
                "the meter's step of {step_w:.3} W is {} of the {swing_w:.3} W that it should resolve",
                percent(step_w / swing_w)
            ),
            Refusal::Blind { swing_w, margin_w } => write!(
                f,
                "the meter does not see this radio: {swing_w:.3} ± {margin_w:.3} W between idle and full rate"
            ),
            Refusal::Noisy { margin, what } => {
                write!(
                    f,
                    "the meter is too noisy: {what} is known only to ± {}",
                    percent(*margin)
                )
            }
            Refusal::Drift { scatter_w, swing_w } => write!(
                f,
                "the idle power drifts by {scatter_w:.3} W, {} of what the radio adds",
                percent(scatter_w / swing_w)
            ),
            Refusal::SecondConsumer { share, swing_w } => write!(
                f,
                "another consumer switches on and off: {} of the idle blocks have steps; the radio adds \
                 {swing_w:.3} W",
                percent(*share)
            ),
            Refusal::ForeignTraffic { share } => {
                write!(
                    f,
                    "other programs use the interface: their bytes are {:.1} % of ours",
                    100.0 * share
                )
            }
            Refusal::NoEchoes { sent, answered } => {
                write!(f, "{answered} of {sent} probes were answered")
            }
            Refusal::NoPromotion { longest, scatter_s } => write!(
                f,
                "the tail cannot be measured: no quiet time up to {longest} delays a probe; RTTs scatter by \
                 {:.1} ms",
                scatter_s * 1e3
            ),
            Refusal::Tail { step_w } => {
                write!(
                    f,
                    "the tail has stages: its power falls by {step_w:.3} W before the radio sleeps"
                )
            }
            Refusal::Undetermined => write!(f, "the measurements do not determine the model"),
            Refusal::Signal {
                ends_dbm: [low, high],
            } => write!(
                f,
                "the signal changed from {low:.0} to {high:.0} dBm: more than {BORNE_DB:.1} dB may change \
                 the power by over {}",
                percent(WORST_ERROR)
            ),
            Refusal::HoldOut { error } => {
                write!(
                    f,
                    "the model misses the energy of a mixed load outside the fit by {}",
                    percent(*error)
                )
            }
        }
    }
}

impl Refusal {
    /// What the user can do about it.
    pub fn help(&self) -> &'static str {
        match self {
            Refusal::Slow { .. } => {
                "use a meter that changes at least once in 10 s; `joulepath meter` lists them"
            }
            Refusal::Coarse { .. } => "use a finer meter, or higher rates (--down, --up)",
            Refusal::Blind { .. } => "use a meter of the whole device or of the radio's rail",
            Refusal::Noisy { .. } => "let it run longer (--minutes), and stop other programs",
            Refusal::Drift { .. } => {
                "let the device warm up, fix screen brightness and processor frequency, then try again"
            }
            Refusal::SecondConsumer { .. } => {
                "stop other programs and timers, switch the screen off, then try again"
            }
            Refusal::ForeignTraffic { .. } => {
                "stop programs that use the interface, then try again"
            }
            Refusal::NoEchoes { .. } => {
                "is `joulepath calibrate --serve` running at the far end, and reachable?"
            }
            Refusal::NoPromotion { .. } => {
                "a radio that wakes at once cannot be calibrated; stop power saving or other traffic"
            }
            Refusal::Tail { .. } => {
                "only tails with one stage can be calibrated; write the stages by hand"
            }
            Refusal::Undetermined => "the rates of --down and --up may not be reached: lower them",
            Refusal::Signal { .. } => {
                "leave the device where it is, away from people who pass, then try again"
            }
            Refusal::HoldOut { .. } => {
                "the radio does not follow the model, or conditions changed; try again"
            }
        }
    }
}

impl From<Refusal> for Stop {
    fn from(refusal: Refusal) -> Self {
        Stop::Refused(refusal)
    }
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Stop::Error(error)
    }
}
