//! Random events, and a radio that flaps.

use proptest::prelude::*;

use super::*;

/// A random event.
#[derive(Clone, Debug)]
enum Happens {
    Usable(usize, bool),
    Address(usize, u8),
    Routed(usize, bool),
    Stalled(usize, bool),
    Sole(usize, usize),
    Rate(usize, f64),
    Capacity(usize, f64),
    Used(usize, u64),
    Carried(usize, u64),
    Battery(f64, bool),
    Gone(usize, bool),
    Nothing,
}

fn happens() -> impl Strategy<Value = (u64, Happens)> {
    let which = 0..3usize;
    let what = prop_oneof![
        4 => (which.clone(), any::<bool>()).prop_map(|(i, on)| Happens::Usable(i, on)),
        2 => (which.clone(), 0..4u8).prop_map(|(i, host)| Happens::Address(i, host)),
        1 => (which.clone(), any::<bool>()).prop_map(|(i, on)| Happens::Routed(i, on)),
        4 => (which.clone(), any::<bool>()).prop_map(|(i, on)| Happens::Stalled(i, on)),
        1 => (which.clone(), 0..3usize).prop_map(|(i, sole)| Happens::Sole(i, sole)),
        3 => (which.clone(), 0.0..40e6).prop_map(|(i, bps)| Happens::Rate(i, bps)),
        2 => (which.clone(), 1e5..80e6).prop_map(|(i, bps)| Happens::Capacity(i, bps)),
        2 => (which.clone(), 0..4u64).prop_map(|(i, gb)| Happens::Used(i, gb)),
        2 => (which.clone(), 0..400_000u64).prop_map(|(i, bytes)| Happens::Carried(i, bytes)),
        1 => (0.0..1.0, any::<bool>()).prop_map(|(level, on)| Happens::Battery(level, on)),
        1 => (which, any::<bool>()).prop_map(|(i, gone)| Happens::Gone(i, gone)),
        2 => Just(Happens::Nothing),
    ];
    // Mostly after seconds, sometimes after hours: at least three simulated days.
    (
        prop_oneof![6 => 1..10u64, 3 => 10..300u64, 1 => 300..20_000u64],
        what,
    )
}

const NAMES: [&str; 3] = ["wlan0", "wwan0", "tun0"];

/// Most changes of one interface's endpoints in an hour: an optional role waits 10 s, 20 s … 640 s,
/// which allows 11 changes. An urgent role waits a tenth of that, which allows 64, and as many
/// losses.
const MOST_CHANGES: usize = 11 + 2 * 64;

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn random_machines_keep_the_rules_and_bound_flapping(
        events in prop::collection::vec(happens(), 50..400),
        intent in prop::sample::select(&Intent::ALL[..5]),
        own in prop::option::of(prop::sample::select(&Intent::ALL[..])),
        metered in any::<bool>(),
    ) {
        let lte = format!(
            "metered = {metered}\n{}quota = {{ soft = \"1 GB\", hard = \"3 GB\" }}\nbattery_below = \"30 %\"",
            own.map_or(String::new(), |own| format!("intent = \"{}\"\n", own.word())),
        );
        let word = intent.word();
        let machine = format!("intent = \"{word}\"\nbattery_below = \"15 %\"\ndeadline = \"20 s\"");
        let mut world = World::new(config(&machine, "rate = \"20 Mbit/s\"", &lte));
        let tunnel = Interface { kind: Some("tun".into()), ..interface(4, "tun0") };
        world.snapshot.interfaces.push(tunnel);
        let mut all = world.snapshot.interfaces.clone();
        let mut gone = [false; 3];
        let mut changes: BTreeMap<&str, Vec<u64>> = BTreeMap::new();
        let mut before: BTreeMap<&str, Role> = BTreeMap::new();
        let mut now_s = 0;
        for (after_s, event) in events {
            match event {
                Happens::Usable(i, on) => all[i].usable = on,
                Happens::Address(i, 0) => all[i].addresses.clear(),
                Happens::Address(i, host) => all[i].addresses = vec![[10, 0, i as u8, host].into()],
                Happens::Routed(i, on) => all[i].routed = on,
                Happens::Stalled(i, on) => all[i].stalled = on,
                Happens::Sole(i, sole) => all[i].sole = sole,
                Happens::Rate(i, bps) => all[i].rate_bps = bps,
                Happens::Capacity(i, bps) => all[i].capacity_bps = Some(bps),
                Happens::Used(i, gb) => all[i].used = Some(Bytes(gb * 1_000_000_000)),
                Happens::Carried(i, bytes) => all[i].carried_bytes += bytes,
                Happens::Battery(level, discharging) => {
                    world.snapshot.battery = Some(Battery { level, discharging });
                }
                Happens::Gone(i, is_gone) => gone[i] = is_gone,
                Happens::Nothing => {}
            }
            // Polls every two seconds at first, later when a change is due.
            let end_s = now_s + after_s;
            while now_s < end_s {
                let there = all.iter().zip(gone).filter(|(_, gone)| !gone);
                world.snapshot.interfaces = there.map(|(interface, _)| interface.clone()).collect();
                world.snapshot.now = Nanos::from_secs(now_s);
                let decision = world.decider.decide(&world.config, &world.overrides, &world.snapshot);
                let wanted = decision.endpoints.clone().unwrap_or_default();
                for (i, name) in NAMES.into_iter().enumerate() {
                    let role = match gone[i] {
                        true => Unused,
                        false => told(&decision, name).role,
                    };
                    if before.insert(name, role).unwrap_or_default() != role {
                        changes.entry(name).or_default().push(now_s);
                    }
                    let addresses = wanted.iter().filter(|one| all[i].addresses.contains(&one.address));
                    let here = addresses.filter(|one| one.interface == all[i].index).count();
                    let hard = name == "wwan0" && all[i].used.is_some_and(|used| used.0 >= 3_000_000_000);
                    let off = name == "wwan0" && own == Some(Intent::Off);
                    let denied = name == "tun0" || hard || off || gone[i] || !all[i].usable || !all[i].routed;
                    prop_assert!(!denied || (here == 0 && role == Unused), "{name} at {now_s}: {decision:?}");
                    prop_assert_eq!(here > 0, role != Unused);
                }
                prop_assert!(wanted.len() <= places::number(&world.snapshot));
                let next_s = decision.look_again.map_or(end_s, |at| at.0.div_ceil(1_000_000_000));
                now_s = if end_s - now_s < 60 { now_s + 2 } else { next_s.clamp(now_s + 1, end_s) };
            }
            now_s = end_s;
        }
        for (name, at) in changes {
            for (first, &start) in at.iter().enumerate() {
                let hour = at[first..].iter().take_while(|&&at| at < start + 3600).count();
                prop_assert!(hour <= MOST_CHANGES, "{name}: {hour} changes in an hour from {start} s on");
            }
        }
    }
}

/// Most changes of both radios in an hour while one of them flaps, after the first hour, which
/// allows more.
const MOST_SWITCHES_AN_HOUR: usize = 28;
const MOST_SWITCHES_IN_THE_FIRST_HOUR: usize = 74;

#[test]
fn a_radio_that_flaps_for_a_day_changes_roles_rarely() {
    for (period, intent) in [
        (2, "handover"),
        (7, "interactive"),
        (20, "frugal"),
        (45, "aggregate"),
    ] {
        let mut world = World::of(&format!("intent = \"{intent}\""));
        let (mut before, mut changes) = ([Unused; 2], [0; 24]);
        for s in 0..86_400 {
            world.wifi().usable = s / period % 2 == 0;
            let roles = world.roles(1);
            changes[s / 3600] += roles
                .iter()
                .zip(before)
                .filter(|(now, before)| *now != before)
                .count();
            before = roles;
        }
        assert!(
            changes[0] <= MOST_SWITCHES_IN_THE_FIRST_HOUR,
            "{intent} every {period} s: {changes:?}"
        );
        let most = changes[1..].iter().max().copied().unwrap_or(0);
        assert!(
            most <= MOST_SWITCHES_AN_HOUR,
            "{intent} every {period} s: {changes:?}"
        );
        assert!(
            world
                .pass(1)
                .interfaces
                .iter()
                .any(|told| told.role == Regular)
        );
    }
}
