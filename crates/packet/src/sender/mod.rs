//! The sending end of a connection.
//!
//! | file | what |
//! |---|---|
//! | `subflow`, `scoreboard`, `rtt` | state of a subflow |
//! | `data`, `connection` | state of the connection; which segment goes where |
//! | `ack`, `recovery`, `rack`, `spurious`, `undo` | ACKs in: RTT, window, losses, and those that were none |
//! | `cases` | what a fast path knows of an ACK beforehand |
//! | `usage` | whether the window is used, and may grow |
//! | `transmit` | segments out |
//! | `owned`, `control` | rate samples and pacing, for controllers that own the window; what they are told |
//! | `push`, `repeat` | what the scheduler sends; what the data level sends again |
//! | `view` | what the scheduler sees of a subflow |
//! | `relayed` | ACKs of a TCP relay, DATA_ACKs of the device |

mod ack;
mod cases;
mod connection;
mod control;
mod data;
mod owned;
mod push;
mod rack;
mod recovery;
mod relayed;
mod repeat;
mod rtt;
mod scoreboard;
mod spurious;
mod subflow;
mod transmit;
mod undo;
mod usage;
mod view;

pub(crate) use ack::Progress;
pub(crate) use cases::{InOrder, WithGaps};
pub(crate) use connection::{Sender, SenderEnd, SenderSpec};
pub(crate) use owned::owned;
pub(crate) use recovery::Fate;
pub(crate) use subflow::{Congestion, SenderStats, SubflowSender};
pub(crate) use transmit::Departing;
