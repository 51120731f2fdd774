//! The boxes are complete and can run; the search finds a known region.

use joulepath_report::search::Holds;

use super::rounds::{Round, Searched};
use super::*;
use crate::reproduce::runs;
use crate::reproduce::space::Range;
use crate::reproduce::study::Extent;
use crate::source::Overrides;

fn request(points: u32) -> Request {
    Request {
        points: Some(points),
        seed: 1,
        is_quick: true,
        jobs: None,
    }
}

fn packet() -> Box<dyn Engine> {
    let name = crate::engine::EngineName::Packet;
    crate::engine::open(name, &crate::engine::EngineOptions::default()).unwrap()
}

fn experiments() -> Vec<Arc<Experiment>> {
    papers().unwrap().experiments.clone()
}

#[test]
fn every_claim_of_a_paper_has_a_box_or_a_reason_for_none() {
    for experiment in experiments() {
        let has_box = experiment.in_box.is_some() || !experiment.weaker_of.is_empty();
        assert_eq!(
            has_box,
            experiment.standing == Standing::Measured,
            "{}",
            experiment.id
        );
        for part in &experiment.weaker_of {
            let is_it = |of: &Arc<Experiment>| of.id == *part && of.in_box.is_some();
            assert!(
                experiments().iter().any(is_it),
                "{} depends on `{part}`, which has no box",
                experiment.id
            );
        }
    }
}

#[test]
fn every_range_has_a_reason_and_every_box_a_claim() {
    for of in &papers().unwrap().boxes {
        for parameter in &of.parameters {
            assert!(parameter.reason.len() > 6, "{}, {}", of.name, parameter.key);
        }
        let is_in = |experiment: &Arc<Experiment>| {
            experiment
                .in_box
                .as_ref()
                .is_some_and(|in_box| in_box.name == of.name)
        };
        for claim in experiments().iter().filter(|experiment| is_in(experiment)) {
            assert!(
                !of.studies(&claim.studies).is_empty(),
                "{} has no study in its box",
                claim.id
            );
        }
        assert!(
            experiments().iter().any(is_in),
            "{}: no claim has this box",
            of.name
        );
    }
}

/// Number of base units in a unit: seconds, bit/s, bytes, packets or per cent.
fn in_base_units(unit: &str) -> Option<(&'static str, f64)> {
    Some(match unit {
        "us" | "µs" => ("s", 1e-6),
        "ms" => ("s", 1e-3),
        "s" | "second" | "seconds" => ("s", 1.0),
        "kbit/s" => ("bit/s", 1e3),
        "Mbit/s" => ("bit/s", 1e6),
        "Gbit/s" => ("bit/s", 1e9),
        "B" => ("B", 1.0),
        "kB" | "KB" => ("B", 1e3),
        "KiB" => ("B", 1024.0),
        "MB" => ("B", 1e6),
        "packets" => ("packets", 1.0),
        "%" => ("%", 1.0),
        _ => return None,
    })
}

/// Numbers with a unit of the parameter's kind that its reason names, in the parameter's unit.
fn named(reason: &str, unit: &str) -> Vec<f64> {
    let Some((kind, ours)) = in_base_units(unit) else {
        return vec![];
    };
    let plain = |word: &str| {
        word.trim_matches(|c: char| "(),;:\".".contains(c))
            .to_owned()
    };
    let words: Vec<String> = reason.split_whitespace().map(plain).collect();
    let number = |two: &[String]| {
        let (number, (of, size)) = (two[0].parse::<f64>().ok()?, in_base_units(&two[1])?);
        (of == kind).then_some(number * size / ours)
    };
    words.windows(2).filter_map(number).collect()
}

#[test]
fn every_box_contains_its_usual_value_and_the_values_that_its_reason_names() {
    assert_eq!(
        named("100 ms is printed; 20 s or 1 s, 3 packets", "ms"),
        [100.0, 20_000.0, 1000.0]
    );
    let mut count = 0;
    for of in &papers().unwrap().boxes {
        for parameter in &of.parameters {
            let (Range::Linear(low, high, unit) | Range::Log(low, high, unit)) = &parameter.range
            else {
                continue;
            };
            for value in named(&parameter.reason, unit)
                .into_iter()
                .chain([parameter.usual.1])
            {
                // A conversion of units rounds.
                let is_in = (low * (1.0 - 1e-9)..=high * (1.0 + 1e-9)).contains(&value);
                assert!(
                    is_in,
                    "{}, {}: {value} {unit} is not in {low} to {high}",
                    of.name, parameter.key
                );
                count += 1;
            }
        }
    }
    assert!(count > 60, "{count}");
}

#[test]
fn a_search_runs_the_numbers_that_the_paper_prints() {
    let plan = Plan::of(&request(6), experiments(), packet()).unwrap();
    let points = |name: &str| -> Vec<Option<String>> {
        let mut all = plan.searched.iter();
        let of = all.find(|of| of.claim_box.name == name).unwrap();
        assert_eq!(
            of.hypercube, 6,
            "fractions of the box exclude printed numbers"
        );
        (7..of.points.len())
            .map(|point| of.where_to(point))
            .collect()
    };
    let far = Some("topology.delay = 100000 us".to_owned());
    assert_eq!(points("002, FatTree"), [far]);
    let fast = Some("rate = 1000 Mbit/s".to_owned());
    assert_eq!(
        points("002, two bottlenecks"),
        [fast],
        "100 Mbit/s is usual"
    );
    assert!(points("003, three radios").is_empty(), "V = 100 is usual");
}

/// Every corner and some points inside: each key, policy and value must exist.
#[test]
fn every_point_of_every_box_can_be_run() {
    let plan = Plan::of(&request(6), experiments(), packet()).unwrap();
    for mut of in plan.searched {
        let parameters = of.claim_box.parameters.clone();
        for index in 0..parameters.len() {
            for place in [0.0, 0.34, 0.5, 0.67, 1.0] {
                let mut places = of.points[0].places().to_vec();
                places[index] = place;
                of.points.push(Point::at(&parameters, &places));
            }
        }
        let mut plan = runs::Plan::new(Extent::Full, 1);
        for point in 0..of.points.len() {
            for claim in 0..of.experiments.len() {
                for study in of.studies(claim, point) {
                    let wanted = plan.want(&study);
                    let words = of.where_to(point);
                    assert!(
                        wanted.is_ok(),
                        "{} at {words:?}: {}",
                        of.claim_box.name,
                        wanted.unwrap_err()
                    );
                }
            }
        }
    }
}

/// Parsing a point's command line gives the same runs.
#[test]
fn a_points_command_gives_the_same_point() {
    let plan = Plan::of(&request(8), experiments(), packet()).unwrap();
    let studies = |of: &Searched| format!("{:?}", of.studies(0, 0));
    for of in plan.searched.iter().filter(|of| of.hypercube > 0) {
        let parameters = &of.claim_box.parameters;
        for point in &of.points {
            let at: Overrides = point
                .changed(parameters)
                .map(|(p, value)| (p.key.clone(), value.text.clone()))
                .collect();
            let read = Point::parse(parameters, &at).unwrap();
            let [mut printed, mut again] = [of.again(0, 0, 1), of.again(0, 0, 1)];
            (printed.points, again.points) = (vec![point.clone()], vec![read]);
            assert_eq!(
                studies(&printed),
                studies(&again),
                "{}: {at:?}",
                of.claim_box.name
            );
        }
    }
}

#[test]
fn a_search_finds_where_a_claim_holds_and_its_command_shows_it() {
    let only = |id: &str| {
        experiments()
            .into_iter()
            .filter(|of| of.id == id)
            .collect::<Vec<_>>()
    };
    let by = Provenance {
        command: "joulepath".to_owned(),
        ..Provenance::default()
    };
    let plan = Plan::of(&request(5), only("003-thm1"), packet()).unwrap();
    let mut stored = StoredRuns::default();
    let found = search(
        plan,
        &mut stored,
        &by,
        &mut crate::event::unwatched,
        &Cancel::new(),
    )
    .unwrap();
    assert_eq!(found.claims.len(), 1);
    let claim = &found.claims[0];
    assert_eq!(claim.verdict, Holds::Throughout, "{}", claim.sentence);
    assert_eq!(
        (claim.part_holds, claim.part_fails, claim.part_undecided),
        (1.0, 0.0, 0.0)
    );
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
    assert_eq!(
        again.unwrap().experiments[0].verdict,
        joulepath_report::Verdict::Reproduced
    );
}

#[test]
fn the_check_of_a_condition_runs_only_what_the_verdict_needs_and_has_the_same_states() {
    let with_box = |of: &Arc<Experiment>| of.id == "003-fig4c" || of.id == "003-fig3a";
    let claims: Vec<_> = experiments().into_iter().filter(with_box).collect();
    let mut plan = Plan::of(&request(2), claims.clone(), packet()).unwrap();
    let deciding = claims.iter().map(|of| Arc::new(of.with_deciding_runs()));
    let mut only = Plan::of(&request(2), deciding.collect(), packet()).unwrap();
    let runs = |of: &Searched, claim| -> usize {
        let studies = of.studies(claim, 0);
        studies.iter().map(|study| study.policies.len()).sum()
    };
    let [all, few] = [&plan, &only].map(|of| &of.searched[0]);
    assert_eq!((runs(all, 0), runs(few, 0)), (4, 2), "one load");
    assert_eq!((runs(all, 1), runs(few, 1)), (8, 4), "two loads");
    let mut stored = StoredRuns::default();
    let mut round = Round {
        engine: &*packet(),
        jobs: None,
        first_seed: 1,
        stored: &mut stored,
        cancel: &Cancel::new(),
        tally: (0, 0.0),
        lacks: 0,
    };
    let mut states = |of: &mut Vec<Searched>| {
        let ran = round.run(of, &mut crate::event::unwatched);
        ran.map(|()| of[0].states()).unwrap()
    };
    let all = states(&mut plan.searched);
    assert_eq!(all, states(&mut only.searched));
    assert!(all.iter().flatten().any(|of| *of != State::Undecided));
}
