//! The papers' pages: results stand between the marks of each.

use std::path::{Path, PathBuf};

use joulepath_report::{Reproduction, paper_html};
use joulepath_study::reproduce::stored_results;
use joulepath_study::{files, marks};

use crate::cli::ReproduceOptions;
use crate::failure::Failure;
use crate::outputs;

/// Prefixes of the ids of experiments and claims.
const PREFIXES: [&str; 6] = ["000", "001", "002", "003", "004", "claim"];
/// The page with all papers in one table.
pub(super) const SUMMARY: &str = "README.md";

/// The HTML page called `stem`: in the folder of the results, or where `--report` says.
pub(super) fn of(options: &ReproduceOptions, stem: &str) -> PathBuf {
    outputs::page(options.report.as_deref().unwrap_or(&options.out), stem)
}

/// Writes the HTML page of each paper whose experiments are all in `found`, such as `004.html`,
/// next to the page of all experiments. Returns a line for each.
///
/// # Errors
/// If a page cannot be made or written.
pub(super) fn of_papers(
    options: &ReproduceOptions,
    found: &Reproduction,
) -> Result<String, Failure> {
    let (full, search) = stored_results()?;
    let mut said = String::new();
    for paper in &found.papers {
        let prefix = format!("{}-", paper.id);
        let rows = found
            .experiments
            .iter()
            .filter(|report| report.id.starts_with(&prefix));
        if rows.count() == paper.rows {
            let page = of(options, &found.extent).with_file_name(format!("{}.html", paper.id));
            files::write(&page, &paper_html(found, paper, &full, &search)?)?;
            said += &format!("paper {}: {}\n", paper.id, page.display());
        }
    }
    Ok(said)
}

/// Writes each paper's results between the marks of its page, and the `summary` of all papers, if
/// any.
///
/// # Errors
/// If a page or its marks are missing, or it cannot be written.
pub(super) fn fill(
    folder: &Path,
    marks: &str,
    of_paper: impl Fn(&str) -> String,
    summary: Option<String>,
) -> Result<(), Failure> {
    for paper in PREFIXES {
        let text = of_paper(paper);
        let page = if paper == "claim" {
            "claims.md".to_owned()
        } else {
            format!("{paper}.md")
        };
        if !text.is_empty() {
            marks::write(&folder.join(page), marks, &text)?;
        }
    }
    Ok(summary.map_or(Ok(()), |text| {
        marks::write(&folder.join(SUMMARY), marks, &text)
    })?)
}
