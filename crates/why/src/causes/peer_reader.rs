//! The peer's application reads slowly: its window closes and opens.

use super::window::{Limit, blocked};
use crate::finding::{Cost, Finding, Fix};
use crate::subject::Subject;
use crate::words::kb;

pub(super) const NAME: &str = "peer-reader";

/// A window that shrinks below this part of its maximum holds data that nobody reads.
const SHRUNK: f64 = 0.3;

pub(super) fn find(subject: &Subject<'_>) -> Option<Finding> {
    blocked(subject).filter(|blocked| blocked.limit == Limit::PeerWindow)?;
    let (least, most) = subject.peer_window_bytes();
    is_read_slowly(subject).then(|| Finding {
        cause: NAME,
        verdict: format!("the application on {} reads slowly", subject.remote.ip()),
        evidence: vec![format!(
            "its window was between {} and {}: its buffer is full of data that it has not read",
            kb(least as f64),
            kb(most as f64)
        )],
        cost: Cost::new(0.0, "nothing: the network would carry more than the application takes"),
        fix: Fix::default(),
        remedy: None,
        gain: None,
    })
}

pub(super) fn is_read_slowly(subject: &Subject<'_>) -> bool {
    let (least, most) = subject.peer_window_bytes();
    (least as f64) < SHRUNK * most as f64
}
