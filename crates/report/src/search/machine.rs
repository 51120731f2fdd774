//! The search as JSON: `results/claims.json`.

use super::Search;
use crate::machine::ReportError;
use crate::reproduction::short_json;

/// The search as JSON, in the format of [`crate::reproduction_json`], with one line for each claim.
///
/// # Errors
/// If a number cannot be written as JSON.
pub fn search_json(all: &Search) -> Result<String, ReportError> {
    short_json(all)
}
