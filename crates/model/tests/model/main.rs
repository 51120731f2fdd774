//! Scenarios, units and results: valid input, and error messages for invalid input.

mod calibrated;
mod delays;
mod errors;
mod forms;
mod properties;
mod reference;
mod shipped;
mod signal;
