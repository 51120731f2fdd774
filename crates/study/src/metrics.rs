//! Metrics by name, as users write them.

use joulepath_model::metric::{EFFICIENCY, METRICS, Metric};
use joulepath_model::names::suggest;

use crate::error::{Error, Result};

/// The metric called `name`.
///
/// # Errors
/// If there is none.
pub fn named(name: &str) -> Result<&'static Metric> {
    let efficiency = (name == "efficiency").then_some(&EFFICIENCY);
    Metric::named(name).or(efficiency).ok_or_else(|| {
        let known: Vec<&str> = METRICS.iter().map(|metric| metric.name).collect();
        Error::usage(format!("there is no metric `{name}`")).with_help(suggest(name, &known))
    })
}
