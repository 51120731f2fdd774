//! A table with its title.

use crate::table::Table;

/// A table with its title.
pub(crate) struct Part {
    /// Its id, for links.
    pub(crate) id: String,
    pub(crate) title: String,
    /// Subject, for the heading after the title.
    pub(crate) what: String,
    pub(crate) table: Table,
}
