#[cfg(feature = "clap")]
use joulepath_model::scenario::MAX_SEEDS;

use crate::error::{Error, Result};

/// Parses a number of seeds.
#[cfg(feature = "clap")]
pub(crate) fn parser() -> clap::builder::RangedI64ValueParser<u32> {
    clap::value_parser!(u32).range(1..=i64::from(MAX_SEEDS))
}

/// `count` seeds, starting at `first`.
///
/// # Errors
/// If `count` is 0, or a seed exceeds 64 bits.
pub(crate) fn seeds(first: u64, count: u32) -> Result<Vec<u64>> {
    if count == 0 {
        return Err(Error::usage("there is no seed").with_help("ask for at least one"));
    }
    match first.checked_add(u64::from(count)) {
        Some(end) => Ok((first..end).collect()),
        None => Err(
            Error::usage(format!("{count} seeds from {first} exceed 2^64"))
                .with_help("choose a smaller first seed"),
        ),
    }
}
