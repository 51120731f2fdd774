//! The peer sends on a subflow that this host has declared a backup.

use crate::finding::{Cost, Finding, Fix};
use crate::subject::{Flow, Subject};
use crate::words::{mbit, percent};

pub(super) const NAME: &str = "backup-ignored";

/// Less is probing, or data on its way when the priority changed.
const LEAST: f64 = 0.05;
/// A regular subflow that has heard from the peer within this time works, s.
const RECENT_S: f64 = 2.0;

pub(super) fn find(subject: &Subject<'_>) -> Option<Finding> {
    subject.multipath()?;
    let is_declared =
        |flow: &&Flow<'_>| flow.socket.membership.is_some_and(|one| one.backup_locally);
    let received: f64 = subject.flows.iter().map(Flow::received_bps).sum();
    let backup = subject
        .flows
        .iter()
        .filter(is_declared)
        .max_by(|a, b| a.received_bps().total_cmp(&b.received_bps()))?;
    let share = backup.received_bps() / received.max(1.0);
    let works = |flow: &Flow<'_>| {
        !flow.is_backup()
            && flow.unanswered_s().is_none()
            && flow.has_heard(RECENT_S + subject.seconds)
    };
    if subject.is_idle() || share < LEAST || !subject.flows.iter().any(works) {
        return None;
    }
    let id = backup.socket.membership.map_or(0, |one| one.local_id.0);
    Some(Finding {
        cause: NAME,
        verdict: format!("{} sends on {}, a backup", subject.remote.ip(), backup.name(subject.host)),
        evidence: vec![format!(
            "{} arrive on it, {} of all, while a regular subflow works",
            mbit(backup.received_bps()),
            percent(share)
        )],
        cost: Cost::new(
            share,
            format!("{} of the received data uses the path that should be spared", percent(share)),
        ),
        fix: match subject.host.daemon {
            Some(_) => Fix::commands(["joulepath live set-intent handover"])
                .or("it opens no subflow there before it is needed"),
            None => Fix::commands([format!("ip mptcp endpoint delete id {id}")]).or(
                "`joulepath live` with `intent = \"handover\"` opens no subflow there before it is needed",
            ),
        },
        remedy: None,
        gain: None,
    })
}
