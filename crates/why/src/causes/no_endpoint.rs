//! An interface has no endpoint, so no connection opens a subflow there.

use super::joins::{endpoint, missing, unused_share};
use crate::finding::{Finding, Fix};
use crate::subject::Subject;

pub(super) const NAME: &str = "no-endpoint";

pub(super) fn find(subject: &Subject<'_>) -> Option<Finding> {
    let endpoints = subject.host.endpoints.as_ref()?;
    let mut without = missing(subject);
    without.retain(|one| endpoint(subject, one).is_none());
    if without.is_empty() {
        return None;
    }
    let names: Vec<&str> = without.iter().map(|one| one.name.as_str()).collect();
    let mut evidence =
        vec![format!("`ip mptcp endpoint` lists {}, none on {}", endpoints.len(), names.join(", "))];
    if subject.host.path_manager.as_deref() == Some("userspace") {
        evidence.push("net.mptcp.path_manager = userspace: a program must open each subflow".into());
    }
    let add = |(address, name)| format!("ip mptcp endpoint add {address} dev {name} subflow");
    Some(Finding {
        cause: NAME,
        verdict: format!("no endpoint on {}: no subflow begins there", names.join(", ")),
        evidence,
        cost: unused_share(subject, without.len()),
        fix: Fix::commands(without.iter().map(|one| add((one.address, &one.name))))
            .or("`joulepath live` adds endpoints, and follows changes of addresses"),
        remedy: None,
        gain: None,
    })
}
