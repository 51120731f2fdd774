//! The event queue. It holds the next event of each source: in a 4-ary heap; for a large network in
//! a timing wheel; for a small network in one place per link, next to the heap.
//!
//! `sources` numbers the sources of events.

pub(crate) mod circle;
mod few;
mod heap;
mod key;
mod queue;
pub(crate) mod sources;
mod timer;
mod wheel;

pub(crate) use key::{MAX_SOURCES, MAX_TIME_NS, SOURCE_BITS, Source};
pub(crate) use queue::{Due, EventQueue, FAR, FEW, NEAR, Traffic};
pub(crate) use timer::LazyTimer;
