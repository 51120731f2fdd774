//! The packet engine: a discrete-event simulator of MPTCP.
//!
//! | module | content |
//! |---|---|
//! | `event` | event queue, lazy timers, numbering of event sources |
//! | `path` | packets, links, routes, shared channels |
//! | `sender`, `receiver` | the two ends of a connection, each with its subflows: data and ACKs |
//! | `connection` | both ends: opening, closing, path selection, the control plane; the device's meter |
//! | `application` | the writing and the reading application |
//! | `build` | from scenario to engine |
//! | `run` | the main loop, its fast paths, the result; runs that are stepped and steered |
//! | `prefetch` | memory of the next events, read ahead in large networks |
//! | `parallel` | one large network on several cores, one thread per part |
//!
//! A run is deterministic: the same scenario, policy and seed give the same bytes on any machine
//! and any number of cores. A run has one thread; a large data centre has one thread per part of
//! the network.

#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_types))]

mod application;
mod build;
mod connection;
mod event;
mod parallel;
mod path;
mod prefetch;
mod receiver;
mod run;
mod sender;

pub use path::log::{Header, PacketClass, PacketFate};
pub use path::packet::Kind as PacketKind;
pub use run::error::RunError;
pub use run::options::{Cores, RunOptions};
pub use run::run;
pub use run::session::trace::{
    Sack, Trace, TraceCut, TraceLimits, TracedPacket, TracedPath, trace,
};
pub use run::session::{Inside, PathStatus, SenderPhase, Session, Status};
