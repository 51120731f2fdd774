//! A firewall drops SYNs with MPTCP: after some without an answer, the kernel connects with plain
//! TCP.

use super::joins::unused_share;
use crate::finding::{Finding, Fix};
use crate::subject::Subject;

pub(super) const NAME: &str = "mptcp-dropped";

/// SYNs with MPTCP before the kernel tries plain TCP (`net.mptcp.syn_retrans_before_tcp_fallback`).
const REPEATED: u32 = 2;

pub(super) fn find(subject: &Subject<'_>) -> Option<Finding> {
    let others = subject.alternatives();
    if others.is_empty() || subject.is_idle() || !is_dropped(subject) {
        return None;
    }
    let (remote, over) = (
        subject.remote.ip(),
        subject.flows.first()?.name(subject.host),
    );
    let count = |name: &str| subject.counter(&format!("MPTcpExt{name}")).0;
    let (dropped, disabled, holes) = (
        count("MPCapableSYNTXDrop"),
        count("MPCapableSYNTXDisabled"),
        count("Blackhole"),
    );
    let mut evidence = vec![format!(
        "connections on this host whose SYN with MPTCP got no answer, and the one without it did: {dropped} \
         (MPCapableSYNTXDrop)"
    )];
    if holes + disabled > 0 {
        evidence.push(format!(
            "the kernel then pauses MPTCP for net.mptcp.blackhole_timeout: {holes} times (Blackhole), \
             {disabled} connections without it (MPCapableSYNTXDisabled)"
        ));
    }
    evidence.extend(super::fallback::elsewhere(subject));
    Some(Finding {
        cause: NAME,
        verdict: format!(
            "a firewall between {over} and {remote} drops SYNs with MPTCP: it is plain TCP"
        ),
        evidence,
        cost: unused_share(subject, others.len()),
        fix: Fix::advice(format!(
            "let TCP option 30 pass at the firewall, then `sysctl -w net.mptcp.blackhole_timeout=3600` ends \
             the pause; if it is not yours, begin connections over another interface ({}): `ip route` with \
             the smallest metric there",
            others[0].name
        )),
        remedy: super::joins::add(&others),
        gain: None,
    })
}

/// True if this connection's SYNs with MPTCP were dropped, or the kernel sent none because earlier
/// ones were.
pub(super) fn is_dropped(subject: &Subject<'_>) -> bool {
    let Some(connection) = subject.connection().filter(|one| one.info.fallback) else {
        return false;
    };
    let count = |name: &str| subject.counter(&format!("MPTcpExt{name}")).0;
    let repeated = subject
        .flows
        .iter()
        .filter_map(|flow| flow.info())
        .map(|info| info.retransmitted_segments);
    let was_repeated = repeated.max().unwrap_or(0) > REPEATED;
    // An answer without MP_CAPABLE would have been counted.
    let is_answered = count("MPCapableFallbackSYNACK") > 0;
    let is_own =
        was_repeated || !is_answered || subject.counter("MPTcpExtMPCapableSYNTXDrop").1 > 0;
    // After a fallback the kernel forgets which end opened the connection.
    !connection.info.remote_key_received
        && (count("MPCapableSYNTXDrop") > 0 && is_own
            || count("MPCapableSYNTXDisabled") > 0 && !is_answered)
}
