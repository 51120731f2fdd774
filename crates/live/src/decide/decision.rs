//! The output of a decision: roles of interfaces, endpoints, reasons.

use std::fmt::{self, Display, Formatter};
use std::net::IpAddr;

use joulepath_model::live::Intent;
use joulepath_model::units::Nanos;
use serde::{Deserialize, Serialize};

use crate::exact::optional;
use crate::reason::Reason;
use crate::snapshot::Interface;

/// How an interface is used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// No endpoint: no new subflow uses it.
    #[default]
    Unused,
    /// Its subflows carry data only if no regular subflow can.
    Backup,
    /// Its subflows carry data.
    Regular,
}

impl Role {
    /// The word in messages.
    pub const fn word(self) -> &'static str {
        match self {
            Role::Unused => "not used",
            Role::Backup => "backup",
            Role::Regular => "regular",
        }
    }
}

/// An endpoint that should exist.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wanted {
    /// Own address.
    pub address: IpAddr,
    /// Interface index.
    pub interface: u32,
    /// True if its subflows are backups.
    pub backup: bool,
    /// True if it is announced to the peer.
    pub signal: bool,
    /// True if connections open subflows to every address of the peer.
    pub fullmesh: bool,
    /// True if its lost subflows are to be reopened.
    pub renew: bool,
    /// True if connections of the other family open subflows from it to addresses that the peer
    /// announces.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub laminar: bool,
}

/// The decision about an interface.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Told {
    /// Interface name.
    pub name: String,
    /// The intent that applies to it.
    pub intent: Intent,
    /// Its role.
    pub role: Role,
    /// The role it takes as soon as it may change.
    pub wanted: Role,
    /// Why it has this role.
    pub reason: Reason,
    /// Further remarks.
    #[serde(default)]
    pub notes: Vec<Reason>,
    /// True if the configuration permits its use: it is hardware, or named.
    pub allowed: bool,
}

/// For example `wlan0: regular: the only path that can be used`.
impl Display for Told {
    fn fmt(&self, to: &mut Formatter<'_>) -> fmt::Result {
        write!(
            to,
            "{}: {}: {}",
            self.name,
            self.role.word(),
            self.reason.with(&self.notes)
        )
    }
}

impl Told {
    /// True if the interface must carry nothing, even if a connection has no other working subflow:
    /// its hard quota or the budget of `handover` is used up.
    pub(crate) fn is_cut_off(&self) -> bool {
        let is_spent = matches!(
            self.reason,
            Reason::HardQuota { .. } | Reason::BudgetUsed { .. }
        );
        is_spent && self.role == Role::Unused
    }
}

/// An address whose connections must lose their initial subflow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "WrittenClosed")]
pub struct Closed {
    /// Own address.
    pub address: IpAddr,
    /// Why its interface is not used.
    pub reason: Reason,
}

/// Records of schema 2 have addresses alone.
#[derive(Deserialize)]
#[serde(untagged)]
enum WrittenClosed {
    Address(IpAddr),
    Whole { address: IpAddr, reason: Reason },
}

impl From<WrittenClosed> for Closed {
    fn from(written: WrittenClosed) -> Self {
        let (address, reason) = match written {
            WrittenClosed::Address(address) => (
                address,
                Reason::Other {
                    said: "not recorded".into(),
                },
            ),
            WrittenClosed::Whole { address, reason } => (address, reason),
        };
        Closed { address, reason }
    }
}

/// The result of [`Decider::decide`](super::Decider::decide).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Decision {
    /// Wanted endpoints; `None` if the settings found at the start are to be restored.
    pub endpoints: Option<Vec<Wanted>>,
    /// Endpoints that connections may use only if they have no subflow left, because their traffic
    /// may wait.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waiting: Vec<Wanted>,
    /// Addresses whose connections must lose their initial subflow, with the reason.
    pub closed: Vec<Closed>,
    /// True if the next poll must list connections.
    #[serde(default)]
    pub lists_next: bool,
    /// In order of preference; unusable interfaces last.
    pub interfaces: Vec<Told>,
    /// The intent in force.
    pub intent: Option<Intent>,
    /// Congestion controller for new sockets; `None` for the one found at the start.
    pub controller: Option<String>,
    /// What remains of `handover_budget`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<Bound>,
    /// When a postponed change becomes possible.
    #[serde(rename = "look_again_ns", with = "optional")]
    pub look_again: Option<Nanos>,
}

/// Bytes that interfaces may still carry together.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bound {
    /// Interface indexes.
    pub interfaces: Vec<u32>,
    /// Bytes in both directions.
    pub left_bytes: u64,
}

impl Decision {
    /// Number of extra subflows that a connection needs for these endpoints.
    pub fn extra_subflows(&self) -> u32 {
        self.endpoints.as_ref().map_or(0, Vec::len) as u32
    }

    /// The decision about the interface `name`.
    pub(crate) fn told(&self, name: &str) -> Option<&Told> {
        self.interfaces.iter().find(|told| told.name == name)
    }

    /// All addresses of `interface`, with the reason of its role.
    pub(super) fn closes_all(&self, interface: &Interface) -> Vec<Closed> {
        let Some(told) = self.told(&interface.name) else {
            return vec![];
        };
        let closed = |&address: &IpAddr| Closed {
            address,
            reason: told.reason.clone(),
        };
        interface.addresses.iter().map(closed).collect()
    }

    /// True if the connections that begin at `address` must lose their initial subflow.
    pub(crate) fn closes(&self, address: &IpAddr) -> bool {
        self.closed.iter().any(|closed| closed.address == *address)
    }

    /// True if the daemon manages the interface.
    pub(crate) fn manages(&self, interface: &Interface) -> bool {
        let told = self.told(&interface.name);
        told.is_some_and(|told| told.allowed && told.intent != Intent::Off)
    }
}
