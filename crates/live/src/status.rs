//! What the daemon tells about itself.

use std::collections::BTreeMap;

use joulepath_model::live::Intent;
use serde::{Deserialize, Serialize};

use crate::decide::Role;
use crate::reason::Reason;
use crate::snapshot::Battery;

/// Version of this form; it grows when something is removed or renamed.
pub const SCHEMA: u32 = 2;

/// Bytes and joules of a time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Spent {
    /// Bytes received, with the headers of the link layer.
    pub received_bytes: u64,
    /// Bytes sent, with the headers of the link layer.
    pub sent_bytes: u64,
    /// Joules; none where nothing says what the traffic costs.
    pub energy_j: Option<f64>,
}

/// A quota and what is used of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct QuotaStatus {
    /// Used in this period, bytes.
    pub used_bytes: u64,
    /// From here on a backup, bytes.
    pub soft_bytes: Option<u64>,
    /// From here on not used, bytes.
    pub hard_bytes: Option<u64>,
    /// First day of the period, UTC: `2026-11-01`.
    pub since: String,
}

/// One interface.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct InterfaceStatus {
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
    /// Addresses that an endpoint may have.
    pub addresses: Vec<String>,
    /// What stands in the way, by address.
    pub conflicts: BTreeMap<String, String>,
    /// Received now, bit/s.
    pub received_bps: f64,
    /// Sent now, bit/s.
    pub sent_bps: f64,
    /// The highest rate of late, bit/s; none before the first traffic.
    pub capacity_bps: Option<f64>,
    /// Least smoothed RTT of its subflows, s.
    pub rtt_s: Option<f64>,
    /// Subflows that are established.
    pub subflows: usize,
    /// Those of them that are backups.
    pub backup_subflows: usize,
    /// Payload sent again by the subflows that stand, bytes.
    pub retransmitted_bytes: u64,
    /// Its quota, if it has one.
    pub quota: Option<QuotaStatus>,
    /// Since the daemon began, or since the interface has been there.
    pub total: Spent,
    /// Since midnight UTC.
    pub today: Spent,
    /// Since the first of the month, UTC.
    pub month: Spent,
    /// Energy profile that its joules are from.
    pub energy_profile: Option<String>,
    /// How sure the joules are: `modelled` by a published profile, or `calibrated` by one from this machine.
    pub energy_quality: Option<String>,
    /// What its traffic costs now, W, smoothed over some seconds; of the same source as the joules.
    #[serde(default)]
    pub power_w: Option<f64>,
}

/// Joules of a time in which a meter measured the machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Measure {
    /// By the meter.
    pub measured_j: f64,
    /// Of all interfaces by their energy models, in the same time.
    pub attributed_j: f64,
}

/// What a meter of the whole machine says, beside what the models attribute to interfaces.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MachineStatus {
    /// Its name; none before it could be read for the first time.
    pub meter: Option<String>,
    /// What of the machine it measures.
    pub measures: Option<String>,
    /// `measured`.
    pub quality: String,
    /// Power now, smoothed over some seconds, W; none while it cannot be read.
    pub power_w: Option<f64>,
    /// What the models say of all interfaces now, W.
    pub attributed_w: f64,
    /// The rest: the device besides its interfaces, and what the models get wrong, W. None if the meter does
    /// not have the radios, as a processor's own.
    pub unexplained_w: Option<f64>,
    /// Since the daemon began to measure.
    pub total: Measure,
    /// The rest of [`Self::total`], J.
    pub unexplained_j: Option<f64>,
    /// Measured since midnight UTC, J.
    pub today_j: Option<f64>,
    /// Measured since the first of the month, UTC, J.
    pub month_j: Option<f64>,
    /// Why nothing is measured at present, if so.
    pub trouble: Option<String>,
}

/// One rule of the configuration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RuleStatus {
    /// What it says: `program ffmpeg, port 443`.
    pub rule: String,
    /// What the paths are for of the connections that it fits.
    pub intent: Intent,
    /// How many it fits.
    pub connections: usize,
    /// What it fitted last: program, user, control group, the other end; none if nothing yet, and for whom it
    /// is neither about nor root.
    pub last: Option<String>,
    /// The user whom that is about.
    #[serde(skip)]
    pub last_uid: Option<u32>,
    /// How interfaces are used for them.
    pub interfaces: BTreeMap<String, Role>,
}

/// What the daemon does for single connections.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SteeringStatus {
    /// Connections that are steered one by one.
    pub connections: usize,
    /// Those that began under the kernel's path manager, which keeps them.
    pub of_kernel: usize,
    /// Subflows that were opened since the start.
    pub opened: usize,
    /// Subflows that were closed since the start.
    pub closed: usize,
    /// What the kernel has refused since the start.
    pub refused: usize,
    /// The configuration's rules, in their order.
    pub rules: Vec<RuleStatus>,
}

/// Something that has happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// How long ago, s.
    pub ago_s: f64,
    /// What.
    pub text: String,
}

/// The daemon.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Status {
    /// [`SCHEMA`].
    pub schema: u32,
    /// Version of the program.
    pub version: String,
    /// The intent in force.
    pub intent: Intent,
    /// The intent of the configuration.
    pub configured_intent: Intent,
    /// Whether everything is as it was found until somebody resumes.
    pub paused: bool,
    /// The configuration file.
    pub config: String,
    /// How long it has run, s.
    pub up_s: f64,
    /// MPTCP connections of the network namespace.
    pub connections: usize,
    /// Those of them that have become plain TCP.
    pub fallen_back: usize,
    /// Changes of endpoints and limits since the start.
    pub changes: usize,
    /// The battery, if there is one.
    pub battery: Option<Battery>,
    /// The day that counts as today, UTC.
    pub today: String,
    /// In the order of preference.
    pub interfaces: Vec<InterfaceStatus>,
    /// What the user should know.
    pub warnings: Vec<String>,
    /// What has happened of late, the latest first.
    #[serde(default)]
    pub events: Vec<Event>,
    /// What a meter says; none if none is configured.
    #[serde(default)]
    pub machine: Option<MachineStatus>,
    /// The congestion controller that new sockets get by the daemon; none if that is left as it was found.
    #[serde(default)]
    pub controller: Option<String>,
    /// What the daemon does for single connections; none if the kernel's path manager is used.
    #[serde(default)]
    pub steering: Option<SteeringStatus>,
    /// Whether the one who asks may command; none if nobody asks.
    #[serde(default)]
    pub may_command: Option<bool>,
}

impl Status {
    /// As this user may see it: what rules fitted last is for the user whom it is about.
    pub(crate) fn seen_by(mut self, uid: u32) -> Self {
        let rules = self.steering.iter_mut().flat_map(|steering| &mut steering.rules);
        for rule in rules.filter(|rule| rule.last_uid != Some(uid)) {
            rule.last = None;
        }
        self
    }
}
