//! What one end saw of a run.

use serde::{Deserialize, Serialize};

/// Everything that one end reports.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// When the run ended: its length, or when the last connection under test was finished, ns.
    pub ended_ns: u64,
    /// One per connection, in the order of the [`Spec`](super::Spec).
    pub connections: Vec<ConnectionReport>,
    /// Samples over time, if they were asked for; connections under test together.
    pub samples: Vec<Sample>,
}

/// One end of one connection. Instants are since the run's time 0.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ConnectionReport {
    /// When this end was connected; none if it never was, ns.
    pub opened_ns: Option<u64>,
    /// When the whole file was there, ns. Receiver only.
    pub finished_ns: Option<u64>,
    /// Payload that this end wrote or read, bytes.
    pub total_bytes: u64,
    /// Payload that this end read after the warm-up, bytes. Receiver only.
    pub measured_bytes: u64,
    /// Payload given to another subflow again after the warm-up, bytes; none if this kernel does not count.
    /// Sender only.
    pub reinjected_bytes: Option<u64>,
    /// Payload of a full segment, bytes.
    pub mss_bytes: u32,
    /// What has arrived in full, in its order. Receiver only.
    pub deliveries: Vec<Delivery>,
    /// One per path of the connection, in its order.
    pub paths: Vec<PathReport>,
}

/// A message, a write or an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delivery {
    /// Of a write: when it was due, since the sender's application began. Of an answer: when it was asked
    /// for, since the run's time 0. ns.
    pub since_ns: u64,
    /// When its last byte was read, since the run's time 0, ns.
    pub done_ns: u64,
}

/// One end of a connection's subflows on one path. Counts are from the warm-up on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PathReport {
    /// When a subflow was first seen there, ns; none if there never was one.
    pub opened_ns: Option<u64>,
    /// Payload received in order on the path, bytes: all of it counts, also what another path had brought
    /// before.
    pub received_bytes: u64,
    /// Payload acknowledged, bytes.
    pub acked_bytes: u64,
    /// Data segments sent, retransmissions included.
    pub segments: u64,
    /// Segments sent again on the path.
    pub retransmissions: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// How often a sample found the window reduced by loss or ECN and the one before it did not. Several
    /// reductions between two samples count once.
    pub loss_events: u64,
    /// Packets delivered.
    pub delivered_packets: u64,
    /// Sum over delivered packets of the smoothed RTT when the next sample was taken, s.
    pub rtt_sum_s: f64,
    /// Integral of the congestion window over time, packets · s.
    pub cwnd_integral_s: f64,
}

/// What one end saw at one instant. Vectors are by path, in the order of the [`Spec`](super::Spec).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// When it was due, ns: the same at both ends.
    pub at_ns: u64,
    /// When it was taken, ns.
    pub taken_ns: u64,
    /// Payload received so far, bytes.
    pub received_bytes: Vec<u64>,
    /// Congestion window of the first connection under test, packets.
    pub cwnd_packets: Vec<u32>,
    /// Its smoothed RTT, µs; 0 before the first measurement.
    pub srtt_us: Vec<u32>,
}
