//! Which scenarios count, and how they are run. What is left out is left out by a rule, and said.

use std::collections::BTreeMap;

use joulepath_model::scenario::{Scenario, Workload};
use joulepath_model::units::Nanos;
use joulepath_report::league::LeftOut;

use crate::error::Result;
use crate::shipped;
use crate::source::{Overrides, Source};

/// Scenarios of this folder count.
const FOLDER: &str = "papers/";
/// What has no end is stopped this long after the warm-up: windows, queues and bursts have gone through many
/// cycles by then.
const LONGEST: Nanos = Nanos::from_secs(120);
/// As [`LONGEST`], for `--quick`.
const LONGEST_QUICK: Nanos = Nanos::from_secs(20);
/// What `--quick` leaves of them: a shared bottleneck, lossy radios, a file.
const QUICK: [&str; 3] = ["000-fairness", "000-table1", "001-3g-wlan"];
/// More connections under test than this are a network's business, not a device's.
const MOST_CONNECTIONS: u32 = 100;

/// One scenario as it is run.
pub(super) struct Case {
    /// Without folder and extension.
    pub(super) name: String,
    pub(super) sha256: String,
    /// What is set in it.
    pub(super) overrides: Overrides,
    pub(super) scenario: Scenario,
}

/// The scenarios that count, and those that do not.
///
/// # Errors
/// If one cannot be loaded.
pub(super) fn cases(quick: bool) -> Result<(Vec<Case>, Vec<LeftOut>)> {
    let longest = if quick { LONGEST_QUICK } else { LONGEST };
    let loaded = shipped::SCENARIOS
        .iter()
        .filter(|(name, _)| name.starts_with(FOLDER))
        .map(|&shipped| load(&Source::shipped(shipped), longest))
        .collect::<Result<Vec<Case>>>()?;
    let sources: Vec<(String, Option<String>)> =
        loaded.iter().map(|case| (case.name.clone(), case.scenario.source.clone())).collect();
    let readings = readings(&sources);
    let (mut counting, mut left_out) = (vec![], vec![]);
    for case in loaded {
        let reading = readings.get(&case.name).map(|first| format!("another reading of {first}"));
        let why = unfit(&case.scenario).or(reading);
        let why =
            why.or_else(|| (quick && !QUICK.contains(&case.name.as_str())).then(|| "--quick".to_owned()));
        match why {
            Some(why) => left_out.push(LeftOut { scenario: case.name, why }),
            None => counting.push(case),
        }
    }
    Ok((counting, left_out))
}

fn load(source: &Source, longest: Nanos) -> Result<Case> {
    let whole = source.load(&[])?;
    let endless = whole.connections.iter().any(|group| matches!(group.workload, Workload::Bulk));
    let until = whole.warm_up + longest;
    let overrides = match endless && whole.duration > until {
        true => vec![("duration".to_owned(), until.to_string())],
        false => vec![],
    };
    let scenario = source.load(&overrides)?;
    let name = source.name().strip_prefix(FOLDER).unwrap_or(source.name()).to_owned();
    Ok(Case { name, sha256: source.sha256(&scenario), overrides, scenario })
}

/// Why policies cannot be measured against single paths there.
fn unfit(scenario: &Scenario) -> Option<String> {
    let paths = scenario.paths.len();
    let connections: u32 = scenario.connections.iter().map(|group| group.count).sum();
    match () {
        () if scenario.topology.is_some() => Some("a data centre: a network, not a device".to_owned()),
        () if paths < 2 => Some("it has only one path".to_owned()),
        () if connections > MOST_CONNECTIONS => {
            Some(format!("{connections} connections: a network, not a device"))
        }
        () if scenario.connections.iter().any(|group| group.paths.len() < paths) => Some(
            "its connections use different paths, so that there is no single path to compare with".to_owned(),
        ),
        () => None,
    }
}

/// Of scenarios with one source, which differ in what the paper leaves open, the one with the shortest name
/// counts. Returned are the others, each with that one.
fn readings(sources: &[(String, Option<String>)]) -> BTreeMap<String, String> {
    let mut first: BTreeMap<&str, &str> = BTreeMap::new();
    let with_source =
        || sources.iter().filter_map(|(name, source)| Some((name.as_str(), source.as_deref()?)));
    for (name, source) in with_source() {
        let shortest = first.entry(source).or_insert(name);
        if name.len() < shortest.len() {
            *shortest = name;
        }
    }
    let others = with_source().filter(|(name, source)| first[source] != *name);
    others.map(|(name, source)| (name.to_owned(), first[source].to_owned())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scenario_counts_once_however_it_is_read() {
        let source = |name: &str, source: &str| (name.to_owned(), Some(source.to_owned()));
        let all =
            [source("a-long", "table 1"), source("a", "table 1"), source("b", "table 2"), ("c".into(), None)];
        assert_eq!(readings(&all), BTreeMap::from([("a-long".to_owned(), "a".to_owned())]));
    }

    #[test]
    fn what_counts_has_paths_to_choose_from_and_what_does_not_has_a_reason() {
        let (counting, left_out) = cases(false).ok().unwrap();
        assert!(counting.iter().all(|case| unfit(&case.scenario).is_none()));
        let names: Vec<&str> = counting.iter().map(|case| case.name.as_str()).collect();
        assert!(names.contains(&"000-table1") && names.contains(&"002-fig5a"), "{names:?}");
        let why =
            |name: &str| left_out.iter().find(|left| left.scenario == name).map(|left| left.why.as_str());
        assert_eq!(why("000-table1-mss1460"), Some("another reading of 000-table1"));
        assert_eq!(why("002-fig10"), Some("a data centre: a network, not a device"));
    }

    #[test]
    fn what_has_no_end_is_cut_and_what_ends_is_not() {
        let (counting, _) = cases(false).ok().unwrap();
        let set = |name: &str| &counting.iter().find(|case| case.name == name).unwrap().overrides;
        assert_eq!(*set("002-fig5b"), [("duration".to_owned(), "120 s".to_owned())]);
        assert!(set("001-3g-wlan").is_empty());
    }

    #[test]
    fn one_path_or_a_crowd_is_unfit() {
        let scenario = |change: &str| {
            let text = crate::shipped::find("quick").unwrap().1;
            joulepath_model::scenario::load(&format!("{text}\n{change}"), &|_| Err(String::new())).unwrap()
        };
        assert_eq!(unfit(&scenario("")), None);
        let connection = |keys: &str| scenario(&format!("[[connection]]\nname = \"c\"\n{keys}"));
        assert!(unfit(&connection("count = 101")).unwrap().contains("101 connections"));
        assert!(unfit(&connection("paths = [\"wifi\"]")).unwrap().contains("different paths"));
    }
}
