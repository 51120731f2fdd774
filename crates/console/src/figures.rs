//! Numbers and words shared by `status` and `top`.

use joulepath_control::advise::significant;
use joulepath_live::decide::Role;
use joulepath_live::reason::amount;
use joulepath_live::status::{
    FirstStatus, InterfaceStatus, NetworkStatus, ProgramsStatus, QuotaStatus, RuleStatus,
    SignalStatus, Spared, Spent, Status, SteeringStatus, TunnelStatus,
};
use joulepath_model::history::Estimate;

use crate::words::count;

/// An unknown number.
pub(crate) const UNKNOWN: &str = "–";

/// Most names in a sentence.
const MOST_NAMES: usize = 5;

/// The daemon's state in short phrases.
pub(crate) fn head(status: &Status) -> Vec<String> {
    let of = |role| {
        let interfaces = status.interfaces.iter();
        interfaces.filter(|one| one.role == role).count()
    };
    let all = status.interfaces.iter().filter(|one| one.allowed).count();
    let mut head = vec![mptcp(status), status.intent.word().to_owned()];
    if status.intent != status.configured_intent {
        head.push(format!("configured: {}", status.configured_intent.word()));
    }
    if status.paused {
        head.push("paused".into());
    }
    let backups = match of(Role::Backup) {
        0 => String::new(),
        number => format!(", {}", count(number, "backup")),
    };
    let used = of(Role::Regular);
    head.push(format!("{used} of {all} interfaces used{backups}"));
    if let Some(battery) = status.battery {
        let state = if battery.discharging {
            ""
        } else {
            ", on mains"
        };
        head.push(format!("battery {:.0} %{state}", battery.level * 100.0));
    }
    if status.up_s > 0.0 {
        head.push(format!("up {}", duration(status.up_s)));
    }
    head
}

/// How many of the machine's connections use MPTCP.
pub(crate) fn mptcp(status: &Status) -> String {
    let uses = status.connections.saturating_sub(status.fallen_back);
    let text = match status.plain {
        Some(plain) => format!(
            "MPTCP: {uses} of {}",
            count(status.connections + plain, "connection")
        ),
        None => format!("MPTCP: {}", count(uses, "connection")),
    };
    match status.fallen_back {
        0 => text,
        number => format!("{text} ({number} fell back to TCP)"),
    }
}

/// The reading of the machine's meter; `None` if none is configured.
pub(crate) fn machine(status: &Status) -> Option<String> {
    let machine = status.machine.as_ref()?;
    let name = machine.meter.as_deref().unwrap_or("the configured meter");
    if let Some(trouble) = &machine.trouble {
        return Some(format!("machine: not measured at present: {trouble}"));
    }
    let Some(power_w) = machine.power_w else {
        return Some(format!("machine: waiting for {name}"));
    };
    let watts = |w: f64| format!("{} W", significant(w));
    let mut text = format!("machine: {} {} by {name}", watts(power_w), machine.quality);
    text += &match machine.unexplained_w {
        Some(rest) if rest < 0.0 => {
            format!(
                "; the interfaces' models attribute {}, {} more than measured",
                watts(machine.attributed_w),
                watts(-rest)
            )
        }
        Some(rest) => {
            format!(
                ": {} attributed to interfaces, {} unexplained",
                watts(machine.attributed_w),
                watts(rest)
            )
        }
        None => {
            format!(
                ", which excludes the radios: {}",
                machine.measures.as_deref().unwrap_or(UNKNOWN)
            )
        }
    };
    if let Some(joules) = machine.today_j {
        text += &format!("; today {} kJ", significant(joules / 1e3));
    }
    Some(text)
}

/// Today's joules compared with all paths at all times; `None` without energy models, or if MPTCP
/// has moved nothing today.
pub(crate) fn all_paths(status: &Status) -> Option<String> {
    let Spared {
        mptcp_bytes,
        spared_j,
    } = status
        .all_paths
        .filter(|all| all.today != Spared::default())?
        .today;
    let used_j: f64 = status
        .interfaces
        .iter()
        .filter_map(|one| one.today.energy_j)
        .sum();
    let joules = |joules: f64| {
        if joules < 1e4 {
            format!("{} J", significant(joules))
        } else {
            format!("{} kJ", significant(joules / 1e3))
        }
    };
    Some(format!(
        "Today {}; with all paths always at least {} (modelled for {} over MPTCP, if every transfer uses the \
         full rate of all paths).",
        joules(used_j),
        joules(used_j + spared_j),
        amount(mptcp_bytes)
    ))
}

/// Use and limits of a quota.
pub(crate) fn quota(quota: &QuotaStatus) -> String {
    let bound =
        |name: &str, bytes: Option<u64>| bytes.map(|bytes| format!("{name} {}", amount(bytes)));
    let bounds: Vec<String> = bound("soft", quota.soft_bytes)
        .into_iter()
        .chain(bound("hard", quota.hard_bytes))
        .collect();
    format!(
        "{} since {} ({})",
        amount(quota.used_bytes),
        quota.since,
        bounds.join(", ")
    )
}

/// Strength of a received signal.
pub(crate) fn signal(signal: &SignalStatus) -> String {
    let SignalStatus { dbm, age_s, source } = signal;
    format!("signal {dbm:.0} dBm, {age_s:.1} s old, by {source}")
}

/// The energy profile of an interface, with the signal for which it computes.
pub(crate) fn profile(one: &InterfaceStatus) -> Option<String> {
    let profile = one.energy_profile.as_deref()?;
    Some(match (one.energy_at_dbm, &one.signal_strength) {
        (None, _) => profile.to_owned(),
        (Some(dbm), Some(_)) => format!("{profile} at {dbm:.0} dBm"),
        (Some(dbm), None) => format!("{profile} at {dbm:.0} dBm, as no signal is known"),
    })
}

/// What is remembered of a network.
pub(crate) fn network(network: &NetworkStatus) -> String {
    let NetworkStatus {
        id,
        visits,
        age_days,
        rate_bps,
        rtt_s,
        loss,
        ..
    } = network;
    let Some(age_days) = age_days else {
        return format!("network {id}: new");
    };
    let with = |known: &Option<Estimate>, name: &str, scale: f64, unit: &str| {
        let Estimate { median, spread } = (*known)?;
        Some(format!(
            "{name}{} {unit} (×/÷ {})",
            significant(median * scale),
            short(spread)
        ))
    };
    let known = [
        with(rate_bps, "", 1e-6, "Mbit/s"),
        with(rtt_s, "RTT ", 1e3, "ms"),
        with(loss, "loss ", 100.0, "%"),
    ];
    let known: Vec<String> = known.into_iter().flatten().collect();
    let visits = count(*visits as usize, "visit");
    let last = match age_days.round() as usize {
        0 => "today".to_owned(),
        days => format!("{} ago", count(days, "day")),
    };
    format!(
        "network {id}: {visits}, the last {last}: {}",
        known.join(", ")
    )
}

/// The word for a role.
pub(crate) fn role(role: Role) -> &'static str {
    match role {
        Role::Unused => UNKNOWN,
        Role::Backup => "backup",
        Role::Regular => "regular",
    }
}

/// Bytes of both directions, in `unit`.
pub(crate) fn bytes(spent: &Spent, unit: f64) -> String {
    short((spent.received_bytes + spent.sent_bytes) as f64 / unit)
}

/// Energy in `unit`, J.
pub(crate) fn joules(spent: &Spent, unit: f64) -> String {
    spent
        .energy_j
        .map_or(UNKNOWN.into(), |joules| short(joules / unit))
}

/// One decimal below 10, none above.
pub(crate) fn short(value: f64) -> String {
    if value < 9.95 {
        format!("{value:.1}")
    } else {
        format!("{value:.0}")
    }
}

/// A duration with a suitable unit.
pub(crate) fn duration(seconds: f64) -> String {
    match seconds {
        s if s < 120.0 => format!("{s:.0} s"),
        s if s < 7200.0 => format!("{:.0} min", s / 60.0),
        s if s < 172_800.0 => format!("{:.0} h", s / 3600.0),
        s => format!("{:.0} days", s / 86_400.0),
    }
}

/// Where new connections start, if that is not what the routing table and the intent agree on.
pub(crate) fn first(first: &FirstStatus) -> Option<String> {
    let is_tunnel = |name: &String| first.tunnels.iter().any(|tunnel| tunnel.name == *name);
    if first.interfaces.iter().any(is_tunnel) {
        let is_told = first.interfaces.iter().all(is_tunnel);
        return (!is_told).then(|| {
            format!(
                "New connections start on {}.",
                first.interfaces.join(" and ")
            )
        });
    }
    let preferred = first.preferred.as_deref()?;
    let others: Vec<&str> = first
        .interfaces
        .iter()
        .map(String::as_str)
        .filter(|name| *name != preferred)
        .collect();
    if first.steered && others.is_empty() {
        return Some(format!("New connections start on {preferred}."));
    }
    if first.steered && first.unanswered.iter().any(|name| name == preferred) {
        return Some(format!(
            "New connections start on {}, because {preferred} gets no answer.",
            first.interfaces.join(" and ")
        ));
    }
    let remedy = if first.steered {
        ""
    } else {
        "; `first = \"steer\"` in live.toml changes that"
    };
    (!others.is_empty()).then(|| {
        format!(
            "New connections start on {}, by the routing table, although {preferred} is preferred{remedy}.",
            others.join(" and ")
        )
    })
}

/// Devices that take connections although the configuration does not name them: a sentence each.
pub(crate) fn tunnels(first: &FirstStatus) -> impl Iterator<Item = String> {
    first.tunnels.iter().map(
        |TunnelStatus {
             name,
             general,
             bypass,
         }| {
            let takes = if *general {
                "New connections"
            } else {
                "Some connections"
            };
            match bypass {
                true => {
                    format!("{takes} start on {name}, and may have subflows beside it (`bypass`).")
                }
                false => format!(
                    "{takes} start on {name}, which live.toml does not name, and stay there; \
                 `bypass = [\"{name}\"]` permits subflows beside it."
                ),
            }
        },
    )
}

/// Programs that systemd starts on MPTCP: a sentence each for those that are, and for what is in
/// the way.
pub(crate) fn programs(programs: &ProgramsStatus) -> Vec<String> {
    let ProgramsStatus {
        bpf,
        on,
        waiting,
        missing,
        notes,
    } = programs;
    let named = |head: &str, names: &[String]| {
        let shown = names
            .iter()
            .take(MOST_NAMES)
            .map(String::as_str)
            .collect::<Vec<_>>()
            .join(", ");
        let rest = names.len().saturating_sub(MOST_NAMES);
        let rest = if rest > 0 {
            format!(" and {rest} more")
        } else {
            String::new()
        };
        (!names.is_empty()).then(|| format!("{head}{shown}{rest}"))
    };
    let restart = "after a restart (`systemctl restart NAME`)";
    let write = "not before `sudo systemctl restart joulepath-programs`, or `sudo joulepath live --programs`";
    let mut said: Vec<String> = named(
        if *bpf {
            "On MPTCP by BPF: "
        } else {
            "On MPTCP: "
        },
        on,
    )
    .into_iter()
    .map(|text| text + ".")
    .collect();
    said.extend(named("", waiting).map(|text| format!("On MPTCP {restart}: {text}.")));
    said.extend(named("", missing).map(|text| format!("On MPTCP, but {write}: {text}.")));
    said.extend(notes.iter().map(|note| format!("On TCP: {note}.")));
    said
}

/// What a tolerance is, in a path manager.
const WAITING: &str = "A tolerance keeps a further radio asleep after a failure. The daemon does not hold \
                       back what programs send, and does not choose where their connections start.";

/// Steering of single connections: a sentence for all, then one per rule.
pub(crate) fn steering(steering: &SteeringStatus) -> Vec<String> {
    let SteeringStatus {
        connections,
        tolerance_s,
        of_kernel,
        opened,
        closed,
        refused,
        rules,
    } = steering;
    let steered = match connections {
        1 => "1 connection".to_owned(),
        _ => format!("{connections} connections"),
    };
    let opened = count(*opened, "subflow");
    let mut all = format!("The daemon steers {steered}: {opened} opened, {closed} closed");
    if *refused > 0 {
        all += &format!(", {} refused by the kernel", count(*refused, "command"));
    }
    all += &match of_kernel {
        0 => ".".to_owned(),
        _ => format!("; {of_kernel} started under the kernel's path manager and stay there."),
    };
    if let Some(tolerance_s) = tolerance_s {
        all += &format!(
            " Data without a rule may wait {} for its path.",
            duration(*tolerance_s)
        );
    }
    let waits = tolerance_s.is_some() || rules.iter().any(|one| one.tolerance_s.is_some());
    let limits = waits.then(|| WAITING.to_owned());
    [all]
        .into_iter()
        .chain(rules.iter().map(told_rule))
        .chain(limits)
        .collect()
}

/// ``Rule `program ffmpeg`: aggregate for 2 connections: wlan0 regular, wwan0 backup; last match:
/// …``
fn told_rule(told: &RuleStatus) -> String {
    let RuleStatus {
        rule,
        intent,
        tolerance_s,
        connections,
        last,
        interfaces,
        last_uid: _,
    } = told;
    let used = |(name, used): (&String, &Role)| format!("{name} {}", role(*used));
    let roles: Vec<String> = interfaces.iter().map(used).collect();
    let last = last
        .as_ref()
        .map_or_else(String::new, |last| format!("; last match: {last}"));
    let connections = count(*connections, "connection");
    let waits = tolerance_s
        .map(|s| format!(", may wait {}", duration(s)))
        .unwrap_or_default();
    format!(
        "Rule `{rule}`: {}{waits} for {connections}: {}{last}",
        intent.word(),
        roles.join(", ")
    )
}
