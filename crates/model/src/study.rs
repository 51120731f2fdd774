//! What a study is: keys of a scenario that vary by a design, policies, engines and seeds. Read by
//! [`scenario::read_study`](crate::scenario::read_study).

use std::fmt;

use crate::policy::Policy;
use crate::units::{BitRate, Bytes, JoulesPerBit, Nanos, Probability, Watts};

/// Significant digits of a value that a design draws or divides a range into.
const DIGITS: usize = 6;

/// A study as its file says it.
#[derive(Clone, Debug, PartialEq)]
pub struct StudySpec {
    /// For reports.
    pub title: Option<String>,
    /// A shipped scenario, or a file beside the study's.
    pub scenario: String,
    /// Variant of the scenario, if one is named.
    pub variant: Option<String>,
    /// Keys that are the same at all points: dotted keys and values as TOML.
    pub set: Vec<(String, String)>,
    /// The policies; those that the scenario names if none.
    pub policies: Option<Vec<Policy>>,
    /// What runs each point.
    pub engines: Vec<StudyEngine>,
    /// Seeds of each policy at each point; as many as the scenario says if none.
    pub seeds: Option<u32>,
    /// The first of them.
    pub first_seed: u64,
    /// Which points there are.
    pub design: Design,
    /// What varies.
    pub axes: Vec<Axis>,
}

/// An engine that a study can use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StudyEngine {
    /// Every segment, ACK, queue and timer.
    Packet,
    /// The differential equations.
    Fluid,
}

impl StudyEngine {
    /// Its name.
    pub const fn word(self) -> &'static str {
        match self {
            StudyEngine::Packet => "packet",
            StudyEngine::Fluid => "fluid",
        }
    }
}

/// How points are laid into the space of the axes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Design {
    /// Every value of each axis with every value of the others; the last axis changes fastest.
    Grid,
    /// Points that are drawn.
    Drawn {
        /// How.
        how: Draw,
        /// How many.
        points: u64,
        /// Of the draw.
        seed: u64,
    },
}

/// How points are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Draw {
    /// Independent and uniform.
    Random,
    /// As many strata of equal probability on each axis as there are points, one point in each (McKay,
    /// Beckman and Conover, Technometrics 21(2), 1979).
    LatinHypercube,
    /// Sobol's sequence with the direction numbers of Joe and Kuo (SIAM J. Sci. Comput. 30(5), 2008),
    /// shifted at random.
    Sobol,
}

impl Draw {
    /// Its name.
    pub const fn word(self) -> &'static str {
        match self {
            Draw::Random => "random",
            Draw::LatinHypercube => "latin-hypercube",
            Draw::Sobol => "sobol",
        }
    }
}

impl Design {
    /// Its name.
    pub const fn word(&self) -> &'static str {
        match self {
            Design::Grid => "grid",
            Design::Drawn { how, .. } => how.word(),
        }
    }
}

/// Keys that get the same value, and the values.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// Dotted keys.
    pub keys: Vec<String>,
    /// What they take.
    pub levels: Levels,
}

/// The values of an axis.
#[derive(Clone, Debug, PartialEq)]
pub enum Levels {
    /// These.
    List(Vec<Level>),
    /// From one to another.
    Range(Range),
}

/// One value of a key.
#[derive(Clone, Debug, PartialEq)]
pub struct Level {
    /// As it stands in a scenario: TOML.
    pub toml: String,
    /// For people: without quotes.
    pub text: String,
}

/// An interval of numbers with a unit.
#[derive(Clone, Debug, PartialEq)]
pub struct Range {
    /// The lower end, in the unit.
    pub low: f64,
    /// The upper end, in the unit.
    pub high: f64,
    /// As in a scenario; empty for a bare number.
    pub unit: String,
    /// Whether equal parts of it are equal ratios.
    pub log: bool,
    /// Values of it in a grid.
    pub points: u32,
}

/// Units of which there are no parts.
const WHOLE: [&str; 6] = ["", "packet", "packets", "segments", "B", "bytes"];

impl Range {
    /// The value at `part` of the way, 0 to 1: whole where both ends are and the unit has no parts, of six
    /// significant digits elsewhere.
    pub fn at(&self, part: f64) -> Level {
        let Range { low, high, log, .. } = *self;
        let between = if log { low * libm::pow(high / low, part) } else { low + (high - low) * part };
        let value = if self.is_whole() { between.round() } else { rounded(between) };
        let number = value.clamp(low, high).to_string();
        match self.unit.as_str() {
            "" => Level { toml: number.clone(), text: number },
            unit => {
                let text = format!("{number} {unit}");
                Level { toml: format!("\"{text}\""), text }
            }
        }
    }

    fn is_whole(&self) -> bool {
        WHOLE.contains(&self.unit.as_str()) && self.low.fract() == 0.0 && self.high.fract() == 0.0
    }
}

/// To [`DIGITS`] significant digits.
fn rounded(value: f64) -> f64 {
    format!("{value:.*e}", DIGITS - 1).parse().expect("a printed number is a number")
}

impl Levels {
    /// How many values a grid takes of it.
    pub fn count(&self) -> u64 {
        match self {
            Levels::List(list) => list.len() as u64,
            Levels::Range(range) => u64::from(range.points),
        }
    }

    /// The value of that index in a grid.
    ///
    /// # Panics
    /// If there are not so many.
    pub fn of_grid(&self, index: u64) -> Level {
        match self {
            Levels::List(list) => list[index as usize].clone(),
            Levels::Range(range) => range.at(index as f64 / f64::from(range.points - 1)),
        }
    }

    /// The value at `part` of the way, 0 to 1: all values of a list have equal parts of it.
    pub fn at(&self, part: f64) -> Level {
        match self {
            Levels::List(list) => {
                let index = (part * list.len() as f64) as usize;
                list[index.min(list.len() - 1)].clone()
            }
            Levels::Range(range) => range.at(part),
        }
    }

    /// What all values are, if that is one quantity; none if they are texts for a table.
    pub fn quantity(&self) -> Option<Quantity> {
        let of = |level: &Level| level.measured().map(|(quantity, _)| quantity);
        let ends = |range: &Range| [range.at(0.0), range.at(1.0)];
        let all: Vec<Option<Quantity>> = match self {
            Levels::List(list) => list.iter().map(of).collect(),
            Levels::Range(range) => ends(range).iter().map(of).collect(),
        };
        let first = *all.first()?;
        if all.iter().all(|quantity| *quantity == first) { first } else { None }
    }
}

impl Level {
    /// What it is, and the number in the quantity's base unit; none if it is a text.
    pub fn measured(&self) -> Option<(Quantity, f64)> {
        let text = self.text.as_str();
        if let Ok(number) = text.replace('_', "").parse::<f64>() {
            return number.is_finite().then_some((Quantity::Number, number));
        }
        if let Some(number) = text.strip_suffix("packets").or_else(|| text.strip_suffix("packet")) {
            return number.trim().parse().ok().map(|number| (Quantity::Packets, number));
        }
        let probability = || Some((Quantity::Probability, text.parse::<Probability>().ok()?.get()));
        let time = || Some((Quantity::Time, text.parse::<Nanos>().ok()?.as_secs_f64()));
        let rate = || Some((Quantity::Rate, text.parse::<BitRate>().ok()?.bps() as f64));
        let size = || Some((Quantity::Size, text.parse::<Bytes>().ok()?.0 as f64));
        let power = || Some((Quantity::Power, text.parse::<Watts>().ok()?.0));
        let per_bit = || Some((Quantity::PerBit, text.parse::<JoulesPerBit>().ok()?.0));
        probability().or_else(time).or_else(rate).or_else(size).or_else(power).or_else(per_bit)
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// What a key measures, for the columns of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// A bare number.
    Number,
    /// 0 to 1.
    Probability,
    /// s.
    Time,
    /// bit/s.
    Rate,
    /// Bytes.
    Size,
    /// Packets.
    Packets,
    /// W; also mW for each Mbit/s where they are written without "per".
    Power,
    /// J/bit.
    PerBit,
}

impl Quantity {
    /// What a column's name ends in.
    pub const fn suffix(self) -> &'static str {
        match self {
            Quantity::Number | Quantity::Probability => "",
            Quantity::Time => "_s",
            Quantity::Rate => "_bps",
            Quantity::Size => "_bytes",
            Quantity::Packets => "_packets",
            Quantity::Power => "_w",
            Quantity::PerBit => "_j_per_bit",
        }
    }
}

impl Axis {
    /// The names of its columns, one for each key: the key with underscores, and the base unit.
    /// `path.wifi.delay` in ms is `path_wifi_delay_s`.
    pub fn columns(&self) -> Vec<String> {
        let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
        let suffix = self.levels.quantity().map_or("", Quantity::suffix);
        let name = |key: &String| key.replace('"', "").chars().map(plain).collect::<String>() + suffix;
        self.keys.iter().map(name).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(low: f64, high: f64, unit: &str, log: bool) -> Range {
        Range { low, high, unit: unit.to_owned(), log, points: 3 }
    }

    /// √(0.1 · 10) = 1; the middle of 10 and 100 in ratios is 31.6, of which packets have no part.
    #[test]
    fn a_value_of_a_range_is_rounded_and_whole_where_it_has_to_be() {
        assert_eq!(range(0.1, 10.0, "%", true).at(0.5).toml, "\"1 %\"");
        assert_eq!(range(10.0, 100.0, "packets", true).at(0.5).text, "32 packets");
        assert_eq!(range(1.0, 2.0, "s", false).at(1.0 / 3.0).text, "1.33333 s");
        assert_eq!(range(1.0, 4.0, "", false).at(0.5).toml, "3", "2.5 is no count");
        assert_eq!(range(0.5, 1.5, "", false).at(0.25).toml, "0.75");
    }

    #[test]
    fn a_list_gives_each_of_its_values_an_equal_part() {
        let level = |text: &str| Level { toml: format!("\"{text}\""), text: text.to_owned() };
        let list = Levels::List(vec![level("a"), level("b"), level("c")]);
        let at = |part: f64| list.at(part).text;
        assert_eq!([at(0.0), at(0.33), at(0.34), at(0.99), at(1.0)], ["a", "a", "b", "c", "c"]);
        assert_eq!((list.count(), list.quantity()), (3, None));
    }

    #[test]
    fn a_column_is_named_after_its_key_and_the_base_unit() {
        let column = |key: &str, low: &str, high: &str| {
            let level = |text: &str| Level { toml: String::new(), text: text.to_owned() };
            let levels = Levels::List(vec![level(low), level(high)]);
            let first = levels.at(0.0).measured();
            let [column] = &Axis { keys: vec![key.to_owned()], levels }.columns()[..] else {
                panic!("one key has one column")
            };
            (column.clone(), first.map(|(_, number)| number))
        };
        assert_eq!(column("path.wifi.loss", "1 %", "2 %"), ("path_wifi_loss".into(), Some(0.01)));
        assert_eq!(column("path.wifi.delay", "10 ms", "2 s"), ("path_wifi_delay_s".into(), Some(0.01)));
        assert_eq!(column("path.lte-2.rate", "1 Mbit/s", "2 bps"), ("path_lte_2_rate_bps".into(), Some(1e6)));
        assert_eq!(column("workload.size", "1 kB", "1 MB"), ("workload_size_bytes".into(), Some(1000.0)));
        assert_eq!(column("path.a.queue", "9 packets", "10 packets").0, "path_a_queue_packets");
        // A queue in packets and in bytes is no one quantity: its column holds texts.
        assert_eq!(column("path.a.queue", "9 packets", "10 kB").0, "path_a_queue");
    }
}
