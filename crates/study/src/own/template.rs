//! A new header.

use super::build::check_name;
use crate::error::{Error, Result};

/// The text of a header for a controller called `name`: NewReno on every subflow, weighted, with a parameter,
/// commented, and with examples that `check` tries.
///
/// # Errors
/// If a controller cannot have this name.
pub fn template(name: &str) -> Result<String> {
    check_name(name)
        .map_err(|why| Error::usage(why).with_help("write for example `joulepath cc new mine`"))?;
    Ok(include_str!("template.h").replace("NAME", &name.to_uppercase()).replace("name_", name))
}
