//! A network link as a pure state machine: queue, rate, delay, loss, trace.
//!
//! ```text
//!            offer(now, size)
//!                  │
//!   ┌──────────────▼─────────────┐  excess, full, early
//!   │ policer; queue: DropTail,  │         ┌───────────┐
//!   │ CoDel, …, DualPI2; ECN     ├────────▶│ QueueDrop │
//!   └──────────────┬─────────────┘         └───────────┘
//!   ┌──────────────▼─────────────┐
//!   │ transmitter: constant rate,│
//!   │ steps, log-normal or trace │
//!   └──────────────┬─────────────┘
//!   ┌──────────────▼─────────────┐  lost   ┌───────────┐
//!   │ wire: outages, random loss,├────────▶│ WireLoss  │
//!   │ delay, jitter, reordering, │         └───────────┘
//!   │ aggregation                │
//!   └──────────────┬─────────────┘
//!                  ▼
//!         Delivered { at, marked }
//! ```
//!
//! With a DropTail queue, which is FIFO, and a known future rate, the fate of a packet is computed
//! when it is offered: one call, no timers. With managed queues, reordering or aggregation the fate
//! depends on later packets. Then the link keeps the packet under a number, [`Outcome::Held`], and
//! [`Link::due`] gives the time at which [`Link::take`] must be called. Time and seed are
//! arguments; there is no clock and no I/O.

#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_types))]

pub mod circular;
pub mod cross;
pub mod csma;
pub mod trace;
pub mod writes;

mod aqm;
mod codel;
mod dualpi2;
mod ecn;
mod flight;
mod fq_codel;
mod keeper;
mod link;
mod loss;
mod opportunities;
mod outcome;
mod packets;
mod pie;
mod policer;
mod queue;
mod rate;
mod wire;

pub use ecn::Ecn;
pub use link::{Link, realised};
pub use outcome::{Exit, Outcome};
