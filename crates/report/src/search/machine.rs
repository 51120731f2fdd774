//! The search for programs: `results/claims.json`.

use super::Search;
use crate::machine::ReportError;
use crate::reproduction::short_json;

/// As JSON, as [`crate::reproduction_json`], with one line for each claim.
///
/// # Errors
/// If a number fits no JSON.
pub fn search_json(all: &Search) -> Result<String, ReportError> {
    short_json(all)
}
