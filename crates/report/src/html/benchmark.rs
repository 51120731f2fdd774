//! The page of the benchmark: a picture and tables.

use askama::Template;

use super::assets::Assets;
use crate::benchmark::tables::Part;
use crate::machine::ReportError;

/// The page's scripts, in the order in which they need each other.
const SCRIPTS: [&str; 4] = [
    include_str!("../../assets/js/format.js"),
    include_str!("../../assets/js/theme.js"),
    include_str!("../../assets/js/scroll.js"),
    include_str!("../../assets/js/plain.js"),
];

const STYLES: [&str; 1] = [include_str!("../../assets/benchmark.css")];

/// The benchmark, in the words and with the digits of the terminal.
pub(crate) struct BenchmarkPage {
    /// Scenarios, engine, seeds.
    pub(crate) title: String,
    /// Each with its HTML.
    pub(crate) tables: Vec<(Part, String)>,
    /// The front as SVG, if there is one.
    pub(crate) front: Option<String>,
    /// How to read it, and what is missing.
    pub(crate) notes: Vec<String>,
    /// The command line.
    pub(crate) command: String,
    /// Of Joulepath.
    pub(crate) version: String,
    /// That it was built from.
    pub(crate) commit: String,
    /// Whether runs are missing.
    pub(crate) partial: bool,
}

/// One self-contained page, as [`crate::html`].
///
/// # Errors
/// If the template fails.
pub(crate) fn benchmark_html(benchmark: &BenchmarkPage) -> Result<String, ReportError> {
    Ok(Page { benchmark, assets: Assets::new(&STYLES, &SCRIPTS, &())? }.render()?)
}

/// What the template shows. Text is escaped by the template unless it says `safe`.
#[derive(Template)]
#[template(path = "benchmark.html")]
struct Page<'a> {
    benchmark: &'a BenchmarkPage,
    assets: Assets,
}
