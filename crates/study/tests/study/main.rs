//! The shipped scenarios as a whole, and texts that are none.

mod advise;
mod cases;
mod foreign;
mod language;
mod stored_results;
