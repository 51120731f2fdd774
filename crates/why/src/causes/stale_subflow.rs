//! A subflow got no answer after a pause: a NAT or a firewall has forgotten it.

use super::silence::{self, lost_share};
use crate::finding::{Cost, Finding, Fix};
use crate::subject::Subject;

pub(super) const NAME: &str = "stale-subflow";

pub(super) fn find(subject: &Subject<'_>) -> Option<Finding> {
    let stale: Vec<_> = silence::all(subject)
        .into_iter()
        .filter(|one| one.has_paused)
        .collect();
    let worst = stale
        .iter()
        .max_by(|a, b| a.unanswered_s.total_cmp(&b.unanswered_s))?;
    let (info, heard_s) = (worst.flow.info()?, worst.heard_s?);
    let pause_s = heard_s - worst.begun_s;
    let ip = worst.flow.socket.local.ip();
    let endpoint = subject
        .host
        .endpoints
        .iter()
        .flatten()
        .find(|one| one.address == ip)
        .filter(|_| subject.host.daemon.is_none());
    let advice = format!(
        "`joulepath live` opens silent subflows again; a TCP keepalive every {:.0} s keeps the NAT's entry",
        (pause_s / 2.0).min(60.0)
    );
    let again = endpoint.and_then(|one| {
        let device = subject
            .host
            .device_name(one.interface.or(worst.flow.device)?);
        let add = format!("ip mptcp endpoint add {ip} dev {device} subflow");
        Some(vec![
            format!("ip mptcp endpoint delete id {}", one.id?),
            add,
        ])
    });
    Some(Finding {
        cause: NAME,
        verdict: format!(
            "a NAT or firewall has forgotten the subflow from {}",
            worst.flow.name(subject.host)
        ),
        evidence: vec![format!(
            "no answer for {:.1} s ({} timeouts in a row), after a pause of about {pause_s:.0} s",
            worst.unanswered_s, info.backoff
        )],
        cost: Cost::new(
            lost_share(subject, stale.len()),
            format!(
                "{} of {} subflows are silent",
                stale.len(),
                subject.flows.len()
            ),
        ),
        fix: Fix::commands(again.unwrap_or_default()).or(advice),
        remedy: None,
        gain: None,
    })
}
