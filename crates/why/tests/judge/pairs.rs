//! Two causes at once: both must be among the first findings.

use crate::draw::{Draw, Half};
use crate::world::BEGIN_S;
use crate::{ATTEMPTS, DRAWS, FAULTS, FRESH, Inject, found, healthy, pays_without};

/// Required: both are named.
pub(crate) const BOTH: f64 = 0.75;
/// A finding counts as named if it is among so many.
const AMONG: usize = 3;

/// Two causes that exist together; `None`: the injections of both, one after the other.
const PAIRS: [(&str, &str, Option<Inject>); 16] = [
    ("plain-tcp", "random-loss", None),
    ("plain-tcp", "bufferbloat", None),
    ("plain-tcp", "send-buffer", None),
    ("fallback", "bufferbloat", None),
    ("fallback", "peer-buffer", None),
    ("limits", "random-loss", None),
    ("limits", "receive-buffer", None),
    ("no-endpoint", "bufferbloat", None),
    ("no-endpoint", "send-buffer", None),
    ("peer-refuses", "random-loss", None),
    ("wrong-device", "peer-buffer", None),
    ("no-answer", "bufferbloat", None),
    (
        "backup-ignored",
        "bufferbloat",
        Some(|world, draw| {
            world.controller = "cubic";
            world.upload = false;
            world.paths[1].backup = true;
            bloat(world, draw, 0)
        }),
    ),
    (
        "bufferbloat",
        "random-loss",
        Some(|world, draw| {
            world.controller = "cubic";
            bloat(world, draw, 0)?;
            pays_without(world, draw, |world, draw| {
                world.paths[1].loss = draw.range(0.002, 0.03)
            })
        }),
    ),
    (
        "dead-path",
        "random-loss",
        Some(|world, draw| {
            world.controller = draw.one_of(&["cubic", "reno"]);
            world.paths[1].dies_s = Some(BEGIN_S - draw.range(0.5, 3.0));
            pays_without(world, draw, |world, draw| {
                world.paths[0].loss = draw.range(0.002, 0.03)
            })
        }),
    ),
    (
        "dead-path",
        "bufferbloat",
        Some(|world, draw| {
            world.controller = "cubic";
            world.paths[1].dies_s = Some(BEGIN_S - draw.range(0.5, 3.0));
            bloat(world, draw, 0)
        }),
    ),
];

fn bloat(world: &mut crate::World, draw: &mut Draw, path: usize) -> Option<()> {
    world.paths[path].queue = draw.range(5.0, 15.0);
    (world.paths[path].queue * world.paths[path].rtt_s >= 0.2).then_some(())
}

fn judge(half: Half, (a, b, own): (&str, &str, Option<Inject>), base: u64) -> f64 {
    let of = |name: &str| {
        FAULTS
            .into_iter()
            .find(|(fault, _)| *fault == name)
            .expect("it is in the list")
            .1
    };
    let mut both = 0;
    let mut wrong = vec![];
    for number in 0..DRAWS {
        let mut attempts = (0..ATTEMPTS).map(|attempt| {
            let mut draw = Draw::new(half, base + number * ATTEMPTS + attempt);
            let mut world = healthy(&mut draw);
            let injected = match own {
                Some(inject) => inject(&mut world, &mut draw),
                None => of(a)(&mut world, &mut draw).and_then(|()| of(b)(&mut world, &mut draw)),
            };
            injected.map(|()| world)
        });
        let world = attempts
            .find_map(|world| world)
            .unwrap_or_else(|| panic!("{a} and {b} never pay"));
        let found = found(&world, number);
        let is_named = |name: &str| found.iter().take(AMONG).any(|one| one == name);
        both += u32::from(is_named(a) && is_named(b));
        if !is_named(a) || !is_named(b) {
            wrong.push(format!("{number}: {found:?}"));
        }
    }
    let share = f64::from(both) / DRAWS as f64;
    println!(
        "{a} and {b}: both {:.1} %  {}",
        100.0 * share,
        wrong.join(" ")
    );
    share
}

/// Prints the table; returns the mean share of pairs of which both are named.
pub(crate) fn table(half: Half, base: u64) -> f64 {
    let of = |(index, pair): (usize, (&'static str, &'static str, Option<Inject>))| {
        std::thread::spawn(move || judge(half, pair, base + 700_000_000 + 1_000_000 * index as u64))
    };
    let jobs: Vec<_> = PAIRS.into_iter().enumerate().map(of).collect();
    let sum: f64 = jobs
        .into_iter()
        .map(|job| job.join().expect("no draw fails"))
        .sum();
    let mean = sum / PAIRS.len() as f64;
    println!("{half:?}: both of two {:.1} %", 100.0 * mean);
    mean
}

#[test]
fn both_of_two_causes_are_named() {
    let both = table(Half::Judging, FRESH);
    assert!(both >= BOTH, "{both}");
}
