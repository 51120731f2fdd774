//! Namespaces, the emulator, and the lab that is made of both.

pub(super) mod crash;
mod emulator;
mod managed;
mod net;
mod whole;
