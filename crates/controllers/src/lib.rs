//! Congestion controllers of Multipath TCP.
//!
//! Each algorithm is one freestanding C header in `cc/`, so the simulator and the kernel's eBPF run
//! the same source. This crate builds the headers natively and wraps them:
//!
//! - [`Connection`], [`Subflow`], [`Own`]: the state, laid out as in `cc/mpcc.h`;
//! - [`Controller`]: the registry and the calls (ACK, loss, restart, parameters); [`Capability`]:
//!   the state that a controller reads;
//! - [`Controller::adopt`]: adds a controller compiled elsewhere;
//! - [`Controller::commanded`]: keeps the window or rate of its last command, for learning agents;
//! - [`Controller::host`]: adds a controller that the host program implements by [`Hooks`];
//! - [`Rules`]: a controller as a few lines of text, such as `on_ack: cwnd += 1 / cwnd`;
//! - [`Event`] and [`Area`]: events and state of a controller that owns its window;
//! - [`explain`]: what every controller does in a given state;
//! - [`formula`]: the same increases in floating point, an independent check.
//!
//! ```
//! use joulepath_controllers::{Ack, AckFlags, Connection, Controller, LossKind, Subflow};
//!
//! let lia = Controller::by_name("lia")?;
//! let mut connection = Connection::new(2);
//! for (i, srtt_us) in [20_000, 80_000].into_iter().enumerate() {
//!     let flags = Subflow::ESTABLISHED;
//!     connection.subflows[i] = Subflow { cwnd: 10, srtt_us, flags, ..Subflow::default() };
//!     lia.init(&mut connection, i);
//! }
//! lia.on_ack(&mut connection, 0, Ack { acked: 1, rtt_us: 20_000, flags: AckFlags::CWND_LIMITED });
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
mod rules;
mod shown;
mod state;

pub use adopted::AdoptError;
pub use capability::Capability;
pub use commanded::Command;
pub use event::{Ack, AckFlags, Area, Event};
pub use hosted::{Hook, Hooks, Host, Hosting, Open, within};
pub use native::Table;
pub use param::{Param, ParamError, ParamValue};
pub use registry::{Confidence, Controller, UnknownController};
pub use rules::{PRESETS as RULE_PRESETS, RuleError, Rules};
pub use shown::Shown;
pub use state::{Connection, LossKind, Own, Subflow};

/// The headers of `cc/` and native/glue.h by name, for compiling a user's controller.
pub const HEADERS: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/headers.rs"));

/// Maximum of subflows per connection (the kernel's limit).
pub const MAX_SUBFLOWS: usize = 8;
/// Maximum of parameters per controller.
pub const MAX_PARAMS: usize = 8;
/// Cap of every congestion window, packets.
pub const CWND_MAX: u32 = 1 << 20;
/// The ssthresh that means "none yet", packets.
pub const SSTHRESH_NONE: u32 = 0x7fff_ffff;
