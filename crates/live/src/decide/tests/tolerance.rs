//! Traffic that may wait.

use super::*;

const WAITS: &str = "intent = \"frugal\"\npm = \"userspace\"\ntolerance = \"2 min\"";

/// Five seconds on WiFi.
fn on_wifi(machine: &str) -> World {
    let mut world = World::of(machine);
    assert_eq!(world.roles(5), [Regular, Unused]);
    world
}

#[test]
fn lte_stays_closed_until_wifi_is_back() {
    let mut world = on_wifi(WAITS);
    world.wifi().usable = false;
    assert_eq!(world.roles(100), [Unused, Unused]);
    world.wifi().usable = true;
    assert_eq!(world.roles(5), [Regular, Unused]);
}

#[test]
fn lte_opens_when_the_tolerance_has_passed() {
    let mut world = on_wifi(WAITS);
    world.wifi().usable = false;
    let decision = world.pass(119);
    assert_eq!(told(&decision, "wwan0").role, Unused);
    let may_wait = Reason::MayWait {
        path: "wlan0".into(),
        tolerance_s: 120.0,
    };
    assert_eq!(told(&decision, "wwan0").reason, may_wait);
    // Connections without any subflow need not wait for it.
    assert_eq!(decision.endpoints.as_deref(), Some(&[][..]));
    assert_eq!(decision.waiting[0].interface, 3);
    assert_eq!(decision.look_again, Some(Nanos::from_secs(126)));
    let decision = world.pass(3);
    assert_eq!(
        (told(&decision, "wwan0").role, decision.waiting.len()),
        (Regular, 0)
    );
    // WiFi is preferred again at once, and its next failure is another one.
    world.wifi().usable = true;
    assert_eq!(world.roles(30), [Regular, Unused]);
    world.wifi().usable = false;
    assert_eq!(world.roles(100), [Unused, Unused]);
}

#[test]
fn without_a_tolerance_lte_opens_at_once() {
    let mut world = on_wifi("intent = \"frugal\"");
    world.wifi().usable = false;
    assert_eq!(world.roles(2), [Unused, Regular]);
}

#[test]
fn a_path_without_answers_keeps_its_role_while_its_data_may_wait() {
    let mut world = on_wifi(WAITS);
    world.wifi().stalled = true;
    assert_eq!(world.roles(60), [Regular, Unused]);
    assert_eq!(world.roles(70)[1], Regular);
}

#[test]
fn a_silent_path_opens_no_backup_while_its_data_may_wait() {
    for (machine, lte) in [(WAITS, Unused), ("intent = \"frugal\"", Backup)] {
        let mut world = on_wifi(machine);
        world.wifi().silent = Some(Nanos::from_secs(5));
        assert_eq!(world.roles(5), [Regular, lte], "{machine}");
    }
}

/// Its promotion is paid for, and its tail will be.
#[test]
fn a_radio_that_other_traffic_has_woken_is_used_at_once() {
    let mut world = on_wifi(WAITS);
    world.wifi().usable = false;
    assert_eq!(world.roles(10), [Unused, Unused]);
    world.lte().rate_bps = 1e6;
    assert_eq!(world.roles(2), [Unused, Regular]);
}

#[test]
fn nothing_waits_at_the_start() {
    let mut world = World::of(WAITS);
    world.wifi().usable = false;
    assert_eq!(world.roles(1), [Unused, Regular]);
}

#[test]
fn a_tolerance_has_no_effect_under_an_intent_for_which_time_counts() {
    let mut world = on_wifi(WAITS);
    world.overrides.machine = Some(Intent::Fast);
    world.wifi().usable = false;
    assert_eq!(world.roles(2), [Unused, Regular]);
}

#[test]
fn a_slow_path_is_no_reason_to_wake_another_for_data_that_may_wait() {
    for (machine, is_tried) in [(WAITS, false), ("intent = \"frugal\"", true)] {
        let mut world = World::of(machine);
        world.wifi().subflows = 1;
        world.wifi().rate_bps = 5e6;
        assert_eq!(world.roles(60), [Regular, Unused]);
        world.wifi().rate_bps = 1e6;
        let tried = (0..20).any(|_| world.roles(1)[1] != Unused);
        assert_eq!(tried, is_tried, "{machine}");
    }
}
