//! This host's receive buffer is smaller than the bandwidth-delay product of a download.

use super::window::{Limit, blocked, cost, enough_bytes, unequal};
use crate::finding::{Finding, Fix, Remedy};
use crate::subject::Subject;
use crate::words::{kb, mbit, percent};

pub(super) const NAME: &str = "receive-buffer";
const SYSCTL: &str = "net.ipv4.tcp_rmem";

pub(super) fn find(subject: &Subject<'_>) -> Option<Finding> {
    let blocked = blocked(subject).filter(|blocked| blocked.limit == Limit::OwnWindow)?;
    if unequal(subject, &blocked).is_some() || is_read_slowly(subject) {
        return None;
    }
    let [least, default, most] = [0, 1, 2].map(|n| subject.host.number(SYSCTL, n));
    let bytes = enough_bytes(&blocked);
    let set = match most {
        Some(most) if most >= bytes => None,
        _ => Some(format!(
            "sysctl -w {SYSCTL}=\"{} {} {bytes}\"",
            least.unwrap_or(4096),
            default.unwrap_or(131_072)
        )),
    };
    Some(Finding {
        cause: NAME,
        verdict: "this host's receive buffer limits the download".into(),
        evidence: vec![
            format!(
                "{} in flight at {}: {} of the window of {} that this host offers",
                kb(blocked.share * blocked.bytes),
                mbit(subject.rate_bps()),
                percent(blocked.share),
                kb(blocked.bytes)
            ),
            most.map_or_else(
                || format!("{SYSCTL} is unknown"),
                |most| format!("{SYSCTL}: at most {}", kb(most as f64)),
            ),
        ],
        cost: cost(subject, &blocked),
        fix: match set {
            Some(command) => Fix::commands([command]),
            None => Fix::advice("the program sets SO_RCVBUF, which ends the automatic growth: remove that"),
        },
        remedy: Some(Remedy::ReceiveBuffer(bytes / 2)),
        gain: None,
    })
}

/// True if the buffer is full of data that this host's program does not read.
pub(super) fn is_read_slowly(subject: &Subject<'_>) -> bool {
    let memory = match subject.connection() {
        Some(connection) => connection.memory,
        None => subject.flows.first().and_then(|flow| flow.socket.memory),
    };
    memory.is_some_and(|memory| memory.receive_used_bytes > memory.receive_limit_bytes / 2)
}
