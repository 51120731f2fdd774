//! Counts and tables of the commands for a running kernel.

use std::ops::Range;

use textwrap::core::display_width;

/// For example `7 sockets`.
pub fn count(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

/// Rows as aligned columns, two spaces apart, without a final line break. A cell may have several
/// lines. The columns in `right` are aligned right. Every row has as many cells as the first.
pub fn columns(rows: &[Vec<String>], right: Range<usize>) -> String {
    let width = |column: usize| {
        let lines = rows.iter().flat_map(|row| row[column].lines());
        lines.map(display_width).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..rows.first().map_or(0, Vec::len)).map(width).collect();
    let cell = |column: usize, text: &str| {
        let space = " ".repeat(widths[column] - display_width(text));
        match right.contains(&column) {
            true => space + text,
            false => text.to_owned() + &space,
        }
    };
    let line = |row: &[String], number: usize| {
        let cells = row
            .iter()
            .map(|text| text.lines().nth(number).unwrap_or(""));
        let cells: Vec<String> = (0..)
            .zip(cells)
            .map(|(column, text)| cell(column, text))
            .collect();
        cells.join("  ").trim_end().to_owned()
    };
    let lines = rows.iter().flat_map(|row| {
        let height = row.iter().map(|text| text.lines().count()).max();
        (0..height.unwrap_or(0)).map(move |number| line(row, number))
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned_and_cells_have_several_lines() {
        let row = |cells: [&str; 3]| cells.map(str::to_owned).to_vec();
        let rows = [
            row(["path", "down\nMbit/s", "why"]),
            row(["wlan0", "7.5", "the first\npath"]),
            row(["α", "", ""]),
        ];
        let lines = [
            "path     down  why",
            "       Mbit/s",
            "wlan0     7.5  the first",
            "               path",
            "α",
        ];
        assert_eq!(columns(&rows, 1..2), lines.join("\n"));
        assert_eq!(columns(&[], 0..0), "");
    }
}
