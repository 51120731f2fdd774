//! Why there is no profile: what the meter or the radio did not let be told.

use std::fmt;

use joulepath_model::units::Nanos;

use crate::error::Error;

/// Why a calibration ends without a profile.
#[derive(Clone, Debug, PartialEq)]
pub enum Stop {
    /// It would not be true.
    Refused(Refusal),
    /// Something failed.
    Error(Error),
}

/// What could not be told. Powers in W, times in s, shares of 1.
#[derive(Clone, Debug, PartialEq)]
pub enum Refusal {
    /// The meter changes too rarely, or never.
    Slow {
        /// Time between two changes, if it changed often enough to tell.
        period_s: Option<f64>,
    },
    /// The step of the meter is too large beside what is to be seen.
    Coarse {
        /// Of the meter.
        step_w: f64,
        /// Between idle and the highest rate.
        swing_w: f64,
    },
    /// The power of the device does not depend on the radio, as far as the meter shows.
    Blind {
        /// Estimated.
        swing_w: f64,
        /// Half of its interval.
        margin_w: f64,
    },
    /// Noise hides what is to be seen.
    Noisy {
        /// Half of the interval, as a share of the value.
        margin: f64,
        /// Of what.
        what: &'static str,
    },
    /// What the device burns when idle wanders.
    Drift {
        /// Scatter between idle blocks beyond a straight line.
        scatter_w: f64,
        /// Between idle and the highest rate.
        swing_w: f64,
    },
    /// Something else switches on and off.
    SecondConsumer {
        /// Share of the idle blocks with a step in them.
        share: f64,
        /// Between idle and the highest rate.
        swing_w: f64,
    },
    /// Others use the interface.
    ForeignTraffic {
        /// Their bytes over ours.
        share: f64,
    },
    /// Probes do not come back.
    NoEchoes {
        /// So many were sent.
        sent: usize,
        /// So many came back.
        answered: usize,
    },
    /// No probe comes back later than others, after whatever quiet time.
    NoPromotion {
        /// The longest quiet time that was tried.
        longest: Nanos,
        /// Standard deviation of the RTT.
        scatter_s: f64,
    },
    /// The power after the last packet is not one power until the radio sleeps.
    Tail {
        /// Between two parts of the tail, W.
        step_w: f64,
    },
    /// The plan does not determine the model, for example since rates were not reached.
    Undetermined,
    /// The model does not say what a mixed load burns.
    HoldOut {
        /// Relative error.
        error: f64,
    },
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = |share: f64| format!("{:.0} %", 100.0 * share);
        match self {
            Refusal::Slow { period_s: None } => write!(f, "the meter changed less than four times in 20 s"),
            Refusal::Slow { period_s: Some(period) } => {
                write!(f, "the meter changes once in {period:.1} s, which is too rarely")
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
                write!(f, "the meter is too noisy: {what} is known to ± {} only", percent(*margin))
            }
            Refusal::Drift { scatter_w, swing_w } => write!(
                f,
                "the idle power wanders by {scatter_w:.3} W, {} of what the radio adds",
                percent(scatter_w / swing_w)
            ),
            Refusal::SecondConsumer { share, swing_w } => write!(
                f,
                "something else switches on and off: {} of the idle blocks have steps beside the \
                 {swing_w:.3} W that the radio adds",
                percent(*share)
            ),
            Refusal::ForeignTraffic { share } => {
                write!(f, "others use the interface: {:.1} % of our own bytes", 100.0 * share)
            }
            Refusal::NoEchoes { sent, answered } => write!(f, "{answered} of {sent} probes were answered"),
            Refusal::NoPromotion { longest, scatter_s } => write!(
                f,
                "the tail cannot be told: no probe takes longer after a quiet time of up to {longest}, at a \
                 scatter of {:.1} ms",
                scatter_s * 1e3
            ),
            Refusal::Tail { step_w } => {
                write!(f, "the tail has stages: its power falls by {step_w:.3} W before the radio sleeps")
            }
            Refusal::Undetermined => write!(f, "what was seen does not determine the model"),
            Refusal::HoldOut { error } => {
                write!(f, "a mixed load that was not used for the fit is missed by {}", percent(*error))
            }
        }
    }
}

impl Refusal {
    /// What to do about it.
    pub fn help(&self) -> &'static str {
        match self {
            Refusal::Slow { .. } => {
                "use a meter that changes at least once in 10 s; `joulepath meter` lists them"
            }
            Refusal::Coarse { .. } => "use a finer meter, or higher rates (--down, --up)",
            Refusal::Blind { .. } => "use a meter of the whole device or of the radio's rail",
            Refusal::Noisy { .. } => "let it run longer (--minutes), and stop other programs",
            Refusal::Drift { .. } => {
                "let the device warm up, fix its screen's and its processor's speed, then try again"
            }
            Refusal::SecondConsumer { .. } => "stop other programs, the screen and timers, then try again",
            Refusal::ForeignTraffic { .. } => "stop what uses the interface, then try again",
            Refusal::NoEchoes { .. } => {
                "is `joulepath calibrate --serve` running at the far end, and reachable?"
            }
            Refusal::NoPromotion { .. } => {
                "a radio that wakes at once has no profile of this kind; stop power saving or other traffic"
            }
            Refusal::Tail { .. } => "tails of one stage can be calibrated; write the stages by hand",
            Refusal::Undetermined => "are the rates of --down and --up reached? lower them",
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
