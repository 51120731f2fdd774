//! Scenarios, units and results: what is accepted, what is refused with which words.

mod calibrated;
mod errors;
mod forms;
mod properties;
mod reference;
mod shipped;
