//! A slow path fills the window that a fast path needs: data in order waits for it.

use super::window::{Limit, blocked, cost, unequal, waiting};
use crate::finding::{Finding, Fix, Remedy};
use crate::subject::{Subject, at};
use crate::words::{kb, ms, percent};

pub(super) const NAME: &str = "head-of-line";

pub(super) fn find(subject: &Subject<'_>) -> Option<Finding> {
    let pair = |blocked| unequal(subject, &blocked).map(|pair| (blocked, pair));
    let found = blocked(subject)
        .and_then(pair)
        .or_else(|| waiting(subject).and_then(pair));
    let (blocked, (slow, fast)) = found?;
    let sending = subject.uploads();
    let rtt = |index: usize| at(&subject.flows[index].rtts_s(sending), 0.5).unwrap_or(0.0);
    let name = |index: usize| subject.flows[index].name(subject.host);
    let what = match blocked.limit {
        Limit::SendBuffer => "send buffer",
        Limit::PeerWindow | Limit::OwnWindow => "receive window",
    };
    let mut evidence = vec![
        format!(
            "RTT: {} on {}, {} on {}",
            ms(rtt(slow)),
            name(slow),
            ms(rtt(fast)),
            name(fast)
        ),
        format!(
            "the {what} of {} was full in {} of the time",
            kb(blocked.bytes),
            percent(blocked.share)
        ),
    ];
    if let Some((again, sent)) = subject.reinjected().filter(|(again, _)| *again > 0) {
        let part = again as f64 / sent.max(1) as f64;
        evidence.push(format!(
            "{} sent again on another subflow ({})",
            kb(again as f64),
            percent(part)
        ));
    }
    let (_, waited) = subject.counter("MPTcpExtOFOQueue");
    if waited > 0 {
        evidence.push(format!(
            "{waited} segments waited for their order on this host (OFOQueue)"
        ));
    }
    Some(Finding {
        cause: NAME,
        verdict: format!("the slow path over {} blocks the fast one", name(slow)),
        evidence,
        cost: cost(subject, &blocked),
        fix: fix(subject, slow),
        remedy: Some(Remedy::Without(slow)),
        gain: None,
    })
}

/// Makes a path a backup.
pub(super) fn fix(subject: &Subject<'_>, index: usize) -> Fix {
    let ip = subject.flows[index].socket.local.ip();
    let endpoints = subject.host.endpoints.iter().flatten();
    let id = endpoints
        .filter(|one| one.address == ip)
        .find_map(|one| one.id);
    let daemon = "`joulepath live` with `intent = \"interactive\"` keeps slow paths as backups";
    let peer = &subject.flows[index].socket;
    match (id, peer.membership) {
        (Some(id), _) => {
            Fix::commands([format!("ip mptcp endpoint change id {id} backup")]).or(daemon)
        }
        (None, Some(one)) if one.joined && !one.opened_locally => Fix::advice(format!(
            "on the peer: `ip mptcp endpoint change id {} backup`, for its address {}; or there, {daemon}",
            one.remote_id.0,
            peer.remote.ip()
        )),
        _ => Fix::advice(daemon),
    }
}
