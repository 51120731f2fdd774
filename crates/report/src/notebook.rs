//! The table of `compare` as HTML for notebooks.

use askama::Template;
use joulepath_model::result::Comparison;

use crate::compared::{remarks, title};
use crate::machine::ReportError;
use crate::sheet::{PARTIAL, Sheet};

/// A `<table>` with all columns of the widest terminal table. It has no scripts, and styles only in
/// attributes, because notebooks embed it in other pages. Texts are escaped.
///
/// # Errors
/// If the template fails.
pub fn notebook(comparison: &Comparison) -> Result<String, ReportError> {
    let sheet = Sheet::of(comparison);
    let line = |(line, name): (usize, &String)| Line {
        name: name.clone(),
        is_best: sheet.best == Some(line),
        is_limit: line >= sheet.policies,
        cells: sheet
            .columns
            .iter()
            .map(|column| column.column.with_interval(&column.cells[line]))
            .collect(),
    };
    let page = Page {
        title: title(comparison),
        warning: comparison.partial.then_some(PARTIAL),
        heads: sheet
            .columns
            .iter()
            .map(|column| column.column.titles())
            .collect(),
        lines: sheet.lines.iter().enumerate().map(line).collect(),
        remarks: remarks(comparison),
    };
    Ok(page.render()?)
}

/// Data of the template, which escapes text.
#[derive(Template)]
#[template(path = "notebook.html")]
struct Page {
    title: String,
    warning: Option<&'static str>,
    /// Title and unit of each column.
    heads: Vec<(String, String)>,
    lines: Vec<Line>,
    remarks: Vec<String>,
}

/// A policy or a limit.
struct Line {
    name: String,
    is_best: bool,
    is_limit: bool,
    cells: Vec<String>,
}
