//! The sending end of a connection.
//!
//! | file | what |
//! |---|---|
//! | `subflow`, `scoreboard`, `rtt` | state of a subflow |
//! | `data`, `connection` | state of the connection; which segment goes where |
//! | `ack`, `recovery`, `rack`, `spurious`, `undo` | ACKs in: RTT, window, losses, and those that were none |
//! | `usage` | whether the window is used, and may grow |
//! | `transmit` | segments out |
//! | `owned`, `control` | rate samples and pacing, for controllers that own the window; what they are told |
//! | `push`, `repeat` | what the scheduler sends; what the data level sends again |
//! | `plain` | what is left of ACKs and segments where nothing is unusual |
//! | `gaps` | what is left of ACKs and segments while losses are repaired |
//! | `relayed` | ACKs of a TCP relay, DATA_ACKs of the device |

mod ack;
mod connection;
mod control;
mod data;
mod gaps;
mod owned;
mod plain;
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

pub(crate) use ack::{InOrder, Progress, WithGaps};
pub(crate) use connection::{Sender, SenderEnd, SenderSpec};
pub(crate) use gaps::Departing;
pub(crate) use owned::owned;
pub(crate) use plain::FastPath;
pub(crate) use recovery::Fate;
pub(crate) use subflow::{Congestion, SenderStats, SubflowSender};
