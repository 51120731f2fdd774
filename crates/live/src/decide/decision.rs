//! What is decided: roles of interfaces, endpoints, and the reasons.

use std::fmt::{self, Display, Formatter};
use std::net::IpAddr;

use joulepath_model::live::Intent;
use joulepath_model::units::Nanos;
use serde::{Deserialize, Serialize};

use crate::exact::optional;
use crate::reason::Reason;

/// How an interface is used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// No endpoint: no further subflow leaves through it.
    #[default]
    Unused,
    /// Its subflows carry data only while no regular one can.
    Backup,
    /// Its subflows carry data.
    Regular,
}

impl Role {
    /// The word for it.
    pub const fn word(self) -> &'static str {
        match self {
            Role::Unused => "not used",
            Role::Backup => "backup",
            Role::Regular => "regular",
        }
    }
}

/// An endpoint that should be there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wanted {
    /// The address.
    pub address: IpAddr,
    /// Index of its interface.
    pub interface: u32,
    /// Whether its subflows are backups.
    pub backup: bool,
    /// Whether the other end is told of it.
    pub signal: bool,
    /// Whether connections open subflows to every address of the other end.
    pub fullmesh: bool,
    /// Whether its subflows are to be opened again: those that it had are gone.
    pub renew: bool,
}

/// What was decided about an interface, and why.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Told {
    /// Its name.
    pub name: String,
    /// The intent that counts for it.
    pub intent: Intent,
    /// How it is used.
    pub role: Role,
    /// How it would be used if it could change now.
    pub wanted: Role,
    /// Why, with numbers.
    pub reason: Reason,
    /// What is to be known besides.
    #[serde(default)]
    pub notes: Vec<Reason>,
    /// Whether it may be used as far as the configuration goes: it is hardware, or named.
    pub allowed: bool,
}

/// `wlan0: regular: the only path that can be used`.
impl Display for Told {
    fn fmt(&self, to: &mut Formatter<'_>) -> fmt::Result {
        write!(to, "{}: {}: {}", self.name, self.role.word(), self.reason.with(&self.notes))
    }
}

/// What was decided.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Decision {
    /// Endpoints; none if everything is to be as it was found.
    pub endpoints: Option<Vec<Wanted>>,
    /// Addresses whose connections have to lose their first subflow.
    pub closed: Vec<IpAddr>,
    /// Indexes of interfaces whose endpoints go even if a connection may have no other subflow that works.
    #[serde(default)]
    pub ended: Vec<u32>,
    /// Whether the next look has to know what connections do by then.
    #[serde(default)]
    pub lists_next: bool,
    /// In the order of preference, those that may not be used last.
    pub interfaces: Vec<Told>,
    /// The intent in force.
    pub intent: Option<Intent>,
    /// The congestion controller that new sockets should get; none: what was found.
    pub controller: Option<String>,
    /// When something that waits may change.
    #[serde(rename = "look_again_ns", with = "optional")]
    pub look_again: Option<Nanos>,
}

impl Decision {
    /// How many further subflows a connection needs for these endpoints.
    pub fn extra_subflows(&self) -> u32 {
        self.endpoints.as_ref().map_or(0, Vec::len) as u32
    }
}
