//! The league for a terminal.

use std::collections::BTreeMap;

use super::{LEAST, LEAST_KEPT, League, MOST_TCPS, Metric, Row, SummaryRow};
use crate::text::{cut, seeds, wrapped};

/// Longest label: the table has 80 columns.
const LABEL: usize = 22;
/// No label is longer.
pub(super) const LABEL_WHOLE: usize = 200;
/// Marks a policy that takes more than its share.
pub(super) const TOO_MUCH: &str = "†";
/// Marks a policy that harms others.
pub(super) const HARMS: &str = "‡";

/// The table has 80 columns, the notes below it `width`.
pub fn table(league: &League, width: usize) -> String {
    let line = |cells: [&str; 9]| {
        let [tier, label, score, limit, work, goodput, time, share, most] = cells;
        let numbers = format!("{score:>10} {limit:>8}{work:>7}{goodput:>8} {time:>5}{share:>7} {most:>6}");
        format!("{tier:>2} {label:LABEL$}{numbers}").trim_end().to_owned() + "\n"
    };
    let mut text = format!("{}\n\n", title(league));
    text += &line(["", "", "score", "limit %", "work %", "goodput", "time", "TCPs", "most"]);
    text += &format!("{}\n", "─".repeat(80));
    let mut tier = None;
    for policy in &league.policies {
        // A line of space between tiers; what has none stands where its score puts it.
        if policy.tier.is_some() && tier.is_some() && policy.tier != tier {
            text += "\n";
        }
        tier = policy.tier.or(tier);
        let cells = cells(policy, LABEL);
        let cells: Vec<&str> = cells.iter().map(String::as_str).collect();
        text += &line(cells.try_into().expect("a line has nine cells"));
    }
    text += "\n";
    for note in notes(league) {
        text += &format!("{}\n", wrapped(&note, width, "  "));
    }
    text
}

pub(super) fn title(league: &League) -> String {
    let (scenarios, families) = (league.scenarios.len(), league.families.len());
    let partial = if league.partial { ", INCOMPLETE" } else { "" };
    let families = if families == 1 { "one family".to_owned() } else { format!("{families} families") };
    format!(
        "{scenarios} scenarios of {families}, draws {}, {} engine, {} each{partial}",
        league.draw_seed,
        league.engine,
        seeds(league.seeds)
    )
}

/// Tier, label of at most so many characters, score with interval, limit, work, goodput, time, TCPs, most
/// TCPs.
pub(super) fn cells(policy: &Row, label: usize) -> [String; 9] {
    let mean = |summary: &SummaryRow| summary.mean.mean;
    let text = |summary: &Option<SummaryRow>, write: &dyn Fn(&SummaryRow) -> String| {
        summary.as_ref().map_or_else(|| "–".to_owned(), write)
    };
    let percent = |summary: &Option<SummaryRow>| text(summary, &|s| format!("{:.1}", mean(s) * 100.0));
    let ratio = |summary: &Option<SummaryRow>| text(summary, &|s| format!("{:.2}", mean(s)));
    let marks = marks(policy);
    [
        policy.tier.map_or_else(|| "–".to_owned(), |tier| tier.to_string()),
        cut(&policy.label, label),
        text(&policy.score, &with_interval),
        percent(&policy.of_limit),
        percent(&policy.work),
        ratio(&policy.goodput),
        ratio(&policy.time),
        ratio(&policy.tcp_share) + &marks,
        text(&policy.tcp_share, &|share| format!("{:.2}", share.worst)),
    ]
}

/// What is wrong with how it treats others.
pub(super) fn marks(policy: &Row) -> String {
    let all = [(policy.takes_too_much, TOO_MUCH), (policy.harms, HARMS)];
    all.iter().filter(|(has, _)| *has).map(|(_, mark)| *mark).collect()
}

/// In percent, with half of the interval; without, where nothing varies: one scenario a family, one seed.
pub(super) fn with_interval(score: &SummaryRow) -> String {
    let half = (score.mean.hi - score.mean.lo) / 2.0;
    if half == 0.0 {
        return format!("{:.1}", score.mean.mean * 100.0);
    }
    format!("{:.1} ±{:.1}", score.mean.mean * 100.0, half * 100.0)
}

/// How to read it, and what is missing.
pub(super) fn notes(league: &League) -> impl Iterator<Item = String> {
    let reading = [
        format!(
            "Score: share of the energy limit times the work that is done in time, each at least {:.0} %; \
             ± half of the 95 % interval over scenarios and seeds. Policies of one tier are not told \
             apart, 5 % error over all pairs. Means are geometric over scenarios and families, of TCPs \
             arithmetic.",
            LEAST * 100.0
        ),
        "Limit: bits per joule over the best that TCP-friendly rates allow. Work: done in time over offered \
         (endless data: what one TCP on each bottleneck carries; files and requests: what the fastest single \
         path does; streams and messages: what comes before its deadline)."
            .to_owned(),
        "Goodput, time: over those of the fastest single path; time is that of a file, or the 95th \
         percentile of delays."
            .to_owned(),
        format!(
            "TCPs: goodput of a connection over that of a TCP at the bottleneck that they share ({}); \
             {TOO_MUCH} more than {MOST_TCPS} in the mean: what it gains is not its own; {HARMS} the \
             TCPs keep less \
             than {LEAST_KEPT} of what they have beside a NewReno in its place.",
            shared(league)
        ),
    ];
    reading.into_iter().chain(same(league)).chain(missing(league)).chain(left_out(league))
}

/// Policies that did the same as others.
fn same(league: &League) -> Option<String> {
    let pairs = league.policies.iter().filter(|policy| !policy.also.is_empty());
    let texts: Vec<String> = pairs
        .map(|policy| format!("{} did in every run what {} did", policy.also.join(", "), policy.policy))
        .collect();
    (!texts.is_empty()).then(|| format!("One row: {}.", texts.join("; ")))
}

fn missing(league: &League) -> Vec<String> {
    let mut missing: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for policy in &league.policies {
        for (scenario, why) in policy.missing() {
            missing.entry(why).or_default().push(format!("{} in {scenario}", policy.label));
        }
    }
    missing.into_iter().map(|(why, cells)| format!("Missing: {}: {why}.", cells.join(", "))).collect()
}

fn left_out(league: &League) -> Option<String> {
    let texts: Vec<String> =
        league.left_out.iter().map(|left| format!("{} ({})", left.scenario, left.why)).collect();
    (!texts.is_empty()).then(|| format!("Left out: {}.", texts.join(", ")))
}

/// How many scenarios have competitors.
fn shared(league: &League) -> String {
    let shared = league.scenarios.iter().filter(|scenario| scenario.competing_tcps > 0).count();
    if shared == 1 { "one scenario".to_owned() } else { format!("{shared} scenarios") }
}

/// The families in which a metric is measured for any policy.
pub(super) fn families(league: &League) -> Vec<&str> {
    let has = |family: &&str| {
        league.policies.iter().any(|policy| policy.in_family(family, Metric::Score).is_some())
    };
    league.families.iter().map(|family| family.name.as_str()).filter(has).collect()
}
