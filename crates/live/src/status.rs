//! The daemon's status.

use std::collections::BTreeMap;

use joulepath_model::history::Estimate;
use joulepath_model::live::Intent;
use serde::{Deserialize, Serialize};

use crate::decide::Role;
use crate::reason::Reason;
use crate::snapshot::Battery;

/// Schema version; increases when a field is removed or renamed.
pub const SCHEMA: u32 = 2;

/// Traffic of a period and its energy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Spent {
    /// Bytes received, with link-layer headers.
    pub received_bytes: u64,
    /// Bytes sent, with link-layer headers.
    pub sent_bytes: u64,
    /// Energy, J; `None` without an energy model.
    pub energy_j: Option<f64>,
}

/// A quota and its use.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct QuotaStatus {
    /// Bytes used in this period.
    pub used_bytes: u64,
    /// Above this the interface is a backup, bytes.
    pub soft_bytes: Option<u64>,
    /// Above this the interface is unused, bytes.
    pub hard_bytes: Option<u64>,
    /// First day of the period, UTC: `2026-11-01`.
    pub since: String,
}

/// What the daemon remembers of a network, from earlier visits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NetworkStatus {
    /// The first digits of its id.
    pub id: String,
    /// `wifi` or `ethernet`.
    pub kind: String,
    /// Number of visits that measured something; 0: nothing is known.
    pub visits: u32,
    /// Time since the last one, days.
    pub age_days: Option<f64>,
    /// Rate, bit/s, and its spread now.
    pub rate_bps: Option<Estimate>,
    /// Smoothed RTT, s, and its spread now.
    pub rtt_s: Option<Estimate>,
    /// Retransmitted part of the sent bytes, and its spread now.
    pub loss: Option<Estimate>,
}

/// Strength of the received signal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SignalStatus {
    /// RSSI of WiFi, RSRP of a cellular network, or what the command prints; dBm.
    pub dbm: f64,
    /// Time since the signal was measured, s.
    pub age_s: f64,
    /// `nl80211`, `modemmanager` or `command`.
    pub source: String,
}

/// State of an interface.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct InterfaceStatus {
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
    /// Addresses that can become endpoints.
    pub addresses: Vec<String>,
    /// Errors, by address.
    pub conflicts: BTreeMap<String, String>,
    /// Receive rate, bit/s.
    pub received_bps: f64,
    /// Send rate, bit/s.
    pub sent_bps: f64,
    /// The highest rate in recent hours, bit/s; `None` before the first traffic.
    pub capacity_bps: Option<f64>,
    /// Smallest smoothed RTT of its subflows, s.
    pub rtt_s: Option<f64>,
    /// Established subflows.
    pub subflows: usize,
    /// Established subflows that are backups.
    pub backup_subflows: usize,
    /// Payload retransmitted by the open subflows, bytes.
    pub retransmitted_bytes: u64,
    /// Use and limits of its quota, if configured.
    pub quota: Option<QuotaStatus>,
    /// Since the daemon started, or since the interface appeared.
    pub total: Spent,
    /// Since midnight UTC.
    pub today: Spent,
    /// Since the first of the month, UTC.
    pub month: Spent,
    /// The energy profile used.
    pub energy_profile: Option<String>,
    /// `modelled` with a published profile, `calibrated` with one measured on this machine.
    pub energy_quality: Option<String>,
    /// Power of its traffic, W, smoothed over a few seconds; from the same source as the joules.
    #[serde(default)]
    pub power_w: Option<f64>,
    /// The signal for which the energy model computes, dBm; `None` if its power does not depend on
    /// the signal.
    #[serde(default)]
    pub energy_at_dbm: Option<f64>,
    /// `None` without a recent reading.
    #[serde(default)]
    pub signal_strength: Option<SignalStatus>,
    /// `None` if nothing identifies its network, or the daemon remembers none.
    #[serde(default)]
    pub network: Option<NetworkStatus>,
}

/// Energy of a period in which a meter measured the machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Measure {
    /// From the meter.
    pub measured_j: f64,
    /// Attributed to all interfaces by their energy models.
    pub attributed_j: f64,
}

/// Readings of a whole-machine meter, compared with the energy attributed to interfaces.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MachineStatus {
    /// The meter's name; `None` until it was read once.
    pub meter: Option<String>,
    /// The part of the machine that it measures.
    pub measures: Option<String>,
    /// Always `measured`.
    pub quality: String,
    /// Power, W, smoothed over a few seconds; `None` if the meter cannot be read.
    pub power_w: Option<f64>,
    /// Power attributed to all interfaces, W.
    pub attributed_w: f64,
    /// `power_w − attributed_w`: the rest of the device and the errors of the models, W. `None` if
    /// the measurement excludes the radios, as with a processor's own meter.
    pub unexplained_w: Option<f64>,
    /// Since the daemon opened the meter.
    pub total: Measure,
    /// `total.measured_j − total.attributed_j`, J.
    pub unexplained_j: Option<f64>,
    /// Since midnight UTC, J.
    pub today_j: Option<f64>,
    /// Since the first of the month, UTC, J.
    pub month_j: Option<f64>,
    /// Why there are no measurements at present.
    pub trouble: Option<String>,
}

/// MPTCP traffic, and the energy that the choice of paths has spared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Spared {
    /// Payload of MPTCP connections in both directions, from listings.
    pub mptcp_bytes: u64,
    /// Energy that all paths would have used besides, at least, J. Modelled.
    pub spared_j: f64,
}

/// What the comparison with all paths assumes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Assumption {
    /// The estimate errs to the low side.
    #[default]
    #[serde(rename = "every transfer uses the full rate of all paths")]
    FullRate,
}

/// Comparison with all paths at all times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AllPaths {
    /// What it assumes.
    #[serde(default)]
    pub assumes: Assumption,
    /// Since the daemon's start.
    pub total: Spared,
    /// Since midnight UTC.
    pub today: Spared,
    /// Since the first of the month, UTC.
    pub month: Spared,
}

/// Where new connections start.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FirstStatus {
    /// True if the daemon's routing rules decide: `first = "steer"`.
    pub steered: bool,
    /// Interfaces on which new connections start: one, or one for each address family.
    pub interfaces: Vec<String>,
    /// The interface that the intent prefers.
    pub preferred: Option<String>,
    /// Interfaces that new connections avoid, because connections over them get no answer.
    #[serde(default)]
    pub unanswered: Vec<String>,
    /// Devices that take connections although the configuration does not name them, such as a
    /// VPN's.
    #[serde(default)]
    pub tunnels: Vec<TunnelStatus>,
}

/// A device that takes connections although the configuration does not name it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TunnelStatus {
    /// Device name.
    pub name: String,
    /// True if new connections to the Internet start here; false: those to some networks.
    pub general: bool,
    /// True if the configuration permits subflows beside it: `bypass`.
    pub bypass: bool,
}

/// Programs on MPTCP: `[[mptcp]]`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProgramsStatus {
    /// True if the kernel changes the protocol of their sockets, by BPF; false if services have
    /// drop-ins.
    #[serde(default)]
    pub bpf: bool,
    /// Units, `all programs` or `all services`.
    pub on: Vec<String>,
    /// Running services that use MPTCP only after a restart.
    pub waiting: Vec<String>,
    /// Services of the configuration without a drop-in.
    pub missing: Vec<String>,
    /// What stays on TCP, and why.
    pub notes: Vec<String>,
}

/// State of a rule of the configuration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RuleStatus {
    /// Its conditions: `program ffmpeg, port 443`.
    pub rule: String,
    /// The intent for matching connections.
    pub intent: Intent,
    /// How long their data may wait for a path that has failed, s; `None`: not at all.
    #[serde(default)]
    pub tolerance_s: Option<f64>,
    /// Number of matching connections.
    pub connections: usize,
    /// The last match: program, user, control group, peer. `None` before the first match, and for
    /// users other than root and the connection's owner.
    pub last: Option<String>,
    /// The owner of that connection.
    #[serde(skip)]
    pub last_uid: Option<u32>,
    /// Roles of the interfaces for matching connections.
    pub interfaces: BTreeMap<String, Role>,
}

/// The daemon as path manager of single connections.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SteeringStatus {
    /// Connections that it steers.
    pub connections: usize,
    /// How long data of connections without a rule may wait for a path that has failed, s; `None`:
    /// not at all.
    #[serde(default)]
    pub tolerance_s: Option<f64>,
    /// Connections that started under the kernel's path manager and stay there.
    pub of_kernel: usize,
    /// Subflows opened since the start.
    pub opened: usize,
    /// Subflows closed since the start.
    pub closed: usize,
    /// Commands that the kernel refused since the start.
    pub refused: usize,
    /// The rules of the configuration, in order.
    pub rules: Vec<RuleStatus>,
}

/// What holds a connection back.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Hindrance {
    /// Address of the peer.
    pub remote: String,
    /// Stable name of the cause.
    pub cause: String,
    /// The verdict, a sentence without a full stop.
    pub verdict: String,
    /// What shows it, in numbers.
    pub evidence: Vec<String>,
    /// Part of the possible rate that is lost, 0 to 1.
    pub cost: f64,
    /// How the cost was computed.
    pub how: String,
    /// Commands that fix it, in order.
    pub fix: Vec<String>,
    /// What to do where no command of this host fixes it.
    pub advice: Option<String>,
    /// The owner of the connection.
    #[serde(skip)]
    pub uid: Option<u32>,
}

/// A line of the log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// Age, s.
    pub ago_s: f64,
    /// The log line.
    pub text: String,
}

/// The daemon's answer to `status`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Status {
    /// [`SCHEMA`].
    pub schema: u32,
    /// Program version.
    pub version: String,
    /// The intent in force.
    pub intent: Intent,
    /// The intent of the configuration.
    pub configured_intent: Intent,
    /// True if the kernel's settings are restored until `resume`.
    pub paused: bool,
    /// The configuration file.
    pub config: String,
    /// Uptime, s.
    pub up_s: f64,
    /// MPTCP connections in the network namespace.
    pub connections: usize,
    /// Connections that fell back to TCP.
    pub fallen_back: usize,
    /// Established connections of TCP sockets to other machines; `None` from an older daemon.
    #[serde(default)]
    pub plain: Option<usize>,
    /// Changes of endpoints and limits since the start.
    pub changes: usize,
    /// `None` if the machine has no battery.
    pub battery: Option<Battery>,
    /// Today, UTC.
    pub today: String,
    /// In order of preference.
    pub interfaces: Vec<InterfaceStatus>,
    /// Warnings for the user.
    pub warnings: Vec<String>,
    /// Recent events, latest first.
    #[serde(default)]
    pub events: Vec<Event>,
    /// `None` if no meter is configured.
    #[serde(default)]
    pub machine: Option<MachineStatus>,
    /// Comparison with all paths at all times; `None` without an energy model.
    #[serde(default)]
    pub all_paths: Option<AllPaths>,
    /// Congestion controller that the daemon set for new sockets; `None` if it left the system's.
    #[serde(default)]
    pub controller: Option<String>,
    /// `None` with the kernel's path manager.
    #[serde(default)]
    pub steering: Option<SteeringStatus>,
    /// Number of remembered networks; `None` with `memory = false`.
    #[serde(default)]
    pub networks: Option<usize>,
    /// Where new connections start.
    #[serde(default)]
    pub first: FirstStatus,
    /// `None` without `[[mptcp]]`.
    #[serde(default)]
    pub programs: Option<ProgramsStatus>,
    /// What holds connections back, the costliest first; for users other than root, of their own
    /// connections. `None` while there are too few listings, or too many connections to examine
    /// them.
    #[serde(default)]
    pub why: Option<Vec<Hindrance>>,
    /// True if the asking user may send commands; `None` outside an answer.
    #[serde(default)]
    pub may_command: Option<bool>,
}

impl Status {
    /// The status for user `uid`: hides matches of rules and connections of other users.
    pub(crate) fn seen_by(mut self, uid: u32) -> Self {
        let rules = self
            .steering
            .iter_mut()
            .flat_map(|steering| &mut steering.rules);
        for rule in rules.filter(|rule| rule.last_uid != Some(uid)) {
            rule.last = None;
        }
        self.why
            .iter_mut()
            .for_each(|all| all.retain(|one| one.uid == Some(uid)));
        self
    }
}
