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
    // Counters are those of all connections; a SYN that was repeated is this one's.
    let repeated = failed.iter().map(|one| one.repeated()).max().unwrap_or(0);
    let is_young = failed.iter().any(|one| one.young.is_some());
    let are_lost =
        repeated > 0 || !is_young && sent.saturating_sub(answered) > resets && dropped == 0;
    if failed.is_empty()
        || !are_lost
        || !all_leave_correctly(subject, &failed)
        || failed
            .iter()
            .any(|one| super::wrong_device::is_filtered(subject, &one.one))
    {
        return None;
    }
    let names: Vec<&str> = failed.iter().map(|one| one.one.name.as_str()).collect();
    let remote = subject.remote;
    let mut evidence = vec![
        format!(
            "joins on this host: {sent} sent, {answered} answered (MPJoinSynTx, MPJoinSynAckRx)"
        ),
        "the routing tables send them through the right device".into(),
    ];
    if repeated > 0 {
        evidence.insert(
            0,
            format!("the SYN of the join was repeated {repeated} times, without an answer"),
        );
    } else if !is_young {
        let (reset, _) = subject.counter("MPTcpExtMPRstTx");
        evidence.push(format!(
            "joins that this host gave up after an answer without MP_JOIN: {reset} (MPRstTx)"
        ));
    }
    Some(Finding {
        cause: NAME,
        verdict: format!("subflows that join from {} get no answer", names.join(", ")),
        evidence,
        cost: unused_share(subject, failed.len()),
        fix: Fix::advice(format!(
            "`curl --interface {} http://{remote}/` tells: without an answer the network of {0} is at fault; \
             with one, a firewall there drops or strips MP_JOIN (TCP option 30): let it pass, or use another \
             network",
            names[0]
        )),
        remedy: None,
        gain: None,
    })
}
