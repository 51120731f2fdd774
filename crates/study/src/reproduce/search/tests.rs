//! The boxes are complete and can be run; the search finds a region that is known.

use std::collections::BTreeSet;

use joulepath_report::search::Holds;

use super::rounds::Searched;
use super::*;
use crate::reproduce::experiments;
use crate::reproduce::runs;
use crate::reproduce::study::Extent;
use crate::source::Overrides;

fn request(points: u32) -> Request {
    Request { points: Some(points), seed: 1, is_quick: true, jobs: None }
}

fn packet() -> Box<dyn Engine> {
    let name = crate::engine::EngineName::Packet;
    crate::engine::open(name, &crate::engine::EngineOptions::default()).unwrap()
}

#[test]
fn every_claim_of_a_paper_has_a_box_or_says_why_nothing_can_be_searched() {
    let boxed: Vec<&str> = boxes().iter().flat_map(|of| of.experiments).copied().collect();
    let distinct: BTreeSet<&str> = boxed.iter().copied().collect();
    assert_eq!(distinct.len(), boxed.len(), "a claim has two boxes");
    for experiment in experiments() {
        let has_box = boxed.contains(&experiment.id);
        match experiment.standing {
            Standing::Measured => assert!(has_box || experiment.id == "claim-4", "{}", experiment.id),
            Standing::Open(_) | Standing::Slip | Standing::Ours => assert!(!has_box, "{}", experiment.id),
        }
    }
}

#[test]
fn every_range_has_a_reason_and_a_usual_value() {
    for of in boxes() {
        let keys: BTreeSet<&str> = of.parameters.iter().map(|parameter| parameter.key).collect();
        assert_eq!(keys.len(), of.parameters.len(), "{}: a key stands twice", of.name);
        for parameter in of.parameters {
            assert!(parameter.reason.len() > 12, "{}, {}", of.name, parameter.key);
            assert!(!parameter.usual.0.is_empty(), "{}, {}", of.name, parameter.key);
        }
    }
}

/// Every corner and some points inside: each key, policy and value must exist.
#[test]
fn every_point_of_every_box_can_be_run() {
    let plan = Plan::of(&request(6), experiments(), packet()).unwrap();
    for mut of in plan.searched {
        let parameters = of.claim_box.parameters;
        for index in 0..parameters.len() {
            for place in [0.0, 0.34, 0.5, 0.67, 1.0] {
                let mut places = of.points[0].places().to_vec();
                places[index] = place;
                of.points.push(Point::at(parameters, &places));
            }
        }
        let mut plan = runs::Plan::new(Extent::Full, 1);
        for point in 0..of.points.len() {
            for claim in 0..of.experiments.len() {
                for study in of.studies(claim, point) {
                    let wanted = plan.want(&study);
                    let words = of.where_to(point);
                    assert!(wanted.is_ok(), "{} at {words:?}: {}", of.claim_box.name, wanted.unwrap_err());
                }
            }
        }
    }
}

/// What a command line says of a point is that point: the same runs.
#[test]
fn a_point_survives_its_command() {
    let plan = Plan::of(&request(8), experiments(), packet()).unwrap();
    let studies = |of: &Searched| format!("{:?}", of.studies(0, 0));
    for of in plan.searched.iter().filter(|of| of.hypercube > 0) {
        let parameters = of.claim_box.parameters;
        for point in &of.points {
            let at: Overrides =
                point.changed(parameters).map(|(p, value)| (p.key.to_owned(), value.text.clone())).collect();
            let read = Point::parse(parameters, &at).unwrap();
            let [mut printed, mut again] = [of.again(0, 0, 1), of.again(0, 0, 1)];
            (printed.points, again.points) = (vec![point.clone()], vec![read]);
            assert_eq!(studies(&printed), studies(&again), "{}: {at:?}", of.claim_box.name);
        }
    }
}

#[test]
fn a_search_of_one_claim_finds_where_it_holds_and_shows_it_again() {
    let only = |id: &str| experiments().into_iter().filter(|of| of.id == id).collect::<Vec<_>>();
    let by = Provenance { command: "joulepath".to_owned(), ..Provenance::default() };
    let plan = Plan::of(&request(5), only("003-thm1"), packet()).unwrap();
    let mut stored = StoredRuns::default();
    let found = search(plan, &mut stored, &by, &mut crate::event::unwatched, &Cancel::new()).unwrap();
    assert_eq!(found.claims.len(), 1);
    let claim = &found.claims[0];
    assert_eq!(claim.verdict, Holds::Throughout, "{}", claim.sentence);
    assert_eq!((claim.part_holds, claim.part_fails, claim.part_undecided), (1.0, 0.0, 0.0));
    let at = Overrides::new();
    let again = super::at(
        &request(5),
        only("003-thm1"),
        &at,
        packet(),
        &by,
        &mut crate::event::unwatched,
        &Cancel::new(),
    );
    assert_eq!(again.unwrap().experiments[0].verdict, joulepath_report::Verdict::Reproduced);
}
