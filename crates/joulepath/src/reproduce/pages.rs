//! The papers' pages: results stand between the marks of each.

use std::path::{Path, PathBuf};

use joulepath_study::marks;

use crate::cli::ReproduceOptions;
use crate::failure::Failure;
use crate::outputs;

/// Prefix of the ids of experiments and claims, and their page.
const PAGES: [(&str, &str); 6] = [
    ("000", "000.md"),
    ("001", "001.md"),
    ("002", "002.md"),
    ("003", "003.md"),
    ("004", "004.md"),
    ("claim", "claims.md"),
];
/// The page with all papers in one table.
pub(super) const SUMMARY: &str = "README.md";

/// The HTML page called `stem`: in the folder of the results, or where `--report` says.
pub(super) fn of(options: &ReproduceOptions, stem: &str) -> PathBuf {
    outputs::page(options.report.as_deref().unwrap_or(&options.out), stem)
}

/// Writes each paper's results between the marks of its page, and the `summary` of all papers, if any.
///
/// # Errors
/// If a page or its marks are missing, or it cannot be written.
pub(super) fn fill(
    folder: &Path,
    marks: &str,
    of_paper: impl Fn(&str) -> String,
    summary: Option<String>,
) -> Result<(), Failure> {
    for (paper, page) in PAGES {
        let text = of_paper(paper);
        if !text.is_empty() {
            marks::write(&folder.join(page), marks, &text)?;
        }
    }
    Ok(summary.map_or(Ok(()), |text| marks::write(&folder.join(SUMMARY), marks, &text))?)
}
