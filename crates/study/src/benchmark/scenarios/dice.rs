//! Random numbers, rounded for readers.

use joulepath_model::random::{Domain, Stream};

use super::super::family::Family;
use super::ranges::FILE_BYTES;

/// The random numbers of one scenario.
pub(super) struct Dice(Stream);

impl Dice {
    /// Numbers of the `number`-th scenario of `family` with `seed`. They do not depend on other
    /// families and numbers.
    pub(super) fn new(seed: u64, family: Family, number: u32) -> Self {
        Dice(Stream::new(
            seed,
            Domain::Benchmark,
            ((family as u64) << 32) | u64::from(number),
        ))
    }

    /// Uniform between the bounds.
    pub(super) fn between(&mut self, least: f64, most: f64) -> f64 {
        least + (most - least) * self.0.uniform()
    }

    /// Log-uniform, rounded to three significant digits.
    pub(super) fn log(&mut self, least: f64, most: f64) -> f64 {
        let exponent = self.between(libm::log(least), libm::log(most));
        significant(libm::exp(exponent)).clamp(least, most)
    }

    /// Uniform in 0..n.
    pub(super) fn below(&mut self, n: u64) -> u64 {
        self.0.below(n)
    }

    /// True with this probability.
    pub(super) fn chance(&mut self, probability: f64) -> bool {
        self.0.uniform() < probability
    }

    /// Random size of a file, bytes.
    pub(super) fn file_bytes(&mut self) -> u64 {
        self.log(FILE_BYTES.0, FILE_BYTES.1) as u64
    }
}

/// Rounds to three significant digits.
pub(super) fn significant(value: f64) -> f64 {
    joulepath_report::rounded(value, 3)
}
