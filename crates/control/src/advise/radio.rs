//! Cost of one interface.

use super::question::Path;
use crate::allocate::rate::mathis_bps;
use crate::limit::{Capacity, Pace, WireBits, interface_cost};

/// Payload of a full segment, its headers and its ACK, bytes: the scenario defaults.
const MSS_BYTES: f64 = 1460.0;
const HEADER_BYTES: f64 = 40.0;
const ACK_BYTES: f64 = 40.0;

/// One path with its interface.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Radio {
    /// Payload rate while data flows, bit/s.
    pub(super) rate_bps: f64,
    /// Energy per bit of payload, including headers and ACKs, J/bit.
    pub(super) slope_j_per_bit: f64,
    /// θ or β, W.
    pub(super) used_w: f64,
    /// Whether θ burns until the end of the transfer, not just until the end of this path's part.
    pub(super) until_end: bool,
    /// Power while not waking, carrying data, or in its tail, W.
    pub(super) unused_w: f64,
    /// Promotion before the first byte, s.
    pub(super) wake_s: f64,
    /// Promotion and tail of one use, J.
    pub(super) use_j: f64,
    /// Length of the tail, s.
    pub(super) tail_s: f64,
    /// Whether it keeps the shared base on while used.
    pub(super) active_when_used: bool,
    /// Whether it keeps the shared base on while unused.
    pub(super) active_when_unused: bool,
}

impl Radio {
    pub(super) fn new(path: &Path, capacity: Capacity) -> Self {
        let per_payload = (MSS_BYTES + HEADER_BYTES) / MSS_BYTES;
        let wire = WireBits { down: per_payload, up: ACK_BYTES / MSS_BYTES };
        // An infinitely fast link adds nothing for gaps between packets: β burns throughout, see below.
        let pace = Pace {
            payload_bps: f64::INFINITY,
            slowest_bps: f64::INFINITY,
            air_bps: f64::INFINITY,
            segment_bits: 8.0 * MSS_BYTES,
        };
        let cost = interface_cost(&path.energy, wire, pace);
        let wake_s = cost.wake_s;
        Radio {
            rate_bps: payload_bps(path, capacity, per_payload),
            slope_j_per_bit: cost.slope_j_per_bit,
            used_w: path.energy.sunk_power().0,
            until_end: !cost.sleeps,
            unused_w: cost.unused_w,
            wake_s,
            // At least the idle energy of that time: otherwise waking an interface for nothing would save
            // energy.
            use_j: f64::max(cost.use_j, cost.unused_w * (wake_s + cost.tail_s)),
            tail_s: cost.tail_s,
            active_when_used: cost.active_when_used,
            active_when_unused: cost.active_when_unused,
        }
    }
}

/// The link's rate, or TCP's rate under its loss if that is lower, bit/s of payload.
fn payload_bps(path: &Path, capacity: Capacity, per_payload: f64) -> f64 {
    let loss = path.loss.get();
    let link = path.rate.bps() as f64 * (1.0 - loss) / per_payload;
    match capacity {
        Capacity::TcpFriendly if loss > 0.0 => link.min(mathis_bps(MSS_BYTES, path.rtt.as_secs_f64(), loss)),
        Capacity::TcpFriendly | Capacity::Link => link,
    }
}
