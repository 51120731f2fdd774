//! What holds a connection back: an expert system over the kernel's statistics.
//!
//! ```text
//!   machine ─ gather ─► Observation ─► Subject: one connection, ─► causes ─► Finding: evidence, cost, fix
//!   JSON, tests ───────►               rates, queues, limits        one file each, sorted by cost
//! ```
//! | module | what |
//! |---|---|
//! | [`observation`] | what was seen: samples of all sockets and counters, and the host's configuration |
//! | [`gather`] | reads it from the running kernel |
//! | [`subject`] | one connection: what its statistics mean |
//! | [`capacity`] | what a path carried, and whether it was full |
//! | [`causes`] | the causes, one file each |
//! | [`finding`] | a cause that was found |
//! | [`wanted`] | which connections to examine |
//! | [`report`] | the findings of all connections |
//!
//! Only `gather` reads the machine; everything else is a pure function of the observation.

#![cfg(target_os = "linux")]

pub mod capacity;
pub mod causes;
pub mod finding;
pub mod gather;
pub mod observation;
pub mod report;
pub mod subject;
pub mod wanted;

mod words;
