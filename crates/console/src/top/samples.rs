//! Sample states for tests.

use std::time::Duration;

use joulepath_live::Request;
use joulepath_live::decide::Role;
use joulepath_live::reason::Reason;
use joulepath_live::status::{
    AllPaths, Event, FirstStatus, Hindrance, InterfaceStatus, MachineStatus, Measure,
    NetworkStatus, ProgramsStatus, QuotaStatus, RuleStatus, SCHEMA, SignalStatus, Spared, Spent,
    Status, SteeringStatus,
};
use joulepath_model::history::Estimate;
use joulepath_model::live::Intent;

use super::asker::{Answer, Problem};
use super::state::State;

/// A laptop with WiFi, an LTE modem with a quota, and an unknown cable.
pub(crate) fn status() -> Status {
    let wifi = InterfaceStatus {
        name: "wlp0s20f3".into(),
        intent: Intent::Frugal,
        role: Role::Regular,
        wanted: Role::Regular,
        reason: Reason::Frugal {
            transfer_bytes: 10_000_000,
            paths: vec!["wlp0s20f3".into()],
            energy_j: 7.11,
            time_s: 4.05,
            delay_price_w: 0.0,
            next_paths: vec!["wwan0".into()],
            next_energy_j: Some(22.3),
            advice: "Use wlp0s20f3 alone: 7.11 J; wwan0 alone would cost 22.3 J".into(),
        },
        notes: vec![],
        allowed: true,
        addresses: vec!["192.0.2.1".into()],
        conflicts: Default::default(),
        received_bps: 12_345_678.0,
        sent_bps: 345_678.0,
        capacity_bps: Some(40e6),
        rtt_s: Some(0.0234),
        subflows: 12,
        backup_subflows: 0,
        retransmitted_bytes: 1_000,
        quota: None,
        total: Spent::default(),
        today: Spent {
            received_bytes: 1_234_567_890,
            sent_bytes: 0,
            energy_j: Some(1234.5),
        },
        month: Spent {
            received_bytes: 23_456_789_000,
            sent_bytes: 0,
            energy_j: Some(23_456.0),
        },
        energy_profile: Some("wifi-huang2012".into()),
        energy_quality: Some("modelled".into()),
        power_w: Some(1.234),
        network: None,
        signal_strength: None,
        energy_at_dbm: None,
    };
    let lte = InterfaceStatus {
        name: "wwan0".into(),
        role: Role::Backup,
        wanted: Role::Unused,
        reason: Reason::SoftQuota {
            used_bytes: 8_100_000_000,
            quota_bytes: 8_000_000_000,
        },
        received_bps: 0.0,
        sent_bps: 1_000.0,
        rtt_s: Some(0.0481),
        subflows: 3,
        backup_subflows: 3,
        quota: Some(QuotaStatus {
            used_bytes: 8_100_000_000,
            soft_bytes: Some(8_000_000_000),
            hard_bytes: Some(10_000_000_000),
            since: "2026-11-01".into(),
        }),
        today: Spent {
            received_bytes: 55_000_000,
            sent_bytes: 0,
            energy_j: Some(88.0),
        },
        month: Spent {
            received_bytes: 8_100_000_000,
            sent_bytes: 0,
            energy_j: Some(9_100.0),
        },
        energy_profile: Some("file:lte.toml, calibrated 2026-11-20 with hwmon:powerz".into()),
        energy_quality: Some("calibrated".into()),
        power_w: Some(0.031),
        network: None,
        signal_strength: None,
        energy_at_dbm: None,
        ..wifi.clone()
    };
    let cable = InterfaceStatus {
        name: "enx00e04c680".into(),
        role: Role::Unused,
        wanted: Role::Unused,
        reason: Reason::Down,
        rtt_s: None,
        subflows: 0,
        energy_profile: None,
        energy_quality: None,
        power_w: None,
        network: None,
        signal_strength: None,
        energy_at_dbm: None,
        received_bps: 0.0,
        sent_bps: 0.0,
        today: Spent::default(),
        month: Spent::default(),
        ..wifi.clone()
    };
    let docker = InterfaceStatus {
        name: "docker0".into(),
        allowed: false,
        ..cable.clone()
    };
    let event = |ago_s, text: &str| Event {
        ago_s,
        text: text.into(),
    };
    Status {
        schema: SCHEMA,
        version: "0.1.0".into(),
        intent: Intent::Frugal,
        configured_intent: Intent::Interactive,
        paused: false,
        config: "/etc/joulepath/live.toml".into(),
        up_s: 5000.0,
        connections: 12,
        fallen_back: 3,
        plain: Some(8),
        changes: 5,
        battery: None,
        today: "2026-11-23".into(),
        interfaces: vec![wifi, lte, cable, docker],
        warnings: vec!["NetworkManager 1.42.4 runs: its endpoints are left alone".into()],
        events: vec![
            event(3.0, "wwan0: backup: its soft quota of 8.00 GB is used up"),
            event(70.0, "the intent is set to frugal"),
            event(
                4990.0,
                "wlp0s20f3: regular: least energy for 10 MB: 7.11 J; next best 22.3 J over wwan0",
            ),
        ],
        machine: None,
        all_paths: None,
        controller: None,
        steering: None,
        networks: None,
        programs: None,
        first: FirstStatus::default(),
        why: None,
        may_command: Some(true),
    }
}

/// The same machine with every line that a status can have.
pub(crate) fn everything() -> Status {
    let mut all = status();
    let estimate = |median, spread| Some(Estimate { median, spread });
    let modem = &mut all.interfaces[1];
    modem.conflicts = [(
        "192.0.2.2".to_owned(),
        "another program has set an endpoint for it".to_owned(),
    )]
    .into();
    modem.signal_strength = Some(SignalStatus {
        dbm: -97.0,
        age_s: 1.25,
        source: "command".into(),
    });
    modem.energy_at_dbm = Some(-97.0);
    modem.network = Some(NetworkStatus {
        id: "3f2a9c1e".into(),
        kind: "cellular".into(),
        visits: 4,
        age_days: Some(2.0),
        rate_bps: estimate(18.5e6, 1.52),
        rtt_s: estimate(0.03, 1.2),
        loss: None,
    });
    Status {
        all_paths: Some(AllPaths {
            today: Spared {
                mptcp_bytes: 8_600_000,
                spared_j: 25_200.0,
            },
            ..AllPaths::default()
        }),
        controller: Some("jp_joule".into()),
        machine: Some(machine()),
        first: FirstStatus {
            steered: false,
            interfaces: vec!["enx00e04c680".into()],
            preferred: Some("wlp0s20f3".into()),
            tunnels: vec![],
            unanswered: vec![],
        },
        programs: Some(ProgramsStatus {
            bpf: false,
            on: vec!["nginx.service".into()],
            waiting: vec!["postgresql.service".into()],
            missing: vec!["sync.service".into()],
            notes: vec!["static.service: its program is statically linked".into()],
        }),
        steering: Some(SteeringStatus {
            connections: 2,
            tolerance_s: None,
            of_kernel: 1,
            opened: 5,
            closed: 1,
            refused: 0,
            rules: vec![RuleStatus {
                rule: "program ffmpeg".into(),
                intent: Intent::Frugal,
                tolerance_s: Some(120.0),
                connections: 1,
                last: Some("ffmpeg of user 1000 to 192.0.2.9:443".into()),
                last_uid: None,
                interfaces: [("wlan0", Role::Regular), ("wwan0", Role::Backup)]
                    .map(|(name, role)| (name.to_owned(), role))
                    .into(),
            }],
        }),
        why: Some(vec![hindrance()]),
        ..all
    }
}

/// A program with plain TCP.
pub(crate) fn hindrance() -> Hindrance {
    Hindrance {
        remote: "192.0.2.9:443".into(),
        cause: "plain-tcp".into(),
        verdict: "the program uses plain TCP, which has one path".into(),
        evidence: vec![
            "protocol TCP, no MPTCP in its socket".into(),
            "wwan0 could carry it, too".into(),
        ],
        cost: 0.5,
        how: "1 of 2 interfaces carry nothing, counted as equally fast".into(),
        fix: vec!["joulepath run -- curl".into()],
        advice: None,
        uid: Some(1000),
    }
}

/// A machine with a meter.
pub(crate) fn machine() -> MachineStatus {
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
        today_j: Some(12_345.0),
        month_j: Some(12_345.0),
        trouble: None,
    }
}

/// The state after answers for a minute, the last at 60 s.
pub(super) fn state() -> State {
    let mut state = State::new("/run/joulepath/live.sock".into(), false);
    for second in 0_u32..=60 {
        let mut status = status();
        status.interfaces[0].received_bps *= f64::from(second) / 60.0;
        answer(&mut state, Ok(status), second.into());
    }
    state
}

/// Takes in an answer or an error.
pub(super) fn answer(state: &mut State, result: Result<Status, Problem>, second: u64) {
    state.on_answer(
        Answer {
            request: Request::Status,
            result,
        },
        Duration::from_secs(second),
    );
}

/// The error of an absent daemon.
pub(super) fn gone() -> Problem {
    Problem {
        what: "no daemon listens at /run/joulepath/live.sock".into(),
        remedy: "start it: sudo joulepath on".into(),
    }
}
