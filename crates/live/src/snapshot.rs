//! The machine at one instant: the input of decisions.

use std::net::IpAddr;

use joulepath_model::units::{Bytes, Nanos};
use serde::{Deserialize, Serialize};

use crate::exact::{known, optional};

/// All batteries of the machine as one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Battery {
    /// Charge, 0 to 1.
    pub level: f64,
    /// True if the machine runs on it.
    pub discharging: bool,
}

/// A network device and the traffic on it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Interface {
    /// Interface index.
    pub index: u32,
    /// Interface name.
    pub name: String,
    /// Kind of virtual device; `None` for hardware.
    pub kind: Option<String>,
    /// True if it can send packets, or is a WiFi client that changes its access point.
    pub usable: bool,
    /// True if some routing table has a default route through it.
    pub routed: bool,
    /// Addresses that can become endpoints, at most one per family.
    pub addresses: Vec<IpAddr>,
    /// Rate of the busier direction, bit/s.
    pub rate_bps: f64,
    /// Highest rate seen, bit/s; `None` if it has never been busy.
    pub capacity_bps: Option<f64>,
    /// Smallest smoothed RTT of its subflows.
    #[serde(rename = "rtt_ns", with = "optional")]
    pub rtt: Option<Nanos>,
    /// True if the routing table sends new connections here.
    pub first: bool,
    /// Established subflows.
    pub subflows: usize,
    /// Established subflows that do not wait in vain for an answer.
    pub healthy: usize,
    /// Connections that had a subflow here, and have neither one nor a pending one.
    pub lost: usize,
    /// Time since the last packet arrived, if packets arrived steadily before. `None` if packets
    /// arrive, or none were expected.
    #[serde(rename = "silent_ns", with = "optional")]
    pub silent: Option<Nanos>,
    /// True if subflows wait for an answer here and none gets one.
    pub stalled: bool,
    /// True if connections over it get no answer, and that is not the fault of one server.
    #[serde(default)]
    pub mute: bool,
    /// True if it delivers nothing, by the watch that `uninterrupted` keeps.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub interrupted: bool,
    /// Connections whose only working subflow is here.
    pub sole: usize,
    /// Connections whose only subflow is here, working or not.
    #[serde(default)]
    pub only: usize,
    /// Connections that could have had a subflow here since their first data, but have none.
    #[serde(default)]
    pub missing: usize,
    /// Connections without a subflow here because the peer refused it.
    #[serde(default)]
    pub refused: usize,
    /// Bytes carried since an arbitrary start; never decreases.
    pub carried_bytes: u64,
    /// Bytes carried in the current quota period.
    #[serde(rename = "used_bytes", with = "optional")]
    pub used: Option<Bytes>,
    /// Bytes that would still be carried if all connections closed now: those of one RTT.
    #[serde(default)]
    pub under_way: u64,
    /// `None` if nothing is remembered.
    #[serde(default)]
    pub remembered: Option<Remembered>,
    /// Strength of the received signal; `None` without a recent reading.
    #[serde(default)]
    pub strength: Option<Strength>,
}

/// Older readings of a signal are not used.
pub(crate) const STALE: Nanos = Nanos::from_secs(30);

/// A reading of a received signal.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Strength {
    /// RSSI of WiFi, RSRP of a cellular network, or what the command prints; dBm.
    pub dbm: f64,
    /// Time since the signal was measured.
    #[serde(rename = "age_ns", with = "known")]
    pub age: Nanos,
    /// Where it is from.
    pub source: StrengthSource,
}

/// Where a signal is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StrengthSource {
    /// The WiFi driver.
    Nl80211,
    /// The command of `signal_strength`.
    Command,
    /// ModemManager.
    ModemManager,
}

impl StrengthSource {
    /// The word in reports and labels.
    pub const fn word(self) -> &'static str {
        match self {
            StrengthSource::Nl80211 => "nl80211",
            StrengthSource::Command => "command",
            StrengthSource::ModemManager => "modemmanager",
        }
    }
}

/// The network of an interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// `wifi` or `ethernet`.
    pub(crate) kind: &'static str,
    /// The SSID, or the router's hardware address. Never shown, never written.
    pub(crate) name: String,
}

/// What earlier visits to an interface's network have shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Remembered {
    /// Rate, bit/s; `None` if unknown, or if this visit has measured it.
    pub rate_bps: Option<f64>,
    /// Smoothed RTT.
    #[serde(rename = "rtt_ns", with = "optional")]
    pub rtt: Option<Nanos>,
}

/// Number of connections per address family.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Families {
    /// IPv4 connections.
    pub v4: usize,
    /// IPv6 connections.
    pub v6: usize,
}

/// The input of a decision.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Snapshot {
    /// Monotonic time.
    #[serde(rename = "now_ns", with = "known")]
    pub now: Nanos,
    /// `None` if the machine has no battery.
    pub battery: Option<Battery>,
    /// MPTCP connections.
    #[serde(default)]
    pub families: Families,
    /// The kernel's limit of endpoints; `None`: unknown, so that of the oldest kernels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub most_endpoints: Option<usize>,
    /// All network devices except loopback.
    pub interfaces: Vec<Interface>,
}
