//! Subflows that should exist and do not: common to several causes.

use joulepath_kernel::mptcp::path_manager::Endpoint;

use crate::finding::Cost;
use crate::subject::{Alternative, Subject};

/// Interfaces of an MPTCP connection that this host opened, without a subflow.
pub(super) fn missing(subject: &Subject<'_>) -> Vec<Alternative> {
    // Joins begin with the first data, so a connection without data has one subflow.
    let has_data =
        subject.connection().and_then(|one| one.info.counters).is_none_or(|c| c.sent + c.received > 0);
    let is_known = subject.multipath().is_some() && !subject.flows.is_empty();
    if !is_known || !subject.is_client() || !has_data || subject.is_idle() {
        return vec![];
    }
    subject.alternatives()
}

/// The endpoint of this host for an interface.
pub(super) fn endpoint<'a>(subject: &Subject<'a>, one: &Alternative) -> Option<&'a Endpoint> {
    let endpoints = subject.host.endpoints.as_ref()?;
    endpoints.iter().find(|endpoint| {
        (endpoint.subflow || endpoint.fullmesh)
            && (endpoint.address == one.address
                || subject.host.device_of(endpoint.address) == Some(one.device))
    })
}

/// True if the limits of host and connection allow a further subflow.
pub(super) fn are_allowed(subject: &Subject<'_>) -> bool {
    let of_connection = subject.connection().map_or(0, |one| u32::from(one.info.extra_subflows_max));
    let of_host = subject.host.limits.map_or(of_connection, |limits| limits.extra_subflows);
    of_host > 0
}

/// Interfaces whose join the path manager's configuration allows, with endpoint.
pub(super) fn failed<'a>(subject: &Subject<'a>) -> Vec<(Alternative, &'a Endpoint)> {
    if !are_allowed(subject) {
        return vec![];
    }
    let missing = missing(subject).into_iter();
    missing.filter_map(|one| endpoint(subject, &one).map(|endpoint| (one, endpoint))).collect()
}

/// True if packets from the endpoint leave through the device of its address; `None` if that is unknown.
pub(super) fn leaves_correctly(
    subject: &Subject<'_>,
    one: &Alternative,
    endpoint: &Endpoint,
) -> Option<bool> {
    let through = subject.host.route(endpoint.address, endpoint.interface, subject.remote.ip())?;
    Some(through == Some(one.device))
}

/// True unless a routing table is known to send one of the joins through another device.
pub(super) fn all_leave_correctly(subject: &Subject<'_>, failed: &[(Alternative, &Endpoint)]) -> bool {
    failed.iter().all(|(one, endpoint)| leaves_correctly(subject, one, endpoint) != Some(false))
}

/// Joins that were sent, and answered, since the host started.
pub(super) fn sent_and_answered(subject: &Subject<'_>) -> (u64, u64) {
    (subject.counter("MPTcpExtMPJoinSynTx").0, subject.counter("MPTcpExtMPJoinSynAckRx").0)
}

/// The cost of interfaces that carry nothing. Their rates are unknown: each counts as much as those in use.
/// An application that limits its rate would gain little.
pub(super) fn unused_share(subject: &Subject<'_>, unused: usize) -> Cost {
    let used = subject.flows.len().max(1);
    let waiting = if subject.uploads() { subject.waits().application } else { 0.0 };
    let share = unused as f64 / (unused + used) as f64 * (1.0 - waiting).max(0.1);
    Cost::new(
        share,
        format!("{unused} of {} interfaces carry nothing, counted as equally fast", unused + used),
    )
}
