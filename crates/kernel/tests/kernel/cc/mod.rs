//! Our congestion controllers in the running kernel.

mod pacing;
mod parity;
mod running;
