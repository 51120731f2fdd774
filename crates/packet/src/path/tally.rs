//! Counters of each link: packets offered, lost and marked, and the mean queue.
//! Queues are sampled once in each of [`LOOKS`] equal intervals, at a fraction of the interval from
//! the golden-ratio sequence. A fixed fraction could fall into step with periodic packets.

use joulepath_link::Outcome;
use joulepath_model::network::LinkSpec;
use joulepath_model::result::LinkResult;
use joulepath_model::units::Nanos;

use crate::event::MAX_TIME_NS;

/// Number of queue samples in a run.
const LOOKS: u64 = 1 << 15;

/// The fractional part of the golden ratio times 2⁶⁴: its multiples fill [0, 2⁶⁴) evenly (Knuth,
/// The Art of Computer Programming, vol. 3, section 6.4).
const GOLDEN_FRACTION: u64 = 0x9E37_79B9_7F4A_7C15;

/// Counters of all links, by number; empty unless the options ask for them.
pub(crate) struct Tallies {
    links: Vec<Tally>,
    /// Deliveries until this instant, ns, are not counted here, and their hosts finish before the
    /// end of time; 0 if all are counted.
    uncounted_until_ns: u64,
    /// Samples since the measurement began.
    looks: u64,
    /// Samples since the start of the run.
    all_looks: u64,
    interval_ns: u64,
}

/// Counters of one link in the measured interval.
#[derive(Clone, Copy, Default)]
struct Tally {
    offered: u64,
    queue_drops: u64,
    wire_losses: u64,
    marked: u64,
    /// Sum over the samples, packets.
    waiting: u64,
}

impl Tallies {
    /// Counters of `links` links in a run of this duration.
    pub(crate) fn new(links: usize, duration: Nanos) -> Self {
        Tallies {
            links: vec![Tally::default(); links],
            uncounted_until_ns: 0,
            interval_ns: (duration.0 / LOOKS).max(1),
            ..Self::none()
        }
    }

    pub(crate) const fn none() -> Self {
        Tallies {
            links: vec![],
            uncounted_until_ns: MAX_TIME_NS / 2,
            looks: 0,
            all_looks: 0,
            interval_ns: 0,
        }
    }

    /// Makes [`Self::ignore_delivery`] ignore none.
    pub(crate) fn notice_all(&mut self) {
        self.uncounted_until_ns = 0;
    }

    /// Whether nothing is counted and the delivery is far from the end of time.
    #[inline(always)]
    pub(crate) fn ignore_delivery(&self, at_ns: u64) -> bool {
        at_ns <= self.uncounted_until_ns
    }

    /// Counts a packet that was offered to `link`.
    #[cold]
    pub(crate) fn count(&mut self, link: u32, outcome: &Outcome) {
        if let Some(tally) = self.links.get_mut(link as usize) {
            tally.offered += 1;
            tally.settle(outcome);
        }
    }

    /// Counts the fate of a packet that `link` held.
    pub(crate) fn settle(&mut self, link: u32, outcome: &Outcome) {
        if let Some(tally) = self.links.get_mut(link as usize) {
            tally.settle(outcome);
        }
    }

    /// Resets the counters.
    pub(crate) fn begin_measurement(&mut self) {
        self.links.fill(Tally::default());
        self.looks = 0;
    }

    /// Adds a sample of the packets that wait at each link.
    pub(crate) fn look(&mut self, waiting: impl Iterator<Item = u32>) {
        for (tally, waiting) in self.links.iter_mut().zip(waiting) {
            tally.waiting += u64::from(waiting);
        }
        self.looks += 1;
        self.all_looks += 1;
    }

    /// When to take the next sample, ns; `None` if nothing is counted.
    pub(crate) fn next_ns(&self) -> Option<u64> {
        let fraction = self.all_looks.wrapping_mul(GOLDEN_FRACTION);
        let offset_ns = (u128::from(self.interval_ns) * u128::from(fraction)) >> 64;
        (!self.links.is_empty()).then(|| self.all_looks * self.interval_ns + offset_ns as u64)
    }

    /// The counters of each link, with its name.
    pub(crate) fn results(&self, specs: &[LinkSpec]) -> Vec<LinkResult> {
        let result = |(spec, tally): (&LinkSpec, &Tally)| LinkResult {
            name: spec.name.clone(),
            offered: tally.offered,
            queue_drops: tally.queue_drops,
            wire_losses: tally.wire_losses,
            marked: tally.marked,
            mean_queue: if self.looks == 0 {
                0.0
            } else {
                tally.waiting as f64 / self.looks as f64
            },
        };
        specs.iter().zip(&self.links).map(result).collect()
    }
}

impl Tally {
    fn settle(&mut self, outcome: &Outcome) {
        match outcome {
            // Counted when the link releases the packet.
            Outcome::Held(_) => {}
            Outcome::Delivered { marked, .. } => self.marked += u64::from(*marked),
            Outcome::QueueDrop => self.queue_drops += 1,
            Outcome::WireLoss => self.wire_losses += 1,
        }
    }
}
