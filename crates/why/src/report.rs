//! The findings of all connections.

use serde::Serialize;

use crate::causes;
use crate::finding::{Finding, Gain, Remedy};
use crate::observation::{Observation, Program, SCHEMA};
use crate::subject::{Subject, length_s};

/// Part of the data from which on a device carries the connection. A server's device carries all
/// its paths.
const CARRIES: f64 = 0.05;
/// A connection with a lower rate leaves room to others, bit/s.
const BUSY_BPS: f64 = 20e3;
/// Predictions take time; later findings have none.
const MOST_PREDICTED: usize = 3;

/// The findings of an observation.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Version of the JSON.
    pub schema: u32,
    /// Length of the observation, s.
    pub seconds: f64,
    /// The connections, the one with the costliest finding first.
    pub connections: Vec<Examined>,
}

/// The findings on one connection.
#[derive(Clone, Debug, Serialize)]
pub struct Examined {
    /// Local address of the first subflow.
    pub local: String,
    /// Remote address.
    pub remote: String,
    /// `tcp`, or `mptcp`, also after a fallback.
    pub protocol: &'static str,
    /// The owner.
    #[serde(skip)]
    pub uid: Option<u32>,
    /// The process that holds it.
    pub program: Option<Program>,
    /// Number of subflows that are visible; 1 for plain TCP.
    pub subflows: usize,
    /// Devices of its subflows, by name.
    pub over: Vec<String>,
    /// Payload sent, bit/s.
    pub sent_bps: f64,
    /// Payload received, bit/s.
    pub received_bps: f64,
    /// Findings, the costliest first.
    pub findings: Vec<Finding>,
}

impl Report {
    /// True if something was found that can be fixed.
    pub fn has_found(&self) -> bool {
        self.connections
            .iter()
            .flat_map(|one| &one.findings)
            .any(Finding::is_fixable)
    }
}

/// Predicts the gain of a fix on a connection; `None` if it cannot.
pub type Predict<'p> = dyn FnMut(&Subject<'_>, &Remedy) -> Option<Gain> + 'p;

/// Examines the connections for which `wanted` returns true. `predict` is asked for the costliest
/// findings.
pub fn examine(
    observation: &Observation<'_>,
    wanted: impl Fn(&Subject<'_>) -> bool,
    predict: &mut Predict<'_>,
) -> Report {
    let subjects = Subject::all(observation);
    let seconds = length_s(observation);
    let wanted: Vec<&Subject<'_>> = subjects.iter().filter(|one| wanted(one)).collect();
    let mut connections: Vec<(&Subject<'_>, Examined)> =
        wanted.iter().map(|one| (*one, of(one))).collect();
    let worst = |one: &Examined| {
        one.findings
            .first()
            .map_or(-1.0, |finding| finding.cost.share)
    };
    connections.sort_by(|(_, a), (_, b)| worst(b).total_cmp(&worst(a)));
    let found = connections
        .iter_mut()
        .flat_map(|(one, examined)| examined.findings.iter_mut().map(|f| (*one, f)));
    let modelled = found.filter_map(|(one, finding)| Some((one, finding.remedy.clone()?, finding)));
    for (subject, remedy, finding) in modelled.take(MOST_PREDICTED) {
        finding.gain = match &remedy {
            Remedy::Add(devices) => Some(added(subject, devices, &subjects)),
            remedy => predict(subject, remedy),
        };
    }
    Report {
        schema: SCHEMA,
        seconds,
        connections: connections.into_iter().map(|(_, one)| one).collect(),
    }
}

/// The gain of paths over further devices: what the daemon remembers of each, or what other
/// connections get there now, of which a further one gets a share. Nothing else is known: the sum
/// is a lower bound.
fn added(subject: &Subject<'_>, devices: &[u32], all: &[Subject<'_>]) -> Gain {
    let before_bps = subject.rate_bps();
    let is_used = |device: &&u32| {
        subject
            .active(CARRIES)
            .iter()
            .any(|flow| flow.device == Some(**device))
    };
    let of = |device: &u32| {
        let flows = all
            .iter()
            .flat_map(|one| &one.flows)
            .filter(|flow| flow.device == Some(*device));
        let rates: Vec<f64> = flows
            .map(|flow| flow.sent_bps().max(flow.received_bps()))
            .collect();
        let (now_bps, busy) = (
            rates.iter().sum::<f64>(),
            rates.iter().filter(|bps| **bps >= BUSY_BPS).count(),
        );
        let name = subject.host.device_name(*device);
        let known = subject
            .host
            .daemon
            .as_ref()
            .and_then(|daemon| daemon.of(&name)?.rate_bps);
        let most_bps = known.unwrap_or(0.0).max(now_bps);
        (most_bps - now_bps).max(most_bps / (busy + 1) as f64)
    };
    // A sender that waits for its application gains nothing.
    let waits = if subject.uploads() {
        subject.waits().application
    } else {
        0.0
    };
    let more_bps = devices
        .iter()
        .filter(|device| !is_used(device))
        .map(of)
        .sum::<f64>()
        * (1.0 - waits).max(0.0);
    let rtts: Vec<f64> = subject
        .flows
        .iter()
        .flat_map(|flow| flow.rtts_s(subject.uploads()))
        .collect();
    let rtt_s = rtts.iter().sum::<f64>() / rtts.len().max(1) as f64;
    Gain {
        before_bps,
        after_bps: before_bps + more_bps,
        at_least: true,
        before_rtt_s: rtt_s,
        after_rtt_s: rtt_s,
    }
}

fn of(subject: &Subject<'_>) -> Examined {
    let (sent_bps, received_bps) = subject.rates_bps();
    Examined {
        local: subject.local.to_string(),
        remote: subject.remote.to_string(),
        protocol: if subject.mptcp.is_empty() {
            "tcp"
        } else {
            "mptcp"
        },
        uid: subject.uid(),
        program: subject.program.cloned(),
        subflows: subject.flows.len(),
        over: over(subject),
        sent_bps,
        received_bps,
        findings: findings(subject),
    }
}

fn over(subject: &Subject<'_>) -> Vec<String> {
    let mut devices: Vec<u32> = subject
        .flows
        .iter()
        .filter_map(|flow| flow.device)
        .collect();
    devices.sort_unstable();
    devices.dedup();
    devices
        .into_iter()
        .map(|device| subject.host.device_name(device))
        .collect()
}

/// The findings on a connection, the costliest first.
pub fn findings(subject: &Subject<'_>) -> Vec<Finding> {
    let mut found: Vec<Finding> = causes::ALL
        .iter()
        .filter_map(|(_, find)| find(subject))
        .collect();
    // Stable: findings with equal cost keep the order of the list.
    found.sort_by(|a, b| b.cost.share.total_cmp(&a.cost.share));
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observation::{Host, Sample};

    #[test]
    fn an_observation_without_connections_has_its_length() {
        let sample = |at_s| Sample {
            at_s,
            listing: Default::default(),
            counters: Default::default(),
        };
        let seen = Observation {
            schema: SCHEMA,
            samples: vec![sample(0.0), sample(6.0)],
            host: Host::default(),
        };
        let report = examine(&seen, |_| true, &mut |_, _| None);
        assert_eq!((report.seconds, report.connections.len()), (6.0, 0));
    }
}
