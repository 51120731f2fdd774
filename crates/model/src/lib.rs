//! The bottom layer of Joulepath: units, random streams, energy models, scenarios, policies, and
//! the schema of results.
//!
//! Nothing here reads a clock, a file or a random generator of its own: time, texts and seeds are
//! arguments.

#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_types))]

pub mod aqm;
pub mod brief;
mod bursts;
pub mod calendar;
pub mod cancel;
pub mod energy;
pub mod history;
pub mod live;
pub mod metric;
pub mod names;
pub mod network;
pub mod policy;
pub mod port;
pub mod preset;
pub mod quantile;
pub mod random;
pub mod receive;
pub mod result;
pub mod samples;
pub mod scenario;
pub mod series;
pub mod signal;
pub mod study;
pub mod topology;
pub mod units;
pub mod visible;
