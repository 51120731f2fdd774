//! The packet engine: a discrete-event simulator of MPTCP.
//!
//! | module | what |
//! |---|---|
//! | `event`, `sources` | event queue and lazy timers; the numbers of what has events |
//! | `packet`, `ring`, `sack`, `hop`, `network`, `channel` | packets, links and routes, shared channels |
//! | `host` | the time that a host takes for a packet |
//! | `sender`, `receiver` | the two ends of a connection, each with its subflows: data and ACKs |
//! | `device`, `context` | the device's energy meter; what an event touches besides the ends |
//! | `application` | what is written, and when it has arrived |
//! | `connection`, `endpoints`, `handshake`, `select`, `control` | both ends: opening, closing, control |
//! | `build`, `engine`, `events`, `recorder`, `measure` | from scenario to result |
//! | `run`, `session` | a run in one go, and one that is stepped and steered |
//! | `fast` | segments and ACKs where nothing is unusual, which most of them are |
//! | `pacing` | the same where the controller owns its window, or the scheduler looks ahead of it |
//! | `recover` | ACKs while losses are repaired and nothing else is unusual |
//! | `ahead`, `prefetch` | memory of the next events, read ahead in large networks |
//! | `parallel`, `border`, `shared` | one large network on several cores, part by part |
//! | `fabric`, `tally` | what the switches of a topology carry and burn; what each link did |
//!
//! A run is deterministic: same scenario, policy and seed, same bytes of result, on any machine and any
//! number of cores. It has one thread, or in a large data centre one for each part of the network.

#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_types))]

mod ahead;
mod application;
mod border;
mod build;
mod channel;
mod coming;
mod config;
mod connection;
mod context;
mod control;
mod counts;
mod device;
mod endpoints;
mod engine;
mod error;
mod event;
mod events;
mod fabric;
mod fast;
mod handshake;
mod held;
mod hop;
mod host;
mod measure;
mod network;
mod options;
mod pacing;
mod packet;
mod parallel;
mod plane;
mod prefetch;
mod receiver;
mod recorder;
mod recover;
mod ring;
mod routes;
mod run;
mod sack;
mod select;
mod selection;
mod sender;
mod session;
mod shared;
mod sources;
mod subflow;
mod tally;
mod timers;

pub use error::RunError;
pub use options::{Cores, RunOptions};
pub use run::run;
pub use session::{PathStatus, Session, Status};
