//! The application is the limit: it writes or reads less than the network would carry.

use super::silence;
use super::window::is_read_slowly;
use crate::finding::{Cost, Finding, Fix};
use crate::subject::Subject;
use crate::words::{mbit, percent};

pub(super) const NAME: &str = "application";

/// Part of the time without data to send.
const OFTEN: f64 = 0.6;

pub(super) fn find(subject: &Subject<'_>) -> Option<Finding> {
    if subject.is_idle() || !silence::all(subject).is_empty() {
        return None;
    }
    let rate = mbit(subject.rate_bps());
    let (verdict, evidence) = match subject.uploads() {
        true => {
            let waiting = subject.waits().application;
            let often = format!(
                "nothing waited to be sent in {} of the time, at {rate}",
                percent(waiting)
            );
            (waiting >= OFTEN).then_some(("the application sends no faster", often))?
        }
        false => {
            let full = format!("more than half of the receive buffer is unread data, at {rate}");
            is_read_slowly(subject).then_some(("this host's application reads no faster", full))?
        }
    };
    Some(Finding {
        cause: NAME,
        verdict: verdict.into(),
        evidence: vec![evidence, "the congestion windows had room".into()],
        cost: Cost::new(0.0, "nothing: the network would carry more"),
        fix: Fix::default(),
        remedy: None,
        gain: None,
    })
}
