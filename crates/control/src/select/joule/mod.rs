//! `joule`: the set of paths that spends the fewest joules on what the application wants.
//!
//! ```text
//!   snapshot ──► what each path carries (`capacity`) ──► cost of every set (`cost`) ──► the cheapest
//!                what is offered        (`offered`)                                        │
//!                shared bottlenecks     (`bottleneck`)                                     ▼
//!                               regret against it (`ledger`) ≥ promotions and tails  ──► change
//! ```
//! | wanted | cost | change |
//! |---|---|---|
//! | data without end | joules per bit | by regret |
//! | a file of known size | joules for what is left, promotions and tails included | when a tenth is saved |
//! | a file of unknown size | joules per bit, begun where a use is cheapest | by regret: ski rental on age |
//! | messages, streams, answers | power at the offered load, and a price of waiting | by regret |
//!
//! A path that was never used is taken for what its network is remembered for, or for a hope: its trial is a
//! change like any other, so it is paid for by regret, and never tried where even the hope would not help.
//! The paths in use stay until a new one has been measured. Not from a paper; ski rental: Karlin et al.
//! 1988. docs/models/select-joule.md has the whole of it.

mod bottleneck;
mod capacity;
mod cost;
mod delays;
mod ledger;
mod offered;
mod plan;
#[cfg(test)]
mod tests;

pub use plan::Joule;
