//! Text of a new header.

use super::build::check_name;
use crate::error::{Error, Result};

/// Header for a controller called `name`: NewReno on every subflow, with a weight as parameter,
/// comments, and examples that `check` tests.
///
/// # Errors
/// If the name is not valid for a controller.
/// If a controller cannot have this name.
pub fn template(name: &str) -> Result<String> {
    check_name(name)
        .map_err(|why| Error::usage(why).with_help("write for example `joulepath cc new mine`"))?;
    Ok(include_str!("template.h")
        .replace("NAME", &name.to_uppercase())
        .replace("name_", name))
}
