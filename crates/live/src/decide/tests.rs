mod handover;
mod random;
mod strength;
mod tolerance;

use std::net::IpAddr;

use joulepath_model::scenario::read_live;
use joulepath_model::units::Bytes;

use super::*;
use crate::samples::seen as interface;
use crate::snapshot::{Battery, Remembered};

const WIFI: &str = "[[interface]]\nname = \"wlan0\"\ncost = 1\nenergy = \"wifi-huang2012\"\n";
const LTE: &str = "[[interface]]\nname = \"wwan0\"\ncost = 2\nenergy = \"lte-huang2012\"\n";

/// A configuration with WiFi and LTE; `wifi` and `lte` are extra keys of their sections.
fn config(machine: &str, wifi: &str, lte: &str) -> LiveConfig {
    read_live(&format!("{machine}\n{WIFI}{wifi}\n{LTE}{lte}\n"))
        .unwrap_or_else(|errors| panic!("{errors}"))
}

/// A machine that polls every second.
struct World {
    decider: Decider,
    config: LiveConfig,
    overrides: Overrides,
    snapshot: Snapshot,
}

impl World {
    fn new(config: LiveConfig) -> Self {
        let interfaces = vec![interface(2, "wlan0"), interface(3, "wwan0")];
        let families = Families { v4: 1, v6: 0 };
        let snapshot = Snapshot {
            interfaces,
            families,
            ..Snapshot::default()
        };
        World {
            decider: Decider::default(),
            config,
            overrides: Overrides::default(),
            snapshot,
        }
    }

    fn of(machine: &str) -> Self {
        Self::new(config(machine, "", ""))
    }

    /// Advances by `seconds`. Returns the last decision.
    fn pass(&mut self, seconds: u64) -> Decision {
        let look = |_| {
            self.snapshot.now = self.snapshot.now.saturating_add(Nanos::from_secs(1));
            self.decider
                .decide(&self.config, &self.overrides, &self.snapshot)
        };
        (0..seconds.max(1)).map(look).last().unwrap()
    }

    /// Roles of WiFi and LTE after `seconds`.
    fn roles(&mut self, seconds: u64) -> [Role; 2] {
        let decision = self.pass(seconds);
        ["wlan0", "wwan0"].map(|name| told(&decision, name).role)
    }

    fn wifi(&mut self) -> &mut Interface {
        &mut self.snapshot.interfaces[0]
    }

    fn lte(&mut self) -> &mut Interface {
        &mut self.snapshot.interfaces[1]
    }
}

fn told<'a>(decision: &'a Decision, name: &str) -> &'a Told {
    decision
        .interfaces
        .iter()
        .find(|told| told.name == name)
        .unwrap()
}

use Role::{Backup, Regular, Unused};

#[test]
fn each_intent_gives_its_roles_from_the_start() {
    for (intent, roles) in [
        ("frugal", [Regular, Unused]),
        ("saver", [Regular, Unused]),
        ("balanced", [Regular, Unused]),
        ("handover", [Regular, Unused]),
        ("interactive", [Regular, Backup]),
        ("aggregate", [Regular, Regular]),
        ("overflow", [Regular, Backup]),
        ("uninterrupted", [Regular, Backup]),
        ("off", [Unused, Unused]),
    ] {
        let mut world = World::of(&format!("intent = \"{intent}\""));
        assert_eq!(world.roles(1), roles, "{intent}");
        let decision = world.pass(100);
        assert_eq!(decision.endpoints.is_none(), intent == "off");
        let wanted = decision.endpoints.unwrap_or_default();
        assert_eq!(
            wanted.len(),
            roles.iter().filter(|role| **role != Unused).count()
        );
        for endpoint in wanted {
            assert_eq!(
                endpoint.backup,
                roles[endpoint.interface as usize - 2] == Backup
            );
        }
    }
}

#[test]
fn the_frugal_reason_states_joules() {
    let decision = World::of("intent = \"frugal\"").pass(1);
    let Reason::Frugal {
        paths, energy_j, ..
    } = &told(&decision, "wlan0").reason
    else {
        panic!("{decision:?}")
    };
    assert!(*paths == ["wlan0"] && *energy_j > 1.0, "{decision:?}");
    assert_eq!(
        told(&decision, "wwan0").reason,
        Reason::NotNeeded { because: vec![] }
    );
}

/// 10 MB over WiFi at 4 Mbit/s take 20 s and 14 J, over LTE at 40 Mbit/s 2 s and 21 J: 7 J for 18
/// s.
#[test]
fn the_price_of_time_opens_a_fast_path() {
    let roles = |intent: &str| {
        let mut world = World::of(&format!("intent = \"{intent}\""));
        (world.wifi().capacity_bps, world.lte().capacity_bps) = (Some(4e6), Some(40e6));
        world
            .snapshot
            .interfaces
            .iter_mut()
            .for_each(|one| one.carried_bytes = 1_000_000_000);
        world.roles(1)
    };
    assert_eq!(roles("frugal"), [Regular, Unused]);
    assert_eq!(roles("balanced")[1], Regular);
    assert_eq!(roles("fast")[1], Regular);
    let mut world = World::of("intent = \"fast\"");
    (world.wifi().capacity_bps, world.lte().capacity_bps) = (Some(4e6), Some(40e6));
    let said = told(&world.pass(1), "wwan0").reason.to_string();
    assert!(said.contains("at 3 J per second of waiting"), "{said}");
}

#[test]
fn frugal_uses_the_measured_rates() {
    // 10 MB are 80 Mbit: more than 3 s at 20 Mbit/s, less than 1 s at 100.
    for (capacity_bps, roles) in [(20e6, [Regular, Regular]), (100e6, [Regular, Unused])] {
        let mut world = World::of("intent = \"frugal\"\ndeadline = \"3 s\"");
        for interface in &mut world.snapshot.interfaces {
            (interface.capacity_bps, interface.carried_bytes) = (Some(capacity_bps), 1_000_000_000);
        }
        assert_eq!(world.roles(1), roles);
    }
}

#[test]
fn frugal_uses_what_is_remembered_of_a_network_until_it_is_measured() {
    // 10 MB within 3 s need 26.7 Mbit/s; unmeasured, both count as 10 Mbit/s.
    let remembered = |mbps: f64| {
        Some(Remembered {
            rate_bps: Some(mbps * 1e6),
            rtt: None,
        })
    };
    for (memory, seen_bps, roles) in [
        (None, None, [Regular, Regular]),
        (remembered(100.0), None, [Regular, Unused]),
        (remembered(20.0), None, [Regular, Regular]),
        // A page has been loaded: that is no measurement of a fast path.
        (remembered(100.0), Some(2e6), [Regular, Unused]),
        (None, Some(100e6), [Regular, Unused]),
    ] {
        let mut world = World::of("intent = \"frugal\"\ndeadline = \"3 s\"");
        world.lte().capacity_bps = None;
        (world.wifi().capacity_bps, world.wifi().remembered) = (seen_bps, memory);
        assert_eq!(world.roles(1), roles, "{memory:?}, {seen_bps:?}");
    }
}

#[test]
fn a_path_is_full_at_its_remembered_rate() {
    for (memory, used) in [(None, Regular), (Some(40e6), Backup)] {
        let mut world = World::of("intent = \"overflow\"");
        let wifi = world.wifi();
        wifi.remembered = memory.map(|bps| Remembered {
            rate_bps: Some(bps),
            rtt: None,
        });
        (wifi.capacity_bps, wifi.rate_bps) = (Some(20e6), 19e6);
        // 19 Mbit/s are 95 % of 20, the highest rate seen, but less than half of 40.
        assert_eq!(world.roles(12), [Regular, used]);
    }
}

#[test]
fn a_lost_radio_is_replaced_at_once_and_returns_later() {
    let mut world = World::of("intent = \"handover\"");
    world.pass(60);
    world.wifi().usable = false;
    assert_eq!(world.roles(1), [Unused, Regular]);
    world.wifi().usable = true;
    // The loss of WiFi does not count as a change. It is regular again before LTE goes.
    assert_eq!(world.roles(1), [Regular, Regular]);
    assert_eq!(world.roles(2), [Regular, Unused]);
}

#[test]
fn the_last_subflow_of_a_connection_is_never_closed_by_choice() {
    let mut world = World::of("intent = \"handover\"");
    world.wifi().usable = false;
    assert_eq!(world.roles(60), [Unused, Regular]);
    (world.wifi().usable, world.lte().sole) = (true, 2);
    assert_eq!(world.roles(120), [Regular, Backup]);
    let decision = world.pass(1);
    assert_eq!(
        told(&decision, "wwan0").notes,
        [Reason::StillNeeded { connections: 2 }]
    );
    world.lte().sole = 0;
    assert_eq!(world.roles(60), [Regular, Unused]);
}

#[test]
fn a_path_without_answers_is_a_backup_until_its_time_is_over() {
    let mut world = World::of("intent = \"frugal\"");
    world.pass(60);
    world.wifi().stalled = true;
    assert_eq!(world.roles(3), [Regular, Unused]);
    assert_eq!(world.roles(1), [Regular, Regular]);
    assert_eq!(world.roles(10), [Backup, Regular]);
    world.wifi().stalled = false;
    assert_eq!(world.roles(60), [Regular, Unused]);
}

#[test]
fn a_soft_quota_makes_a_backup_and_a_hard_quota_ends_it() {
    let quota = "quota = { soft = \"8 GB\", hard = \"10 GB\" }";
    let mut world = World::new(config("intent = \"aggregate\"", "", quota));
    world.lte().used = Some(Bytes(7_999_999_999));
    assert_eq!(world.roles(60), [Regular, Regular]);
    world.lte().used = Some(Bytes(8_100_000_000));
    let decision = world.pass(60);
    assert_eq!(told(&decision, "wwan0").role, Backup);
    let quota = Reason::SoftQuota {
        used_bytes: 8_100_000_000,
        quota_bytes: 8_000_000_000,
    };
    assert_eq!(
        told(&decision, "wwan0").reason,
        Reason::OpenBackup {
            because: vec![quota]
        }
    );
    world.lte().used = Some(Bytes(10_000_000_000));
    assert_eq!(world.roles(1), [Regular, Unused]);
    // Also if it is the only path.
    world.wifi().usable = false;
    assert_eq!(world.roles(60), [Unused, Unused]);
    // A new period.
    world.lte().used = Some(Bytes(0));
    assert_eq!(world.roles(60), [Unused, Regular]);
}

fn closed(decision: &Decision) -> Vec<IpAddr> {
    decision.closed.iter().map(|one| one.address).collect()
}

#[test]
fn initial_subflows_on_an_unused_path_are_closed_when_others_work() {
    for (intent, closes) in [
        ("frugal", true),
        ("handover", true),
        ("interactive", false),
        ("aggregate", false),
    ] {
        let mut world = World::of(&format!("intent = \"{intent}\""));
        (world.wifi().first, world.lte().first) = (false, true);
        (world.lte().subflows, world.lte().sole) = (2, 1);
        assert!(world.pass(60).closed.is_empty(), "{intent}");
        world.lte().sole = 0;
        let expected = if closes {
            world.lte().addresses.clone()
        } else {
            vec![]
        };
        let decision = world.pass(1);
        assert_eq!(closed(&decision), expected, "{intent}");
        let why = told(&decision, "wwan0").reason.clone();
        assert!(decision.closed.iter().all(|one| one.reason == why));
        // A program that chose its own path is left alone.
        world.lte().first = false;
        assert!(world.pass(1).closed.is_empty());
    }
}

#[test]
fn a_path_that_delivers_nothing_is_left_at_once_and_used_again_later() {
    let renewed = |decision: &Decision| -> Vec<u32> {
        let all = decision.endpoints.iter().flatten();
        let renewed = all.filter(|one| one.renew);
        renewed.map(|one| one.interface).collect()
    };
    for (intent, sole) in [
        ("uninterrupted", 0),
        ("uninterrupted", 1),
        ("interactive", 0),
    ] {
        let mut world = World::of(&format!("intent = \"{intent}\""));
        for one in &mut world.snapshot.interfaces {
            (one.subflows, one.healthy) = (3, 3);
        }
        assert_eq!(world.roles(60), [Regular, Backup]);
        (world.wifi().interrupted, world.wifi().sole) = (true, sole);
        let decision = world.pass(1);
        let roles = ["wlan0", "wwan0"].map(|name| told(&decision, name).role);
        if intent == "interactive" {
            assert_eq!((roles, renewed(&decision)), ([Regular, Backup], vec![]));
            continue;
        }
        assert_eq!(roles, [Backup, Regular]);
        // Its subflows are closed, and opened again. A connection without another path keeps it.
        assert_eq!(renewed(&decision), if sole == 0 { vec![2] } else { vec![] });
        assert!(renewed(&world.pass(1)).is_empty());
        world.wifi().interrupted = false;
        // It is avoided for 15 s.
        assert_eq!(world.roles(10), [Backup, Regular]);
        assert_eq!(world.roles(10), [Regular, Backup]);
    }
}

#[test]
fn initial_subflows_over_a_hard_quota_are_closed_when_others_work_or_after_a_delay() {
    let mut world = World::new(config(
        "intent = \"aggregate\"",
        "",
        "quota = { hard = \"10 GB\" }",
    ));
    world.pass(60);
    let (address, none): (_, Vec<IpAddr>) = (world.lte().addresses.clone(), vec![]);
    (world.lte().used, world.lte().subflows, world.lte().sole) =
        (Some(Bytes(10_000_000_000)), 2, 1);
    assert_eq!(closed(&world.pass(1)), none);
    world.lte().sole = 0;
    let decision = world.pass(1);
    assert_eq!(closed(&decision), address);
    let spent = Reason::HardQuota {
        used_bytes: 10_000_000_000,
        quota_bytes: 10_000_000_000,
    };
    assert_eq!(decision.closed[0].reason, spent);
    assert!(told(&decision, "wwan0").is_cut_off() && !told(&decision, "wlan0").is_cut_off());
    world.lte().subflows = 0;
    assert_eq!(closed(&world.pass(1)), none);
    // A new connection without another path.
    (world.lte().subflows, world.lte().sole) = (1, 1);
    assert_eq!(closed(&world.pass(5)), none);
    assert_eq!(closed(&world.pass(1)), address);
    // The next connection started before the poll.
    assert_eq!(closed(&world.pass(5)), none);
    assert_eq!(closed(&world.pass(1)), address);
    // Below the quota nothing is closed.
    world.lte().used = Some(Bytes(9_999_999_999));
    assert_eq!(closed(&world.pass(10)), none);
}

#[test]
fn lost_subflows_are_reopened_at_growing_intervals_while_none_works() {
    let mut world = World::of("intent = \"interactive\"");
    world.pass(60);
    let renewals = |world: &mut World, seconds: u64| -> Vec<u64> {
        let renews = |decision: Decision| {
            decision
                .endpoints
                .unwrap()
                .iter()
                .any(|one| one.renew && one.backup)
        };
        (0..seconds).filter(|_| renews(world.pass(1))).collect()
    };
    (world.lte().lost, world.lte().healthy) = (3, 1);
    assert_eq!(renewals(&mut world, 100), [0; 0]);
    assert_eq!(
        told(&world.pass(1), "wwan0").notes,
        [Reason::Lost { connections: 3 }]
    );
    world.lte().healthy = 0;
    assert_eq!(renewals(&mut world, 40), [0, 5, 15, 35]);
    world.lte().lost = 0;
    assert_eq!(renewals(&mut world, 1000), [0; 0]);
    // The regular path is never renewed, nor is a path without answers.
    world.lte().lost = 1;
    world.lte().stalled = true;
    world.pass(4);
    assert_eq!(renewals(&mut world, 10), [0; 0]);
}

#[test]
fn a_path_that_delays_the_other_becomes_a_backup_with_new_subflows() {
    let mut world = World::of("intent = \"aggregate\"");
    world.pass(60);
    // Together 3 of 20 Mbit/s; each path has carried 20.
    (world.wifi().rate_bps, world.lte().rate_bps) = (2.9e6, 0.1e6);
    let renewed = |decision: Decision| {
        decision
            .endpoints
            .unwrap()
            .into_iter()
            .find(|one| one.renew)
    };
    let all: Vec<_> = (0..6).filter_map(|_| renewed(world.pass(1))).collect();
    assert_eq!(all.len(), 1);
    assert!(all[0].backup && all[0].interface == 3, "{all:?}");
    assert_eq!(world.roles(1), [Regular, Backup]);
    (world.wifi().rate_bps, world.lte().rate_bps) = (15e6, 0.0);
    let decision = world.pass(10);
    let reason = &told(&decision, "wwan0").reason;
    assert!(
        matches!(reason, Reason::Slow { path, .. } if path == "wwan0"),
        "{decision:?}"
    );
    // Data on a regular path proves nothing about a silent one.
    world.wifi().silent = Some(Nanos::from_secs(9));
    assert_eq!(world.roles(1), [Regular, Backup]);
}

#[test]
fn a_slow_path_is_left_if_the_next_one_brings_more() {
    // Metered or not: with `interactive` data must not wait.
    for lte in ["", "metered = true"] {
        let mut world = World::new(config("intent = \"interactive\"", "", lte));
        world.wifi().subflows = 1;
        world.wifi().rate_bps = 5e6;
        world.pass(60);
        world.wifi().rate_bps = 2e6;
        assert_eq!(world.roles(2), [Regular, Backup]);
        let decision = world.pass(1);
        let roles = ["wlan0", "wwan0"].map(|name| told(&decision, name).role);
        assert_eq!(roles, [Backup, Regular], "{decision:?}");
        let because = Box::new(Reason::Trial {
            path: "wlan0".into(),
            rate_bps: 2e6,
        });
        assert_eq!(
            told(&decision, "wwan0").reason,
            Reason::StandsIn { because }
        );
        let endpoints = decision.endpoints.unwrap();
        assert!(
            endpoints
                .iter()
                .all(|one| one.renew == (one.interface == 2)),
            "{endpoints:?}"
        );
        (world.wifi().rate_bps, world.lte().rate_bps) = (0.0, 5e6);
        assert_eq!(world.roles(30), [Backup, Regular]);
        // WiFi recovers a minute later.
        world.pass(40);
        (world.wifi().rate_bps, world.lte().rate_bps) = (5e6, 0.0);
        assert_eq!(world.roles(60), [Regular, Backup]);
    }
    // With a used-up quota, and with other intents, the slow path stays.
    for (machine, lte, others) in [
        (
            "intent = \"interactive\"",
            "quota = { soft = \"1 GB\" }",
            Backup,
        ),
        ("intent = \"handover\"", "", Unused),
        ("intent = \"frugal\"", "", Unused),
    ] {
        let mut world = World::new(config(machine, "", lte));
        world.lte().used = Some(Bytes(2_000_000_000));
        world.wifi().subflows = 1;
        for rate_bps in [5e6, 2e6] {
            world.wifi().rate_bps = rate_bps;
            assert_eq!(world.roles(60), [Regular, others], "{machine}");
        }
    }
}

#[test]
fn a_stopped_download_opens_a_backup_and_moves_to_it() {
    let mut world = World::of("intent = \"handover\"");
    let passes = |world: &mut World, silent: u64, seconds: u64| {
        world.wifi().silent = Some(Nanos::from_secs(silent));
        world.roles(seconds)
    };
    world.pass(60);
    assert_eq!(passes(&mut world, 2, 1), [Regular, Unused]);
    assert_eq!(passes(&mut world, 3, 1), [Regular, Backup]);
    let silent = Reason::Silent {
        path: "wlan0".into(),
        silent_s: 3.0,
    };
    assert_eq!(told(&world.pass(1), "wwan0").reason, silent);
    // The sender has moved over.
    (world.lte().rate_bps, world.lte().subflows) = (500e3, 1);
    assert_eq!(passes(&mut world, 5, 10), [Backup, Regular]);
    // WiFi is tried again later. LTE stays while WiFi is silent.
    let mut tried = 0;
    for s in 15..60 {
        let roles = passes(&mut world, s, 1);
        assert_eq!(roles[1], Regular, "{s}");
        tried += u32::from(roles[0] == Regular);
    }
    assert!((3..20).contains(&tried), "{tried}");
    world.wifi().silent = None;
    world.lte().rate_bps = 0.0;
    assert_eq!(world.roles(120), [Regular, Unused]);
    // The download is over and no connection is left: nobody sends.
    world.snapshot.families = Families::default();
    assert_eq!(passes(&mut world, 5, 1), [Regular, Unused]);
}

#[test]
fn a_metered_path_waits_unless_its_own_intent_uses_it() {
    let mut world = World::new(config("intent = \"aggregate\"", "", "metered = true"));
    assert_eq!(world.roles(60), [Regular, Backup]);
    let decision = world.pass(1);
    let Reason::FirstPath { others } = &told(&decision, "wlan0").reason else {
        panic!("{decision:?}")
    };
    assert!(others.len() == 1 && others[0].path == "wwan0", "{others:?}");
    world.wifi().usable = false;
    assert_eq!(world.roles(1), [Unused, Regular]);
    let mut world = World::new(config(
        "intent = \"interactive\"",
        "",
        "metered = true\nintent = \"aggregate\"",
    ));
    assert_eq!(world.roles(60), [Regular, Regular]);
}

#[test]
fn a_weak_battery_makes_the_intent_frugal_until_it_is_charged() {
    let battery = |level, discharging| Some(Battery { level, discharging });
    let mut world = World::of("intent = \"aggregate\"\nbattery_below = \"20 %\"");
    world.snapshot.battery = battery(0.21, true);
    assert_eq!(world.roles(60), [Regular, Regular]);
    world.snapshot.battery = battery(0.19, true);
    assert_eq!(world.roles(60), [Regular, Unused]);
    world.snapshot.battery = battery(0.22, true);
    assert_eq!(world.roles(60), [Regular, Unused]);
    world.snapshot.battery = battery(0.22, false);
    assert_eq!(world.roles(60), [Regular, Regular]);
}

#[test]
fn overflow_fills_each_path_before_the_next() {
    let mut world = World::new(config("intent = \"overflow\"", "rate = \"20 Mbit/s\"", ""));
    world.wifi().rate_bps = 19e6;
    assert_eq!(world.roles(5), [Regular, Backup]);
    assert_eq!(world.roles(10), [Regular, Regular]);
    world.wifi().rate_bps = 3e6;
    assert_eq!(world.roles(90), [Regular, Backup]);
}

#[test]
fn virtual_devices_must_be_named_and_unusable_ones_get_a_reason() {
    let mut world = World::of("intent = \"aggregate\"");
    world.snapshot.interfaces.push(Interface {
        kind: Some("wireguard".into()),
        ..interface(4, "wg0")
    });
    world.snapshot.interfaces.push(Interface {
        routed: false,
        ..interface(5, "eth0")
    });
    world.snapshot.interfaces.push(interface(6, "eth1"));
    let decision = world.pass(1);
    assert_eq!(
        told(&decision, "wg0").reason,
        Reason::Virtual {
            kind: "wireguard".into()
        }
    );
    assert_eq!(told(&decision, "eth0").reason, Reason::NoRoute);
    assert_eq!(told(&decision, "eth1").role, Regular);
    world.config.allow.push("wg*".into());
    assert_eq!(told(&world.pass(1), "wg0").role, Regular);
}

#[test]
fn five_dual_stack_interfaces_give_five_subflows_and_report_addresses_without_an_entry() {
    for (families, most) in [
        (Families { v4: 2, v6: 0 }, true),
        (Families { v4: 1, v6: 3 }, false),
    ] {
        let mut world = World::of("intent = \"aggregate\"");
        world.snapshot.families = families;
        world.snapshot.interfaces = (2..7)
            .map(|index| interface(index, &format!("eth{index}")))
            .collect();
        for one in &mut world.snapshot.interfaces {
            one.addresses
                .push([0xfd00, 0, 0, one.index as u16, 0, 0, 0, 2].into());
        }
        let decision = world.pass(60);
        let wanted = decision.endpoints.as_ref().unwrap();
        let of = |is_v4: bool| {
            wanted
                .iter()
                .filter(|one| one.address.is_ipv4() == is_v4)
                .count()
        };
        assert_eq!((of(most), of(!most)), (5, 3), "{wanted:?}");
        assert!(
            decision.interfaces.iter().all(|told| told.role == Regular),
            "{decision:?}"
        );
        let notes = decision.interfaces.iter().flat_map(|told| &told.notes);
        let without = notes.filter(
            |note| matches!(note, Reason::NoPlace { addresses, .. } if addresses.len() == 1),
        );
        assert_eq!(without.count(), 2, "{decision:?}");
    }
}

#[test]
fn refused_and_unanswered_subflows_have_different_notes() {
    let mut world = World::of("intent = \"aggregate\"");
    world.pass(60);
    world.lte().missing = 2;
    assert_eq!(
        told(&world.pass(6), "wwan0").notes,
        [Reason::Unanswered { connections: 2 }]
    );
    world.lte().refused = 2;
    let refused = [Reason::Refused { connections: 2 }];
    assert_eq!(told(&world.pass(1), "wwan0").notes, refused);
    // A refusal is no loss, even if a poll saw the subflow before the server closed it.
    world.lte().lost = 2;
    assert_eq!(told(&world.pass(1), "wwan0").notes, refused);
}

#[test]
fn a_slow_path_without_budget_reports_it() {
    let mut world = World::of("intent = \"handover\"\nhandover_budget = \"1 MB\"");
    (world.wifi().subflows, world.wifi().rate_bps) = (1, 5e6);
    world.pass(60);
    world.wifi().rate_bps = 100e3;
    assert_eq!(world.roles(4)[1], Regular);
    world.lte().carried_bytes += 2_000_000;
    let decision = world.pass(1);
    assert_eq!(
        ["wlan0", "wwan0"].map(|name| told(&decision, name).role),
        [Regular, Unused]
    );
    let Reason::NoStandIn {
        used_bytes,
        budget_bytes,
        because,
    } = &told(&decision, "wlan0").reason
    else {
        panic!("{decision:?}")
    };
    assert_eq!((*used_bytes, *budget_bytes), (2_000_000, 1_000_000));
    assert!(
        matches!(&because[..], [Reason::Trial { path, .. }] if path == "wlan0"),
        "{because:?}"
    );
}

#[test]
fn an_intent_can_be_set_at_run_time() {
    let mut world = World::of("intent = \"frugal\"");
    world.pass(60);
    world.overrides.machine = Some(Intent::Interactive);
    assert_eq!(world.roles(60), [Regular, Backup]);
    world
        .overrides
        .interfaces
        .insert("wlan0".into(), Intent::Off);
    assert_eq!(world.roles(1), [Unused, Regular]);
    world.overrides.machine = Some(Intent::Off);
    assert_eq!(world.pass(1).endpoints, None);
}
