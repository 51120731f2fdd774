//! What the daemon for real interfaces is told: intents, interfaces, quotas. Read by
//! [`scenario::read_live`](crate::scenario::read_live).

use std::collections::BTreeMap;

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

/// The daemon's configuration.
#[derive(Clone, Debug, PartialEq)]
pub struct LiveConfig {
    /// Of all interfaces that have none of their own.
    pub intent: Intent,
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
    fn an_intent_is_found_by_its_word() {
        for intent in Intent::ALL {
            assert_eq!(Intent::by_word(intent.word()), Some(intent));
            assert_eq!(serde_json::to_value(intent).unwrap(), intent.word());
        }
        assert_eq!(Intent::by_word("cheap"), None);
    }
}
