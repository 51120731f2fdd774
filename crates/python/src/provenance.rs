//! Which program made a result, and what it was asked.

use joulepath_model::result::Provenance;

/// Version of Joulepath.
pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");
/// The commit that this was built from.
pub(crate) const COMMIT: &str = env!("JOULEPATH_COMMIT");

/// Of this module; `command` is the call in Python.
pub(crate) fn provenance(command: String) -> Provenance {
    Provenance { version: VERSION.to_owned(), commit: COMMIT.to_owned(), command }
}
