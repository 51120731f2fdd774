//! Formats the table as Markdown.

use super::{Align, Column, Line, Table, Tone};

impl Table {
    /// A head, a rule and a line for each line of the table. Units follow names after a comma; bad
    /// cells are bold.
    pub fn markdown(&self) -> String {
        let heads: Vec<String> = self.columns.iter().map(Column::heading).collect();
        let rules = self.columns.iter().map(|column| match column.align {
            Align::Left => "---|",
            Align::Right => "---:|",
        });
        // A head without a name takes one space, an empty cell two.
        let mut text = row(&heads).replace("|  |", "| |");
        text.push('|');
        text.extend(rules);
        text.push('\n');
        text.extend(self.lines.iter().map(|line| row(&self.cells(line))));
        text
    }

    fn cells(&self, line: &Line) -> Vec<String> {
        let cell = |(column, cell): (&Column, &super::Cell)| {
            let text = column.with_interval(cell);
            if cell.tone == Tone::Bad {
                format!("**{text}**")
            } else {
                text
            }
        };
        self.columns.iter().zip(&line.cells).map(cell).collect()
    }
}

/// Such as `| a | b |`.
fn row(cells: &[String]) -> String {
    let mut text = String::from("|");
    for cell in cells {
        let cell = cell.replace('|', "\\|").replace('\n', " ");
        text += &format!(" {cell} |");
    }
    text + "\n"
}
