//! Quantities as text that parses back to exactly the same value. (`Display` rounds for readers.)

use std::str::FromStr;

use super::ProcessingDelay;
use crate::network::QueueLimit;
use crate::units::{BitRate, Bytes, Dbm, JoulesPerBit, Nanos, Probability, Watts};

/// A quantity with its unit, in quotes.
pub(super) trait Exact {
    /// TOML that parses back to the same value.
    fn exact(&self) -> String;
}

impl Exact for Nanos {
    fn exact(&self) -> String {
        decimal(self.0, &[(0, "ns"), (3, "us"), (6, "ms"), (9, "s")], "s")
    }
}

impl Exact for BitRate {
    fn exact(&self) -> String {
        decimal(
            self.bps(),
            &[(0, "bit/s"), (3, "kbit/s"), (6, "Mbit/s"), (9, "Gbit/s")],
            "bit/s",
        )
    }
}

impl Exact for Bytes {
    fn exact(&self) -> String {
        let units = [(0, "B"), (3, "kB"), (6, "MB"), (9, "GB")];
        // Packet sizes are written in bytes.
        let decimal = decimal(
            self.0,
            if self.0 < 10_000 { &units[..1] } else { &units },
            "B",
        );
        let divides = |&(factor, _): &(u64, &str)| self.0 > 0 && self.0.is_multiple_of(factor);
        let binary = [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")]
            .into_iter()
            .find(divides);
        let binary = binary.map(|(factor, unit)| format!("\"{} {unit}\"", self.0 / factor));
        binary
            .filter(|binary| binary.len() < decimal.len())
            .unwrap_or(decimal)
    }
}

impl Exact for QueueLimit {
    fn exact(&self) -> String {
        match self {
            QueueLimit::Packets(packets) => format!("\"{packets} packets\""),
            QueueLimit::Bytes(bytes) => bytes.exact(),
        }
    }
}

impl Exact for ProcessingDelay {
    fn exact(&self) -> String {
        match self {
            ProcessingDelay::Packets(1) => "\"1 packet\"".to_owned(),
            ProcessingDelay::Packets(packets) => format!("\"{packets} packets\""),
            ProcessingDelay::Time(time) => time.exact(),
        }
    }
}

impl Exact for Dbm {
    fn exact(&self) -> String {
        format!("\"{} dBm\"", self.0)
    }
}

impl Exact for Probability {
    fn exact(&self) -> String {
        float(
            *self,
            self.get(),
            &[(1e-2, "%"), (1e-3, "permille"), (1e-6, "ppm")],
        )
    }
}

impl Exact for Watts {
    fn exact(&self) -> String {
        let milli = (1e-3, "mW");
        let units = [milli, (1.0, "W")];
        float(
            *self,
            self.0,
            if self.0 < 1.0 { &units } else { &units[1..] },
        )
    }
}

impl Exact for JoulesPerBit {
    fn exact(&self) -> String {
        float(*self, self.0, &[(1e-9, "mW/Mbps"), (1.0, "J/bit")])
    }
}

/// A whole number of base units, in the largest prefix that leaves an integer part: 1500 as "1.5
/// k…".
fn decimal(value: u64, units: &[(u32, &str)], zero_unit: &str) -> String {
    let fits = |&&(exponent, _): &&(u32, &str)| value >= 10_u64.pow(exponent);
    let Some(&(exponent, unit)) = units.iter().rev().find(fits) else {
        return format!("\"0 {zero_unit}\"");
    };
    let factor = 10_u64.pow(exponent);
    let fraction = format!("{:0width$}", value % factor, width = exponent as usize);
    let text = format!(
        "{}.{}",
        value / factor,
        if exponent == 0 { "" } else { &fraction }
    );
    format!(
        "\"{} {unit}\"",
        text.trim_end_matches('0').trim_end_matches('.')
    )
}

/// The shortest decimal that parses back to `value`, in the first unit that allows one.
fn float<T: FromStr + PartialEq>(value: T, base: f64, units: &[(f64, &str)]) -> String {
    /// Significant decimal digits that distinguish any two doubles.
    const DIGITS: usize = 17;
    for (factor, unit) in units {
        let scaled = base / factor;
        // Scaling rounds here and again on reading: the exact number may be a neighbour of
        // `scaled`.
        let near = [scaled, scaled.next_up(), scaled.next_down()];
        let texts = (0..DIGITS).flat_map(|digits| near.map(|number| format!("{number:.digits$e}")));
        for number in texts.filter_map(|text| text.parse::<f64>().ok()) {
            let text = format!("{number} {unit}");
            if text.parse().is_ok_and(|read: T| read == value) {
                return format!("\"{text}\"");
            }
        }
    }
    let (factor, unit) = units[0];
    format!("\"{} {unit}\"", base / factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_keep_every_digit() {
        assert_eq!(Nanos(1_234_567_891).exact(), "\"1.234567891 s\"");
        assert_eq!(Nanos(70_000_000).exact(), "\"70 ms\"");
        assert_eq!(Nanos(100_000_000_000).exact(), "\"100 s\"");
        assert_eq!(Nanos(0).exact(), "\"0 s\"");
        assert_eq!(BitRate::from_bps(12_500_000).exact(), "\"12.5 Mbit/s\"");
        assert_eq!(Bytes(65_536).exact(), "\"64 KiB\"");
        assert_eq!(Bytes(1460).exact(), "\"1460 B\"");
        assert_eq!(Bytes(16_000_000).exact(), "\"16 MB\"");
    }

    #[test]
    fn probabilities_are_written_in_their_shortest_form() {
        for text in ["0.1 %", "10 %", "57 %", "2.5 %", "0.00000001 %"] {
            assert_eq!(
                text.parse::<Probability>().unwrap().exact(),
                format!("\"{text}\"")
            );
        }
    }

    #[test]
    fn powers_are_written_in_their_shortest_form() {
        assert_eq!("132.9 mW".parse::<Watts>().unwrap().exact(), "\"132.9 mW\"");
        assert_eq!(
            "1288.04 mW".parse::<Watts>().unwrap().exact(),
            "\"1.28804 W\""
        );
        assert_eq!(
            "137 mW".parse::<JoulesPerBit>().unwrap().exact(),
            "\"137 mW/Mbps\""
        );
    }
}
