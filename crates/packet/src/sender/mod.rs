//! The sending end of a connection.
//!
//! | file | content |
//! |---|---|
//! | `subflow`, `scoreboard`, `rtt` | state of a subflow |
//! | `data`, `connection` | state of the connection; assignment of segments |
//! | `ack`, `recovery`, `rack`, `spurious`, `undo` | ACKs in: RTT, window, losses, spurious losses |
//! | `cases` | what a fast path knows of an ACK in advance |
//! | `usage` | whether the window is used, and may grow |
//! | `transmit` | segments out |
//! | `owned`, `control` | rate samples and pacing for controllers that own the window; reports to them |
//! | `push`, `repeat` | sending by the scheduler; retransmission at the data level |
//! | `view` | a subflow as the scheduler sees it |
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
