//! Kills of the daemon at any step.

use joulepath_model::random::{Domain, Stream};

use super::*;

/// A life with additions, changes of priority, a changed address, removals, and undo.
fn life(actor: &mut Actor<Fake, Fake>) {
    let rounds: [&[Wanted]; 6] = [
        &[wanted(2, false), wanted(3, true)],
        &[wanted(2, true), wanted(3, false), wanted(5, true)],
        &[wanted(4, true), wanted(3, false)],
        &[
            wanted(3, false),
            wanted(5, false),
            wanted(6, false),
            wanted(7, true),
        ],
        &[wanted(7, true)],
        &[],
    ];
    for (round, controller) in rounds.into_iter().zip([
        None,
        Some("bbr"),
        Some("reno"),
        None,
        Some(CUBIC),
        Some("bbr"),
    ]) {
        actor.reconcile(Some(round), &[], NOW).unwrap();
        control(actor, controller, NOW);
        let manager = controller
            .is_none_or(|name| name == "reno")
            .then_some(USER_SPACE);
        actor
            .set(Setting::Manager, manager, NOW, &mut Outcome::default())
            .unwrap();
    }
    actor.reconcile(Some(rounds[1]), &[], NOW).unwrap();
    actor
        .set(
            Setting::Manager,
            Some(USER_SPACE),
            NOW,
            &mut Outcome::default(),
        )
        .unwrap();
    actor.undo(NOW).unwrap();
}

#[test]
fn a_start_after_one_or_two_kills_at_any_step_restores_everything() {
    let found = vec![
        of_others(1),
        Endpoint {
            backup: true,
            ..of_others(9)
        },
    ];
    let start = || {
        let fake = Fake::default();
        fake.0.borrow_mut().endpoints = found.clone();
        fake
    };
    let is_as_found = |fake: &Fake| {
        assert_eq!(
            (fake.endpoints_now(), fake.limits_now()),
            (found.clone(), DEFAULT)
        );
        assert_eq!(
            (fake.controller_now().as_str(), fake.manager_now().as_str()),
            (CUBIC, KERNEL)
        );
        assert_eq!(fake.0.borrow().journal, None);
    };
    let mut kills = 0;
    for step in 0.. {
        let fake = start();
        if !fake.killed_at(step, life) {
            is_as_found(&fake);
            break;
        }
        kills += 1;
        // Undo at once.
        let (left, limits) = (fake.endpoints_now(), fake.limits_now());
        let settings = [fake.controller_now(), fake.manager_now()];
        let journal = fake.0.borrow().journal.clone();
        fake.actor().undo(NOW).unwrap();
        is_as_found(&fake);
        // Killed again during the undo, at each of its steps; then it continues and ends.
        for second in 0.. {
            {
                let mut world = fake.0.borrow_mut();
                (world.endpoints, world.journal) = (left.clone(), journal.clone());
                world.limits = Some(limits);
                [world.controller, world.manager] = settings.clone().map(Some);
            }
            let again = fake.killed_at(second, |actor| drop(actor.undo(NOW).unwrap()));
            life(&mut fake.actor());
            is_as_found(&fake);
            if !again {
                break;
            }
        }
    }
    assert!(kills > 30, "{kills}");
}

#[test]
fn a_week_of_changing_radios_and_kills_restores_the_table() {
    const WEEK_S: u64 = 7 * 86_400;
    let config = read_live(
        "intent = \"frugal\"\n[[interface]]\nname = \"wlan0\"\nenergy = \"wifi-huang2012\"\n[[interface]]\n\
         name = \"wwan0\"\nenergy = \"lte-huang2012\"\nquota = { soft = \"1 GB\", hard = \"2 GB\" }",
    )
    .unwrap();
    let interface = |index: u32, name: &str| Interface {
        index,
        name: name.into(),
        kind: None,
        usable: true,
        routed: true,
        addresses: vec![ip(index as u8)],
        rate_bps: 0.0,
        capacity_bps: None,
        rtt: None,
        first: index == 2,
        subflows: 0,
        healthy: 0,
        lost: 0,
        silent: None,
        stalled: false,
        mute: false,
        interrupted: false,
        sole: 0,
        only: 0,
        missing: 0,
        refused: 0,
        carried_bytes: 0,
        used: None,
        under_way: 0,
        remembered: None,
        strength: None,
    };
    let fake = Fake::default();
    fake.0.borrow_mut().endpoints.push(of_others(99));
    let (mut actor, mut decider) = (fake.actor(), Decider::default());
    let mut draw = Stream::new(1, Domain::Workload, 0);
    let mut snapshot = Snapshot {
        interfaces: vec![interface(2, "wlan0"), interface(3, "wwan0")],
        ..Snapshot::default()
    };
    let (mut now_s, mut changes, mut kills, mut used) = (0, 0, 0, 0);
    while now_s < WEEK_S {
        now_s += 1 + draw.below(60);
        let which = draw.below(2) as usize;
        let radio = &mut snapshot.interfaces[which];
        match draw.below(8) {
            0 => radio.usable = !radio.usable,
            1 => radio.addresses = vec![ip((100 + draw.below(100)) as u8 & 0xfe | which as u8)],
            2 => radio.stalled = draw.below(4) == 0,
            3 => radio.capacity_bps = Some(1e6 * (1 + draw.below(60)) as f64),
            4 => radio.sole = draw.below(3) as usize,
            _ => radio.usable = true,
        }
        // A new period each day, so that quotas are used up and restart.
        used = if now_s % 86_400 < 60 {
            0
        } else {
            used + 1_000_000 * draw.below(6)
        };
        snapshot.interfaces[1].used = Some(joulepath_model::units::Bytes(used));
        snapshot.now = Nanos::from_secs(now_s);
        let decision = decider.decide(&config, &Overrides::default(), &snapshot);
        let endpoints = decision.endpoints.unwrap();
        if draw.below(200) == 0 {
            // The process is killed somewhere in this round and restarts without its memory.
            fake.0.borrow_mut().left = Some(draw.below(5) as usize);
            let ended = catch_unwind(AssertUnwindSafe(|| {
                actor.reconcile(Some(&endpoints), &[], snapshot.now)
            }));
            fake.0.borrow_mut().left = None;
            kills += usize::from(ended.is_err());
            (actor, decider) = (fake.actor(), Decider::default());
            continue;
        }
        let outcome = actor
            .reconcile(Some(&endpoints), &[], snapshot.now)
            .unwrap();
        assert_eq!(outcome.conflicts.len(), 0, "{outcome:?}");
        changes += outcome.changes;
        // The table has the wanted endpoints and the original ones.
        let mut expected: Vec<(IpAddr, bool)> = endpoints
            .iter()
            .map(|one| (one.address, one.backup))
            .collect();
        expected.push((ip(99), false));
        expected.sort();
        let mut there: Vec<_> = fake
            .endpoints_now()
            .iter()
            .map(|one| (one.address, one.backup))
            .collect();
        there.sort();
        assert_eq!(there, expected);
        if used >= 2_000_000_000 {
            assert!(
                fake.endpoints_now()
                    .iter()
                    .all(|there| there.interface != Some(3))
            );
        }
    }
    actor.undo(NOW).unwrap();
    assert_eq!(
        (fake.endpoints_now(), fake.limits_now()),
        (vec![of_others(99)], DEFAULT)
    );
    assert!(kills > 5 && changes > 1000, "{kills} {changes}");
    // Addresses change every few minutes here, which cannot wait; roles add few changes.
    assert!(changes < 7 * 24 * 100, "{changes}");
}
