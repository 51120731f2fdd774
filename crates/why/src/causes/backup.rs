//! A subflow is a backup by the choice of either end, and would carry data otherwise.

use super::joins::idle_share;
use crate::finding::{Finding, Fix, Remedy};
use crate::subject::{Flow, Subject};
use crate::words::percent;

pub(super) const NAME: &str = "backup";

/// Less is probing, or data on its way when the priority changed.
const LEAST: f64 = 0.05;
/// An application that leaves the network idle this part of the time needs no second path.
const OFTEN: f64 = 0.6;

pub(super) fn find(subject: &Subject<'_>) -> Option<Finding> {
    subject.multipath()?;
    let is_limited = subject.uploads() && subject.waits().application >= OFTEN;
    let has_regular = subject
        .flows
        .iter()
        .any(|flow| !flow.is_backup() && flow.unanswered_s().is_none());
    if subject.is_idle() || is_limited || !has_regular {
        return None;
    }
    let sum = subject.rate_bps().max(1.0);
    let carried = |flow: &Flow<'_>| flow.sent_bps().max(flow.received_bps()) / sum;
    let is_spared = |flow: &Flow<'_>| {
        let name = flow
            .device
            .map(|device| subject.host.device_name(device))
            .unwrap_or_default();
        subject
            .host
            .daemon
            .as_ref()
            .is_some_and(|daemon| daemon.of(&name).is_some())
    };
    let is_idle = |flow: &&Flow<'_>| {
        flow.is_backup() && !flow.is_joining() && !is_spared(flow) && carried(flow) < LEAST
    };
    let idle: Vec<&Flow<'_>> = subject.flows.iter().filter(is_idle).collect();
    let first = idle.first()?;
    let membership = first.socket.membership?;
    let remote = subject.remote.ip();
    let (whose, fix) = if membership.backup_locally {
        ("this host", here(subject, first))
    } else {
        // The address of the first subflow has id 0 for this host, whatever its endpoint's id is
        // there.
        let which = match membership.remote_id.0 {
            0 => first.socket.remote.ip().to_string(),
            id => format!("id {id}"),
        };
        let there = format!(
            "on {remote}: `ip mptcp endpoint change {which} nobackup`, if it shall carry data"
        );
        ("the peer", Fix::advice(there))
    };
    Some(Finding {
        cause: NAME,
        verdict: format!(
            "the subflow between {} and {} is a backup by choice of {whose}",
            first.name(subject.host),
            first.socket.remote.ip()
        ),
        evidence: vec![format!(
            "it carries {} of the data while a regular subflow works; priority {}",
            percent(carried(first)),
            if membership.backup_locally {
                "sent by this host"
            } else {
                "received (MP_JOIN or MP_PRIO)"
            }
        )],
        cost: idle_share(subject, idle.len()),
        fix,
        remedy: Some(Remedy::Add(
            idle.iter().filter_map(|flow| flow.device).collect(),
        )),
        gain: None,
    })
}

/// Makes a backup regular where this host's endpoint made it one.
fn here(subject: &Subject<'_>, flow: &Flow<'_>) -> Fix {
    let ip = flow.socket.local.ip();
    let mut endpoints = subject
        .host
        .endpoints
        .iter()
        .flatten()
        .filter(|one| one.address == ip && one.backup);
    match endpoints.find_map(|one| one.id) {
        Some(id) => Fix::commands([format!("ip mptcp endpoint change id {id} nobackup")])
            .or("only if it shall carry data: a backup saves its energy and its quota"),
        None => Fix::advice("the program that opened it made it a backup: ask that program"),
    }
}
