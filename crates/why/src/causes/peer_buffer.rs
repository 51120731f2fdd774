//! The peer's receive buffer is smaller than the bandwidth-delay product.

use super::peer_reader::is_read_slowly;
use super::receive_buffer::DEFAULT;
use super::window::{Limit, blocked, cost, enough_bytes, unequal};
use crate::finding::{Finding, Fix, Remedy};
use crate::subject::Subject;
use crate::words::{kb, percent};

pub(super) const NAME: &str = "peer-buffer";

pub(super) fn find(subject: &Subject<'_>) -> Option<Finding> {
    let blocked = blocked(subject).filter(|blocked| blocked.limit == Limit::PeerWindow)?;
    if !blocked.is_too_small() || unequal(subject, &blocked).is_some() || is_read_slowly(subject) {
        return None;
    }
    let bytes = enough_bytes(&blocked, None, DEFAULT);
    let (shared, grown) = subject.counter("MPTcpExtSndWndShared");
    Some(Finding {
        cause: NAME,
        verdict: format!(
            "the receive buffer of {} limits the upload",
            subject.remote.ip()
        ),
        evidence: vec![
            format!(
                "its window of {} was full in {} of the time; the congestion windows hold {}",
                kb(blocked.bytes),
                percent(blocked.share),
                kb(blocked.needed_bytes.unwrap_or(0.0))
            ),
            format!(
                "subflows that found the shared window used: {grown} now, {shared} in all (SndWndShared)"
            ),
        ],
        cost: cost(subject, &blocked),
        fix: Fix::advice(format!(
            "on the peer: `sysctl -w net.ipv4.tcp_rmem=\"4096 131072 {bytes}\"` if its last number is \
             smaller now; otherwise its program sets SO_RCVBUF: remove that"
        )),
        remedy: Some(Remedy::ReceiveBuffer(bytes / 2)),
        gain: None,
    })
}
