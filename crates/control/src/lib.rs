//! Floor 1 of Joulepath: packet schedulers, path selectors and rate allocators, sans-IO.
//!
//! Everything here works on a snapshot of the paths and holds no clock, no socket and no random stream: time and
//! randomness are arguments. The packet engine and the daemon call the same code.

pub mod advise;
pub mod allocate;
pub mod limit;
mod options;
mod path;
pub mod policy;
pub mod price;
pub mod schedule;
pub mod select;

pub use options::{OptionError, PartInfo};
