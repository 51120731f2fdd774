//! Subflows that should exist and do not: common to several causes.

use std::net::IpAddr;

use joulepath_kernel::mptcp::path_manager::Endpoint;

use crate::finding::{Cost, Remedy};
use crate::subject::{Alternative, Flow, Subject};

/// A join that the path manager's configuration allows, without a subflow.
pub(super) struct Failed<'a, 'b> {
    pub(super) one: Alternative,
    /// Source address of the join.
    pub(super) source: IpAddr,
    /// The device that its socket is bound to.
    pub(super) bound: Option<u32>,
    /// The subflow that still waits for its first answer.
    pub(super) young: Option<&'b Flow<'a>>,
}

/// Interfaces of an MPTCP connection that this host opened, without a subflow.
pub(super) fn missing(subject: &Subject<'_>) -> Vec<Alternative> {
    if may_join(subject) {
        subject.alternatives()
    } else {
        vec![]
    }
}

/// Joins begin with the first data, so a connection without data has one subflow.
fn may_join(subject: &Subject<'_>) -> bool {
    let has_data = subject
        .connection()
        .and_then(|one| one.info.counters)
        .is_none_or(|c| c.sent + c.received > 0);
    let is_known = subject.multipath().is_some() && !subject.flows.is_empty();
    is_known && subject.is_client() && has_data && !subject.is_idle()
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
    let of_connection = subject
        .connection()
        .map_or(0, |one| u32::from(one.info.extra_subflows_max));
    let of_host = subject
        .host
        .limits
        .map_or(of_connection, |limits| limits.extra_subflows);
    of_host > 0
}

/// Interfaces whose join the path manager's configuration allows. Of a subflow that a program
/// opened, the socket tells its source.
pub(super) fn failed<'a, 'b>(subject: &'b Subject<'a>) -> Vec<Failed<'a, 'b>> {
    of(subject, missing(subject))
}

/// The same for interfaces without any route to the peer.
pub(super) fn unrouted<'a, 'b>(subject: &'b Subject<'a>) -> Vec<Failed<'a, 'b>> {
    if !may_join(subject) {
        return vec![];
    }
    let others = subject
        .others()
        .into_iter()
        .filter(|one| !subject.is_routed(one.device));
    of(subject, others.collect())
}

fn of<'a, 'b>(subject: &'b Subject<'a>, all: Vec<Alternative>) -> Vec<Failed<'a, 'b>> {
    let are_allowed = are_allowed(subject);
    let failed = |one: Alternative| {
        let young = subject.joining(one.device);
        let of_socket = young.map(|flow| (flow.socket.local.ip(), flow.socket.interface));
        let of_endpoint =
            || endpoint(subject, &one).map(|endpoint| (endpoint.address, endpoint.interface));
        let (source, bound) = of_socket.or_else(|| of_endpoint().filter(|_| are_allowed))?;
        Some(Failed {
            one,
            source,
            bound,
            young,
        })
    };
    all.into_iter().filter_map(failed).collect()
}

impl Failed<'_, '_> {
    /// True if its packets leave through the device of its address; `None` if that is unknown.
    pub(super) fn leaves_correctly(&self, subject: &Subject<'_>) -> Option<bool> {
        let through = subject
            .host
            .route(self.source, self.bound, subject.remote.ip())?;
        Some(through == Some(self.one.device))
    }

    /// How often the SYN of its present attempt was repeated.
    pub(super) fn repeated(&self) -> u32 {
        self.young
            .and_then(Flow::info)
            .map_or(0, |info| info.retransmitted_segments)
    }
}

/// True unless a routing table is known to send one of the joins through another device.
pub(super) fn all_leave_correctly(subject: &Subject<'_>, failed: &[Failed<'_, '_>]) -> bool {
    failed
        .iter()
        .all(|one| one.leaves_correctly(subject) != Some(false))
}

/// Joins that were sent, and answered, since the host started.
pub(super) fn sent_and_answered(subject: &Subject<'_>) -> (u64, u64) {
    (
        subject.counter("MPTcpExtMPJoinSynTx").0,
        subject.counter("MPTcpExtMPJoinSynAckRx").0,
    )
}

/// The remedy: a path over each of these interfaces.
pub(super) fn add<'b>(all: impl IntoIterator<Item = &'b Alternative>) -> Option<Remedy> {
    Some(Remedy::Add(all.into_iter().map(|one| one.device).collect()))
}

/// The cost of interfaces that carry nothing. Their rates are unknown: each counts as much as those
/// in use. An application that limits its rate would gain little.
pub(super) fn unused_share(subject: &Subject<'_>, unused: usize) -> Cost {
    let used = subject
        .flows
        .iter()
        .filter(|flow| !flow.is_joining())
        .count()
        .max(1);
    share(subject, unused, used)
}

/// The same for subflows that are open.
pub(super) fn idle_share(subject: &Subject<'_>, unused: usize) -> Cost {
    let open = subject
        .flows
        .iter()
        .filter(|flow| !flow.is_joining())
        .count();
    share(subject, unused, open.saturating_sub(unused).max(1))
}

fn share(subject: &Subject<'_>, unused: usize, used: usize) -> Cost {
    let waiting = if subject.uploads() {
        subject.waits().application
    } else {
        0.0
    };
    let share = unused as f64 / (unused + used) as f64 * (1.0 - waiting).max(0.1);
    Cost::new(
        share,
        format!(
            "{unused} of {} interfaces carry nothing, counted as equally fast",
            unused + used
        ),
    )
}
