//! The scoreboard for the terminal.

use comfy_table::{Attribute, Cell, Color, LineStyle, Table, TableStyle};

use super::markdown::measured;
use super::{Finding, Report, Reproduction, Verdict};

const BOLD: &str = "\u{1b}[1m";
const PLAIN: &str = "\u{1b}[0m";
/// Under the header.
const RULE: char = '─';

/// One line for each experiment: verdict, and the finding that decided it. At most `width` characters wide, if that is enough for the
/// identities and verdicts; with `color`, verdicts stand out.
pub fn reproduction_table(all: &Reproduction, width: usize, color: bool) -> String {
    let title = format!("Experiments of the five papers · {} · {} runs", all.extent, all.runs);
    let mut text = if color { format!("{BOLD}{title}{PLAIN}\n\n") } else { format!("{title}\n\n") };
    if all.partial {
        text += "PARTIAL: some runs are missing; the same command goes on.\n\n";
    }
    text += &lines(all, width, color);
    let counts = Verdict::ALL.map(|verdict| format!("{} {}", all.count(verdict), verdict.name()));
    text += &format!("\n\n{}\n", counts.join(", "));
    text
}

fn lines(all: &Reproduction, width: usize, color: bool) -> String {
    let mut table = Table::new();
    table.set_style(TableStyle {
        header_separator: Some(LineStyle { horizontal: RULE, ..LineStyle::default() }),
        ..TableStyle::default()
    });
    if width < usize::from(u16::MAX) {
        table.set_content_arrangement(comfy_table::ContentArrangement::Dynamic);
        table.set_width(width as u16);
    }
    table.set_header(["experiment", "verdict", "what decided", "stated", "measured"]);
    for report in &all.experiments {
        let verdict = Cell::new(short(report));
        let verdict = if color { paint(verdict, report.verdict) } else { verdict };
        let decided = deciding(report);
        let (what, stated, ours) = decided.map_or_else(
            || (report.reason.clone(), String::new(), String::new()),
            |finding| (described(finding), finding.rule.stated(), measured(finding)),
        );
        table.add_row([Cell::new(&report.id), verdict, Cell::new(what), Cell::new(stated), Cell::new(ours)]);
    }
    let drawn = table.to_string();
    drawn.lines().map(str::trim_end).collect::<Vec<_>>().join("\n")
}

/// The verdict, and what the real stack says where it differs.
fn short(report: &Report) -> String {
    match &report.kernel {
        Some(kernel) if !kernel.agrees => {
            format!("{}; kernel: {}", report.verdict.name(), kernel.verdict.name())
        }
        _ => report.verdict.name().to_owned(),
    }
}

fn described(finding: &Finding) -> String {
    if finding.unit.is_empty() { finding.what.clone() } else { format!("{}, {}", finding.what, finding.unit) }
}

/// The first finding that has the experiment's verdict.
fn deciding(report: &Report) -> Option<&Finding> {
    report.findings.iter().find(|finding| finding.verdict == report.verdict)
}

fn paint(cell: Cell, verdict: Verdict) -> Cell {
    match verdict {
        Verdict::Reproduced => cell.fg(Color::Green),
        Verdict::DirectionOnly => cell.fg(Color::Yellow),
        Verdict::NotReproduced => cell.fg(Color::Red).add_attribute(Attribute::Bold),
        Verdict::CannotBe => cell.add_attribute(Attribute::Dim),
    }
}
