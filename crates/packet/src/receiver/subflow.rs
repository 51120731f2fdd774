//! State of the receiving end of one subflow.

use super::reassembly::Reassembly;
use super::relay::Relay;
use crate::connection::subflow::SubflowId;
use crate::event::LazyTimer;
use crate::path::hop::Hop;
use crate::path::packet::{Stamp, Usual};

/// The receiving end of one subflow. What every segment touches comes first, in one cache line.
#[repr(C, align(64))]
pub(crate) struct SubflowReceiver {
    pub(crate) id: SubflowId,
    /// The first hop of ACKs.
    pub(crate) first_hop: Hop,
    /// Whether the device's radio matters here: this end is the device, or what it sends enters a link at a
    /// radio.
    pub(crate) has_radio: bool,
    /// Which segments are usual while the state of this end [is](Self::is_plain); none if nobody knows
    /// whether it is.
    pub(crate) usual: Usual,
    /// Whether packets are taken in: the subflow is neither closed nor dead.
    pub(crate) is_open: bool,
    /// Whether ACKs echo a mark: the echo is latched until CWR (RFC 3168, section 6.1.3).
    pub(crate) ece: bool,
    /// A segment that has come a second time, which the next ACK reports (RFC 2883).
    pub(crate) duplicate: Option<u32>,
    /// Payload whose first copy arrived on this subflow, bytes.
    pub(crate) first_copy_bytes: u64,
    /// The TCP relay at which this end is, if the subflow does not reach the device.
    pub(crate) relay: Option<Box<Relay>>,
    pub(crate) order: Reassembly,
    /// In-order segments that no ACK has confirmed yet (delayed ACK).
    pub(crate) unacknowledged: u32,
    /// The clock of the first of these segments, for the echo (RFC 7323, section 4.3).
    pub(crate) echo: Stamp,
    pub(crate) delayed_ack: LazyTimer,
    /// The part of `first_copy_bytes` that had arrived at the end of the warm-up, bytes.
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

    /// Begins a new subflow on the path. No state of the transport survives; the timer, the relay's buffer
    /// and the counters do. Returns where the window of the relay ends, if there is a relay.
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
