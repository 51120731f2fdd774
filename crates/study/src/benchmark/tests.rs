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
