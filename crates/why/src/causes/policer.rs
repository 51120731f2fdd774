//! A network drops what exceeds a rate: losses without a queue, at a steady rate or in clusters
//! below a highest rate.

use super::random_loss::{has_no_queue, is_clustered, is_steady, loss, queueing};
use crate::finding::{Cost, Finding, Fix};
use crate::subject::{Flow, Subject};
use crate::words::{mbit, percent};

pub(super) const NAME: &str = "policer";

/// Fewer losses are those of a full queue.
const LEAST_LOSS: f64 = 0.005;
/// The congestion window is the limit in this part of the time.
const OFTEN: f64 = 0.4;
/// A window that is halved at a rate grows from half of it to all: the highest rate over a second
/// is at most this part of the mean.
const CAPPED: f64 = 4.0 / 3.0;

pub(super) fn find(subject: &Subject<'_>) -> Option<Finding> {
    if !subject.uploads() || subject.is_idle() {
        return None;
    }
    let active = subject.active(0.02);
    let flow = active.into_iter().find(|flow| is_policed(flow))?;
    let rate = mbit(flow.sent_bps());
    Some(Finding {
        cause: NAME,
        verdict: format!(
            "a network drops what exceeds {rate} on {}",
            flow.name(subject.host)
        ),
        evidence: vec![
            format!(
                "{} of its segments were lost, at a rate of {rate}",
                percent(loss(flow))
            ),
            queueing(flow),
        ],
        cost: Cost::new(
            0.0,
            "nothing: it carries as much as the network lets through",
        ),
        fix: Fix::default(),
        remedy: None,
        gain: None,
    })
}

fn is_policed(flow: &Flow<'_>) -> bool {
    let is_capped = flow.carried_bps(true) <= CAPPED * flow.sent_bps();
    flow.full_share() >= OFTEN
        && has_no_queue(flow)
        && loss(flow) >= LEAST_LOSS
        && (is_steady(flow) || is_capped && is_clustered(flow))
}
