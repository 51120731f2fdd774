//! The gauntlet for pages.

use super::Gauntlet;
use super::blocks::{BESIDE, beside, blocks, notes, title};

/// Name of the marks between which a page has the tables of a range, or of its draws from `first` on.
pub fn mark(range: &str, first: u32) -> String {
    match first {
        1 => format!("gauntlet-{range}"),
        _ => format!("gauntlet-{range}-from-{first}"),
    }
}

/// Between the marks of a page: a table for each family, and how to read them.
pub fn markdown(gauntlet: &Gauntlet) -> String {
    let mut text = format!("{}.\n", title(gauntlet));
    for block in blocks(gauntlet) {
        text += &format!("\n**{}**: {}, {} draws\n\n| |", block.family, block.what, block.draws);
        for column in &block.columns {
            text += &format!(" {column} | p10 | worst |");
        }
        text += &format!("\n|---|{}\n", "---:|".repeat(3 * block.columns.len()));
        for line in &block.lines {
            let cells: Vec<&str> = line.cells.iter().flatten().map(String::as_str).collect();
            text += &format!("| {} | {} |\n", named(&line.label, line.start), cells.join(" | "));
        }
    }
    text += &format!(
        "\n**Beside the best path and TCPs**, draws of all families\n\n| | {} |\n|---|{}\n",
        BESIDE.join(" | "),
        "---:|".repeat(BESIDE.len())
    );
    for (label, start, counts) in beside(gauntlet) {
        text += &format!("| {} | {} |\n", named(&label, start), counts.join(" | "));
    }
    text + "\n" + &notes(gauntlet).join("\n\n") + "\n"
}

/// The best single path stands apart from policies, and warm from cold.
fn named(label: &str, start: &str) -> String {
    match start {
        "" => format!("*{label}*"),
        "cold" => label.to_owned(),
        start => format!("{label}, {start}"),
    }
}
