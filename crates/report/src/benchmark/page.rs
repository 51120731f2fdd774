//! The benchmark as one self-contained page: the picture, the tables and their notes.

use super::front::plot;
use super::part::Part;
use super::schema::Benchmark;
use super::tables::{notes, tables, title};
use crate::html::benchmark::{BenchmarkPage, benchmark_html};
use crate::machine::ReportError;

/// One self-contained page.
///
/// # Errors
/// If the template fails.
pub fn html(benchmark: &Benchmark) -> Result<String, ReportError> {
    let part = |part: Part| {
        let html = part.table.html(&part.id)?;
        Ok((part, html))
    };
    benchmark_html(&BenchmarkPage {
        title: title(benchmark),
        tables: tables(benchmark)
            .into_iter()
            .map(part)
            .collect::<Result<_, ReportError>>()?,
        front: plot(benchmark).map(|plot| plot.html()),
        notes: notes(benchmark),
        command: benchmark.provenance.command.clone(),
        version: benchmark.provenance.version.clone(),
        commit: benchmark.provenance.commit.clone(),
        partial: benchmark.extent.partial,
    })
}
