//! Parsers of foreign bytes: every input gives a value or an error, soon.
//!
//! [`fuzz`] gives a parser its corpus and then random changes of it. The changes are the same in
//! each run. `make fuzz` continues for longer, from another seed.

use std::fmt::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// CPU seconds for each parser; default: [`SECONDS`].
const TIME: &str = "JOULEPATH_FUZZ_SECONDS";
/// The seed of the changes; default: 1.
const SEED: &str = "JOULEPATH_FUZZ_SEED";
const SECONDS: f64 = 1.0;
/// Longest input, bytes.
const MOST_BYTES: usize = 1 << 16;
/// CPU time for one input, in an unoptimised build: quadratic work on [`MOST_BYTES`] takes longer.
const MOST_TIME: Duration = Duration::from_secs(2);
/// Most changes of one input.
const MOST_CHANGES: u64 = 6;

/// Values that parsers get wrong.
const BYTES: [u8; 9] = [0, 1, 0x7f, 0x80, 0xff, b'\n', b'"', b'[', b' '];
const NUMBERS: [&str; 12] = [
    "0",
    "-1",
    "1e308",
    "-0.0",
    "nan",
    "inf",
    "255",
    "65536",
    "4294967295",
    "9223372036854775808",
    "1e-320",
    "18446744073709551616",
];

/// Calls `parse` with the corpus and with changes of it.
///
/// # Panics
/// If `parse` panics, or takes longer than two seconds of CPU time; the message contains the input.
#[track_caller]
pub fn fuzz<S: AsRef<[u8]>>(corpus: impl IntoIterator<Item = S>, parse: impl Fn(&[u8])) {
    let corpus: Vec<Vec<u8>> = corpus
        .into_iter()
        .map(|seed| seed.as_ref().to_vec())
        .collect();
    assert!(!corpus.is_empty(), "there is no corpus");
    let setting = |name: &str| {
        std::env::var(name)
            .ok()
            .map(|text| text.parse::<f64>().expect("a number"))
    };
    let until = cpu_time() + Duration::from_secs_f64(setting(TIME).unwrap_or(SECONDS));
    let mut random = Random(setting(SEED).unwrap_or(1.0).to_bits() | 1);
    let mut inputs = 0_u64;
    corpus.iter().for_each(|input| check(input, &parse));
    while cpu_time() < until {
        check(&random.changed(&corpus), &parse);
        inputs += 1;
    }
    println!("fuzz: {} seeds, {inputs} changed inputs", corpus.len());
}

#[track_caller]
fn check(input: &[u8], parse: impl Fn(&[u8])) {
    let begin = cpu_time();
    let panicked = catch_unwind(AssertUnwindSafe(|| parse(input))).is_err();
    let took = cpu_time().saturating_sub(begin);
    assert!(!panicked, "the parser panics at:\n{}", shown(input));
    assert!(
        took < MOST_TIME,
        "the parser takes {took:?} for {} bytes:\n{}",
        input.len(),
        shown(input)
    );
}

/// The input as the text of a byte string.
fn shown(input: &[u8]) -> String {
    input.escape_ascii().fold(String::new(), |mut text, part| {
        let _ = write!(text, "{}", char::from(part));
        text
    })
}

/// CPU time of this thread: other processes do not count.
fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(
        time.tv_sec.unsigned_abs(),
        u32::try_from(time.tv_nsec).expect("below a second"),
    )
}

/// Xorshift (Marsaglia 2003).
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % bound.max(1)
    }

    fn changed(&mut self, corpus: &[Vec<u8>]) -> Vec<u8> {
        let mut input = corpus[self.below(corpus.len())].clone();
        for _ in 0..=self.below(MOST_CHANGES as usize) {
            let other = self.below(corpus.len());
            self.change(&mut input, &corpus[other]);
            input.truncate(MOST_BYTES);
        }
        input
    }

    fn change(&mut self, input: &mut Vec<u8>, other: &[u8]) {
        let at = self.below(input.len() + 1);
        let longest = if self.below(2) == 0 { 8 } else { input.len() };
        let length = 1 + self.below(longest);
        let until = (at + length).min(input.len());
        match self.below(8) {
            0 if at < input.len() => input[at] ^= 1 << self.below(8),
            1 if at < input.len() => input[at] = BYTES[self.below(BYTES.len())],
            2 => drop(input.drain(at..until)),
            3 => input.truncate(at),
            // The same part again, sometimes very often: nesting, long lists, long names.
            4 => {
                let times = if self.below(8) == 0 {
                    MOST_BYTES / length.max(1)
                } else {
                    1 + self.below(4)
                };
                let part = input[at..until].repeat(times.min(MOST_BYTES / (until - at).max(1)));
                drop(input.splice(at..at, part));
            }
            5 => {
                let from = self.below(other.len() + 1);
                let part = other[from..(from + length).min(other.len())].to_vec();
                drop(input.splice(at..until, part));
            }
            6 => self.change_number(input, at),
            _ => input.insert(at, BYTES[self.below(BYTES.len())]),
        }
    }

    /// Replaces the next decimal number from `at` on.
    fn change_number(&mut self, input: &mut Vec<u8>, at: usize) {
        let Some(first) = input[at..]
            .iter()
            .position(u8::is_ascii_digit)
            .map(|after| at + after)
        else {
            return;
        };
        let end = input[first..]
            .iter()
            .position(|byte| !byte.is_ascii_digit())
            .map_or(input.len(), |after| first + after);
        drop(input.splice(first..end, NUMBERS[self.below(NUMBERS.len())].bytes()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The changes reach a number, a repetition and an empty input, so a parser that fails there is
    /// found.
    #[test]
    fn a_parser_that_panics_or_takes_too_long_is_found() {
        type Parser = fn(&[u8]);
        let panics: [Parser; 3] = [
            |bytes| assert!(!bytes.windows(4).any(|four| four == b"1e30")),
            |bytes| assert!(bytes.len() < 5_000),
            |bytes| assert!(!bytes.is_empty()),
        ];
        for parser in panics {
            assert!(catch_unwind(|| fuzz(["size = 17 kB"], parser)).is_err());
        }
        let endless = |_: &[u8]| {
            let begin = cpu_time();
            while cpu_time() < begin + MOST_TIME {}
        };
        assert!(catch_unwind(|| fuzz(["x"], endless)).is_err());
    }
}
