//! Namespaces, the emulator, and the lab that is made of both.

#[path = "../common/attempts.rs"]
mod attempts;
#[path = "../common/mod.rs"]
mod common;

mod crash;
mod emulator;
mod namespace;
mod net;
mod whole;
