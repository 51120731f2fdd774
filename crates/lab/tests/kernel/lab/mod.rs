//! Tests of namespaces, the emulator and the lab.

pub(super) mod crash;
mod emulator;
mod managed;
mod net;
mod whole;
