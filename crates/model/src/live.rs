//! Configuration of the daemon for real interfaces: intents, interfaces, quotas.
//! [`scenario::read_live`](crate::scenario::read_live) reads it.

use std::collections::BTreeMap;
use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use crate::energy::{DeviceEnergy, InterfaceEnergy};
use crate::preset::Preset;
use crate::units::{BitRate, Bytes, Dbm, Nanos, Probability};

/// How a machine uses its paths.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Intent {
    /// The paths that suffice at the least energy; the others have no subflow. Also called `saver`.
    #[serde(alias = "saver")]
    Frugal,
    /// Like [`Self::Frugal`], but time has the price of [`Preset::Balanced`].
    Balanced,
    /// Like [`Self::Frugal`], but time has the price of [`Preset::Fast`].
    Fast,
    /// One path. The next path has no subflow until the first is in trouble, and then carries few
    /// bytes.
    Handover,
    /// One path. The others are backups with an open subflow.
    Interactive,
    /// All paths.
    Aggregate,
    /// The paths in the user's order of cost; the next path only while the cheaper ones are full.
    Overflow,
    /// As [`Self::Interactive`]; a path over which nothing arrives is left within a few RTTs.
    Uninterrupted,
    /// The daemon changes nothing.
    Off,
}

impl Intent {
    /// All intents, in the order of the documentation.
    pub const ALL: [Intent; 9] = [
        Intent::Frugal,
        Intent::Balanced,
        Intent::Fast,
        Intent::Handover,
        Intent::Interactive,
        Intent::Aggregate,
        Intent::Overflow,
        Intent::Uninterrupted,
        Intent::Off,
    ];

    /// Name in configurations.
    pub const fn word(self) -> &'static str {
        match self {
            Intent::Frugal => "frugal",
            Intent::Balanced => "balanced",
            Intent::Fast => "fast",
            Intent::Handover => "handover",
            Intent::Interactive => "interactive",
            Intent::Aggregate => "aggregate",
            Intent::Overflow => "overflow",
            Intent::Uninterrupted => "uninterrupted",
            Intent::Off => "off",
        }
    }

    /// What it does with paths, without a full stop.
    pub const fn sentence(self) -> &'static str {
        match self {
            Intent::Frugal => "the paths with the least energy; the others are closed",
            Intent::Balanced => "like frugal, but a second of waiting is worth 0.3 J",
            Intent::Fast => "like frugal, but a second of waiting is worth 3 J",
            Intent::Handover => "one path; the next opens when it fails",
            Intent::Interactive => "one path; the others are open backups",
            Intent::Aggregate => "all paths carry data",
            Intent::Overflow => "by cost; the next only while cheaper ones are full",
            Intent::Uninterrupted => "like interactive, but leaves silent paths within a few RTTs",
            Intent::Off => "change nothing",
        }
    }

    /// The name of the same balance in policies and in `advise`, if it is another.
    pub const fn alias(self) -> Option<&'static str> {
        match self {
            Intent::Frugal => Some(Preset::Saver.word()),
            _ => None,
        }
    }

    /// The intent with this name or alias.
    pub fn by_word(word: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|intent| intent.word() == word || intent.alias() == Some(word))
    }

    /// True if traffic under this intent may have a tolerance: time has no price.
    pub const fn may_wait(self) -> bool {
        matches!(self, Intent::Frugal | Intent::Handover)
    }

    /// The balance between energy and time of an intent that chooses paths by it.
    pub const fn preset(self) -> Option<Preset> {
        match self {
            Intent::Frugal => Some(Preset::Saver),
            Intent::Balanced => Some(Preset::Balanced),
            Intent::Fast => Some(Preset::Fast),
            Intent::Handover
            | Intent::Interactive
            | Intent::Aggregate
            | Intent::Overflow
            | Intent::Uninterrupted
            | Intent::Off => None,
        }
    }
}

/// Bytes that an interface may carry per period, both directions together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Quota {
    /// From this amount on, the interface is a backup.
    pub soft: Option<Bytes>,
    /// From this amount on, the interface is not used.
    pub hard: Option<Bytes>,
    /// Day of the month on which a period begins, 1 to 31, at midnight UTC. In a shorter month it
    /// begins on the last day.
    pub period_day: u32,
}

/// Configuration of one interface, or of all interfaces whose names match a pattern.
#[derive(Clone, Debug, PartialEq)]
pub struct InterfaceConfig {
    /// Name; `*` matches any characters.
    pub name: String,
    /// Intent of this interface; none: the machine's.
    pub intent: Option<Intent>,
    /// Rank by cost, the cheapest first; interfaces without a rank come last.
    pub cost: Option<u32>,
    /// Traffic is paid for: at most a backup while another path works.
    pub metered: bool,
    /// Quota per period.
    pub quota: Option<Quota>,
    /// On battery, below this charge, the interface is used only while no other path works.
    pub battery_below: Option<Probability>,
    /// Capacity; none: as measured.
    pub rate: Option<BitRate>,
    /// Energy model of its traffic.
    pub energy: Option<InterfaceEnergy>,
    /// Weakest and strongest signal at which a calibrated model was measured, if the profile names
    /// them.
    pub measured_at: Option<[Dbm; 2]>,
    /// Connections open a subflow from this interface to every address of the other end.
    pub fullmesh: bool,
    /// Announce the address to the other end; for servers.
    pub signal: bool,
    /// Command for the shell that prints the strength of the received signal, dBm; none: of WiFi,
    /// the driver's, of a modem, ModemManager's.
    pub strength: Option<String>,
}

/// The control socket and its access rights.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ControlConfig {
    /// Path of the Unix socket.
    pub socket: String,
    /// Group that may read the state, besides root and `commanders`; none: every user.
    pub readers: Option<String>,
    /// Group that may change intents, pause and resume, besides root; none: root only.
    pub commanders: Option<String>,
}

/// Meter of the machine's power.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MeterConfig {
    /// A meter of this machine, as `joulepath meter` lists it.
    Name(String),
    /// Command for the shell that prints watts, one number per line.
    Command(String),
}

/// Where new connections start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum First {
    /// As the routing table says.
    #[default]
    Leave,
    /// On the preferred interface, by routing rules of the daemon.
    Steer,
}

impl First {
    /// Name in configurations.
    pub const fn word(self) -> &'static str {
        match self {
            First::Leave => "leave",
            First::Steer => "steer",
        }
    }
}

impl std::str::FromStr for First {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        let found = [First::Leave, First::Steer]
            .into_iter()
            .find(|one| one.word() == word);
        found.ok_or_else(|| {
            format!("`{word}` is not a way to start connections; known words: leave, steer")
        })
    }
}

/// Path manager: which program opens and closes subflows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Manager {
    /// The kernel, for all connections alike, by the endpoints that the daemon sets.
    #[default]
    Kernel,
    /// The daemon, for each connection separately.
    #[serde(rename = "userspace")]
    UserSpace,
}

impl Manager {
    /// Name in configurations, which is the kernel's name.
    pub const fn word(self) -> &'static str {
        match self {
            Manager::Kernel => "kernel",
            Manager::UserSpace => "userspace",
        }
    }
}

impl std::str::FromStr for Manager {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        let found = [Manager::Kernel, Manager::UserSpace]
            .into_iter()
            .find(|one| one.word() == word);
        found.ok_or_else(|| {
            format!("`{word}` is not a path manager; known words: kernel, userspace")
        })
    }
}

/// When a connection gets a second subflow: as soon as it reaches either threshold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenAfter {
    /// Data that the connection has carried, both directions together.
    pub bytes: Bytes,
    /// Age of the connection.
    pub age: Nanos,
}

/// A prefix of addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AddressRange {
    address: IpAddr,
    /// Length of the prefix, bits.
    length: u32,
}

impl AddressRange {
    /// Parses `192.0.2.0/24`, or a single address.
    pub fn parse(text: &str) -> Option<Self> {
        let (address, length) = text
            .split_once('/')
            .map_or((text, None), |(all, length)| (all, Some(length)));
        let address: IpAddr = address.parse().ok()?;
        let most = if address.is_ipv4() { 32 } else { 128 };
        let length = length.map_or(Some(most), |length| length.parse().ok())?;
        (length <= most).then_some(AddressRange { address, length })
    }

    /// True for all addresses of a family.
    pub fn is_all(&self) -> bool {
        self.length == 0
    }

    /// True for IPv4 addresses.
    pub fn is_ipv4(&self) -> bool {
        self.address.is_ipv4()
    }

    /// True if the address has this prefix.
    pub fn contains(&self, address: IpAddr) -> bool {
        let bits = |address: IpAddr| match address {
            IpAddr::V4(address) => u128::from(address.to_bits()) << 96,
            IpAddr::V6(address) => address.to_bits(),
        };
        let differ = bits(self.address) ^ bits(address);
        address.is_ipv4() == self.address.is_ipv4()
            && differ.checked_shr(128 - self.length).unwrap_or(0) == 0
    }
}

impl std::fmt::Display for AddressRange {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.address, self.length)
    }
}

/// Intent of the connections that match all keys of the rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// Intent of the matching connections.
    pub intent: Intent,
    /// How long their data may wait for a path that has failed; none: not at all.
    pub tolerance: Option<Nanos>,
    /// Name of the program, or its path if it contains a `/`; `*` matches any characters.
    pub program: Option<String>,
    /// Owner of the socket: a user name or number.
    pub user: Option<String>,
    /// Path of the control group, or the name of a part of it, such as a systemd unit; `*` matches
    /// any characters.
    pub cgroup: Option<String>,
    /// Port of the other end.
    pub port: Option<u16>,
    /// Address of the other end.
    pub remote: Option<AddressRange>,
}

impl Rule {
    /// The conditions as text: `program ffmpeg, port 443`.
    pub fn words(&self) -> String {
        let text = |key: &str, value: &Option<String>| {
            value.as_ref().map(|value| format!("{key} {value}"))
        };
        let all = [
            text("program", &self.program),
            text("user", &self.user),
            text("cgroup", &self.cgroup),
            self.port.map(|port| format!("port {port}")),
            self.remote.map(|remote| format!("remote {remote}")),
        ];
        all.into_iter().flatten().collect::<Vec<_>>().join(", ")
    }
}

/// Programs whose TCP sockets become MPTCP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Programs {
    /// Those of a systemd service. The name ends with `.service`; `*` matches any characters.
    Unit(String),
    /// The systemd services that start this program: its name, or its path if it contains a `/`;
    /// `*` matches any characters.
    Program(String),
    /// The systemd services of a user, by name or number, also those of the user's own systemd.
    User(String),
    /// All that systemd starts.
    All,
}

/// An entry of `[[mptcp]]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OnMptcp {
    /// The programs.
    pub programs: Programs,
    /// Intent of their connections; none: the machine's. For [`Manager::UserSpace`].
    pub intent: Option<Intent>,
}

impl OnMptcp {
    /// As text: `unit nginx.service`.
    pub fn words(&self) -> String {
        match &self.programs {
            Programs::Unit(name) => format!("unit {name}"),
            Programs::Program(name) => format!("program {name}"),
            Programs::User(name) => format!("user {name}"),
            Programs::All => "all".into(),
        }
    }

    /// The rule that gives their connections the intent.
    fn rule(&self) -> Option<Rule> {
        let intent = self.intent?;
        let mut rule = Rule {
            intent,
            tolerance: None,
            program: None,
            user: None,
            cgroup: None,
            port: None,
            remote: None,
        };
        match &self.programs {
            // Control groups of instances have their names in place of the `@`.
            Programs::Unit(name) => rule.cgroup = Some(name.replace("@.service", "@*.service")),
            Programs::Program(name) => rule.program = Some(name.clone()),
            Programs::User(name) => rule.user = Some(name.clone()),
            Programs::All => return None,
        }
        Some(rule)
    }
}

/// Configuration of the daemon.
#[derive(Clone, Debug, PartialEq)]
pub struct LiveConfig {
    /// Intent of all interfaces without one of their own.
    pub intent: Intent,
    /// Path manager.
    pub manager: Manager,
    /// Where new connections start.
    pub first: First,
    /// When a connection gets its second subflow; none: the intent decides. For
    /// [`Manager::UserSpace`].
    pub open_after: Option<OpenAfter>,
    /// How long data of connections without a rule may wait for a path that has failed; none: not
    /// at all. For [`Manager::UserSpace`].
    pub tolerance: Option<Nanos>,
    /// Intents of some connections; the first rule that matches applies. For
    /// [`Manager::UserSpace`].
    pub rules: Vec<Rule>,
    /// Programs whose TCP sockets become MPTCP.
    pub mptcp: Vec<OnMptcp>,
    /// On battery, the machine's intent is [`Intent::Frugal`] below this charge.
    pub battery_below: Option<Probability>,
    /// Transfer size for which `frugal` chooses paths.
    pub transfer: Bytes,
    /// Longest time that a transfer may take; `frugal` adds paths to meet it.
    pub deadline: Option<Nanos>,
    /// Required rate; `frugal` adds paths if one path is slower.
    pub rate: Option<BitRate>,
    /// Data that the second path may carry per handover under [`Intent::Handover`].
    pub handover_budget: Bytes,
    /// Poll interval for counters and connections.
    pub sample: Nanos,
    /// Power of the device besides its interfaces.
    pub device: DeviceEnergy,
    /// Patterns of further interfaces that may be used: see [`Self::allows`].
    pub allow: Vec<String>,
    /// Patterns of devices that the configuration does not use, such as a VPN's, whose connections
    /// may get subflows elsewhere.
    pub bypass: Vec<String>,
    /// True if the daemon takes over endpoints that other programs have set.
    pub adopt: bool,
    /// Interfaces; the first entry that matches a name applies.
    pub interfaces: Vec<InterfaceConfig>,
    /// Congestion controller of new sockets by the machine's intent. Under an intent without an
    /// entry, the daemon leaves the setting as it found it.
    pub controllers: BTreeMap<Intent, String>,
    /// Meter of the machine's power; none: models alone attribute the energy.
    pub meter: Option<MeterConfig>,
    /// The control socket.
    pub control: ControlConfig,
    /// Remember rate, RTT and loss of networks, and decide by them.
    pub memory: bool,
    /// Folder for state that survives a reboot: counted bytes and joules, networks.
    pub state: String,
}

impl LiveConfig {
    /// Configuration of an interface, if it has an entry.
    pub fn interface(&self, name: &str) -> Option<&InterfaceConfig> {
        self.interfaces
            .iter()
            .find(|interface| fits(&interface.name, name))
    }

    /// The rules, and after them those that `[[mptcp]]` implies.
    pub fn all_rules(&self) -> Vec<Rule> {
        self.rules
            .iter()
            .cloned()
            .chain(self.mptcp.iter().filter_map(OnMptcp::rule))
            .collect()
    }

    /// True if the interface is named in `[[interface]]` or in `allow`.
    pub fn allows(&self, name: &str) -> bool {
        self.interface(name).is_some() || self.allow.iter().any(|pattern| fits(pattern, name))
    }

    /// True if connections that are routed into the device may get subflows elsewhere.
    pub fn may_bypass(&self, name: &str) -> bool {
        self.bypass.iter().any(|pattern| fits(pattern, name))
    }
}

/// True if a name matches a pattern. `*` matches any characters, or none.
pub fn fits(pattern: &str, name: &str) -> bool {
    let Some((head, rest)) = pattern.split_once('*') else {
        return pattern == name;
    };
    let Some(left) = name.strip_prefix(head) else {
        return false;
    };
    (0..=left.len())
        .filter(|&at| left.is_char_boundary(at))
        .any(|at| fits(rest, &left[at..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_matches_any_characters() {
        for (pattern, name) in [
            ("wlan*", "wlan0"),
            ("*", ""),
            ("w*n*", "wwan1"),
            ("eth0", "eth0"),
        ] {
            assert!(fits(pattern, name), "{pattern} {name}");
        }
        for (pattern, name) in [
            ("wlan*", "xwlan0"),
            ("eth0", "eth01"),
            ("*1", "eth0"),
            ("", "eth0"),
        ] {
            assert!(!fits(pattern, name), "{pattern} {name}");
        }
    }

    #[test]
    fn a_prefix_contains_matching_addresses() {
        let ip = |text: &str| text.parse::<IpAddr>().unwrap();
        let range = AddressRange::parse("192.0.2.0/24").unwrap();
        assert!(range.contains(ip("192.0.2.255")) && !range.contains(ip("192.0.3.0")));
        assert!(!range.contains(ip("c000:200::")));
        let one = AddressRange::parse("2001:db8::7").unwrap();
        assert!(one.contains(ip("2001:db8::7")) && !one.contains(ip("2001:db8::6")));
        assert_eq!(
            (range.to_string().as_str(), one.to_string().as_str()),
            ("192.0.2.0/24", "2001:db8::7/128")
        );
        assert!(
            AddressRange::parse("0.0.0.0/0")
                .unwrap()
                .contains(ip("8.8.8.8"))
        );
        for bad in ["192.0.2.0/33", "192.0.2", "x", "1.2.3.4/", "::/129"] {
            assert_eq!(AddressRange::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn programs_with_an_intent_have_a_rule_of_their_own() {
        let of = |programs, intent| OnMptcp { programs, intent }.rule().map(|rule| rule.words());
        let frugal = Some(Intent::Frugal);
        assert_eq!(
            of(Programs::Unit("a@.service".into()), frugal).unwrap(),
            "cgroup a@*.service"
        );
        assert_eq!(
            of(Programs::Program("curl".into()), frugal).unwrap(),
            "program curl"
        );
        assert_eq!(
            of(Programs::User("ann".into()), frugal).unwrap(),
            "user ann"
        );
        assert_eq!(of(Programs::User("ann".into()), None), None);
    }

    #[test]
    fn an_intent_is_found_by_its_name() {
        for intent in Intent::ALL {
            assert_eq!(Intent::by_word(intent.word()), Some(intent));
            assert_eq!(serde_json::to_value(intent).unwrap(), intent.word());
        }
        assert_eq!(Intent::by_word("cheap"), None);
    }
}
