//! Endpoints that stay for connections, and journals that cannot be written.

use joulepath_kernel::mptcp::{TcpState, Token};

use super::tests::*;
use super::*;
use crate::samples::{connection, heard};

/// Two endpoints, and no other program.
fn with_two(fake: &Fake) -> Actor<Fake, Fake> {
    let mut actor = fake.actor();
    actor
        .reconcile(Some(&[wanted(2, false), wanted(3, true)]), &[], NOW)
        .unwrap();
    actor
}

const LATER: Nanos = Nanos::from_secs(1100);

#[test]
fn endpoints_stay_only_while_a_connection_has_no_other_path() {
    let fake = Fake::default();
    let mut actor = with_two(&fake);
    fake.connects(1, &[2, 3]);
    let outcome = actor.undo(NOW).unwrap();
    assert_eq!(
        (there(&fake), outcome.stays.clone()),
        (vec![(2, false)], [(ip(2), 1)].into())
    );
    assert!(outcome.again > Some(NOW) && fake.limits_now().extra_subflows == 0);
    // The next check comes no sooner than announced.
    let steps = fake.steps();
    assert_eq!(actor.undo(NOW).unwrap().stays, outcome.stays);
    assert_eq!(fake.steps(), steps);
    assert_eq!(actor.undo(LATER).unwrap().stays, outcome.stays);
    fake.ends(1);
    assert!(actor.undo(LATER + LATER).unwrap().stays.is_empty());
    assert_eq!(
        (there(&fake), fake.limits_now(), fake.journal()),
        (vec![], DEFAULT, None)
    );
    assert_eq!(fake.cut(), []);
}

#[test]
fn withdrawn_endpoints_stay_for_connections_and_settings_stay_too() {
    let fake = Fake::default();
    let mut actor = with_two(&fake);
    let manager = |actor: &mut Actor<Fake, Fake>| {
        actor
            .set(
                Setting::Manager,
                Some("userspace"),
                NOW,
                &mut Outcome::default(),
            )
            .unwrap();
    };
    manager(&mut actor);
    fake.connects(1, &[2, 3]);
    assert_eq!(actor.withdraw(NOW).unwrap().stays, [(ip(2), 1)].into());
    assert_eq!(
        (there(&fake), fake.limits_now().extra_subflows),
        (vec![(2, false)], 0)
    );
    fake.ends(1);
    assert!(actor.withdraw(LATER).unwrap().stays.is_empty());
    assert_eq!((there(&fake), fake.limits_now()), (vec![], DEFAULT));
    assert!(actor.has_something(), "the path manager is still ours");
    // The endpoints come back, and the end restores everything.
    actor
        .reconcile(Some(&[wanted(2, false), wanted(3, true)]), &[], LATER)
        .unwrap();
    assert_eq!(there(&fake), [(2, false), (3, true)]);
    actor.undo(LATER + LATER).unwrap();
    assert_eq!(
        (there(&fake), fake.limits_now(), fake.journal(), fake.cut()),
        (vec![], DEFAULT, None, vec![])
    );
}

#[test]
fn connections_on_different_endpoints_keep_both() {
    let fake = Fake::default();
    let mut actor = with_two(&fake);
    fake.connects(1, &[2]);
    fake.connects(2, &[3]);
    assert_eq!(actor.undo(NOW).unwrap().stays.len(), 2);
    fake.ends(1);
    assert_eq!(actor.undo(LATER).unwrap().stays, [(ip(3), 1)].into());
    // Another process continues from the journal.
    fake.ends(2);
    assert!(fake.actor().undo(LATER + LATER).unwrap().stays.is_empty());
    assert_eq!(
        (there(&fake), fake.limits_now(), fake.cut()),
        (vec![], DEFAULT, vec![])
    );
}

#[test]
fn connections_that_start_after_the_end_keep_no_endpoint() {
    let fake = Fake::default();
    let mut actor = with_two(&fake);
    fake.connects(1, &[2]);
    let second = |n| NOW + Nanos::from_secs(n);
    assert!(actor.undo(NOW).unwrap().again <= Some(second(3)));
    // A socket created before the end may connect some seconds later.
    fake.connects(2, &[2]);
    let outcome = actor.undo(second(2)).unwrap();
    assert_eq!(outcome.stays, [(ip(2), 2)].into());
    // The last of them are listed as soon as no other can follow.
    assert!(outcome.again <= Some(second(3)), "{outcome:?}");
    fake.connects(3, &[2]);
    assert_eq!(actor.undo(second(3)).unwrap().stays, [(ip(2), 3)].into());
    fake.connects(4, &[2]);
    assert_eq!(actor.undo(LATER).unwrap().stays, [(ip(2), 3)].into());
    (1..4).for_each(|token| fake.ends(token));
    assert!(actor.undo(LATER + LATER).unwrap().stays.is_empty());
    assert_eq!(there(&fake), []);
}

#[test]
fn a_late_listing_is_the_last_one_that_ties_connections() {
    let fake = Fake::default();
    let mut actor = with_two(&fake);
    fake.connects(1, &[2]);
    // The kernel answers 5 s after the beginning: the 3 s count from there.
    let second = |n| NOW + Nanos::from_secs(n);
    fake.is_at(second(5));
    actor.undo(NOW).unwrap();
    fake.connects(2, &[2]);
    assert_eq!(actor.undo(second(7)).unwrap().stays, [(ip(2), 2)].into());
    // This attempt begins in time, but its listing comes after the 3 s.
    fake.is_at(second(20));
    fake.connects(3, &[2]);
    actor.undo(second(8)).unwrap();
    fake.connects(4, &[2]);
    assert_eq!(actor.undo(LATER).unwrap().stays, [(ip(2), 3)].into());
    (1..4).for_each(|token| fake.ends(token));
    assert!(actor.undo(LATER + LATER).unwrap().stays.is_empty());
    assert_eq!(there(&fake), []);
}

#[test]
fn with_endpoints_of_other_programs_limits_are_restored_at_once() {
    let fake = Fake::default();
    fake.finds(of_others(9));
    let mut actor = with_two(&fake);
    fake.connects(1, &[2, 3]);
    actor.undo(NOW).unwrap();
    assert_eq!(
        (there(&fake), fake.limits_now()),
        (vec![(9, false), (2, false)], DEFAULT)
    );
    fake.connects(2, &[2]);
    fake.ends(1);
    assert_eq!(actor.undo(LATER).unwrap().stays, [(ip(2), 1)].into());
    fake.ends(2);
    actor.undo(LATER + LATER).unwrap();
    assert_eq!(
        (fake.endpoints_now(), fake.cut()),
        (vec![of_others(9)], vec![])
    );
}

#[test]
fn with_endpoints_of_other_programs_extra_subflows_are_allowed_throughout() {
    let mut step = 0;
    loop {
        let fake = Fake::default();
        fake.finds(of_others(9));
        with_two(&fake);
        fake.connects(1, &[2, 3]);
        let is_killed = fake.killed_at(step, |actor| drop(actor.undo(NOW).unwrap()));
        assert!(fake.limits_now().extra_subflows > 0, "step {step}");
        if !is_killed {
            break;
        }
        step += 1;
    }
    assert!(step > 1);
}

#[test]
fn the_record_of_connections_drops_those_that_have_ended() {
    let fake = Fake::default();
    let mut actor = with_two(&fake);
    fake.connects(1, &[2]);
    fake.connects(2, &[2]);
    actor.undo(NOW).unwrap();
    fake.ends(1);
    actor.undo(LATER).unwrap();
    let journal: Journal = serde_json::from_str(&fake.journal().unwrap()).unwrap();
    assert_eq!(journal.kept.unwrap().tied, [Token(2)].into());
}

#[test]
fn a_needed_endpoint_becomes_a_backup_and_is_checked_again_after_a_pause() {
    let fake = Fake::default();
    let mut actor = fake.actor();
    actor
        .reconcile(Some(&[wanted(2, false), wanted(3, false)]), &[], NOW)
        .unwrap();
    fake.connects(1, &[3]);
    let spare = [(ip(3), 3)];
    let mut round = |now: Nanos| {
        actor
            .reconcile(Some(&[wanted(2, false)]), &spare, now)
            .unwrap();
        there(&fake)
    };
    let both = [(2, false), (3, true)];
    assert_eq!(round(NOW), both);
    fake.ends(1);
    assert_eq!(round(NOW + Nanos::from_millis(1)), both);
    assert_eq!(round(LATER), [(2, false)]);
}

#[test]
fn a_start_takes_over_endpoints_and_cuts_off_no_connection() {
    let fake = Fake::default();
    let mut actor = with_two(&fake);
    fake.connects(1, &[3]);
    actor.undo(NOW).unwrap();
    let spare = [(ip(3), 3)];
    let mut next = fake.actor();
    next.reconcile(Some(&[wanted(2, false)]), &spare, LATER)
        .unwrap();
    assert_eq!(
        (there(&fake), fake.limits_now()),
        (vec![(3, true), (2, false)], DEFAULT)
    );
    assert_eq!(fake.cut(), []);
    // On a forbidden interface it goes.
    next.reconcile(Some(&[wanted(2, false)]), &[], LATER)
        .unwrap();
    assert_eq!(
        (there(&fake), fake.cut()),
        (vec![(2, false)], vec![Token(1)])
    );
}

#[test]
fn keeping_endpoints_restores_only_settings_and_the_next_start_takes_over() {
    let fake = Fake::default();
    let mut actor = with_two(&fake);
    actor
        .set(
            Setting::Controller,
            Some("bbr"),
            NOW,
            &mut Outcome::default(),
        )
        .unwrap();
    let (endpoints, limits) = (fake.endpoints_now(), fake.limits_now());
    assert_eq!(actor.leave(NOW).unwrap(), (1, true));
    assert_eq!(
        (fake.endpoints_now(), fake.limits_now()),
        (endpoints.clone(), limits)
    );
    assert_eq!(fake.controller_now(), "cubic");
    let mut next = fake.actor();
    let mut outcome = next
        .reconcile(Some(&[wanted(2, false), wanted(3, true)]), &[], LATER)
        .unwrap();
    next.set(Setting::Controller, Some("bbr"), LATER, &mut outcome)
        .unwrap();
    assert_eq!(
        (
            outcome.changes,
            outcome.settings.len(),
            fake.endpoints_now()
        ),
        (1, 0, endpoints)
    );
    next.undo(LATER).unwrap();
    assert_eq!(
        (there(&fake), fake.limits_now(), fake.journal()),
        (vec![], DEFAULT, None)
    );
    // If nothing is left, there is no record.
    next.set(
        Setting::Controller,
        Some("bbr"),
        LATER,
        &mut Outcome::default(),
    )
    .unwrap();
    assert_eq!(
        (next.leave(LATER).unwrap(), fake.journal()),
        ((1, false), None)
    );
}

#[test]
fn a_stalled_or_long_silent_subflow_counts_as_no_other_path() {
    let endpoint = Endpoint {
        id: Some(AddressId(1)),
        ..Endpoint::subflow(ip(2), 2)
    };
    let closing = Closing::with(&endpoint).unwrap();
    let mut connection = connection(1, &[ip(2), ip(3)]);
    assert!(!closing.cuts(&connection));
    let state = connection.subflows[1].state;
    connection.subflows[1].state = TcpState::SynSent;
    assert!(closing.cuts(&connection));
    connection.subflows[1].state = state;
    connection.subflows[0].info = Some(heard(100));
    connection.subflows[1].info = Some(heard(1500));
    assert!(!closing.cuts(&connection));
    connection.subflows[1].info = Some(heard(5000));
    assert!(closing.cuts(&connection));
    // That subflow is the live one.
    let other = Closing::new(AddressId(77), ip(3));
    assert!(!other.cuts(&connection));
}

#[test]
fn repeated_journal_failures_do_not_disown_an_endpoint() {
    let fake = Fake::default();
    let mut actor = with_two(&fake);
    fake.fill(true);
    for _ in 0..3 {
        actor
            .reconcile(Some(&[wanted(2, true), wanted(3, false)]), &[], NOW)
            .unwrap_err();
        assert_eq!(there(&fake), [(2, false), (3, true)]);
    }
    fake.fill(false);
    actor
        .reconcile(Some(&[wanted(2, true), wanted(3, false)]), &[], NOW)
        .unwrap();
    assert_eq!(there(&fake), [(2, true), (3, false)]);
    fake.fill(true);
    for _ in 0..3 {
        actor
            .reconcile(Some(&[wanted(2, false), wanted(3, false)]), &[], NOW)
            .unwrap_err();
    }
    actor.undo(NOW).unwrap();
    assert_eq!((there(&fake), fake.limits_now()), (vec![], DEFAULT));
}

#[test]
fn a_forbidden_endpoint_is_removed_even_without_a_journal() {
    let fake = Fake::default();
    let mut actor = with_two(&fake);
    fake.fill(true);
    // Its hard quota is used up; the other endpoint should be regular, and a third one is new.
    actor
        .reconcile(Some(&[wanted(2, true), wanted(4, false)]), &[], NOW)
        .unwrap_err();
    assert_eq!(there(&fake), [(2, false)]);
    // A setting is not changed without a journal either, at the second attempt as at the first.
    for _ in 0..2 {
        actor
            .set(
                Setting::Controller,
                Some("bbr"),
                NOW,
                &mut Outcome::default(),
            )
            .unwrap_err();
        assert_eq!(fake.controller_now(), "cubic");
    }
    fake.fill(false);
    actor
        .reconcile(Some(&[wanted(2, true), wanted(4, false)]), &[], NOW)
        .unwrap();
    assert_eq!(there(&fake), [(2, true), (4, false)]);
    fake.fill(true);
    fake.actor().undo(NOW).unwrap();
    assert_eq!((there(&fake), fake.limits_now()), (vec![], DEFAULT));
}

#[test]
fn two_interfaces_with_one_address_get_one_endpoint_and_a_reason() {
    let fake = Fake::default();
    let mut actor = fake.actor();
    let modem = |interface: u32, backup| Wanted {
        interface,
        ..wanted(2, backup)
    };
    let outcome = actor
        .reconcile(Some(&[modem(2, false), modem(3, true)]), &[], NOW)
        .unwrap();
    assert!(
        outcome.conflicts[&(ip(2), 3)].contains("another interface has the same address"),
        "{outcome:?}"
    );
    assert_eq!(
        (there(&fake), outcome.conflicts.len()),
        (vec![(2, false)], 1)
    );
    // The other interface is preferred now.
    let outcome = actor
        .reconcile(Some(&[modem(3, false), modem(2, true)]), &[], NOW)
        .unwrap();
    assert!(outcome.conflicts.contains_key(&(ip(2), 2)), "{outcome:?}");
    assert_eq!(fake.endpoints_now()[0].interface, Some(3));
    // Neither may be cut from a connection without another path.
    fake.connects(1, &[2]);
    let spare = [(ip(2), 2), (ip(2), 3)];
    actor
        .reconcile(Some(&[modem(2, false), modem(3, true)]), &spare, NOW)
        .unwrap();
    assert_eq!(
        (fake.endpoints_now()[0].interface, fake.cut()),
        (Some(3), vec![])
    );
}
