//! Runs by the hundred: what is run, stored, compared and judged, as a library that prints nothing.
//!
//! | module | what |
//! |---|---|
//! | [`source`], [`shipped`] | where a scenario comes from: a file, a text, this library |
//! | [`policies`] | policies, looked up and checked against a scenario |
//! | [`engine`] | what can run a scenario, as one trait; each engine is a cargo feature |
//! | [`compare`] | policies on a scenario and its variants, side by side |
//! | [`benchmark`] | policies on families of scenarios: tiers at equal work; median, worst 10 % and harm |
//! | [`map`] | which policy wins where in a plane of two keys |
//! | [`gap`] | how far simulator and kernel are apart |
//! | `gym` | connections that an agent steers, step by step; with the packet engine |
//! | `deployed` | what a daemon has decided, decided again in the packet engine; with both |
//! | `judge` | what the daemon's choice of paths costs; with the kernel engine |
//! | [`reproduce`] | which claims of the papers hold |
//! | [`sweep`] | studies: designs over keys of a scenario, stored as Parquet |
//! | [`advise`] | which interfaces for a transfer |
//! | [`own`] | controllers of users: compiled, checked, run |
//! | [`stored`], [`journal`] | finished runs in files |
//! | [`files`], [`marks`] | files, read and written without following links; tables written into pages |
//! | [`event`], [`parallel`] | what happens meanwhile; runs on all cores |
//! | [`error`], [`diagnose`] | why something cannot be done, and what to do next |
//!
//! Everything that lasts takes a watch, which hears of each run as it comes ([`event::Event`]), and a token
//! ([`joulepath_model::cancel::Cancel`]): once it is set, runs under way end within a second, and what had
//! finished is returned. Results do not depend on the number of threads. Files are written where the caller
//! says, and nowhere else.
//!
//! ```
//! use joulepath_model::cancel::Cancel;
//! use joulepath_model::result::Provenance;
//! use joulepath_study::compare::{Plan, Request, compare};
//! use joulepath_study::engine::{self, EngineName};
//! use joulepath_study::{event, source::Source};
//!
//! let source = Source::named("quick")?;
//! let engine = engine::open(EngineName::Fluid, &engine::EngineOptions::default())?;
//! let plan = Plan::of(&source, &Request::default(), engine, &Provenance::default())?;
//! let compared = compare(&plan, &mut event::unwatched, &Cancel::new());
//! assert!(compared[0].comparison.rows.iter().all(|row| row.goodput_bps.mean > 0.0));
//! # Ok::<(), joulepath_study::error::Error>(())
//! ```

pub mod advise;
mod batch;
pub mod benchmark;
pub mod compare;
#[cfg(all(feature = "live", feature = "packet"))]
pub mod deployed;
pub mod diagnose;
mod digest;
pub mod engine;
pub mod error;
pub mod event;
pub mod files;
pub mod gap;
#[cfg(feature = "packet")]
pub mod gym;
pub mod history;
pub mod journal;
#[cfg(feature = "kernel")]
pub mod judge;
mod lines;
pub mod map;
pub mod marks;
pub mod own;
pub mod parallel;
pub mod policies;
pub mod reproduce;
mod seeds;
pub mod shipped;
pub mod source;
pub mod stored;
pub mod sweep;
