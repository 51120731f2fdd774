//! Fate of packets.

use joulepath_model::units::Nanos;

/// Fate of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It reaches the far end.
    Delivered {
        /// Arrival of its last byte; [`Nanos::MAX`] if the rate stays 0 forever.
        at: Nanos,
        /// True if the queue marked it congestion experienced.
        marked: bool,
    },
    /// Dropped because the queue was full, early by the queue, or by the policer.
    QueueDrop,
    /// Sent, but lost on the wire: at random or in an outage.
    WireLoss,
    /// Not known yet. The link keeps the packet under this number until [`crate::Link::take`]
    /// returns it.
    Held(u32),
}

/// Fate of a packet that the link kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exit {
    /// Number of the packet; the link may reuse it for later packets.
    pub number: u32,
    /// Its fate; never [`Outcome::Held`].
    pub outcome: Outcome,
}
