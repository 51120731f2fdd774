//! Cost of a path, per bit of payload and per second.

use joulepath_model::energy::{
    DeviceEnergy, HostModel, InterfaceModel, RrcModel, SunkWhile, Traffic,
};
use joulepath_model::units::Nanos;

/// Samples of a host's curve for the chord below it.
const CHORD_SAMPLES: u32 = 512;

/// Energy of one interface as the optimiser sees it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct InterfaceCost {
    /// Energy per bit of payload, including headers and ACKs, J/bit.
    pub slope_j_per_bit: f64,
    /// Energy of ACKs that a run's end may spare, J.
    pub late_j: f64,
    /// Power while used, W.
    pub used_w: f64,
    /// Power while unused, W.
    pub unused_w: f64,
    /// Whether it may switch between used and unused during a transfer, instantly and for free.
    pub sleeps: bool,
    /// Whether it burns nothing once its subflow is closed.
    pub closes: bool,
    /// Promotion before the first byte, s.
    pub wake_s: f64,
    /// Promotion and tail of one use, J.
    pub use_j: f64,
    /// Length of the tail, s.
    pub tail_s: f64,
    /// Whether it counts as active in the device's sharing while used.
    pub active_when_used: bool,
    /// Whether it counts as active while unused.
    pub active_when_unused: bool,
}

/// Bits through the interface per bit of payload delivered, in each direction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WireBits {
    /// Received by the device.
    pub down: f64,
    /// Sent by the device.
    pub up: f64,
}

/// Rate at which the link that feeds an interface delivers segments.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pace {
    /// Payload rate at the link's maximum, bit/s; may be infinite; 0 if the link is out for the
    /// whole measured time.
    pub payload_bps: f64,
    /// Payload rate at the link's minimum if each packet is as late as its delay may vary, bit/s; 0
    /// if packets need not follow each other at the link's rate.
    pub slowest_bps: f64,
    /// Payload rate at the maximum of the link next to the device, bit/s; infinite if packets take
    /// no time.
    pub air_bps: f64,
    /// Payload of a full segment, bits.
    pub segment_bits: f64,
}

/// The cost of an interface that carries `wire` bits per payload bit, at most at `pace`.
pub fn interface_cost(model: &InterfaceModel, wire: WireBits, pace: Pace) -> InterfaceCost {
    let slope = model.slope(Traffic::Down).0 * wire.down + model.slope(Traffic::Up).0 * wire.up;
    let base = InterfaceCost {
        slope_j_per_bit: slope,
        active_when_used: true,
        ..InterfaceCost::default()
    };
    match model {
        InterfaceModel::Linear {
            down,
            up,
            sunk,
            sunk_while,
        } => {
            let costs = [down.0, up.0, sunk.0] != [0.0; 3];
            let always = *sunk_while == SunkWhile::Always;
            InterfaceCost {
                used_w: sunk.0,
                unused_w: if always { sunk.0 } else { 0.0 },
                closes: !always,
                active_when_used: costs,
                active_when_unused: always && costs,
                ..base
            }
        }
        InterfaceModel::Rrc(rrc) => {
            let (used_w, active_slope) = while_used(rrc, pace);
            InterfaceCost {
                slope_j_per_bit: slope + active_slope,
                used_w,
                unused_w: rrc.idle.0,
                sleeps: true,
                wake_s: rrc.promotion.duration.as_secs_f64(),
                use_j: use_joules(rrc),
                tail_s: rrc
                    .tail
                    .iter()
                    .map(|stage| stage.duration.as_secs_f64())
                    .sum(),
                ..base
            }
        }
        InterfaceModel::Slotted { idle, .. } => InterfaceCost {
            unused_w: idle.0,
            sleeps: true,
            ..base
        },
    }
}

/// Minimum power of a radio that is not idle, W, and the energy per bit that ACTIVE adds while
/// packets pass, J/bit.
///
/// The radio is ACTIVE while its own link transmits. If the path is slower: a train of n packets, s
/// apart, is ACTIVE for n − 1 spacings; the gap after it, at least `inactivity`, is TAIL. That is
/// no cheaper than ACTIVE for n spacings if tail power × inactivity ≥ active power × s; s includes
/// by how much the delay varies. Links of varying rate add what their maximum adds. A link that is
/// out for the whole measured time carries no bits and adds nothing.
fn while_used(rrc: &RrcModel, pace: Pace) -> (f64, f64) {
    let active_w = rrc.active.0;
    let tail_w = rrc
        .tail
        .iter()
        .map(|stage| stage.power.0)
        .fold(active_w, f64::min);
    let spacing_s = pace.segment_bits / pace.slowest_bps;
    let gap_s = rrc
        .tail
        .first()
        .map_or(rrc.inactivity, |stage| stage.duration.min(rrc.inactivity))
        .as_secs_f64();
    let in_trains = pace.payload_bps > 0.0 && tail_w * gap_s >= active_w * spacing_s;
    let active_bps = if in_trains {
        pace.payload_bps
    } else {
        pace.air_bps
    };
    (
        tail_w,
        if pace.payload_bps > 0.0 {
            (active_w - tail_w) / active_bps
        } else {
            0.0
        },
    )
}

/// Time of one promotion and one whole tail, s.
pub(super) fn around_s(model: &InterfaceModel) -> f64 {
    let InterfaceModel::Rrc(rrc) = model else {
        return 0.0;
    };
    rrc.tail
        .iter()
        .chain([&rrc.promotion])
        .map(|stage| stage.duration.as_secs_f64())
        .sum()
}

/// One promotion and one whole tail, J.
fn use_joules(rrc: &RrcModel) -> f64 {
    let stages = rrc.tail.iter().chain([&rrc.promotion]);
    stages
        .map(|stage| stage.power.0 * stage.duration.as_secs_f64())
        .sum()
}

/// Power of the device apart from its interfaces, affine in the rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Besides {
    pub(super) power_w: f64,
    pub(super) slope_j_per_bit: f64,
}

/// Power of the shared base and the host with `used` subflows, for rates up to `most_bps`. `rtt_s`:
/// RTT of the fastest subflow.
pub(super) fn besides(
    device: &DeviceEnergy,
    active: u32,
    used: u32,
    rtt_s: f64,
    most_bps: f64,
) -> Besides {
    let base_w = if active > 0 {
        device.shared_base.0
    } else {
        0.0
    };
    let host = device
        .host
        .as_ref()
        .map(|host| chord(host, used, rtt_s, most_bps));
    let host = host.unwrap_or(Besides {
        power_w: 0.0,
        slope_j_per_bit: 0.0,
    });
    Besides {
        power_w: base_w + host.power_w,
        ..host
    }
}

/// The steepest line from the host's power at rate 0 that stays below its curve up to `most_bps`;
/// exact if the curve is affine.
fn chord(host: &HostModel, used: u32, rtt_s: f64, most_bps: f64) -> Besides {
    let power = |rate: f64| host.power(rate, Nanos::from_secs_f64(rtt_s), used).0;
    let slope_to = |k: u32| {
        let rate = most_bps * f64::from(k) / f64::from(CHORD_SAMPLES);
        (power(rate) - power(0.0)) / rate
    };
    let bounded = most_bps > 0.0 && most_bps.is_finite();
    let slope = (1..=CHORD_SAMPLES)
        .map(slope_to)
        .fold(f64::INFINITY, f64::min);
    Besides {
        power_w: power(0.0),
        slope_j_per_bit: if bounded { slope } else { 0.0 },
    }
}
