//! The gauntlet for a terminal.

use super::Gauntlet;
use super::blocks::{BESIDE, Block, beside, blocks, notes, title};
use crate::text::{cut, wrapped};

/// Columns of the tables.
const WIDTH: usize = 80;
/// Longest and shortest label.
const LABEL: usize = 20;
const SHORTEST_LABEL: usize = 12;
/// Between the columns.
const GAP: &str = "  ";
/// What a cell has.
const PARTS: [&str; 3] = ["median", "p10", "worst"];

/// The tables have 80 columns, the notes below them `width`.
pub fn table(gauntlet: &Gauntlet, width: usize) -> String {
    let mut text = format!("{}\n", title(gauntlet));
    for block in blocks(gauntlet) {
        text += &format!("\n{}", of_family(&block));
    }
    text += &format!("\n{}\n", of_beside(gauntlet));
    for note in notes(gauntlet) {
        text += &format!("{}\n", wrapped(&note, width, "  "));
    }
    text
}

fn of_family(block: &Block) -> String {
    let draws = if block.draws == 1 { "draw" } else { "draws" };
    let title = format!("{}: {}, {} {draws}", block.family, block.what, block.draws);
    let mut text = wrapped(&title, WIDTH, "  ") + "\n";
    let widths: Vec<[usize; 3]> = (0..block.columns.len()).map(|column| widths(block, column)).collect();
    let all: usize = widths.iter().map(|&parts| GAP.len() + width(parts)).sum();
    let labels = block.lines.iter().map(|line| name(&line.label, line.start).chars().count());
    let most = WIDTH.saturating_sub(all).clamp(SHORTEST_LABEL, LABEL);
    let first = labels.max().unwrap_or(0).min(most);
    let row = |label: &str, cells: Vec<String>| {
        let cells: String = cells.iter().map(|cell| format!("{GAP}{cell}")).collect();
        format!("{:first$}{cells}", cut(label, first)).trim_end().to_owned() + "\n"
    };
    let heads = widths.iter().zip(&block.columns).map(|(&parts, head)| format!("{head:>0$}", width(parts)));
    text += &row("", heads.collect());
    text += &row("", widths.iter().map(|&parts| cell(parts, PARTS)).collect());
    text += &format!("{}\n", "─".repeat(first + all));
    for line in &block.lines {
        let cells = widths.iter().zip(&line.cells);
        let cells = cells.map(|(&widths, parts)| cell(widths, parts.each_ref().map(String::as_str)));
        text += &row(&name(&line.label, line.start), cells.collect());
    }
    text
}

/// The widths of the three parts of a column.
fn widths(block: &Block, column: usize) -> [usize; 3] {
    let mut widths = PARTS.map(str::len);
    for line in &block.lines {
        for (width, part) in widths.iter_mut().zip(&line.cells[column]) {
            *width = part.chars().count().max(*width);
        }
    }
    let short = block.columns[column].chars().count().saturating_sub(width(widths));
    widths[0] += short;
    widths
}

fn width(parts: [usize; 3]) -> usize {
    parts.iter().sum::<usize>() + 2
}

fn cell([a, b, c]: [usize; 3], [median, tenth, worst]: [&str; 3]) -> String {
    format!("{median:>a$} {tenth:>b$} {worst:>c$}")
}

/// Cold is the rule.
fn name(label: &str, start: &str) -> String {
    if start == "warm" { format!("{label} warm") } else { label.to_owned() }
}

fn of_beside(gauntlet: &Gauntlet) -> String {
    let heads: String = BESIDE.iter().map(|head| format!("{head:>14}")).collect();
    let mut text = format!("beside the best path and TCPs, draws of all families\n{:LABEL$}{heads}\n", "");
    text += &format!("{}\n", "─".repeat(LABEL + 14 * BESIDE.len()));
    for (label, start, counts) in beside(gauntlet) {
        let counts: String = counts.iter().map(|count| format!("{count:>14}")).collect();
        text += &format!("{:LABEL$}{counts}\n", cut(&name(&label, start), LABEL));
    }
    text
}
