//! Meters: what this machine measures of its own power, and what follows from it for a radio.
//!
//! | module | what |
//! |---|---|
//! | `meter` | the trait, and what a reading is |
//! | `source` | RAPL, batteries, hardware monitors, programs that print watts |
//! | `survey` | how often a meter changes, in which steps, how much it scatters |
//! | `sysfs` | where their files are |

mod error;
mod meter;
mod robust;
mod source;
mod survey;
mod sysfs;

pub use error::{Error, Kind, Result};
pub use meter::{About, Meter, Quality, Reading, Unit, Value};
pub use source::{all, by_name, command};
pub use survey::{Readings, Survey, mean_power, survey};
pub use sysfs::Tree;
