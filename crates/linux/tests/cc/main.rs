//! Our congestion controllers in the running kernel.

#[path = "../common/mod.rs"]
mod common;
#[path = "../mptcp/net.rs"]
mod net;
mod pacing;
mod parity;
mod running;
