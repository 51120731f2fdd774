//! What all connections of a run have in common and what never changes.

use joulepath_model::scenario::{Recovery, Transport};

use crate::sources::Sources;

/// Sizes on the wire, bytes.
#[derive(Clone, Copy)]
pub(crate) struct WireSizes {
    /// Headers of a data segment.
    pub(crate) header: u32,
    /// A segment without payload.
    pub(crate) ack: u32,
}

/// The transport, its sizes on the wire, and the numbers of the event sources.
#[derive(Clone)]
pub(crate) struct Config {
    pub(crate) transport: Transport,
    /// Whether every segment is acknowledged when it arrives.
    pub(crate) acks_at_once: bool,
    pub(crate) sizes: WireSizes,
    pub(crate) sources: Sources,
}

impl Config {
    pub(crate) fn new(transport: &Transport, sources: Sources) -> Self {
        let sizes = WireSizes { header: transport.header.0 as u32, ack: transport.ack_size.0 as u32 };
        Config { transport: transport.clone(), acks_at_once: transport.delayed_ack.is_none(), sizes, sources }
    }

    /// Whether losses are found by time (RFC 8985).
    #[inline]
    pub(crate) fn is_rack(&self) -> bool {
        self.transport.recovery == Recovery::Rack
    }
}
