use std::net::IpAddr;

use joulepath_model::scenario::read_live;
use joulepath_model::units::Bytes;
use proptest::prelude::*;

use super::places::MOST_ENDPOINTS;
use super::*;
use crate::samples::seen as interface;
use crate::snapshot::Battery;

const WIFI: &str = "[[interface]]\nname = \"wlan0\"\ncost = 1\nenergy = \"wifi-huang2012\"\n";
const LTE: &str = "[[interface]]\nname = \"wwan0\"\ncost = 2\nenergy = \"lte-huang2012\"\n";

/// A configuration with WiFi and LTE; `wifi` and `lte` are extra keys of their sections.
fn config(machine: &str, wifi: &str, lte: &str) -> LiveConfig {
    read_live(&format!("{machine}\n{WIFI}{wifi}\n{LTE}{lte}\n")).unwrap_or_else(|errors| panic!("{errors}"))
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
        let snapshot = Snapshot { interfaces, families, ..Snapshot::default() };
        World { decider: Decider::default(), config, overrides: Overrides::default(), snapshot }
    }

    fn of(machine: &str) -> Self {
        Self::new(config(machine, "", ""))
    }

    /// Advances by `seconds`. Returns the last decision.
    fn pass(&mut self, seconds: u64) -> Decision {
        let look = |_| {
            self.snapshot.now = self.snapshot.now.saturating_add(Nanos::from_secs(1));
            self.decider.decide(&self.config, &self.overrides, &self.snapshot)
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
    decision.interfaces.iter().find(|told| told.name == name).unwrap()
}

use Role::{Backup, Regular, Unused};

#[test]
fn each_intent_gives_its_roles_from_the_start() {
    for (intent, roles) in [
        ("frugal", [Regular, Unused]),
        ("handover", [Regular, Unused]),
        ("interactive", [Regular, Backup]),
        ("aggregate", [Regular, Regular]),
        ("overflow", [Regular, Backup]),
        ("off", [Unused, Unused]),
    ] {
        let mut world = World::of(&format!("intent = \"{intent}\""));
        assert_eq!(world.roles(1), roles, "{intent}");
        let decision = world.pass(100);
        assert_eq!(decision.endpoints.is_none(), intent == "off");
        let wanted = decision.endpoints.unwrap_or_default();
        assert_eq!(wanted.len(), roles.iter().filter(|role| **role != Unused).count());
        for endpoint in wanted {
            assert_eq!(endpoint.backup, roles[endpoint.interface as usize - 2] == Backup);
        }
    }
}

#[test]
fn the_frugal_reason_states_joules() {
    let decision = World::of("intent = \"frugal\"").pass(1);
    let Reason::Frugal { paths, energy_j, .. } = &told(&decision, "wlan0").reason else {
        panic!("{decision:?}")
    };
    assert!(*paths == ["wlan0"] && *energy_j > 1.0, "{decision:?}");
    assert_eq!(told(&decision, "wwan0").reason, Reason::NotNeeded { because: vec![] });
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
    assert_eq!(told(&decision, "wwan0").notes, [Reason::StillNeeded { connections: 2 }]);
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
fn handover_has_a_budget_while_the_first_path_exists() {
    let mut world = World::of("intent = \"handover\"\nhandover_budget = \"1 MB\"");
    world.pass(60);
    world.wifi().stalled = true;
    world.pass(5);
    assert_eq!(world.roles(1)[1], Regular);
    world.lte().carried_bytes += 999_999;
    assert_eq!(world.roles(1)[1], Regular);
    world.lte().carried_bytes += 1;
    let decision = world.pass(1);
    assert_eq!(told(&decision, "wwan0").role, Unused);
    let spent = Reason::BudgetUsed { used_bytes: 1_000_000, budget_bytes: 1_000_000 };
    assert_eq!(told(&decision, "wwan0").reason, spent);
    // The endpoint does not stay for connections whose other subflow may be dead.
    assert_eq!(decision.ended, [3]);
    // If the first path is absent, only this path can carry the data.
    world.wifi().usable = false;
    world.lte().carried_bytes += 5_000_000;
    assert_eq!(world.roles(60)[1], Regular);
}

#[test]
fn the_next_poll_comes_before_the_handover_budget_can_be_used_up() {
    let mut world = World::of("intent = \"handover\"\nhandover_budget = \"1 MB\"");
    world.pass(60);
    world.wifi().stalled = true;
    assert_eq!(world.roles(6)[1], Regular);
    // 1 MB at 16 Mbit/s; then half of it is left.
    world.lte().capacity_bps = Some(16e6);
    let left = |decision: Decision, now: Nanos| decision.look_again.unwrap().saturating_sub(now);
    assert_eq!(left(world.pass(1), world.snapshot.now), Nanos::from_millis(500));
    world.lte().carried_bytes += 500_000;
    assert_eq!(left(world.pass(1), world.snapshot.now), Nanos::from_millis(250));
}

#[test]
fn a_connection_without_another_path_keeps_a_path_over_its_budget() {
    let mut world = World::of("intent = \"handover\"\nhandover_budget = \"1 MB\"");
    world.pass(60);
    world.wifi().stalled = true;
    assert_eq!(world.roles(6)[1], Regular);
    world.lte().carried_bytes += 1_000_000;
    world.lte().only = 1;
    assert_eq!(world.roles(1)[1], Backup);
    world.lte().only = 0;
    assert_eq!(world.roles(1)[1], Unused);
}

#[test]
fn the_handover_budget_applies_only_if_the_first_path_has_that_intent() {
    let machine = "intent = \"interactive\"\nhandover_budget = \"1 MB\"";
    let mut world = World::new(config(machine, "", "intent = \"handover\""));
    world.pass(60);
    world.wifi().stalled = true;
    assert_eq!(world.roles(6)[1], Regular);
    world.lte().carried_bytes += 5_000_000;
    assert_eq!(world.roles(1)[1], Regular);
}

#[test]
fn the_handover_budget_applies_when_the_first_path_appears_later() {
    let mut world = World::of("intent = \"handover\"\nhandover_budget = \"1 MB\"");
    world.wifi().usable = false;
    assert_eq!(world.roles(60), [Unused, Regular]);
    (world.wifi().usable, world.wifi().stalled) = (true, true);
    assert_eq!(world.roles(6)[1], Regular);
    world.lte().carried_bytes += 1_000_000;
    let spent = Reason::BudgetUsed { used_bytes: 1_000_000, budget_bytes: 1_000_000 };
    assert_eq!(told(&world.pass(1), "wwan0").reason, spent);
}

#[test]
fn the_handover_budget_is_not_renewed_while_another_path_is_open() {
    let mut world = World::of("intent = \"handover\"\nhandover_budget = \"1 MB\"");
    world.pass(60);
    world.wifi().stalled = true;
    assert_eq!(world.roles(6)[1], Regular);
    world.lte().carried_bytes += 600_000;
    world.pass(1);
    // WiFi carries data again for two minutes, but a connection still needs LTE.
    (world.wifi().stalled, world.wifi().rate_bps, world.lte().sole) = (false, 5e6, 1);
    assert_eq!(world.roles(120), [Regular, Backup]);
    world.lte().carried_bytes += 600_000;
    let spent = Reason::BudgetUsed { used_bytes: 1_200_000, budget_bytes: 1_000_000 };
    assert_eq!(told(&world.pass(1), "wwan0").reason, spent);
}

#[test]
fn the_handover_budget_is_renewed_after_a_minute_of_data_over_the_first_path() {
    for (seconds, role) in [(30, Unused), (120, Regular)] {
        let mut world = World::of("intent = \"handover\"\nhandover_budget = \"1 MB\"");
        world.pass(60);
        world.wifi().stalled = true;
        assert_eq!(world.roles(6)[1], Regular);
        world.lte().carried_bytes += 600_000;
        world.pass(1);
        (world.wifi().stalled, world.wifi().rate_bps) = (false, 5e6);
        assert_eq!(world.roles(seconds), [Regular, Unused]);
        (world.wifi().stalled, world.wifi().rate_bps) = (true, 0.0);
        world.pass(6);
        world.lte().carried_bytes += 600_000;
        assert_eq!(world.roles(1)[1], role, "{seconds} s");
    }
}

#[test]
fn the_handover_budget_resumes_when_the_first_path_returns() {
    let mut world = World::of("intent = \"handover\"\nhandover_budget = \"1 MB\"");
    world.pass(60);
    world.wifi().stalled = true;
    assert_eq!(world.roles(6)[1], Regular);
    world.lte().carried_bytes += 600_000;
    world.pass(1);
    world.wifi().usable = false;
    assert_eq!(world.roles(10), [Unused, Regular]);
    world.wifi().usable = true;
    assert_eq!(world.roles(1)[1], Regular);
    world.lte().carried_bytes += 400_000;
    let spent = Reason::BudgetUsed { used_bytes: 1_000_000, budget_bytes: 1_000_000 };
    assert_eq!(told(&world.pass(1), "wwan0").reason, spent);
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
    let quota = Reason::SoftQuota { used_bytes: 8_100_000_000, quota_bytes: 8_000_000_000 };
    assert_eq!(told(&decision, "wwan0").reason, Reason::OpenBackup { because: vec![quota] });
    world.lte().used = Some(Bytes(10_000_000_000));
    assert_eq!(world.roles(1), [Regular, Unused]);
    // Also if it is the only path.
    world.wifi().usable = false;
    assert_eq!(world.roles(60), [Unused, Unused]);
    // A new period.
    world.lte().used = Some(Bytes(0));
    assert_eq!(world.roles(60), [Unused, Regular]);
}

#[test]
fn initial_subflows_on_an_unused_path_are_closed_when_others_work() {
    for (intent, closes) in
        [("frugal", true), ("handover", true), ("interactive", false), ("aggregate", false)]
    {
        let mut world = World::of(&format!("intent = \"{intent}\""));
        (world.wifi().first, world.lte().first) = (false, true);
        (world.lte().subflows, world.lte().sole) = (2, 1);
        assert!(world.pass(60).closed.is_empty(), "{intent}");
        world.lte().sole = 0;
        let expected = if closes { world.lte().addresses.clone() } else { vec![] };
        assert_eq!(world.pass(1).closed, expected, "{intent}");
        // A program that chose its own path is left alone.
        world.lte().first = false;
        assert!(world.pass(1).closed.is_empty());
    }
}

#[test]
fn initial_subflows_over_a_hard_quota_are_closed_when_others_work_or_after_a_delay() {
    let mut world = World::new(config("intent = \"aggregate\"", "", "quota = { hard = \"10 GB\" }"));
    world.pass(60);
    let (address, none): (_, Vec<IpAddr>) = (world.lte().addresses.clone(), vec![]);
    (world.lte().used, world.lte().subflows, world.lte().sole) = (Some(Bytes(10_000_000_000)), 2, 1);
    assert_eq!(world.pass(1).closed, none);
    world.lte().sole = 0;
    assert_eq!(world.pass(1).closed, address);
    world.lte().subflows = 0;
    assert_eq!(world.pass(1).closed, none);
    // A new connection without another path.
    (world.lte().subflows, world.lte().sole) = (1, 1);
    assert_eq!(world.pass(5).closed, none);
    assert_eq!(world.pass(1).closed, address);
    // The next connection started before the poll.
    assert_eq!(world.pass(5).closed, none);
    assert_eq!(world.pass(1).closed, address);
    // Below the quota nothing is closed.
    world.lte().used = Some(Bytes(9_999_999_999));
    assert_eq!(world.pass(10).closed, none);
}

#[test]
fn lost_subflows_are_reopened_at_growing_intervals_while_none_works() {
    let mut world = World::of("intent = \"interactive\"");
    world.pass(60);
    let renewals = |world: &mut World, seconds: u64| -> Vec<u64> {
        let renews =
            |decision: Decision| decision.endpoints.unwrap().iter().any(|one| one.renew && one.backup);
        (0..seconds).filter(|_| renews(world.pass(1))).collect()
    };
    (world.lte().lost, world.lte().healthy) = (3, 1);
    assert_eq!(renewals(&mut world, 100), [0; 0]);
    assert_eq!(told(&world.pass(1), "wwan0").notes, [Reason::Lost { connections: 3 }]);
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
    let renewed = |decision: Decision| decision.endpoints.unwrap().into_iter().find(|one| one.renew);
    let all: Vec<_> = (0..6).filter_map(|_| renewed(world.pass(1))).collect();
    assert_eq!(all.len(), 1);
    assert!(all[0].backup && all[0].interface == 3, "{all:?}");
    assert_eq!(world.roles(1), [Regular, Backup]);
    (world.wifi().rate_bps, world.lte().rate_bps) = (15e6, 0.0);
    let decision = world.pass(10);
    let reason = &told(&decision, "wwan0").reason;
    assert!(matches!(reason, Reason::Slow { path, .. } if path == "wwan0"), "{decision:?}");
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
        let because = Box::new(Reason::Trial { path: "wlan0".into(), rate_bps: 2e6 });
        assert_eq!(told(&decision, "wwan0").reason, Reason::StandsIn { because });
        let endpoints = decision.endpoints.unwrap();
        assert!(endpoints.iter().all(|one| one.renew == (one.interface == 2)), "{endpoints:?}");
        (world.wifi().rate_bps, world.lte().rate_bps) = (0.0, 5e6);
        assert_eq!(world.roles(30), [Backup, Regular]);
        // WiFi recovers a minute later.
        world.pass(40);
        (world.wifi().rate_bps, world.lte().rate_bps) = (5e6, 0.0);
        assert_eq!(world.roles(60), [Regular, Backup]);
    }
    // With a used-up quota, and with other intents, the slow path stays.
    for (machine, lte, others) in [
        ("intent = \"interactive\"", "quota = { soft = \"1 GB\" }", Backup),
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
    let silent = Reason::Silent { path: "wlan0".into(), silent_s: 3.0 };
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
    let Reason::FirstPath { others } = &told(&decision, "wlan0").reason else { panic!("{decision:?}") };
    assert!(others.len() == 1 && others[0].path == "wwan0", "{others:?}");
    world.wifi().usable = false;
    assert_eq!(world.roles(1), [Unused, Regular]);
    let mut world =
        World::new(config("intent = \"interactive\"", "", "metered = true\nintent = \"aggregate\""));
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
    world.snapshot.interfaces.push(Interface { kind: Some("wireguard".into()), ..interface(4, "wg0") });
    world.snapshot.interfaces.push(Interface { routed: false, ..interface(5, "eth0") });
    world.snapshot.interfaces.push(interface(6, "eth1"));
    let decision = world.pass(1);
    assert_eq!(told(&decision, "wg0").reason, Reason::Virtual { kind: "wireguard".into() });
    assert_eq!(told(&decision, "eth0").reason, Reason::NoRoute);
    assert_eq!(told(&decision, "eth1").role, Regular);
    world.config.allow.push("wg*".into());
    assert_eq!(told(&world.pass(1), "wg0").role, Regular);
}

#[test]
fn five_dual_stack_interfaces_give_five_subflows_and_report_addresses_without_an_entry() {
    for (families, most) in [(Families { v4: 2, v6: 0 }, true), (Families { v4: 1, v6: 3 }, false)] {
        let mut world = World::of("intent = \"aggregate\"");
        world.snapshot.families = families;
        world.snapshot.interfaces = (2..7).map(|index| interface(index, &format!("eth{index}"))).collect();
        for one in &mut world.snapshot.interfaces {
            one.addresses.push([0xfd00, 0, 0, one.index as u16, 0, 0, 0, 2].into());
        }
        let decision = world.pass(60);
        let wanted = decision.endpoints.as_ref().unwrap();
        let of = |is_v4: bool| wanted.iter().filter(|one| one.address.is_ipv4() == is_v4).count();
        assert_eq!((of(most), of(!most)), (5, 3), "{wanted:?}");
        assert!(decision.interfaces.iter().all(|told| told.role == Regular), "{decision:?}");
        let notes = decision.interfaces.iter().flat_map(|told| &told.notes);
        let without =
            notes.filter(|note| matches!(note, Reason::NoPlace { addresses, .. } if addresses.len() == 1));
        assert_eq!(without.count(), 2, "{decision:?}");
    }
}

#[test]
fn refused_and_unanswered_subflows_have_different_notes() {
    let mut world = World::of("intent = \"aggregate\"");
    world.pass(60);
    world.lte().missing = 2;
    assert_eq!(told(&world.pass(6), "wwan0").notes, [Reason::Unanswered { connections: 2 }]);
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
    assert_eq!(["wlan0", "wwan0"].map(|name| told(&decision, name).role), [Regular, Unused]);
    let Reason::NoStandIn { used_bytes, budget_bytes, because } = &told(&decision, "wlan0").reason else {
        panic!("{decision:?}")
    };
    assert_eq!((*used_bytes, *budget_bytes), (2_000_000, 1_000_000));
    assert!(matches!(&because[..], [Reason::Trial { path, .. }] if path == "wlan0"), "{because:?}");
}

#[test]
fn an_intent_can_be_set_at_run_time() {
    let mut world = World::of("intent = \"frugal\"");
    world.pass(60);
    world.overrides.machine = Some(Intent::Interactive);
    assert_eq!(world.roles(60), [Regular, Backup]);
    world.overrides.interfaces.insert("wlan0".into(), Intent::Off);
    assert_eq!(world.roles(1), [Unused, Regular]);
    world.overrides.machine = Some(Intent::Off);
    assert_eq!(world.pass(1).endpoints, None);
}

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
    (prop_oneof![6 => 1..10u64, 3 => 10..300u64, 1 => 300..20_000u64], what)
}

const NAMES: [&str; 3] = ["wlan0", "wwan0", "tun0"];

/// Most changes of one interface's endpoints in an hour: an optional role waits 10 s, 20 s … 640 s, which
/// allows 11 changes. An urgent role waits a tenth of that, which allows 64, and as many losses.
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
                prop_assert!(wanted.len() <= MOST_ENDPOINTS);
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

/// Most changes of both radios in an hour while one of them flaps, after the first hour, which allows more.
const MOST_SWITCHES_AN_HOUR: usize = 28;
const MOST_SWITCHES_IN_THE_FIRST_HOUR: usize = 74;

#[test]
fn a_radio_that_flaps_for_a_day_changes_roles_rarely() {
    for (period, intent) in [(2, "handover"), (7, "interactive"), (20, "frugal"), (45, "aggregate")] {
        let mut world = World::of(&format!("intent = \"{intent}\""));
        let (mut before, mut changes) = ([Unused; 2], [0; 24]);
        for s in 0..86_400 {
            world.wifi().usable = s / period % 2 == 0;
            let roles = world.roles(1);
            changes[s / 3600] += roles.iter().zip(before).filter(|(now, before)| *now != before).count();
            before = roles;
        }
        assert!(changes[0] <= MOST_SWITCHES_IN_THE_FIRST_HOUR, "{intent} every {period} s: {changes:?}");
        let most = changes[1..].iter().max().copied().unwrap_or(0);
        assert!(most <= MOST_SWITCHES_AN_HOUR, "{intent} every {period} s: {changes:?}");
        assert!(world.pass(1).interfaces.iter().any(|told| told.role == Regular));
    }
}
