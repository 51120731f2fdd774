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
//! Queues are FIFO and the link knows the future of its rate. So the whole fate of a packet is computed when
//! it is offered: one call, one answer, no timers. Time and seed are arguments; there is no clock and no I/O.

#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_types))]

pub mod cross;
pub mod csma;
pub mod trace;
pub mod writes;

mod link;
mod loss;
mod opportunities;
mod queue;
mod rate;
mod wire;

pub use link::{Link, Outcome, realised};
