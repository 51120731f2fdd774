//! The kernel engine: runs a scenario in the machine's own MPTCP stack, over emulated radios, in
//! real time.
//!
//! ```text
//!   Scenario, Setup, seed
//!        │
//!        ├─► lab: two namespaces, emulator            clock ──┐
//!        ├─► controllers: struct_ops under a unique name      │ control plane: shares, costs, prices
//!        ├─► traffic: server, client ── warm-up ── measurement┘
//!        ▼
//!   RunResult, as from the packet engine; everything is cleaned up
//! ```
//!
//! | module | what |
//! |---|---|
//! | `setup` | which parts of a policy this kernel supports |
//! | `check` | checks before a run: errors, and notes |
//! | `controllers` | congestion controllers, under unique names |
//! | `plan` | converts the scenario's connections to the traffic's |
//! | `control` | sets the controllers' control values during a run |
//! | `view` | the state of a connection from both ends |
//! | `steering`, `steer` | carries out a selector's decisions through the path manager |
//! | `resolve` | solves an allocator's shares again during a run |
//! | `average` | one value for a path that several connections use |
//! | `merge` | combines traffic and emulator into a result |
//! | `run` | a run from start to end |
//!
//! `docs/models/kernel-engine.md` says what is exact and what is not.

mod average;
mod check;
mod control;
mod controllers;
mod merge;
mod plan;
mod resolve;
mod run;
mod setup;
mod steer;
mod steering;
mod view;

pub use check::{check, notes};
pub use run::{PathManagement, Progress, RunOptions, run, run_managed, run_watched};
