//! A queue that is always full multiplies the RTT.

use super::random_loss::pacing;
use crate::finding::{Cost, Finding, Fix, Remedy};
use crate::subject::{Flow, Subject};
use crate::words::{mbit, ms};

pub(super) const NAME: &str = "bufferbloat";

/// A standing queue above this time, and above this multiple of the minimum RTT. A queue of one or
/// two bandwidth-delay products is common and harmless.
const QUEUE_S: f64 = 0.1;
const QUEUE: f64 = 2.5;

pub(super) fn find(subject: &Subject<'_>) -> Option<Finding> {
    if subject.is_idle() {
        return None;
    }
    let sending = subject.uploads();
    let bloated = |flow: &&&Flow<'_>| {
        let Some((queue_s, rtt_s)) = flow.queue_s(sending, 0.5).zip(flow.min_rtt_s()) else {
            return false;
        };
        queue_s >= QUEUE_S.max(QUEUE * rtt_s) && flow.unanswered_s().is_none()
    };
    let active = subject.active(0.05);
    let queue = |flow: &Flow<'_>| flow.queue_s(sending, 0.5).unwrap_or(0.0);
    let flow = active
        .iter()
        .filter(bloated)
        .max_by(|a, b| queue(a).total_cmp(&queue(b)))?;
    let (queue_s, rtt_s) = (queue(flow), flow.min_rtt_s()?);
    let rate_bps = if sending {
        flow.sent_bps()
    } else {
        flow.received_bps()
    };
    let (fix, remedy) = fix(subject, flow, sending);
    Some(Finding {
        cause: NAME,
        verdict: format!(
            "a long queue on {} delays everything that uses it",
            flow.name(subject.host)
        ),
        evidence: vec![
            format!(
                "RTT {} in the median, {} without the queue",
                ms(queue_s + rtt_s),
                ms(rtt_s)
            ),
            format!(
                "the queue holds {:.0} kB at {}",
                queue_s * rate_bps / 8e3,
                mbit(rate_bps)
            ),
        ],
        // Half, as the rate itself does not suffer.
        cost: Cost::new(
            0.5 * queue_s / (queue_s + rtt_s),
            format!(
                "the RTT is {:.1} times as long; the rate does not suffer (counted half)",
                1.0 + queue_s / rtt_s
            ),
        ),
        fix,
        remedy,
        gain: None,
    })
}

fn fix(subject: &Subject<'_>, flow: &Flow<'_>, sending: bool) -> (Fix, Option<Remedy>) {
    if !sending {
        let advice =
            "the queue is on the way here: BBR on the server, or CAKE on your router's downlink";
        return (Fix::advice(advice), None);
    }
    let (fix, remedy) = pacing(subject);
    // A server's device, and one that several paths share, is not the bottleneck.
    let same = subject
        .flows
        .iter()
        .filter(|one| one.device == flow.device)
        .count();
    let device = flow.device.filter(|_| same == 1 && subject.is_client());
    let fix = match device.map(|device| subject.host.device_name(device)) {
        Some(name) => fix.or(format!(
            "only new connections use it; CAKE on {name}, shaped to a little less than the uplink, spares all"
        )),
        None => fix,
    };
    (fix, Some(remedy))
}
