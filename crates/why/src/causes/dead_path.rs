//! A path has stopped answering, or never did.

use joulepath_kernel::mptcp::TcpState;

use super::mtu;
use super::silence::{self, lost_share};
use super::wrong_device::{gateway, ip};
use crate::finding::{Cost, Finding, Fix};
use crate::subject::{Flow, Subject};

pub(super) const NAME: &str = "dead-path";

pub(super) fn find(subject: &Subject<'_>) -> Option<Finding> {
    let silent: Vec<_> = silence::all(subject)
        .into_iter()
        .filter(|one| !one.has_paused && !mtu::is_hole(one))
        .collect();
    let worst = silent
        .iter()
        .max_by(|a, b| a.unanswered_s.total_cmp(&b.unanswered_s))?;
    let info = worst.flow.info()?;
    let heard = worst
        .heard_s
        .map_or("never".into(), |s| format!("{s:.1} s ago"));
    let is_only = silent.len() == subject.flows.len();
    let name = worst.flow.name(subject.host);
    let mut evidence = vec![format!(
        "{} timeouts in a row, {} packets unanswered for at least {:.1} s; last heard {heard}",
        info.backoff, info.unacked_packets, worst.unanswered_s
    )];
    if info.state == TcpState::SynSent && subject.connection().is_some_and(|one| !one.info.fallback)
    {
        evidence.push(
            "its SYN has MPTCP: if a firewall drops those, the kernel connects without it soon"
                .into(),
        );
    }
    let fix = match worst.flow.device.filter(|_| !is_only) {
        Some(_) => close(subject, worst.flow),
        None => around(subject),
    };
    Some(Finding {
        cause: NAME,
        verdict: format!("nothing comes back on {name}"),
        evidence,
        cost: Cost::new(
            lost_share(subject, silent.len()),
            format!(
                "{} of {} subflows are silent",
                silent.len(),
                subject.flows.len()
            ),
        ),
        fix,
        remedy: None,
        gain: None,
    })
}

/// Closes a subflow: its data is sent again on the others at once.
fn close(subject: &Subject<'_>, flow: &Flow<'_>) -> Fix {
    let ip = flow.socket.local.ip();
    if subject.host.daemon.is_some() {
        return Fix::advice("the daemon leaves a silent path within seconds: `joulepath status`");
    }
    let advice = "`joulepath live` leaves a silent path within seconds, and tries it again later";
    match subject
        .host
        .endpoints
        .iter()
        .flatten()
        .filter(|one| one.address == ip)
        .find_map(|one| one.id)
    {
        Some(id) => Fix::commands([format!("ip mptcp endpoint delete id {id}")]).or(advice),
        None => Fix::advice(advice),
    }
}

/// A route to this server through another interface, for new connections.
fn around(subject: &Subject<'_>) -> Fix {
    let others = subject.alternatives();
    let remote = subject.remote.ip();
    match (others.first(), &subject.host.daemon) {
        (Some(one), None) => {
            let route = format!(
                "{} route add {remote}{} dev {}",
                ip(remote),
                gateway(subject, one),
                one.name
            );
            Fix::commands([route]).or(
                "for new connections, until the path works again; `joulepath live` with \
                                       `first = \"steer\"` does it for all",
            )
        }
        _ => Fix::advice(
            "nothing comes back on the route of new connections: `joulepath live` with `first = \"steer\"` \
             begins them elsewhere",
        ),
    }
}
