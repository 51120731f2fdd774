//! A link seen from outside.

mod arithmetic;
mod common;
mod csma;
mod processes;
mod properties;
mod trace;
