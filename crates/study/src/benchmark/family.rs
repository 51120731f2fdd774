//! Families of scenarios: eight are ranked, eleven are random.

use std::fmt;
use std::str::FromStr;

use joulepath_model::names::suggest;
use joulepath_report::benchmark::{FamilyRow, Kind, Metric};

use crate::error::Error;

/// A family of scenarios. The discriminants enter the scenarios' seeds: add new ones, never
/// renumber.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u64)]
pub enum Family {
    /// The papers' own scenarios, which ship with the program.
    Papers = 0,
    /// Endless data on separate paths.
    Bulk = 1,
    /// Files of 10 kB to 200 MB.
    Files = 2,
    /// Streams of constant bit rate, with and without pauses.
    Streams = 3,
    /// Request, answer, and time to think.
    Requests = 4,
    /// Messages of a Poisson process.
    Messages = 5,
    /// Outages, fading, walking away.
    Mobility = 6,
    /// Bottlenecks shared with competing TCP flows.
    Shared = 7,
    /// Random: endless data, from the first packet on.
    F1Bulk = 11,
    /// Random: one file.
    F2File = 12,
    /// Random: messages and constant bit rate.
    F3Stream = 13,
    /// Random: competing TCP flows on the paths' links.
    F4Competitors = 14,
    /// Random: one bottleneck shared by all paths and by competing TCP flows.
    F5Shared = 15,
    /// Random: outages, steps, fading, a trace.
    F6Mobility = 16,
    /// Random: competing TCP flows with short, managed and policed queues.
    F7Shallow = 17,
    /// Random: several connections of the policy at once.
    F8Within = 18,
    /// Random: conditions that mislead controllers.
    F9Adverse = 19,
    /// Random: a radio whose power follows its signal, which changes.
    F10Signal = 20,
    /// Random: twin paths that only look as if they shared a bottleneck, and a bottleneck without
    /// competitors.
    F11Alike = 21,
}

impl Family {
    /// Families of a kind, in the order of the tables.
    pub const fn of_kind(kind: Kind) -> &'static [Family] {
        use Family::*;
        match kind {
            Kind::Ranked => &[
                Papers, Bulk, Files, Streams, Requests, Messages, Mobility, Shared,
            ],
            Kind::Random => &[
                F1Bulk,
                F2File,
                F3Stream,
                F4Competitors,
                F5Shared,
                F6Mobility,
                F7Shallow,
                F8Within,
                F9Adverse,
                F10Signal,
                F11Alike,
            ],
        }
    }

    /// Kind of the family, which decides how it is measured.
    pub fn kind(self) -> Kind {
        if Family::of_kind(Kind::Random).contains(&self) {
            Kind::Random
        } else {
            Kind::Ranked
        }
    }

    /// Whether its tables show what competitors lose or get.
    pub(super) fn judges_harm(self) -> bool {
        let judges = |metric: &Metric| matches!(metric, Metric::Kept | Metric::Share);
        self == Family::Shared || self.row().columns.iter().any(judges)
    }

    /// Row of the report.
    pub(super) fn row(self) -> FamilyRow {
        let columns: &[Metric] = match self {
            Family::F1Bulk | Family::F6Mobility => &[Metric::TcpReference],
            Family::F2File | Family::F3Stream => &[Metric::TcpReference, Metric::Time],
            Family::F10Signal => &[Metric::TcpReference, Metric::Joules, Metric::Time],
            Family::F4Competitors | Family::F5Shared | Family::F7Shallow => {
                &[Metric::Kept, Metric::Share, Metric::TcpReference]
            }
            Family::F11Alike => &[Metric::TcpReference, Metric::Goodput, Metric::Kept],
            Family::F8Within => &[Metric::Jain],
            Family::F9Adverse => &[Metric::Goodput, Metric::Kept, Metric::Share],
            _ => &[Metric::Score],
        };
        let [name, what] = [self.name(), self.what()].map(str::to_owned);
        FamilyRow {
            name,
            what,
            columns: columns.to_vec(),
        }
    }

    /// Name on the command line.
    pub const fn name(self) -> &'static str {
        self.texts().0
    }

    /// Description of its scenarios, for people.
    pub const fn what(self) -> &'static str {
        self.texts().1
    }

    const fn texts(self) -> (&'static str, &'static str) {
        match self {
            Family::Papers => ("papers", "the papers' own scenarios, as they ship"),
            Family::Bulk => ("bulk", "data without end on two or three radios"),
            Family::Files => ("files", "one file of 10 kB to 200 MB"),
            Family::Streams => ("streams", "constant bit rate, always on or with pauses"),
            Family::Requests => ("requests", "request, answer, time to think"),
            Family::Messages => ("messages", "messages at the instants of a Poisson process"),
            Family::Mobility => (
                "mobility",
                "outages, fading, or walking away and back, under data without end, a file or a stream",
            ),
            Family::Shared => (
                "shared",
                "data without end beside Reno or CUBIC on one bottleneck, on two, or on one path",
            ),
            Family::F1Bulk => (
                "f1-bulk",
                "data without end for 60 or 300 s, slow start included",
            ),
            Family::F2File => ("f2-file", "one file of 10 kB to 200 MB"),
            Family::F3Stream => (
                "f3-stream",
                "messages or constant bit rate, at 10–110 % of what WiFi carries for a TCP",
            ),
            Family::F4Competitors => (
                "f4-competitors",
                "up to 10 Reno or CUBIC on each path's link, before or after, and web files",
            ),
            Family::F5Shared => (
                "f5-shared",
                "one bottleneck of all paths, with one to four Reno or CUBIC",
            ),
            Family::F6Mobility => (
                "f6-mobility",
                "outages, steps of the rate, fading, a cellular trace",
            ),
            Family::F7Shallow => (
                "f7-shallow",
                "as f4 behind 0.02–0.25 bandwidth-delay products, managed queues, policers",
            ),
            Family::F8Within => (
                "f8-within",
                "2 to 5 connections of the policy, RTTs 1 to 10 times the least",
            ),
            Family::F9Adverse => (
                "f9-adverse",
                "standing queues, lost or bundled ACKs, delayed ACKs, queues of one packet",
            ),
            Family::F10Signal => (
                "f10-signal",
                "a 5G radio whose signal changes, and with it its power and mostly its rate",
            ),
            Family::F11Alike => (
                "f11-alike",
                "paths on links of their own that look like one, or one that nobody else uses",
            ),
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
        let all = || {
            [Kind::Ranked, Kind::Random]
                .into_iter()
                .flat_map(Family::of_kind)
                .copied()
        };
        let names: Vec<&str> = all().map(Family::name).collect();
        let found = all().find(|family| family.name() == text);
        found.ok_or_else(|| {
            Error::usage(format!("there is no family `{text}`")).with_help(suggest(text, &names))
        })
    }
}
