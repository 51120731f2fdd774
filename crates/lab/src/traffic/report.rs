//! Report of one end of a run.

use serde::{Deserialize, Serialize};

/// Everything that one end reports.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// When the run ended, ns: at the end of its duration, or when the last connection under test
    /// finished.
    pub ended_ns: u64,
    /// One per connection, in the order of the [`Spec`](super::Spec).
    pub connections: Vec<ConnectionReport>,
    /// Time series, if requested, over all connections under test.
    pub samples: Vec<Sample>,
}

/// One end of one connection. Times are relative to the run's time 0.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ConnectionReport {
    /// When this end was connected, ns; `None` if it never was.
    pub opened_ns: Option<u64>,
    /// When the whole file had arrived, ns. Receiver only.
    pub finished_ns: Option<u64>,
    /// Payload that this end wrote or read, bytes.
    pub total_bytes: u64,
    /// Payload that this end read after the warm-up, bytes. Receiver only.
    pub measured_bytes: u64,
    /// Payload reinjected on another subflow after the warm-up, bytes; `None` if this kernel does
    /// not count it. Sender only.
    pub reinjected_bytes: Option<u64>,
    /// Payload of a full segment, bytes.
    pub mss_bytes: u32,
    /// Completely received writes or answers, in order. Receiver only.
    pub deliveries: Vec<Delivery>,
    /// Times of at least 10 ms without a read after the warm-up. Receiver only.
    pub pauses: Vec<Pause>,
    /// The longest shorter time between two reads, ns. Receiver only.
    pub longest_gap_ns: u64,
    /// One per path of the connection, in its order.
    pub paths: Vec<PathReport>,
}

/// A message, a write or an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delivery {
    /// Start of the delay, ns. For a write: when it was due, since the sender's application began.
    /// For an answer: when it was requested, since the run's time 0.
    pub since_ns: u64,
    /// When its last byte was read, since the run's time 0, ns.
    pub done_ns: u64,
}

/// A time without a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pause {
    /// When the last bytes before it were read, since the run's time 0, ns.
    pub from_ns: u64,
    /// When the next bytes were read, or the run ended, since the run's time 0, ns.
    pub to_ns: u64,
    /// Start of the delay of the data that it delayed, as in [`Delivery`]; `None` for files and
    /// bulk data, which always wait.
    pub since_ns: Option<u64>,
}

/// One end of a connection's subflows on one path. Counts start at the end of the warm-up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PathReport {
    /// When a subflow was first seen there, ns; `None` if none was.
    pub opened_ns: Option<u64>,
    /// Payload received in order on the path, bytes, including data that another path had already
    /// delivered.
    pub received_bytes: u64,
    /// Payload acknowledged, bytes.
    pub acked_bytes: u64,
    /// Data segments sent, including retransmissions.
    pub segments: u64,
    /// Segments retransmitted on the path.
    pub retransmissions: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Number of samples in which the window is reduced by loss or ECN and was not in the previous
    /// sample. Several reductions between two samples count once.
    pub loss_events: u64,
    /// Packets delivered.
    pub delivered_packets: u64,
    /// Sum over delivered packets of the smoothed RTT at the next sample, s.
    pub rtt_sum_s: f64,
    /// Integral of the congestion window over time, packets · s.
    pub cwnd_integral_s: f64,
}

/// State of one end at one time. Vectors are by path, in the order of the [`Spec`](super::Spec).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// When it was due, ns; the same at both ends.
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
