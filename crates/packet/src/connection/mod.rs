//! A connection as a whole: its life, path selection and the control plane.
//!
//! | file | what |
//! |---|---|
//! | `state`, `subflow` | state of a connection and of a subflow |
//! | `plane`, `selection` | state of the control plane and of the path selector |
//! | `context` | what an event touches besides the ends of a connection |
//! | `endpoints` | both ends during an event that concerns both: opening and closing |
//! | `handshake`, `select`, `control` | subflows open; a selector chooses; the control plane steers |
//! | `device` | the device's energy meter |

pub(crate) mod context;
mod control;
pub(crate) mod device;
pub(crate) mod endpoints;
mod handshake;
pub(crate) mod plane;
mod select;
pub(crate) mod selection;
pub(crate) mod state;
pub(crate) mod subflow;
