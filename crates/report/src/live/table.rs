//! Judged cases as text and as Markdown.

use std::fmt::Write as _;

use super::{Case, Chooser, Contender, Judged, OF_BEST, TOLERANCE, Verdict};
use crate::text::{cut, seeds};

/// Longest names of a contender in a table of 80 columns.
const NAME: usize = 24;

/// For a terminal: 80 columns.
pub fn table(judged: &Judged) -> String {
    let mut text = title(judged) + "\n";
    for case in &judged.cases {
        let (scenario, intent) = (&case.scenario, case.intent.word());
        let _ = write!(text, "\n{}: {intent}\n{}\n", cut(scenario, 40), case.title);
        let _ = writeln!(
            text,
            "{:NAME$} {:>8} {:>8} {:>8} {:>8} {:>8}  {}",
            "",
            "J",
            "Mbit/J",
            "Mbit/s",
            "done, s",
            "p95, ms",
            case.paths.join("/")
        );
        for one in &case.contenders {
            let _ = writeln!(
                text,
                "{:NAME$} {:>8} {:>8} {:>8} {:>8} {:>8}  {}",
                cut(&one.name, NAME),
                number(one.energy_j),
                number(one.bits_per_joule / 1e6),
                number(one.goodput_bps / 1e6),
                one.completion_s.map_or_else(String::new, number),
                one.delay_p95_s.map_or_else(String::new, |delay| number(delay * 1e3)),
                megabytes(one)
            );
        }
        if let Some(limit) = case.limit_bits_per_joule {
            let _ = writeln!(text, "{:NAME$} {:>8} {:>8}", "limit of the links", "", number(limit / 1e6));
        }
        match &case.verdict {
            Some(verdict) => text += &(in_words(verdict) + "\n"),
            None => text += "no verdict: runs are missing\n",
        }
    }
    text
}

/// For docs/live-results.md.
pub fn markdown(judged: &Judged) -> String {
    let mut text = format!(
        "{}. Joules for each bit relative to plain MPTCP with all endpoints: goal at most 100 %. Bits for \
         each joule relative to the best contender that does the work: goal at least {:.0} % for `frugal`. \
         Goodput relative to the best single path: goal at least 100 % for `interactive` and `aggregate`. \
         Differences up to {:.0} % are not told apart.\n\n",
        title(judged),
        OF_BEST * 100.0,
        TOLERANCE * 100.0
    );
    text += "| scenario | intent | joules of plain's, % | of the best, % | best | of the limit, % | goodput \
             of the best single, % | reached |\n|---|---|---:|---:|---|---:|---:|---|\n";
    for case in &judged.cases {
        let Some(verdict) = &case.verdict else { continue };
        let daemon = case.contenders.iter().find(|one| one.chooser == Chooser::Daemon);
        let of_limit = case
            .limit_bits_per_joule
            .zip(daemon)
            .map_or_else(String::new, |(limit, daemon)| percent(daemon.bits_per_joule / limit));
        let _ = writeln!(
            text,
            "| {} | `{}` | {} | {} | `{}` | {of_limit} | {} | {} |",
            case.scenario,
            case.intent.word(),
            percent(verdict.energy_of_plain),
            percent(verdict.efficiency_of_best),
            verdict.best,
            verdict.goodput_of_single.map_or_else(String::new, percent),
            if is_reached(verdict) { "yes" } else { "**no**" }
        );
    }
    text += "\n| scenario | who chooses | J | Mbit/J | Mbit/s | done, s | delay p95, ms | MB by path |\n\
             |---|---|---:|---:|---:|---:|---:|---|\n";
    for case in &judged.cases {
        for (place, one) in case.contenders.iter().enumerate() {
            let _ = writeln!(
                text,
                "| {} | `{}` | {} | {} | {} | {} | {} | {} |",
                if place == 0 { &case.scenario } else { "" },
                one.name,
                number(one.energy_j),
                number(one.bits_per_joule / 1e6),
                number(one.goodput_bps / 1e6),
                one.completion_s.map_or_else(String::new, number),
                one.delay_p95_s.map_or_else(String::new, |delay| number(delay * 1e3)),
                by_path(case, one)
            );
        }
    }
    text
}

fn title(judged: &Judged) -> String {
    format!("Kernel {}, {} of each contender", judged.release, seeds(judged.seeds))
}

/// Whether all goals are reached that the intent has.
fn is_reached(verdict: &Verdict) -> bool {
    verdict.saves && verdict.near_best != Some(false) && verdict.as_fast != Some(false)
}

fn in_words(verdict: &Verdict) -> String {
    let mut parts = vec![
        format!("{} of plain's joules for each bit", percent_sign(verdict.energy_of_plain)),
        format!(
            "{} of the bits for each joule of {}",
            percent_sign(verdict.efficiency_of_best),
            verdict.best
        ),
    ];
    if let Some(goodput) = verdict.goodput_of_single {
        parts.push(format!("{} of the best single path's goodput", percent_sign(goodput)));
    }
    let reached = if is_reached(verdict) { "goals reached" } else { "goals missed" };
    format!("{reached}: {}", parts.join("; "))
}

fn percent(part: f64) -> String {
    format!("{:.0}", part * 100.0)
}

fn percent_sign(part: f64) -> String {
    percent(part) + " %"
}

/// Three significant digits.
fn number(value: f64) -> String {
    let digits = match value.abs() {
        value if value >= 100.0 => 0,
        value if value >= 10.0 => 1,
        _ => 2,
    };
    format!("{value:.digits$}")
}

fn megabytes(one: &Contender) -> String {
    one.bytes.iter().map(|bytes| number(bytes / 1e6)).collect::<Vec<_>>().join("/")
}

fn by_path(case: &Case, one: &Contender) -> String {
    let part = |(name, bytes): (&String, &f64)| format!("{name} {}", number(bytes / 1e6));
    case.paths.iter().zip(&one.bytes).map(part).collect::<Vec<_>>().join(", ")
}
