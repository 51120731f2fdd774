//! The league for pages: the tiers alone, and everything.

use super::table::{LABEL_WHOLE, cells, families, marks, notes, title};
use super::{League, Metric, Row};

/// Most lines of the short table that are tiers; the rest share one.
const MOST_TIERS: usize = 8;

/// For README.md: a line for each tier.
pub fn short_markdown(league: &League) -> String {
    let mut text =
        "| tier | policies | score, % | limit, % | work, % | TCPs |\n|---:|---|---:|---:|---:|---:|\n"
            .to_owned();
    let tiers = league.policies.iter().filter_map(|policy| policy.tier).max().unwrap_or(0);
    for tier in 1..=tiers.min(MOST_TIERS) {
        let is_rest = tier == MOST_TIERS && tiers > MOST_TIERS;
        let has = |policy: &&Row| policy.tier.is_some_and(|own| own == tier || (is_rest && own > tier));
        let members: Vec<&Row> = league.policies.iter().filter(has).collect();
        let name = if is_rest { format!("{tier}–{tiers}") } else { tier.to_string() };
        text += &tier_line(&name, &members);
    }
    format!("{text}\n{}.\n", title(league))
}

fn tier_line(tier: &str, members: &[&Row]) -> String {
    let name = |policy: &&Row| format!("{}{}", policy.label, marks(policy));
    let range = |of: &dyn Fn(&Row) -> Option<f64>, digits: usize| {
        let known = || members.iter().filter_map(|policy| of(policy));
        let ends = [known().fold(f64::INFINITY, f64::min), known().fold(f64::NEG_INFINITY, f64::max)];
        let [lo, hi] = ends.map(|end| format!("{end:.digits$}"));
        match ends[0].is_finite() {
            false => "–".to_owned(),
            true if lo == hi => lo,
            true => format!("{lo}–{hi}"),
        }
    };
    let percent = |metric: Metric| range(&|policy| Some(100.0 * mean(policy, metric)?), 0);
    let shares = range(&|policy| mean(policy, Metric::TcpShare), 2);
    let names: Vec<String> = members.iter().map(name).collect();
    let [score, limit, work] = [Metric::Score, Metric::OfLimit, Metric::Work].map(percent);
    format!("| {tier} | {} | {score} | {limit} | {work} | {shares} |\n", names.join(", "))
}

fn mean(policy: &Row, metric: Metric) -> Option<f64> {
    let summary = match metric {
        Metric::Score => &policy.score,
        Metric::OfLimit => &policy.of_limit,
        Metric::OfLimitFree => &policy.of_limit_free,
        Metric::Work => &policy.work,
        Metric::Goodput => &policy.goodput,
        Metric::Time => &policy.time,
        Metric::TcpShare => &policy.tcp_share,
        Metric::Kept => &policy.kept,
    };
    Some(summary.as_ref()?.mean.mean)
}

/// For docs/league.md: every policy, and its score in each family.
pub fn full_markdown(league: &League) -> String {
    let mut text = format!("{}.\n\n", title(league));
    text += "| tier | policy | score, % | limit, % | work, % | goodput | time | TCPs | most |\n\
             |---:|---|---:|---:|---:|---:|---:|---:|---:|\n";
    for policy in &league.policies {
        let [tier, _, numbers @ ..] = cells(policy, LABEL_WHOLE);
        text += &format!("| {tier} | {} | {} |\n", label(policy), numbers.join(" | "));
    }
    let notes: Vec<String> = notes(league).collect();
    text += &format!("\n{}\n\n", notes.join("\n\n"));
    text += &by_family(league);
    text += "\n| family | scenarios | what |\n|---|---:|---|\n";
    for family in &league.families {
        let count = league.scenarios.iter().filter(|scenario| scenario.family == family.name).count();
        text += &format!("| {} | {count} | {} |\n", family.name, family.what);
    }
    text
}

/// Score of every policy in each family, in percent.
fn by_family(league: &League) -> String {
    let families = families(league);
    let mut text =
        format!("| score, % | {} |\n|---|{}\n", families.join(" | "), "---:|".repeat(families.len()));
    for policy in &league.policies {
        let cell = |family: &&str| match policy.in_family(family, Metric::Score) {
            Some(score) => format!("{:.0}", 100.0 * score),
            None => "–".to_owned(),
        };
        let cells: Vec<String> = families.iter().map(cell).collect();
        text += &format!("| {} | {} |\n", label(policy), cells.join(" | "));
    }
    text
}

fn label(policy: &Row) -> String {
    match policy.baseline {
        Some(_) => format!("*{}*", policy.label),
        None => policy.label.clone(),
    }
}
