//! PIE: drops packets on arrival, with a probability that a proportional-integral controller
//! computes from the queueing delay (RFC 8033; Linux: `sch_pie` with time stamps).

use joulepath_model::aqm::PieSpec;
use joulepath_model::random::Stream;

/// Time without drops after an idle period (RFC 8033: MAX_BURST; Linux: 150 ms), ns.
const BURST_NS: u64 = 150_000_000;
/// Above this delay each update adds 2 % to the probability (Linux), ns.
const HIGH_DELAY_NS: u64 = 250_000_000;
/// Largest increase of the probability per update while it is at least 10 % (RFC 8033, section
/// 5.2).
const STEP: f64 = 0.02;
/// Up to this probability packets are marked instead of dropped (RFC 8033, section 5.1).
const MARK_UP_TO: f64 = 0.1;
/// Bounds for the sum of the probabilities since the last drop: below the first no packet is
/// dropped, from the second on the next packet is dropped (RFC 8033, section 5.4).
const DERANDOMISED: (f64, f64) = (0.85, 8.5);
/// alpha and beta are in sixteenths of a hertz.
const SIXTEENTHS: f64 = 16.0;

/// Decision about an arriving packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Pass,
    /// It passes with a mark.
    Mark,
    Drop,
}

/// State of PIE at one queue.
#[derive(Clone, Debug)]
pub(crate) struct Pie {
    spec: PieSpec,
    /// The drop probability.
    probability: f64,
    /// Sum of the probabilities of the packets since the last drop.
    accumulated: f64,
    delay_ns: u64,
    old_delay_ns: u64,
    /// Remaining time without drops, ns.
    burst_ns: u64,
    last_dequeue_ns: Option<u64>,
    next_update_ns: u64,
    random: Stream,
}

/// Divisor of the weights at a drop probability: lower probabilities change in smaller steps (RFC
/// 8033, section 5.1).
fn divisor(probability: f64) -> f64 {
    const BELOW: [(f64, f64); 6] = [
        (1e-6, 2048.0),
        (1e-5, 512.0),
        (1e-4, 128.0),
        (1e-3, 32.0),
        (1e-2, 8.0),
        (1e-1, 2.0),
    ];
    BELOW
        .iter()
        .find(|(limit, _)| probability < *limit)
        .map_or(1.0, |(_, divisor)| *divisor)
}

impl Pie {
    pub(crate) fn new(spec: PieSpec, random: Stream) -> Self {
        Pie {
            spec,
            probability: 0.0,
            accumulated: 0.0,
            delay_ns: 0,
            old_delay_ns: 0,
            burst_ns: BURST_NS,
            last_dequeue_ns: None,
            next_update_ns: spec.tupdate.0,
            random,
        }
    }

    /// Makes the updates of the probability that are due by `now`. `backlog`: bytes that have
    /// waited since the last call for this queue.
    pub(crate) fn update(&mut self, now: u64, backlog: u64) {
        while self.next_update_ns <= now {
            let idle = self.probability == 0.0
                && self.delay_ns == 0
                && self.old_delay_ns == 0
                && backlog == 0;
            if idle {
                // Further updates would change nothing.
                self.restart();
                let missed = (now - self.next_update_ns) / self.spec.tupdate.0 + 1;
                self.next_update_ns += missed * self.spec.tupdate.0;
                return;
            }
            self.step(backlog);
            self.next_update_ns += self.spec.tupdate.0;
        }
    }

    /// One update (RFC 8033, section 4.2); `divisor` scales the weights:
    /// ```text
    ///   p += alpha (delay − target) + beta (delay − old delay)
    /// ```
    fn step(&mut self, backlog: u64) {
        let (delay_s, old_s) = (self.delay_ns as f64 / 1e9, self.old_delay_ns as f64 / 1e9);
        let scale = SIXTEENTHS * divisor(self.probability);
        let (alpha, beta) = (
            f64::from(self.spec.alpha) / scale,
            f64::from(self.spec.beta) / scale,
        );
        let mut delta =
            alpha * (delay_s - self.spec.target.as_secs_f64()) + beta * (delay_s - old_s);
        if self.probability >= MARK_UP_TO {
            delta = delta.min(STEP);
        }
        if self.delay_ns > HIGH_DELAY_NS {
            delta += STEP;
        }
        self.probability = (self.probability + delta).clamp(0.0, 1.0);
        if self.delay_ns == 0 && self.old_delay_ns == 0 && backlog == 0 {
            self.probability -= self.probability / 64.0;
        }
        let half_ns = self.spec.target.0 / 2;
        if self.delay_ns < half_ns && self.old_delay_ns < half_ns && self.probability == 0.0 {
            self.restart();
        }
        self.old_delay_ns = self.delay_ns;
    }

    fn restart(&mut self) {
        self.burst_ns = BURST_NS;
        self.accumulated = 0.0;
        self.last_dequeue_ns = None;
    }

    /// Decides about a packet of `size` bytes while `backlog` bytes wait; `largest` is the size of
    /// the largest packet so far.
    pub(crate) fn judge(
        &mut self,
        size: u32,
        ecn_capable: bool,
        backlog: u64,
        largest: u32,
    ) -> Verdict {
        if !self.drops(size, backlog, largest) {
            return Verdict::Pass;
        }
        if self.spec.ecn && ecn_capable && self.probability <= MARK_UP_TO {
            return Verdict::Mark;
        }
        self.accumulated = 0.0;
        Verdict::Drop
    }

    /// Notes an overflow of the queue.
    pub(crate) fn overflowed(&mut self) {
        self.accumulated = 0.0;
    }

    fn drops(&mut self, size: u32, backlog: u64, largest: u32) -> bool {
        let calm = self.delay_ns < self.spec.target.0 / 2 && self.probability < 0.2;
        if self.burst_ns > 0 || calm || backlog < 2 * u64::from(largest) {
            return false;
        }
        let part = if self.spec.bytemode {
            f64::from(size) / f64::from(largest.max(1))
        } else {
            1.0
        };
        let probability = self.probability * part;
        self.accumulated = if probability == 0.0 {
            0.0
        } else {
            self.accumulated + probability
        };
        let (never_below, always_from) = DERANDOMISED;
        if self.accumulated < never_below {
            return false;
        }
        if self.accumulated >= always_from {
            return true;
        }
        let drops = self.random.uniform() < probability;
        if drops {
            self.accumulated = 0.0;
        }
        drops
    }

    /// Notes the departure of a packet that arrived at `entered_ns`; `backlog` bytes remain.
    pub(crate) fn dequeued(&mut self, now: u64, entered_ns: u64, backlog: u64) {
        self.delay_ns = if backlog == 0 { 0 } else { now - entered_ns };
        let elapsed_ns = self.last_dequeue_ns.map_or(0, |last| now - last);
        self.last_dequeue_ns = Some(now);
        self.burst_ns = self.burst_ns.saturating_sub(elapsed_ns);
    }
}

#[cfg(test)]
mod tests {
    use joulepath_model::random::Domain;
    use joulepath_model::units::Nanos;

    use super::*;

    const SPEC: PieSpec = PieSpec {
        target: Nanos::from_millis(15),
        tupdate: Nanos::from_millis(15),
        alpha: 2,
        beta: 20,
        bytemode: false,
        ecn: false,
    };

    fn after_step(probability: f64, delay_ms: u64, old_delay_ms: u64) -> f64 {
        let pie = Pie::new(SPEC, Stream::new(1, Domain::LinkAqm, 0));
        let (delay_ns, old_delay_ns) = (delay_ms * 1_000_000, old_delay_ms * 1_000_000);
        let mut pie = Pie {
            probability,
            delay_ns,
            old_delay_ns,
            ..pie
        };
        pie.step(3000);
        pie.probability
    }

    /// alpha = 0.125 Hz and beta = 1.25 Hz, divided by 1, 2, 8, … 2048.
    #[test]
    fn the_probability_follows_the_pi_law() {
        let close =
            |is: f64, expected: f64| assert!((is - expected).abs() < 1e-12, "{is}, not {expected}");
        // 0.125 · 5 ms + 1.25 · 3 ms = 0.000625 + 0.00375
        close(after_step(0.3, 20, 17), 0.304_375);
        close(after_step(0.05, 20, 17), 0.05 + 0.004_375 / 2.0);
        close(after_step(0.005, 20, 17), 0.005 + 0.004_375 / 8.0);
        close(after_step(0.0, 20, 17), 0.004_375 / 2048.0);
        // A falling delay: 0.125 · (−5 ms) + 1.25 · (−10 ms) = −0.013125
        close(after_step(0.3, 10, 20), 0.286_875);
        close(after_step(1e-7, 10, 20), 0.0);
        // 1.25 · 100 ms would add 12.5 %. From 10 % on the limit is 2 %, and a delay above 250 ms
        // adds 2 % more.
        close(after_step(0.3, 200, 100), 0.32);
        close(after_step(0.3, 260, 100), 0.34);
    }

    /// Between drops there are at least as many packets as add up to 0.85, and at most as many as
    /// add up to 8.5 (RFC 8033, section 5.4): at 10 %, 9 and 85. The mean gap is that of 8 certain
    /// passes and a geometric rest: about 18.
    #[test]
    fn drops_are_spaced() {
        let pie = Pie::new(SPEC, Stream::new(1, Domain::LinkAqm, 0));
        let mut pie = Pie {
            probability: 0.1,
            delay_ns: 20_000_000,
            burst_ns: 0,
            ..pie
        };
        let dropped: Vec<usize> = (0..100_000)
            .filter(|_| pie.judge(1500, false, 30_000, 1500) == Verdict::Drop)
            .collect();
        let gaps: Vec<usize> = dropped.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert_eq!(gaps.iter().min(), Some(&9));
        // Ten times 0.1 is slightly less than 1 in floating point, so the 85th packet may be the
        // 86th.
        assert!(gaps.iter().all(|gap| *gap <= 86));
        let mean = gaps.iter().sum::<usize>() as f64 / gaps.len() as f64;
        // 8 + 1/0.1 = 18; the standard deviation of a gap is 9.5, that of the mean 0.13.
        assert!((mean - 18.0).abs() < 0.65, "{mean}");
    }

    /// With `bytemode`, a packet of a tenth of the size is dropped a tenth as often.
    #[test]
    fn small_packets_are_dropped_less_often_in_bytemode() {
        let pie = Pie::new(
            PieSpec {
                bytemode: true,
                ..SPEC
            },
            Stream::new(1, Domain::LinkAqm, 0),
        );
        let mut pie = Pie {
            probability: 0.5,
            delay_ns: 20_000_000,
            burst_ns: 0,
            ..pie
        };
        let mut drops = |size| {
            (0..100_000)
                .filter(|_| pie.judge(size, false, 30_000, 1500) == Verdict::Drop)
                .count() as f64
        };
        // A gap at probability p: ⌈0.85/p⌉ − 1 certain passes, and 1/p more. 150 B, 5 %: 16 + 20.
        // 1500 B, 50 %: 1 + 2.
        let (small, large) = (drops(150), drops(1500));
        assert!((small - 100_000.0 / 36.0).abs() < 150.0, "{small}");
        assert!((large - 100_000.0 / 3.0).abs() < 1000.0, "{large}");
    }
}
