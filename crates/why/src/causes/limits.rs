//! This host allows no further subflow.

use super::joins::{are_allowed, missing, unused_share};
use crate::finding::{Finding, Fix};
use crate::subject::Subject;

pub(super) const NAME: &str = "limits";

pub(super) fn find(subject: &Subject<'_>) -> Option<Finding> {
    let limits = subject.host.limits?;
    let others = missing(subject);
    if others.is_empty() || are_allowed(subject) || subject.host.path_manager.as_deref() == Some("userspace")
    {
        return None;
    }
    let wanted = (others.len() + 1).max(2);
    let accepted = limits.accepted_addresses;
    Some(Finding {
        cause: NAME,
        verdict: "the limits of this host allow no second subflow".into(),
        evidence: vec![format!("`ip mptcp limits`: subflows {}", limits.extra_subflows)],
        cost: unused_share(subject, others.len()),
        fix: Fix::commands([format!("ip mptcp limits set subflows {wanted} add_addr_accepted {accepted}")]),
        remedy: None,
        gain: None,
    })
}
