//! The league as text and as Markdown.

use std::collections::BTreeMap;

use super::{League, MOST_TCPS, Rounded, Row, SummaryRow};
use crate::text::{cut, seeds, wrapped};

/// Longest label: the table has 80 columns.
const LABEL: usize = 26;
/// Marks a policy that takes more than its share.
const TOO_MUCH: &str = "†";

/// For a terminal: the table has 80 columns, the notes below it `width`.
pub fn table(league: &League, width: usize) -> String {
    let line = |cells: [&str; 9]| {
        let [rank, label, limit, worst, link, goodput, least, share, most] = cells;
        let numbers = format!("{limit:>10}{worst:>6}{link:>7}{goodput:>8}{least:>6}{share:>7}{most:>6}");
        format!("{rank:>2} {label:LABEL$} {numbers}").trim_end().to_owned() + "\n"
    };
    let mut text = format!("{}\n\n", title(league));
    text += &line(["", "", "of limit", "%", "links %", "goodput", "", "TCPs", ""]);
    text += &line(["", "policy", "median", "worst", "median", "median", "worst", "median", "most"]);
    text += &format!("{}\n", "─".repeat(80));
    for policy in &league.policies {
        let cells = cells(policy);
        let cells: Vec<&str> = cells.iter().map(String::as_str).collect();
        text += &line(cells.try_into().expect("a line has nine cells"));
    }
    text += "\n";
    for note in notes(league) {
        text += &format!("{}\n", wrapped(&note, width, "  "));
    }
    text
}

/// For README.md.
pub fn markdown(league: &League) -> String {
    let mut text =
        "| | policy | of limit, %: median | worst | of links' limit, %: median | goodput: median | worst \
                    | TCPs: median | most |\n|---:|---|---:|---:|---:|---:|---:|---:|---:|\n"
            .to_owned();
    for policy in &league.policies {
        let [rank, _, numbers @ ..] = cells(policy);
        let label = match policy.baseline {
            Some(_) => format!("*{}*", policy.label),
            None => policy.label.clone(),
        };
        text += &format!("| {rank} | {label} | {} |\n", numbers.join(" | "));
    }
    let notes: Vec<String> = notes(league).collect();
    format!("{text}\n{}. {}\n", title(league), notes.join(" "))
}

fn title(league: &League) -> String {
    let scenarios = league.scenarios.len();
    let partial = if league.partial { ", INCOMPLETE" } else { "" };
    let engine = &league.engine;
    format!(
        "The papers' scenarios, {scenarios} of them, {engine} engine, {} each{partial}",
        seeds(league.seeds)
    )
}

fn cells(policy: &Row) -> [String; 9] {
    let percent = |summary: &Option<SummaryRow>, of: fn(&SummaryRow) -> f64| match summary {
        Some(summary) => format!("{:.1}", of(summary) * 100.0),
        None => "–".to_owned(),
    };
    let ratio = |summary: &Option<SummaryRow>, of: fn(&SummaryRow) -> f64| match summary {
        Some(summary) => format!("{:.2}", of(summary)),
        None => "–".to_owned(),
    };
    let (median, worst) = (|summary: &SummaryRow| summary.median.mean, |summary: &SummaryRow| summary.worst);
    [
        policy.rank.map_or_else(|| "–".to_owned(), |rank| rank.to_string()),
        cut(&policy.label, LABEL),
        policy.of_limit.as_ref().map_or_else(|| "–".to_owned(), |limit| with_interval(limit.median)),
        percent(&policy.of_limit, worst),
        percent(&policy.of_link_limit, median),
        ratio(&policy.goodput, median),
        ratio(&policy.goodput, worst),
        ratio(&policy.tcp_share, median),
        ratio(&policy.tcp_share, worst) + if policy.takes_too_much { TOO_MUCH } else { "" },
    ]
}

/// In percent, with half of the interval.
fn with_interval(share: Rounded) -> String {
    let half = (share.hi - share.lo) / 2.0;
    format!("{:.1} ±{:.1}", share.mean * 100.0, half * 100.0)
}

/// How to read it, and what is missing.
fn notes(league: &League) -> impl Iterator<Item = String> {
    let mut missing: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for policy in &league.policies {
        for (scenario, why) in policy.missing() {
            missing.entry(why).or_default().push(format!("{} in {scenario}", policy.label));
        }
    }
    let missing: Vec<String> =
        missing.into_iter().map(|(why, cells)| format!("Missing: {}: {why}.", cells.join(", "))).collect();
    let left_out: Vec<String> =
        league.left_out.iter().map(|left| format!("{} ({})", left.scenario, left.why)).collect();
    let reading = [
        "Of limit: joules per bit of the best that TCP-friendly rates allow, over the policy's; ± half of \
         the 95 % interval over the seeds. Its median over the scenarios makes the order."
            .to_owned(),
        "Links: the same with all that the links carry, which no transport reaches under random \
         loss."
            .to_owned(),
        "Goodput: over that of the best single path of the scenario.".to_owned(),
        format!(
            "TCPs: goodput of a connection over that of a TCP with which it shares bottlenecks ({}); \
             {TOO_MUCH} more than {MOST_TCPS} of them: what it gains is not its own.",
            shared(league)
        ),
    ];
    let left_out = match left_out.as_slice() {
        [] => None,
        left_out => Some(format!("Left out: {}.", left_out.join(", "))),
    };
    reading.into_iter().chain(missing).chain(left_out)
}

/// The scenarios with competitors.
fn shared(league: &League) -> String {
    let shared = league.scenarios.iter().filter(|scenario| scenario.competing_tcps > 0);
    shared.map(|scenario| scenario.name.as_str()).collect::<Vec<_>>().join(", ")
}
