//! The gauntlet for a terminal.

use super::Gauntlet;
use super::blocks::{BESIDE, Block, beside, blocks, notes, title};
use crate::text::{cut, wrapped};

/// Columns of the tables.
const WIDTH: usize = 80;
/// Longest label.
const LABEL: usize = 20;
/// Width of median, worst tenth and worst together.
const CELL: usize = 20;

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
    let heads: String = block.columns.iter().map(|head| format!("{head:>CELL$}")).collect();
    text += &format!("{:LABEL$}{heads}\n", "");
    let parts: String = block.columns.iter().map(|_| cell(["median", "p10", "worst"])).collect();
    text += &format!("{:LABEL$}{parts}\n{}\n", "", "─".repeat(LABEL + CELL * block.columns.len()));
    for line in &block.lines {
        let cells: String =
            line.cells.iter().map(|parts| cell(parts.each_ref().map(String::as_str))).collect();
        text += format!("{:LABEL$}{cells}", named(&line.label, line.start)).trim_end();
        text += "\n";
    }
    text
}

fn cell([median, tenth, worst]: [&str; 3]) -> String {
    format!("{median:>9} {tenth:>4} {worst:>5}")
}

/// Cold is the rule.
fn named(label: &str, start: &str) -> String {
    let label = if start == "warm" { format!("{label} warm") } else { label.to_owned() };
    cut(&label, LABEL)
}

fn of_beside(gauntlet: &Gauntlet) -> String {
    let heads: String = BESIDE.iter().map(|head| format!("{head:>14}")).collect();
    let mut text = format!("beside the best path and TCPs, draws of all families\n{:LABEL$}{heads}\n", "");
    text += &format!("{}\n", "─".repeat(LABEL + 14 * BESIDE.len()));
    for (label, start, counts) in beside(gauntlet) {
        let counts: String = counts.iter().map(|count| format!("{count:>14}")).collect();
        text += &format!("{:LABEL$}{counts}\n", named(&label, start));
    }
    text
}
