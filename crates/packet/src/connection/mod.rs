//! A connection as a whole: its phases, path selection, control plane.
//!
//! | file | content |
//! |---|---|
//! | `state`, `subflow` | state of a connection and of a subflow |
//! | `plane`, `selection` | state of the control plane and of the path selector |
//! | `offers` | windows of a receive buffer that grows, on their way to the sender |
//! | `context` | the environment of an event |
//! | `endpoints` | both ends during an event that concerns both: opening and closing |
//! | `handshake`, `select`, `control` | opening of subflows; actions of a selector; updates for controllers |
//! | `device` | the device's energy meter |

pub(crate) mod context;
mod control;
pub(crate) mod device;
pub(crate) mod endpoints;
mod handshake;
pub(crate) mod offers;
pub(crate) mod plane;
mod select;
pub(crate) mod selection;
pub(crate) mod state;
pub(crate) mod subflow;
