//! A join leaves correctly and gets no answer: something on the path drops it.

use super::joins::{all_leave_correctly, failed, sent_and_answered, unused_share};
use crate::finding::{Finding, Fix};
use crate::subject::Subject;

pub(super) const NAME: &str = "no-answer";

pub(super) fn find(subject: &Subject<'_>) -> Option<Finding> {
    let failed = failed(subject);
    let (sent, answered) = sent_and_answered(subject);
    let (resets, _) = subject.counter("MPTcpExtMPRstRx");
    let (dropped, _) = subject.counter("TcpExtIPReversePathFilter");
    let are_lost = sent.saturating_sub(answered) > resets && dropped == 0;
    if failed.is_empty() || !are_lost || !all_leave_correctly(subject, &failed) {
        return None;
    }
    let names: Vec<&str> = failed.iter().map(|(one, _)| one.name.as_str()).collect();
    let remote = subject.remote;
    Some(Finding {
        cause: NAME,
        verdict: format!("subflows that join from {} get no answer", names.join(", ")),
        evidence: vec![
            format!("joins on this host: {sent} sent, {answered} answered (MPJoinSynTx, MPJoinSynAckRx)"),
            "the routing tables send them through the right device".into(),
        ],
        cost: unused_share(subject, failed.len()),
        fix: Fix::commands([format!("curl --interface {} http://{remote}/", names[0])]).or(
            "if plain TCP from this interface gets no answer either, its network is at fault; if it does, a \
                 firewall drops MP_JOIN",
        ),
        remedy: None,
        gain: None,
    })
}
