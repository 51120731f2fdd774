//! `joule`: the set of paths that uses the fewest joules for the application's demand.
//!
//! ```text
//!   snapshot ──► what each path carries (`capacity`) ──► cost of every set (`cost`) ──► the cheapest
//!                what is offered        (`offered`)                                        │
//!                shared bottlenecks     (`bottleneck`)                                     ▼
//!                               regret against it (`ledger`) ≥ promotions and tails  ──► change
//! ```
//! | wanted | cost | change |
//! |---|---|---|
//! | endless data | joules per bit | by regret |
//! | a file of known size | joules for the rest, including promotions and tails | if it saves a tenth |
//! | a file of unknown size | joules per bit, first on the cheapest use | by regret: ski rental on age |
//! | messages, streams, answers | power at the offered load, and a price of waiting | by regret |
//!
//! A path without history counts with a hoped rate, otherwise with its network's history. Its trial
//! is a change like any other: regret pays for it, and it never happens where even the hoped rate
//! would not help. The paths in use stay until a new one has been measured. Not from a paper; ski
//! rental: Karlin et al. 1988. docs/models/select-joule.md has the full description.

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
