//! What one end knows of its connections at one instant, for a parent that steers them.

use std::net::SocketAddr;

use serde::{Deserialize, Serialize};

use joulepath_kernel::mptcp::{TcpInfo, TcpState, Token};

/// One end of one connection.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ConnectionLook {
    /// Its token at this end; none before it stands, after it has ended, and for plain TCP.
    pub token: Option<Token>,
    /// The data that waits at this end; none at the end that receives.
    pub waiting: Option<Waiting>,
    /// The part of that data that no subflow was given yet, bytes; none if there is always more, or before
    /// Linux 6.5.
    pub unsent_bytes: Option<u64>,
    /// One per path of the connection, in its order.
    pub paths: Vec<PathLook>,
}

/// The data that the application has written and the other end has not acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Waiting {
    /// The application always has more.
    Endless,
    /// So many bytes.
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

/// A subflow that opens or is open.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SubflowLook {
    /// Own address.
    pub local: SocketAddr,
    /// The other end's.
    pub remote: SocketAddr,
    /// Whether its handshake is done.
    pub established: bool,
    /// Whether one of both ends has declared it a backup.
    pub backup: bool,
    /// Timeouts in a row without an answer.
    pub timeouts_in_a_row: u8,
    /// Smoothed RTT, µs; 0 before the first sample.
    pub srtt_us: u32,
    /// Retransmission timeout, µs.
    pub rto_us: u32,
    /// Congestion window, packets.
    pub cwnd_packets: u32,
    /// Payload that it was given and that is not acknowledged, bytes, in whole segments.
    pub outstanding_bytes: u64,
}

impl SubflowLook {
    /// What is told of a subflow; none if it is ending.
    pub(crate) fn of(local: SocketAddr, remote: SocketAddr, backup: bool, tcp: &TcpInfo) -> Option<Self> {
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
