//! Rates of transmitters: constant, piecewise constant, log-normal.

use joulepath_model::units::{BitRate, Nanos};

use joulepath_model::random::Stream;

/// A time that never comes.
pub(crate) const NEVER_NS: u64 = u64::MAX;

/// Work per byte, bit/s × ns: 8 bit × 1e9 ns/s.
const WORK_PER_BYTE: u64 = 8_000_000_000;

/// A constant rate, exact, without a division on the fast path.
///
/// The end of a transmission is rounded up to a nanosecond. A packet that follows without a gap
/// gets the rounding back, so rounding errors do not accumulate.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ConstantRate {
    divisor: Divisor,
    /// Addend to the work of the next transmission, bit/s × ns: bps − 1, which rounds its end up,
    /// minus the amount by which the last end was rounded up.
    phase: u64,
}

/// A rate by which work is divided exactly, without a division.
#[derive(Clone, Copy, Debug)]
struct Divisor {
    bps: u64,
    /// ⌈2⁶⁴⁺ˢ/bps⌉, where 2ˢ is the largest power of 2 below bps; 0 for a transmitter that takes no
    /// time.
    reciprocal: u64,
    /// s.
    shift: u32,
}

impl ConstantRate {
    /// The rate of a transmitter that takes no time.
    pub(crate) const UNLIMITED: Self = ConstantRate {
        divisor: Divisor {
            bps: 1,
            reciprocal: 0,
            shift: 0,
        },
        phase: 0,
    };

    /// Returns `None` for 0 and 1 bit/s.
    pub(crate) fn new(rate: BitRate) -> Option<Self> {
        let divisor = Divisor::new(rate.bps())?;
        Some(ConstantRate {
            divisor,
            phase: divisor.bps - 1,
        })
    }

    /// bit/s; 0 for a transmitter that takes no time.
    pub(crate) fn bps(&self) -> u64 {
        if self.divisor.reciprocal == 0 {
            0
        } else {
            self.divisor.bps
        }
    }

    /// Notes a gap between the last transmission and the next.
    #[inline]
    pub(crate) fn interrupt(&mut self) {
        self.phase = self.divisor.bps - 1;
    }

    /// Duration of a transmission, ns. `idle`: there was a gap before it.
    #[inline(always)]
    pub(crate) fn transmission_ns(&mut self, idle: bool, size: u32) -> u64 {
        let phase = if idle {
            self.divisor.bps - 1
        } else {
            self.phase
        };
        let time_ns;
        // For a transmitter that takes no time the remainder grows without meaning.
        (time_ns, self.phase) = self
            .divisor
            .divide((u64::from(size) * WORK_PER_BYTE).wrapping_add(phase));
        time_ns
    }
}

impl Divisor {
    /// Returns `None` for 0 and 1 bit/s, whose reciprocal does not fit into a word.
    fn new(bps: u64) -> Option<Self> {
        let shift = bps.checked_sub(1)?.checked_ilog2()?;
        let reciprocal = (1_u128 << (u64::BITS + shift)).div_ceil(u128::from(bps)) as u64;
        Some(Divisor {
            bps,
            reciprocal,
            shift,
        })
    }

    /// Quotient and remainder of `work` / bps, for work below 2⁶³.
    ///
    /// The reciprocal is r = (2⁶⁴⁺ˢ + e)/bps with 0 ≤ e < bps ≤ 2ˢ⁺¹. So its quotient is too large
    /// by work · e/(bps · 2⁶⁴⁺ˢ) before rounding down, which is less than 1/bps. The fraction of
    /// the true quotient is at most 1 − 1/bps, so both round down to the same integer.
    #[inline(always)]
    fn divide(&self, work: u64) -> (u64, u64) {
        let quotient =
            ((u128::from(work) * u128::from(self.reciprocal)) >> u64::BITS) as u64 >> self.shift;
        (quotient, work.wrapping_sub(quotient.wrapping_mul(self.bps)))
    }
}

/// A rate that is constant on each of a sequence of pieces; transmissions integrate it exactly.
#[derive(Clone, Debug)]
pub(crate) struct PiecewiseRate {
    bps: u64,
    /// `bps` as a divisor; none for 0 and 1 bit/s.
    divisor: Option<Divisor>,
    /// End of the current piece, ns.
    until: u64,
    pieces: Pieces,
    /// End of the last transmission, rounded up, ns; and the work that was still possible by then,
    /// bit/s × ns.
    last_finish: u64,
    credit: u64,
}

#[derive(Clone, Debug)]
enum Pieces {
    Steps {
        steps: Vec<(Nanos, BitRate)>,
        next: usize,
    },
    LogNormal(LogNormal),
}

impl PiecewiseRate {
    /// Rate of the latest piece that a transmission has reached, bit/s.
    pub(crate) fn bps(&self) -> u64 {
        self.bps
    }

    /// # Panics
    /// If the steps do not begin at time 0 or do not ascend.
    pub(crate) fn steps(steps: &[(Nanos, BitRate)]) -> Self {
        assert!(
            steps.first().is_some_and(|step| step.0 == Nanos::ZERO),
            "the first rate step is at time 0"
        );
        assert!(
            steps.is_sorted_by_key(|step| step.0),
            "rate steps ascend in time"
        );
        Self::starting_with(Pieces::Steps {
            steps: steps.to_vec(),
            next: 0,
        })
    }

    pub(crate) fn log_normal(process: LogNormal) -> Self {
        Self::starting_with(Pieces::LogNormal(process))
    }

    fn starting_with(pieces: Pieces) -> Self {
        let mut rate = PiecewiseRate {
            bps: 0,
            divisor: None,
            until: 0,
            pieces,
            last_finish: 0,
            credit: 0,
        };
        rate.next_piece();
        rate
    }

    /// End of a transmission that starts at `start`, ns. `start` must not decrease.
    #[inline(always)]
    pub(crate) fn finish(&mut self, start: u64, size: u32) -> u64 {
        let mut work = u64::from(size) * WORK_PER_BYTE;
        let mut at = start;
        if start == self.last_finish {
            let used = self.credit.min(work);
            (work, self.credit) = (work - used, self.credit - used);
        } else {
            self.credit = 0;
        }
        self.last_finish = loop {
            if at == NEVER_NS {
                break NEVER_NS;
            }
            while self.until <= at {
                self.next_piece();
            }
            let possible = self.bps.saturating_mul(self.until - at);
            if possible >= work && self.bps > 0 {
                break at + self.spend(work);
            }
            work -= possible;
            at = self.until;
        };
        self.last_finish
    }

    /// Time for `work` at the current rate, ns, rounded up.
    #[inline]
    fn spend(&mut self, work: u64) -> u64 {
        let rounded_up = work + self.bps - 1;
        let (time_ns, rest) = match self.divisor {
            Some(divisor) => divisor.divide(rounded_up),
            None => (rounded_up / self.bps, rounded_up % self.bps),
        };
        self.credit += self.bps - 1 - rest;
        time_ns
    }

    #[cold]
    fn next_piece(&mut self) {
        match &mut self.pieces {
            Pieces::Steps { steps, next } => {
                self.bps = steps[*next].1.bps();
                *next += 1;
                self.until = steps.get(*next).map_or(NEVER_NS, |step| step.0.0);
            }
            Pieces::LogNormal(process) => {
                self.bps = process.next_bps();
                self.until += process.interval_ns;
            }
        }
        self.divisor = Divisor::new(self.bps);
    }
}

/// A rate exp(X), where X is a Gaussian AR(1) process in steps of `interval`.
#[derive(Clone, Debug)]
pub(crate) struct LogNormal {
    interval_ns: u64,
    /// Mean and standard deviation of X.
    mu: f64,
    sigma: f64,
    /// Correlation of neighbouring values of X.
    rho: f64,
    /// (X − mu)/sigma of the next value.
    x: f64,
    stream: Stream,
}

impl LogNormal {
    /// A rate with the given mean and ratio of standard deviation to mean. The autocorrelation of
    /// its logarithm is exp(−t/correlation).
    ///
    /// # Panics
    /// If the mean or the interval is 0.
    pub(crate) fn new(
        mean: BitRate,
        deviation: f64,
        correlation: Nanos,
        interval: Nanos,
        mut stream: Stream,
    ) -> Self {
        assert!(mean.bps() > 0, "a log-normal rate has a mean above 0");
        assert!(
            interval > Nanos::ZERO,
            "a log-normal rate has an interval above 0"
        );
        let sigma_squared = log_variance(deviation);
        LogNormal {
            interval_ns: interval.0,
            mu: libm::log(mean.bps() as f64) - sigma_squared / 2.0,
            sigma: libm::sqrt(sigma_squared),
            rho: libm::exp(-(interval.0 as f64 / correlation.0 as f64)),
            x: stream.normal(),
            stream,
        }
    }

    /// The steps of the rate until `until`.
    pub(crate) fn steps(mut self, until: Nanos) -> Vec<(Nanos, BitRate)> {
        let starts = (0..until.0.max(1)).step_by(self.interval_ns as usize);
        starts
            .map(|at| (Nanos(at), BitRate::from_bps(self.next_bps())))
            .collect()
    }

    /// At least 1 bit/s, so that every transmission ends.
    fn next_bps(&mut self) -> u64 {
        let bps = libm::exp(self.mu + self.sigma * self.x);
        let innovation = libm::sqrt(1.0 - self.rho * self.rho);
        self.x = self.rho * self.x + innovation * self.stream.normal();
        (bps + 0.5).max(1.0) as u64
    }
}

/// σ² = ln(1 + (s/m)²): variance of the logarithm of a log-normal variable with mean m and standard
/// deviation s.
fn log_variance(deviation: f64) -> f64 {
    libm::log1p(deviation * deviation)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use joulepath_model::random::Domain;

    const VALUES: usize = 1 << 18;

    /// 10 Mbit/s ± 40 %, correlated over two intervals: rho = exp(−1/2).
    fn process(correlation: Nanos) -> LogNormal {
        let stream = Stream::new(11, Domain::LinkRate, 0);
        LogNormal::new(
            BitRate::from_bps(10_000_000),
            0.4,
            correlation,
            Nanos::from_millis(100),
            stream,
        )
    }

    fn mean(values: impl Iterator<Item = f64>) -> f64 {
        values.sum::<f64>() / VALUES as f64
    }

    #[test]
    fn a_log_normal_rate_has_the_given_mean_deviation_and_correlation() {
        let rho = (-0.5f64).exp();
        let mut process = process(Nanos::from_millis(200));
        let rates: Vec<f64> = (0..VALUES)
            .map(|_| process.next_bps() as f64 / 1e7)
            .collect();
        // Standard error of the mean: 0.4·√((1 + rho)/(1 − rho)/2¹⁸) ≈ 0.0016; five of them are
        // tolerated.
        let first = mean(rates.iter().copied());
        assert!((first - 1.0).abs() < 0.008, "mean {first}");
        let deviation = mean(rates.iter().map(|r| (r - 1.0).powi(2))).sqrt();
        assert!((deviation - 0.4).abs() < 0.01, "deviation {deviation}");
        let logs: Vec<f64> = rates.iter().map(|r| r.ln()).collect();
        let centre = mean(logs.iter().copied());
        let variance = mean(logs.iter().map(|x| (x - centre).powi(2)));
        // σ² = ln(1 + 0.16) = 0.14842, µ = −σ²/2.
        assert!(
            (variance - 0.14842).abs() < 0.004,
            "variance of the logarithm {variance}"
        );
        assert!(
            (centre + 0.07421).abs() < 0.008,
            "mean of the logarithm {centre}"
        );
        for lag in [1, 2, 4] {
            let covariance = mean(
                logs.windows(lag + 1)
                    .map(|w| (w[0] - centre) * (w[lag] - centre)),
            );
            let expected = rho.powi(lag as i32);
            assert!(
                (covariance / variance - expected).abs() < 0.015,
                "lag {lag}: {}",
                covariance / variance
            );
        }
    }

    #[test]
    fn without_correlation_neighbouring_rates_are_independent() {
        let mut process = process(Nanos::ZERO);
        let logs: Vec<f64> = (0..VALUES)
            .map(|_| (process.next_bps() as f64 / 1e7).ln() + 0.07421)
            .collect();
        let covariance = mean(logs.windows(2).map(|w| w[0] * w[1]));
        // Standard error σ²/√2¹⁸ = 0.14842/512 = 0.00029.
        assert!(covariance.abs() < 0.0015, "{covariance}");
    }

    #[test]
    fn without_deviation_the_rate_is_its_mean() {
        let stream = Stream::new(1, Domain::LinkRate, 0);
        let mean = BitRate::from_bps(7_654_321);
        let mut process = LogNormal::new(mean, 0.0, Nanos::ZERO, Nanos::from_millis(1), stream);
        assert!((0..100).all(|_| process.next_bps() == 7_654_321));
    }

    proptest! {
        #[test]
        fn division_by_the_reciprocal_is_exact(bps in 2u64..=1 << 50, work in 0u64..1 << 63) {
            let divisor = Divisor::new(bps).expect("above 1 bit/s");
            prop_assert_eq!(divisor.divide(work), (work / bps, work % bps));
            let multiple = work / bps * bps;
            prop_assert_eq!(divisor.divide(multiple), (work / bps, 0));
        }
    }
}
