//! The program limits its rate with `SO_MAX_PACING_RATE`.

use crate::finding::{Cost, Finding, Fix};
use crate::subject::{Flow, Subject};
use crate::words::mbit;

pub(super) const NAME: &str = "pacing-limit";

/// Part of the limit from which on it counts as used. Headers count, too.
const USED: f64 = 0.85;
/// The rate without the limit is unknown.
const SHARE: f64 = 0.5;

pub(super) fn find(subject: &Subject<'_>) -> Option<Finding> {
    if !subject.uploads() || subject.is_idle() {
        return None;
    }
    let limited: Vec<(&Flow<'_>, f64)> = subject
        .active(0.05)
        .into_iter()
        .filter_map(|flow| Some((flow, limit_bps(flow)?)))
        .collect();
    let used = |(flow, limit): &&(&Flow<'_>, f64)| flow.sent_bps() >= USED * limit;
    let (flow, limit) = limited.iter().find(used)?;
    if subject.waits().application > 1.0 - USED {
        return None;
    }
    Some(Finding {
        cause: NAME,
        verdict: "the program limits its rate".into(),
        evidence: vec![format!(
            "SO_MAX_PACING_RATE is {}; {} leave through {}, with data waiting",
            mbit(*limit),
            mbit(flow.sent_bps()),
            flow.name(subject.host)
        )],
        cost: Cost::new(
            SHARE,
            "the rate without the limit is unknown, counted as twice the present one",
        ),
        fix: Fix::advice("the program sets SO_MAX_PACING_RATE: raise or remove that"),
        remedy: None,
        gain: None,
    })
}

fn limit_bps(flow: &Flow<'_>) -> Option<f64> {
    Some(flow.info()?.max_pacing_rate_bytes_per_s? as f64 * 8.0)
}
