//! What the daemon for real interfaces is told: intents, interfaces, quotas. Read by
//! [`scenario::read_live`](crate::scenario::read_live).

use std::collections::BTreeMap;
use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use crate::energy::{DeviceEnergy, InterfaceEnergy};
use crate::units::{BitRate, Bytes, Nanos, Probability};

/// What the paths of a machine are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Intent {
    /// The cheapest sufficient paths by energy; the others have no subflow.
    Frugal,
    /// One path; the next has no subflow before the first is in trouble, and carries few bytes then.
    Handover,
    /// One path; the others are backups with a subflow that is open.
    Interactive,
    /// All paths.
    Aggregate,
    /// The paths in the user's order of cost, the next one only while the cheaper ones are full.
    Overflow,
    /// Nothing is touched.
    Off,
}

impl Intent {
    /// All, in the order of the documentation.
    pub const ALL: [Intent; 6] = [
        Intent::Frugal,
        Intent::Handover,
        Intent::Interactive,
        Intent::Aggregate,
        Intent::Overflow,
        Intent::Off,
    ];

    /// The word for it.
    pub const fn word(self) -> &'static str {
        match self {
            Intent::Frugal => "frugal",
            Intent::Handover => "handover",
            Intent::Interactive => "interactive",
            Intent::Aggregate => "aggregate",
            Intent::Overflow => "overflow",
            Intent::Off => "off",
        }
    }

    /// The intent of that name.
    pub fn by_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|intent| intent.word() == word)
    }
}

/// Bytes that an interface may carry in each period, both directions together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Quota {
    /// From here on the interface is a backup.
    pub soft: Option<Bytes>,
    /// From here on it is not used at all.
    pub hard: Option<Bytes>,
    /// Day of the month on which a period begins, 1 to 31, at midnight UTC. In a month that has no such day,
    /// its last day.
    pub period_day: u32,
}

/// What is known of one interface, or of those whose names fit a pattern.
#[derive(Clone, Debug, PartialEq)]
pub struct InterfaceConfig {
    /// Its name; `*` stands for any letters.
    pub name: String,
    /// In place of the machine's.
    pub intent: Option<Intent>,
    /// Place in the order of cost, the least first; interfaces without one come last.
    pub cost: Option<u32>,
    /// Its bytes are paid for: at most a backup while another path works.
    pub metered: bool,
    /// Bytes per period.
    pub quota: Option<Quota>,
    /// On battery, with less charge than this, it is used only while no other path works.
    pub battery_below: Option<Probability>,
    /// What it carries; absent: as measured.
    pub rate: Option<BitRate>,
    /// What its traffic costs.
    pub energy: Option<InterfaceEnergy>,
    /// Connections open a subflow from it to every address of the other end.
    pub fullmesh: bool,
    /// The other end is told of its addresses: for servers.
    pub signal: bool,
}

/// Who may talk to the daemon.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ControlConfig {
    /// The Unix socket.
    pub socket: String,
    /// Group that may read the state besides root and those who may command; absent: everybody.
    pub readers: Option<String>,
    /// Group that may change intents, pause and resume besides root; absent: nobody.
    pub commanders: Option<String>,
}

/// What measures the power of the machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MeterConfig {
    /// A meter of this machine, by the name that `joulepath meter` prints.
    Name(String),
    /// A program that prints watts, one number a line; run by the shell.
    Command(String),
}

/// Who opens and closes the subflows of connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Manager {
    /// The kernel, of all connections alike, by the endpoints that the daemon sets.
    #[default]
    Kernel,
    /// The daemon, of each connection by itself.
    #[serde(rename = "userspace")]
    UserSpace,
}

impl Manager {
    /// The word for it, which is the kernel's own.
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
        let found = [Manager::Kernel, Manager::UserSpace].into_iter().find(|one| one.word() == word);
        found.ok_or_else(|| format!("`{word}` is not a path manager; known words: kernel, userspace"))
    }
}

/// When a connection gets a second subflow: as soon as one of both is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenAfter {
    /// What it has carried, both directions together.
    pub bytes: Bytes,
    /// How long it has stood.
    pub age: Nanos,
}

/// Addresses that begin alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AddressRange {
    address: IpAddr,
    /// How many bits are alike.
    length: u32,
}

impl AddressRange {
    /// From `192.0.2.0/24`, or a single address.
    pub fn parse(text: &str) -> Option<Self> {
        let (address, length) =
            text.split_once('/').map_or((text, None), |(all, length)| (all, Some(length)));
        let address: IpAddr = address.parse().ok()?;
        let most = if address.is_ipv4() { 32 } else { 128 };
        let length = length.map_or(Some(most), |length| length.parse().ok())?;
        (length <= most).then_some(AddressRange { address, length })
    }

    /// Whether an address is among them.
    pub fn contains(&self, address: IpAddr) -> bool {
        let bits = |address: IpAddr| match address {
            IpAddr::V4(address) => u128::from(address.to_bits()) << 96,
            IpAddr::V6(address) => address.to_bits(),
        };
        let differ = bits(self.address) ^ bits(address);
        address.is_ipv4() == self.address.is_ipv4() && differ.checked_shr(128 - self.length).unwrap_or(0) == 0
    }
}

impl std::fmt::Display for AddressRange {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.address, self.length)
    }
}

/// What the paths are for of some connections: of those for which all is true that is said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// In place of the machine's intent.
    pub intent: Intent,
    /// Name of the program, or its path if it has a `/`; `*` stands for any letters.
    pub program: Option<String>,
    /// The owner of the socket: a name, or a number.
    pub user: Option<String>,
    /// Path of the control group, or the name of a part of it, such as a unit of systemd; `*` stands for any
    /// letters.
    pub cgroup: Option<String>,
    /// Port of the other end.
    pub port: Option<u16>,
    /// Address of the other end.
    pub remote: Option<AddressRange>,
}

impl Rule {
    /// What it says, in words: `program ffmpeg, port 443`.
    pub fn words(&self) -> String {
        let text = |key: &str, value: &Option<String>| value.as_ref().map(|value| format!("{key} {value}"));
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

/// The daemon's configuration.
#[derive(Clone, Debug, PartialEq)]
pub struct LiveConfig {
    /// Of all interfaces that have none of their own.
    pub intent: Intent,
    /// Who opens and closes subflows.
    pub manager: Manager,
    /// When a connection gets its second subflow; absent: as its intent says. For [`Manager::UserSpace`].
    pub open_after: Option<OpenAfter>,
    /// What the paths of some connections are for; the first that fits counts. For [`Manager::UserSpace`].
    pub rules: Vec<Rule>,
    /// On battery, with less charge than this, the machine's intent is [`Intent::Frugal`].
    pub battery_below: Option<Probability>,
    /// Size of a transfer that `frugal` decides for.
    pub transfer: Bytes,
    /// A transfer must be done by then; `frugal` uses more paths where it would not be.
    pub deadline: Option<Nanos>,
    /// The rate that suffices; `frugal` uses more paths where one carries less.
    pub rate: Option<BitRate>,
    /// What the second path may carry in one event under [`Intent::Handover`].
    pub handover_budget: Bytes,
    /// Time between two looks at counters and connections.
    pub sample: Nanos,
    /// What the device burns besides its interfaces.
    pub device: DeviceEnergy,
    /// Patterns of further interfaces that may be used: see [`Self::allows`].
    pub allow: Vec<String>,
    /// Interfaces, the first that fits counts.
    pub interfaces: Vec<InterfaceConfig>,
    /// What congestion controller new sockets get, by the machine's intent; under the others it stays.
    pub controllers: BTreeMap<Intent, String>,
    /// What measures the machine; none: joules are only attributed by models.
    pub meter: Option<MeterConfig>,
    /// The control socket.
    pub control: ControlConfig,
    /// Folder of what outlives a boot: counted bytes and joules.
    pub state: String,
}

impl LiveConfig {
    /// What is said of an interface; none if nothing is.
    pub fn interface(&self, name: &str) -> Option<&InterfaceConfig> {
        self.interfaces.iter().find(|interface| fits(&interface.name, name))
    }

    /// Whether an interface is named, in `[[interface]]` or in `allow`.
    pub fn allows(&self, name: &str) -> bool {
        self.interface(name).is_some() || self.allow.iter().any(|pattern| fits(pattern, name))
    }
}

/// Whether a name fits a pattern, in which `*` stands for any letters, also none.
pub fn fits(pattern: &str, name: &str) -> bool {
    let Some((head, rest)) = pattern.split_once('*') else { return pattern == name };
    let Some(left) = name.strip_prefix(head) else { return false };
    (0..=left.len()).filter(|&at| left.is_char_boundary(at)).any(|at| fits(rest, &left[at..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_any_letters() {
        for (pattern, name) in [("wlan*", "wlan0"), ("*", ""), ("w*n*", "wwan1"), ("eth0", "eth0")] {
            assert!(fits(pattern, name), "{pattern} {name}");
        }
        for (pattern, name) in [("wlan*", "xwlan0"), ("eth0", "eth01"), ("*1", "eth0"), ("", "eth0")] {
            assert!(!fits(pattern, name), "{pattern} {name}");
        }
    }

    #[test]
    fn a_range_has_the_addresses_that_begin_alike() {
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
        assert!(AddressRange::parse("0.0.0.0/0").unwrap().contains(ip("8.8.8.8")));
        for bad in ["192.0.2.0/33", "192.0.2", "x", "1.2.3.4/", "::/129"] {
            assert_eq!(AddressRange::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn an_intent_is_found_by_its_word() {
        for intent in Intent::ALL {
            assert_eq!(Intent::by_word(intent.word()), Some(intent));
            assert_eq!(serde_json::to_value(intent).unwrap(), intent.word());
        }
        assert_eq!(Intent::by_word("cheap"), None);
    }
}
