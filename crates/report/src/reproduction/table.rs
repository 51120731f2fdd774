//! The scoreboard for a terminal.

use super::{Finding, Report, Reproduction, Verdict};
use crate::table::{Align, Cell, Column, Line, Rank, Table, Tone, View};

const BOLD: &str = "\u{1b}[1m";
const PLAIN: &str = "\u{1b}[0m";
/// Widths of a finding's text: maximum, with intervals on their own line, and minimum.
const WORDS: [usize; 3] = [70, 40, 18];
/// Width of `not reproduced`, the longest verdict, of half of a stated range, and of a mean or its
/// interval.
const VERDICT: usize = 14;
const STATED: usize = 9;
const MEASURED: usize = 14;

/// Every experiment with its deciding finding. At most `width` characters wide, if that is enough
/// for ids, verdicts and numbers; `color` highlights verdicts.
pub fn reproduction_table(all: &Reproduction, width: usize, color: bool) -> String {
    let title = format!(
        "Experiments of the papers · {} · {} runs",
        all.extent, all.runs
    );
    let mut text = if color {
        format!("{BOLD}{title}{PLAIN}\n\n")
    } else {
        format!("{title}\n\n")
    };
    if all.partial {
        text += "PARTIAL: some runs are missing; the same command resumes them.\n\n";
    }
    text += &board(all).text(View { width, color }).0;
    let counted = Verdict::ALL
        .into_iter()
        .filter(|verdict| all.count(*verdict) > 0);
    let counts: Vec<String> = counted
        .map(|verdict| {
            let (rows, causes) = (all.count(verdict), all.causes(Some(verdict)));
            let of = if causes == rows {
                String::new()
            } else {
                format!(" (of {causes} causes)")
            };
            format!("{rows} {}{of}", verdict.name())
        })
        .collect();
    let counts = if counts.is_empty() {
        "no experiment".to_owned()
    } else {
        counts.join(", ")
    };
    text += &format!("\n\n{}\n", textwrap::fill(&counts, width));
    if !all.left_out.is_empty() {
        let said = format!(
            "{} longer experiments are left out; name them or their paper, or use --full: {}",
            all.left_out.len(),
            all.left_out.join(", ")
        );
        // Ids stay whole.
        let options =
            textwrap::Options::new(width).word_splitter(textwrap::WordSplitter::NoHyphenation);
        text += &format!("{}\n", textwrap::fill(&said, options));
    }
    text
}

/// One line for each experiment.
fn board(all: &Reproduction) -> Table {
    let [most, fewer, least] = WORDS;
    let columns = [
        Column::words("experiment"),
        Column::words("verdict").fold(LONG).narrow(Rank(1), VERDICT),
        Column::words("deciding finding")
            .fold(most)
            .narrow(Rank(0), fewer)
            .narrow(Rank(3), least),
        Column::words("stated")
            .align(Align::Right)
            .fold(LONG)
            .narrow(Rank(4), STATED),
        Column::words("measured")
            .fold(LONG)
            .narrow(Rank(2), MEASURED),
    ];
    let line = |report: &Report| {
        let (words, stated, measured) = deciding(report).map_or_else(
            || (report.reason.clone(), String::new(), String::new()),
            |finding| {
                let shown = finding.shown();
                (
                    described(finding),
                    shown.stated.clone(),
                    shown.measured(" "),
                )
            },
        );
        Line::new([
            Cell::text(&report.id),
            Cell::text(short(report)).tone(tone(report.verdict)),
            Cell::text(words),
            Cell::text(stated),
            Cell::text(measured.replace(", ", ",\u{a0}")),
        ])
    };
    Table::new(columns).with(all.experiments.iter().map(line))
}

/// Longer than any verdict and any interval.
const LONG: usize = 60;

/// The verdict, whether a part of the claim is not judged, the kernel's agreement, and the number
/// of missing runs.
fn short(report: &Report) -> String {
    let kernel = match &report.kernel {
        Some(kernel) => format!("\nkernel: {}", kernel.agreement.name()),
        None => String::new(),
    };
    let missing = if report.missing > 0 {
        format!("\n{} missing", report.missing)
    } else {
        String::new()
    };
    let part = if report.holds_in_part() {
        "\na part is not judged"
    } else {
        ""
    };
    format!("{}{part}{kernel}{missing}", report.verdict.name())
}

fn described(finding: &Finding) -> String {
    let what = finding.what_and_where();
    if finding.unit.is_empty() {
        what
    } else {
        format!("{what}, {}", finding.unit)
    }
}

/// The first finding with the experiment's verdict, under its reading. Findings that are only shown
/// decide nothing.
fn deciding(report: &Report) -> Option<&Finding> {
    // A failing finding shows a slip.
    let deciding = match report.verdict {
        Verdict::Erratum => Verdict::NotReproduced,
        Verdict::InSimulation => Verdict::Reproduced,
        other => other,
    };
    report
        .findings_of_its_reading()
        .find(|finding| finding.verdict == Some(deciding))
}

fn tone(verdict: Verdict) -> Tone {
    match verdict {
        Verdict::Reproduced => Tone::Good,
        Verdict::InSimulation | Verdict::DirectionOnly => Tone::Fair,
        Verdict::NotReproduced => Tone::Bad,
        Verdict::Inconclusive | Verdict::Erratum => Tone::Note,
        Verdict::NotTestable | Verdict::NotRun => Tone::Dim,
    }
}
