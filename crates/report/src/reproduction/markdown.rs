//! Results of one paper, for its page in `docs/papers`.

use joulepath_model::names::capitalised;

use super::{Finding, Report, Reproduction, SetUp, UsedValue, Verdict};
use crate::table::{Cell, Column, Line, Table};

/// Tables of the experiments whose id starts with `paper`; empty if there are none.
pub fn reproduction_markdown(all: &Reproduction, paper: &str) -> String {
    let reports: Vec<&Report> = all
        .experiments
        .iter()
        .filter(|report| report.id.starts_with(paper))
        .collect();
    if reports.is_empty() {
        return String::new();
    }
    let mut text = format!(
        "{}Intervals are 95 %, by bootstrap over seeds.\n\n",
        provenance(all)
    );
    let line = |report: &&Report| {
        Line::new(
            [
                format!("`{}`", report.id),
                report.claim.clone(),
                verdict(report),
            ]
            .map(Cell::text),
        )
    };
    let columns = ["experiment", "claim", "verdict"].map(Column::words);
    text += &Table::new(columns)
        .with(reports.iter().map(line))
        .markdown();
    for report in reports {
        text += &section(report);
    }
    text
}

/// Every value that the set-ups of `paper` use, with its origin; empty if there are none.
pub fn values_markdown(all: &Reproduction, paper: &str) -> String {
    let columns = ["value", "", "origin", "where, from what, or why"].map(Column::words);
    let set_ups = all
        .set_ups
        .iter()
        .filter(|set_up| set_up.name.starts_with(paper));
    let table = |set_up: &SetUp| {
        let line = |of: &UsedValue| {
            let key = format!("`{}`", of.key);
            Line::new(
                [
                    key,
                    of.value.clone(),
                    of.origin.name().to_owned(),
                    of.why.clone(),
                ]
                .map(Cell::text),
            )
        };
        let lines = Table::new(columns.clone()).with(set_up.values.iter().map(line));
        format!("**{}**\n\n{}", set_up.name, lines.markdown())
    };
    set_ups.map(table).collect::<Vec<_>>().join("\n")
}

/// All experiments by paper: number of each verdict, and each experiment with its claim. Links lead
/// to the papers' pages.
pub fn reproduction_summary(all: &Reproduction) -> String {
    format!(
        "{}\n\n{}\n{}",
        provenance(all).trim_end(),
        counts(all).markdown(),
        scoreboard(all).markdown()
    )
}

/// The command and its cost, one sentence; for rows of several commands, their commits.
fn provenance(all: &Reproduction) -> String {
    match all.merged {
        false => {
            let minutes = (all.run_s / 60.0).ceil();
            format!(
                "`{}`: {} runs, {minutes:.0} minutes of one core. ",
                all.command, all.runs
            )
        }
        true => "Each row names the commit that made it. ".to_owned(),
    }
}

/// Table of the number of experiments by paper and verdict, without this project's own statements.
fn counts(all: &Reproduction) -> Table {
    let verdicts = Verdict::ALL.map(|verdict| Column::numbers(verdict.name(), ""));
    let mut table = Table::new([Column::words("paper")].into_iter().chain(verdicts));
    let mut push = |name: String, counts: [usize; Verdict::ALL.len()]| {
        let counts = counts.map(|count| Cell::count(count as u64));
        table.push(Line::new([Cell::text(name)].into_iter().chain(counts)));
    };
    let count = |wanted: Option<&str>| {
        let of_paper = |report: &&Report| {
            !report.is_ours && wanted.is_none_or(|wanted| report.paper() == wanted)
        };
        let of_paper = || all.experiments.iter().filter(of_paper);
        Verdict::ALL.map(|verdict| {
            of_paper()
                .filter(|report| report.verdict == verdict)
                .count()
        })
    };
    for name in all.papers() {
        let page = if name == "claim" { "claims" } else { name };
        push(format!("[{page}]({page}.md)"), count(Some(name)));
    }
    push("all".to_owned(), count(None));
    push(
        format!("independent causes, {} in all", all.causes(None)),
        Verdict::ALL.map(|verdict| all.causes(Some(verdict))),
    );
    table
}

/// Table of every experiment with its verdict and the kernel's.
fn scoreboard(all: &Reproduction) -> Table {
    let columns = ["experiment", "claim", "verdict", "kernel"].map(Column::words);
    let line = |report: &Report| {
        let kernel = report.kernel.as_ref().map_or(String::new(), |second| {
            let far = second
                .farthest
                .as_ref()
                .map_or(String::new(), |far| format!(" ({})", far.words()));
            format!("{}{far}", second.agreement.name())
        });
        Line::new(
            [
                format!("`{}`", report.id),
                report.claim.clone(),
                verdict(report),
                kernel,
            ]
            .map(Cell::text),
        )
    };
    Table::new(columns).with(all.experiments.iter().map(line))
}

/// Verdict with its reading, whether a part of the claim is not judged, and a note on this
/// project's own statements.
fn verdict(report: &Report) -> String {
    let reading = report
        .reading
        .as_ref()
        .map_or(String::new(), |reading| format!(" ({reading})"));
    let ours = if report.is_ours {
        ", our own statement"
    } else {
        ""
    };
    let part = if report.holds_in_part() {
        ", a part is not judged"
    } else {
        ""
    };
    format!("{}{reading}{part}{ours}", report.verdict.name())
}

fn section(report: &Report) -> String {
    let text = format!(
        "\n### `{}`: {}\n\n{}. {} **{}.** {}",
        report.id,
        report.title,
        report.source,
        sentence(&report.claim),
        capitalised(&verdict(report)),
        sentence(&report.reason)
    );
    let mut text = text.trim_end().to_owned() + "\n";
    if report.missing > 0 {
        text += &format!("\n{} of its runs are missing.\n", report.missing);
    }
    if !report.findings.is_empty() {
        let columns = ["", "stated", "measured", "n", "verdict"].map(Column::words);
        let kernel = report.kernel.iter().flat_map(|kernel| &kernel.findings);
        let name = |of: &Finding| (of.what.clone(), of.reading.clone(), of.best_at.clone());
        let is_judged = |of: &Finding| {
            report
                .findings
                .iter()
                .any(|other| other.verdict.is_some() && name(other) == name(of))
        };
        let findings = report
            .findings
            .iter()
            .filter(|of| of.verdict.is_some() || !is_judged(of))
            .map(|finding| line(finding, ""));
        let lines = findings.chain(kernel.map(|finding| line(finding, " (kernel)")));
        text += &format!("\n{}", Table::new(columns).with(lines).markdown());
    }
    if let Some(kernel) = &report.kernel {
        let far = kernel
            .farthest
            .as_ref()
            .map_or(String::new(), |far| format!("; farthest: {}", far.words()));
        let made = kernel
            .made
            .as_ref()
            .map_or(String::new(), |made| format!(" ({})", made.words()));
        text += &format!(
            "\nIn the real stack: {}{far}.{made}\n",
            kernel.agreement.name()
        );
    }
    if let Some(made) = &report.made {
        text += &format!("\nMade by {}.\n", made.words());
    }
    if !report.set_up.is_empty() {
        text += "\nRuns:\n\n";
        text.extend(report.set_up.iter().map(|line| format!("- {line}\n")));
    }
    text
}

fn line(finding: &Finding, where_from: &str) -> Line {
    let unit = if finding.unit.is_empty() {
        String::new()
    } else {
        format!(", {}", finding.unit)
    };
    let verdict = finding.verdict.map_or("not judged", Verdict::name);
    let shown = finding.shown();
    Line::new([
        Cell::text(format!("{}{unit}{where_from}", finding.what_and_where())),
        Cell::text(&shown.stated),
        Cell::text(shown.measured(" ")),
        Cell::text(finding.n.to_string()),
        Cell::text(verdict),
    ])
}

/// A name or symbol at the start, such as `eMTCP` and `ψ_r`, keeps its small letter.
fn sentence(text: &str) -> String {
    let mut first = text.split(' ').next().unwrap_or_default().chars().skip(1);
    let text = match first.any(|letter| letter.is_uppercase() || letter == '_') {
        true => text.to_owned(),
        false => capitalised(text),
    };
    if text.is_empty() || text.ends_with('.') {
        text
    } else {
        text + "."
    }
}

#[cfg(test)]
mod tests {
    use super::sentence;

    #[test]
    fn a_sentence_begins_with_a_capital_but_a_name_stays_as_it_is() {
        assert_eq!(sentence("power of eMTCP"), "Power of eMTCP.");
        assert_eq!(sentence("eMTCP needs more."), "eMTCP needs more.");
        assert_eq!(sentence("so-MPTCP waits"), "so-MPTCP waits.");
        assert_eq!(sentence("ψ_r = c ε_r"), "ψ_r = c ε_r.");
        assert_eq!(sentence(""), "");
    }
}
