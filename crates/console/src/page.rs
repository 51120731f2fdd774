//! The daemon's output as text.

use joulepath_live::record::Replayed;
use joulepath_live::status::{FirstStatus, InterfaceStatus, Status};

use crate::figures::{self, UNKNOWN, bytes, head, joules, role, short};
use crate::why;
use crate::words::{columns, count};

/// The status.
pub fn status(status: &Status, width: usize) -> String {
    let head = head(status);
    format!(
        "{}\n\n{}\n{}",
        wrap(&head.join(" · "), width, ""),
        table(status),
        notes(status, width)
    )
}

/// The result of a dry run.
pub fn dry_run(status: &Status, steps: &[String], width: usize) -> String {
    let starts = &status.first.interfaces;
    // The steps name the interface after the start.
    let shown = Status {
        first: FirstStatus {
            preferred: None,
            ..status.first.clone()
        },
        ..status.clone()
    };
    let mut text = self::status(&shown, width);
    if figures::first(&status.first).is_some() && figures::first(&shown.first).is_none() {
        text += &format!(
            "\nNow, new connections start on {}.\n",
            starts.join(" and ")
        );
    }
    text += "\nNothing was changed. A start would:\n";
    if steps.is_empty() {
        text += "  change nothing\n";
    }
    for step in steps {
        text += &format!("{}\n", wrap(&format!("- {step}"), width, "  "));
    }
    text
}

/// The result of a replay.
pub fn replayed(replayed: &Replayed) -> String {
    let mut text: String = replayed
        .changes
        .iter()
        .map(|change| format!("{change}\n"))
        .collect();
    let Replayed {
        version,
        decisions,
        length_s,
        differ,
        ..
    } = replayed;
    let of = format!(
        "{} in {}, recorded by {version}",
        count(*decisions, "decision"),
        figures::duration(*length_s)
    );
    text += &match differ {
        0 => format!("{of}: all identical\n"),
        differ => format!("{of}: {differ} of them differ\n"),
    };
    for difference in &replayed.differences {
        text += &format!("  {difference}\n");
    }
    if replayed.is_cut {
        text += "The last line is incomplete and was skipped.\n";
    }
    text
}

fn table(status: &Status) -> String {
    let header = [
        "interface",
        "used as",
        "down\nMbit/s",
        "up\nMbit/s",
        "RTT\nms",
        "sub-\nflows",
        "today\nMB",
        "\nJ",
        "month\nGB",
        "\nkJ",
    ];
    let row = |one: &InterfaceStatus| {
        [one.name.clone(), role(one.role).to_owned()]
            .into_iter()
            .chain(cells(one))
            .collect()
    };
    let allowed = status.interfaces.iter().filter(|one| one.allowed);
    let rows: Vec<Vec<String>> = std::iter::once(header.map(str::to_owned).to_vec())
        .chain(allowed.map(row))
        .collect();
    columns(&rows, 2..header.len())
}

/// An interface's numbers: Mbit/s down and up, RTT in ms, subflows, MB and J of today, GB and kJ of
/// the month.
pub(crate) fn cells(one: &InterfaceStatus) -> [String; 8] {
    [
        short(one.received_bps / 1e6),
        short(one.sent_bps / 1e6),
        one.rtt_s.map_or(UNKNOWN.into(), |s| short(s * 1e3)),
        one.subflows.to_string(),
        bytes(&one.today, 1e6),
        joules(&one.today, 1.0),
        bytes(&one.month, 1e9),
        joules(&one.month, 1e3),
    ]
}

/// Why an interface has its role, and what is known of its signal and network.
pub(crate) fn reason(one: &InterfaceStatus) -> String {
    let mut reason = one.reason.with(&one.notes);
    if let Some(signal) = &one.signal_strength {
        reason += &format!("; {}", figures::signal(signal));
    }
    if let Some(network) = &one.network {
        reason += &format!("; {}", figures::network(network));
    }
    reason
}

/// Reasons, quotas, warnings, and sources of the joules.
fn notes(status: &Status, width: usize) -> String {
    let mut text = String::new();
    for one in status.interfaces.iter().filter(|one| one.allowed) {
        let mut reason = reason(one);
        if let Some(quota) = &one.quota {
            reason += &format!("; quota: {}", figures::quota(quota));
        }
        text += &format!(
            "\n{}",
            wrap(&format!("{}: {reason}", one.name), width, "  ")
        );
        for (address, why) in &one.conflicts {
            text += &format!("\n{}", wrap(&format!("  {address}: {why}"), width, "    "));
        }
    }
    let others = status
        .interfaces
        .iter()
        .filter(|one| !one.allowed)
        .map(|one| one.name.as_str());
    let others: Vec<&str> = others.collect();
    if !others.is_empty() {
        let said = format!(
            "Virtual interfaces not named in the configuration: {}",
            others.join(", ")
        );
        text += &format!("\n{}", wrap(&said, width, "  "));
    }
    text.push('\n');
    for warning in &status.warnings {
        text += &format!("\n{}", wrap(&format!("warning: {warning}"), width, "  "));
    }
    if !status.warnings.is_empty() {
        text.push('\n');
    }
    for said in remarks(status)
        .into_iter()
        .chain(figures::all_paths(status))
    {
        text += &format!("\n{}\n", wrap(&said, width, "  "));
    }
    if let Some(said) = sources(&status.interfaces) {
        text += &format!("\n{}\n", wrap(&said, width, "  "));
    }
    if let Some(said) = why::line(status) {
        text += &format!("\n{}\n", wrap(&said, width, "  "));
    }
    text
}

/// Sentences on programs without MPTCP, where connections start, controllers, steering, and the
/// machine's meter.
pub(crate) fn remarks(status: &Status) -> Vec<String> {
    let of_controller = |name: &String| {
        format!("New sockets get the congestion controller {name}, which controls uploads.")
    };
    let none = matches!((status.connections, status.plain), (0, Some(1..)));
    let none = none.then(|| {
        "No connection uses MPTCP: `joulepath run -- COMMAND` starts a program that asks for it, [[mptcp]] \
         in live.toml does so for services."
            .to_owned()
    });
    let all = none
        .into_iter()
        .chain(status.programs.iter().flat_map(figures::programs));
    all.chain(figures::first(&status.first))
        .chain(figures::tunnels(&status.first))
        .chain(status.controller.iter().map(of_controller))
        .chain(status.steering.iter().flat_map(figures::steering))
        .chain(figures::machine(status))
        .collect()
}

/// Where the joules come from.
pub(crate) fn sources(interfaces: &[InterfaceStatus]) -> Option<String> {
    let of = |one: &InterfaceStatus| {
        let quality = one.energy_quality.as_deref()?;
        Some(format!(
            "{} {quality} by {}",
            one.name,
            figures::profile(one)?
        ))
    };
    let known: Vec<String> = interfaces.iter().filter_map(of).collect();
    (!known.is_empty()).then(|| {
        format!(
            "Joules attributed to interfaces by their traffic: {}. Days and months begin at midnight UTC.",
            known.join(", ")
        )
    })
}

fn wrap(text: &str, width: usize, indent: &str) -> String {
    let options = textwrap::Options::new(width).subsequent_indent(indent);
    textwrap::fill(
        text,
        options.word_splitter(textwrap::WordSplitter::NoHyphenation),
    )
}

#[cfg(test)]
mod tests {
    use joulepath_live::decide::Role;
    use joulepath_live::status::{MachineStatus, NetworkStatus, QuotaStatus, SignalStatus, Spent};
    use joulepath_model::history::Estimate;

    use super::*;
    use crate::top::samples;

    fn interface(name: &str, role: Role, energy_j: Option<f64>) -> InterfaceStatus {
        let spent = Spent {
            received_bytes: 123_456_789_000,
            sent_bytes: 1_000_000,
            energy_j,
        };
        InterfaceStatus {
            name: name.into(),
            role,
            wanted: role,
            conflicts: [(
                "192.0.2.1".to_owned(),
                "another program has set an endpoint for it".to_owned(),
            )]
            .into(),
            received_bps: 123_456_789.0,
            sent_bps: 0.0,
            capacity_bps: None,
            rtt_s: energy_j.map(|_| 0.0234),
            quota: energy_j.map(|_| QuotaStatus {
                used_bytes: 8_100_000_000,
                soft_bytes: Some(8_000_000_000),
                hard_bytes: None,
                since: "2026-11-01".into(),
            }),
            total: spent,
            today: spent,
            month: spent,
            energy_profile: energy_j.map(|_| "wifi-huang2012".into()),
            energy_quality: energy_j.map(|_| "modelled".into()),
            ..samples::status().interfaces.remove(0)
        }
    }

    #[test]
    fn the_status_shows_what_is_remembered_of_a_network() {
        let mut status = samples::status();
        let unknown = NetworkStatus {
            id: "3f2a9c1e".into(),
            kind: "wifi".into(),
            visits: 0,
            age_days: None,
            rate_bps: None,
            rtt_s: None,
            loss: None,
        };
        let rate = Some(Estimate {
            median: 18.5e6,
            spread: 1.52,
        });
        let rtt = Some(Estimate {
            median: 0.03,
            spread: 1.2,
        });
        let known = NetworkStatus {
            visits: 4,
            age_days: Some(2.0),
            rate_bps: rate,
            rtt_s: rtt,
            ..unknown.clone()
        };
        for (network, expected) in [
            (unknown, "; network 3f2a9c1e: new"),
            (
                known,
                "; network 3f2a9c1e: 4 visits, the last 2 days ago: 18.5 Mbit/s (×/÷ 1.5), \
                 RTT 30.0 ms (×/÷ 1.2)",
            ),
        ] {
            status.interfaces[0].network = Some(network);
            let text = super::status(&status, 400);
            assert!(text.contains(expected), "{text}");
        }
    }

    #[test]
    fn the_status_shows_the_signal_its_age_and_the_signal_of_the_joules() {
        let mut status = samples::status();
        status.interfaces[0].energy_profile = Some("5g-sa-2021".into());
        status.interfaces[0].energy_at_dbm = Some(-80.0);
        let text = super::status(&status, 400);
        assert!(
            text.contains("modelled by 5g-sa-2021 at -80 dBm, as no signal is known"),
            "{text}"
        );
        assert!(!text.contains("; signal"), "{text}");
        status.interfaces[0].energy_at_dbm = Some(-97.0);
        status.interfaces[0].signal_strength = Some(SignalStatus {
            dbm: -97.0,
            age_s: 1.25,
            source: "command".into(),
        });
        let text = super::status(&status, 400);
        assert!(
            text.contains("; signal -97 dBm, 1.2 s old, by command"),
            "{text}"
        );
        assert!(text.contains("modelled by 5g-sa-2021 at -97 dBm"), "{text}");
        assert!(!text.contains("no signal is known"), "{text}");
    }

    #[test]
    fn the_last_line_says_what_holds_a_connection_back() {
        let status = Status {
            why: Some(vec![samples::hindrance()]),
            ..samples::status()
        };
        let text = super::status(&status, 400);
        let last = "In the way: 192.0.2.9:443: the program uses plain TCP, which has one path \
            (`joulepath why`).";
        assert_eq!(text.lines().last(), Some(last));
        for why in [None, Some(vec![])] {
            assert!(
                !super::status(
                    &Status {
                        why,
                        ..samples::status()
                    },
                    400
                )
                .contains("In the way")
            );
        }
    }

    #[test]
    fn the_status_shows_measured_and_attributed_power() {
        let said = |machine: MachineStatus| {
            let text = self::status(
                &Status {
                    machine: Some(machine),
                    ..samples::status()
                },
                80,
            );
            text.split_whitespace().collect::<Vec<_>>().join(" ")
        };
        let measured = samples::machine();
        let text = said(measured.clone());
        let all = "machine: 8.00 W measured by hwmon:powerz: 1.25 W attributed to interfaces, 6.75 W \
                   unexplained; today 12.3 kJ";
        assert!(text.contains(all), "{text}");
        let text = said(MachineStatus {
            unexplained_w: None,
            ..measured.clone()
        });
        assert!(
            text.contains("hwmon:powerz, which excludes the radios: the supply"),
            "{text}"
        );
        let text = said(MachineStatus {
            unexplained_w: Some(-0.25),
            power_w: Some(1.0),
            ..measured.clone()
        });
        assert!(
            text.contains("the interfaces' models attribute 1.25 W, 0.250 W more than measured"),
            "{text}"
        );
        let text = said(MachineStatus {
            trouble: Some("on mains".into()),
            ..measured
        });
        assert!(
            text.contains("machine: not measured at present: on mains"),
            "{text}"
        );
    }

    #[test]
    fn the_status_fits_80_columns_and_marks_unknown_values() {
        let all = Status {
            connections: 1000,
            interfaces: vec![
                interface("wlp0s20f3", Role::Regular, Some(123_456.0)),
                interface("enx00e04c680", Role::Backup, None),
                InterfaceStatus {
                    allowed: false,
                    ..interface("docker0", Role::Unused, None)
                },
            ],
            warnings: vec![
                "NetworkManager 1.42.4 runs; it sets MPTCP endpoints of its own: left alone".into(),
            ],
            ..samples::everything()
        };
        let text = dry_run(
            &all,
            &["add the endpoint 192.0.2.1 dev wlp0s20f3 subflow".into()],
            80,
        );
        for line in text.lines() {
            assert!(line.chars().count() <= 80, "{line}\n{text}");
        }
        for part in [
            "MPTCP: 997 of 1008 connections (3 fell back to TCP) · frugal",
            "8.10 GB since 2026-11-01 (soft 8.00 GB)",
            "Now, new connections start on enx00e04c680.",
            "New sockets get the congestion controller jp_joule,",
            "The daemon steers 2 connections: 5 subflows opened, 1 closed; 1 started under",
            "Rule `program ffmpeg`: frugal, may wait 2 min for 1 connection: wlan0 regular",
            "A tolerance keeps a further radio asleep after a failure.",
            "Today 123 kJ; with all paths always at least 149 kJ (modelled for 8.60 MB over MPTCP, if every \
             transfer uses the full rate of all paths).",
            "wlp0s20f3 modelled by wifi-huang2012",
            "not named in the configuration: docker0",
            "warning: NetworkManager",
            "- add the endpoint 192.0.2.1",
        ] {
            let words: Vec<&str> = text.split_whitespace().collect();
            assert!(words.join(" ").contains(part), "{part}\n{text}");
        }
        let row = text.lines().find(|line| line.starts_with("enx")).unwrap();
        assert_eq!(row.matches(UNKNOWN).count(), 3, "{text}");
    }

    #[test]
    fn the_first_words_say_how_many_connections_use_mptcp() {
        for (connections, fallen_back, plain, expected) in [
            (0, 0, Some(0), "MPTCP: 0 of 0 connections · "),
            (1, 0, Some(0), "MPTCP: 1 of 1 connection · "),
            (
                3,
                1,
                Some(14),
                "MPTCP: 2 of 17 connections (1 fell back to TCP) · ",
            ),
            // An older daemon does not report plain TCP.
            (3, 1, None, "MPTCP: 2 connections (1 fell back to TCP) · "),
        ] {
            let text = super::status(
                &Status {
                    connections,
                    fallen_back,
                    plain,
                    ..samples::status()
                },
                200,
            );
            assert!(text.starts_with(expected), "{text}");
            assert!(!text.contains("joulepath run"), "{text}");
        }
        let none = Status {
            connections: 0,
            fallen_back: 0,
            plain: Some(7),
            ..samples::status()
        };
        assert!(super::status(&none, 200).contains("`joulepath run -- COMMAND`"));
    }
}
