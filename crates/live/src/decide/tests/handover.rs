//! The byte budget of a handover.

use super::*;

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
    let spent = Reason::BudgetUsed {
        used_bytes: 1_000_000,
        budget_bytes: 1_000_000,
    };
    assert_eq!(told(&decision, "wwan0").reason, spent);
    // The endpoint does not stay for connections whose other subflow may be dead.
    assert!(told(&decision, "wwan0").is_cut_off());
    // If the first path is absent, only this path can carry the data.
    world.wifi().usable = false;
    world.lte().carried_bytes += 5_000_000;
    assert_eq!(world.roles(60)[1], Regular);
}

#[test]
fn bytes_under_way_use_up_the_handover_budget() {
    let mut world = World::of("intent = \"handover\"\nhandover_budget = \"1 MB\"");
    world.pass(60);
    world.wifi().stalled = true;
    assert_eq!(world.roles(6)[1], Regular);
    world.lte().carried_bytes += 600_000;
    world.lte().under_way = 399_999;
    let decision = world.pass(1);
    assert_eq!(told(&decision, "wwan0").role, Regular);
    assert_eq!(
        decision.budget,
        Some(Bound {
            interfaces: vec![3],
            left_bytes: 400_000
        })
    );
    world.lte().under_way = 400_000;
    assert_eq!(world.roles(1)[1], Unused);
    world.lte().under_way = 0;
    let decision = world.pass(1);
    assert_eq!(
        (told(&decision, "wwan0").role, decision.budget),
        (Unused, None)
    );
}

#[test]
fn the_budget_bounds_a_path_from_when_it_opens_beside_a_silent_one() {
    let mut world = World::of("intent = \"handover\"\nhandover_budget = \"1 MB\"");
    world.pass(60);
    world.wifi().silent = Some(Nanos::from_secs(3));
    let decision = world.pass(1);
    assert_eq!(told(&decision, "wwan0").role, Backup);
    assert_eq!(
        decision.budget,
        Some(Bound {
            interfaces: vec![3],
            left_bytes: 1_000_000
        })
    );
    world.lte().carried_bytes += 1_000_000;
    assert_eq!(world.roles(1)[1], Unused);
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
    assert_eq!(
        left(world.pass(1), world.snapshot.now),
        Nanos::from_millis(500)
    );
    world.lte().carried_bytes += 500_000;
    assert_eq!(
        left(world.pass(1), world.snapshot.now),
        Nanos::from_millis(250)
    );
}

#[test]
fn a_connection_without_another_path_keeps_a_path_over_its_budget() {
    let mut world = World::of("intent = \"handover\"\nhandover_budget = \"1 MB\"");
    world.pass(60);
    world.wifi().stalled = true;
    assert_eq!(world.roles(6)[1], Regular);
    world.lte().carried_bytes += 1_000_000;
    world.lte().only = 1;
    let decision = world.pass(1);
    assert_eq!(told(&decision, "wwan0").role, Backup);
    // It carries nothing until WiFi answers.
    assert_eq!(
        decision.budget,
        Some(Bound {
            interfaces: vec![3],
            left_bytes: 0
        })
    );
    world.wifi().stalled = false;
    assert_eq!(world.pass(30).budget, None);
    world.wifi().stalled = true;
    world.lte().only = 0;
    let decision = world.pass(6);
    assert_eq!(
        (told(&decision, "wwan0").role, decision.budget),
        (Unused, None)
    );
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
    let spent = Reason::BudgetUsed {
        used_bytes: 1_000_000,
        budget_bytes: 1_000_000,
    };
    assert_eq!(told(&world.pass(1), "wwan0").reason, spent);
}

#[test]
fn bytes_that_another_intent_has_spent_use_up_no_budget() {
    let mut world = World::of("intent = \"aggregate\"\nhandover_budget = \"1 MB\"");
    world.wifi().rate_bps = 5e6;
    assert_eq!(world.roles(60)[1], Regular);
    world.lte().carried_bytes += 5_000_000;
    world.config.intent = Intent::Handover;
    assert_eq!(world.roles(30)[1], Unused);
    (world.wifi().stalled, world.wifi().rate_bps) = (true, 0.0);
    assert_eq!(world.roles(6)[1], Regular);
    world.lte().carried_bytes += 999_999;
    assert_eq!(world.roles(1)[1], Regular);
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
    (
        world.wifi().stalled,
        world.wifi().rate_bps,
        world.lte().sole,
    ) = (false, 5e6, 1);
    assert_eq!(world.roles(120), [Regular, Backup]);
    world.lte().carried_bytes += 600_000;
    let spent = Reason::BudgetUsed {
        used_bytes: 1_200_000,
        budget_bytes: 1_000_000,
    };
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
    let spent = Reason::BudgetUsed {
        used_bytes: 1_000_000,
        budget_bytes: 1_000_000,
    };
    assert_eq!(told(&world.pass(1), "wwan0").reason, spent);
}
