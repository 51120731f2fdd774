//! Estimates of the networks that a device has used, and the book that holds them, with its file.

mod book;
mod estimate;
mod file;

pub use book::{Book, Network, Visit};
pub use estimate::{Estimate, MOST_SPREAD, PathHistory};
pub use file::{SALT_SUFFIX, Salt, VERSION};
