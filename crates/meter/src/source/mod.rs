//! The meters of a machine.

mod battery;
mod command;
mod hwmon;
mod rapl;

use crate::error::{Error, Kind, Result};
use crate::meter::Meter;
use crate::sysfs::Tree;

pub use command::command;

/// All meters of a machine, those of the whole device first: instruments, batteries, processors. An
/// unusable meter is an error in its place.
pub fn all(tree: &Tree) -> Vec<Result<Box<dyn Meter>>> {
    let mut meters = hwmon::meters(tree);
    meters.extend(battery::meters(tree));
    meters.extend(rapl::meters(tree));
    meters
}

/// The meter named `name`.
///
/// # Errors
/// If it does not exist or is unusable. The remedy lists the existing meters.
pub fn by_name(tree: &Tree, name: &str) -> Result<Box<dyn Meter>> {
    let mut known = Vec::new();
    for meter in all(tree) {
        match meter {
            Ok(meter) if meter.about().name == name => return Ok(meter),
            Ok(meter) => known.push(meter.about().name.clone()),
            Err(error) if error.message.starts_with(&format!("{name}:")) => return Err(error),
            Err(_) => {}
        }
    }
    let help = match known.is_empty() {
        true => "this machine has none; `--command \"…\"` reads any program that prints watts"
            .to_owned(),
        false => format!("available: {}; or `--command \"…\"`", known.join(", ")),
    };
    Err(Error::new(Kind::Usage, format!("there is no meter `{name}`")).help(help))
}
