use joulepath_report::benchmark::{Kind, Metric};

use super::*;
use crate::engine::{EngineName, EngineOptions, open};
use crate::event::unwatched;

fn run(request: &Request, stored: Option<&mut StoredRuns>) -> Benchmark {
    let engine = open(EngineName::Packet, &EngineOptions::default()).ok().unwrap();
    let (plan, by) = (Plan::of(request.clone()).ok().unwrap(), Provenance::default());
    benchmark(&plan, None, &*engine, stored, &by, &mut unwatched, &Cancel::new()).ok().unwrap()
}

/// Runs every ranked family but the papers' with eight policies and single paths. The second time, nothing
/// runs and the bytes are equal.
#[test]
fn every_family_runs_and_stored_runs_yield_the_same_bytes() {
    let families = Family::of_kind(Kind::Ranked)[1..].to_vec();
    let request =
        Request { quick: true, families, seeds: Some(1), scenario_seed: Some(3), ..Request::default() };
    let mut stored = StoredRuns::default();
    let first = run(&request, Some(&mut stored));
    assert_eq!((first.scenarios.len(), first.left_out.len()), (7, 0), "{:?}", first.left_out);
    for row in &first.policies {
        assert_eq!(row.missing().collect::<Vec<_>>(), [], "{}", row.entry.policy);
        let score = row.mean(Metric::Score).unwrap();
        assert!(score > 1e-3 && score < 1.2, "{}: {score}", row.entry.policy);
    }
    let again = run(&request, Some(&mut stored));
    assert_eq!(again.json().unwrap(), first.json().unwrap());
}

/// A fair case: our one TCP flow takes about the share of one flow of the bottleneck.
#[test]
fn a_single_path_takes_the_share_of_one_tcp() {
    let request =
        Request { quick: true, families: vec![Family::Papers], seeds: Some(4), ..Request::default() };
    let found = run(&request, None);
    let fastest = found.policies.iter().find(|row| row.entry.baseline.is_some()).unwrap();
    let share = fastest.mean(Metric::Share).unwrap();
    assert!((0.7..1.4).contains(&share), "{share}");
}

#[test]
fn families_keep_one_order_whatever_the_request() {
    let families = vec![Family::Shared, Family::Bulk];
    let request = Request { families, quick: true, ..Request::default() };
    let files = scenario_files(&Plan::of(request).ok().unwrap()).ok().unwrap();
    let names: Vec<String> = files.into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["bulk-1-01.toml", "shared-1-01.toml"]);
    let help = "shraed".parse::<Family>().err().unwrap().help().unwrap();
    assert!(help.starts_with("did you mean `shared`?"), "{help}");
}

/// A file and several connections: the portfolio's best is the oracle, the search is never worse, and stored
/// runs yield the same bytes.
#[test]
fn no_member_beats_the_oracle_and_the_search_is_at_least_as_good() {
    let request = Request {
        families: vec![Family::F2File, Family::F8Within],
        scenarios: Some(1),
        policies: vec!["joule".parse().unwrap(), "mptcp".parse().unwrap()],
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
        assert!(searched.tcp_reference >= oracle.best.tcp_reference, "{oracle:?}");
        for policy in json["policies"].as_array().unwrap() {
            let of = |metric: &str| policy["scenarios"][&scenario.name][metric].as_f64();
            if let (Some(oracle), Some(searched)) = (of("oracle"), of("searched")) {
                assert!(oracle > 0.0 && oracle <= 1.0 && searched <= oracle, "{policy}");
            } else {
                assert!(policy["policy"] == "single:PATH" && scenario.family == "f8-within", "{policy}");
            }
        }
    }
    assert_eq!(run(&request, Some(&mut stored)).json().unwrap(), found.json().unwrap());
}

#[test]
fn oracles_are_for_random_families_and_a_search_needs_one() {
    let refused = |request: Request| Plan::of(request).err().unwrap().to_string();
    let oracle = refused(Request { oracle: true, ..Request::default() });
    assert!(oracle.contains("an oracle is for random families"), "{oracle}");
    let set = Some(Set::Train);
    let search = refused(Request { search: Some(9), set, ..Request::default() });
    assert!(search.contains("starts from the oracle"), "{search}");
}
