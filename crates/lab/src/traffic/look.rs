//! The state of one end's connections, for a parent that steers them.

use std::net::SocketAddr;

use serde::{Deserialize, Serialize};

use joulepath_kernel::mptcp::{TcpInfo, TcpState, Token};

/// One end of one connection.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ConnectionLook {
    /// Its token at this end; `None` before it is established, after it has ended, and for plain
    /// TCP.
    pub token: Option<Token>,
    /// Data that waits at this end; `None` at the receiver.
    pub waiting: Option<Waiting>,
    /// The part of that data that was not given to any subflow yet, bytes; `None` for endless data,
    /// or before Linux 6.5.
    pub unsent_bytes: Option<u64>,
    /// One per path of the connection, in its order.
    pub paths: Vec<PathLook>,
}

/// Data that the application has written and the peer has not acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Waiting {
    /// The application always has more.
    Endless,
    /// A number of bytes.
    Bytes(u64),
}

/// One path of a connection.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PathLook {
    /// The path's subflow, if it has one.
    pub subflow: Option<SubflowLook>,
    /// Payload acknowledged, bytes: over all subflows that the path has had.
    pub acked_bytes: u64,
    /// Reductions of the window, over all subflows that the path has had.
    pub loss_events: u64,
}

/// A subflow that is open or opening.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SubflowLook {
    /// Local address.
    pub local: SocketAddr,
    /// Remote address.
    pub remote: SocketAddr,
    /// True if its handshake is complete.
    pub established: bool,
    /// True if either end has declared it a backup.
    pub backup: bool,
    /// Unanswered timeouts in a row.
    pub timeouts_in_a_row: u8,
    /// Smoothed RTT, µs; 0 before the first sample.
    pub srtt_us: u32,
    /// Retransmission timeout, µs.
    pub rto_us: u32,
    /// Congestion window, packets.
    pub cwnd_packets: u32,
    /// Payload given to it and not acknowledged, bytes, in whole segments.
    pub outstanding_bytes: u64,
}

impl SubflowLook {
    /// The state of a subflow; `None` if it is closing.
    pub(crate) fn of(
        local: SocketAddr,
        remote: SocketAddr,
        backup: bool,
        tcp: &TcpInfo,
    ) -> Option<Self> {
        let established = match tcp.state {
            TcpState::Established => true,
            TcpState::SynSent | TcpState::SynReceived => false,
            _ => return None,
        };
        Some(SubflowLook {
            local,
            remote,
            established,
            backup,
            timeouts_in_a_row: tcp.backoff,
            srtt_us: tcp.srtt_us,
            rto_us: tcp.rto_us,
            cwnd_packets: tcp.cwnd_packets,
            outstanding_bytes: u64::from(tcp.unacked_packets) * u64::from(tcp.send_mss_bytes)
                + u64::from(tcp.not_sent_bytes),
        })
    }
}
