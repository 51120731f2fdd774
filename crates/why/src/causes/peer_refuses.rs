//! The peer answers joins and closes the subflow at once: its limits, or an address that it does
//! not accept.

use super::joins::{add, all_leave_correctly, failed, sent_and_answered, unused_share};
use crate::finding::{Finding, Fix};
use crate::subject::Subject;

pub(super) const NAME: &str = "peer-refuses";

pub(super) fn find(subject: &Subject<'_>) -> Option<Finding> {
    let mut failed = failed(subject);
    // A join that waits for its answer is not refused.
    failed.retain(|one| one.young.is_none());
    let (sent, answered) = sent_and_answered(subject);
    let (resets, _) = subject.counter("MPTcpExtMPRstRx");
    // Joins of other connections count, too: only those without an answer tell.
    let is_refused = resets >= sent.saturating_sub(answered);
    if failed.is_empty() || sent == 0 || !is_refused || !all_leave_correctly(subject, &failed) {
        return None;
    }
    let names: Vec<&str> = failed.iter().map(|one| one.one.name.as_str()).collect();
    Some(Finding {
        cause: NAME,
        verdict: format!(
            "{} closes the subflows that join from {}",
            subject.remote.ip(),
            names.join(", ")
        ),
        evidence: vec![
            format!(
                "joins on this host: {sent} sent, {answered} answered (MPJoinSynTx, MPJoinSynAckRx)"
            ),
            format!(
                "resets with MP_TCPRST: {resets} (MPRstRx); the connection has {} subflow",
                subject.flows.len()
            ),
        ],
        cost: unused_share(subject, failed.len()),
        fix: Fix::advice(
            "on the server: `ip mptcp limits set subflows 2` unless its limit is higher; if it is, \
             a firewall or proxy on the way removes option 30 after the handshake",
        ),
        remedy: add(failed.iter().map(|one| &one.one)),
        gain: None,
    })
}
