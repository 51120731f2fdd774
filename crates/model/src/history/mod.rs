//! What a device knows of the networks that it has used: estimates that age, and the book in which they are
//! kept. How a book is written as a file is in [`crate::scenario`].

mod book;
mod estimate;

pub use book::{Book, Network, Visit};
pub use estimate::{Estimate, MOST_SPREAD, PathHistory};
