//! Builds the status and the steps of a dry run.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::path::Path;

use joulepath_kernel::mptcp::path_manager::{Endpoint, Limits};
use joulepath_model::live::{First, LiveConfig, Manager};
use joulepath_model::units::Nanos;

use crate::accounts::Accounts;
use crate::act::{Outcome, Setting};
use crate::decide::{Decision, Role, Told, Wanted};
use crate::foreign;
use crate::machine::Look;
use crate::networks::Networks;
use crate::reason::Reason;
use crate::snapshot::{Battery, Families, Interface, Snapshot};
use crate::status::{
    Event, FirstStatus, InterfaceStatus, ProgramsStatus, SCHEMA, SignalStatus, Status,
    SteeringStatus, TunnelStatus,
};

/// Input of the status besides the decision.
pub(crate) struct Facts<'a> {
    pub(crate) config: &'a LiveConfig,
    pub(crate) path: &'a Path,
    pub(crate) paused: bool,
    pub(crate) up: Nanos,
    pub(crate) changes: usize,
    pub(crate) battery: Option<Battery>,
    pub(crate) outcome: &'a Outcome,
    pub(crate) warnings: Vec<String>,
    pub(crate) events: Vec<Event>,
    pub(crate) steering: Option<SteeringStatus>,
    pub(crate) networks: &'a Networks,
    pub(crate) programs: Option<ProgramsStatus>,
    pub(crate) tunnels: Vec<TunnelStatus>,
}

impl Facts<'_> {
    /// The devices that keep all new connections, if there are any.
    fn keeping(&self, look: &Look) -> Option<Reason> {
        let keeps = |one: &&TunnelStatus| !one.bypass && one.general;
        let names: Vec<String> = self
            .tunnels
            .iter()
            .filter(keeps)
            .map(|one| one.name.clone())
            .collect();
        let kept = look
            .interfaces
            .iter()
            .filter(|one| names.contains(&one.name))
            .map(|one| one.index);
        let all = foreign::takes_all(&look.starts, &kept.collect());
        all.then_some(Reason::Tunnelled { devices: names })
    }
}

pub(crate) fn status(
    facts: &Facts,
    decision: &Decision,
    look: &Look,
    accounts: &Accounts,
) -> Status {
    Status {
        schema: SCHEMA,
        version: env!("CARGO_PKG_VERSION").into(),
        intent: decision.intent.unwrap_or(facts.config.intent),
        configured_intent: facts.config.intent,
        paused: facts.paused,
        config: facts.path.display().to_string(),
        up_s: facts.up.as_secs_f64(),
        connections: look.counted.mptcp,
        fallen_back: look.counted.fallen_back,
        plain: Some(look.counted.plain),
        changes: facts.changes,
        battery: facts.battery,
        today: accounts.date().to_string(),
        interfaces: decision
            .interfaces
            .iter()
            .map(|told| interface(told, facts, look, accounts))
            .collect(),
        warnings: facts.warnings.clone(),
        events: facts.events.clone(),
        machine: accounts.machine(),
        all_paths: accounts.all_paths(),
        controller: decision.controller.clone().filter(|_| {
            !facts.paused && !facts.outcome.settings.contains_key(&Setting::Controller)
        }),
        steering: facts.steering.clone(),
        networks: facts.networks.number(),
        first: FirstStatus {
            steered: facts.config.first == First::Steer && !facts.paused,
            interfaces: look
                .starts
                .iter()
                .flatten()
                .fold(vec![], |mut names, index| {
                    let name = look
                        .interfaces
                        .iter()
                        .find(|one| one.index == *index)
                        .map(|one| one.name.clone());
                    names.extend(name.filter(|name| !names.contains(name)));
                    names
                }),
            preferred: decision
                .interfaces
                .iter()
                .find(|told| told.role == Role::Regular)
                .map(|told| told.name.clone()),
            tunnels: facts.tunnels.clone(),
            unanswered: look
                .interfaces
                .iter()
                .filter(|one| mute_families(one, look).next().is_some())
                .map(|one| one.name.clone())
                .collect(),
        },
        programs: facts.programs.clone(),
        why: None,
        may_command: None,
    }
}

/// Families of addresses that get no answer over an interface.
fn mute_families(one: &Interface, look: &Look) -> impl Iterator<Item = &'static str> {
    let families = [(true, "IPv4"), (false, "IPv6")].into_iter();
    let is_mute = |(v4, _): &(bool, _)| look.answers.mute.contains(&(one.index, *v4));
    families.filter(is_mute).map(|(_, family)| family)
}

/// Why connections have no subflow on an interface that has addresses of the other family only.
fn other_family(one: &Interface, look: &Look, manager: Manager) -> Option<Reason> {
    let is_v4 = one.addresses.first()?.is_ipv4();
    let Families { v4, v6 } = look.families;
    let other = if is_v4 { v6 } else { v4 };
    let lacks = one
        .addresses
        .iter()
        .all(|address| address.is_ipv4() == is_v4);
    let addresses = if is_v4 { "IPv4" } else { "IPv6" }.to_owned();
    let is_unused = lacks && one.subflows == 0 && other > 0;
    // Linux opens no IPv6 subflow for an IPv4 socket.
    let remedy = is_v4 && manager == Manager::Kernel;
    is_unused.then_some(Reason::OtherFamily {
        addresses,
        connections: other,
        remedy,
    })
}

/// Adds that to the notes; such an interface does not count as used.
fn with_families(
    reason: Reason,
    mut notes: Vec<Reason>,
    seen: Option<&Interface>,
    look: &Look,
    manager: Manager,
) -> (Reason, Vec<Reason>) {
    notes.extend(seen.and_then(|one| other_family(one, look, manager)));
    let Reason::Aggregate { used, paths } = reason else {
        return (reason, notes);
    };
    let usable = look
        .interfaces
        .iter()
        .filter(|one| one.usable && one.routed);
    let idle = usable
        .filter(|one| other_family(one, look, manager).is_some())
        .count();
    (
        Reason::Aggregate {
            used: used.saturating_sub(idle),
            paths,
        },
        notes,
    )
}

fn interface(told: &Told, facts: &Facts, look: &Look, accounts: &Accounts) -> InterfaceStatus {
    let seen = look
        .interfaces
        .iter()
        .find(|interface| interface.name == told.name);
    let addresses = seen
        .map(|interface| interface.addresses.clone())
        .unwrap_or_default();
    let index = seen.map(|interface| interface.index).unwrap_or_default();
    let measured = look.measured.get(&told.name).copied().unwrap_or_default();
    let [today, month] = accounts.spent(&told.name);
    let source = accounts.source(&told.name);
    let (role, reason, notes) = match facts.paused {
        true => (Role::Unused, Reason::Paused, vec![]),
        false => match facts.keeping(look).filter(|_| told.role != Role::Unused) {
            Some(tunnelled) => (Role::Unused, tunnelled, vec![]),
            None => (told.role, told.reason.clone(), told.notes.clone()),
        },
    };
    let (reason, notes) = with_families(
        reason,
        notes,
        seen.filter(|_| role != Role::Unused),
        look,
        facts.config.manager,
    );
    let silent = seen.filter(|one| !one.mute).into_iter();
    let silent = silent.flat_map(|one| mute_families(one, look));
    let silent = silent.map(|family| Reason::FamilySilent {
        family: family.to_owned(),
    });
    let notes = notes.into_iter().chain(silent).collect();
    let conflicts = addresses.iter().filter_map(|address| {
        Some((
            address.to_string(),
            facts.outcome.conflicts.get(&(*address, index))?.clone(),
        ))
    });
    InterfaceStatus {
        name: told.name.clone(),
        intent: told.intent,
        role,
        wanted: told.wanted,
        reason,
        notes,
        allowed: told.allowed,
        conflicts: conflicts.collect(),
        addresses: addresses.iter().map(ToString::to_string).collect(),
        received_bps: measured.received_bps,
        sent_bps: measured.sent_bps,
        capacity_bps: measured.capacity_bps,
        rtt_s: measured.rtt.map(Nanos::as_secs_f64),
        subflows: measured.subflows,
        backup_subflows: measured.backups,
        retransmitted_bytes: measured.retransmitted_bytes,
        quota: accounts.quota(facts.config, &told.name),
        total: accounts.total(&told.name),
        today,
        month,
        energy_profile: source.as_ref().map(|(profile, _)| profile.clone()),
        energy_quality: source.map(|(_, quality)| quality.word().to_owned()),
        power_w: accounts.power_w(&told.name),
        energy_at_dbm: accounts.at_dbm(&told.name),
        signal_strength: seen
            .and_then(|interface| interface.strength)
            .map(|strength| SignalStatus {
                dbm: strength.dbm,
                age_s: strength.age.as_secs_f64(),
                source: strength.source.word().to_owned(),
            }),
        network: facts
            .networks
            .status(&look.places, &told.name, accounts.midnight_s()),
    }
}

/// One text per interface with its addresses of `places`: `wlan0 (192.0.2.7, fd00::7)`.
pub(crate) fn by_interface(
    all: &[Interface],
    places: impl Iterator<Item = (IpAddr, u32)>,
) -> Vec<String> {
    let mut addresses: BTreeMap<u32, Vec<String>> = BTreeMap::new();
    places.for_each(|(address, index)| {
        addresses
            .entry(index)
            .or_default()
            .push(address.to_string())
    });
    let text = |one: &Interface| {
        Some(format!(
            "{} ({})",
            one.name,
            addresses.get(&one.index)?.join(", ")
        ))
    };
    all.iter().filter_map(text).collect()
}

/// Places where an endpoint is wanted and another program has set it, and where its endpoint opens
/// subflows that are not wanted. `managed`: those of the interfaces that the daemon manages.
pub(crate) fn disputed(
    decision: &Decision,
    there: &[Endpoint],
    managed: &[(IpAddr, u32)],
) -> BTreeSet<(IpAddr, u32)> {
    let Some(wanted) = &decision.endpoints else {
        return BTreeSet::new();
    };
    let at = |address: IpAddr| there.iter().filter(move |there| there.is_at(address));
    let wanted = wanted.iter().filter(|one| at(one.address).next().is_some());
    let unwanted = managed
        .iter()
        .filter(|(address, _)| at(*address).any(Endpoint::opens_subflows));
    wanted
        .map(|one| (one.address, one.interface))
        .chain(unwanted.copied())
        .collect()
}

/// What a start would change, one line per step. `adopted`: places whose endpoints are taken over.
pub(crate) fn steps(
    decision: &Decision,
    there: &[Endpoint],
    limits: Limits,
    snapshot: &Snapshot,
    adopted: &BTreeSet<(IpAddr, u32)>,
) -> Vec<String> {
    let Some(wanted) = &decision.endpoints else {
        return vec![];
    };
    let name = |index: u32| {
        let found = snapshot
            .interfaces
            .iter()
            .find(|interface| interface.index == index);
        found.map_or_else(|| index.to_string(), |interface| interface.name.clone())
    };
    let line = |one: &Wanted| {
        if there.iter().any(|endpoint| endpoint.is_at(one.address)) {
            let is_adopted = adopted.contains(&(one.address, one.interface));
            return match (is_adopted, one.backup) {
                (false, _) => format!("keep the existing endpoint {}", one.address),
                (true, false) => format!("take over the endpoint {}", one.address),
                (true, true) => format!("take over the endpoint {} as a backup", one.address),
            };
        }
        let flags = [
            (!one.signal, " subflow"),
            (one.signal, " signal"),
            (one.backup, " backup"),
            (one.fullmesh, " fullmesh"),
            (one.laminar, " laminar"),
        ];
        let flags: String = flags
            .iter()
            .filter(|(set, _)| *set)
            .map(|(_, flag)| *flag)
            .collect();
        format!(
            "add the endpoint {} dev {}{flags}",
            one.address,
            name(one.interface)
        )
    };
    let mut steps = vec![];
    if decision.extra_subflows() > limits.extra_subflows {
        let (before, after) = (limits.extra_subflows, decision.extra_subflows());
        steps.push(format!(
            "set the limit of subflows from {before} to {after}"
        ));
    }
    if limits.accepted_addresses == 0 && wanted.iter().any(|one| one.laminar) {
        steps.push("set the limit of accepted addresses from 0 to 1".into());
    }
    steps.extend(wanted.iter().map(line));
    let unwanted = adopted
        .iter()
        .filter(|(address, _)| !wanted.iter().any(|one| one.address == *address));
    steps.extend(unwanted.map(|(address, index)| {
        format!(
            "take over the endpoint {address} dev {} and remove it until the end",
            name(*index)
        )
    }));
    steps
}

/// The step that changes the path manager of new connections from `there`.
pub(crate) fn manager_step(wanted: &str, there: &str) -> Option<String> {
    let why = "the daemon then opens the subflows of new connections; endpoints are for older ones";
    (wanted != there).then(|| format!("set net.mptcp.path_manager from {there} to {wanted}: {why}"))
}

/// The step that changes the congestion controller of new sockets from `there`.
pub(crate) fn controller_step(decision: &Decision, there: &str) -> Option<String> {
    let wanted = decision
        .controller
        .as_deref()
        .filter(|wanted| *wanted != there)?;
    Some(format!(
        "set net.ipv4.tcp_congestion_control from {there} to {wanted}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::seen;

    #[test]
    fn an_interface_of_the_other_family_does_not_count_as_used() {
        let v6 = Interface {
            addresses: vec!["2001:db8::3".parse().unwrap()],
            ..seen(3, "wwan0")
        };
        let look = |families: Families| {
            let wlan = Interface {
                subflows: families.v4,
                ..seen(2, "wlan0")
            };
            Look {
                interfaces: vec![wlan, v6.clone()],
                families,
                ..Look::default()
            }
        };
        let both = Reason::Aggregate { used: 2, paths: 2 };
        for (families, expected) in [
            (Families { v4: 1, v6: 0 }, "1 of 2 paths are used"),
            (Families { v4: 0, v6: 1 }, "1 of 2 paths are used"),
            (Families { v4: 1, v6: 1 }, "1 of 2 paths are used"),
            (Families::default(), "all 2 paths are used"),
        ] {
            let look = look(families);
            let (reason, notes) =
                with_families(both.clone(), vec![], Some(&v6), &look, Manager::Kernel);
            assert_eq!(reason.to_string(), expected, "{families:?}");
            assert_eq!(!notes.is_empty(), families.v4 > 0);
        }
        let v4 = Interface {
            addresses: vec!["192.0.2.3".parse().unwrap()],
            ..seen(3, "wwan0")
        };
        let look = Look {
            families: Families { v4: 0, v6: 1 },
            ..Look::default()
        };
        for (manager, is_named) in [(Manager::Kernel, true), (Manager::UserSpace, false)] {
            let note = other_family(&v4, &look, manager).unwrap().to_string();
            assert_eq!(note.contains("`pm = \"userspace\"`"), is_named, "{note}");
        }
    }
}
