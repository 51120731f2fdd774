//! What becomes of packets.

use joulepath_model::units::Nanos;

/// What becomes of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It reaches the far end.
    Delivered {
        /// When its last byte arrives; [`Nanos::MAX`] if the rate stays 0 for ever.
        at: Nanos,
        /// Whether the queue set its congestion-experienced mark.
        marked: bool,
    },
    /// The queue was full or dropped it early, or the policer did.
    QueueDrop,
    /// It was sent, but lost on the wire: by chance or in an outage.
    WireLoss,
    /// It is not known yet. The link keeps the packet under this number until [`crate::Link::take`] tells.
    Held(u32),
}

/// What has become of a packet that the link kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exit {
    /// Its number, which later packets may get again.
    pub number: u32,
    /// Its fate; never [`Outcome::Held`].
    pub outcome: Outcome,
}
