//! State of the receiving end of one subflow.

use super::reassembly::Reassembly;
use super::relay::Relay;
use crate::connection::subflow::SubflowId;
use crate::event::LazyTimer;
use crate::path::hop::Hop;
use crate::path::packet::{Stamp, Usual};

/// The receiving end of one subflow. Fields that every segment touches come first, in one cache
/// line.
#[repr(C, align(64))]
pub(crate) struct SubflowReceiver {
    pub(crate) id: SubflowId,
    /// The first hop of ACKs.
    pub(crate) first_hop: Hop,
    /// Whether the device's radio matters: this end is the device, or its first link starts at a
    /// radio.
    pub(crate) has_radio: bool,
    /// The pattern of usual segments while this end [is plain](Self::is_plain); [`Usual::NONE`] if
    /// that is unknown.
    pub(crate) usual: Usual,
    /// Whether the subflow accepts packets: it is neither closed nor dead.
    pub(crate) is_open: bool,
    /// Whether ACKs carry ECE, latched until CWR (RFC 3168, section 6.1.3).
    pub(crate) ece: bool,
    /// A segment that arrived a second time, for the next ACK (RFC 2883).
    pub(crate) duplicate: Option<u32>,
    /// Payload whose first copy arrived on this subflow, bytes.
    pub(crate) first_copy_bytes: u64,
    /// The TCP relay at this end, if the subflow does not reach the device.
    pub(crate) relay: Option<Box<Relay>>,
    pub(crate) order: Reassembly,
    /// In-order segments without an ACK (delayed ACK).
    pub(crate) unacknowledged: u32,
    /// Send time of the first of these segments, for the echo (RFC 7323, section 4.3).
    pub(crate) echo: Stamp,
    pub(crate) delayed_ack: LazyTimer,
    /// The part of `first_copy_bytes` that arrived during the warm-up, bytes.
    pub(crate) before_bytes: u64,
}

impl SubflowReceiver {
    pub(crate) fn new(id: SubflowId, first_hop: Hop, relay: Option<Relay>) -> Self {
        SubflowReceiver {
            id,
            is_open: false,
            ece: false,
            first_hop,
            has_radio: id.downloads || first_hop.is_at_radio(),
            usual: Usual::NONE,
            order: Reassembly::default(),
            unacknowledged: 0,
            echo: Stamp::ZERO,
            delayed_ack: LazyTimer::new(),
            duplicate: None,
            relay: relay.map(Box::new),
            first_copy_bytes: 0,
            before_bytes: 0,
        }
    }

    /// Begins a new subflow on the path. It resets all transport state except the timer, the
    /// relay's buffer and the counters. Returns the end of the relay's window, if there is a relay.
    pub(crate) fn renew(&mut self, id: SubflowId) -> Option<u32> {
        let relay = self.relay.take();
        *self = SubflowReceiver {
            delayed_ack: self.delayed_ack,
            relay,
            first_copy_bytes: self.first_copy_bytes,
            before_bytes: self.before_bytes,
            ..Self::new(id, self.first_hop, None)
        };
        self.relay.as_mut().map(|relay| relay.first_window())
    }
}
