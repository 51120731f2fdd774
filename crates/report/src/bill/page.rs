//! A bill as an HTML page.

use joulepath_bill::Statement;
use joulepath_model::result::Provenance;

use super::table;
use crate::html::bill::{BillPage, bill_html};
use crate::machine::ReportError;

/// One self-contained page, like [`crate::html`]: tables, and the radios' phases over time above
/// the requests.
///
/// # Errors
/// If the template fails.
pub fn html(statement: &Statement, by: &Provenance) -> Result<String, ReportError> {
    bill_html(&BillPage {
        statement,
        interfaces: table::interfaces(statement),
        hosts: table::hosts(statement, usize::MAX),
        requests: table::requests(statement, usize::MAX),
        otherwise: table::otherwise(statement, usize::MAX),
        notes: table::notes(statement),
        by,
    })
}
