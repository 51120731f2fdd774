//! The three ranges of draws of the gauntlet. No draw is in two of them.

use std::fmt;
use std::str::FromStr;

use joulepath_model::names::suggest;

use crate::error::Error;

/// Draws of a range: more than anybody runs.
const LENGTH: u32 = 1 << 24;

/// What draws are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Range {
    /// To tune policies on.
    Train,
    /// To judge every change on; nothing is tuned on it.
    Check,
    /// For the published table, run once.
    Sealed,
}

impl Range {
    /// All of them.
    pub const ALL: [Range; 3] = [Range::Train, Range::Check, Range::Sealed];

    /// As on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Range::Train => "train",
            Range::Check => "check",
            Range::Sealed => "sealed",
        }
    }

    /// The number that the `index`-th draw of this range, from 1, has among all draws; none beyond its end.
    pub(super) fn number(self, index: u32) -> Option<u32> {
        let first = match self {
            Range::Train => 0,
            Range::Check => LENGTH,
            Range::Sealed => 2 * LENGTH,
        };
        (1..LENGTH).contains(&index).then_some(first + index)
    }
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Range {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let names = Range::ALL.map(Range::name);
        let found = Range::ALL.into_iter().find(|range| range.name() == text);
        found.ok_or_else(|| {
            Error::usage(format!("there is no range `{text}`")).with_help(suggest(text, &names))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_draw_is_in_two_ranges() {
        let ends = |range: Range| [range.number(1).unwrap(), range.number(LENGTH - 1).unwrap()];
        let [train, check, sealed] = Range::ALL.map(ends);
        assert!(train[1] < check[0] && check[1] < sealed[0], "{train:?} {check:?} {sealed:?}");
        assert_eq!((Range::Check.number(0), Range::Check.number(LENGTH)), (None, None));
    }
}
