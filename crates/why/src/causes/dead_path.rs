//! A path has stopped answering, or never did.

use super::silence::{self, lost_share};
use crate::finding::{Cost, Finding, Fix};
use crate::subject::Subject;

pub(super) const NAME: &str = "dead-path";

pub(super) fn find(subject: &Subject<'_>) -> Option<Finding> {
    let silent: Vec<_> = silence::all(subject).into_iter().filter(|one| !one.has_paused).collect();
    let worst = silent.iter().max_by(|a, b| a.unanswered_s.total_cmp(&b.unanswered_s))?;
    let info = worst.flow.info()?;
    let heard = worst.heard_s.map_or("never".into(), |s| format!("{s:.1} s ago"));
    let is_only = silent.len() == subject.flows.len();
    let name = worst.flow.name(subject.host);
    let fix = match worst.flow.device.filter(|_| !is_only) {
        Some(_) => super::head_of_line::fix(subject, worst.index),
        None => Fix::commands([format!("ip route get {}", subject.remote.ip())]).or(
            "nothing comes back on the route of new connections: give another interface's default route the \
             lowest metric, or take this interface down; `joulepath live` opens a subflow elsewhere",
        ),
    };
    Some(Finding {
        cause: NAME,
        verdict: format!("nothing comes back on {name}"),
        evidence: vec![format!(
            "{} timeouts in a row, {} packets unanswered for at least {:.1} s; last heard {heard}",
            info.backoff, info.unacked_packets, worst.unanswered_s
        )],
        cost: Cost::new(
            lost_share(subject, silent.len()),
            format!("{} of {} subflows are silent", silent.len(), subject.flows.len()),
        ),
        fix,
        remedy: None,
        gain: None,
    })
}
