//! The status as OpenMetrics text, for Prometheus. Unknown values have no sample.

use std::fmt::Write as _;

use crate::decide::Role;
use crate::status::{InterfaceStatus, MachineStatus, Status};

struct Family {
    name: &'static str,
    kind: &'static str,
    unit: &'static str,
    help: &'static str,
}

impl Family {
    const fn gauge(name: &'static str, unit: &'static str, help: &'static str) -> Self {
        Family {
            name,
            kind: "gauge",
            unit,
            help,
        }
    }

    const fn counter(name: &'static str, unit: &'static str, help: &'static str) -> Self {
        Family {
            name,
            kind: "counter",
            unit,
            help,
        }
    }
}

/// A gauge instead of an `info`: node_exporter rejects files with types that its older format
/// lacks.
const BUILD: Family = Family::gauge("joulepath_build_info", "", "The running daemon.");
const ENERGY: Family = Family::counter(
    "joulepath_energy_joules",
    "joules",
    "Energy attributed to a path. The label quality says how reliable it is.",
);
const POWER: Family = Family::gauge(
    "joulepath_power_watts",
    "watts",
    "Power attributed to a path now. The label quality says how reliable it is.",
);
const MACHINE_POWER: Family = Family::gauge(
    "joulepath_machine_power_watts",
    "watts",
    "Power of the machine, by a meter.",
);
const MACHINE_ENERGY: Family = Family::counter(
    "joulepath_machine_energy_joules",
    "joules",
    "Energy of the machine, by a meter.",
);
const UNEXPLAINED: Family = Family::gauge(
    "joulepath_unexplained_power_watts",
    "watts",
    "Power of the machine by a meter, minus the power attributed to paths.",
);
const RECEIVED: Family = Family::counter(
    "joulepath_path_receive_bytes",
    "bytes",
    "Bytes received, with link-layer headers.",
);
const SENT: Family = Family::counter(
    "joulepath_path_transmit_bytes",
    "bytes",
    "Bytes sent, with link-layer headers.",
);
const CHANGES: Family =
    Family::counter("joulepath_changes", "", "Changes of endpoints and limits.");
const SUBFLOWS: Family = Family::gauge("joulepath_subflows", "", "Established subflows.");
const CONNECTIONS: Family = Family::gauge("joulepath_connections", "", "MPTCP connections.");
const FALLEN_BACK: Family = Family::gauge(
    "joulepath_connections_fallen_back",
    "",
    "MPTCP connections that have fallen back to TCP.",
);
const ROLE: Family = Family::gauge(
    "joulepath_path_role",
    "",
    "1 for the current role of a path.",
);
const RTT: Family = Family::gauge(
    "joulepath_path_rtt_seconds",
    "seconds",
    "Smallest smoothed RTT of the subflows of a path.",
);
const SIGNAL: Family = Family::gauge(
    "joulepath_path_signal_dbm",
    "dbm",
    "Strength of the received signal of a path.",
);
const SIGNAL_AGE: Family = Family::gauge(
    "joulepath_path_signal_age_seconds",
    "seconds",
    "Time since the signal of a path was measured.",
);
const QUOTA: Family = Family::gauge(
    "joulepath_quota_bytes",
    "bytes",
    "Soft and hard limit of a quota.",
);
const QUOTA_USED: Family = Family::gauge(
    "joulepath_quota_used_bytes",
    "bytes",
    "Bytes of a quota used in the current period.",
);

const SPARED: Family = Family::counter(
    "joulepath_spared_energy_joules",
    "joules",
    "Energy that all radios would have used besides, awake while MPTCP moved data.",
);
const MPTCP: Family = Family::counter(
    "joulepath_mptcp_bytes",
    "bytes",
    "Payload of MPTCP connections.",
);

/// The status in the OpenMetrics format, ending with `# EOF`.
pub fn openmetrics(status: &Status) -> String {
    let mut text = String::new();
    family(
        &mut text,
        &BUILD,
        std::iter::once((format!("version={}", quoted(&status.version)), 1.0)),
    );
    let all = || status.interfaces.iter().filter(|one| one.allowed);
    let path = |one: &InterfaceStatus| format!("path={}", quoted(&one.name));
    let attributed = |one: &InterfaceStatus| {
        let (quality, source) = (
            one.energy_quality.as_deref()?,
            one.energy_profile.as_deref()?,
        );
        Some(format!(
            "{},quality={},source={}",
            path(one),
            quoted(quality),
            quoted(source)
        ))
    };
    family(
        &mut text,
        &ENERGY,
        all().filter_map(|one| Some((attributed(one)?, one.total.energy_j?))),
    );
    family(
        &mut text,
        &POWER,
        all().filter_map(|one| Some((attributed(one)?, one.power_w?))),
    );
    let machine = status.machine.as_ref().and_then(|machine| {
        let (quality, source) = (quoted(&machine.quality), quoted(machine.meter.as_deref()?));
        Some((machine, format!("quality={quality},source={source}")))
    });
    let of = |value: &dyn Fn(&MachineStatus) -> Option<f64>| {
        machine
            .iter()
            .filter_map(|(machine, labels)| Some((labels.clone(), value(machine)?)))
            .collect::<Vec<_>>()
    };
    family(
        &mut text,
        &MACHINE_POWER,
        of(&|machine| machine.power_w).into_iter(),
    );
    family(
        &mut text,
        &MACHINE_ENERGY,
        of(&|machine| Some(machine.total.measured_j)).into_iter(),
    );
    family(
        &mut text,
        &UNEXPLAINED,
        of(&|machine| machine.unexplained_w).into_iter(),
    );
    let total = || status.all_paths.iter().map(|all| all.total);
    let modelled = || "quality=\"modelled\"".to_owned();
    family(
        &mut text,
        &SPARED,
        total().map(|total| (modelled(), total.spared_j)),
    );
    family(
        &mut text,
        &MPTCP,
        total().map(|total| (String::new(), total.mptcp_bytes as f64)),
    );
    family(
        &mut text,
        &RECEIVED,
        all().map(|one| (path(one), one.total.received_bytes as f64)),
    );
    family(
        &mut text,
        &SENT,
        all().map(|one| (path(one), one.total.sent_bytes as f64)),
    );
    family(
        &mut text,
        &SUBFLOWS,
        all().flat_map(|one| {
            let active = one.subflows.saturating_sub(one.backup_subflows);
            [("active", active), ("backup", one.backup_subflows)].map(|(state, count)| {
                (
                    format!("{},state={}", path(one), quoted(state)),
                    count as f64,
                )
            })
        }),
    );
    family(
        &mut text,
        &ROLE,
        all().map(|one| {
            let role = match one.role {
                Role::Unused => "unused",
                Role::Backup => "backup",
                Role::Regular => "regular",
            };
            (format!("{},role={}", path(one), quoted(role)), 1.0)
        }),
    );
    family(
        &mut text,
        &RTT,
        all().filter_map(|one| Some((path(one), one.rtt_s?))),
    );
    let signals = || all().filter_map(|one| Some((one, one.signal_strength.as_ref()?)));
    let labels = |one, source: &str| format!("{},source={}", path(one), quoted(source));
    family(
        &mut text,
        &SIGNAL,
        signals().map(|(one, signal)| (labels(one, &signal.source), signal.dbm)),
    );
    family(
        &mut text,
        &SIGNAL_AGE,
        signals().map(|(one, signal)| (labels(one, &signal.source), signal.age_s)),
    );
    let quotas = || all().filter_map(|one| Some((one, one.quota.as_ref()?)));
    family(
        &mut text,
        &QUOTA,
        quotas().flat_map(|(one, quota)| {
            let bound = |(name, bytes): (&str, Option<u64>)| {
                Some((
                    format!("{},bound={}", path(one), quoted(name)),
                    bytes? as f64,
                ))
            };
            [("soft", quota.soft_bytes), ("hard", quota.hard_bytes)]
                .into_iter()
                .filter_map(bound)
                .collect::<Vec<_>>()
        }),
    );
    family(
        &mut text,
        &QUOTA_USED,
        quotas().map(|(one, quota)| (path(one), quota.used_bytes as f64)),
    );
    let one = |count: usize| std::iter::once((String::new(), count as f64));
    let connections = (
        format!("pm={}", quoted("kernel")),
        status.connections as f64,
    );
    family(&mut text, &CONNECTIONS, std::iter::once(connections));
    family(&mut text, &FALLEN_BACK, one(status.fallen_back));
    family(&mut text, &CHANGES, one(status.changes));
    text + "# EOF\n"
}

/// Writes a family and its samples (labels, value). A family without samples is left out.
fn family(text: &mut String, family: &Family, samples: impl Iterator<Item = (String, f64)>) {
    let Family {
        name,
        kind,
        unit,
        help,
    } = family;
    let suffix = if *kind == "counter" { "_total" } else { "" };
    for (place, (labels, value)) in samples.enumerate() {
        if place == 0 {
            let _ = writeln!(text, "# TYPE {name} {kind}");
            if !unit.is_empty() {
                let _ = writeln!(text, "# UNIT {name} {unit}");
            }
            let _ = writeln!(text, "# HELP {name} {help}");
        }
        let labels = if labels.is_empty() {
            labels
        } else {
            format!("{{{labels}}}")
        };
        let _ = writeln!(text, "{name}{suffix}{labels} {value}");
    }
}

/// A label's value, quoted.
fn quoted(value: &str) -> String {
    let escaped = value
        .replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n");
    format!("\"{escaped}\"")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;
    use crate::status::{Measure, QuotaStatus, SignalStatus, Spent};

    fn interface(name: &str) -> InterfaceStatus {
        InterfaceStatus {
            subflows: 3,
            backup_subflows: 1,
            total: Spent {
                received_bytes: 1_000,
                sent_bytes: 20,
                energy_j: None,
            },
            ..samples::interface(name)
        }
    }

    /// An interface with all values known.
    fn known() -> InterfaceStatus {
        let quota = QuotaStatus {
            used_bytes: 7,
            soft_bytes: None,
            hard_bytes: Some(9),
            since: "x".into(),
        };
        InterfaceStatus {
            rtt_s: Some(0.025),
            quota: Some(quota),
            total: Spent {
                energy_j: Some(1.5),
                ..Spent::default()
            },
            energy_profile: Some("wifi-huang2012".into()),
            energy_quality: Some("modelled".into()),
            power_w: Some(0.25),
            signal_strength: Some(SignalStatus {
                dbm: -67.0,
                age_s: 0.5,
                source: "nl80211".into(),
            }),
            ..interface("wlan0")
        }
    }

    /// A machine with a meter.
    fn machine() -> MachineStatus {
        MachineStatus {
            meter: Some("hwmon:powerz".into()),
            measures: Some("the supply".into()),
            quality: "measured".into(),
            power_w: Some(8.0),
            attributed_w: 1.25,
            unexplained_w: Some(6.75),
            total: Measure {
                measured_j: 32.0,
                attributed_j: 5.0,
            },
            unexplained_j: Some(27.0),
            today_j: Some(32.0),
            month_j: Some(32.0),
            trouble: None,
        }
    }

    #[test]
    fn only_known_values_have_a_sample() {
        let interfaces = vec![
            known(),
            interface("a\"b"),
            InterfaceStatus {
                allowed: false,
                ..interface("veth1")
            },
        ];
        let status = Status {
            connections: 4,
            changes: 2,
            ..samples::status(interfaces)
        };
        assert!(!openmetrics(&status).contains("machine"));
        let text = openmetrics(&Status {
            machine: Some(machine()),
            ..status
        });
        for line in [
            "joulepath_build_info{version=\"0.1.0\"} 1",
            "# TYPE joulepath_energy_joules counter",
            "# UNIT joulepath_energy_joules joules",
            "joulepath_energy_joules_total\
             {path=\"wlan0\",quality=\"modelled\",source=\"wifi-huang2012\"} 1.5",
            "joulepath_power_watts{path=\"wlan0\",quality=\"modelled\",source=\"wifi-huang2012\"} 0.25",
            "joulepath_path_receive_bytes_total{path=\"a\\\"b\"} 1000",
            "joulepath_subflows{path=\"wlan0\",state=\"active\"} 2",
            "joulepath_subflows{path=\"wlan0\",state=\"backup\"} 1",
            "joulepath_path_rtt_seconds{path=\"wlan0\"} 0.025",
            "joulepath_path_signal_dbm{path=\"wlan0\",source=\"nl80211\"} -67",
            "joulepath_path_signal_age_seconds{path=\"wlan0\",source=\"nl80211\"} 0.5",
            "joulepath_quota_bytes{path=\"wlan0\",bound=\"hard\"} 9",
            "joulepath_connections{pm=\"kernel\"} 4",
            "joulepath_machine_power_watts{quality=\"measured\",source=\"hwmon:powerz\"} 8",
            "joulepath_machine_energy_joules_total{quality=\"measured\",source=\"hwmon:powerz\"} 32",
            "joulepath_unexplained_power_watts{quality=\"measured\",source=\"hwmon:powerz\"} 6.75",
            "joulepath_changes_total 2",
        ] {
            assert!(text.lines().any(|one| one == line), "{line}\n{text}");
        }
        let types: std::collections::BTreeSet<&str> = text
            .lines()
            .filter(|line| line.starts_with("# TYPE "))
            .filter_map(|line| line.split(' ').nth(3))
            .collect();
        assert_eq!(types, ["counter", "gauge"].into());
        assert!(text.ends_with("\n# EOF\n") && !text.contains("veth1") && !text.contains("soft"));
        assert_eq!(text.matches("joulepath_energy_joules_total").count(), 1);
        // The samples of a family stand together, after its type.
        let mut seen = std::collections::BTreeSet::new();
        let mut last = "";
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let name = &line[..line.find(['{', ' ']).unwrap()];
            assert!(name == last || seen.insert(name.to_owned()), "{name} twice");
            last = name;
        }
    }

    /// Each `expr` of the dashboard with its legend.
    fn queries(value: &serde_json::Value, found: &mut Vec<(String, String)>) {
        if let Some(expr) = value.get("expr") {
            let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
            found.push((text(expr), text(&value["legendFormat"])));
        }
        match value {
            serde_json::Value::Object(map) => map.values().for_each(|value| queries(value, found)),
            serde_json::Value::Array(list) => list.iter().for_each(|value| queries(value, found)),
            _ => {}
        }
    }

    #[test]
    fn the_dashboard_draws_exactly_the_exported_metrics() {
        let status = Status {
            machine: Some(machine()),
            ..samples::status(vec![known()])
        };
        let text = openmetrics(&status);
        let exported: std::collections::BTreeMap<&str, &str> = text
            .lines()
            .filter(|line| !line.starts_with('#'))
            .map(|line| line.split_at(line.find(['{', ' ']).unwrap()))
            .collect();
        let file = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../packaging/monitoring/grafana.json"
        );
        let dashboard = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
        let mut found = vec![];
        queries(&dashboard, &mut found);
        let mut drawn = std::collections::BTreeSet::new();
        for (expr, legend) in &found {
            let words = expr.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
            let names: Vec<&str> = words
                .filter(|word| word.starts_with("joulepath_"))
                .collect();
            assert_eq!(
                names.is_empty(),
                expr.contains("node_netstat_MPTcpExt_"),
                "{expr}"
            );
            for name in names {
                let labels = exported
                    .get(name)
                    .unwrap_or_else(|| panic!("{name} is not exported: {expr}"));
                drawn.insert(name);
                for label in legend
                    .split("{{")
                    .skip(1)
                    .map(|rest| rest.split("}}").next().unwrap())
                {
                    assert!(
                        labels.contains(&format!("{label}=\"")),
                        "{name} has no {label}: {legend}"
                    );
                }
            }
            // Label matchers. Prometheus itself adds `instance`.
            for matcher in expr
                .split(['{', '}', ','])
                .filter(|part| part.contains("=\""))
            {
                assert!(text.contains(matcher), "nothing has {matcher}: {expr}");
            }
        }
        let missing: Vec<_> = exported
            .keys()
            .filter(|name| !drawn.contains(*name))
            .collect();
        assert!(
            missing.is_empty(),
            "the dashboard does not draw {missing:?}"
        );
    }
}
