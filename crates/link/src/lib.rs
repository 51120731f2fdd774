//! A network link as a pure state machine: queue, rate, delay, loss, trace.
//!
//! ```text
//!            offer(now, size)
//!                  │
//!   ┌──────────────▼─────────────┐  full   ┌───────────┐
//!   │ DropTail queue, ECN marking├────────▶│ QueueDrop │
//!   └──────────────┬─────────────┘         └───────────┘
//!   ┌──────────────▼─────────────┐
//!   │ transmitter: constant rate,│
//!   │ steps, log-normal or trace │
//!   └──────────────┬─────────────┘
//!   ┌──────────────▼─────────────┐  lost   ┌───────────┐
//!   │ wire: outages, random loss,├────────▶│ WireLoss  │
//!   │ delay, jitter              │         └───────────┘
//!   └──────────────┬─────────────┘
//!                  ▼
//!         Delivered { at, marked }
//! ```
//!
//! Queues are FIFO and the future of the rate is known to the link, so the whole fate of a packet is computed when it is
//! offered: one call, one answer, no timers. Time and seed are arguments; there is no clock and no I/O.

pub mod cross;
pub mod csma;
pub mod demand;
pub mod random;
pub mod trace;

mod link;
mod loss;
mod opportunities;
mod queue;
mod rate;
mod wire;

pub use link::{Link, Outcome, realised};
