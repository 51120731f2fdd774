//! Version, commit and command of results.

use joulepath_model::result::Provenance;

pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");
/// The commit of this build.
pub(crate) const COMMIT: &str = env!("JOULEPATH_COMMIT");

/// Provenance of this module's results; `command` is the Python call.
pub(crate) fn provenance(command: String) -> Provenance {
    Provenance {
        version: VERSION.to_owned(),
        commit: COMMIT.to_owned(),
        command,
    }
}
