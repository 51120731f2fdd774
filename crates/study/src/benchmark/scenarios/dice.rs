//! Random numbers, rounded to what a reader can take in.

use joulepath_model::random::{Domain, Stream};

use super::super::family::Family;
use super::ranges::FILE_BYTES;

/// The random numbers of one scenario.
pub(super) struct Dice(Stream);

impl Dice {
    /// Of the `number`-th scenario of `family` with `seed`: other families and numbers leave it as it is.
    pub(super) fn new(seed: u64, family: Family, number: u32) -> Self {
        Dice(Stream::new(seed, Domain::Benchmark, ((family as u64) << 32) | u64::from(number)))
    }

    /// Uniform.
    pub(super) fn between(&mut self, least: f64, most: f64) -> f64 {
        least + (most - least) * self.0.uniform()
    }

    /// Uniform in the logarithm, with three significant digits.
    pub(super) fn log(&mut self, least: f64, most: f64) -> f64 {
        let exponent = self.between(libm::log(least), libm::log(most));
        significant(libm::exp(exponent)).clamp(least, most)
    }

    /// Uniform in 0..n.
    pub(super) fn below(&mut self, n: u64) -> u64 {
        self.0.below(n)
    }

    /// Whether something of this probability happens.
    pub(super) fn chance(&mut self, probability: f64) -> bool {
        self.0.uniform() < probability
    }

    /// Size of a file, bytes.
    pub(super) fn file_bytes(&mut self) -> u64 {
        self.log(FILE_BYTES.0, FILE_BYTES.1) as u64
    }
}

/// With three significant digits.
pub(super) fn significant(value: f64) -> f64 {
    joulepath_report::rounded(value, 3)
}
