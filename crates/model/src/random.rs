//! Seeded random streams, the same on every machine.
//!
//! The generator is PCG XSL-RR 128/64 (MCG) (O'Neill, HMC-CS-2014-0905). Logarithms and powers come
//! from `libm`, written in Rust, because system libraries differ in the last bit. The initial state
//! of a stream is a hash of (seed, domain, index), so another link or flow does not change the
//! numbers of the others.

use std::convert::Infallible;

use rand_core::{Rng, TryRng};
use rand_pcg::Pcg64Mcg;

/// Purpose of a stream. Two domains never share numbers. The discriminants define what a seed
/// means: add new ones, never renumber.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u64)]
pub enum Domain {
    /// Loss on the wire of a link.
    LinkLoss = 1,
    /// Rate of a link over time.
    LinkRate = 2,
    /// Delay variation of a link.
    LinkJitter = 3,
    /// Sizes and times of an application's writes.
    Workload = 4,
    /// Flows that compete with the one under test.
    CrossTraffic = 5,
    /// Rate allocators and path selectors.
    Allocator = 6,
    /// Start times of flows.
    Start = 7,
    /// Choice of routes in a topology.
    Routing = 8,
    /// Choice of the ends of flows in a topology.
    Placement = 9,
    /// Backoff and errors on a shared channel.
    Channel = 10,
    /// Processing times of hosts.
    Processing = 11,
    /// Early drops of a managed queue, and its hash of flows.
    LinkAqm = 12,
    /// Which packets of a link are held back.
    LinkReorder = 13,
    /// Phase of a link's aggregation periods.
    LinkAggregate = 14,
    /// Shadowing of a path's signal.
    Shadowing = 15,
    /// Random marks of a link.
    LinkMark = 16,
    /// Random scenarios of the benchmark.
    Benchmark = 20,
    /// Order of a calibration's blocks, its bootstrap, and the radios that test it.
    Calibration = 30,
    /// Points of a study.
    Study = 40,
    /// Scenarios and seeds of reinforcement-learning episodes.
    Episodes = 50,
}

/// One reproducible sequence of random numbers.
#[derive(Clone, Debug)]
pub struct Stream {
    generator: Pcg64Mcg,
    /// The second number of the last pair that [`Stream::normal`] made.
    spare_normal: Option<f64>,
}

/// 2⁶⁴ divided by the golden ratio, rounded to an odd number: the increment of SplitMix64.
const GOLDEN_GAMMA: u64 = 0x9E37_79B9_7F4A_7C15;

/// The finaliser of SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators,
/// OOPSLA 2014): a bijection that changes half of the output bits when one input bit changes.
const fn mix(x: u64) -> u64 {
    let x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}

impl Stream {
    /// The stream of link or flow number `index` in `domain`.
    pub fn new(seed: u64, domain: Domain, index: u64) -> Self {
        let of_seed = mix(seed.wrapping_add(GOLDEN_GAMMA));
        let of_domain = mix(of_seed.wrapping_add(domain as u64));
        let low = mix(of_domain.wrapping_add(index));
        let high = mix(low.wrapping_add(GOLDEN_GAMMA));
        let state = (u128::from(high) << 64) | u128::from(low);
        Stream {
            generator: Pcg64Mcg::new(state),
            spare_normal: None,
        }
    }

    /// 64 uniform bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        self.generator.next_u64()
    }

    /// Uniform in [0, 1), a multiple of 2⁻⁵³.
    #[inline]
    pub fn uniform(&mut self) -> f64 {
        const STEP: f64 = 1.0 / (1u64 << 53) as f64;
        (self.bits() >> 11) as f64 * STEP
    }

    /// Uniform in {0, …, n − 1}, without bias (Lemire: Fast Random Integer Generation in an
    /// Interval, 2019).
    ///
    /// # Panics
    /// If `n` is 0.
    #[inline]
    pub fn below(&mut self, n: u64) -> u64 {
        assert!(n > 0, "the bound must be above 0");
        let unbiased_from = n.wrapping_neg() % n;
        loop {
            let product = u128::from(self.bits()) * u128::from(n);
            if product as u64 >= unbiased_from {
                return (product >> 64) as u64;
            }
        }
    }

    /// Exponential with the given mean.
    #[inline]
    pub fn exponential(&mut self, mean: f64) -> f64 {
        -mean * libm::log(1.0 - self.uniform())
    }

    /// Pareto (type I) with the given mean; the smallest value is mean·(shape − 1)/shape.
    ///
    /// # Panics
    /// If `shape` is not above 1: the mean would be infinite.
    #[inline]
    pub fn pareto(&mut self, mean: f64, shape: f64) -> f64 {
        assert!(
            shape > 1.0,
            "a Pareto distribution has a mean only if its shape is above 1, not {shape}"
        );
        let least = mean * (shape - 1.0) / shape;
        least / libm::pow(1.0 - self.uniform(), 1.0 / shape)
    }

    /// Standard normal, by Marsaglia's polar method: two numbers from one accepted pair.
    #[inline]
    pub fn normal(&mut self) -> f64 {
        if let Some(spare) = self.spare_normal.take() {
            return spare;
        }
        loop {
            let candidate = self.candidate();
            if candidate.is_accepted() {
                let [first, second] = candidate.normals();
                self.spare_normal = Some(second);
                return first;
            }
        }
    }

    #[inline]
    fn candidate(&mut self) -> Candidate {
        let (u, v) = (2.0 * self.uniform() - 1.0, 2.0 * self.uniform() - 1.0);
        Candidate {
            u,
            v,
            s: u * u + v * v,
        }
    }

    /// Number of successes before the next failure if each trial fails with probability `failure`:
    /// ⌊ln(1 − U)/ln(1 − failure)⌋. `failure` 0 gives `u64::MAX`, which means never; 1 gives 0.
    #[inline]
    pub fn geometric(&mut self, failure: f64) -> u64 {
        debug_assert!(
            (0.0..=1.0).contains(&failure),
            "{failure} is not a probability"
        );
        if failure <= 0.0 {
            return u64::MAX;
        }
        // At failure = 1 the divisor is −∞ and the quotient 0; a quotient above u64::MAX saturates.
        (libm::log1p(-self.uniform()) / libm::log1p(-failure)) as u64
    }
}

/// A point of the square around the unit circle: see [`Stream::normal`].
#[derive(Clone, Copy, Default)]
struct Candidate {
    u: f64,
    v: f64,
    /// u² + v².
    s: f64,
}

impl Candidate {
    /// Whether it lies in the circle.
    #[inline]
    fn is_accepted(&self) -> bool {
        self.s > 0.0 && self.s < 1.0
    }

    #[inline]
    fn normals(&self) -> [f64; 2] {
        let factor = libm::sqrt(-2.0 * libm::log(self.s) / self.s);
        [self.u * factor, self.v * factor]
    }
}

/// The numbers of [`Stream::normal`], computed many at a time. That is faster: the processor
/// overlaps the logarithms and roots of several pairs, and has no rejections to mispredict.
#[derive(Clone, Debug)]
pub struct Normals {
    stream: Stream,
    ready: [[f64; 2]; Self::PAIRS],
    /// Index of the next number.
    next: usize,
}

impl Normals {
    const PAIRS: usize = 32;

    /// The numbers of this stream, which has given none.
    pub fn new(stream: Stream) -> Self {
        Normals {
            stream,
            ready: [[0.0; 2]; Self::PAIRS],
            next: 2 * Self::PAIRS,
        }
    }

    /// The next number.
    #[inline]
    pub fn draw(&mut self) -> f64 {
        if self.next == 2 * Self::PAIRS {
            self.refill();
        }
        let number = self.ready.as_flattened()[self.next];
        self.next += 1;
        number
    }

    #[inline]
    fn refill(&mut self) {
        let mut candidates = [Candidate::default(); Self::PAIRS];
        let mut accepted = 0;
        while let Some(place) = candidates.get_mut(accepted) {
            *place = self.stream.candidate();
            accepted += usize::from(place.is_accepted());
        }
        for (pair, candidate) in self.ready.iter_mut().zip(&candidates) {
            *pair = candidate.normals();
        }
        self.next = 0;
    }
}

/// For libraries that accept any generator.
impl TryRng for Stream {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        self.generator.try_next_u32()
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        self.generator.try_next_u64()
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        self.generator.try_fill_bytes(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DRAWS: usize = 1 << 20;

    fn mean_and_variance(mut draw: impl FnMut() -> f64) -> (f64, f64) {
        let values: Vec<f64> = (0..DRAWS).map(|_| draw()).collect();
        let mean = values.iter().sum::<f64>() / DRAWS as f64;
        (
            mean,
            values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / DRAWS as f64,
        )
    }

    /// Checks a mean to five standard errors, each 1/√DRAWS = 1/1024 of a standard deviation.
    fn assert_mean(measured: f64, expected: f64, deviation: f64) {
        let error = (measured - expected).abs();
        assert!(
            error < 5.0 * deviation / 1024.0,
            "{measured} is not {expected} ± {deviation}/1024"
        );
    }

    /// Pearson correlation of the uniform numbers of two streams.
    fn correlation(mut a: Stream, mut b: Stream) -> f64 {
        // The covariance of two independent uniforms has standard deviation 1/12/√n.
        let sum: f64 = (0..DRAWS)
            .map(|_| (a.uniform() - 0.5) * (b.uniform() - 0.5))
            .sum();
        12.0 * sum / DRAWS as f64
    }

    #[test]
    fn neighbouring_streams_are_uncorrelated() {
        let of = |seed, domain, index| Stream::new(seed, domain, index);
        let base = || of(0, Domain::LinkLoss, 0);
        let neighbours = [
            of(1, Domain::LinkLoss, 0),
            of(0, Domain::LinkRate, 0),
            of(0, Domain::LinkLoss, 1),
            of(0, Domain::Workload, 3),
            of(u64::MAX, Domain::LinkLoss, 0),
        ];
        for other in neighbours {
            let r = correlation(base(), other);
            assert!(r.abs() < 5.0 / 1024.0, "correlation {r}");
        }
        assert!(
            (correlation(base(), base()) - 1.0).abs() < 0.01,
            "the measure sees correlation"
        );
    }

    #[test]
    fn uniform_has_the_moments_of_the_unit_interval() {
        let mut stream = Stream::new(1, Domain::Workload, 0);
        let (mean, variance) = mean_and_variance(|| stream.uniform());
        assert_mean(mean, 0.5, (1.0f64 / 12.0).sqrt());
        // Var of the squared distance: E(x⁴) − (1/12)² = 1/80 − 1/144 = 1/180.
        assert_mean(variance, 1.0 / 12.0, (1.0f64 / 180.0).sqrt());
    }

    #[test]
    fn below_is_uniform_and_less_than_its_bound() {
        let mut stream = Stream::new(2, Domain::Workload, 0);
        let mut counts = [0u32; 7];
        for _ in 0..DRAWS {
            counts[stream.below(7) as usize] += 1;
        }
        for count in counts {
            assert_mean(
                f64::from(count) / DRAWS as f64,
                1.0 / 7.0,
                (6.0f64 / 49.0).sqrt(),
            );
        }
        assert_eq!(stream.below(1), 0);
    }

    #[test]
    fn exponential_has_the_given_mean_and_deviation() {
        let mut stream = Stream::new(3, Domain::Workload, 0);
        let (mean, variance) = mean_and_variance(|| stream.exponential(4.0));
        assert_mean(mean, 4.0, 4.0);
        // The fourth central moment of Exp(1) is 9, so the deviation of the squared distance is
        // 16·√8.
        assert_mean(variance, 16.0, 16.0 * 8.0f64.sqrt());
    }

    #[test]
    fn pareto_has_the_given_mean_minimum_and_tail() {
        let mut stream = Stream::new(4, Domain::CrossTraffic, 0);
        // Shape 3, mean 3: smallest value 2, variance 2²·3/((3−1)²·(3−2)) = 3.
        let mut least = f64::INFINITY;
        let mut beyond_four = 0u32;
        let (mean, _) = mean_and_variance(|| {
            let x = stream.pareto(3.0, 3.0);
            least = least.min(x);
            beyond_four += u32::from(x > 4.0);
            x
        });
        assert_mean(mean, 3.0, 3.0f64.sqrt());
        assert!((2.0..2.001).contains(&least), "{least}");
        // P(x > 4) = (2/4)³ = 1/8.
        assert_mean(
            f64::from(beyond_four) / DRAWS as f64,
            0.125,
            (0.125f64 * 0.875).sqrt(),
        );
    }

    #[test]
    fn normal_has_moments_zero_one_zero_three() {
        let mut stream = Stream::new(5, Domain::LinkJitter, 0);
        let values: Vec<f64> = (0..DRAWS).map(|_| stream.normal()).collect();
        let moment = |n: i32| values.iter().map(|x| x.powi(n)).sum::<f64>() / DRAWS as f64;
        // Deviations of x, x², x³, x⁴: √1, √2, √15, √96.
        assert_mean(moment(1), 0.0, 1.0);
        assert_mean(moment(2), 1.0, 2.0f64.sqrt());
        assert_mean(moment(3), 0.0, 15.0f64.sqrt());
        assert_mean(moment(4), 3.0, 96.0f64.sqrt());
        // The two numbers of one pair are independent.
        let pairs = values
            .chunks_exact(2)
            .map(|pair| pair[0] * pair[1])
            .sum::<f64>()
            / (DRAWS / 2) as f64;
        assert_mean(pairs, 0.0, 2.0f64.sqrt());
    }

    #[test]
    fn normals_are_those_of_the_stream_to_the_bit() {
        let stream = Stream::new(5, Domain::LinkJitter, 1);
        let (mut one, mut many) = (stream.clone(), Normals::new(stream));
        assert!((0..1000).all(|_| one.normal().to_bits() == many.draw().to_bits()));
    }

    #[test]
    fn geometric_counts_the_successes_before_a_failure() {
        let mut stream = Stream::new(6, Domain::LinkLoss, 0);
        let mut zeros = 0u32;
        // p = 1/4: mean (1 − p)/p = 3, variance (1 − p)/p² = 12, P(0) = p.
        let (mean, _) = mean_and_variance(|| {
            let gap = stream.geometric(0.25);
            zeros += u32::from(gap == 0);
            gap as f64
        });
        assert_mean(mean, 3.0, 12.0f64.sqrt());
        assert_mean(
            f64::from(zeros) / DRAWS as f64,
            0.25,
            (0.25f64 * 0.75).sqrt(),
        );
    }

    #[test]
    fn geometric_is_exact_at_its_edges() {
        let mut stream = Stream::new(7, Domain::LinkLoss, 0);
        for _ in 0..1000 {
            assert_eq!(stream.geometric(0.0), u64::MAX);
            assert_eq!(stream.geometric(1.0), 0);
            // Mean 1e300: beyond any u64, and never 0 in practice.
            assert!(stream.geometric(1e-300) > 1 << 60);
        }
    }

    /// The bits come from the definitions of SplitMix64 and PCG, computed in another language with
    /// big integers. The other values follow from them within an ulp and are fixed to the bit here.
    #[test]
    fn a_seed_always_gives_the_same_numbers() {
        let mut stream = Stream::new(42, Domain::LinkLoss, 7);
        let bits: [u64; 3] = std::array::from_fn(|_| stream.bits());
        assert_eq!(
            bits,
            [
                17_512_180_490_045_511_027,
                6_089_326_883_039_616_777,
                13_504_704_982_608_082_670
            ]
        );
        assert_eq!(stream.normal(), -1.910801612742518);
        assert_eq!(stream.exponential(1.0), 0.11309028403224551);
        assert_eq!(stream.pareto(1.0, 1.5), 0.41133669236413395);
        assert_eq!(stream.geometric(0.001), 2317);
    }
}
