//! Studies of the shipped scenarios as a whole.

mod cases;
mod stored_results;
