//! Subflows without answers: common to several causes.

use joulepath_kernel::mptcp::TcpState;

use crate::subject::{Flow, Subject};

/// A pause before the unanswered data from which on a NAT may have forgotten the subflow, s. RFC
/// 5382 asks for two hours; mobile networks are known to take minutes or less.
const PAUSE_S: f64 = 20.0;
/// Data without an answer for this long is overdue on any path, s.
const OVERDUE_S: f64 = 1.0;

/// A subflow without answers.
pub(super) struct Silent<'a, 'b> {
    pub(super) flow: &'b Flow<'a>,
    /// Since the first retransmission timeout at least, s.
    pub(super) unanswered_s: f64,
    /// Since the first of the unanswered data was sent, s.
    pub(super) begun_s: f64,
    /// Nothing was heard for this long, s; `None`: never.
    pub(super) heard_s: Option<f64>,
    /// True if it had paused before.
    pub(super) has_paused: bool,
}

/// All subflows without answers. One that heard anything during the observation works. Joins
/// without an answer belong to the causes of joins.
pub(super) fn all<'a, 'b>(subject: &'b Subject<'a>) -> Vec<Silent<'a, 'b>> {
    let of = |flow: &'b Flow<'a>| {
        let info = flow.info()?;
        let unanswered_s = flow.unanswered_s().filter(|s| *s >= OVERDUE_S)?;
        let heard_s = (info.state != TcpState::SynSent).then(|| f64::from(info.heard_ms) / 1e3);
        // The present timeout began with the last transmission, at most its length ago.
        let begun_s = unanswered_s + f64::from(info.data_sent_ms.min(info.rto_us / 1000)) / 1e3;
        let has_paused = heard_s.is_some_and(|heard_s| heard_s - begun_s > PAUSE_S);
        let is_silent = heard_s.is_none_or(|heard_s| heard_s >= unanswered_s);
        is_silent.then_some(Silent {
            flow,
            unanswered_s,
            begun_s,
            heard_s,
            has_paused,
        })
    };
    subject
        .flows
        .iter()
        .filter(|flow| !flow.is_joining())
        .filter_map(of)
        .collect()
}

/// The part of the connection that is lost: all of it if no other subflow works.
pub(super) fn lost_share(subject: &Subject<'_>, silent: usize) -> f64 {
    let all = subject.flows.len().max(1);
    silent as f64 / all as f64
}
