//! Runs, stores, compares and judges hundreds of simulations, as a library that prints nothing.
//!
//! | module | contents |
//! |---|---|
//! | [`source`], [`shipped`] | scenarios from files, texts and this library |
//! | [`policies`] | looks policies up and checks them against a scenario |
//! | [`engine`] | the trait of engines; each engine is a cargo feature |
//! | [`compare`] | compares policies on a scenario and its variants |
//! | [`benchmark`] | policies on families of scenarios: tiers at equal work; median, worst 10 % and harm |
//! | [`map`] | the winning policy at each point of a plane of two keys |
//! | [`gap`] | difference between simulator and kernel |
//! | `gym` | connections that an agent steers step by step; needs the packet engine |
//! | `judge` | cost of the daemon's choice of paths; needs the kernel engine |
//! | `remedy` | what a fix of a slow connection yields; needs the packet engine |
//! | [`reproduce`] | checks the claims of the papers |
//! | [`sweep`] | studies: designs over keys of a scenario, stored as Parquet |
//! | [`advise`] | recommends interfaces for a transfer |
//! | [`own`] | compiles, checks and runs controllers of users |
//! | [`stored`] | finished runs in files |
//! | [`files`], [`marks`] | reads and writes files without following links; writes tables into pages |
//! | [`event`], [`parallel`] | progress; runs on all cores |
//! | [`error`], [`diagnose`], [`commands`] | errors with their next step, also of command lines |
//!
//! Every long operation takes a watch, which receives an [`event::Event`] for each run, and a
//! cancel token ([`joulepath_model::cancel::Cancel`]). After the token is set, runs end within a
//! second and the finished ones are returned. Results do not depend on the number of threads. Files
//! are written only to paths that the caller gives.
//!
//! For WebAssembly, [`own`] and [`sweep`] are left out, and nothing may start a thread or read a
//! clock: use [`compare::Plan::one`] and [`compare::Plan::gathered`].
//!
//! ```
//! use joulepath_model::cancel::Cancel;
//! use joulepath_model::metric::GOODPUT;
//! use joulepath_model::result::Provenance;
//! use joulepath_study::compare::{Plan, Request, compare};
//! use joulepath_study::engine::{self, EngineName};
//! use joulepath_study::{event, source::Source};
//!
//! let source = Source::named("quick")?;
//! let engine = engine::open(EngineName::Fluid, &engine::EngineOptions::default())?;
//! let plan = Plan::of(&source, &Request::default(), engine, &Provenance::default())?;
//! let compared = compare(&plan, None, &mut event::unwatched, &Cancel::new());
//! assert!(compared[0].comparison.rows.iter().all(|row| row.mean(&GOODPUT) > 0.0));
//! # Ok::<(), joulepath_study::error::Error>(())
//! ```

pub mod advise;
mod batch;
pub mod benchmark;
#[cfg(not(target_family = "wasm"))]
pub mod bill;
pub mod commands;
pub mod compare;
pub mod completion;
#[cfg(all(feature = "packet", not(target_family = "wasm")))]
pub mod conformance;
pub mod diagnose;
mod digest;
pub mod engine;
pub mod error;
pub mod event;
pub mod explanation;
pub mod files;
pub mod gap;
#[cfg(feature = "packet")]
pub mod gym;
pub mod history;
#[cfg(feature = "kernel")]
pub mod judge;
mod lines;
pub mod map;
pub mod marks;
#[cfg(not(target_family = "wasm"))]
pub mod own;
pub mod parallel;
pub mod policies;
#[cfg(all(feature = "live", feature = "packet"))]
pub mod remedy;
pub mod reproduce;
mod seeds;
pub mod shipped;
pub mod source;
pub mod stored;
#[cfg(not(target_family = "wasm"))]
pub mod sweep;
