//! The interfaces that new connections and endpoints may use.

use std::collections::BTreeSet;
use std::net::IpAddr;

use joulepath_model::live::{First, Intent, LiveConfig};

use crate::act::Reach;
use crate::decide::{Decision, Overrides, Role, Told, Wanted, is_over_hard_quota};
use crate::first::Wish;
use crate::machine::Look;
use crate::snapshot::Interface;

/// Where new connections should start, by family. Interfaces on which packets remain without an
/// answer come last; unless a regular one gets answers, new connections may start on every
/// interface that may be used. A family that gets answers stays on an interface that fails because
/// of the other family.
pub(super) fn wish(
    config: &LiveConfig,
    decision: &Decision,
    look: &Look,
    may_be_used: impl Fn(u32) -> bool,
) -> Wish {
    let found = |told: &Told| look.interfaces.iter().find(|one| one.name == told.name);
    let all = || {
        decision
            .interfaces
            .iter()
            .filter_map(|told| Some((told, found(told)?)))
    };
    let is_regular = |told: &Told| told.role == Role::Regular;
    let is_mute = |one: &Interface, v4| one.mute || look.answers.mute.contains(&(one.index, v4));
    let is_excused = |one: &Interface, v4: bool| is_mute(one, !v4) && !is_mute(one, v4);
    let fails = |one: &Interface, v4: bool| is_mute(one, v4) || one.stalled && !is_excused(one, v4);
    let preferred = |v4: bool| {
        let has = |one: &Interface| one.addresses.iter().any(|address| address.is_ipv4() == v4);
        let excused = |one: &Interface| {
            one.stalled && has(one) && is_excused(one, v4) && may_be_used(one.index)
        };
        let some_fails = all().any(|(_, one)| fails(one, v4));
        let works = all().any(|(told, one)| is_regular(told) && has(one) && !fails(one, v4));
        let any = some_fails && !works;
        let mut candidates: Vec<(&Told, &Interface)> = all()
            .filter(|(told, one)| is_regular(told) || excused(one) || any && may_be_used(one.index))
            .collect();
        candidates.sort_by_key(|(told, one)| (fails(one, v4), !excused(one), !is_regular(told)));
        candidates.iter().map(|(_, one)| one.index).collect()
    };
    let foreign = all().filter(|(told, _)| !told.allowed);
    let detour = |&(server, device): &(IpAddr, u32)| {
        let v4 = server.is_ipv4();
        let mut others = all()
            .filter(|(_, one)| one.index != device && may_be_used(one.index) && !fails(one, v4));
        Some((server, others.next()?.1.index))
    };
    Wish {
        preferred: [true, false].map(preferred),
        foreign: foreign.map(|(_, one)| one.index).collect(),
        roaming: look.roaming.0.clone(),
        steers: config.first == First::Steer,
        cut: cut(config, look),
        detours: match config.first {
            First::Steer => look.answers.detours.iter().filter_map(detour).collect(),
            First::Leave => vec![],
        },
    }
}

/// Addresses, with indexes, of the interfaces that the daemon manages.
pub(super) fn managed(decision: &Decision, look: &Look) -> Vec<(IpAddr, u32)> {
    let managed: BTreeSet<u32> = look
        .interfaces
        .iter()
        .filter(|one| decision.manages(one))
        .map(|one| one.index)
        .collect();
    look.owners
        .iter()
        .map(|(&at, &index)| (at, index))
        .filter(|(_, index)| managed.contains(index))
        .collect()
}

/// The endpoints for the kernel's path manager. An IPv6 connection opens no subflow from an IPv4
/// endpoint to the server's first address: one on an interface without IPv6 may serve an IPv4
/// address that the server announces.
pub(super) fn for_kernel(wanted: &[Wanted], look: &Look) -> Vec<Wanted> {
    let has_v6 = |one: &&Interface| one.addresses.iter().any(IpAddr::is_ipv6);
    let with_v6: Vec<u32> = look
        .interfaces
        .iter()
        .filter(|one| one.usable && one.routed)
        .filter(has_v6)
        .map(|one| one.index)
        .collect();
    let is_laminar = |one: &Wanted| {
        let plain = one.address.is_ipv4() && !one.signal && !one.fullmesh;
        look.has_laminar && plain && !with_v6.is_empty() && !with_v6.contains(&one.interface)
    };
    wanted
        .iter()
        .map(|one| Wanted {
            laminar: is_laminar(one),
            ..one.clone()
        })
        .collect()
}

/// Where endpoints of other programs are taken over: on the interfaces that the daemon manages.
/// `None`: nowhere.
pub(super) fn reach(config: &LiveConfig, decision: &Decision, look: &Look) -> Option<Reach> {
    let mut reach: Reach = look
        .owners
        .keys()
        .map(|&address| (address, false))
        .collect();
    reach.extend(
        managed(decision, look)
            .into_iter()
            .map(|(address, _)| (address, true)),
    );
    config.adopt.then_some(reach)
}

/// Interfaces whose hard quota is used up.
pub(super) fn cut(config: &LiveConfig, look: &Look) -> Vec<u32> {
    let over = look
        .interfaces
        .iter()
        .filter(|one| is_over_hard_quota(config, one));
    over.map(|one| one.index).collect()
}

/// True if the daemon may use the interface at all, whatever its role.
pub(super) fn may_be_used(
    config: &LiveConfig,
    overrides: &Overrides,
    decision: &Decision,
    look: &Look,
    index: u32,
) -> bool {
    let Some(one) = look.interfaces.iter().find(|one| one.index == index) else {
        return false;
    };
    let told = decision.told(&one.name);
    let is_off = overrides.of(config, &one.name) == Some(Intent::Off);
    let is_allowed = told.is_some_and(|told| told.allowed) && !is_off;
    let is_cut_off = told.is_some_and(Told::is_cut_off);
    one.usable && one.routed && is_allowed && !is_cut_off
}

#[cfg(test)]
mod tests {
    use joulepath_model::scenario::read_live;
    use joulepath_model::units::Nanos;

    use super::*;
    use crate::decide::Decider;
    use crate::samples::seen;

    #[test]
    fn new_connections_leave_an_interface_that_does_not_answer() {
        let config = read_live("intent = \"frugal\"").unwrap();
        let mut look = Look {
            interfaces: vec![seen(2, "wlan0"), seen(3, "wwan0")],
            ..Look::default()
        };
        let now = Nanos::from_secs(100);
        let decision =
            Decider::default().decide(&config, &Overrides::default(), &look.snapshot(now, None));
        let preferred = |look: &Look, overrides: &Overrides| {
            wish(&config, &decision, look, |index| {
                may_be_used(&config, overrides, &decision, look, index)
            })
            .preferred[0]
                .clone()
        };
        assert_eq!(preferred(&look, &Overrides::default()), [2]);
        look.interfaces[0].stalled = true;
        assert_eq!(preferred(&look, &Overrides::default()), [3, 2]);
        let mut off = Overrides::default();
        off.interfaces.insert("wwan0".into(), Intent::Off);
        assert_eq!(preferred(&look, &off), [2]);
        look.interfaces[1].stalled = true;
        assert_eq!(preferred(&look, &Overrides::default()), [2, 3]);
        look.interfaces[0].stalled = false;
        assert_eq!(preferred(&look, &Overrides::default()), [2]);
    }

    #[test]
    fn only_the_family_that_gets_no_answer_leaves_an_interface() {
        let config = read_live("intent = \"frugal\"").unwrap();
        let with_v6 = |mut one: Interface| {
            one.addresses.push([0xfd00, 0, 0, 0, 0, 0, 0, 1].into());
            one
        };
        let mut look = Look {
            interfaces: [seen(2, "wlan0"), seen(3, "wwan0")].map(with_v6).into(),
            ..Look::default()
        };
        let mut decider = Decider::default();
        let mut decide = |look: &Look, s: u64| {
            let now = Nanos::from_secs(s);
            decider.decide(&config, &Overrides::default(), &look.snapshot(now, None))
        };
        let first = |look: &Look, decision: &Decision| {
            wish(&config, decision, look, |_| true)
                .preferred
                .map(|all| all[0])
        };
        let decision = decide(&look, 100);
        assert_eq!(first(&look, &decision), [2, 2]);
        for (v4, expected) in [(true, [3, 2]), (false, [2, 3])] {
            look.answers.mute = [(2, v4)].into();
            assert_eq!(first(&look, &decision), expected);
        }
        // Open connections of the silent family make it a backup.
        look.interfaces[0].stalled = true;
        look.interfaces[0].subflows = 1;
        look.families.v6 = 1;
        let decision = (101..130).map(|s| decide(&look, s)).last().unwrap();
        assert_eq!(decision.told("wlan0").unwrap().role, Role::Backup);
        assert_eq!(first(&look, &decision), [2, 3]);
        look.answers.mute.insert((2, true));
        assert_eq!(first(&look, &decision), [3, 3]);
    }

    #[test]
    fn new_connections_leave_a_mute_interface_under_every_intent() {
        for intent in [
            "frugal",
            "balanced",
            "fast",
            "handover",
            "interactive",
            "aggregate",
            "overflow",
        ] {
            let config = read_live(&format!("intent = \"{intent}\"")).unwrap();
            let mut look = Look {
                interfaces: vec![seen(2, "wlan0"), seen(3, "wwan0")],
                ..Look::default()
            };
            let mut decider = Decider::default();
            let mut decide = |s: u64, is_mute: bool| {
                look.interfaces[0].mute = is_mute;
                let now = Nanos::from_secs(s);
                let decision =
                    decider.decide(&config, &Overrides::default(), &look.snapshot(now, None));
                let may =
                    |index| may_be_used(&config, &Overrides::default(), &decision, &look, index);
                let told = decision
                    .interfaces
                    .iter()
                    .find(|told| told.name == "wlan0")
                    .unwrap();
                (
                    wish(&config, &decision, &look, may).preferred[0][0],
                    told.role,
                    told.reason.clone(),
                )
            };
            assert_eq!(decide(100, false).0, 2, "{intent}");
            assert_eq!(decide(104, true).0, 3, "{intent}");
            let (first, role, reason) = decide(108, true);
            assert_eq!((first, role), (3, Role::Backup), "{intent}: {reason}");
            assert!(
                reason
                    .to_string()
                    .contains("connections over it get no answer"),
                "{reason}"
            );
            assert_eq!(decide(130, false).0, 2, "{intent}");
        }
    }

    #[test]
    fn an_ipv4_endpoint_beside_an_interface_with_ipv6_serves_announced_addresses() {
        let [v4, v6]: [IpAddr; 2] = ["192.0.2.3", "2001:db8::2"].map(|text| text.parse().unwrap());
        let config = read_live("intent = \"aggregate\"").unwrap();
        let wlan = |addresses: Vec<IpAddr>| Interface {
            addresses,
            ..seen(2, "wlan0")
        };
        let wwan = |addresses: Vec<IpAddr>| Interface {
            addresses,
            ..seen(3, "wwan0")
        };
        let laminar = |interfaces: Vec<Interface>, has_laminar: bool| {
            let look = Look {
                interfaces,
                has_laminar,
                ..Look::default()
            };
            let snapshot = look.snapshot(Nanos::from_secs(100), None);
            let decision = Decider::default().decide(&config, &Overrides::default(), &snapshot);
            let all = for_kernel(&decision.endpoints.unwrap(), &look);
            all.into_iter()
                .filter(|one| one.laminar)
                .map(|one| one.address)
                .collect::<Vec<_>>()
        };
        let mixed = vec![wlan(vec![[192, 0, 2, 2].into(), v6]), wwan(vec![v4])];
        assert_eq!(laminar(mixed.clone(), true), [v4]);
        assert_eq!(laminar(mixed, false), Vec::<IpAddr>::new());
        assert_eq!(
            laminar(
                vec![wlan(vec![[192, 0, 2, 2].into()]), wwan(vec![v4])],
                true
            ),
            Vec::<IpAddr>::new()
        );
        assert_eq!(
            laminar(
                vec![
                    wlan(vec![v6]),
                    wwan(vec![v4, "2001:db8::3".parse().unwrap()])
                ],
                true
            ),
            Vec::<IpAddr>::new()
        );
    }

    #[test]
    fn a_detour_leads_over_another_interface_that_may_be_used() {
        let config = read_live("intent = \"frugal\"\nfirst = \"steer\"").unwrap();
        let mut look = Look {
            interfaces: vec![seen(2, "wlan0"), seen(3, "wwan0")],
            ..Look::default()
        };
        let server = [203, 0, 113, 1].into();
        look.answers.detours = vec![(server, 2)];
        let snapshot = look.snapshot(Nanos::from_secs(100), None);
        let decision = Decider::default().decide(&config, &Overrides::default(), &snapshot);
        assert_eq!(
            wish(&config, &decision, &look, |_| true).detours,
            [(server, 3)]
        );
        assert_eq!(
            wish(&config, &decision, &look, |index| index == 2).detours,
            []
        );
    }
}
