//! This host allows no further subflow.

use super::joins::{add, are_allowed, endpoint, missing, unused_share};
use super::no_endpoint;
use crate::finding::{Finding, Fix};
use crate::subject::Subject;

pub(super) const NAME: &str = "limits";

pub(super) fn find(subject: &Subject<'_>) -> Option<Finding> {
    let limits = subject.host.limits?;
    let others = missing(subject);
    if others.is_empty()
        || are_allowed(subject)
        || subject.host.path_manager.as_deref() == Some("userspace")
    {
        return None;
    }
    let wanted = (others.len() + 1).max(2);
    let accepted = limits.accepted_addresses;
    let fix = match subject.host.daemon {
        Some(_) => Fix::advice(
            "the daemon sets the limits: `joulepath status` shows what it could not set",
        ),
        None => {
            let limit =
                format!("ip mptcp limits set subflows {wanted} add_addr_accepted {accepted}");
            let without = others.iter().filter(|one| endpoint(subject, one).is_none());
            Fix::commands(
                [limit]
                    .into_iter()
                    .chain(without.map(no_endpoint::add_endpoint)),
            )
        }
    };
    Some(Finding {
        cause: NAME,
        verdict: "the limits of this host allow no second subflow".into(),
        evidence: vec![format!(
            "`ip mptcp limits`: subflows {}",
            limits.extra_subflows
        )],
        cost: unused_share(subject, others.len()),
        fix,
        remedy: add(&others),
        gain: None,
    })
}
