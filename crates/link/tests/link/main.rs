//! A link seen from outside.

mod ahead;
mod arithmetic;
mod common;
mod csma;
mod managed;
mod passing;
mod processes;
mod properties;
mod trace;
