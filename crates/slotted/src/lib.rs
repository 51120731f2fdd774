//! The slotted system of so-MPTCP (003): Poisson arrivals, one backlog, three radios whose LIA
//! windows evolve from slot to slot.
//!
//! ```text
//!            ┌─ x_1 ─► subflow ─ w_1 Δt/τ_1 ─► link ─ τ_1/2, loss ─┐
//!   a ─► Q ──┼─ x_2 ─► subflow ─ …                                 ├─► in order ─► delay
//!            └─ x_3 ─► subflow ─ …                                 ┘
//!               │          ▲ ACKs one RTT later: LIA
//!               └─ so-MPTCP: drift plus penalty │ eMPTCP: a selector │ MPTCP: every window, lowest RTT first
//! ```
//!
//! | module | content |
//! |---|---|
//! | `params` | the parameters with their units; the policies |
//! | `run` | the loop over the slots |
//! | `path`, `windows`, `receiver` | transmissions of a path; the windows; delivery in order |
//! | `policy` | how much each path carries: the project's allocator and selector |
//! | `result` | means and series |
//! | [`bounds`] | theorems 1 and 2 |
//!
//! The same parameters, policy and seed give the same result on any machine. With one seed, all
//! policies get the same arrivals.
//!
//! ```
//! use joulepath_model::cancel::Cancel;
//! use joulepath_slotted::{Params, Policy, run};
//!
//! // Fixed windows of 20, 30 and 60 packets per slot at 5, 10 and 20 J, 35 packets arriving: V = 10 costs
//! // 250 J and holds back 100.
//! let result = run(&Params::fixed_windows(20_000), Policy::so_mptcp(10.0), 1, &Cancel::new())?;
//! assert!((result.means.power_w - 250.0).abs() < 5.0);
//! assert!((result.means.backlog_packets - 99.0).abs() < 5.0);
//! # Ok::<(), joulepath_slotted::RunError>(())
//! ```

#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_types))]

pub mod bounds;
mod params;
mod path;
mod policy;
mod receiver;
mod result;
mod run;
mod windows;

pub use params::{BadParams, Feasible, Params, PathParams, Policy, Windows};
pub use result::{Ledger, Means, Series, SlottedResult};
pub use run::{RunError, run};
