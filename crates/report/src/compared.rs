//! The table of `compare`.

use joulepath_model::result::{Comparison, Reference};

use crate::sheet::{PARTIAL, Sheet, notes, reference_name};
use crate::table::View;
use crate::text::wrapped;

const BOLD: &str = "\u{1b}[1m";
const PLAIN: &str = "\u{1b}[0m";

/// Title, table and notes, at most `width` characters wide. Columns and half-widths are hidden in a
/// fixed order, and the last line counts them; `usize::MAX` shows everything. `color` highlights
/// the most efficient policy; the caller checks for a terminal and NO_COLOR.
pub fn table(comparison: &Comparison, width: usize, color: bool) -> String {
    table_with(comparison, width, color, "`--wide` shows them.")
}

/// Like [`table`]. If columns are hidden, the sentence `wider` says how to show them.
pub fn table_with(comparison: &Comparison, width: usize, color: bool, wider: &str) -> String {
    let sheet = Sheet::of(comparison);
    let columns: Vec<_> = sheet.columns.iter().collect();
    let (lines, hidden) = sheet
        .table(&columns, |_, line| line)
        .text(View { width, color });
    let title = wrap(&title(comparison), width);
    let mut blocks = vec![if color {
        format!("{BOLD}{title}{PLAIN}")
    } else {
        title
    }];
    if comparison.partial {
        blocks.push(wrap(PARTIAL, width));
    }
    blocks.push(lines);
    let mut remarks = remarks(comparison);
    remarks.extend(hidden.map(|hidden| format!("{hidden}; {wider}")));
    blocks.push(
        remarks
            .iter()
            .map(|remark| wrap(remark, width))
            .collect::<Vec<_>>()
            .join("\n"),
    );
    blocks.join("\n\n") + "\n"
}

/// Limits in words, and notes.
pub(crate) fn remarks(comparison: &Comparison) -> Vec<String> {
    let limit = |limit: &Reference| format!("{}: {}", reference_name(&limit.kind), limit.label);
    comparison
        .references
        .iter()
        .map(limit)
        .chain(notes(comparison))
        .collect()
}

/// Title line: scenario, engine, seeds, duration.
pub(crate) fn title(comparison: &Comparison) -> String {
    let seeds = if comparison.seeds == 1 {
        "1 seed".into()
    } else {
        format!("{} seeds", comparison.seeds)
    };
    let scenario = &comparison.scenario;
    format!(
        "{} · {} engine · {seeds} · {} s",
        scenario.title, comparison.engine, scenario.duration_s
    )
}

fn wrap(text: &str, width: usize) -> String {
    wrapped(text, width, "  ")
}
