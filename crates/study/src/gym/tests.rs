//! Environments: reproducibility, refusals and rewards.

use std::num::NonZeroUsize;
use std::sync::Arc;

use joulepath_model::cancel::Cancel;
use joulepath_model::units::Nanos;

use super::*;
use crate::benchmark::{Family, Set};
use crate::event::unwatched;
use crate::source::Source;

fn one(changes: &[(&str, &str)]) -> World {
    let source = Source::named("quick").unwrap();
    let set: Vec<(String, String)> = changes
        .iter()
        .map(|&(k, v)| (k.to_owned(), v.to_owned()))
        .collect();
    World::one("quick", source.load(&set).unwrap())
}

fn spec(world: World, steers: Steers, policy: &str) -> Spec {
    Spec::of(
        world,
        steers,
        Meaning::Relative,
        policy.parse().unwrap(),
        None,
        Reward::default(),
    )
    .unwrap()
}

/// Actions that look random and are reproducible.
fn action(step: u64, path: u64) -> f32 {
    let x = (step * 7 + path * 3 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40;
    (x as f64 / f64::from(1 << 24)) as f32 * 2.0 - 1.0
}

/// Plays one episode: all observations and rewards.
fn played(environment: &mut Environment, spec: &Spec, start: Start) -> (Vec<f32>, Vec<Step>) {
    let mut seen = vec![0.0; spec.observation_len()];
    environment.reset(start, &mut seen).unwrap();
    let (mut all, mut steps) = (seen.clone(), vec![]);
    while !environment.is_over() {
        let action: Vec<f32> = (0..spec.action_len())
            .map(|path| action(steps.len() as u64, path as u64))
            .collect();
        steps.push(environment.step(&action, &mut seen).unwrap());
        all.extend(&seen);
    }
    (all, steps)
}

#[test]
fn the_same_seed_and_actions_yield_the_same_bytes_and_others_do_not() {
    for steers in [Steers::Rates, Steers::Windows, Steers::Paths] {
        let spec = Arc::new(spec(one(&[]), steers, "mptcp"));
        let mut environment = Environment::new(Arc::clone(&spec));
        let first = played(&mut environment, &spec, Start::Seed(5));
        let next = played(&mut environment, &spec, Start::Next);
        assert_eq!(
            first,
            played(&mut environment, &spec, Start::Seed(5)),
            "{steers:?}"
        );
        assert_eq!(
            next,
            played(&mut environment, &spec, Start::Next),
            "{steers:?}"
        );
        assert_ne!(first, next, "{steers:?}");
        assert!(
            first.0.iter().all(|x| (0.0..=1.0).contains(x)),
            "{steers:?}"
        );
        assert!(
            first.1.last().unwrap().truncated && first.1.len() > 5,
            "{steers:?}: {:?}",
            first.1
        );
    }
}

/// Rewards add up to price · data − energy of the run's result, and a run without an agent equals
/// the command line's.
#[test]
fn rewards_add_up_to_the_result_of_the_run() {
    let reward = Reward {
        price: Some(2.0),
        ..Reward::default()
    };
    let policy = "joule".parse().unwrap();
    let spec = Spec::of(
        one(&[]),
        Steers::Nothing,
        Meaning::Relative,
        policy,
        None,
        reward,
    );
    let spec = Arc::new(spec.unwrap());
    let mut environment = Environment::new(Arc::clone(&spec));
    played(
        &mut environment,
        &spec,
        Start::Exact {
            draw: None,
            seed: 3,
        },
    );
    let summary = environment.summary().unwrap().clone();
    let result = environment.result().unwrap();
    assert!(environment.result().is_err(), "the episode is gone");
    let scenario = Source::named("quick").unwrap().load(&[]).unwrap();
    let setup = joulepath_control::Setup::of(&"joule".parse().unwrap(), &scenario).unwrap();
    let whole = joulepath_packet::run(
        &scenario,
        &setup,
        3,
        joulepath_packet::RunOptions::default(),
    )
    .unwrap();
    assert_eq!(result, whole);
    let bits = result.goodput_bps * result.measured_s;
    let earned = 2.0 * bits / 1e6 - result.energy_j;
    assert!(
        (summary.earned_j - earned).abs() < 1e-6,
        "{} and {earned}",
        summary.earned_j
    );
    assert!((summary.energy_j - result.energy_j).abs() < 1e-9);
    assert!((summary.link_bound_share().unwrap() - 1.0).abs() < 1.0);
}

#[test]
fn a_complete_file_terminates_and_an_incomplete_one_is_truncated() {
    let file = |size| [("workload.kind", "file"), ("workload.size", size)];
    for (size, done) in [("200 kB", true), ("200 MB", false)] {
        let spec = Arc::new(spec(one(&file(size)), Steers::Windows, "mptcp"));
        let mut environment = Environment::new(Arc::clone(&spec));
        let mut seen = vec![0.0; spec.observation_len()];
        environment.reset(Start::Seed(1), &mut seen).unwrap();
        let last = loop {
            let step = environment.step(&[0.5, 0.5], &mut seen).unwrap();
            if step.terminated || step.truncated {
                break step;
            }
        };
        assert_eq!((last.terminated, last.truncated), (done, !done));
        let left = seen[seen.len() - 2];
        assert_eq!(left == 0.0, done, "{left} left");
        let error = environment.step(&[0.5, 0.5], &mut seen).unwrap_err();
        assert!(error.help().unwrap().contains("reset"));
    }
}

#[test]
fn a_fleet_equals_single_environments_on_any_number_of_threads() {
    let spec = || Arc::new(spec(one(&[("duration", "300 ms")]), Steers::Rates, "mptcp"));
    let fleet = |threads| {
        let mut fleet = Fleet::new(spec(), 3, NonZeroUsize::new(threads)).unwrap();
        let starts = (0..3).map(|seed| Some(Start::Seed(seed))).collect();
        let mut all = vec![fleet.reset(starts).unwrap()];
        for _ in 0..40 {
            all.push(fleet.step(&[0.3, 0.2, -0.1, 0.6, 0.5, 0.0]).unwrap());
        }
        all
    };
    let (serial, parallel) = (fleet(1), fleet(3));
    assert_eq!(serial, parallel);
    // The third environment, alone.
    let spec = spec();
    let mut environment = Environment::new(Arc::clone(&spec));
    let (len, mut ends) = (spec.observation_len(), 0);
    let mut seen = vec![0.0; len];
    environment.reset(Start::Seed(2), &mut seen).unwrap();
    for outcome in &serial {
        assert_eq!(outcome.seen[2 * len..], seen);
        if environment.is_over() {
            environment.reset(Start::Next, &mut seen).unwrap();
            ends += 1;
            assert!(
                outcome
                    .ended
                    .iter()
                    .any(|(i, summary)| *i == 2 && summary.steps > 0)
            );
        } else {
            environment.step(&[0.5, 0.0], &mut seen).unwrap();
        }
    }
    assert!(ends > 0, "no episode ended");
}

#[test]
fn episodes_have_different_draws_and_none_is_held_out() {
    let world = |range| World::family(Family::F2File, range, Some(64)).unwrap();
    let names = |range, seed| {
        let spec = Arc::new(spec(world(range), Steers::Paths, "mptcp"));
        let mut environment = Environment::new(Arc::clone(&spec));
        let mut seen = vec![0.0; spec.observation_len()];
        let mut name = |start| {
            environment.reset(start, &mut seen).unwrap();
            environment.summary().unwrap().name.clone()
        };
        [
            name(Start::Seed(seed)),
            name(Start::Next),
            name(Start::Next),
        ]
    };
    let train = names(Set::Train, 1);
    assert_eq!(train, names(Set::Train, 1));
    assert!(train[0] != train[1] && train[1] != train[2], "{train:?}");
    assert!(
        train.iter().all(|name| name.starts_with("f2-file-train-")),
        "{train:?}"
    );
    assert!(
        names(Set::Check, 1)
            .iter()
            .all(|name| name.starts_with("f2-file-check-"))
    );
}

#[test]
fn unsuitable_scenarios_are_refused_with_alternatives() {
    let refused = |family, range, draws| World::family(family, range, draws).unwrap_err();
    assert!(
        refused(Family::F1Bulk, Set::Sealed, None)
            .help()
            .unwrap()
            .contains("train")
    );
    assert!(
        refused(Family::F8Within, Set::Train, None)
            .help()
            .unwrap()
            .contains("f1-bulk")
    );
    assert!(
        refused(Family::Bulk, Set::Train, None)
            .to_string()
            .contains("`bulk`")
    );
    assert!(
        refused(Family::F1Bulk, Set::Train, Some(0))
            .to_string()
            .contains("0 scenarios")
    );
    let wrong = |policy: &str, steers, interval| {
        let policy = policy.parse().unwrap();
        Spec::of(
            one(&[]),
            steers,
            Meaning::Relative,
            policy,
            interval,
            Reward::default(),
        )
        .unwrap_err()
    };
    assert!(
        wrong("joule", Steers::Paths, None)
            .to_string()
            .contains("chooses paths itself")
    );
    assert!(
        wrong("mtpcp", Steers::Rates, None)
            .help()
            .unwrap()
            .contains("mptcp")
    );
    assert!(
        wrong("mptcp", Steers::Rates, Some(Nanos(5)))
            .help()
            .unwrap()
            .contains("1 ms")
    );
    let spec = Arc::new(spec(one(&[]), Steers::Rates, "mptcp"));
    let mut environment = Environment::new(Arc::clone(&spec));
    let mut seen = vec![0.0; spec.observation_len()];
    environment.reset(Start::Seed(1), &mut seen).unwrap();
    for action in [[0.0, 1.5], [f32::NAN, 0.0]] {
        let error = environment.step(&action, &mut seen).unwrap_err();
        let said = error.to_string();
        assert!(
            said.contains("not within") && said.contains("`quick`, seed "),
            "{said}"
        );
    }
    assert!(
        environment
            .step(&[0.0], &mut seen)
            .unwrap_err()
            .to_string()
            .contains("instead of 2")
    );
    assert!(
        environment.step(&[0.0, 0.0], &mut seen).is_ok(),
        "a wrong action changes nothing"
    );
}

#[test]
fn scores_equal_those_of_single_episodes() {
    let spec = Arc::new(spec(one(&[]), Steers::Nothing, "single:wifi"));
    let tasks: Vec<Task> = (1..=4)
        .map(|seed| Task {
            spec: Arc::clone(&spec),
            draw: None,
            seed,
        })
        .collect();
    let two = NonZeroUsize::new(2);
    let scored = score(&tasks, two, &mut unwatched, &Cancel::new()).unwrap();
    let mut environment = Environment::new(Arc::clone(&spec));
    played(
        &mut environment,
        &spec,
        Start::Exact {
            draw: None,
            seed: 2,
        },
    );
    assert_eq!(scored[1].as_ref(), environment.summary());
    assert_eq!(scored.iter().flatten().count(), 4);
    let cancelled = Cancel::new();
    cancelled.set();
    assert!(
        score(&tasks, two, &mut unwatched, &cancelled)
            .unwrap()
            .iter()
            .all(Option::is_none)
    );
}
