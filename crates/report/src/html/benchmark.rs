//! Page of the benchmark: a picture and tables.

use askama::Template;

use super::assets::Assets;
use crate::benchmark::part::Part;
use crate::machine::ReportError;

/// The benchmark, in the words and with the digits of the terminal.
pub(crate) struct BenchmarkPage {
    /// Scenarios, engine, seeds.
    pub(crate) title: String,
    /// The tables with their HTML.
    pub(crate) tables: Vec<(Part, String)>,
    /// The front, if there is one.
    pub(crate) front: Option<String>,
    /// Notes on the tables and the missing runs.
    pub(crate) notes: Vec<String>,
    /// Command line that makes the page.
    pub(crate) command: String,
    /// Version of Joulepath.
    pub(crate) version: String,
    /// Commit that it was built from.
    pub(crate) commit: String,
    /// Whether runs are missing.
    pub(crate) partial: bool,
}

/// One self-contained page, like [`crate::html`].
///
/// # Errors
/// If the template fails.
pub(crate) fn benchmark_html(benchmark: &BenchmarkPage) -> Result<String, ReportError> {
    Ok(Page {
        benchmark,
        assets: Assets::new(&[], &())?,
    }
    .render()?)
}

/// Data of the template, which escapes text unless it says `safe`.
#[derive(Template)]
#[template(path = "benchmark.html")]
struct Page<'a> {
    benchmark: &'a BenchmarkPage,
    assets: Assets,
}
