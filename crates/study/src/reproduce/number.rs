//! A stated number: as printed, or the quotient of two printed numbers.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, Error, Visitor};

/// For example `415.66` or `"415.66/205.57"`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Number(pub(super) f64);

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reads;

        impl Visitor<'_> for Reads {
            type Value = Number;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number, or a quotient of two as in \"415.66/205.57\"")
            }

            fn visit_i64<E: Error>(self, number: i64) -> Result<Number, E> {
                Ok(Number(number as f64))
            }

            fn visit_f64<E: Error>(self, number: f64) -> Result<Number, E> {
                Ok(Number(number))
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Number, E> {
                let quotient = || {
                    let (above, below) = text.split_once('/')?;
                    let number = |text: &str| text.trim().parse::<f64>().ok();
                    Some(number(above)? / number(below)?)
                };
                let number = quotient().filter(|number| number.is_finite());
                number
                    .map(Number)
                    .ok_or_else(|| E::custom(format!("`{text}` is not a quotient of two numbers")))
            }
        }

        deserializer.deserialize_any(Reads)
    }
}
