//! Makes pages from results that are stored as JSON.

use serde_json::Value;

use crate::html::reproduction::reproduction_html;
use crate::html::search::search_html;
use crate::machine::ReportError;
use crate::reproduction::Reproduction;
use crate::search::Search;

/// The page of a scoreboard or of a search, with its name: `quick`, `full` or `claims`. `json` is the output
/// of [`crate::reproduction_json`] or [`crate::search::search_json`].
///
/// # Errors
/// If `json` is neither.
pub fn stored_page(json: &str) -> Result<(String, String), ReportError> {
    let stored: Value = serde_json::from_str(json)?;
    if stored.get("claims").is_some() {
        let found: Search = serde_json::from_value(stored)?;
        return Ok(("claims".to_owned(), search_html(&found)?));
    }
    let found: Reproduction = serde_json::from_value(stored)?;
    Ok((found.extent.clone(), reproduction_html(&found)?))
}
