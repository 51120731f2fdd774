//! Drawn scenarios as files.

use std::path::Path;

use joulepath_study::files;

use crate::failure::{Exit, Failure};
use crate::terminal;

/// Writes files into a folder, and says the names of the scenarios among them.
///
/// # Errors
/// If one cannot be written.
pub(super) fn write(all: Vec<(String, String)>, folder: &Path) -> Result<Exit, Failure> {
    let mut said = String::new();
    for (name, text) in all {
        let file = folder.join(name);
        files::prepare(&file)?;
        files::write(&file, &text)?;
        if file.extension().is_some_and(|extension| extension == "toml") {
            said += &format!("{}\n", file.display());
        }
    }
    terminal::print(&said)?;
    Ok(Exit::Ok)
}
