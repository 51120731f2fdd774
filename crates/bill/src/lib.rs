//! The joules of recorded traffic.
//!
//! ```text
//!   pcap, pcapng ──► capture ──┐
//!                              ├──► Recording ──► bill: radios, hosts, requests, phases over time
//!   HAR ──────────► har ───────┘           └───► if: the same traffic later, together, or on another radio
//! ```
//! A recording has the times and sizes of packets and what they belong to; [`bill`] runs them
//! through the [`DeviceMeter`](joulepath_model::energy::meter::DeviceMeter) of all engines.

mod bill;
mod capture;
mod har;
mod instead;
mod names;
mod read;
mod recording;
mod statement;

pub use bill::{Bill, Party, Radio, Span, bill};
pub use instead::{Elsewhere, Later, Manner, elsewhere, later};
pub use read::read;
pub use recording::{Cause, Device, Error, Packet, Recording};
pub use statement::{Statement, statement};
