//! The kernel engine: one run of a scenario in the machine's own MPTCP stack, over emulated radios, in real
//! time.
//!
//! ```text
//!   Scenario, Setup, seed
//!        │
//!        ├─► lab: two namespaces, emulator            clock ──┐
//!        ├─► controllers: struct_ops under a name of the run  │ control plane: shares, costs, prices
//!        ├─► traffic: server, client ── warm-up ── measurement┘
//!        ▼
//!   RunResult, in the packet engine's terms; everything undone
//! ```
//!
//! | module | what |
//! |---|---|
//! | `setup` | what of a policy this kernel can do |
//! | `check` | what is refused before anything runs, what is only said |
//! | `controllers` | congestion controllers by the names of one run |
//! | `plan` | from the scenario's connections to the traffic's |
//! | `control` | what the controllers are told while the run goes |
//! | `view` | what both ends see of a connection |
//! | `steering`, `steer` | what a selector wants, done by the path manager |
//! | `resolve` | an allocator's shares, solved again |
//! | `average` | one value for a path that several connections use |
//! | `merge` | from what traffic and emulator saw to a result |
//! | `run` | a run from its start to its end |
//!
//! What is exact and what is not: `docs/models/kernel-engine.md`.

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
