//! The page as a function of what was seen. The template escapes all text.

use std::fs;

use askama::Template;
use joulepath_live::decide::Role;
use joulepath_live::status::{InterfaceStatus, QuotaStatus, Status};
use joulepath_why::report::Examined;

use super::observer::Observed;
use crate::figures::{self, UNKNOWN, duration, short};
use crate::{page as terminal, why};

/// Connections that the page shows.
const MOST: usize = 40;

/// What is known when a page is made.
pub(super) struct Seen {
    /// The daemon's status, or why there is none.
    pub(super) status: Result<Status, String>,
    pub(super) observed: Observed,
}

#[derive(Template)]
#[template(path = "board.html")]
struct Page<'a> {
    host: String,
    version: &'static str,
    head: Vec<String>,
    trouble: Option<Sentence>,
    warnings: Vec<Sentence>,
    rows: Vec<Row>,
    sources: String,
    remarks: Vec<Sentence>,
    why: Option<Vec<why::Parts>>,
    connections: Vec<Connection>,
    /// Why connections cannot be listed.
    unlisted: Option<&'a str>,
    hidden: Option<String>,
    events: Vec<(String, &'a str)>,
}

/// Parts of a sentence; true: what a user types.
type Sentence = Vec<(bool, String)>;

/// An interface.
struct Row {
    name: String,
    role: &'static str,
    used_as: &'static str,
    cells: [String; 8],
    reason: String,
    conflicts: Vec<String>,
    quota: Option<Quota>,
}

struct Quota {
    share: f64,
    percent: String,
    words: String,
}

struct Connection {
    peer: String,
    program: String,
    protocol: &'static str,
    over: String,
    down: String,
    up: String,
}

/// The page as HTML.
pub(super) fn page(seen: &Seen) -> String {
    let status = seen.status.as_ref().ok();
    let interfaces = || {
        status
            .iter()
            .flat_map(|status| &status.interfaces)
            .filter(|one| one.allowed)
    };
    let report = seen.observed.report.as_deref();
    let mut all: Vec<&Examined> = report
        .iter()
        .flat_map(|report| &report.connections)
        .collect();
    let rate = |one: &Examined| one.sent_bps + one.received_bps;
    all.sort_by(|a, b| rate(b).total_cmp(&rate(a)));
    let hindrances = status
        .and_then(|status| status.why.clone())
        .or_else(|| report.map(why::hindrances));
    let page = Page {
        host: host(),
        version: env!("CARGO_PKG_VERSION"),
        head: status.iter().flat_map(|status| head(status)).collect(),
        trouble: seen.status.as_ref().err().map(|error| {
            sentence(&format!(
                "{error}. Without the daemon this page shows connections only: `sudo joulepath on`."
            ))
        }),
        warnings: status
            .iter()
            .flat_map(|status| &status.warnings)
            .map(|text| sentence(text))
            .collect(),
        rows: interfaces().map(row).collect(),
        sources: status
            .and_then(|status| terminal::sources(&status.interfaces))
            .unwrap_or_default(),
        remarks: status
            .iter()
            .flat_map(|status| terminal::remarks(status))
            .map(|text| sentence(&text))
            .collect(),
        why: hindrances.map(|all| all.iter().map(why::parts).collect()),
        connections: all.iter().take(MOST).map(|one| connection(one)).collect(),
        unlisted: seen.observed.trouble.as_deref(),
        hidden: (all.len() > MOST)
            .then(|| format!("{} slower ones are not shown.", all.len() - MOST)),
        events: status
            .iter()
            .flat_map(|status| &status.events)
            .map(|event| (duration(event.ago_s), event.text.as_str()))
            .collect(),
    };
    // Its values are texts and numbers, which can always be rendered.
    page.render()
        .unwrap_or_else(|error| format!("<!doctype html><title>Joulepath</title><p>{error}"))
}

/// What the machine does, and what that saves.
fn head(status: &Status) -> impl Iterator<Item = String> {
    [figures::head(status).join(" · ")]
        .into_iter()
        .chain(figures::all_paths(status))
}

/// Splits at backticks.
fn sentence(text: &str) -> Sentence {
    text.split('`')
        .enumerate()
        .map(|(number, part)| (number % 2 == 1, part.to_owned()))
        .collect()
}

fn host() -> String {
    let name = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    if name.trim().is_empty() {
        "this host".into()
    } else {
        name.trim().to_owned()
    }
}

fn row(one: &InterfaceStatus) -> Row {
    Row {
        name: one.name.clone(),
        role: match one.role {
            Role::Regular => "regular",
            Role::Backup => "backup",
            Role::Unused => "unused",
        },
        used_as: if one.role == Role::Unused {
            "unused"
        } else {
            figures::role(one.role)
        },
        cells: terminal::cells(one),
        reason: terminal::reason(one),
        conflicts: one
            .conflicts
            .iter()
            .map(|(address, why)| format!("{address}: {why}"))
            .collect(),
        quota: one.quota.as_ref().and_then(quota),
    }
}

fn quota(quota: &QuotaStatus) -> Option<Quota> {
    let bound = quota.hard_bytes.or(quota.soft_bytes)?;
    let share = if bound == 0 {
        1.0
    } else {
        (quota.used_bytes as f64 / bound as f64).min(1.0)
    };
    Some(Quota {
        share,
        percent: format!("{:.0}", share * 100.0),
        words: figures::quota(quota),
    })
}

fn connection(one: &Examined) -> Connection {
    let program = one
        .program
        .as_ref()
        .map(|program| format!("{} ({})", program.name, program.pid));
    let over = if one.over.is_empty() {
        UNKNOWN.into()
    } else {
        one.over.join(", ")
    };
    Connection {
        peer: one.remote.clone(),
        program: program.unwrap_or(UNKNOWN.into()),
        protocol: if one.protocol == "mptcp" {
            "MPTCP"
        } else {
            "TCP"
        },
        over,
        down: short(one.received_bps / 1e6),
        up: short(one.sent_bps / 1e6),
    }
}
