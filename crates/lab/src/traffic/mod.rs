//! The traffic of a run: a server and a client, each a worker process in its own namespace.
//!
//! ```text
//!   parent                      traffic-server                     traffic-client
//!     │  Spec ─────────────────────►│ listens                           │
//!     │  Spec ──────────────────────┼──────────────────────────────────►│ path manager
//!     │◄──────────────────── Ready ─┤◄─────────────────────────── Ready ┤
//!     │  Begin { at_ns } ──────────►│◄════════ connections ════════════►│
//!     │  Look ─────────────────────►│                                   │   any number of times,
//!     │◄─────────────────── Looked ─┤                                   │   at both ends
//!     │◄──────────── Done(Report) ──┤◄──────────────────── Done(Report) ┤
//!     │  Close ────────────────────►│                                   │
//! ```
//! [`Pair`] is the parent's side; [`outcome()`] combines the two reports.
//! `docs/models/kernel-traffic.md` says what is measured, and how it differs from the simulator.

mod flow;
mod join;
mod look;
mod outcome;
mod pair;
mod pattern;
mod plan;
mod receiver;
mod report;
mod role;
mod run;
mod samples;
mod sender;
mod sockets;
mod spec;
mod tracker;

pub use look::{ConnectionLook, PathLook, SubflowLook, Waiting};
pub use outcome::{Outcome, PathOutcome, outcome};
pub use pair::Pair;
pub use plan::Stack;
pub use report::{ConnectionReport, Delivery, PathReport, Report, Sample};
pub use role::{CLIENT, SERVER, clock_ns, connect, serve};
pub use spec::{
    Command, ConnectionSpec, Event, Further, MAX_CONNECTIONS, MPTCP_PORT, PathSpec, Spec, TCP_PORT,
    Workload,
};
