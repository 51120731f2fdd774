//! Tables that commands write into pages, between two marks: `<!-- NAME: begin -->` and `<!-- NAME: end -->`.

use std::path::Path;

use joulepath_study::files;

use crate::failure::Failure;

/// Writes `tables` into `page` between the marks of `name`.
///
/// # Errors
/// If the page cannot be read or written, or has no such marks.
pub(crate) fn write(page: &Path, name: &str, tables: &str) -> Result<(), Failure> {
    let text = std::fs::read_to_string(page)
        .map_err(|error| Failure::io(format!("cannot read {}", page.display()), error))?;
    let text = between(&text, name, tables).ok_or_else(|| {
        let [begin, end] = marks(name);
        Failure::usage(format!("{} has no place for the tables", page.display()))
            .help(format!("write two lines `{begin}` and `{end}` where they shall stand"))
    })?;
    Ok(files::write(page, &text)?)
}

fn marks(name: &str) -> [String; 2] {
    ["begin", "end"].map(|mark| format!("<!-- {name}: {mark} -->"))
}

/// `page` with `tables` between the marks; none if it has no marks.
fn between(page: &str, name: &str, tables: &str) -> Option<String> {
    let marks = marks(name);
    let begin = page.find(&marks[0])? + marks[0].len();
    let end = begin + page[begin..].find(&marks[1])?;
    Some(format!("{}\n{}\n{}", &page[..begin], tables.trim_end(), &page[end..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_replaced_between_the_marks_and_nowhere_else() {
        let page = |tables| format!("before\n<!-- gap: begin -->\n{tables}\n<!-- gap: end -->\nafter\n");
        let new = between(&page("old"), "gap", "new\n").unwrap();
        assert_eq!(new, page("new"));
        assert_eq!(between(&new, "gap", "new\n").unwrap(), new);
        assert_eq!(between(&new, "league", "new"), None);
    }
}
