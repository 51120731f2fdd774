//! Quantities with units. A scenario has no bare numbers for quantities, and arithmetic converts no
//! units silently.

use std::borrow::Cow;
use std::fmt;
use std::ops::{Add, AddAssign, Mul, Sub};
use std::str::FromStr;

use serde::{Serialize, Serializer};

use crate::names;

/// Rounds to `digits` significant digits.
pub fn rounded(value: f64, digits: usize) -> f64 {
    format!("{value:.*e}", digits - 1)
        .parse()
        .expect("a printed number is a number")
}

/// A duration or an instant since the start of a run, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Nanos(pub u64);

/// A data rate in bit/s (decimal prefixes).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BitRate(u64);

/// A number of bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes(pub u64);

/// A probability in [0, 1].
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct Probability(f64);

/// Power in watts.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct Watts(pub f64);

/// Energy in joules.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct Joules(pub f64);

/// Marginal energy of traffic in joules per bit. 1 mW/(Mbit/s) = 1 mJ/Mbit = 1e-9 J/bit.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct JoulesPerBit(pub f64);

/// Strength of a received signal in dBm: RSRP of a cellular network, RSSI of WiFi.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Dbm(pub f64);

impl Nanos {
    /// Zero.
    pub const ZERO: Nanos = Nanos(0);
    /// Later than anything.
    pub const MAX: Nanos = Nanos(u64::MAX);

    /// From whole milliseconds.
    pub const fn from_millis(ms: u64) -> Self {
        Nanos(ms * 1_000_000)
    }

    /// From whole microseconds.
    pub const fn from_micros(us: u64) -> Self {
        Nanos(us * 1_000)
    }

    /// From whole seconds.
    pub const fn from_secs(s: u64) -> Self {
        Nanos(s * 1_000_000_000)
    }

    /// From seconds, rounded to the nanosecond; negative and NaN become zero.
    pub fn from_secs_f64(s: f64) -> Self {
        Nanos((s * 1e9).round() as u64)
    }

    /// Value in seconds.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// Value in whole microseconds, rounded down.
    pub const fn as_micros(self) -> u64 {
        self.0 / 1_000
    }

    /// `self + other`, at most [`Nanos::MAX`].
    pub const fn saturating_add(self, other: Nanos) -> Nanos {
        Nanos(self.0.saturating_add(other.0))
    }

    /// `self - other`, zero if negative.
    pub const fn saturating_sub(self, other: Nanos) -> Nanos {
        Nanos(self.0.saturating_sub(other.0))
    }
}

impl BitRate {
    /// From bit/s.
    pub const fn from_bps(bps: u64) -> Self {
        BitRate(bps)
    }

    /// Value in bit/s.
    pub const fn bps(self) -> u64 {
        self.0
    }
}

impl Probability {
    /// Returns `None` outside [0, 1].
    pub fn new(p: f64) -> Option<Self> {
        (0.0..=1.0).contains(&p).then_some(Probability(p))
    }

    /// Value in [0, 1].
    pub const fn get(self) -> f64 {
        self.0
    }
}

impl JoulesPerBit {
    /// From mW/(Mbit/s), the unit of the literature.
    pub const fn from_mw_per_mbps(slope: f64) -> Self {
        JoulesPerBit(slope * 1e-9)
    }

    /// Value in mW/(Mbit/s).
    pub const fn mw_per_mbps(self) -> f64 {
        self.0 * 1e9
    }
}

impl Add for Nanos {
    type Output = Nanos;
    fn add(self, other: Nanos) -> Nanos {
        Nanos(self.0 + other.0)
    }
}

impl AddAssign for Nanos {
    fn add_assign(&mut self, other: Nanos) {
        self.0 += other.0;
    }
}

impl Sub for Nanos {
    type Output = Nanos;
    fn sub(self, other: Nanos) -> Nanos {
        Nanos(self.0 - other.0)
    }
}

impl Mul<u64> for Nanos {
    type Output = Nanos;
    fn mul(self, factor: u64) -> Nanos {
        Nanos(self.0 * factor)
    }
}

/// Reason why a quantity could not be read. The message contains the fix.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnitError {
    /// A number without unit.
    #[error("`{text}` has no unit; write {examples}")]
    Missing {
        /// The text as written.
        text: String,
        /// The text with the units that fit.
        examples: String,
    },
    /// Not a number followed by a unit.
    #[error("`{text}` is not a {quantity}; write for example \"{example}\"")]
    Malformed {
        /// The text as written.
        text: String,
        /// The expected quantity.
        quantity: &'static str,
        /// A valid value.
        example: &'static str,
    },
    /// A unit of another quantity.
    #[error("`{unit}` is a unit of {other}, not of {quantity}; {known}")]
    Other {
        /// The text as written.
        unit: String,
        /// The quantity that it measures.
        other: &'static str,
        /// The expected quantity.
        quantity: &'static str,
        /// All accepted units, or those that fit.
        known: String,
    },
    /// An unknown unit.
    #[error("`{unit}` is not a unit of {quantity}; {known}")]
    Unknown {
        /// The text as written.
        unit: String,
        /// The expected quantity.
        quantity: &'static str,
        /// All accepted units.
        known: String,
    },
    /// A number outside the range of the quantity.
    #[error("`{text}` is out of range: a {quantity} is {range}")]
    Range {
        /// The text as written.
        text: String,
        /// The expected quantity.
        quantity: &'static str,
        /// The valid range, as text.
        range: &'static str,
    },
}

/// Syntax of one quantity.
struct Grammar {
    quantity: &'static str,
    example: &'static str,
    /// Units for a number that has none.
    example_units: &'static [&'static str],
    units: &'static [(&'static str, f64)],
}

/// True if a unit counts bytes: a capital B is a byte, a small one a bit.
fn counts_bytes(unit: &str) -> bool {
    unit.contains('B') && !unit.to_ascii_lowercase().contains("bit")
}

impl Grammar {
    fn has(&self, unit: &str) -> bool {
        self.units.iter().any(|(name, _)| *name == unit)
    }

    /// All units, or those that `unit` of size means in a rate.
    fn known(&self, unit: &str) -> String {
        let per_second = [format!("{unit}/s"), unit.replace('B', "bit/s")]
            .into_iter()
            .filter(|name| SIZE.has(unit) && self.has(name));
        let fitting: Vec<_> = per_second.map(|name| format!("`{name}`")).collect();
        if fitting.is_empty() {
            let names: Vec<&str> = self.units.iter().map(|(name, _)| *name).collect();
            return format!("known: {}", names.join(", "));
        }
        format!("write {}", fitting.join(" or "))
    }

    /// The unit that `unit` probably means: `MBps` is MB/s, `Mb/s` and `mbit/s` are Mbit/s.
    fn meant(&self, unit: &str) -> Option<&'static str> {
        let amount = unit.strip_suffix("ps").or_else(|| unit.strip_suffix("/s"));
        let bits = amount.unwrap_or(unit).strip_suffix('b');
        let spellings = [
            Some(unit.to_owned()),
            amount.map(|amount| format!("{amount}/s")),
            bits.map(|prefix| format!("{prefix}bit/s")),
            Some(format!("{unit}/s")),
        ];
        let names = || self.units.iter().map(|(name, _)| *name);
        let alike = |written: &str| {
            let bytes = counts_bytes(written);
            // Sizes have no bits: a small b is a byte there.
            let is_kind = |name: &str| counts_bytes(name) == bytes || !self.has("bit/s");
            names().find(|name| name.eq_ignore_ascii_case(written) && is_kind(name))
        };
        let spellings = || spellings.iter().flatten();
        spellings()
            .find_map(|spelling| names().find(|name| name == spelling))
            .or_else(|| spellings().find_map(|spelling| alike(spelling)))
    }

    /// The error for a unit that this quantity does not have.
    fn unknown(&self, unit: &str) -> UnitError {
        let (unit_text, quantity) = (unit.to_owned(), self.quantity);
        if let Some(other) = ALL.iter().find(|grammar| grammar.has(unit)) {
            return UnitError::Other {
                unit: unit_text,
                other: other.quantity,
                quantity,
                known: self.known(unit),
            };
        }
        let known = self.known(unit);
        let known = match self.meant(unit) {
            None => known,
            Some(meant) => {
                let of_bytes = counts_bytes(meant) && !counts_bytes(unit);
                let note = if of_bytes { " (B: bytes of 8 bit)" } else { "" };
                format!(
                    "did you mean `{meant}`{note}? {}",
                    names::capitalised(&known)
                )
            }
        };
        UnitError::Unknown {
            unit: unit_text,
            quantity,
            known,
        }
    }

    /// The error for a number without unit.
    fn missing(&self, text: &str, number: f64) -> UnitError {
        let with = |unit| format!("\"{text} {unit}\"");
        let examples = match self.example_units {
            // Many write a probability as a number up to 1.
            ["%"] if (0.0..=1.0).contains(&number) => format!(
                "\"{} %\" for a probability of {text}, \"{text} %\" for {text} %",
                rounded(number * 100.0, 12)
            ),
            units => {
                // A large number of nothing is bytes.
                let units = match units {
                    ["MB", "GB"] if number >= 1000.0 => &["B", "kB"],
                    units => units,
                };
                let units: Vec<_> = units.iter().map(with).collect();
                format!("for example {}", units.join(" or "))
            }
        };
        UnitError::Missing {
            text: text.into(),
            examples,
        }
    }

    /// The value in the base unit.
    fn parse(&self, text: &str) -> Result<f64, UnitError> {
        let text = &*typed(text);
        let malformed = || UnitError::Malformed {
            text: text.into(),
            quantity: self.quantity,
            example: self.example,
        };
        let split = text
            .char_indices()
            .find(|&(i, c)| {
                !(c.is_ascii_digit() || matches!(c, '.' | '_' | '+' | '-') || is_exponent(text, i))
            })
            .map_or(text.len(), |(i, _)| i);
        let (number, unit) = (text[..split].replace('_', ""), text[split..].trim());
        let value: f64 = number.parse().map_err(|_| malformed())?;
        if unit.is_empty() {
            return Err(self.missing(text, value));
        }
        let factor = self
            .units
            .iter()
            .find(|(name, _)| *name == unit)
            .map(|(_, factor)| factor);
        let factor = factor.ok_or_else(|| self.unknown(unit))?;
        let value = value * factor;
        if !value.is_finite() || value < 0.0 {
            return Err(UnitError::Range {
                text: text.into(),
                quantity: self.quantity,
                range: "finite and not negative",
            });
        }
        Ok(value)
    }
}

/// Characters that look like one of a keyboard, and that one: the Greek letter μ, the minus sign,
/// two hyphens, the slashes of fractions, and the full-width slash and percent sign.
const LOOK_ALIKES: [(char, char); 8] = [
    ('\u{3bc}', 'µ'),
    ('\u{2212}', '-'),
    ('\u{2010}', '-'),
    ('\u{2011}', '-'),
    ('\u{2044}', '/'),
    ('\u{2215}', '/'),
    ('\u{ff0f}', '/'),
    ('\u{ff05}', '%'),
];

/// The text without the blanks around it, in the characters of a keyboard.
fn typed(text: &str) -> Cow<'_, str> {
    let text = text.trim();
    let key = |of: char| LOOK_ALIKES.iter().find(|(like, _)| *like == of);
    match text.contains(|of| key(of).is_some()) {
        true => Cow::Owned(
            text.chars()
                .map(|of| key(of).map_or(of, |(_, key)| *key))
                .collect(),
        ),
        false => Cow::Borrowed(text),
    }
}

/// True if the `e` at `i` is between two parts of a number such as `1e-3`.
fn is_exponent(text: &str, i: usize) -> bool {
    let bytes = text.as_bytes();
    matches!(bytes[i], b'e' | b'E')
        && i > 0
        && bytes[i - 1].is_ascii_digit()
        && bytes
            .get(i + 1)
            .is_some_and(|c| c.is_ascii_digit() || matches!(c, b'-' | b'+'))
}

const TIME: Grammar = Grammar {
    quantity: "duration",
    example: "70 ms",
    example_units: &["ms", "s"],
    units: &[
        ("ns", 1.0),
        ("us", 1e3),
        ("µs", 1e3),
        ("ms", 1e6),
        ("s", 1e9),
        ("min", 6e10),
        ("h", 3.6e12),
    ],
};
const RATE: Grammar = Grammar {
    quantity: "data rate",
    example: "10 Mbit/s",
    example_units: &["Mbit/s"],
    units: &[
        ("bit/s", 1.0),
        ("kbit/s", 1e3),
        ("Mbit/s", 1e6),
        ("Gbit/s", 1e9),
        ("bps", 1.0),
        ("kbps", 1e3),
        ("Mbps", 1e6),
        ("Gbps", 1e9),
        ("B/s", 8.0),
        ("kB/s", 8e3),
        ("MB/s", 8e6),
    ],
};
const SIZE: Grammar = Grammar {
    quantity: "size",
    example: "64 KiB",
    example_units: &["MB", "GB"],
    units: &[
        ("B", 1.0),
        ("bytes", 1.0),
        ("kB", 1e3),
        ("KB", 1e3),
        ("MB", 1e6),
        ("GB", 1e9),
        ("KiB", 1024.0),
        ("MiB", 1_048_576.0),
        ("GiB", 1_073_741_824.0),
    ],
};
const RATIO: Grammar = Grammar {
    quantity: "probability",
    example: "0.1 %",
    example_units: &["%"],
    units: &[("%", 0.01), ("permille", 1e-3), ("ppm", 1e-6)],
};
const POWER: Grammar = Grammar {
    quantity: "power",
    example: "132.9 mW",
    example_units: &["mW"],
    units: &[("W", 1.0), ("mW", 1e-3), ("uW", 1e-6), ("µW", 1e-6)],
};
const SLOPE: Grammar = Grammar {
    quantity: "energy per traffic",
    example: "137 mW/Mbps",
    example_units: &["mW/Mbps"],
    units: &[
        ("mW/Mbps", 1e-9),
        ("mW/(Mbit/s)", 1e-9),
        ("mW", 1e-9),
        ("mJ/Mbit", 1e-9),
        ("W/Mbps", 1e-6),
        ("J/Mbit", 1e-6),
        ("nJ/bit", 1e-9),
        ("J/bit", 1.0),
    ],
};

/// All quantities with several units, the likeliest first.
const ALL: [Grammar; 6] = [TIME, SIZE, RATE, RATIO, POWER, SLOPE];

impl FromStr for Nanos {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Self, UnitError> {
        let value = TIME.parse(text)?;
        Ok(Nanos(value.round() as u64))
    }
}

impl FromStr for BitRate {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Self, UnitError> {
        RATE.parse(text).map(|bps| BitRate(bps.round() as u64))
    }
}

impl FromStr for Bytes {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Self, UnitError> {
        SIZE.parse(text).map(|bytes| Bytes(bytes.round() as u64))
    }
}

impl FromStr for Probability {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Self, UnitError> {
        let p = RATIO.parse(text)?;
        Probability::new(p).ok_or(UnitError::Range {
            text: text.into(),
            quantity: RATIO.quantity,
            range: "between 0 % and 100 %",
        })
    }
}

impl FromStr for Watts {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Self, UnitError> {
        POWER.parse(text).map(Watts)
    }
}

impl FromStr for Dbm {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Self, UnitError> {
        let (quantity, example) = ("signal strength", "-95 dBm");
        let text = &*typed(text);
        let number = text.strip_suffix("dBm").map(str::trim);
        if number.is_none() && text.parse::<f64>().is_ok() {
            return Err(UnitError::Missing {
                text: text.into(),
                examples: format!("for example \"{text} dBm\""),
            });
        }
        let value = number
            .and_then(|number| number.parse::<f64>().ok())
            .filter(|value| value.is_finite());
        let value = value.ok_or(UnitError::Malformed {
            text: text.into(),
            quantity,
            example,
        })?;
        let range = "between -160 dBm and 0 dBm";
        let fits = (-160.0..=0.0).contains(&value);
        if fits {
            Ok(Dbm(value))
        } else {
            Err(UnitError::Range {
                text: text.into(),
                quantity,
                range,
            })
        }
    }
}

impl FromStr for JoulesPerBit {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Self, UnitError> {
        SLOPE.parse(text).map(JoulesPerBit)
    }
}

/// Uses the largest prefix that leaves a number of at least 1, without trailing zeros.
fn with_prefix(f: &mut fmt::Formatter<'_>, value: f64, units: &[(f64, &str)]) -> fmt::Result {
    let (factor, unit) = units
        .iter()
        .rev()
        .find(|(factor, _)| value >= *factor)
        .unwrap_or(&units[0]);
    let scaled = format!("{:.6}", value / factor);
    write!(
        f,
        "{} {unit}",
        scaled.trim_end_matches('0').trim_end_matches('.')
    )
}

impl fmt::Display for Nanos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        with_prefix(
            f,
            self.0 as f64,
            &[(1.0, "ns"), (1e3, "µs"), (1e6, "ms"), (1e9, "s")],
        )
    }
}

impl fmt::Display for BitRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        with_prefix(
            f,
            self.0 as f64,
            &[
                (1.0, "bit/s"),
                (1e3, "kbit/s"),
                (1e6, "Mbit/s"),
                (1e9, "Gbit/s"),
            ],
        )
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let binary = self.0 >= 1024 && self.0.is_multiple_of(1024);
        let units: &[(f64, &str)] = if binary {
            &[
                (1024.0, "KiB"),
                (1_048_576.0, "MiB"),
                (1_073_741_824.0, "GiB"),
            ]
        } else {
            &[(1.0, "B"), (1e3, "kB"), (1e6, "MB"), (1e9, "GB")]
        };
        with_prefix(f, self.0 as f64, units)
    }
}

impl fmt::Display for Probability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        with_prefix(f, self.0 * 100.0, &[(1.0, "%")])
    }
}

impl fmt::Display for Watts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        with_prefix(f, self.0, &[(1e-3, "mW"), (1.0, "W")])
    }
}

impl fmt::Display for Dbm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} dBm", self.0)
    }
}

impl fmt::Display for JoulesPerBit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        with_prefix(f, self.mw_per_mbps(), &[(1.0, "mW/Mbps")])
    }
}

/// Serialises as in a scenario.
macro_rules! serialize_as_text {
    ($($quantity:ty),*) => {$(
        impl Serialize for $quantity {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }
    )*};
}
serialize_as_text!(Nanos, BitRate, Bytes, Probability, Watts, JoulesPerBit, Dbm);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_are_read_with_their_units() {
        assert_eq!("70 ms".parse(), Ok(Nanos::from_millis(70)));
        assert_eq!("0.5s".parse(), Ok(Nanos::from_millis(500)));
        assert_eq!("1e-3 s".parse(), Ok(Nanos::from_millis(1)));
        assert_eq!("10 Mbit/s".parse(), Ok(BitRate::from_bps(10_000_000)));
        assert_eq!("64 KiB".parse(), Ok(Bytes(65_536)));
        assert_eq!("10 %".parse(), Ok(Probability(0.1)));
        assert_eq!(
            "137 mW/Mbps".parse(),
            Ok(JoulesPerBit::from_mw_per_mbps(137.0))
        );
    }

    #[test]
    fn a_bare_number_is_refused_with_a_suitable_unit() {
        fn fix<T: FromStr<Err = UnitError>>(text: &str) -> String {
            let error = text.parse::<T>().map(drop).unwrap_err().to_string();
            error.split_once(" has no unit; write ").unwrap().1.into()
        }
        assert_eq!(fix::<Nanos>("70"), "for example \"70 ms\" or \"70 s\"");
        assert_eq!(fix::<Bytes>("20"), "for example \"20 MB\" or \"20 GB\"");
        assert_eq!(
            fix::<Bytes>("65536"),
            "for example \"65536 B\" or \"65536 kB\""
        );
        assert_eq!(
            fix::<Probability>("0.01"),
            "\"1 %\" for a probability of 0.01, \"0.01 %\" for 0.01 %"
        );
        assert_eq!(fix::<Probability>("2"), "for example \"2 %\"");
    }

    #[test]
    fn a_wrong_unit_is_refused_with_the_known_units() {
        let error = "70 Mbit/s".parse::<Nanos>().unwrap_err().to_string();
        assert_eq!(
            error,
            "`Mbit/s` is a unit of data rate, not of duration; known: ns, us, µs, ms, s, min, h"
        );
        let error = "40 MB".parse::<BitRate>().unwrap_err().to_string();
        assert_eq!(
            error,
            "`MB` is a unit of size, not of data rate; write `MB/s` or `Mbit/s`"
        );
        let error = "40 Mb".parse::<Bytes>().unwrap_err().to_string();
        assert!(
            error.contains("did you mean `MB` (B: bytes of 8 bit)?"),
            "{error}"
        );
        for (unit, meant) in [
            ("mbit/s", "Mbit/s"),
            ("Mb/s", "Mbit/s"),
            ("mb/s", "Mbit/s"),
            ("Kb/s", "kbit/s"),
            ("Mb", "Mbit/s"),
            ("Mbit", "Mbit/s"),
            ("MBit/s", "Mbit/s"),
            ("MBps", "MB/s"),
            ("KBps", "kB/s"),
            ("mbps", "Mbps"),
        ] {
            let error = format!("4 {unit}")
                .parse::<BitRate>()
                .unwrap_err()
                .to_string();
            assert!(
                error.contains(&format!("did you mean `{meant}`?")),
                "{error}"
            );
        }
        assert!("120 %".parse::<Probability>().is_err());
        assert!("-1 s".parse::<Nanos>().is_err());
    }

    #[test]
    fn printed_quantities_parse_back() {
        // A Greek letter, a sign, and blanks that do not break a line.
        assert_eq!(
            "250\u{a0}\u{3bc}s".parse::<Nanos>(),
            Ok(Nanos::from_micros(250))
        );
        assert_eq!(
            "3\u{202f}\u{3bc}W".parse::<Watts>().map(|power| power.0),
            "3 uW".parse::<Watts>().map(|power| power.0)
        );
        assert_eq!("\u{2212}95\u{202f}dBm".parse::<Dbm>(), Ok(Dbm(-95.0)));
        assert!(
            "\u{2212}5\u{a0}ms"
                .parse::<Nanos>()
                .unwrap_err()
                .to_string()
                .contains("not negative")
        );
        let rate = "5 Mbit/s".parse::<BitRate>();
        for slash in ['\u{2044}', '\u{2215}', '\u{ff0f}'] {
            assert_eq!(format!("5 Mbit{slash}s").parse(), rate);
        }
        assert_eq!("2\u{ff05}".parse::<Probability>(), "2 %".parse());
        for text in ["70 ms", "1.5 s", "250 µs"] {
            let value: Nanos = text.parse().unwrap();
            assert_eq!(value.to_string().parse(), Ok(value));
        }
        for text in ["64 KiB", "1.5 MB", "40 B"] {
            let value: Bytes = text.parse().unwrap();
            assert_eq!(value.to_string().parse(), Ok(value));
        }
    }
}
