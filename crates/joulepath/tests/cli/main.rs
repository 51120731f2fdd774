//! The command line as its users see it: what goes in, what comes out, with which exit code.

mod advise;
mod bad_input;
mod benchmark;
mod benchmark_random;
mod compare;
mod doctor;
mod explain;
mod fluid;
mod interrupt;
mod list;
mod live;
mod manual;
mod map;
mod meters;
mod own;
mod pages;
mod readme;
#[cfg(feature = "live")]
mod relay;
mod reproduce;
#[path = "../common/run.rs"]
mod run;
#[cfg(feature = "live")]
mod running;
mod scenarios;
mod schema;
mod study;
#[cfg(feature = "live")]
mod top;
#[cfg(not(feature = "kernel"))]
mod without_kernel;
mod writing;

/// Two paths for one second.
const QUICK: &str = include_str!("../../../../scenarios/quick.toml");
