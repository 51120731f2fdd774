//! The predicted gain of a fix, compared with what the fix yields: the drawn connection with the
//! fix, in the packet engine.

use joulepath_study::remedy::predict;
use joulepath_why::finding::Remedy;
use joulepath_why::report::findings;
use joulepath_why::subject::Subject;

use crate::draw::{Draw, Half};
use crate::host::Config;
use crate::world::World;
use crate::{ATTEMPTS, FAULTS, FRESH, healthy};

/// Draws of each cause.
const DRAWS: u64 = 12;
/// Required of a predicted gain: its difference from the real one, as a factor, in the median and
/// in all but one of ten.
const MEDIAN: f64 = 0.25;
const WITHIN: f64 = 1.0 / 3.0;
const MOST: f64 = 0.9;
/// Required of a lower bound: the real gain is no smaller than this part of it.
const HOLDS: f64 = 0.1;
/// Causes whose fix the engine models. Bufferbloat is judged by its RTT, the others by their rate.
const MODELLED: [&str; 6] = [
    "receive-buffer",
    "send-buffer",
    "peer-buffer",
    "head-of-line",
    "random-loss",
    "bufferbloat",
];

/// The connection with the fix.
fn fixed(world: &World, remedy: &Remedy) -> World {
    let mut fixed = world.clone();
    match remedy {
        Remedy::Controller(name) => fixed.controller = name,
        Remedy::ReceiveBuffer(bytes) | Remedy::SendBuffer(bytes) => {
            fixed.buffer_bytes = *bytes as f64
        }
        Remedy::Add(_) => {}
        Remedy::Without(index) => {
            fixed.paths.remove(*index);
            fixed.config = Config::good(1);
        }
    }
    fixed
}

/// A prediction, judged.
struct Judged {
    /// Relative difference of the predicted and the real factor; positive: too much was predicted.
    difference: f64,
    at_least: bool,
}

/// `None` without a prediction.
fn judged(name: &str, world: &World, seed: u64) -> Option<Judged> {
    let observation = world.observe(seed);
    let subjects = Subject::all(&observation);
    let finding = findings(&subjects[0])
        .into_iter()
        .find(|finding| finding.cause == name)?;
    let remedy = finding.remedy?;
    let gain = predict(&subjects[0], &remedy)?;
    let (before, after) = (world.outcome(seed), fixed(world, &remedy).outcome(seed));
    let (predicted, real) = match name {
        "bufferbloat" => (gain.before_rtt_s / gain.after_rtt_s, before.1 / after.1),
        _ => (gain.after_bps / gain.before_bps, after.0 / before.0),
    };
    if std::env::var_os("JOULEPATH_DETAILS").is_some() {
        let mbit = |bps: f64| bps / 1e6;
        println!(
            "  {name} {seed}: predicted {:.2} → {:.2} Mbit/s, {:.0} → {:.0} ms; \
             real {:.2} → {:.2}, {:.0} → {:.0}; \
             seen {:.2}; {remedy:?}",
            mbit(gain.before_bps),
            mbit(gain.after_bps),
            gain.before_rtt_s * 1e3,
            gain.after_rtt_s * 1e3,
            mbit(before.0),
            mbit(after.0),
            before.1 * 1e3,
            after.1 * 1e3,
            mbit(subjects[0].rate_bps()),
        );
    }
    // The RTT is no bound.
    let at_least = gain.at_least && name != "bufferbloat";
    Some(Judged {
        difference: predicted / real - 1.0,
        at_least,
    })
}

fn median(all: &[Judged]) -> f64 {
    let mut apart: Vec<f64> = all.iter().map(|one| one.difference.abs()).collect();
    apart.sort_by(f64::total_cmp);
    apart.get(apart.len() / 2).copied().unwrap_or(f64::NAN)
}

/// What is required of all gains.
pub(crate) struct Totals {
    /// Median difference of those that are no bounds.
    median: f64,
    /// Part of them that is within a third.
    within: f64,
    /// Part of the lower bounds that hold.
    held: f64,
}

/// Prints the table.
pub(crate) fn table(half: Half, base: u64) -> Totals {
    let of = |name: &'static str| {
        std::thread::spawn(move || {
            let (_, inject) = FAULTS
                .into_iter()
                .find(|(fault, _)| *fault == name)
                .expect("it is in the list");
            let base = base + 900_000_000;
            let one = |number: u64| {
                let mut attempts = (0..ATTEMPTS).map(|attempt| {
                    let mut draw = Draw::new(half, base + number * ATTEMPTS + attempt);
                    let mut world = healthy(&mut draw);
                    inject(&mut world, &mut draw).map(|()| world)
                });
                let world = attempts.find_map(|world| world).expect("some draw pays");
                judged(name, &world, number)
            };
            let (bounds, exact): (Vec<Judged>, Vec<Judged>) =
                (0..DRAWS).filter_map(one).partition(|one| one.at_least);
            let held = bounds.iter().filter(|one| one.difference <= HOLDS).count();
            println!(
                "{name:16} {} of {DRAWS} predicted, median difference {:.3}; {} lower bounds, {held} hold",
                exact.len(),
                median(&exact),
                bounds.len()
            );
            (exact, bounds)
        })
    };
    let jobs: Vec<_> = MODELLED.into_iter().map(of).collect();
    let (mut exact, mut bounds) = (vec![], vec![]);
    for job in jobs {
        let (some, others) = job.join().expect("no draw fails");
        exact.extend(some);
        bounds.extend(others);
    }
    let part = |all: &[Judged], is: fn(&Judged) -> bool| {
        all.iter().filter(|one| is(one)).count() as f64 / all.len().max(1) as f64
    };
    let totals = Totals {
        median: median(&exact),
        within: part(&exact, |one| one.difference.abs() <= WITHIN),
        held: part(&bounds, |one| one.difference <= HOLDS),
    };
    let Totals {
        median,
        within,
        held,
    } = totals;
    println!(
        "{half:?}: median difference {median:.3}, {within:.2} within a third, {held:.2} of the bounds hold"
    );
    totals
}

impl Totals {
    /// Whether they meet the requirements.
    pub(crate) fn is_right(&self) -> bool {
        self.median <= MEDIAN && self.within >= MOST && self.held >= MOST
    }
}

#[test]
fn the_fix_yields_the_predicted_gain_and_no_less_than_a_lower_bound() {
    assert!(table(Half::Judging, FRESH).is_right());
}
