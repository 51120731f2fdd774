//! Radios whose power follows their signal.

use joulepath_model::random::{Domain, Stream};
use joulepath_model::signal::{SignalSpec, Walk};
use joulepath_model::units::Dbm;

use super::*;
use crate::snapshot::{Strength, StrengthSource};

/// At 300 Mbit/s, mmWave draws 2.8 W at −80 dBm and 4.7 W or more below −92 dBm; the other radio
/// draws 4 W.
fn world() -> World {
    let config = "intent = \"frugal\"\ntransfer = \"1 GB\"\n\
                  [[interface]]\nname = \"wlan0\"\nrate = \"300 Mbit/s\"\n\
                  energy = { per_mbps = \"0 mW\", active = \"4 W\", sunk_while = \"open\" }\n\
                  [[interface]]\nname = \"wwan0\"\nrate = \"300 Mbit/s\"\nenergy = \"5g-mmwave-2021\"\n";
    World::new(read_live(config).unwrap_or_else(|errors| panic!("{errors}")))
}

fn reading(dbm: f64) -> Option<Strength> {
    Some(Strength {
        dbm,
        age: Nanos::ZERO,
        source: StrengthSource::Command,
    })
}

/// Changes of the role of mmWave over readings that come every 2 s, and its last role.
fn changes(world: &mut World, readings: impl IntoIterator<Item = f64>) -> (usize, Role) {
    let (mut changes, mut role) = (0, world.roles(1)[1]);
    for dbm in readings {
        world.lte().strength = reading(dbm);
        let next = world.roles(2)[1];
        changes += usize::from((next == Regular) != (role == Regular));
        role = next;
    }
    (changes, role)
}

#[test]
fn frugal_leaves_a_radio_whose_signal_became_weak() {
    let mut world = world();
    world.lte().strength = reading(-80.0);
    assert_eq!(world.roles(60), [Unused, Regular]);
    world.lte().strength = reading(-110.0);
    assert_eq!(world.roles(120), [Regular, Unused]);
    world.lte().strength = reading(-75.0);
    assert_eq!(world.roles(700), [Unused, Regular]);
    // Without a reading, the profile's own numbers count: those of −80 dBm.
    world.lte().strength = None;
    assert_eq!(world.roles(700), [Unused, Regular]);
}

#[test]
fn noise_around_the_signal_changes_nothing() {
    // Independent readings with a deviation of 4 dB. Smoothed over 10 s, readings 2 s apart deviate
    // by 4 dB √(0.18 / 1.82) = 1.3 dB: 5 dB are 4 deviations.
    for at in [-85.0, -90.0, -95.0] {
        let mut world = world();
        world.lte().strength = reading(at);
        world.pass(120);
        let mut random = Stream::new(1, Domain::Shadowing, 7);
        let (changes, _) = changes(&mut world, (0..1800).map(|_| at + 4.0 * random.normal()));
        assert!(changes <= 1, "{at} dBm: {changes} changes in an hour");
    }
}

#[test]
fn a_walk_out_of_a_cell_and_back_switches_few_times() {
    for seed in 0..10 {
        let leg = |distance_m, speed_mps| {
            let walk = Walk {
                distance_m,
                speed_mps,
                at_1m: Dbm(-28.0),
                exponent: 3.5,
                aside_m: 10.0,
                spacing_m: None,
                sigma_db: 4.0,
                correlation_m: 20.0,
                interval: Nanos::from_secs(2),
            };
            SignalSpec::Walk(walk).drawn(Nanos::from_secs(600), seed, 1)
        };
        // 30 m to 450 m: −80 to −121 dBm; back, and into the house next to the mast.
        let walked = leg(30.0, 0.7)
            .into_iter()
            .chain(leg(450.0, -0.7))
            .map(|(_, dbm)| dbm.0);
        let out = walked.chain(std::iter::repeat_n(-75.0, 400));
        let mut world = world();
        world.lte().strength = reading(-80.0);
        assert_eq!(world.roles(60), [Unused, Regular]);
        let (changes, role) = changes(&mut world, out);
        // One at least each way; shadowing of 4 dB may double them.
        assert!((2..=4).contains(&changes), "seed {seed}: {changes} changes");
        assert_eq!(role, Regular);
    }
}

/// RSRP of a phone that a person carried through the coverage of a 5G mmWave cell, dBm, each
/// second: 182 s of run `mi_0118_dl_tcp8_1` in the data of Narayanan et al., SIGCOMM 2021.
#[rustfmt::skip]
const WALKED: [i8; 182] = [
    -95, -94, -94, -94, -92, -91, -91, -92, -93, -91, -89, -90, -90, -89, -89, -89, -89, -89, -89, -89,
    -89, -87, -87, -87, -84, -86, -86, -86, -84, -88, -84, -89, -89, -87, -89, -86, -89, -86, -86, -86,
    -84, -84, -84, -84, -84, -81, -81, -83, -83, -83, -83, -83, -81, -76, -84, -84, -81, -81, -74, -80,
    -84, -76, -76, -78, -81, -78, -75, -79, -79, -79, -79, -79, -79, -79, -79, -76, -78, -78, -78, -78,
    -78, -84, -84, -84, -82, -82, -82, -82, -82, -82, -82, -80, -80, -83, -83, -83, -81, -78, -78, -76,
    -73, -77, -77, -77, -77, -79, -77, -77, -74, -80, -80, -82, -82, -82, -82, -82, -82, -82, -82, -82,
    -82, -80, -78, -78, -80, -80, -80, -80, -80, -80, -80, -78, -82, -79, -81, -81, -79, -79, -75, -77,
    -80, -80, -80, -80, -80, -78, -78, -78, -78, -78, -78, -81, -79, -81, -81, -81, -79, -77, -77, -75,
    -81, -81, -79, -81, -81, -81, -81, -81, -86, -86, -88, -92, -92, -94, -89, -87, -93, -93, -91, -93,
    -93, -95,
];

#[test]
fn a_recorded_walk_into_a_cell_and_out_again_switches_once_each_way() {
    let readings = || WALKED.iter().step_by(2).map(|dbm| f64::from(*dbm));
    // The readings themselves cross -90 dBm, above which mmWave is the cheaper radio, more often
    // than that.
    let weak: Vec<bool> = readings().map(|dbm| dbm < -90.0).collect();
    assert_eq!(weak.windows(2).filter(|pair| pair[0] != pair[1]).count(), 4);
    let mut world = world();
    world.lte().strength = reading(-95.0);
    assert_eq!(world.roles(120), [Regular, Unused]);
    // The person stays where the record ends.
    let stays = std::iter::repeat_n(-95.0, 200);
    assert_eq!(changes(&mut world, readings().chain(stays)), (2, Unused));
}
