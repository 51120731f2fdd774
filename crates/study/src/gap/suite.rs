//! The default suite: scenarios made for it, and the papers' scenarios with two and three radios.

use std::ffi::OsStr;
use std::path::Path;

use crate::error::Result;
use crate::shipped;
use crate::source::{Overrides, Source};

/// Folder whose scenarios all belong to the suite, unchanged.
const FOLDER: &str = "fidelity/";
/// Scenarios of [`super::Request::quick`].
const QUICK: [&str; 3] = ["fidelity/twins", "fidelity/loss", "fidelity/file"];
/// Policies for the papers' scenarios, the same as for the folder's. The papers' own policies need
/// packet schedulers that the kernel does not have.
const POLICIES: [&str; 5] = [
    "uncoupled",
    "mptcp",
    "mptcp[cc=olia]",
    "mptcp[cc=balia]",
    "dts",
];

/// A paper's scenario or a variant of it, with overrides.
struct Paper {
    name: &'static str,
    variant: Option<&'static str>,
    set: &'static [(&'static str, &'static str)],
}

/// Real time is expensive: endless scenarios stop after 40 or 60 s, many RTTs after the warm-up.
const LOSSY: &[(&str, &str)] = &[("duration", "60 s"), ("warm_up", "2 s"), RACK];
const FADING: &[(&str, &str)] = &[("duration", "40 s"), ("warm_up", "4 s")];
/// `FADING` on two paths of 004 whose propagation delays differ.
const WIRES: &[(&str, &str)] = &far(r#"{ deviation = "2.4 ms", correlation = "1 s" }"#);
const RADIOS: &[(&str, &str)] = &far(r#"{ deviation = "24 ms", correlation = "1 s" }"#);
/// Linux has no other recovery; 6.17 removed the rest of RFC 6675.
const RACK: (&str, &str) = ("transport.recovery", "rack");
/// The emulator carries at most 1 Gbit/s in total, which does not limit 35 Mbit/s of messages.
const SLOWER: &[(&str, &str)] = &[
    ("duration", "25 s"),
    ("path.wifi.rate", "150 Mbit/s"),
    ("path.lte.rate", "300 Mbit/s"),
    ("path.mmwave.rate", "500 Mbit/s"),
    ("path.lte.delay", "25 ms"),
    ("path.mmwave.delay", "5 ms"),
    ("path.wifi.queue", "170 packets"),
    ("path.lte.queue", "420 packets"),
    ("path.mmwave.queue", "85 packets"),
];

const fn far(jitter: &'static str) -> [(&'static str, &'static str); 6] {
    [
        FADING[0],
        FADING[1],
        ("path.slow.delay", "120 ms"),
        ("path.slow.jitter", jitter),
        ("path.fast.queue", "50 packets"),
        ("path.slow.queue", "50 packets"),
    ]
}

const PAPERS: [Paper; 12] = [
    Paper {
        name: "papers/000-table1",
        variant: None,
        set: LOSSY,
    },
    Paper {
        name: "papers/000-table1-mss1460",
        variant: None,
        set: LOSSY,
    },
    Paper {
        name: "papers/001-wlan-wlan",
        variant: Some("1000kB"),
        set: &[],
    },
    Paper {
        name: "papers/001-3g-wlan",
        variant: Some("1000kB"),
        set: &[],
    },
    Paper {
        name: "papers/001-3g-wlan",
        variant: None,
        set: &[],
    },
    Paper {
        name: "papers/002-fig17",
        variant: None,
        set: FADING,
    },
    Paper {
        name: "papers/002-fig17",
        variant: Some("4MB"),
        set: FADING,
    },
    Paper {
        name: "papers/003-three-radios",
        variant: None,
        set: SLOWER,
    },
    Paper {
        name: "papers/004-wired",
        variant: None,
        set: WIRES,
    },
    Paper {
        name: "papers/004-wired",
        variant: Some("loss"),
        set: WIRES,
    },
    Paper {
        name: "papers/004-wireless",
        variant: None,
        set: RADIOS,
    },
    Paper {
        name: "papers/004-wireless",
        variant: Some("loss"),
        set: RADIOS,
    },
];

/// A scenario with its name in tables, its overrides, and its policies if they differ from its own.
pub(super) struct Entry {
    pub(super) source: Source,
    pub(super) name: String,
    pub(super) set: Overrides,
    pub(super) policies: Option<&'static [&'static str]>,
}

impl Entry {
    /// A scenario without changes.
    fn plain(source: Source) -> Self {
        let file = source.name().rsplit('/').next().unwrap_or(source.name());
        let name = file.trim_end_matches(".toml").to_owned();
        Entry {
            source,
            name,
            set: vec![],
            policies: None,
        }
    }

    fn of(paper: &Paper) -> Result<Self> {
        let plain = Self::plain(Source::named(paper.name)?);
        let set: Overrides = paper
            .set
            .iter()
            .map(|&(key, value)| (key.to_owned(), value.to_owned()))
            .collect();
        let set = plain.source.overrides(paper.variant, &set)?;
        let name = paper.variant.map_or(plain.name.clone(), |variant| {
            format!("{}:{variant}", plain.name)
        });
        Ok(Entry {
            name,
            set,
            policies: Some(&POLICIES),
            ..plain
        })
    }
}

/// The whole suite; with `quick`, three scenarios.
pub(super) fn all(quick: bool) -> Result<Vec<Entry>> {
    if quick {
        return QUICK
            .iter()
            .map(|name| Ok(Entry::plain(Source::named(name)?)))
            .collect();
    }
    let folder = shipped::SCENARIOS
        .iter()
        .filter(|(name, _)| name.starts_with(FOLDER));
    let made = folder.map(|&shipped| Ok(Entry::plain(Source::shipped(shipped))));
    made.chain(PAPERS.iter().map(Entry::of)).collect()
}

/// Entries for `argument`: a file, else a shipped scenario. A paper's scenario of the suite comes
/// with the suite's overrides and all its variants, or the one after a colon.
pub(super) fn named(argument: impl AsRef<OsStr>) -> Result<Vec<Entry>> {
    let argument = argument.as_ref();
    // Names of shipped scenarios are UTF-8.
    let text = argument.to_str().unwrap_or_default();
    let (scenario, variant) = text.split_once(':').unzip();
    let scenario = scenario.unwrap_or(text);
    let wanted = |paper: &&Paper| {
        shipped::find(scenario).is_some_and(|(name, _)| name == paper.name)
            && (variant.is_none() || variant == paper.variant)
    };
    let papers: Vec<&Paper> = PAPERS.iter().filter(wanted).collect();
    if papers.is_empty() || Path::new(argument).exists() {
        return Ok(vec![Entry::plain(Source::open(argument)?)]);
    }
    papers.into_iter().map(Entry::of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(entries: Result<Vec<Entry>>) -> Vec<String> {
        entries
            .ok()
            .unwrap()
            .into_iter()
            .map(|entry| entry.name)
            .collect()
    }

    #[test]
    fn the_suite_has_at_least_ninety_cells_and_radios_of_all_five_papers() {
        let all = all(false).ok().unwrap();
        let mut cells = 0;
        for entry in &all {
            let scenario = entry
                .source
                .load(&entry.set)
                .unwrap_or_else(|error| panic!("{error}"));
            cells += entry
                .policies
                .map_or(scenario.compare.policies.len(), <[_]>::len);
        }
        assert!(cells >= 90, "{cells}");
        for paper in ["000", "001", "002", "003", "004"] {
            assert!(
                all.iter().any(|entry| entry.name.starts_with(paper)),
                "{paper}"
            );
        }
    }

    #[test]
    fn a_papers_scenario_uses_the_suites_overrides() {
        assert_eq!(
            names(named("papers/004-wired")),
            ["004-wired", "004-wired:loss"]
        );
        assert_eq!(names(named("papers/004-wired:loss")), ["004-wired:loss"]);
        let entry = named("papers/000-table1").ok().unwrap().remove(0);
        assert!(
            entry
                .set
                .contains(&("transport.recovery".to_owned(), "rack".to_owned()))
        );
        assert_eq!(entry.policies, Some(&POLICIES[..]));
    }

    #[test]
    fn other_scenarios_are_compared_unchanged() {
        let entry = named("quick").ok().unwrap().remove(0);
        assert_eq!(
            (entry.name.as_str(), entry.set.len(), entry.policies),
            ("quick", 0, None)
        );
        assert!(named("papers/004-wired:windy").is_err());
    }
}
