//! A network link as a pure state machine: queue, rate, delay, loss, trace.
//!
//! ```text
//!            offer(now, size)
//!                  │
//!   ┌──────────────▼─────────────┐  excess, full, early
//!   │ policer; queue: DropTail,  │         ┌───────────┐
//!   │ CoDel, FQ-CoDel or PIE; ECN├────────▶│ QueueDrop │
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
//! A DropTail queue is FIFO and the link knows the future of its rate. So the whole fate of a packet is
//! computed when it is offered: one call, one answer, no timers. Where the fate depends on what comes later
//! (managed queues, reordering, aggregation), the link keeps the packet under a number, [`Outcome::Held`],
//! and says by [`Link::due`] when [`Link::take`] has something to tell. Time and seed are arguments; there is
//! no clock and no I/O.

#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_types))]

pub mod circular;
pub mod cross;
pub mod csma;
pub mod trace;
pub mod writes;

mod aqm;
mod codel;
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

pub use link::{Link, realised};
pub use outcome::{Exit, Outcome};
