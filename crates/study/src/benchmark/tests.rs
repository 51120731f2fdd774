use joulepath_report::benchmark::{Kind, LEAST_KEPT, Metric, OfFamily};

use super::*;
use crate::batch::{Outcome, Row};
use crate::engine::{EngineName, EngineOptions, open};
use crate::event::unwatched;

fn named(families: &[Family]) -> Vec<String> {
    families
        .iter()
        .map(|family| family.name().to_owned())
        .collect()
}

fn run(request: &Request, stored: Option<&mut StoredRuns>) -> Benchmark {
    let engine = open(EngineName::Packet, &EngineOptions::default())
        .ok()
        .unwrap();
    let (plan, by) = (Plan::of(request).ok().unwrap(), Provenance::default());
    benchmark(
        &plan,
        None,
        &*engine,
        stored,
        &by,
        &mut unwatched,
        &Cancel::new(),
    )
    .ok()
    .unwrap()
}

/// Runs every ranked family but the papers' with eight policies and single paths. The second time,
/// nothing runs and the bytes are equal.
#[test]
fn every_family_runs_and_stored_runs_yield_the_same_bytes() {
    let families = named(&Family::of_kind(Kind::Ranked)[1..]);
    let request = Request {
        quick: true,
        families,
        seeds: Some(1),
        seed: Some(3),
        ..Request::default()
    };
    let mut stored = StoredRuns::default();
    let first = run(&request, Some(&mut stored));
    assert_eq!(
        (first.scenarios.len(), first.left_out.len()),
        (7, 0),
        "{:?}",
        first.left_out
    );
    for row in &first.policies {
        assert_eq!(
            row.missing().collect::<Vec<_>>(),
            [],
            "{}",
            row.entry.policy
        );
        let score = row.mean(Metric::Score).unwrap();
        assert!(score > 1e-3 && score < 1.2, "{}: {score}", row.entry.policy);
    }
    let again = run(&request, Some(&mut stored));
    assert_eq!(again.json().unwrap(), first.json().unwrap());
}

/// A fair case: our one TCP flow takes about the share of one flow of the bottleneck.
#[test]
fn a_single_path_takes_the_share_of_one_tcp() {
    let request = Request {
        quick: true,
        families: named(&[Family::Papers]),
        seeds: Some(4),
        ..Request::default()
    };
    let found = run(&request, None);
    let fastest = found
        .policies
        .iter()
        .find(|row| row.entry.baseline.is_some())
        .unwrap();
    let share = fastest.mean(Metric::Share).unwrap();
    assert!((0.7..1.4).contains(&share), "{share}");
}

#[test]
fn families_keep_one_order_whatever_the_request() {
    let families = named(&[Family::Shared, Family::Bulk]);
    let request = Request {
        families,
        quick: true,
        ..Request::default()
    };
    let files = scenario_files(&Plan::of(&request).ok().unwrap())
        .ok()
        .unwrap();
    let names: Vec<String> = files.into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["bulk-1-01.toml", "shared-1-01.toml"]);
    let help = "shraed".parse::<Family>().err().unwrap().help().unwrap();
    assert!(help.starts_with("did you mean `shared`?"), "{help}");
}

/// A file and several connections: the portfolio's best is the oracle, the search is never worse,
/// and stored runs yield the same bytes.
#[test]
fn no_member_beats_the_oracle_and_the_search_is_at_least_as_good() {
    let request = Request {
        families: named(&[Family::F2File, Family::F8Within]),
        scenarios: Some(1),
        policies: Some("joule,mptcp".to_owned()),
        oracle: true,
        search: Some(20),
        ..Request::default()
    };
    let mut stored = StoredRuns::default();
    let found = run(&request, Some(&mut stored));
    assert_eq!(found.extent.oracle.as_ref().unwrap().search_runs, Some(20));
    let json: serde_json::Value = serde_json::from_str(&found.json().unwrap()).unwrap();
    for scenario in &found.scenarios {
        let oracle = scenario.oracle.as_ref().unwrap();
        let searched = oracle.searched.as_ref().unwrap();
        // Of connections with different paths, a fixed set serves only some.
        assert!(oracle.members >= 6, "{oracle:?}");
        assert!(
            searched.tcp_reference >= oracle.best.tcp_reference,
            "{oracle:?}"
        );
        for policy in json["policies"].as_array().unwrap() {
            let of = |metric: &str| policy["scenarios"][&scenario.name][metric].as_f64();
            if let (Some(oracle), Some(searched)) = (of("oracle"), of("searched")) {
                // Baselines under CUBIC are no members.
                let is_member = policy["baseline"].is_null() || policy["baseline"] == "best";
                assert!(oracle > 0.0 && searched <= oracle, "{policy}");
                assert!(!is_member || oracle <= 1.0, "{policy}");
            } else {
                let is_single = policy["policy"].as_str().unwrap().starts_with("single:");
                assert!(is_single && scenario.family == "f8-within", "{policy}");
            }
        }
    }
    assert_eq!(
        run(&request, Some(&mut stored)).json().unwrap(),
        found.json().unwrap()
    );
}

#[test]
fn oracles_are_for_random_families_and_a_search_needs_one() {
    let refused = |request: Request| Plan::of(&request).err().unwrap().to_string();
    let oracle = refused(Request {
        oracle: true,
        ..Request::default()
    });
    assert!(
        oracle.contains("an oracle is for random families"),
        "{oracle}"
    );
    let search = refused(Request {
        search: Some(9),
        random: Some("train".to_owned()),
        ..Request::default()
    });
    assert!(search.contains("starts from the oracle"), "{search}");
}

/// Competitors of a shared bottleneck keep as much next to NewReno with three seeds as next to the
/// same NewReno with three others: what `kept` calls harm is no noise.
#[test]
fn a_newreno_does_not_harm_competitors_of_a_shared_bottleneck() {
    const SCENARIOS: u32 = 20;
    const SEEDS: u64 = 6;
    let request = Request {
        families: named(&[Family::F5Shared]),
        scenarios: Some(SCENARIOS),
        ..Request::default()
    };
    let (cases, left_out) = cases::cases(&Plan::of(&request).ok().unwrap())
        .ok()
        .unwrap();
    assert!(left_out.is_empty(), "{left_out:?}");
    let on_first = |case: &cases::Case| {
        let first = &field::single_paths(&case.cold.scenario)[0];
        field::prepared(first, &case.cold.scenario).ok().unwrap()
    };
    let setups: Vec<_> = cases.iter().map(on_first).collect();
    let engine = open(EngineName::Packet, &EngineOptions::default())
        .ok()
        .unwrap();
    let (cancel, seeds): (_, Vec<u64>) = (Cancel::new(), (1..=SEEDS).collect());
    let runs = cases.iter().zip(&setups);
    let rows: Vec<Row<'_>> = runs
        .map(|(case, setup)| case.cold.row(&*engine, setup, &seeds))
        .collect();
    let batch = Batch {
        jobs: None,
        cancel: &cancel,
    };
    let table = batch.table(&rows, None, &mut unwatched);
    let bps = |outcome: &Outcome| match outcome {
        Outcome::Run(finished) => finished.run.competitor_groups_bps.iter().sum::<f64>(),
        _ => panic!("{outcome:?}"),
    };
    let kept = |of_scenario: &[Outcome]| {
        let [own, other] = [0, 1].map(|half| {
            of_scenario
                .iter()
                .skip(half)
                .step_by(2)
                .map(bps)
                .sum::<f64>()
        });
        own / other
    };
    let mut all: Vec<f64> = table.iter().map(|row| kept(row)).collect();
    all.sort_by(f64::total_cmp);
    assert!(all[all.len() / 2] >= 0.95, "{all:?}");
    let harmed = all.iter().filter(|&&kept| kept < LEAST_KEPT).count();
    assert!(harmed * 20 <= all.len(), "{all:?}");
}

#[test]
fn families_with_competitors_have_three_seeds_unless_the_request_names_them() {
    let plan = |seeds: Option<u32>| {
        Plan::of(&Request {
            random: Some("check".to_owned()),
            seeds,
            ..Request::default()
        })
        .ok()
        .unwrap()
    };
    let of = |plan: &Plan, family: Family| plan.seeds_of(family);
    let default = plan(None);
    assert_eq!(
        [Family::F1Bulk, Family::F2File, Family::F8Within].map(|family| of(&default, family)),
        [1; 3]
    );
    let harm = [
        Family::F4Competitors,
        Family::F5Shared,
        Family::F7Shallow,
        Family::F9Adverse,
        Family::F11Alike,
    ];
    assert_eq!(harm.map(|family| of(&default, family)), [3; 5]);
    assert_eq!(default.extent("packet", None).seeds_beside_tcps, Some(3));
    let two = plan(Some(2));
    assert_eq!(of(&two, Family::F5Shared), 2);
    assert_eq!(two.extent("packet", None).seeds_beside_tcps, None);
}

/// A policy that is a baseline has one row; the others are added.
#[test]
fn every_table_has_the_baselines_that_a_device_can_run_once() {
    let request = Request {
        families: named(&[Family::F2File, Family::F8Within]),
        scenarios: Some(1),
        policies: Some("linux,mptcp".to_owned()),
        ..Request::default()
    };
    let found = run(&request, None);
    let names: Vec<&str> = found
        .policies
        .iter()
        .map(|row| row.entry.policy.as_str())
        .collect();
    let expected = [
        "linux",
        "mptcp",
        "single:FIRST[cc=cubic]",
        "single-best[cc=cubic]",
        "single:PATH",
    ];
    assert_eq!(names, expected);
    for row in &found.policies {
        assert_eq!(
            row.missing().collect::<Vec<_>>(),
            [],
            "{}",
            row.entry.policy
        );
        // Connections with different paths have no single path.
        let has_share = !row.entry.policy.starts_with("single:");
        assert_eq!(
            row.versus.contains_key("f8-within"),
            has_share,
            "{}",
            row.entry.policy
        );
        assert!(row.versus["f2-file"].mean.mean > 0.0);
    }
    let mptcp = &found.policies[1].families["f2-file"][&Metric::TimeToMptcp];
    assert!(
        matches!(mptcp, OfFamily::Quantiles(found) if found.median.mean == 1.0),
        "{mptcp:?}"
    );
}
