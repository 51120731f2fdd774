//! A subflow: the phases of its life, and what neither of its ends needs while data flows.
//!
//! ```text
//!  CLOSED ─open─► SYN_SENT ─SYN/ACK─► CONFIRMING ─third (fourth) packet─► ESTABLISHED ─retries─► DEAD
//!    ▲                                                                         │ the selector closes it
//!    └───────────────── everything acknowledged, or a timeout ─── CLOSING ◄────┘
//! ```

/// Phase of a subflow's life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    Closed,
    /// The device has sent its SYN.
    SynSent,
    /// The device has the SYN/ACK, but the sender of data may not send yet.
    Confirming,
    Established,
    /// The subflow repeats what is lost and takes no new data.
    Closing,
    /// The subflow has been given up, or the connection is done.
    Dead,
}

impl Phase {
    /// Whether packets of the subflow are taken in.
    pub(crate) fn is_open(self) -> bool {
        !matches!(self, Phase::Closed | Phase::Dead)
    }
}

/// Which subflow it is. Both ends have this.
#[derive(Clone, Copy)]
pub(crate) struct SubflowId {
    /// Index of the connection.
    pub(crate) connection: u32,
    /// Index within the connection.
    pub(crate) local: u8,
    /// Number of the subflow among those that the path has had. Packets of earlier ones belong to no subflow.
    pub(crate) epoch: u8,
    /// Whether the device receives the data.
    pub(crate) downloads: bool,
}

impl SubflowId {
    /// Index within the connection.
    #[inline]
    pub(crate) fn index(self) -> usize {
        usize::from(self.local)
    }
}

/// The state that only opening and closing a subflow needs.
pub(crate) struct Subflow {
    /// Index of the scenario's path; none for competitors.
    pub(crate) path: Option<u16>,
    /// The subflow opens at this instant if the connection allows it by then.
    pub(crate) opens_at_ns: u64,
    pub(crate) handshake_tries: u32,
    /// Whether the policy wants the subflow. It opens once the connection allows it.
    pub(crate) wanted: bool,
    /// Until then the last MP_PRIO or FIN may still be on its way, ns.
    pub(crate) asked_until_ns: u64,
}

impl Subflow {
    pub(crate) fn new(path: Option<u16>, opens_at_ns: u64) -> Self {
        Subflow { path, opens_at_ns, handshake_tries: 0, wanted: true, asked_until_ns: 0 }
    }

    /// Begins a new subflow on the path.
    pub(crate) fn renew(&mut self) {
        (self.handshake_tries, self.asked_until_ns, self.wanted) = (0, 0, true);
    }
}
