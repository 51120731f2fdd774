//! An interface has no endpoint, so no connection opens a subflow there.

use super::joins::{add, are_allowed, endpoint, missing, unused_share};
use crate::finding::{Finding, Fix};
use crate::subject::{Alternative, Subject};

pub(super) const NAME: &str = "no-endpoint";

pub(super) fn find(subject: &Subject<'_>) -> Option<Finding> {
    let endpoints = subject.host.endpoints.as_ref()?;
    let mut without = missing(subject);
    without.retain(|one| endpoint(subject, one).is_none());
    without.retain(|one| subject.joining(one.device).is_none());
    let in_user_space = subject.host.path_manager.as_deref() == Some("userspace");
    // The daemon adds the endpoints that it wants; without room in the limits, that is the cause.
    if without.is_empty()
        || subject.host.daemon.is_some()
        || !in_user_space && !are_allowed(subject)
    {
        return None;
    }
    let names: Vec<&str> = without.iter().map(|one| one.name.as_str()).collect();
    let mut evidence = vec![format!(
        "`ip mptcp endpoint` lists {}, none on {}",
        endpoints.len(),
        names.join(", ")
    )];
    let mut commands: Vec<String> = without.iter().map(add_endpoint).collect();
    if in_user_space {
        commands.insert(0, "sysctl -w net.mptcp.path_manager=kernel".into());
        evidence
            .push("net.mptcp.path_manager = userspace: a program must open each subflow".into());
    }
    Some(Finding {
        cause: NAME,
        verdict: format!("no endpoint on {}: no subflow begins there", names.join(", ")),
        evidence,
        cost: unused_share(subject, without.len()),
        fix: Fix::commands(commands).or(
            "`joulepath live` adds endpoints, and follows changes of addresses; with NetworkManager: `nmcli \
             connection modify NAME connection.mptcp-flags subflow`",
        ),
        remedy: add(&without),
        gain: None,
    })
}

/// The command that adds an endpoint on an interface.
pub(super) fn add_endpoint(one: &Alternative) -> String {
    format!(
        "ip mptcp endpoint add {} dev {} subflow",
        one.address, one.name
    )
}
