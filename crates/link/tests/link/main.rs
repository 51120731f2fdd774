//! A link seen from outside.

mod arithmetic;
mod common;
mod processes;
mod properties;
mod trace;
