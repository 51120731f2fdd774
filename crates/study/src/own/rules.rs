//! A controller of a user as rules: a few lines of text, `NAME.rules`.

use std::path::Path;

use joulepath_controllers::{Controller, Rules};

use super::build::name_of;
use crate::error::{Error, Kind, Result};
use crate::files::{self, By};

/// Maximum size of a file, bytes: more than any text that compiles.
const MAX_BYTES: u64 = 64 << 10;

/// True if `file` has rules, not a C header.
pub(super) fn is_rules(file: &Path) -> bool {
    file.extension()
        .is_some_and(|extension| extension == "rules")
}

/// Compiles the rules in `file` and registers them under the file's name.
///
/// # Errors
/// If the file cannot be read, has a mistake (with its place), or the name of a shipped controller.
pub(super) fn load(file: &Path) -> Result<Controller> {
    let doing = format!("cannot read the rules {}", file.display());
    let bytes = files::read_named(file, By::File, MAX_BYTES, &doing)?.bytes;
    let refused = |why: String, help: &str| Error::Refused {
        doing: format!("cannot use {}", file.display()),
        why,
        help: help.to_owned(),
        kind: Kind::Usage,
    };
    let text = String::from_utf8(bytes)
        .map_err(|_| refused("it is not UTF-8 text".to_owned(), "name a text file"))?;
    let name = name_of(file)?;
    let rules = Rules::parse(&text).map_err(|error| refused(error.to_string(), &error.help))?;
    rules
        .host(&name)
        .map_err(|error| refused(error.to_string(), "rename the file"))
}
