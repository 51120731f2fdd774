//! Floor 0 of Joulepath: units, energy models, the vocabulary of scenarios and policies, and the result schema.
//!
//! Nothing here reads a clock, a file or a random stream: those are arguments or belong to higher floors.

pub mod energy;
pub mod names;
pub mod network;
pub mod policy;
pub mod result;
pub mod samples;
pub mod scenario;
pub mod topology;
pub mod units;
