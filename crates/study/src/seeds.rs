//! The seeds of a study.

use crate::error::{Error, Result};

/// `count` seeds from `first` on.
///
/// # Errors
/// If there are none, or they do not fit 64 bits.
pub(crate) fn seeds(first: u64, count: u32) -> Result<Vec<u64>> {
    if count == 0 {
        return Err(Error::usage("there is no seed").with_help("ask for at least one"));
    }
    match first.checked_add(u64::from(count)) {
        Some(end) => Ok((first..end).collect()),
        None => Err(Error::usage(format!("seed {first} and {count} more are beyond 2^64"))
            .with_help("choose a smaller --first-seed")),
    }
}
