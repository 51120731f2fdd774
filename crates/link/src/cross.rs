//! Sources of packets that do not react to congestion. They have no clock: the simulator and the
//! emulator ask for the time of the next packet.

use joulepath_model::scenario::{CrossPattern, CrossTraffic, LinkIndex};
use joulepath_model::units::{BitRate, Nanos};

use joulepath_model::random::{Domain, Stream};

/// One source on one link.
#[derive(Clone, Debug)]
pub struct CrossSource {
    spec: CrossTraffic,
    random: Stream,
    /// Time between packets of a burst, ns.
    gap_ns: f64,
    /// Time of the next packet, ns; not rounded, so the rate is exact.
    due_ns: f64,
    /// End of the current burst, exclusive, ns.
    burst_until_ns: f64,
}

impl CrossSource {
    /// Source number `index` of a scenario. Its random numbers depend only on `seed` and `index`.
    pub fn new(spec: &CrossTraffic, seed: u64, index: u64) -> Self {
        let mut random = Stream::new(seed, Domain::CrossTraffic, index);
        let rate = match spec.pattern {
            CrossPattern::Constant { rate }
            | CrossPattern::Poisson { rate }
            | CrossPattern::Pareto { rate, .. } => rate,
        };
        let start_ns = spec.start.0 as f64;
        // Start in a gap, so that several sources are not in phase.
        let (due_ns, burst_until_ns) = match spec.pattern {
            CrossPattern::Constant { .. } => (start_ns, f64::INFINITY),
            CrossPattern::Poisson { rate } => (
                start_ns + random.exponential(spacing_ns(spec, rate)),
                f64::INFINITY,
            ),
            CrossPattern::Pareto {
                mean_burst,
                mean_gap,
                shape,
                ..
            } => {
                let begin = start_ns + random.pareto(mean_gap.0 as f64, shape);
                (begin, begin + random.pareto(mean_burst.0 as f64, shape))
            }
        };
        CrossSource {
            spec: spec.clone(),
            random,
            gap_ns: spacing_ns(spec, rate),
            due_ns,
            burst_until_ns,
        }
    }

    /// The link that the source feeds.
    pub fn link(&self) -> LinkIndex {
        self.spec.link
    }

    /// Time of the next packet, ns; none after the last packet.
    pub fn next_ns(&self) -> Option<u64> {
        let at_ns = self.due_ns as u64;
        (Nanos(at_ns) < self.spec.stop).then_some(at_ns)
    }

    /// The size on the wire of the packet that is due at `now_ns`, bytes; none if none is due.
    pub fn emit(&mut self, now_ns: u64) -> Option<u32> {
        if self.next_ns()? > now_ns {
            return None;
        }
        self.due_ns += match self.spec.pattern {
            CrossPattern::Poisson { .. } => self.random.exponential(self.gap_ns),
            CrossPattern::Constant { .. } | CrossPattern::Pareto { .. } => self.gap_ns,
        };
        if let CrossPattern::Pareto {
            mean_burst,
            mean_gap,
            shape,
            ..
        } = self.spec.pattern
            && self.due_ns >= self.burst_until_ns
        {
            self.due_ns = self.burst_until_ns + self.random.pareto(mean_gap.0 as f64, shape);
            self.burst_until_ns = self.due_ns + self.random.pareto(mean_burst.0 as f64, shape);
        }
        Some(self.spec.packet.0 as u32)
    }
}

fn spacing_ns(spec: &CrossTraffic, rate: BitRate) -> f64 {
    spec.packet.0 as f64 * 8e9 / rate.bps() as f64
}

#[cfg(test)]
mod tests {
    use joulepath_model::units::Bytes;

    use super::*;

    fn packets(pattern: CrossPattern, stop: Nanos) -> Vec<u64> {
        let spec = CrossTraffic {
            link: 0,
            pattern,
            packet: Bytes(1500),
            start: Nanos::ZERO,
            stop,
        };
        let mut source = CrossSource::new(&spec, 7, 0);
        let mut times = vec![];
        while let Some(at) = source.next_ns() {
            times.push(at);
            assert_eq!(source.emit(at), Some(1500));
        }
        times
    }

    #[test]
    fn constant_traffic_has_its_rate() {
        let rate = BitRate::from_bps(7_000_000);
        // 10 s × 7 Mbit/s / 12 kbit = 5833.3 packets
        assert_eq!(
            packets(CrossPattern::Constant { rate }, Nanos::from_secs(10)).len(),
            5834
        );
    }

    /// 100 packets per second for 1000 s: standard deviation 316, and e^−1 of the gaps exceed the
    /// mean.
    #[test]
    fn poisson_traffic_has_its_rate_and_exponential_gaps() {
        let rate = BitRate::from_bps(1_200_000);
        let times = packets(CrossPattern::Poisson { rate }, Nanos::from_secs(1000));
        assert!(
            (times.len() as f64 - 100_000.0).abs() < 1000.0,
            "{}",
            times.len()
        );
        let long = times
            .windows(2)
            .filter(|pair| pair[1] - pair[0] > 10_000_000)
            .count();
        assert!((long as f64 / 1e5 - 0.3679).abs() < 0.01, "{long}");
    }

    #[test]
    fn bursts_have_the_given_mean_length_and_gap() {
        let pattern = CrossPattern::Pareto {
            rate: BitRate::from_bps(1_200_000),
            mean_burst: Nanos::from_secs(5),
            mean_gap: Nanos::from_secs(10),
            shape: 2.5,
        };
        let times = packets(pattern, Nanos::from_secs(60_000));
        let bursts = times
            .windows(2)
            .filter(|pair| pair[1] - pair[0] > 11_000_000)
            .count() as f64;
        // One burst per 15 s, 100 packets per second within it: 4000 bursts of 500 packets.
        assert!((bursts / 4000.0 - 1.0).abs() < 0.1, "{bursts}");
        assert!(
            (times.len() as f64 / 2e6 - 1.0).abs() < 0.1,
            "{}",
            times.len()
        );
    }
}
