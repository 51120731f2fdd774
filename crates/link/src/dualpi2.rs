//! DualPI2: a queue for L4S packets, which wait hardly at all, beside one for all others (RFC 9332;
//! Linux: `sch_dualpi2`).
//!
//! ```text
//!   ECT(1) ──► L4S queue ────── marked with max(step, k p') ──┐
//!                                                             ├─► the L4S queue first, but
//!   others ──► classic queue ── dropped or marked with p'² ───┘   the classic one keeps its share
//!                   │ delay
//!                   └─► PI: p' += alpha (delay − target) + beta (delay − old delay)
//! ```

use joulepath_model::aqm::DualPi2Spec;
use joulepath_model::random::Stream;

use crate::packets::{Fifo, Packets};

/// Packets are dropped or marked at random only while this many of the largest packets wait
/// (Linux: `must_drop`).
const FEWEST: u64 = 2;

/// Both queues of one link.
#[derive(Clone, Debug)]
pub(crate) struct DualPi2 {
    spec: DualPi2Spec,
    l4s: Fifo,
    classic: Fifo,
    /// p', the base probability.
    probability: f64,
    old_delay_ns: u64,
    next_update_ns: u64,
    /// Bytes that the classic queue may send before the L4S queue, times its share: at most zero
    /// while it is the L4S queue's turn.
    credit: f64,
    random: Stream,
}

impl DualPi2 {
    pub(crate) fn new(spec: DualPi2Spec, random: Stream) -> Self {
        DualPi2 {
            spec,
            l4s: Fifo::EMPTY,
            classic: Fifo::EMPTY,
            probability: 0.0,
            old_delay_ns: 0,
            next_update_ns: spec.tupdate.0,
            credit: 0.0,
            random,
        }
    }

    /// Number of waiting packets, and their bytes.
    pub(crate) fn waiting(&self) -> (u32, u64) {
        (
            self.l4s.packets + self.classic.packets,
            self.l4s.bytes + self.classic.bytes,
        )
    }

    pub(crate) fn enqueue(&mut self, number: u32, all: &mut Packets) {
        let packet = *all.get(number);
        self.update(packet.entered_ns, all);
        let queue = match packet.ecn.is_l4s() {
            true => &mut self.l4s,
            false => &mut self.classic,
        };
        queue.push(number, all);
    }

    /// Makes the updates of p' that are due by `now`. No queue has changed since they were due.
    fn update(&mut self, now: u64, all: &Packets) {
        while self.next_update_ns <= now {
            let at_ns = self.next_update_ns;
            let delay = |queue: &Fifo| {
                queue
                    .first(all)
                    .map_or(0, |packet| at_ns.saturating_sub(packet.entered_ns))
            };
            let delay_ns = delay(&self.l4s).max(delay(&self.classic));
            let idle = self.probability == 0.0 && self.old_delay_ns == 0 && self.waiting().0 == 0;
            if idle {
                // Further updates would change nothing.
                let missed = (now - at_ns) / self.spec.tupdate.0 + 1;
                self.next_update_ns += missed * self.spec.tupdate.0;
                return;
            }
            self.step(delay_ns);
            self.next_update_ns += self.spec.tupdate.0;
        }
    }

    /// One update (RFC 9332, appendix A.1): the larger delay of the two queues, as in Linux.
    fn step(&mut self, delay_ns: u64) {
        let (delay_s, old_s) = (delay_ns as f64 / 1e9, self.old_delay_ns as f64 / 1e9);
        let delta = self.spec.alpha * (delay_s - self.spec.target.as_secs_f64())
            + self.spec.beta * (delay_s - old_s);
        self.probability = (self.probability + delta).clamp(0.0, 1.0);
        self.old_delay_ns = delay_ns;
    }

    /// The next packet to send. Drops go into `dropped`.
    pub(crate) fn dequeue(
        &mut self,
        now: u64,
        all: &mut Packets,
        dropped: &mut Vec<u32>,
    ) -> Option<u32> {
        self.update(now, all);
        loop {
            let backlog = self.waiting().1;
            let number = self.scheduled(all)?;
            if self.drops(number, now, backlog, all) {
                dropped.push(number);
            } else {
                return Some(number);
            }
        }
    }

    /// Takes the next packet in the order of service: weighted round robin that starts with the L4S
    /// queue (Linux: `dequeue_packet`).
    fn scheduled(&mut self, all: &mut Packets) -> Option<u32> {
        let share = self.spec.classic_protection.get();
        let (l4s, classic) = (self.l4s.packets > 0, self.classic.packets > 0);
        if l4s && !(classic && self.credit > 0.0) {
            let number = self.l4s.pop(all)?;
            if classic {
                self.credit += share * f64::from(all.get(number).size);
            }
            return Some(number);
        }
        let Some(number) = self.classic.pop(all) else {
            self.credit = (2.0 * share - 1.0) * f64::from(all.largest());
            return None;
        };
        if l4s {
            self.credit -= (1.0 - share) * f64::from(all.get(number).size);
        }
        Some(number)
    }

    /// Decides about a packet that leaves its queue, marks it, or returns true if it is dropped.
    /// `backlog`: bytes in both queues, with the packet.
    fn drops(&mut self, number: u32, now: u64, backlog: u64, all: &mut Packets) -> bool {
        let packet = *all.get(number);
        let short = backlog < FEWEST * u64::from(all.largest());
        let coupled = self.spec.coupling * self.probability;
        // With k p' at 1, marks no longer limit the load: packets of both queues are dropped (RFC
        // 9332, section 4.1).
        let overload = coupled >= 1.0;
        if packet.ecn.is_l4s() {
            if overload && !short && self.draws_twice() {
                return true;
            }
            let step = now - packet.entered_ns > self.spec.step_threshold.0;
            if step && self.l4s.packets > 0 || !short && (overload || self.draws(coupled)) {
                all.mark(number);
            }
            return false;
        }
        if short || !self.draws_twice() {
            return false;
        }
        overload || !all.mark(number)
    }

    fn draws(&mut self, probability: f64) -> bool {
        probability > 0.0 && self.random.uniform() < probability
    }

    /// True with probability p'².
    fn draws_twice(&mut self) -> bool {
        self.draws(self.probability) && self.draws(self.probability)
    }
}

#[cfg(test)]
mod tests {
    use joulepath_model::random::Domain;
    use joulepath_model::units::{Nanos, Probability};

    use super::*;
    use crate::ecn::Ecn;

    fn queues() -> DualPi2 {
        let spec = DualPi2Spec {
            target: Nanos::from_millis(15),
            tupdate: Nanos::from_millis(16),
            alpha: 0.16,
            beta: 3.2,
            coupling: 2.0,
            step_threshold: Nanos::from_millis(1),
            classic_protection: Probability::new(0.1).unwrap(),
        };
        DualPi2::new(spec, Stream::new(1, Domain::LinkAqm, 0))
    }

    /// alpha = 0.16 Hz and beta = 3.2 Hz.
    #[test]
    fn the_base_probability_follows_the_pi_law() {
        let mut queues = queues();
        let mut after = |delay_ms: u64, expected: f64| {
            queues.step(delay_ms * 1_000_000);
            let is = queues.probability;
            assert!((is - expected).abs() < 1e-12, "{is}, not {expected}");
        };
        // 0.16 · 5 ms + 3.2 · 20 ms = 0.0008 + 0.064
        after(20, 0.0648);
        // 0.16 · 10 ms + 3.2 · 5 ms = 0.0016 + 0.016
        after(25, 0.0824);
        // 0.16 · 0 − 3.2 · 10 ms
        after(15, 0.0504);
        after(0, 0.0);
        after(15, 0.048);
    }

    /// At p' = 0.2: L4S packets are marked with 0.4, the others dropped, or marked if they are
    /// ECN-capable, with 0.04. The standard deviations over 100,000 packets are 155 and 62.
    #[test]
    fn l4s_packets_are_marked_with_k_p_and_the_others_with_its_square() {
        let counts = |ecn: Ecn| {
            let (mut queues, mut all) = (queues(), Packets::new());
            queues.probability = 0.2;
            let (mut drops, mut marks) = (0, 0);
            for _ in 0..100_000 {
                let number = all.add(0, 1500, ecn, false);
                drops += u32::from(queues.drops(number, 0, 3000, &mut all));
                marks += u32::from(all.get(number).marked);
                all.remove(number);
            }
            (drops, marks)
        };
        let about = |is: u32, expected: u32, bound: u32| {
            assert!(is.abs_diff(expected) < bound, "{is}, not {expected}");
        };
        let (l4s, ect0, not_ect) = (counts(Ecn::Ect1), counts(Ecn::Ect0), counts(Ecn::NotEct));
        assert_eq!((l4s.0, ect0.0, not_ect.1), (0, 0, 0));
        about(l4s.1, 40_000, 620);
        about(ect0.1, 4000, 250);
        about(not_ect.0, 4000, 250);
    }

    /// At p' = 0.6, k p' is over 1: every L4S packet is marked, and 36 % of all packets are dropped.
    #[test]
    fn overload_drops_packets_of_both_queues() {
        for ecn in [Ecn::Ect1, Ecn::Ect0, Ecn::NotEct] {
            let (mut queues, mut all) = (queues(), Packets::new());
            queues.probability = 0.6;
            let mut drops = 0u32;
            for _ in 0..100_000 {
                let number = all.add(0, 1500, ecn, false);
                let dropped = queues.drops(number, 0, 3000, &mut all);
                assert!(dropped || all.get(number).marked == ecn.is_l4s());
                drops += u32::from(dropped);
                all.remove(number);
            }
            assert!(drops.abs_diff(36_000) < 610, "{ecn:?}: {drops}");
        }
    }

    /// While both queues are full, the classic queue sends a tenth of the bytes.
    #[test]
    fn the_classic_queue_keeps_its_share() {
        let (mut queues, mut all, mut dropped) = (queues(), Packets::new(), vec![]);
        for n in 0..2000 {
            let ecn = if n % 2 == 0 { Ecn::Ect1 } else { Ecn::NotEct };
            let number = all.add(0, 1500, ecn, false);
            queues.enqueue(number, &mut all);
        }
        let sent = (0..1000).filter_map(|_| queues.dequeue(0, &mut all, &mut dropped));
        let sent: Vec<u32> = sent.collect();
        let classic = sent.iter().filter(|n| !all.get(**n).ecn.is_l4s()).count();
        assert_eq!((sent.len(), dropped.len()), (1000, 0));
        assert!((99..=101).contains(&classic), "{classic}");
        assert!(all.get(sent[0]).ecn.is_l4s());
    }

    /// A packet that waited over 1 ms is marked, unless nothing waits behind it.
    #[test]
    fn the_step_marks_l4s_packets_that_waited() {
        let (mut queues, mut all, mut dropped) = (queues(), Packets::new(), vec![]);
        for _ in 0..3 {
            let number = all.add(0, 1500, Ecn::Ect1, false);
            queues.enqueue(number, &mut all);
        }
        let mut marked = |at_us: u64| {
            let number = queues.dequeue(at_us * 1000, &mut all, &mut dropped);
            all.get(number.unwrap()).marked
        };
        assert_eq!(
            [marked(1000), marked(1001), marked(5000)],
            [false, true, false]
        );
    }
}
