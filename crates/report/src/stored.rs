//! Makes pages from results that are stored as JSON.

use serde_json::Value;

use crate::html::reproduction::reproduction_html;
use crate::html::search::search_html;
use crate::machine::ReportError;
use crate::reproduction::{Report, Reproduction};
use crate::search::Search;

/// Results of `joulepath reproduce` that were stored as JSON.
pub enum StoredResults {
    /// `claims.json`: where the claims hold.
    Search(Search),
    /// `quick.json`, `full.json`: the experiments.
    Reproduction(Reproduction),
}

impl StoredResults {
    /// Reads what [`crate::reproduction_json`] or [`crate::search::search_json`] wrote. Verdicts of
    /// experiments follow from their numbers, whatever the file says.
    ///
    /// # Errors
    /// If it is neither.
    pub fn parse(json: &str) -> Result<Self, ReportError> {
        let stored: Value = serde_json::from_str(json)?;
        Ok(match stored.get("claims") {
            Some(_) => Self::Search(serde_json::from_value(stored)?),
            None => {
                let mut found: Reproduction = serde_json::from_value(stored)?;
                found.experiments = found.experiments.into_iter().map(Report::judged).collect();
                Self::Reproduction(found)
            }
        })
    }

    /// The name of their files: `quick`, `full`, `claims`.
    pub fn name(&self) -> &str {
        match self {
            Self::Search(_) => "claims",
            Self::Reproduction(found) => &found.extent,
        }
    }

    /// Their HTML page.
    ///
    /// # Errors
    /// If a number cannot be written as JSON.
    pub fn html(&self) -> Result<String, ReportError> {
        match self {
            Self::Search(found) => search_html(found),
            Self::Reproduction(found) => reproduction_html(found),
        }
    }
}
