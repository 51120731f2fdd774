//! Parts of policies that are Python classes: controllers, schedulers, selectors, allocators.
//!
//! ```text
//!   class ──host_…──► registry ──► engine ──hook──► ledger::call ──► the copy's method
//!                                                     └─ raised: the run ends, other runs continue
//! ```
//! Each connection of each run has a deep copy of the object. A run with a part in Python holds the
//! interpreter only within its hooks, and such runs execute one after the other ([`engine`]).

mod allocator;
mod asked;
mod controller;
mod engine;
mod ledger;
mod lent;
mod scheduler;
mod selector;
mod subflow;

pub(crate) use allocator::host_allocator;
pub(crate) use controller::host_controller;
pub(crate) use engine::{Entry, Hosting, Ledger, interrupt};
pub(crate) use ledger::is_running;
pub(crate) use scheduler::{Backlog, PathView, host_scheduler};
pub(crate) use selector::host_selector;
pub(crate) use subflow::{Ack, Subflow};
