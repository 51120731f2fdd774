//! The machine at one instant, as decisions see it.

use std::net::IpAddr;

use joulepath_model::units::{Bytes, Nanos};
use serde::{Deserialize, Serialize};

use crate::exact::{known, optional};

/// The battery.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Battery {
    /// Charge, 0 to 1.
    pub level: f64,
    /// Whether the machine lives on it.
    pub discharging: bool,
}

/// One network device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Interface {
    /// Its number.
    pub index: u32,
    /// Its name.
    pub name: String,
    /// What kind of virtual device it is; none for hardware.
    pub kind: Option<String>,
    /// Whether packets can leave through it.
    pub usable: bool,
    /// Whether a default route leads through it, in any table.
    pub routed: bool,
    /// Addresses that an endpoint may have, at most one of each family.
    pub addresses: Vec<IpAddr>,
    /// What it carries now, the busier direction, bit/s.
    pub rate_bps: f64,
    /// What it can carry as far as was seen, bit/s; none if it was never busy.
    pub capacity_bps: Option<f64>,
    /// Least smoothed RTT of its subflows.
    #[serde(rename = "rtt_ns", with = "optional")]
    pub rtt: Option<Nanos>,
    /// Whether the routing table sends new connections here.
    pub first: bool,
    /// Subflows that are established.
    pub subflows: usize,
    /// Those of them that do not wait for an answer in vain.
    pub healthy: usize,
    /// Connections that had a subflow here and have none now, nor one that opens.
    pub lost: usize,
    /// For how long nothing has come, although something came all the time before; none if something comes,
    /// or nothing was to be expected.
    #[serde(rename = "silent_ns", with = "optional")]
    pub silent: Option<Nanos>,
    /// Whether it has subflows that wait for an answer, and none that gets one.
    pub stalled: bool,
    /// Connections whose only subflow that works leaves through it.
    pub sole: usize,
    /// Connections whose only subflow leaves through it, whether it works or not.
    #[serde(default)]
    pub only: usize,
    /// Connections that could have a subflow here and have had none, since their first data.
    #[serde(default)]
    pub missing: usize,
    /// Connections that have no subflow here, since the other end has refused it.
    #[serde(default)]
    pub refused: usize,
    /// What it has carried since some instant, bytes; never falls.
    pub carried_bytes: u64,
    /// What it has carried in the present period of its quota.
    #[serde(rename = "used_bytes", with = "optional")]
    pub used: Option<Bytes>,
}

/// How many connections there are of each address family.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Families {
    /// Over IPv4.
    pub v4: usize,
    /// Over IPv6.
    pub v6: usize,
}

/// The machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Snapshot {
    /// On a clock that never jumps.
    #[serde(rename = "now_ns", with = "known")]
    pub now: Nanos,
    /// None if it has none.
    pub battery: Option<Battery>,
    /// MPTCP connections.
    #[serde(default)]
    pub families: Families,
    /// Network devices but loopback.
    pub interfaces: Vec<Interface>,
}
