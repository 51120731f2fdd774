//! Estimates of the networks that a device has used, and the book that holds them. [`crate::scenario`] reads
//! and writes the file.

mod book;
mod estimate;

pub use book::{Book, Network, Visit};
pub use estimate::{Estimate, MOST_SPREAD, PathHistory};
