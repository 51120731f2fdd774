//! State of a TCP relay (004, section IV-A). The subflow ends at the relay; DATA_ACKs come from the
//! device.
//!
//! ```text
//!   source ── data ──► relay ── Relayed ──► channel ──► device
//!     ▲ ◄─ RelayAck ──── │                                 │
//!     └───────────────── │ ◄── DataAck (MIN) ── channel ◄──┘   all relays of the connection overhear it
//! ```
//!
//! - A RelayAck acknowledges segments of the subflow and carries the window: the end of the relay's
//!   buffer.
//! - A DataAck is the device's DATA_ACK. Its DSN is MIN; MAX is a fixed range above MIN. The relay
//!   forwards segments below MAX at once, others when MAX has moved, or from the head of the buffer
//!   when it is full.
//! - A segment stays in the buffer until the channel has delivered it.
//! - Lost DataAcks and windows never stall a connection. A relay with a full buffer forwards its
//!   head. After a while the source retransmits its oldest segment on an idle subflow, and the
//!   relay or the device that gets it answers.

use std::collections::VecDeque;

use crate::path::hop::Hop;
use crate::path::routes::Route;

/// The routes on which a relay forwards packets.
pub(crate) struct RelayRoutes {
    /// Routes of packets other than data: from the server through the relay to the device, and
    /// back.
    pub(crate) down: Route,
    pub(crate) up: Route,
    /// From the relay to the device: the channel only.
    pub(crate) last: Route,
    /// The relay's station on the channel.
    pub(crate) station: Hop,
}

/// A relay at the end of subflows, as one subflow sees it.
pub(crate) struct Relay {
    pub(crate) routes: RelayRoutes,
    /// Size of the buffer, segments.
    pub(super) capacity: u32,
    /// MAX − MIN, segments.
    range: u32,
    /// MIN: everything below is known to have arrived at the device.
    pub(super) min: u32,
    /// Segments not yet forwarded, in the order of arrival: DSN and payload.
    pub(super) waiting: VecDeque<(u32, u16)>,
    /// Number of segments in the station's queue.
    pub(super) sending: u32,
    /// First SSN beyond the window last advertised to the source.
    pub(super) told_end: u32,
    /// Integral of the buffer's length over time, segments × ns, the instant up to which it is
    /// complete, and the maximum length.
    held_ns: u128,
    since_ns: u64,
    most: u32,
}

impl Relay {
    pub(crate) fn new(routes: RelayRoutes, capacity: u32, range: u32) -> Self {
        Relay {
            routes,
            capacity,
            range,
            min: 0,
            waiting: VecDeque::new(),
            sending: 0,
            told_end: capacity,
            held_ns: 0,
            since_ns: 0,
            most: 0,
        }
    }

    /// Number of segments in the buffer.
    fn held(&self) -> u32 {
        self.waiting.len() as u32 + self.sending
    }

    /// First SSN beyond the window if `next` is expected. Out-of-order segments on the subflow are
    /// within the window.
    pub(super) fn window_end(&self, next: u32) -> u32 {
        next + self.capacity.saturating_sub(self.held())
    }

    /// The window of a subflow that starts.
    pub(crate) fn first_window(&mut self) -> u32 {
        self.told_end = self.window_end(0);
        self.told_end
    }

    /// Takes the next segment to forward: the first below MAX, or the head if the buffer is full
    /// and none of its segments is in transmission.
    pub(super) fn take_next(&mut self) -> Option<(u32, u16)> {
        let max = self.min.saturating_add(self.range);
        let inside = self.waiting.iter().position(|&(dsn, _)| dsn < max);
        let full = self.held() >= self.capacity && self.sending == 0 && !self.waiting.is_empty();
        let segment = self.waiting.remove(inside.or(full.then_some(0))?)?;
        self.sending += 1;
        Some(segment)
    }

    /// Adds the time since the last change.
    pub(super) fn bring_up(&mut self, now_ns: u64) {
        let since_ns = std::mem::replace(&mut self.since_ns, now_ns);
        self.held_ns += u128::from(self.held()) * u128::from(now_ns - since_ns);
        self.most = self.most.max(self.held());
    }

    /// Mean and maximum length of the buffer until `now_ns`, segments.
    pub(crate) fn buffer(&mut self, now_ns: u64) -> (f64, f64) {
        self.bring_up(now_ns);
        (
            self.held_ns as f64 / now_ns.max(1) as f64,
            f64::from(self.most),
        )
    }
}
