//! The findings of all connections.

use serde::Serialize;

use crate::causes;
use crate::finding::{Finding, Gain, Remedy};
use crate::observation::{Observation, Program, SCHEMA};
use crate::subject::{Subject, length_s};

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
        self.connections.iter().flat_map(|one| &one.findings).any(Finding::is_fixable)
    }
}

/// Predicts the gain of a fix on a connection; `None` if it cannot.
pub type Predict<'p> = dyn FnMut(&Subject<'_>, &Remedy) -> Option<Gain> + 'p;

/// Examines the connections for which `wanted` returns true. `predict` is asked for the costliest findings.
pub fn examine(
    observation: &Observation<'_>,
    wanted: impl Fn(&Subject<'_>) -> bool,
    predict: &mut Predict<'_>,
) -> Report {
    let subjects = Subject::all(observation);
    let seconds = length_s(observation);
    let wanted: Vec<&Subject<'_>> = subjects.iter().filter(|one| wanted(one)).collect();
    let mut connections: Vec<(&Subject<'_>, Examined)> = wanted.iter().map(|one| (*one, of(one))).collect();
    let worst = |one: &Examined| one.findings.first().map_or(-1.0, |finding| finding.cost.share);
    connections.sort_by(|(_, a), (_, b)| worst(b).total_cmp(&worst(a)));
    let found =
        connections.iter_mut().flat_map(|(one, examined)| examined.findings.iter_mut().map(|f| (*one, f)));
    let modelled = found.filter_map(|(one, finding)| Some((one, finding.remedy.clone()?, finding)));
    for (subject, remedy, finding) in modelled.take(MOST_PREDICTED) {
        finding.gain = predict(subject, &remedy);
    }
    Report { schema: SCHEMA, seconds, connections: connections.into_iter().map(|(_, one)| one).collect() }
}

fn of(subject: &Subject<'_>) -> Examined {
    let (sent_bps, received_bps) = subject.rates_bps();
    Examined {
        local: subject.local.to_string(),
        remote: subject.remote.to_string(),
        protocol: if subject.mptcp.is_empty() { "tcp" } else { "mptcp" },
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
    let mut devices: Vec<u32> = subject.flows.iter().filter_map(|flow| flow.device).collect();
    devices.sort_unstable();
    devices.dedup();
    devices.into_iter().map(|device| subject.host.device_name(device)).collect()
}

/// The findings on a connection, the costliest first.
pub fn findings(subject: &Subject<'_>) -> Vec<Finding> {
    let mut found: Vec<Finding> = causes::ALL.iter().filter_map(|(_, find)| find(subject)).collect();
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
        let sample = |at_s| Sample { at_s, listing: Default::default(), counters: Default::default() };
        let seen =
            Observation { schema: SCHEMA, samples: vec![sample(0.0), sample(6.0)], host: Host::default() };
        let report = examine(&seen, |_| true, &mut |_, _| None);
        assert_eq!((report.seconds, report.connections.len()), (6.0, 0));
    }
}
