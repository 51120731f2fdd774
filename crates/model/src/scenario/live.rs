//! The configuration file of the daemon for real interfaces: TOML with the same syntax and errors
//! as a scenario.

use super::beside::{Beside, CalibratedProfile};
use super::declare::{named, table};
use super::document::Document;
use super::error::{Problems, ScenarioErrors};
use super::live_controllers::{RawControllers, controllers};
use super::live_interfaces::{RawLiveInterface, interface};
use super::live_programs::{RawOnMptcp, on_mptcp};
use super::live_rules::{RawRule, may_wait, rule};
use super::raw::RawDevice;
use super::read::{At, Read};
use super::resolve::device_energy;
use crate::live::{ControlConfig, First, Intent, LiveConfig, Manager, MeterConfig, OpenAfter};
use crate::units::{BitRate, Bytes, Nanos, Probability};

/// Shortest and longest poll interval.
const SAMPLES: [Nanos; 2] = [Nanos::from_millis(200), Nanos::from_secs(60)];

named!(Intent, "an intent", {
    "frugal" => Intent::Frugal,
    "saver" => Intent::Frugal,
    "balanced" => Intent::Balanced,
    "fast" => Intent::Fast,
    "handover" => Intent::Handover,
    "interactive" => Intent::Interactive,
    "aggregate" => Intent::Aggregate,
    "overflow" => Intent::Overflow,
    "uninterrupted" => Intent::Uninterrupted,
    "off" => Intent::Off,
});

named!(First, "a way to start connections", {
    "leave" => First::Leave,
    "steer" => First::Steer,
});
named!(Manager, "a path manager", {
    "kernel" => Manager::Kernel,
    "userspace" => Manager::UserSpace,
});

table! {
    /// Configuration of `joulepath live`.
    struct RawLive in "the configuration" {
        /// Intent of the machine: how it uses its paths.
        intent: Intent,
        /// Path manager: the kernel, which treats all connections alike, or the daemon, which
        /// manages each connection separately.
        pm: Manager = "kernel",
        /// Where new connections start: as the routing table says, or on the preferred interface.
        first: First = "leave",
        /// With `pm = "userspace"`: when a connection gets its second subflow; absent: the intent
        /// decides.
        open_after: Option<At<RawOpenAfter>>,
        /// With `pm = "userspace"`, under `frugal` and `handover`: how long data may wait for a
        /// path that has failed before another one opens; absent: not at all.
        tolerance: Option<At<Nanos>>,
        /// On battery, the intent is `frugal` below this charge.
        battery_below: Option<Probability>,
        /// Transfer size for which `frugal`, `balanced` and `fast` choose paths.
        transfer: At<Bytes> = "10 MB",
        /// Longest time that a transfer may take; `frugal` adds paths to meet it.
        deadline: Option<At<Nanos>>,
        /// Required rate; `frugal` adds paths if one path is slower.
        rate: Option<At<BitRate>>,
        /// Data that the second path may carry per handover.
        handover_budget: Bytes = "1 MB",
        /// Poll interval for counters and connections.
        sample: At<Nanos> = "2 s",
        /// Power of the device besides its interfaces.
        device: At<RawDevice> = {},
        /// Names or patterns of further interfaces that may be used. Virtual interfaces such as
        /// tunnels and bridges must be named here or in `[[interface]]`.
        allow: Vec<At<String>> = [],
        /// Names or patterns of devices that the daemon does not use, such as a VPN's: connections
        /// that are routed into them may get subflows beside them. Without it such a connection
        /// stays in its device.
        bypass: Vec<At<String>> = [],
        /// Take over the endpoints that other programs, such as NetworkManager and mptcpd, have set
        /// on interfaces that the daemon may use, and give them back at the end as they were.
        adopt: bool = false,
        /// Interfaces; the first entry that matches a name applies.
        interface: Vec<RawLiveInterface> = [],
        /// With `pm = "userspace"`: intents of some connections; the first rule that matches
        /// applies.
        rule: Vec<At<RawRule>> = [],
        /// Programs whose TCP sockets become MPTCP, when systemd starts them.
        mptcp: Vec<At<RawOnMptcp>> = [],
        /// Congestion controller of new sockets under each intent of the machine.
        controllers: RawControllers = {},
        /// Meter of the machine's power.
        meter: Option<At<RawMeter>>,
        /// The control socket.
        control: RawControl = {},
        /// Remember rate, RTT and loss of networks, and decide by them.
        memory: bool = true,
        /// Folder for state that survives a reboot.
        state: At<String> = "/var/lib/joulepath",
    }
}

table! {
    /// When a connection gets its second subflow: as soon as it reaches either threshold.
    struct RawOpenAfter in "open_after" {
        /// Data that the connection has carried, both directions together.
        bytes: Bytes,
        /// Age of the connection.
        age: Nanos,
    }
}

table! {
    /// Meter of the whole machine: either `name` or `command`.
    struct RawMeter in "[meter]" {
        /// Name, as `joulepath meter` lists it.
        name: Option<At<String>>,
        /// Program that prints watts, one number per line.
        command: Option<At<String>>,
    }
}

table! {
    /// The control socket and its access rights.
    struct RawControl in "[control]" {
        /// Path of the Unix socket.
        socket: At<String> = "/run/joulepath/live.sock",
        /// Group that may read the state; absent: everybody.
        readers: Option<String>,
        /// Group that may send commands; absent: root only.
        commanders: Option<String>,
    }
}

/// Reads the configuration of the daemon.
///
/// # Errors
/// All problems, each with its position and fix.
pub fn read_live(text: &str) -> Result<LiveConfig, ScenarioErrors> {
    let profiles = |name: &str| {
        Err(format!(
            "`{name}` cannot be looked up here; write its numbers"
        ))
    };
    read_live_beside(text, None, &profiles)
}

/// Like [`read_live`], but also resolves calibrated profiles: `energy = "file:my-wifi.toml"`. An
/// error of `profiles` is a message, a semicolon, and the fix. `manager` overrides the file's `pm`.
///
/// # Errors
/// All problems, each with its position and fix.
pub fn read_live_beside(
    text: &str,
    manager: Option<Manager>,
    profiles: &dyn Fn(&str) -> Result<CalibratedProfile, String>,
) -> Result<LiveConfig, ScenarioErrors> {
    let traces = |name: &str| {
        Err(format!(
            "the daemon does not use the trace `{name}`; leave it out"
        ))
    };
    let series = |name: &str| {
        Err(format!(
            "the daemon does not use the trace `{name}`; leave it out"
        ))
    };
    let beside = Beside {
        traces: &traces,
        series: &series,
        profiles,
    };
    let mut problems = Problems::default();
    let document = Document::new(text, &[]);
    let raw = document
        .parse(&mut problems)
        .and_then(|root| RawLive::read(&root, &mut problems));
    let raw = raw.map(|raw| RawLive {
        pm: manager.unwrap_or(raw.pm),
        ..raw
    });
    let config = raw.and_then(|raw| config(raw, beside, &mut problems));
    problems
        .finish(document.text, config)
        .map_err(|errors| errors.of("the configuration"))
}

/// The JSON schema (draft 2020-12) of the daemon's configuration.
pub fn live_schema() -> serde_json::Value {
    schemars::schema_for!(RawLive).to_value()
}

fn config(raw: RawLive, beside: Beside<'_>, out: &mut Problems) -> Option<LiveConfig> {
    let device = device_energy(&raw.device, beside, out);
    if let (Some(_), Some(rate)) = (&raw.deadline, &raw.rate) {
        let help = "keep one: `deadline` for transfers, `rate` for streams";
        out.note_with_help(&rate.span, "`rate` and `deadline` exclude each other", help);
    }
    for rate in raw.rate.iter().chain(
        raw.interface
            .iter()
            .filter_map(|interface| interface.rate.as_ref()),
    ) {
        if rate.value.bps() == 0 {
            out.note_with_help(
                &rate.span,
                "a rate of 0 carries nothing",
                "leave `rate` out if it is unknown",
            );
        }
    }
    if raw.transfer.value == Bytes(0) {
        out.note_with_help(
            &raw.transfer.span,
            "`transfer` is 0 bytes",
            "write for example \"10 MB\"",
        );
    }
    if raw
        .deadline
        .as_ref()
        .is_some_and(|deadline| deadline.value == Nanos::ZERO)
    {
        let span = raw
            .deadline
            .as_ref()
            .map_or(0..0, |deadline| deadline.span.clone());
        out.note_with_help(&span, "`deadline` is 0 s", "write for example \"8 s\"");
    }
    if !(SAMPLES[0]..=SAMPLES[1]).contains(&raw.sample.value) {
        let message = format!("`sample` must be {} to {}", SAMPLES[0], SAMPLES[1]);
        out.note_with_help(&raw.sample.span, message, "write for example \"2 s\"");
    }
    for path in [&raw.state, &raw.control.socket] {
        if !path.value.starts_with('/') {
            let help = format!("write for example \"/var/lib/{}\"", path.value);
            out.note_with_help(&path.span, "the path is not absolute", help);
        }
    }
    for name in raw
        .allow
        .iter()
        .chain(&raw.bypass)
        .chain(raw.interface.iter().map(|interface| &interface.name))
    {
        if name.value.is_empty() {
            out.note_with_help(
                &name.span,
                "the name is empty",
                "write for example \"wlan0\" or \"wlan*\"",
            );
        }
    }
    for (i, RawLiveInterface { name, .. }) in raw.interface.iter().enumerate() {
        if raw.interface[..i]
            .iter()
            .any(|other| other.name.value == name.value)
        {
            let help = "only the first would apply: write both as one entry";
            out.note_with_help(
                &name.span,
                format!("`{}` is listed twice", name.value),
                help,
            );
        }
    }
    for_user_space_only(&raw, out);
    may_wait(raw.intent, raw.tolerance.as_ref(), out);
    let interfaces: Vec<_> = raw
        .interface
        .into_iter()
        .map(|raw| interface(raw, beside, out))
        .collect();
    let controllers = controllers(raw.controllers, out);
    let before = out.len();
    let rules = raw
        .rule
        .into_iter()
        .filter_map(|written| rule(written, out))
        .collect();
    let mptcp = raw
        .mptcp
        .into_iter()
        .filter_map(|written| on_mptcp(written, out))
        .collect();
    let meter = raw.meter.and_then(|written| meter(written, out));
    if out.len() > before {
        return None;
    }
    Some(LiveConfig {
        intent: raw.intent,
        manager: raw.pm,
        first: raw.first,
        open_after: raw.open_after.map(
            |At {
                 value: RawOpenAfter { bytes, age },
                 ..
             }| OpenAfter { bytes, age },
        ),
        tolerance: raw.tolerance.map(|at| at.value),
        rules,
        mptcp,
        battery_below: raw.battery_below,
        transfer: raw.transfer.value,
        deadline: raw.deadline.map(|at| at.value),
        rate: raw.rate.map(|at| at.value),
        handover_budget: raw.handover_budget,
        sample: raw.sample.value,
        device: device?,
        allow: raw.allow.into_iter().map(|at| at.value).collect(),
        bypass: raw.bypass.into_iter().map(|at| at.value).collect(),
        adopt: raw.adopt,
        interfaces: interfaces.into_iter().collect::<Option<_>>()?,
        controllers: controllers?,
        meter,
        control: ControlConfig {
            socket: raw.control.socket.value,
            readers: raw.control.readers,
            commanders: raw.control.commanders,
        },
        memory: raw.memory,
        state: raw.state.value,
    })
}

/// Notes keys that only `pm = "userspace"` can honour.
fn for_user_space_only(raw: &RawLive, out: &mut Problems) {
    if raw.pm == Manager::UserSpace {
        return;
    }
    let help = "write pm = \"userspace\" at the top of the file, or start with --pm userspace";
    if let Some(written) = &raw.open_after {
        out.note_with_help(
            &written.span,
            "the kernel's path manager cannot delay subflows",
            help,
        );
    }
    if let Some(written) = &raw.tolerance {
        let message = "the kernel's path manager opens further paths at once: no data can wait";
        out.note_with_help(&written.span, message, help);
    }
    for written in &raw.rule {
        let message = "the kernel's path manager treats all connections alike: it has no rules";
        out.note_with_help(&written.span, message, help);
    }
    for intent in raw
        .mptcp
        .iter()
        .filter_map(|written| written.value.intent.as_ref())
    {
        let message = "the kernel's path manager treats all connections alike";
        out.note_with_help(&intent.span, message, help);
    }
}

fn meter(written: At<RawMeter>, out: &mut Problems) -> Option<MeterConfig> {
    let At {
        value: RawMeter { name, command },
        span,
    } = written;
    let (key, meter): (_, fn(String) -> MeterConfig) = match (name, command) {
        (Some(name), None) => (name, MeterConfig::Name),
        (None, Some(command)) => (command, MeterConfig::Command),
        _ => {
            let help = "write for example name = \"hwmon:powerz\" (`joulepath meter` lists them)";
            out.note_with_help(
                &span,
                "[meter] needs exactly one of the keys `name` and `command`",
                help,
            );
            return None;
        }
    };
    if key.value.trim().is_empty() {
        out.note_with_help(
            &key.span,
            "the value is empty",
            "leave [meter] out if there is none",
        );
        return None;
    }
    Some(meter(key.value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::live::Quota;

    const FULL: &str = r#"
intent = "frugal"
pm = "userspace"
open_after = { bytes = "100 kB", age = "1 s" }
battery_below = "20 %"
deadline = "8 s"
allow = ["veth*"]
bypass = ["tun0", "wg*"]
adopt = true

[[interface]]
name = "wlan*"
energy = "wifi-huang2012"

[[interface]]
name = "wwan0"
intent = "handover"
cost = 2
metered = true
quota = { soft = "8 GB", hard = "10 GB", period_day = 31 }
energy = { profile = "lte-huang2012", idle = "30 mW" }

[[rule]]
program = "ff*"
user = "media"
port = 443
remote = "192.0.2.0/24"
intent = "aggregate"

[[rule]]
cgroup = "sync.service"
intent = "saver"
tolerance = "2 min"

[controllers]
frugal = "jp_joule"

[meter]
name = "hwmon:powerz"

[control]
commanders = "joulepath"
"#;

    #[test]
    fn every_key_is_read() {
        let config = read_live(FULL).unwrap_or_else(|errors| panic!("{errors}"));
        assert_eq!(
            (config.intent, config.deadline),
            (Intent::Frugal, Some(Nanos::from_secs(8)))
        );
        assert_eq!(
            (config.transfer, config.sample),
            (Bytes(10_000_000), Nanos::from_secs(2))
        );
        let modem = config.interface("wwan0").unwrap();
        let quota = Quota {
            soft: Some(Bytes(8_000_000_000)),
            hard: Some(Bytes(10_000_000_000)),
            period_day: 31,
        };
        assert_eq!(
            (modem.quota, modem.intent, modem.metered),
            (Some(quota), Some(Intent::Handover), true)
        );
        assert_eq!(
            modem.energy.as_ref().unwrap().profile,
            "lte-huang2012, changed"
        );
        assert_eq!(config.interface("wlan7").unwrap().name, "wlan*");
        assert!(
            config.allows("veth1") && config.interface("veth1").is_none() && !config.allows("tun0")
        );
        assert_eq!(
            config.controllers,
            [(Intent::Frugal, "jp_joule".to_owned())].into()
        );
        assert_eq!(config.meter, Some(MeterConfig::Name("hwmon:powerz".into())));
        assert_eq!(config.manager, Manager::UserSpace);
        let after = OpenAfter {
            bytes: Bytes(100_000),
            age: Nanos::from_secs(1),
        };
        assert_eq!(config.open_after, Some(after));
        assert_eq!(config.rules[0].intent, Intent::Aggregate);
        assert_eq!(
            config.rules[0].words(),
            "program ff*, user media, port 443, remote 192.0.2.0/24"
        );
        assert_eq!(config.rules[1].intent, Intent::Frugal, "an alias");
        assert_eq!([config.rules[0].tolerance, config.tolerance], [None; 2]);
        assert_eq!(config.rules[1].tolerance, Some(Nanos::from_secs(120)));
        assert_eq!(config.control.commanders.as_deref(), Some("joulepath"));
        assert_eq!(read_live("intent = \"off\"").unwrap().interfaces, []);
    }

    #[test]
    fn a_word_is_the_same_intent_wherever_it_is_read() {
        use super::super::read::Named;
        for (word, intent) in Intent::NAMES {
            assert_eq!(Intent::by_word(word), Some(*intent));
            assert_eq!(
                serde_json::from_str::<Intent>(&format!("\"{word}\"")).unwrap(),
                *intent
            );
        }
        assert!(
            Intent::ALL
                .into_iter()
                .all(|intent| Named::word(intent) == Intent::word(intent))
        );
    }

    #[test]
    fn the_command_line_overrides_the_path_manager() {
        let text = "intent = \"off\"\n[[rule]]\nintent = \"frugal\"\nport = 443";
        let read = |manager| read_live_beside(text, manager, &|_| unreachable!());
        assert!(read(None).is_err() && read(Some(Manager::Kernel)).is_err());
        assert_eq!(
            read(Some(Manager::UserSpace)).unwrap().manager,
            Manager::UserSpace
        );
    }

    #[test]
    fn problems_are_reported_with_position_and_fix() {
        let with =
            |line: &str| format!("intent = \"frugal\"\n[[interface]]\nname = \"eth0\"\n{line}");
        for (text, message) in [
            (
                "",
                "the configuration needs the key `intent`; write for example intent = \"frugal\"",
            ),
            (
                "intent = \"cheap\"",
                "1:10: `cheap` is not an intent; known words: frugal, saver, balanced",
            ),
            (
                "intent = \"off\"\nallows = []",
                "2:1: `allows` is not a key of the configuration; did you mean `allow`?",
            ),
            (
                "intent = \"off\"\nsample = \"1 h\"",
                "2:10: `sample` must be 200 ms to 60 s",
            ),
            (
                "intent = \"off\"\nbattery_below = 0.2",
                "`0.2` has no unit; write \"20 %\" for a probability of 0.2, \"0.2 %\" for 0.2 %",
            ),
            (
                "intent = \"off\"\nstate = \"here\"",
                "2:9: the path is not absolute",
            ),
            (
                "intent = \"off\"\nrate = \"1 Mbit/s\"\ndeadline = \"1 s\"",
                "exclude each other",
            ),
            (
                &with("quota = {}"),
                "4:9: a quota needs `soft`, `hard` or both",
            ),
            (
                &with("quota = { soft = \"2 GB\", hard = \"1 GB\" }"),
                "`soft` is above `hard`",
            ),
            (
                &with("quota = { hard = \"1 GB\", period_day = 32 }"),
                "`period_day` must be 1 to 31",
            ),
            (
                &with("quota = { hard = 5 }"),
                "`5` has no unit; write for example \"5 MB\" or \"5 GB\"",
            ),
            (
                &with("quota = \"10 GB\""),
                "4:9: a quota is a table, not \"10 GB\"; write { hard = \"10 GB\" }",
            ),
            (
                "intent = \"off\"\n[interface]\nname = \"wlan0\"",
                "2:1: `interface` can appear several times: its brackets are double; write [[interface]]",
            ),
            (
                &with("metered = \"yes\""),
                "not \"yes\"; write true or false, without quotes",
            ),
            (
                "intent = frugal",
                "not in quotes; put text in straight quotes: \"frugal\"",
            ),
            (&with("rate = \"0 Mbit/s\""), "carries nothing"),
            (
                &with("energy = \"wifi\""),
                "there is no energy profile `wifi`",
            ),
            (
                &with("fullmesh = true\nsignal = true"),
                "5:10: the kernel refuses",
            ),
            (
                "intent = \"off\"\n[controllers]\nfrugal = \"a b\"",
                "3:10: `a b` cannot be the name of a congestion controller",
            ),
            (
                "intent = \"off\"\n[controllers]\noff = \"bbr\"",
                "3:1: `off` is not a key of [controllers]",
            ),
            (
                "intent = \"off\"\n[meter]\n",
                "[meter] needs exactly one of the keys",
            ),
            (
                "intent = \"off\"\n[meter]\nname = \"a\"\ncommand = \"b\"",
                "[meter] needs exactly one of the keys",
            ),
            (
                "intent = \"off\"\n[meter]\ncommand = \" \"",
                "3:11: the value is empty",
            ),
            (
                "intent = \"off\"\n[[rule]]\nintent = \"frugal\"\nport = 443",
                "2:1: the kernel's path manager treats all connections alike",
            ),
            (
                "intent = \"off\"\nopen_after = { bytes = \"1 kB\", age = \"1 s\" }",
                "2:14: the kernel's path manager cannot delay subflows",
            ),
            (
                "intent = \"off\"\npm = \"userspace\"\n[[rule]]\nintent = \"frugal\"",
                "3:1: the rule has no condition",
            ),
            (
                "intent = \"off\"\npm = \"userspace\"\n[[rule]]\nintent = \"frugal\"\nport = 65536",
                "5:8: the port must be 1 to 65535",
            ),
            (
                "intent = \"off\"\npm = \"userspace\"\n[[rule]]\nintent = \"frugal\"\nremote = \"10/8\"",
                "5:10: `10/8` is not an address",
            ),
            (
                "intent = \"off\"\n[[mptcp]]\nunit = \"a\"\nintent = \"frugal\"",
                "4:10: the kernel's path manager treats all connections alike",
            ),
            (
                "intent = \"frugal\"\ntolerance = \"2 min\"",
                "2:13: the kernel's path manager opens further paths at once",
            ),
            (
                "intent = \"aggregate\"\npm = \"userspace\"\ntolerance = \"2 min\"",
                "3:13: `tolerance` has no meaning under `aggregate`, for which time counts; write intent = \
                 \"frugal\" or \"handover\"",
            ),
            (
                "intent = \"off\"\npm = \"userspace\"\n[[rule]]\nport = 22\nintent = \"interactive\"\n\
                 tolerance = \"2 min\"",
                "6:13: `tolerance` has no meaning under `interactive`",
            ),
            (
                "intent = \"frugal\"\npm = \"userspace\"\ntolerance = \"0 s\"",
                "3:13: `tolerance` is 0 s",
            ),
            (
                "intent = \"off\"\npm = \"user\"",
                "2:6: `user` is not a path manager",
            ),
            (
                &with("\n[[interface]]\nname = \"eth0\""),
                "6:8: `eth0` is listed twice",
            ),
        ] {
            let errors = read_live(text).expect_err(text).to_string();
            assert!(
                errors.starts_with("the configuration has") && errors.contains(message),
                "{text}: {errors}"
            );
        }
    }
}
