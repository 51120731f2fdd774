//! Meters: what this machine measures of its own power, and what follows from it for a radio.
//!
//! | module | what |
//! |---|---|
//! | `meter` | the trait, and what a reading is |
//! | `source` | RAPL, batteries, hardware monitors, programs that print watts |
//! | `look` | meters read for a while |
//! | `survey` | how often a meter changes, in which steps, how much it scatters |
//! | `watch` | a meter that is read for as long as it takes |
//! | `sysfs` | where their files are |
//! | `calibrate` | from traffic and a meter to a radio's energy model, with intervals, or a refusal |
//! | `live` | the same on a real interface, with a far end |
//! | `simulate`, `trial` | radios whose truth is known, and how often a calibration gives it back |

pub mod calibrate;
mod error;
pub mod live;
mod look;
mod meter;
mod robust;
pub mod simulate;
mod source;
mod survey;
mod sysfs;
pub mod trial;
mod watch;

pub use error::{Error, Kind, Result};
pub use look::{Found, Opened, look};
pub use meter::{About, Meter, Quality, Reading, Unit, Value};
pub use source::{all, by_name, command};
pub use survey::{Readings, Survey, mean_power, survey};
pub use sysfs::Tree;
pub use watch::{Watch, Watched};
