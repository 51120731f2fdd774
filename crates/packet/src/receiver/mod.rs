//! The receiving end of a connection.
//!
//! | file | content |
//! |---|---|
//! | `subflow`, `reassembly` | state of a subflow: order, SACK blocks, delayed ACKs |
//! | `connection`, `reception` | state of the connection; statistics of the order of arrival |
//! | `tuning` | a buffer that grows |
//! | `receive` | data in, ACKs out |
//! | `relay`, `relaying` | a TCP relay at the end of subflows, and the device behind it |

mod connection;
mod reassembly;
mod receive;
mod reception;
mod relay;
mod relaying;
mod subflow;
mod tuning;

pub(crate) use connection::{Receiver, ReceiverEnd};
pub(crate) use reception::{Reception, block_series, blocks, held};
pub(crate) use relay::{Relay, RelayRoutes};
pub(crate) use subflow::SubflowReceiver;
pub(crate) use tuning::Tuning;
