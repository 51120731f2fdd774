//! A subflow: its phases, and the state that neither end needs while data flows.
//!
//! ```text
//!  CLOSED ─open─► SYN_SENT ─SYN/ACK─► CONFIRMING ─third (fourth) packet─► ESTABLISHED ─retries─► DEAD
//!    ▲                                                                         │ the selector closes it
//!    └───────────────── everything acknowledged, or a timeout ─── CLOSING ◄────┘
//! ```

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    Closed,
    /// The device has sent its SYN.
    SynSent,
    /// The device has the SYN/ACK, but the sender of data may not send yet.
    Confirming,
    Established,
    /// The subflow retransmits losses and takes no new data.
    Closing,
    /// The subflow was given up, or the connection is done.
    Dead,
}

impl Phase {
    /// Whether the subflow accepts packets.
    pub(crate) fn is_open(self) -> bool {
        !matches!(self, Phase::Closed | Phase::Dead)
    }
}

/// Identity of a subflow, at both ends.
#[derive(Clone, Copy)]
pub(crate) struct SubflowId {
    pub(crate) connection: u32,
    /// Index within the connection.
    pub(crate) local: u8,
    /// Number of the subflow among the successive subflows of the path. Packets of earlier epochs
    /// are ignored.
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

/// State for opening and closing a subflow.
pub(crate) struct Subflow {
    /// Index of the scenario's path; `None` for competitors.
    pub(crate) path: Option<u16>,
    /// The subflow opens at this instant, ns, or later, when the connection allows it.
    pub(crate) opens_at_ns: u64,
    pub(crate) handshake_tries: u32,
    /// Whether the policy wants the subflow. It opens when the connection allows it.
    pub(crate) wanted: bool,
    /// The last MP_PRIO or FIN may be in flight until this instant, ns.
    pub(crate) asked_until_ns: u64,
}

impl Subflow {
    pub(crate) fn new(path: Option<u16>, opens_at_ns: u64) -> Self {
        Subflow {
            path,
            opens_at_ns,
            handshake_tries: 0,
            wanted: true,
            asked_until_ns: 0,
        }
    }

    /// Begins a new subflow on the path.
    pub(crate) fn renew(&mut self) {
        (self.handshake_tries, self.asked_until_ns, self.wanted) = (0, 0, true);
    }
}
