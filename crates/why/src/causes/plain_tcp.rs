//! The program uses plain TCP on a host with several usable interfaces.

use joulepath_kernel::mptcp::TcpState;

use super::joins::{add, unused_share};
use super::pacing_limit;
use crate::finding::{Finding, Fix};
use crate::subject::Subject;

pub(super) const NAME: &str = "plain-tcp";

pub(super) fn find(subject: &Subject<'_>) -> Option<Finding> {
    let flow = subject.flows.first().filter(|_| subject.mptcp.is_empty())?;
    let others = subject.alternatives();
    // A connection that does not open has another problem.
    if others.is_empty() || subject.is_idle() || flow.socket.state == TcpState::SynSent {
        return None;
    }
    // The program would send no more over two paths, and MPTCP sockets refuse its limit.
    if pacing_limit::find(subject).is_some() {
        return None;
    }
    let names: Vec<&str> = others.iter().map(|one| one.name.as_str()).collect();
    let program = subject
        .program
        .map_or("PROGRAM", |program| program.name.as_str());
    Some(Finding {
        cause: NAME,
        verdict: "the program uses plain TCP, which has one path".into(),
        evidence: vec![
            "protocol TCP, no MPTCP in its socket".into(),
            format!(
                "it uses {}; {} could carry it, too",
                flow.name(subject.host),
                names.join(", ")
            ),
        ],
        cost: unused_share(subject, others.len()),
        fix: Fix::commands([format!("joulepath run -- {program}")])
            .or("the server must speak MPTCP, too"),
        remedy: add(&others),
        gain: None,
    })
}
