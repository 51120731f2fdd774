//! The papers' pages: what comes out of a run stands between the marks of each.

use std::path::Path;

use joulepath_study::marks;

use crate::failure::Failure;

/// How the ids of a page's experiments and claims begin, and the page.
const PAGES: [(&str, &str); 6] = [
    ("000", "000.md"),
    ("001", "001.md"),
    ("002", "002.md"),
    ("003", "003.md"),
    ("004", "004.md"),
    ("claim", "claims.md"),
];
/// Where all of them stand in one table.
pub(super) const SUMMARY: &str = "README.md";

/// Puts what there is of each paper between the marks of its page; `summary`, of all of them, only if there
/// is one.
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
