//! Metrics by name, as users write them.

use joulepath_model::metric::{Better, METRICS, Metric};
use joulepath_model::names::suggest;

use crate::error::{Error, Result};

/// Metrics by which policies can be ranked.
pub fn ranking() -> impl Iterator<Item = &'static Metric> {
    METRICS.iter().copied().filter(|metric| metric.better != Better::Unclear)
}

/// The metric called `name`, by which policies can be ranked.
///
/// # Errors
/// If there is none.
pub fn named(name: &str) -> Result<&'static Metric> {
    let known: Vec<&str> = ranking().map(|metric| metric.name).collect();
    let found = ranking().find(|metric| metric.name == name);
    found.ok_or_else(|| Error::usage(format!("there is no metric `{name}`")).with_help(suggest(name, &known)))
}
