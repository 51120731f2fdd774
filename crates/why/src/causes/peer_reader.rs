//! The peer's application reads slowly: its window closes and opens.

use super::window::{Limit, blocked};
use crate::finding::{Cost, Finding, Fix};
use crate::subject::{Flow, Subject};
use crate::words::kb;

pub(super) const NAME: &str = "peer-reader";

/// A window that shrinks below this part of its maximum holds data that nobody reads.
const SHRUNK: f64 = 0.3;
/// So does a window that was once larger by this factor.
const GROWN: f64 = 2.0;

pub(super) fn find(subject: &Subject<'_>) -> Option<Finding> {
    blocked(subject).filter(|blocked| blocked.limit == Limit::PeerWindow)?;
    let (least, most) = subject.peer_window_bytes();
    is_read_slowly(subject).then(|| Finding {
        cause: NAME,
        verdict: format!("the application on {} reads slowly", subject.remote.ip()),
        evidence: vec![format!(
            "its window was between {} and {}, and {} at least before: its buffer is full of data that it \
             has not read",
            kb(least as f64),
            kb(most as f64),
            kb(earlier_bytes(subject))
        )],
        cost: Cost::new(0.0, "nothing: the network would carry more than the application takes"),
        fix: Fix::default(),
        remedy: None,
        gain: None,
    })
}

pub(super) fn is_read_slowly(subject: &Subject<'_>) -> bool {
    let (least, most) = subject.peer_window_bytes();
    (least as f64) < SHRUNK * most as f64 || earlier_bytes(subject) > GROWN * most as f64
}

/// The window that the peer has offered once, at least, bytes: a congestion window grows to at most
/// twice of what was in flight (`tcp_is_cwnd_limited`).
fn earlier_bytes(subject: &Subject<'_>) -> f64 {
    let of = |flow: &Flow<'_>| {
        flow.cwnd_packets() * flow.info().map_or(0.0, |info| info.send_mss_bytes.into())
    };
    subject.flows.iter().map(of).fold(0.0, f64::max) / 2.0
}
