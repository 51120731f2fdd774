//! Formats the table as HTML, in a focusable box that scrolls sideways.

use askama::Template;

use super::{Align, Cell, Column, Line, Table, Tone};
use crate::machine::ReportError;

/// Data of the template, which escapes text unless it says `safe`.
#[derive(Template)]
#[template(path = "table.html")]
struct Page<'a> {
    /// Each column, and whether the lines are sorted by it, largest first.
    heads: Vec<(&'a Column, bool)>,
    id: &'a str,
    /// The id of the element that names the table; `None` if a label does.
    named_by: Option<&'a str>,
    label: &'a str,
    groups: [(&'static str, Vec<Shown<'a>>); 2],
}

/// A line with its formatted cells.
struct Shown<'a> {
    line: &'a Line,
    cells: Vec<ShownCell>,
}

struct ShownCell {
    class: &'static str,
    /// Value for sorting.
    value: Option<f64>,
    /// Texts, and whether each is code.
    parts: Vec<(bool, String)>,
    half_width: Option<String>,
}

impl Table {
    /// Table with the id `id`, named by the element `ID-title`.
    ///
    /// # Errors
    /// If the template fails.
    pub fn html(&self, id: &str) -> Result<String, ReportError> {
        self.page(id, Some(&format!("{id}-title")), "", None)
    }

    /// Like [`Table::html`], with the lines sorted by a column, largest first. Numbers carry their
    /// value, so that scripts can sort.
    ///
    /// # Errors
    /// If the template fails.
    pub fn sorted_html(&self, id: &str, column: usize) -> Result<String, ReportError> {
        self.page(id, Some(&format!("{id}-title")), "", Some(column))
    }

    /// Table without an id, named `label`.
    ///
    /// # Errors
    /// If the template fails.
    pub fn labelled_html(&self, label: &str) -> Result<String, ReportError> {
        self.page("", None, label, None)
    }

    fn page(
        &self,
        id: &str,
        named_by: Option<&str>,
        label: &str,
        sorted: Option<usize>,
    ) -> Result<String, ReportError> {
        let is_limit = |line: &&Line| line.tone == Tone::Dim;
        let shown = |line| Shown {
            line,
            cells: self.shown_cells(line, sorted.is_some()),
        };
        let lines = self
            .lines
            .iter()
            .filter(|line| !is_limit(line))
            .map(shown)
            .collect();
        let groups = [
            ("", lines),
            (
                "limits",
                self.lines.iter().filter(is_limit).map(shown).collect(),
            ),
        ];
        let heads = self
            .columns
            .iter()
            .enumerate()
            .map(|(place, column)| (column, sorted == Some(place)));
        Ok(Page {
            heads: heads.collect(),
            id,
            named_by,
            label,
            groups,
        }
        .render()?)
    }

    fn shown_cells(&self, line: &Line, is_sortable: bool) -> Vec<ShownCell> {
        let shown = |(column, cell): (&Column, &Cell)| {
            let text = column.shown(cell);
            let parts = text
                .split('`')
                .enumerate()
                .filter(|(_, text)| !text.is_empty());
            ShownCell {
                class: cell.class(column.align),
                value: cell.value().filter(|_| is_sortable),
                parts: parts
                    .map(|(part, text)| (part % 2 == 1, text.to_owned()))
                    .collect(),
                half_width: column.half_width(cell),
            }
        };
        self.columns.iter().zip(&line.cells).map(shown).collect()
    }
}

impl Page<'_> {
    /// Whether columns are close together, because there are many.
    fn is_dense(&self) -> bool {
        self.heads.len() > 11
    }
}

impl Cell {
    /// The attribute `class`.
    fn class(&self, align: Align) -> &'static str {
        match self.tone {
            Tone::Plain if align == Align::Left => "text",
            Tone::Plain | Tone::On(_) => "",
            Tone::Best => "best",
            Tone::Good => "good",
            Tone::Fair => "fair",
            Tone::Bad => "bad",
            Tone::Note => "note",
            Tone::Dim => "dim",
        }
    }
}
