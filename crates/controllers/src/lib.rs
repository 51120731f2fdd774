//! Congestion controllers of Multipath TCP.
//!
//! The algorithms are in `cc/`, one freestanding C header each, so that the simulator and the kernel's eBPF
//! run the same source. This crate builds them natively and wraps them:
//!
//! - [`Connection`], [`Subflow`], [`Own`]: the state, laid out as in `cc/mpcc.h`;
//! - [`Controller`]: the registry and the calls (ACK, loss, restart, parameters); [`Capability`]: what a
//!   controller reads;
//! - [`Controller::adopt`]: a controller that was compiled elsewhere;
//! - [`Controller::commanded`]: the one that keeps what it is told, for agents that learn;
//! - [`Controller::host`]: one of the program that holds this library, by [`Hooks`];
//! - [`Event`] and [`Area`]: what a controller that owns its window is told, and where it keeps its state;
//! - [`explain`]: what every controller does in a given state;
//! - [`formula`]: the same increases in floating point, straight from the definitions, as an independent
//!   witness.
//!
//! ```
//! use joulepath_controllers::{AckFlags, Connection, Controller, LossKind, Subflow};
//!
//! let lia = Controller::by_name("lia")?;
//! let mut connection = Connection::new(2);
//! for (i, srtt_us) in [20_000, 80_000].into_iter().enumerate() {
//!     let flags = Subflow::ESTABLISHED;
//!     connection.subflows[i] = Subflow { cwnd: 10, srtt_us, flags, ..Subflow::default() };
//!     lia.init(&mut connection, i);
//! }
//! lia.on_ack(&mut connection, 0, 1, 20_000, AckFlags::CWND_LIMITED);
//! assert_eq!(lia.on_loss(&mut connection, 0, LossKind::FastRetransmit), 5);
//! # Ok::<(), joulepath_controllers::UnknownController>(())
//! ```

mod adopted;
mod capability;
mod commanded;
mod event;
pub mod explain;
pub mod formula;
mod hosted;
mod native;
mod param;
mod registry;
mod state;

pub use adopted::AdoptError;
pub use capability::Capability;
pub use commanded::Command;
pub use event::{AckFlags, Area, Event};
pub use hosted::{Hook, Hooks, Host, Hosting, Open, within};
pub use native::Table;
pub use param::{Param, ParamError, ParamValue};
pub use registry::{Confidence, Controller, UnknownController};
pub use state::{Connection, LossKind, Own, Subflow};

/// The headers of `cc/` and native/glue.h by name, for whoever compiles a controller of a user.
pub const HEADERS: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/headers.rs"));

/// Most subflows of one connection (the kernel's limit).
pub const MAX_SUBFLOWS: usize = 8;
/// Most parameters of one controller.
pub const MAX_PARAMS: usize = 8;
/// Cap of every congestion window, packets.
pub const CWND_MAX: u32 = 1 << 20;
/// An ssthresh that stands for "none yet", packets.
pub const SSTHRESH_NONE: u32 = 0x7fff_ffff;
