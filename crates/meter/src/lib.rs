//! Power meters of this machine, and calibration of radios with them.
//!
//! | module | what |
//! |---|---|
//! | `meter` | the trait and its readings |
//! | `source` | RAPL, batteries, hardware monitors, programs that print watts |
//! | `look` | reads a meter for a given time |
//! | `survey` | a meter's period, step and noise |
//! | `watch` | reads a meter in the background |
//! | `hardware` | names of the hardware, and the signal of its WiFi |
//! | `sysfs` | files of the kernel |
//! | `calibrate` | a radio's energy model with intervals, or a refusal |
//! | `live` | calibration on a real interface, with a far end |

pub mod calibrate;
mod error;
pub mod hardware;
pub mod live;
mod look;
mod meter;
mod robust;
mod source;
mod survey;
mod sysfs;
mod watch;

pub use error::{Error, Kind, Result};
pub use look::{Found, Opened, look};
pub use meter::{About, Meter, Quality, Reading, Unit, Value};
pub use source::{all, by_name, command};
pub use survey::{Readings, Survey, mean_power, survey};
pub use sysfs::Tree;
pub use watch::{Watch, Watched};
