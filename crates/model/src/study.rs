//! A study: scenario keys varied by a design, with policies, engines and seeds.
//! [`scenario::read_study`](crate::scenario::read_study) reads it.

use std::fmt;

use crate::metric::Quantity;
use crate::policy::Policy;
use crate::units::{BitRate, Bytes, JoulesPerBit, Nanos, Probability, Watts, rounded};

/// Significant digits of a value from a range.
const DIGITS: usize = 6;

/// A study, as in its file.
#[derive(Clone, Debug, PartialEq)]
pub struct StudySpec {
    /// Title for reports.
    pub title: Option<String>,
    /// A shipped scenario, or a file in the folder of the study.
    pub scenario: String,
    /// Variant of the scenario.
    pub variant: Option<String>,
    /// Keys with the same value at all points: dotted keys and TOML values.
    pub set: Vec<(String, String)>,
    /// Policies; none: those of the scenario.
    pub policies: Option<Vec<Policy>>,
    /// Engines that run each point.
    pub engines: Vec<StudyEngine>,
    /// Seeds of each policy at each point; none: as many as in the scenario.
    pub seeds: Option<u32>,
    /// The first seed.
    pub first_seed: u64,
    /// Design: which points there are.
    pub design: Design,
    /// The keys that vary.
    pub axes: Vec<Axis>,
}

/// An engine that a study can use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StudyEngine {
    /// The packet engine: every segment, ACK, queue and timer.
    Packet,
    /// The fluid engine: differential equations.
    Fluid,
}

impl StudyEngine {
    /// Name in the file of a study.
    pub const fn word(self) -> &'static str {
        match self {
            StudyEngine::Packet => "packet",
            StudyEngine::Fluid => "fluid",
        }
    }
}

/// How points are chosen in the space of the axes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Design {
    /// Every value of each axis with every value of the others; the last axis changes fastest.
    Grid,
    /// Random or quasi-random points.
    Drawn {
        /// Sampling method.
        how: Draw,
        /// Number of points.
        points: u64,
        /// Seed of the points.
        seed: u64,
    },
}

/// Sampling method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Draw {
    /// Independent and uniform.
    Random,
    /// Each axis is divided into as many strata of equal probability as there are points, with one
    /// point in each stratum (McKay, Beckman and Conover, Technometrics 21(2), 1979).
    LatinHypercube,
    /// Sobol's sequence with the direction numbers of Joe and Kuo (SIAM J. Sci. Comput. 30(5),
    /// 2008) and a random shift.
    Sobol,
}

impl Draw {
    /// Name in the file of a study.
    pub const fn word(self) -> &'static str {
        match self {
            Draw::Random => "random",
            Draw::LatinHypercube => "latin-hypercube",
            Draw::Sobol => "sobol",
        }
    }
}

impl Design {
    /// Name in the file of a study.
    pub const fn word(&self) -> &'static str {
        match self {
            Design::Grid => "grid",
            Design::Drawn { how, .. } => how.word(),
        }
    }
}

/// Keys that get the same value, and their values.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// Dotted keys.
    pub keys: Vec<String>,
    /// The values of the keys.
    pub levels: Levels,
}

/// The values of an axis.
#[derive(Clone, Debug, PartialEq)]
pub enum Levels {
    /// The values themselves.
    List(Vec<Level>),
    /// An interval of values.
    Range(Range),
}

/// One value of a key.
#[derive(Clone, Debug, PartialEq)]
pub struct Level {
    /// The value as TOML in a scenario.
    pub toml: String,
    /// The value for readers: without quotes.
    pub text: String,
}

/// An interval of numbers with a unit.
#[derive(Clone, Debug, PartialEq)]
pub struct Range {
    /// The lower end, in the unit.
    pub low: f64,
    /// The upper end, in the unit.
    pub high: f64,
    /// Unit, as in a scenario; empty for a bare number.
    pub unit: String,
    /// True if equal parts of the range are equal ratios.
    pub log: bool,
    /// Number of values in a grid.
    pub points: u32,
}

/// Units that are not divisible.
const WHOLE: [&str; 6] = ["", "packet", "packets", "segments", "B", "bytes"];

impl Range {
    /// The value at fraction `part` of the range, 0 to 1. It is an integer if both ends are and the
    /// unit is not divisible; otherwise it has six significant digits.
    pub fn at(&self, part: f64) -> Level {
        let Range { low, high, log, .. } = *self;
        let between = if log {
            low * libm::pow(high / low, part)
        } else {
            low + (high - low) * part
        };
        let value = if self.is_whole() {
            between.round()
        } else {
            rounded(between, DIGITS)
        };
        let number = value.clamp(low, high).to_string();
        match self.unit.as_str() {
            "" => Level {
                toml: number.clone(),
                text: number,
            },
            unit => {
                let text = format!("{number} {unit}");
                Level {
                    toml: format!("\"{text}\""),
                    text,
                }
            }
        }
    }

    fn is_whole(&self) -> bool {
        WHOLE.contains(&self.unit.as_str()) && self.low.fract() == 0.0 && self.high.fract() == 0.0
    }
}

impl Levels {
    /// Number of values in a grid.
    pub fn count(&self) -> u64 {
        match self {
            Levels::List(list) => list.len() as u64,
            Levels::Range(range) => u64::from(range.points),
        }
    }

    /// Value number `index` of a grid.
    ///
    /// # Panics
    /// If `index` is too large.
    pub fn of_grid(&self, index: u64) -> Level {
        match self {
            Levels::List(list) => list[index as usize].clone(),
            Levels::Range(range) => range.at(index as f64 / f64::from(range.points - 1)),
        }
    }

    /// The value at fraction `part`, 0 to 1. Each value of a list has an equal share of that
    /// interval.
    pub fn at(&self, part: f64) -> Level {
        match self {
            Levels::List(list) => {
                let index = (part * list.len() as f64) as usize;
                list[index.min(list.len() - 1)].clone()
            }
            Levels::Range(range) => range.at(part),
        }
    }

    /// The quantity that all values have in common; none if there is none or they are not numbers.
    pub fn quantity(&self) -> Option<Quantity> {
        let of = |level: &Level| level.measured().map(|(quantity, _)| quantity);
        let ends = |range: &Range| [range.at(0.0), range.at(1.0)];
        let all: Vec<Option<Quantity>> = match self {
            Levels::List(list) => list.iter().map(of).collect(),
            Levels::Range(range) => ends(range).iter().map(of).collect(),
        };
        let first = *all.first()?;
        if all.iter().all(|quantity| *quantity == first) {
            first
        } else {
            None
        }
    }
}

impl Level {
    /// The quantity, and the number in its base unit; none for a text.
    pub fn measured(&self) -> Option<(Quantity, f64)> {
        let text = self.text.as_str();
        if let Ok(number) = text.replace('_', "").parse::<f64>() {
            return number.is_finite().then_some((Quantity::Plain, number));
        }
        if let Some(number) = text
            .strip_suffix("packets")
            .or_else(|| text.strip_suffix("packet"))
        {
            return number
                .trim()
                .parse()
                .ok()
                .map(|number| (Quantity::Packets, number));
        }
        let probability = || Some((Quantity::Share, text.parse::<Probability>().ok()?.get()));
        let time = || Some((Quantity::Time, text.parse::<Nanos>().ok()?.as_secs_f64()));
        let rate = || Some((Quantity::Rate, text.parse::<BitRate>().ok()?.bps() as f64));
        let size = || Some((Quantity::Size, text.parse::<Bytes>().ok()?.0 as f64));
        let power = || Some((Quantity::Power, text.parse::<Watts>().ok()?.0));
        let per_bit = || Some((Quantity::EnergyPerBit, text.parse::<JoulesPerBit>().ok()?.0));
        probability()
            .or_else(time)
            .or_else(rate)
            .or_else(size)
            .or_else(power)
            .or_else(per_bit)
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Axis {
    /// Names of the columns, one per key: the key with underscores, and the base unit.
    /// `path.wifi.delay` in ms becomes `path_wifi_delay_s`.
    pub fn columns(&self) -> Vec<String> {
        let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
        let suffix = self.levels.quantity().map_or("", Quantity::suffix);
        let name =
            |key: &String| key.replace('"', "").chars().map(plain).collect::<String>() + suffix;
        self.keys.iter().map(name).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(low: f64, high: f64, unit: &str, log: bool) -> Range {
        Range {
            low,
            high,
            unit: unit.to_owned(),
            log,
            points: 3,
        }
    }

    /// √(0.1 · 10) = 1. The geometric middle of 10 and 100 is 31.6, which is rounded for packets.
    #[test]
    fn range_values_are_rounded_and_integers_where_required() {
        assert_eq!(range(0.1, 10.0, "%", true).at(0.5).toml, "\"1 %\"");
        assert_eq!(
            range(10.0, 100.0, "packets", true).at(0.5).text,
            "32 packets"
        );
        assert_eq!(range(1.0, 2.0, "s", false).at(1.0 / 3.0).text, "1.33333 s");
        assert_eq!(
            range(1.0, 4.0, "", false).at(0.5).toml,
            "3",
            "2.5 is no count"
        );
        assert_eq!(range(0.5, 1.5, "", false).at(0.25).toml, "0.75");
    }

    #[test]
    fn each_value_of_a_list_has_an_equal_share() {
        let level = |text: &str| Level {
            toml: format!("\"{text}\""),
            text: text.to_owned(),
        };
        let list = Levels::List(vec![level("a"), level("b"), level("c")]);
        let at = |part: f64| list.at(part).text;
        assert_eq!(
            [at(0.0), at(0.33), at(0.34), at(0.99), at(1.0)],
            ["a", "a", "b", "c", "c"]
        );
        assert_eq!((list.count(), list.quantity()), (3, None));
    }

    #[test]
    fn a_column_is_named_after_its_key_and_the_base_unit() {
        let column = |key: &str, low: &str, high: &str| {
            let level = |text: &str| Level {
                toml: String::new(),
                text: text.to_owned(),
            };
            let levels = Levels::List(vec![level(low), level(high)]);
            let first = levels.at(0.0).measured();
            let [column] = &Axis {
                keys: vec![key.to_owned()],
                levels,
            }
            .columns()[..] else {
                panic!("one key has one column")
            };
            (column.clone(), first.map(|(_, number)| number))
        };
        assert_eq!(
            column("path.wifi.loss", "1 %", "2 %"),
            ("path_wifi_loss".into(), Some(0.01))
        );
        assert_eq!(
            column("path.wifi.delay", "10 ms", "2 s"),
            ("path_wifi_delay_s".into(), Some(0.01))
        );
        assert_eq!(
            column("path.lte-2.rate", "1 Mbit/s", "2 bps"),
            ("path_lte_2_rate_bps".into(), Some(1e6))
        );
        assert_eq!(
            column("workload.size", "1 kB", "1 MB"),
            ("workload_size_bytes".into(), Some(1000.0))
        );
        assert_eq!(
            column("path.a.queue", "9 packets", "10 packets").0,
            "path_a_queue_packets"
        );
        // A queue in packets and in bytes has no common quantity: its column holds text.
        assert_eq!(
            column("path.a.queue", "9 packets", "10 kB").0,
            "path_a_queue"
        );
    }
}
