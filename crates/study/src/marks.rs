//! Writes tables into pages between two marks: `<!-- NAME: begin -->` and `<!-- NAME: end -->`.

use std::path::Path;

use crate::error::{Error, Result};
use crate::files;

/// Maximum size of a page, bytes.
const MAX_PAGE_BYTES: u64 = 64 << 20;

/// Writes `tables` into `page` between the marks of `name`.
///
/// # Errors
/// If the page cannot be read or written, or has no such marks.
pub fn write(page: &Path, name: &str, tables: &str) -> Result<()> {
    let text = between(&read(page)?, name, tables).ok_or_else(|| no_place(page, name))?;
    files::write(page, &text)
}

/// Checks that `page` has the marks of at least one of `names`.
///
/// # Errors
/// If `page` cannot be read or has none of the marks.
pub fn check(page: &Path, names: &[&str]) -> Result<()> {
    let text = read(page)?;
    if names.iter().any(|name| between(&text, name, "").is_some()) {
        return Ok(());
    }
    Err(no_place(page, names[0]))
}

/// Writes each of `tables` (name and text) whose marks are in `page`.
///
/// # Errors
/// If the page cannot be read or written, or has none of the marks.
pub fn write_known(page: &Path, tables: &[(&str, &str)]) -> Result<()> {
    let mut text = read(page)?;
    let mut found = false;
    for (name, table) in tables {
        if let Some(filled) = between(&text, name, table) {
            (text, found) = (filled, true);
        }
    }
    if !found {
        return Err(no_place(page, tables[0].0));
    }
    files::write(page, &text)
}

fn read(page: &Path) -> Result<String> {
    files::read_text(page, MAX_PAGE_BYTES)
        .map_err(|error| Error::file(format!("cannot read {}", page.display()), error))
}

fn no_place(page: &Path, name: &str) -> Error {
    let [begin, end] = marks(name);
    Error::usage(format!("{} has no place for the tables", page.display())).with_help(format!(
        "insert two lines `{begin}` and `{end}` at their place"
    ))
}

fn marks(name: &str) -> [String; 2] {
    ["begin", "end"].map(|mark| format!("<!-- {name}: {mark} -->"))
}

/// `page` with `tables` between the marks; `None` if it has no marks.
fn between(page: &str, name: &str, tables: &str) -> Option<String> {
    let marks = marks(name);
    let begin = page.find(&marks[0])? + marks[0].len();
    let end = begin + page[begin..].find(&marks[1])?;
    Some(format!(
        "{}\n{}\n{}",
        &page[..begin],
        tables.trim_end(),
        &page[end..]
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_text_between_the_marks_is_replaced() {
        let page =
            |tables| format!("before\n<!-- gap: begin -->\n{tables}\n<!-- gap: end -->\nafter\n");
        let new = between(&page("old"), "gap", "new\n").unwrap();
        assert_eq!(new, page("new"));
        assert_eq!(between(&new, "gap", "new\n").unwrap(), new);
        assert_eq!(between(&new, "benchmark", "new"), None);
    }

    #[test]
    fn a_page_receives_the_tables_whose_marks_it_has() {
        let folder = tempfile::tempdir().unwrap();
        let page = folder.path().join("page.md");
        let full = |table: &str| {
            format!("<!-- benchmark-full: begin -->\n{table}\n<!-- benchmark-full: end -->\n")
        };
        std::fs::write(&page, full("old")).unwrap();
        let tables = [("benchmark", "short"), ("benchmark-full", "long")];
        assert!(
            check(&page, &["benchmark", "benchmark-full"]).is_ok()
                && check(&page, &["benchmark"]).is_err()
        );
        write_known(&page, &tables).unwrap();
        assert_eq!(std::fs::read_to_string(&page).unwrap(), full("long"));
        assert!(write_known(&page, &tables[..1]).is_err());
    }
}
