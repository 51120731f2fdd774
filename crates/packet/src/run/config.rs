//! The constant state that all connections of a run share.

use joulepath_model::scenario::{Recovery, Transport};

use crate::event::sources::Sources;

/// Sizes on the wire, bytes.
#[derive(Clone, Copy)]
pub(crate) struct WireSizes {
    /// Headers of a data segment.
    pub(crate) header: u32,
    pub(crate) ack: u32,
    /// Payload mask and base size: of a segment, of an ACK.
    of: [(u32, u32); 2],
}

impl WireSizes {
    fn new(header: u32, ack: u32) -> Self {
        WireSizes {
            header,
            ack,
            of: [(u32::MAX, header), (0, ack)],
        }
    }

    /// The size of a segment with this payload, or of an ACK. Branch-free, because a branch would
    /// be mispredicted where both travel in both directions.
    #[inline(always)]
    pub(crate) fn of(&self, is_ack: bool, payload: u32) -> u32 {
        let (mask, base) = self.of[usize::from(is_ack)];
        (payload & mask) + base
    }
}

/// The transport, its sizes on the wire, and the numbers of the event sources.
#[derive(Clone)]
pub(crate) struct Config {
    pub(crate) transport: Transport,
    /// Whether every segment is acknowledged at once.
    pub(crate) acks_at_once: bool,
    pub(crate) sizes: WireSizes,
    pub(crate) sources: Sources,
}

impl Config {
    pub(crate) fn new(transport: &Transport, sources: Sources) -> Self {
        let sizes = WireSizes::new(transport.header.0 as u32, transport.ack_size.0 as u32);
        Config {
            transport: transport.clone(),
            acks_at_once: transport.delayed_ack.is_none(),
            sizes,
            sources,
        }
    }

    /// Whether losses are detected by time (RFC 8985).
    #[inline]
    pub(crate) fn is_rack(&self) -> bool {
        self.transport.recovery == Recovery::Rack
    }
}
