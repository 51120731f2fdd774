//! Round-trip time and retransmission timeout (RFC 6298).

/// Estimator of one subflow. Samples come from echoed timestamps, so retransmissions also give
/// samples (RFC 7323).
pub(crate) struct RttEstimator {
    /// Smoothed RTT times 8, ns; 0 before the first sample.
    srtt_x8_ns: u64,
    /// RTT variation times 4, ns.
    rttvar_x4_ns: u64,
    /// Smoothed RTT, µs.
    srtt_us: u32,
    /// Number of timeouts in a row; each doubles the RTO.
    backoff: u32,
    bounds: RtoBounds,
}

/// Limits of the RTO, ns.
#[derive(Clone, Copy)]
pub(crate) struct RtoBounds {
    pub(crate) initial_ns: u64,
    pub(crate) min_ns: u64,
    pub(crate) max_ns: u64,
}

impl RttEstimator {
    pub(crate) fn new(bounds: RtoBounds) -> Self {
        RttEstimator {
            srtt_x8_ns: 0,
            rttvar_x4_ns: 0,
            srtt_us: 0,
            backoff: 0,
            bounds,
        }
    }

    /// Adds a sample. RFC 6298, section 2: alpha = 1/8, beta = 1/4.
    #[inline(always)]
    pub(crate) fn sample(&mut self, rtt_ns: u64) {
        if self.srtt_x8_ns == 0 {
            self.srtt_x8_ns = rtt_ns * 8;
            self.rttvar_x4_ns = rtt_ns * 2;
        } else {
            let deviation = (self.srtt_x8_ns / 8).abs_diff(rtt_ns);
            self.rttvar_x4_ns = self.rttvar_x4_ns - self.rttvar_x4_ns / 4 + deviation;
            self.srtt_x8_ns = self.srtt_x8_ns - self.srtt_x8_ns / 8 + rtt_ns;
        }
        self.srtt_us = saturated_us(self.srtt_x8_ns / 8);
    }

    /// Ends the backoff: new data is acknowledged (RFC 6298, 5.7).
    #[inline]
    pub(crate) fn progress(&mut self) {
        self.backoff = 0;
    }

    pub(crate) fn back_off(&mut self) {
        self.backoff += 1;
    }

    pub(crate) fn timeouts_in_a_row(&self) -> u32 {
        self.backoff
    }

    /// Smoothed RTT, µs, rounded up so that a sample is never 0; 0 before the first sample.
    #[inline]
    pub(crate) fn srtt_us(&self) -> u32 {
        self.srtt_us
    }

    /// RTT variation, µs (RFC 6298: RTTVAR).
    pub(crate) fn variation_us(&self) -> u32 {
        u32::try_from(self.rttvar_x4_ns / 4_000).unwrap_or(u32::MAX)
    }

    /// Retransmission timeout, ns: srtt + max(4 rttvar, minimum), at most the maximum, doubled by
    /// the backoff.
    ///
    /// As in Linux, the minimum bounds the variation, not the sum. If it bounded the sum, then on a
    /// steady path with an RTT near the minimum the timer would expire before the ACK arrives.
    #[inline]
    pub(crate) fn rto_ns(&self) -> u64 {
        let RtoBounds {
            initial_ns,
            min_ns,
            max_ns,
        } = self.bounds;
        let base = if self.srtt_x8_ns == 0 {
            initial_ns
        } else {
            (self.srtt_x8_ns / 8 + self.rttvar_x4_ns.max(min_ns)).min(max_ns)
        };
        if self.backoff == 0 {
            base
        } else {
            base.saturating_mul(1 << self.backoff.min(16)).min(max_ns)
        }
    }
}

/// A time in the controllers' unit, µs, rounded up. Times beyond 2³² µs (71 minutes) saturate.
#[inline]
pub(super) fn saturated_us(time_ns: u64) -> u32 {
    const MOST_NS: u64 = 1_000 * u32::MAX as u64;
    // Cheaper than `div_ceil`.
    let up_ns = time_ns.min(MOST_NS) + 999;
    (up_ns / 1_000) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn estimator() -> RttEstimator {
        RttEstimator::new(RtoBounds {
            initial_ns: 1000 * MS,
            min_ns: 200 * MS,
            max_ns: 120_000 * MS,
        })
    }

    #[test]
    fn the_first_sample_sets_both_averages() {
        let mut rtt = estimator();
        assert_eq!(rtt.rto_ns(), 1000 * MS);
        rtt.sample(100 * MS);
        // srtt 100, rttvar 50: RTO = 100 + 4 * 50
        assert_eq!((rtt.srtt_us(), rtt.rto_ns()), (100_000, 300 * MS));
        rtt.sample(100 * MS);
        // rttvar 37.5: the minimum of 200 replaces 4 × 37.5
        assert_eq!(rtt.rto_ns(), 300 * MS);
    }

    #[test]
    fn later_samples_are_smoothed() {
        let mut rtt = estimator();
        rtt.sample(100 * MS);
        rtt.sample(180 * MS);
        // srtt = 7/8 * 100 + 1/8 * 180 = 110; rttvar = 3/4 * 50 + 1/4 * 80 = 57.5; RTO = 110 + 230
        assert_eq!((rtt.srtt_us(), rtt.rto_ns()), (110_000, 340 * MS));
    }

    /// 2³² µs are 71.6 minutes.
    #[test]
    fn an_rtt_of_hours_saturates() {
        let mut rtt = estimator();
        rtt.sample(2 * 3_600_000 * MS);
        assert_eq!(
            (rtt.srtt_us(), rtt.variation_us()),
            (u32::MAX, 3_600_000_000)
        );
        rtt.sample(10 * 3_600_000 * MS);
        assert_eq!(rtt.variation_us(), u32::MAX);
    }

    #[test]
    fn timeouts_double_the_rto_and_progress_resets_it() {
        let mut rtt = estimator();
        rtt.sample(10 * MS);
        assert_eq!(rtt.rto_ns(), 210 * MS);
        rtt.back_off();
        rtt.back_off();
        assert_eq!(rtt.rto_ns(), 840 * MS);
        rtt.progress();
        assert_eq!(rtt.rto_ns(), 210 * MS);
    }
}
