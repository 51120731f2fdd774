//! Actions of an agent: the meaning of the numbers from −1 to 1.

use std::str::FromStr;

use joulepath_controllers::Command;
use joulepath_model::names::suggest;
use joulepath_packet::Session;

use crate::error::{Error, Result};

/// Quantity that the agent sets on each path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Steers {
    /// The pacing rate.
    Rates,
    /// The congestion window.
    Windows,
    /// Whether the path carries data: yes above 0.
    Paths,
    /// Nothing: the policy runs unchanged, to measure its score.
    Nothing,
}

/// Conversion of a number from −1 to 1 to a rate or a window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Meaning {
    /// The current value times 2^a: −1 halves, 0 keeps, 1 doubles.
    #[default]
    Relative,
    /// A value between minimum and maximum, on a logarithmic scale.
    Absolute,
}

/// Rates from 64 kbit/s to 1 Gbit/s, initially 1 Mbit/s, about ten packets in an RTT of 0.1 s.
const RATES: Bounds = Bounds {
    least: 64e3,
    most: 1e9,
    first: 1e6,
};
/// Windows from 1 to 16384 packets, initially 10 (RFC 6928).
const WINDOWS: Bounds = Bounds {
    least: 1.0,
    most: 16_384.0,
    first: 10.0,
};

struct Bounds {
    least: f64,
    most: f64,
    first: f64,
}

impl Bounds {
    fn after(&self, now: f64, action: f64, meaning: Meaning) -> f64 {
        let wanted = match meaning {
            Meaning::Relative => now * libm::exp2(action),
            Meaning::Absolute => {
                self.least * libm::pow(self.most / self.least, (action + 1.0) / 2.0)
            }
        };
        wanted.clamp(self.least, self.most)
    }
}

impl FromStr for Steers {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "rates" => Ok(Steers::Rates),
            "windows" => Ok(Steers::Windows),
            "paths" => Ok(Steers::Paths),
            "nothing" => Ok(Steers::Nothing),
            _ => Err(Error::usage(format!("an agent cannot steer `{text}`"))
                .with_help(suggest(text, &["rates", "windows", "paths", "nothing"]))),
        }
    }
}

impl FromStr for Meaning {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "relative" => Ok(Meaning::Relative),
            "absolute" => Ok(Meaning::Absolute),
            _ => Err(Error::usage(format!("actions are not `{text}`"))
                .with_help("write `relative` (times 2^a) or `absolute` (from least to most)")),
        }
    }
}

/// Latest values of an episode's paths: rates in bit/s, windows in packets.
pub(super) struct Helm {
    steers: Steers,
    meaning: Meaning,
    told: Vec<f64>,
    used: Vec<bool>,
}

impl Helm {
    /// Initial values.
    pub(super) fn new(steers: Steers, meaning: Meaning, paths: usize) -> Self {
        let first = if steers == Steers::Rates {
            RATES.first
        } else {
            WINDOWS.first
        };
        Helm {
            steers,
            meaning,
            told: vec![first; paths],
            used: vec![true; paths],
        }
    }

    /// Applies an action to `session`. Ignores numbers for paths that do not exist.
    ///
    /// # Errors
    /// The mistake and the next step, if a number is outside −1 to 1 or is NaN.
    pub(super) fn steer(
        &mut self,
        session: &mut Session,
        action: &[f32],
    ) -> Result<(), (String, &'static str)> {
        if let Some((path, wrong)) = action
            .iter()
            .enumerate()
            .find(|(_, a)| !(-1.0..=1.0).contains(*a))
        {
            let what = format!("the action of path {path} is {wrong}, not within −1 to 1");
            return Err((what, "clip actions before `step`"));
        }
        let (steers, meaning) = (self.steers, self.meaning);
        let told = self
            .told
            .iter_mut()
            .zip(action.iter().map(|&a| f64::from(a)))
            .enumerate();
        match steers {
            Steers::Nothing => {}
            Steers::Rates => told.for_each(|(path, (bps, action))| {
                *bps = RATES.after(*bps, action, meaning);
                session.steer(path, Command::Rate((*bps / 8.0) as u64));
            }),
            Steers::Windows => told.for_each(|(path, (packets, action))| {
                *packets = WINDOWS.after(*packets, action, meaning);
                session.steer(path, Command::Window(packets.round() as u32));
            }),
            Steers::Paths => {
                let paths = self.used.len();
                let action = &action[..paths];
                self.used
                    .iter_mut()
                    .zip(action)
                    .for_each(|(used, &action)| *used = action > 0.0);
                if !self.used.contains(&true) {
                    // A connection needs a path: use the path with the largest number, the first of
                    // equals.
                    let most = (1..paths)
                        .fold(0, |best, i| if action[i] > action[best] { i } else { best });
                    self.used[most] = true;
                }
                session.use_paths(&self.used);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From 1 Mbit/s up by 2^0.5 and down by half; 64 kbit/s is the minimum.
    #[test]
    fn relative_actions_multiply_and_absolute_actions_set() {
        let near = |a: f64, b: f64| assert!((a / b - 1.0).abs() < 1e-12, "{a} {b}");
        near(
            RATES.after(1e6, 0.5, Meaning::Relative),
            1e6 * std::f64::consts::SQRT_2,
        );
        near(RATES.after(100e3, -1.0, Meaning::Relative), 64e3);
        near(RATES.after(1e6, 0.0, Meaning::Absolute), 8e6); // the geometric mean of 64e3 and 1e9
        near(WINDOWS.after(10.0, 1.0, Meaning::Absolute), 16_384.0);
        near(WINDOWS.after(10.0, -1.0, Meaning::Absolute), 1.0);
        near(WINDOWS.after(10.0, 1.0, Meaning::Relative), 20.0);
    }

    #[test]
    fn unknown_words_are_refused() {
        assert!(
            "rate"
                .parse::<Steers>()
                .unwrap_err()
                .help()
                .unwrap()
                .contains("rates")
        );
        assert!("log".parse::<Meaning>().is_err());
        assert_eq!("absolute".parse::<Meaning>().unwrap(), Meaning::Absolute);
    }
}
