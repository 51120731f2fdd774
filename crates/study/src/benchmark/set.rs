//! The three disjoint sets of random scenarios.

use std::fmt;
use std::str::FromStr;

use joulepath_model::names::suggest;

use crate::error::Error;

/// Scenarios of a set and family, more than anybody runs.
const LENGTH: u32 = 1 << 24;

/// Purpose of random scenarios.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Set {
    /// For tuning policies.
    Train,
    /// To measure every change. Nobody tunes on it.
    Check,
    /// For the published table, run once.
    Sealed,
}

impl Set {
    /// All sets.
    pub const ALL: [Set; 3] = [Set::Train, Set::Check, Set::Sealed];

    /// Name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Set::Train => "train",
            Set::Check => "check",
            Set::Sealed => "sealed",
        }
    }

    /// Number of the `index`-th scenario of this set, from 1, in its family; `None` beyond the end.
    pub(super) fn number(self, index: u32) -> Option<u32> {
        let first = match self {
            Set::Train => 0,
            Set::Check => LENGTH,
            Set::Sealed => 2 * LENGTH,
        };
        (1..LENGTH).contains(&index).then_some(first + index)
    }
}

impl fmt::Display for Set {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Set {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let names = Set::ALL.map(Set::name);
        let found = Set::ALL.into_iter().find(|set| set.name() == text);
        found.ok_or_else(|| {
            Error::usage(format!("there is no set `{text}`")).with_help(suggest(text, &names))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_scenario_is_in_two_sets() {
        let ends = |set: Set| [set.number(1).unwrap(), set.number(LENGTH - 1).unwrap()];
        let [train, check, sealed] = Set::ALL.map(ends);
        assert!(
            train[1] < check[0] && check[1] < sealed[0],
            "{train:?} {check:?} {sealed:?}"
        );
        assert_eq!(
            (Set::Check.number(0), Set::Check.number(LENGTH)),
            (None, None)
        );
    }
}
