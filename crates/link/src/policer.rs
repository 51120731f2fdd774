//! A token bucket that drops excess packets.

use joulepath_model::network::PolicerSpec;

/// Tokens are counted in bits × 10⁻⁹ s, so a rate in bit/s adds an integer number of tokens per
/// nanosecond.
const PER_BYTE: u128 = 8 * 1_000_000_000;

/// A token bucket with a rate and a burst.
#[derive(Clone, Debug)]
pub(crate) struct Policer {
    rate_bps: u128,
    burst: u128,
    tokens: u128,
    filled_ns: u64,
}

impl Policer {
    /// A full bucket at time 0.
    pub(crate) fn new(spec: PolicerSpec) -> Self {
        let burst = u128::from(spec.burst.0) * PER_BYTE;
        Policer {
            rate_bps: spec.rate.bps().into(),
            burst,
            tokens: burst,
            filled_ns: 0,
        }
    }

    /// True if a packet of `size` bytes passes; it then takes its tokens. `now` must not decrease.
    pub(crate) fn passes(&mut self, now: u64, size: u32) -> bool {
        let elapsed_ns = now - std::mem::replace(&mut self.filled_ns, now);
        self.tokens = (self.tokens + u128::from(elapsed_ns) * self.rate_bps).min(self.burst);
        let price = u128::from(size) * PER_BYTE;
        let passes = price <= self.tokens;
        if passes {
            self.tokens -= price;
        }
        passes
    }
}
