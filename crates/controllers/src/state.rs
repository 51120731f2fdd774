//! The state of a connection, laid out as in `cc/mpcc.h`.

use crate::{MAX_PARAMS, MAX_SUBFLOWS, SSTHRESH_NONE};

/// State of a subflow that its siblings may read (`struct mpcc_own`, 104 bytes).
///
/// The runner and the controller write it; the control plane uses the setters. 0 means "no sample"
/// or "unknown".
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Own {
    pub(crate) acc: i64,
    /// Bytes of payload per second, 0 = not paced. Like `group` and `history_rtt_us`, only for a
    /// controller that owns its window: if the runner keeps the window, C caches the increase in
    /// these places.
    pub(crate) pacing_rate: u64,
    pub(crate) rtt_sum_us: u64,
    pub(crate) rtt_count: u32,
    pub(crate) rtt_min_us: u32,
    /// Minimum RTT so far, µs; 0 = no sample.
    pub base_rtt_us: u32,
    /// End of the present RTT round, in a unit that the engine chooses.
    pub round_end: u32,
    /// Subflows of one group share a bottleneck; 0 = unknown.
    pub(crate) group: u32,
    /// Minimum known RTT of the path, µs; 0 = unknown.
    pub(crate) history_rtt_us: u32,
    wide: [u64; 1],
    /// Latest RTT, µs; 0 = no sample.
    pub last_rtt_us: u32,
    /// Packets acknowledged since the last loss, saturating.
    pub acked_since_loss: u32,
    /// Packets acknowledged between the last two losses, saturating.
    pub acked_between_losses: u32,
    energy_cost: u32,
    target_share: u32,
    path_price: u32,
    loss: u32,
    pub(crate) word: [u32; 5],
}

/// 1.0 in the fixed-point formats of `cc/mpcc.h`.
const COST_ONE: f64 = (1u64 << 16) as f64;
const SHARE_ONE: f64 = (1u64 << 20) as f64;
const PRICE_ONE: f64 = (1u64 << 16) as f64;
const LOSS_ONE: f64 = (1u64 << 30) as f64;
/// 1 packet in the stored increases and the accumulator.
pub(crate) const PACKET_BITS: u64 = 1 << 32;
/// `PACKET_BITS` as a floating-point number.
pub(crate) const PACKET: f64 = PACKET_BITS as f64;
impl Own {
    /// Energy per delivered bit of this path, up to 65 535, in any unit that all subflows share; 0
    /// = unknown.
    pub fn energy_cost(&self) -> f64 {
        f64::from(self.energy_cost) / COST_ONE
    }

    /// Sets [`energy_cost`](Self::energy_cost). The resolution is 1.5e-5, so costs should be near
    /// or above 1. Larger values saturate.
    pub fn set_energy_cost(&mut self, cost: f64) {
        self.energy_cost = fixed(cost, COST_ONE);
    }

    /// Share of the traffic for this path (the splitting ratio α of EEMPTCP), 0 to 1.
    pub fn target_share(&self) -> f64 {
        f64::from(self.target_share) / SHARE_ONE
    }

    /// Sets [`target_share`](Self::target_share), clamped to 0..=1.
    pub fn set_target_share(&mut self, share: f64) {
        self.target_share = fixed(share.min(1.0), SHARE_ONE);
    }

    /// Price `U_r` of the path's queues and energy (extended DTS), dimensionless, up to 65 535.
    pub fn path_price(&self) -> f64 {
        f64::from(self.path_price) / PRICE_ONE
    }

    /// Sets [`path_price`](Self::path_price). Larger values saturate.
    pub fn set_path_price(&mut self, price: f64) {
        self.path_price = fixed(price, PRICE_ONE);
    }

    /// Loss probability from the control plane. 0 means unknown: the acknowledged packets give an
    /// estimate.
    pub fn loss(&self) -> f64 {
        f64::from(self.loss) / LOSS_ONE
    }

    /// Sets [`loss`](Self::loss), clamped to 0..=1.
    pub fn set_loss(&mut self, probability: f64) {
        self.loss = fixed(probability.min(1.0), LOSS_ONE);
    }

    /// Minimum RTT of the present round, µs; 0 = no sample, or the controller does not read delays.
    pub fn round_min_rtt_us(&self) -> u32 {
        self.rtt_min_us
    }

    /// Mean RTT of the present round, µs; 0 = no sample, or the controller does not read delays.
    pub fn round_mean_rtt_us(&self) -> u64 {
        self.rtt_sum_us
            .checked_div(self.rtt_count.into())
            .unwrap_or(0)
    }

    /// Pacing rate of a controller that owns the window, bytes of payload per second; 0 = not
    /// paced.
    pub fn pacing_rate_bytes_per_s(&self) -> u64 {
        self.pacing_rate
    }

    /// Sets [`pacing_rate_bytes_per_s`](Self::pacing_rate_bytes_per_s), for a hosted controller
    /// that owns its window.
    pub fn set_pacing_rate_bytes_per_s(&mut self, rate: u64) {
        self.pacing_rate = rate;
    }

    /// A state with this content, for tests: a controller must be defined for any content. Engines
    /// start with [`Own::default`].
    pub fn of_words(words: [u64; 13]) -> Self {
        // SAFETY: both types have 104 bytes without padding, and any bits are valid integers.
        unsafe { std::mem::transmute(words) }
    }

    /// The words that siblings can read; the controller defines their meaning.
    pub fn private_words(&self) -> [u32; 5] {
        self.word
    }

    /// Growth of the window not yet in cwnd, packets, within (−1, 1).
    pub fn fraction(&self) -> f64 {
        self.acc as f64 / PACKET
    }
}

/// `value` times `one`, rounded and saturating; NaN becomes 0.
fn fixed(value: f64, one: f64) -> u32 {
    (value * one).round() as u32
}

/// One subflow: window, threshold, RTT and its own state.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Subflow {
    /// Congestion window, packets.
    pub cwnd: u32,
    /// Slow start threshold, packets.
    pub ssthresh: u32,
    /// Smoothed RTT, µs. 0 = no sample: sums and maxima exclude the subflow.
    pub srtt_us: u32,
    /// [`ESTABLISHED`](Self::ESTABLISHED), [`RECOVERY`](Self::RECOVERY), [`LOSS`](Self::LOSS).
    pub flags: u32,
    /// State of the controller and of the control plane.
    pub own: Own,
}

impl Subflow {
    /// Flag: the subflow may carry data.
    pub const ESTABLISHED: u32 = 1;
    /// Flag: the subflow is in fast recovery. Its window counts as its ssthresh and does not grow.
    pub const RECOVERY: u32 = 2;
    /// Flag: the subflow recovers from a timeout.
    pub const LOSS: u32 = 4;
}

/// A connection (`struct mpcc_conn`). It has no pointers and a fixed size; all zeros are a valid
/// start.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Connection {
    /// Number of subflows in use; saturates at [`MAX_SUBFLOWS`].
    pub n: u32,
    reserved: u32,
    /// Monotonic clock, µs. The caller sets it before each call.
    pub now_us: u64,
    pub(crate) param: [i32; MAX_PARAMS],
    /// The subflows; entries from `n` on are ignored.
    pub subflows: [Subflow; MAX_SUBFLOWS],
}

impl Connection {
    /// A connection of `n` subflows with windows of 0, no threshold, and default parameters.
    ///
    /// # Panics
    /// If `n` exceeds [`MAX_SUBFLOWS`].
    pub fn new(n: usize) -> Self {
        assert!(
            n <= MAX_SUBFLOWS,
            "a connection has at most {MAX_SUBFLOWS} subflows, not {n}"
        );
        let subflow = Subflow {
            ssthresh: SSTHRESH_NONE,
            ..Subflow::default()
        };
        Self {
            n: n as u32,
            subflows: [subflow; MAX_SUBFLOWS],
            ..Self::default()
        }
    }

    /// The controller's parameters in C's format: differences from the defaults, in raw units.
    pub fn parameters(&self) -> [i32; MAX_PARAMS] {
        self.param
    }
}

/// Kinds of congestion episodes.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LossKind {
    /// Lost packets found by duplicate ACKs or SACK.
    FastRetransmit = 0,
    /// Retransmission timeout.
    Timeout = 1,
    /// A congestion mark.
    Ecn = 2,
}

#[cfg(test)]
mod tests {
    use std::mem::{offset_of, size_of};

    use super::{Connection, Own, Subflow};
    use crate::native::{NativeShown, Ops};
    use crate::{Area, Capability, Event};

    #[test]
    fn rust_and_c_have_the_same_layout_and_flags() {
        let offsets = [
            size_of::<Own>(),
            size_of::<Subflow>(),
            size_of::<Connection>(),
            size_of::<Event>(),
            size_of::<Area>(),
            offset_of!(Own, pacing_rate),
            offset_of!(Own, wide),
            offset_of!(Own, last_rtt_us),
            offset_of!(Own, acked_since_loss),
            offset_of!(Own, energy_cost),
            offset_of!(Own, loss),
            offset_of!(Own, round_end),
            offset_of!(Own, group),
            offset_of!(Own, history_rtt_us),
            offset_of!(Own, word),
            offset_of!(Subflow, flags),
            offset_of!(Subflow, own),
            offset_of!(Connection, now_us),
            offset_of!(Connection, param),
            offset_of!(Connection, subflows),
            offset_of!(Event, lost),
            offset_of!(Event, interval_us),
            offset_of!(Ops, capabilities),
            offset_of!(Ops, sample),
            offset_of!(Ops, ack),
            offset_of!(Ops, round),
            offset_of!(Ops, show),
            size_of::<NativeShown>(),
        ];
        let offsets = offsets.into_iter().map(|bytes| bytes as u64);
        let rust: Vec<u64> = offsets
            .chain(Capability::ALL.map(|flag| flag as u64))
            .collect();
        assert_eq!(rust.as_slice(), crate::native::layout());
        assert_eq!(size_of::<Own>(), 104, "the kernel's icsk_ca_priv");
    }
}
