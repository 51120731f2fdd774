//! The families of scenarios on which the league is judged.

use std::fmt;
use std::str::FromStr;

use joulepath_model::names::suggest;

use crate::error::Error;

/// A family of scenarios. The discriminants are part of the meaning of a draw's seed: add, never renumber.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u64)]
pub enum Family {
    /// The papers' own scenarios: they are not drawn.
    Papers = 0,
    /// Data without end on paths of their own.
    Bulk = 1,
    /// Files of 10 kB to 200 MB.
    Files = 2,
    /// Streams of constant bit rate, with and without pauses.
    Streams = 3,
    /// Request, answer, and time to think.
    Requests = 4,
    /// Messages at the instants of a Poisson process.
    Messages = 5,
    /// Outages, fading, walking away.
    Mobility = 6,
    /// Bottlenecks shared with TCPs.
    Shared = 7,
}

impl Family {
    /// All of them, in the order of the tables.
    pub const ALL: [Family; 8] = [
        Family::Papers,
        Family::Bulk,
        Family::Files,
        Family::Streams,
        Family::Requests,
        Family::Messages,
        Family::Mobility,
        Family::Shared,
    ];

    /// As on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Family::Papers => "papers",
            Family::Bulk => "bulk",
            Family::Files => "files",
            Family::Streams => "streams",
            Family::Requests => "requests",
            Family::Messages => "messages",
            Family::Mobility => "mobility",
            Family::Shared => "shared",
        }
    }

    /// What its scenarios have in common, for humans.
    pub const fn what(self) -> &'static str {
        match self {
            Family::Papers => "the papers' own scenarios, as they ship",
            Family::Bulk => "data without end on two or three radios",
            Family::Files => "one file of 10 kB to 200 MB",
            Family::Streams => "constant bit rate, always on or with pauses",
            Family::Requests => "request, answer, time to think",
            Family::Messages => "messages at the instants of a Poisson process",
            Family::Mobility => {
                "outages, fading, or walking away and back, under data without end, a file or a stream"
            }
            Family::Shared => {
                "data without end beside Reno or CUBIC on one bottleneck, on two, or on one path"
            }
        }
    }
}

impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Family {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let names = Family::ALL.map(Family::name);
        let found = Family::ALL.into_iter().find(|family| family.name() == text);
        found.ok_or_else(|| {
            Error::usage(format!("there is no family `{text}`")).with_help(suggest(text, &names))
        })
    }
}
