//! Selects the scenarios that count, and how to run them. A rule with a stated reason leaves out
//! the others.

use std::collections::BTreeMap;

use joulepath_model::scenario::{Scenario, Workload};
use joulepath_model::units::Nanos;
use joulepath_report::benchmark::LeftOut;

use super::family::Family;
use super::plan::Plan;
use super::scenarios::{self, Random};
use super::warm::history;
use crate::batch::Loaded;
use crate::error::Result;
use crate::shipped;
use crate::source::Source;

/// Folder of the papers' scenarios.
const FOLDER: &str = "papers/";
/// Time after the warm-up at which scenarios without an end stop. Windows, queues and bursts
/// complete many cycles in it.
const LONGEST: Nanos = Nanos::from_secs(120);
/// Like [`LONGEST`], for `--quick`.
const LONGEST_QUICK: Nanos = Nanos::from_secs(10);
/// The papers' scenarios of `--quick`: a shared bottleneck, and a file.
const QUICK: [&str; 2] = ["000-fairness", "001-3g-wlan"];
/// Maximum number of connections under test. More belong to a network, not to a device.
const MOST_CONNECTIONS: u32 = 100;

pub(super) struct Case {
    /// Name without folder and extension.
    pub(super) name: String,
    pub(super) family: Family,
    pub(super) cold: Loaded,
    /// The scenario with the path history of an earlier visit, if policies start warm.
    pub(super) warm: Option<Loaded>,
}

/// The scenarios of a plan that count, and the scenarios left out.
///
/// # Errors
/// If a scenario cannot be loaded.
pub(super) fn cases(plan: &Plan) -> Result<(Vec<Case>, Vec<LeftOut>)> {
    let (mut counting, mut left_out) = (vec![], vec![]);
    for &family in &plan.families {
        for random in random(plan, family) {
            counting.push(random_case(plan, family, random)?);
        }
        if family == Family::Papers {
            papers(plan.is_quick, &mut counting, &mut left_out)?;
        }
    }
    Ok((counting, left_out))
}

/// The random scenarios of a family; none for the papers' family.
pub(super) fn random(plan: &Plan, family: Family) -> impl Iterator<Item = Random> {
    let (seed, set) = (plan.scenario_seed, plan.set);
    let numbers = plan.first..plan.first.saturating_add(plan.scenarios);
    numbers.filter_map(move |number| match set {
        None => scenarios::of_seed(family, seed, number),
        Some(set) => scenarios::of_set(family, set, number),
    })
}

fn random_case(plan: &Plan, family: Family, random: Random) -> Result<Case> {
    let source = Source::given(
        &random.name,
        random.text,
        random.trace.into_iter().collect(),
        None,
    );
    if plan.set.is_none() {
        return load(&source, family, plan.is_quick);
    }
    // Scenarios of sets run unchanged.
    let loaded = |overrides| Loaded::of(&source, random.name.clone(), overrides);
    let cold = loaded(vec![])?;
    let known =
        (!plan.warm.is_empty()).then(|| history(&cold.scenario, family as u64, random.number));
    let warm = known.map(loaded).transpose()?;
    Ok(Case {
        name: random.name.clone(),
        family,
        cold,
        warm,
    })
}

fn papers(quick: bool, counting: &mut Vec<Case>, left_out: &mut Vec<LeftOut>) -> Result<()> {
    let loaded = shipped::SCENARIOS
        .iter()
        .filter(|(name, _)| name.starts_with(FOLDER))
        .map(|&shipped| load(&Source::shipped(shipped), Family::Papers, quick))
        .collect::<Result<Vec<Case>>>()?;
    let sources: Vec<(String, Option<String>)> = loaded
        .iter()
        .map(|case| (case.name.clone(), case.cold.scenario.source.clone()))
        .collect();
    let readings = readings(&sources);
    for case in loaded {
        let reading = readings
            .get(&case.name)
            .map(|first| format!("another reading of {first}"));
        let why = unfit(&case.cold.scenario).or(reading);
        let why = why.or_else(|| {
            (quick && !QUICK.contains(&case.name.as_str())).then(|| "--quick".to_owned())
        });
        match why {
            Some(why) => left_out.push(LeftOut {
                scenario: case.name,
                why,
            }),
            None => counting.push(case),
        }
    }
    Ok(())
}

fn load(source: &Source, family: Family, quick: bool) -> Result<Case> {
    let whole = source.load(&[])?;
    let until = whole.warm_up + if quick { LONGEST_QUICK } else { LONGEST };
    let is_cut = |workload: &Workload| match workload {
        Workload::Bulk => true,
        Workload::File { .. } => false,
        Workload::Messages { .. } | Workload::Stream { .. } | Workload::Requests { .. } => quick,
    };
    let endless = whole
        .connections
        .iter()
        .any(|group| is_cut(&group.workload));
    let overrides = match endless && whole.duration > until {
        true => vec![("duration".to_owned(), until.to_string())],
        false => vec![],
    };
    let name = source
        .name()
        .strip_prefix(FOLDER)
        .unwrap_or(source.name())
        .to_owned();
    Ok(Case {
        cold: Loaded::of(source, name.clone(), overrides)?,
        name,
        family,
        warm: None,
    })
}

/// The reason why policies cannot be compared with single paths there.
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

/// If scenarios share a source and differ in what the paper leaves open, the one with the shortest
/// name counts. Returns the others, each mapped to that name.
fn readings(sources: &[(String, Option<String>)]) -> BTreeMap<String, String> {
    let mut first: BTreeMap<&str, &str> = BTreeMap::new();
    let with_source = || {
        sources
            .iter()
            .filter_map(|(name, source)| Some((name.as_str(), source.as_deref()?)))
    };
    for (name, source) in with_source() {
        let shortest = first.entry(source).or_insert(name);
        if name.len() < shortest.len() {
            *shortest = name;
        }
    }
    let others = with_source().filter(|(name, source)| first[source] != *name);
    others
        .map(|(name, source)| (name.to_owned(), first[source].to_owned()))
        .collect()
}

#[cfg(test)]
mod tests {
    use joulepath_report::benchmark::Kind;

    use super::super::plan::Request;
    use super::*;

    #[test]
    fn readings_of_one_source_count_once() {
        let source = |name: &str, source: &str| (name.to_owned(), Some(source.to_owned()));
        let all = [
            source("a-long", "table 1"),
            source("a", "table 1"),
            source("b", "table 2"),
            ("c".into(), None),
        ];
        assert_eq!(
            readings(&all),
            BTreeMap::from([("a-long".to_owned(), "a".to_owned())])
        );
    }

    fn plan(families: &[Family]) -> Plan {
        Plan::of(&Request {
            families: families
                .iter()
                .map(|family| family.name().to_owned())
                .collect(),
            ..Request::default()
        })
        .ok()
        .unwrap()
    }

    #[test]
    fn all_families_have_at_least_sixty_scenarios() {
        let (counting, _) = cases(&plan(&[])).ok().unwrap();
        assert!(counting.len() >= 60, "{}", counting.len());
        for &family in Family::of_kind(Kind::Ranked) {
            assert!(
                counting.iter().filter(|case| case.family == family).count() >= 8,
                "{family}"
            );
        }
    }

    #[test]
    fn counted_scenarios_have_several_paths_and_the_others_a_reason() {
        let (counting, left_out) = cases(&plan(&[Family::Papers])).ok().unwrap();
        assert!(
            counting
                .iter()
                .all(|case| unfit(&case.cold.scenario).is_none())
        );
        let names: Vec<&str> = counting.iter().map(|case| case.name.as_str()).collect();
        assert!(
            names.contains(&"000-table1") && names.contains(&"002-fig5a"),
            "{names:?}"
        );
        let why = |name: &str| {
            left_out
                .iter()
                .find(|left| left.scenario == name)
                .map(|left| left.why.as_str())
        };
        assert_eq!(
            why("000-table1-mss1460"),
            Some("another reading of 000-table1")
        );
        assert_eq!(
            why("002-fig10"),
            Some("a data centre: a network, not a device")
        );
    }

    #[test]
    fn scenarios_without_an_end_are_cut_and_others_are_not() {
        let (counting, _) = cases(&plan(&[Family::Papers])).ok().unwrap();
        let set = |name: &str| {
            &counting
                .iter()
                .find(|case| case.name == name)
                .unwrap()
                .cold
                .overrides
        };
        assert_eq!(
            *set("002-fig5b"),
            [("duration".to_owned(), "120 s".to_owned())]
        );
        assert!(set("001-3g-wlan").is_empty());
    }

    #[test]
    fn one_path_or_many_connections_are_unfit() {
        let scenario = |change: &str| {
            let text = crate::shipped::find("quick").unwrap().1;
            joulepath_model::scenario::load(&format!("{text}\n{change}"), &|_| Err(String::new()))
                .unwrap()
        };
        assert_eq!(unfit(&scenario("")), None);
        let connection = |keys: &str| scenario(&format!("[[connection]]\nname = \"c\"\n{keys}"));
        assert!(
            unfit(&connection("count = 101"))
                .unwrap()
                .contains("101 connections")
        );
        assert!(
            unfit(&connection("paths = [\"wifi\"]"))
                .unwrap()
                .contains("different paths")
        );
    }
}
