//! Endpoints of other programs that the daemon takes over.

use super::*;

const LAMINAR: u32 = 1 << 5;

/// An endpoint of another program on the device that the daemon uses, too.
fn theirs(host: u8) -> Endpoint {
    Endpoint {
        id: Some(AddressId(100 + host)),
        ..Endpoint::subflow(ip(host), host.into())
    }
}

/// One endpoint of each kind that `ip mptcp endpoint` can set.
fn found() -> Vec<Endpoint> {
    vec![
        theirs(2),
        Endpoint {
            backup: true,
            other_flags: LAMINAR,
            ..theirs(3)
        },
        Endpoint {
            interface: None,
            ..theirs(4)
        },
        Endpoint {
            subflow: false,
            signal: true,
            ..theirs(5)
        },
        Endpoint {
            fullmesh: true,
            ..theirs(6)
        },
        Endpoint {
            signal: true,
            ..theirs(7)
        },
        // Its address is not the daemon's, its port is a server's.
        theirs(8),
        Endpoint {
            id: Some(AddressId(9)),
            subflow: false,
            signal: true,
            port: Some(8080),
            ..theirs(2)
        },
    ]
}

fn reach(hosts: impl IntoIterator<Item = u8>) -> Option<Reach> {
    Some(
        (2..=8)
            .map(|host| (ip(host), false))
            .chain(hosts.into_iter().map(|host| (ip(host), true)))
            .collect(),
    )
}

fn start() -> Fake {
    let fake = Fake::default();
    fake.0.borrow_mut().endpoints = found();
    fake
}

fn adopts(fake: &Fake) -> Actor<Fake, Fake> {
    let mut actor = fake.actor();
    actor.adopt(reach(2..=7));
    actor
}

fn sorted(mut all: Vec<Endpoint>) -> Vec<Endpoint> {
    all.sort_by_key(|one| one.id);
    all
}

fn assert_as_found(fake: &Fake, what: &str) {
    assert_eq!(sorted(fake.endpoints_now()), sorted(found()), "{what}");
    assert_eq!(
        (fake.limits_now(), fake.journal()),
        (DEFAULT, None),
        "{what}"
    );
}

/// Roles that need no change, other priorities, removals, and the return of removed ones.
fn rounds() -> [Vec<Wanted>; 4] {
    let all = |backup: bool| (2..=7).map(|host| wanted(host, backup)).collect::<Vec<_>>();
    [all(false), all(true), vec![wanted(3, false)], all(false)]
}

#[test]
fn endpoints_of_others_get_the_wanted_roles_and_are_given_back_as_they_were() {
    let fake = start();
    let mut actor = adopts(&fake);
    for round in rounds() {
        let outcome = actor.reconcile(Some(&round), &[], NOW).unwrap();
        assert_eq!(
            (outcome.conflicts, outcome.adopted.len()),
            (BTreeMap::new(), 6)
        );
        let mut expected: Vec<_> = round.iter().map(|one| (one.address, one.backup)).collect();
        expected.extend([(ip(2), false), (ip(8), false)]);
        expected.sort_unstable();
        let mut there: Vec<_> = fake
            .endpoints_now()
            .iter()
            .map(|one| (one.address, one.backup))
            .collect();
        there.sort_unstable();
        assert_eq!(there, expected);
        // Each opens subflows through its device, and keeps its further flags.
        for one in fake
            .endpoints_now()
            .iter()
            .filter(|one| one.port.is_none() && one.address != ip(8))
        {
            let was = found()
                .into_iter()
                .find(|was| was.is_at(one.address))
                .unwrap();
            assert!(one.opens_subflows() && one.interface.is_some(), "{one:?}");
            assert_eq!(one.other_flags, was.other_flags);
            assert!(
                one.id == was.id || was.interface.is_none() || !was.opens_subflows(),
                "{one:?}"
            );
            assert!(
                one.signal >= was.signal && one.fullmesh >= was.fullmesh,
                "{one:?}"
            );
        }
        // Repeating it changes nothing.
        let steps = fake.steps();
        actor.reconcile(Some(&round), &[], NOW).unwrap();
        assert_eq!(fake.steps(), steps);
    }
    actor.undo(NOW).unwrap();
    assert_as_found(&fake, "at the end");
}

#[test]
fn endpoints_that_serve_as_they_are_stay_untouched() {
    let fake = start();
    let mut actor = adopts(&fake);
    let before = fake.endpoints_now();
    let all = [
        wanted(2, false),
        wanted(3, true),
        wanted(6, false),
        wanted(7, false),
    ];
    actor.adopt(reach([2, 3, 6, 7]));
    actor.reconcile(Some(&all), &[], NOW).unwrap();
    assert_eq!(fake.endpoints_now(), before);
    actor.undo(NOW).unwrap();
    assert_eq!(fake.endpoints_now(), before);
}

#[test]
fn a_start_after_a_kill_at_any_step_gives_back_what_was_found() {
    let life = |actor: &mut Actor<Fake, Fake>| {
        actor.adopt(reach(2..=7));
        for round in rounds() {
            actor.reconcile(Some(&round), &[], NOW).unwrap();
        }
        actor.withdraw(NOW).unwrap();
        actor.reconcile(Some(&rounds()[1]), &[], NOW).unwrap();
        actor.adopt(reach([2, 3]));
        (0..3).for_each(|_| drop(actor.reconcile(Some(&rounds()[2]), &[], NOW).unwrap()));
        actor.adopt(reach(2..=7));
        actor.reconcile(Some(&rounds()[0]), &[], NOW).unwrap();
        actor.undo(NOW).unwrap();
    };
    let mut kills = 0;
    for step in 0.. {
        let fake = start();
        if !fake.killed_at(step, life) {
            break;
        }
        kills += 1;
        let (endpoints, limits, journal) =
            (fake.endpoints_now(), fake.limits_now(), fake.journal());
        fake.actor().undo(NOW).unwrap();
        assert_as_found(&fake, &format!("killed at {step}"));
        for second in 0.. {
            {
                let mut world = fake.0.borrow_mut();
                (world.endpoints, world.journal) = (endpoints.clone(), journal.clone());
                world.limits = Some(limits);
            }
            let again = fake.killed_at(second, |actor| drop(actor.undo(NOW).unwrap()));
            life(&mut fake.actor());
            assert_as_found(&fake, &format!("killed at {step} and {second}"));
            if !again {
                break;
            }
        }
    }
    assert!(kills > 50, "{kills}");
}

#[test]
fn a_start_that_takes_nothing_over_gives_back_what_a_killed_one_took() {
    let fake = start();
    adopts(&fake)
        .reconcile(Some(&rounds()[1]), &[], NOW)
        .unwrap();
    let mut next = fake.actor();
    for _ in 0..2 {
        next.reconcile(Some(&rounds()[1]), &[], NOW).unwrap();
    }
    assert_eq!(sorted(fake.endpoints_now()), sorted(found()));
}

#[test]
fn an_adopted_endpoint_that_another_program_changes_is_that_program_s() {
    let changes: [fn(&mut Endpoint); 3] = [
        |one| one.backup = true,
        |one| one.id = Some(AddressId(55)),
        |one| one.fullmesh = true,
    ];
    for change in changes {
        let fake = start();
        let mut actor = adopts(&fake);
        actor.reconcile(Some(&rounds()[0]), &[], NOW).unwrap();
        change(&mut fake.0.borrow_mut().endpoints[0]);
        let changed = fake.endpoints_now()[0].clone();
        for round in rounds() {
            let outcome = actor.reconcile(Some(&round), &[], NOW).unwrap();
            assert!(!outcome.adopted.contains(&ip(2)));
            assert!(outcome.others.contains(&ip(2)) && fake.endpoints_now().contains(&changed));
        }
        // The next process respects it, too.
        drop(actor);
        let mut actor = adopts(&fake);
        actor.reconcile(Some(&rounds()[1]), &[], NOW).unwrap();
        assert!(fake.endpoints_now().contains(&changed));
        actor.undo(NOW).unwrap();
        let others = found().split_off(1);
        assert_eq!(
            sorted(fake.endpoints_now()),
            sorted([vec![changed], others].concat())
        );
    }
}

#[test]
fn an_endpoint_that_another_program_sets_again_is_its_own_unless_the_address_was_away() {
    for was_away in [false, true] {
        let fake = start();
        let mut actor = adopts(&fake);
        // The daemon has removed 2.
        actor
            .reconcile(Some(&[wanted(3, false)]), &[], NOW)
            .unwrap();
        if was_away {
            let mut without = reach(3..=7).unwrap();
            without.remove(&ip(2));
            actor.adopt(Some(without));
            actor
                .reconcile(Some(&[wanted(3, false)]), &[], NOW)
                .unwrap();
            actor.adopt(reach(2..=7));
        }
        let anew = Endpoint {
            id: Some(AddressId(44)),
            ..theirs(2)
        };
        fake.finds(anew.clone());
        actor
            .reconcile(Some(&[wanted(3, false)]), &[], NOW)
            .unwrap();
        assert_eq!(fake.endpoints_now().contains(&anew), !was_away);
        actor.undo(NOW).unwrap();
        assert!(fake.endpoints_now().contains(&anew));
    }
}

#[test]
fn an_adopted_endpoint_that_another_program_removes_is_not_given_back() {
    let fake = start();
    let mut actor = adopts(&fake);
    actor.reconcile(Some(&rounds()[0]), &[], NOW).unwrap();
    fake.0.borrow_mut().endpoints.remove(0);
    actor.reconcile(Some(&rounds()[0]), &[], NOW).unwrap();
    actor.undo(NOW).unwrap();
    assert_eq!(sorted(fake.endpoints_now()), sorted(found().split_off(1)));
}

#[test]
fn an_adopted_endpoint_stays_while_a_connection_needs_it() {
    let fake = start();
    let mut actor = adopts(&fake);
    let spare: Vec<(IpAddr, u32)> = (2..=7).map(|host| (ip(host), host.into())).collect();
    fake.connects(1, &[2]);
    fake.connects(2, &[4]);
    for _ in 0..2 {
        actor
            .reconcile(Some(&[wanted(3, false)]), &spare, NOW)
            .unwrap();
    }
    assert!(
        there(&fake).contains(&(2, true)) && there(&fake).contains(&(4, true)),
        "{:?}",
        there(&fake)
    );
    actor.undo(NOW).unwrap();
    assert_as_found(&fake, "while they run");
    assert_eq!(fake.cut(), []);
}

#[test]
fn beside_a_tunnel_adopted_endpoints_are_away_until_the_end() {
    let fake = start();
    let mut actor = adopts(&fake);
    actor.withdraw(NOW).unwrap();
    assert_eq!(there(&fake), [(5, false), (8, false), (2, false)]);
    actor.withdraw(NOW).unwrap();
    actor.undo(NOW).unwrap();
    assert_as_found(&fake, "at the end");
}

#[test]
fn nothing_of_another_program_is_removed_without_a_record() {
    let fake = start();
    let mut actor = adopts(&fake);
    fake.fill(true);
    actor
        .reconcile(Some(&[wanted(3, false)]), &[], NOW)
        .unwrap_err();
    assert_eq!(fake.endpoints_now(), found());
    fake.fill(false);
    actor
        .reconcile(Some(&[wanted(3, false)]), &[], NOW)
        .unwrap();
    actor.undo(NOW).unwrap();
    assert_as_found(&fake, "at the end");
}
