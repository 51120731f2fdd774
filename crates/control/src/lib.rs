//! Floor 1 of Joulepath: packet schedulers, path selectors and rate allocators, sans-IO, and the
//! policies built from them.
//!
//! All code works on a snapshot of the paths and holds no clock, no socket and no random stream:
//! time and randomness are arguments. The packet engine and the daemon call the same code.

#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_types))]

mod adopted;
pub mod advise;
pub mod allocate;
pub mod bursts;
mod connection;
mod energy;
pub mod limit;
mod options;
pub mod path;
pub mod policy;
pub mod price;
pub mod schedule;
pub mod select;
mod setup;
mod slow_start;
pub mod spread;

pub use connection::{Sharing, competitor_controller};
pub use options::{OptionError, PartInfo};
pub use setup::{Setup, SetupError};
