//! The command line as its users see it: what goes in, what comes out, with which exit code.

mod advise;
mod bad_input;
mod compare;
mod doctor;
mod explain;
mod fluid;
mod guide;
mod interrupt;
mod kernel;
#[cfg(feature = "kernel")]
mod lab;
mod league;
mod list;
#[cfg(feature = "kernel")]
mod machine;
mod map;
mod reproduce;
mod run;
mod scenarios;
mod writing;
