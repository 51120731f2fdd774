//! Cost of one interface.

use joulepath_model::energy::InterfaceModel;
use joulepath_model::network::LossSpec;
use joulepath_model::units::Nanos;

use super::course::{Flow, most_window};
use super::question::Path;
use crate::allocate::mathis_bps;
use crate::bursts::{Losses, Timeouts, losses_of};
use crate::limit::{Capacity, Pace, WireBits, interface_cost};

/// Payload of a full segment, its headers and its ACK, bytes, and the timeouts: the scenario
/// defaults.
const MSS_BYTES: f64 = 1460.0;
const HEADER_BYTES: f64 = 40.0;
const ACK_BYTES: f64 = 40.0;
const TIMEOUTS: Timeouts = Timeouts {
    rto_min: Nanos::from_millis(200),
    rto_max: Nanos::from_secs(120),
    max_retries: 15,
    most_s: f64::INFINITY,
};
/// Payload of a full segment, bits.
pub(super) const MSS_BITS: f64 = 8.0 * MSS_BYTES;
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
    /// Time before the first byte: promotion and, of a transfer, handshakes, s.
    pub(super) wake_s: f64,
    /// Energy of that time and of the tail, J.
    pub(super) use_j: f64,
    /// Length of the tail, s.
    pub(super) tail_s: f64,
    /// Whether it keeps the shared base on while used.
    pub(super) active_when_used: bool,
    /// Whether it keeps the shared base on while unused.
    pub(super) active_when_unused: bool,
}

impl Radio {
    /// The interface with data that flows at `rate_bps` as soon as it is awake.
    pub(super) fn new(path: &Path, rate_bps: f64) -> Self {
        let wire = WireBits {
            down: per_payload(),
            up: ACK_BYTES / MSS_BYTES,
        };
        // An infinitely fast link adds nothing for gaps between packets: β burns throughout, see
        // below.
        let pace = Pace {
            payload_bps: f64::INFINITY,
            slowest_bps: f64::INFINITY,
            air_bps: f64::INFINITY,
            segment_bits: MSS_BITS,
        };
        let cost = interface_cost(&path.energy, wire, pace);
        let wake_s = cost.wake_s;
        Radio {
            rate_bps,
            slope_j_per_bit: cost.slope_j_per_bit,
            used_w: path.energy.sunk_power().0,
            until_end: !cost.sleeps,
            unused_w: cost.unused_w,
            wake_s,
            // At least the idle energy of that time: otherwise waking an interface for nothing
            // would save energy.
            use_j: f64::max(cost.use_j, cost.unused_w * (wake_s + cost.tail_s)),
            tail_s: cost.tail_s,
            active_when_used: cost.active_when_used,
            active_when_unused: cost.active_when_unused,
        }
    }

    /// The same, with data that flows at the mean rate `pps` in windows, on a path with this flow.
    pub(super) fn flowing(self, path: &Path, flow: &Flow, pps: f64) -> Self {
        let saved_w = saved_w(&path.energy, flow.rtt_s, pps / flow.link_pps);
        Radio {
            rate_bps: MSS_BITS * pps,
            used_w: self.used_w - saved_w,
            ..self
        }
    }

    /// The same, if the promotion begins at `joins_s` and data flows `opening_s` after it.
    pub(super) fn opening(self, joins_s: f64, opening_s: f64) -> Self {
        let active_w = if self.until_end { 0.0 } else { self.used_w };
        Radio {
            wake_s: joins_s + self.wake_s + opening_s,
            use_j: self.use_j + self.unused_w * joins_s + active_w * opening_s,
            ..self
        }
    }
}

/// Power of a radio less than its β while a window of data flows once in each of `rtt_s`, on
/// average, W. The window takes the part `busy` of the time; the tail begins when no data has
/// passed for the inactivity time.
fn saved_w(energy: &InterfaceModel, rtt_s: f64, busy: f64) -> f64 {
    match energy {
        InterfaceModel::Rrc(rrc) if rtt_s > 0.0 => {
            let asleep = (1.0 - busy - rrc.inactivity.as_secs_f64() / rtt_s).max(0.0);
            let tail_w = rrc.tail.first().map_or(rrc.idle, |stage| stage.power);
            asleep * (rrc.active.0 - tail_w.0).max(0.0)
        }
        _ => 0.0,
    }
}

/// Bytes on the wire per byte of payload.
fn per_payload() -> f64 {
    (MSS_BYTES + HEADER_BYTES) / MSS_BYTES
}

/// Payload that the link of `path` delivers, bit/s.
fn link_bps(path: &Path) -> f64 {
    path.rate.bps() as f64 * (1.0 - path.loss.mean()) / per_payload()
}

fn losses(path: &Path) -> Losses {
    let (rtt_s, link_pps) = (path.rtt.as_secs_f64(), link_bps(path) / MSS_BITS);
    let loss: [&LossSpec; 1] = [&path.loss];
    losses_of(
        loss.into_iter(),
        TIMEOUTS,
        rtt_s,
        most_window(link_pps * rtt_s),
    )
}

/// Part of the time for which lost retransmissions stop a TCP on `path`.
pub(super) fn stalled(path: &Path) -> f64 {
    losses(path).stalled_on(link_bps(path) / MSS_BITS, path.rtt.as_secs_f64())
}

/// One TCP on `path`. It has no loss if the transport achieves the links' rates.
pub(super) fn flow(path: &Path, capacity: Capacity) -> Flow {
    let rtt_s = path.rtt.as_secs_f64();
    let link_pps = link_bps(path) / MSS_BITS;
    let lossless = Flow {
        rtt_s,
        link_pps,
        steady_pps: f64::INFINITY,
        events: 0.0,
        stalled: 0.0,
    };
    let losses = losses(path);
    if capacity == Capacity::Link || losses.events == 0.0 {
        return lossless;
    }
    Flow {
        steady_pps: mathis_bps(MSS_BYTES, rtt_s, losses.events) / MSS_BITS,
        events: losses.events,
        stalled: losses.stalled_on(link_pps, rtt_s),
        ..lossless
    }
}
