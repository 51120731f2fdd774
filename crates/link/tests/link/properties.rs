//! Properties of any link under any load, and an event-driven queue as an independent check.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::common::{ms, with_rate};
use joulepath_link::{Link, Outcome};
use joulepath_model::network::{
    DelaySteps, DeliveryTrace, JitterSpec, LinkSpec, LossSpec, Outage, QueueLimit, RateSpec,
};
use joulepath_model::units::{BitRate, Bytes, Nanos, Probability};
use proptest::prelude::*;

/// An offer, some time after the previous one.
#[derive(Clone, Copy, Debug)]
struct Offer {
    gap: Nanos,
    size: u32,
    capable: bool,
    /// Time for which the transmitter is held before it.
    hold: Option<Nanos>,
}

fn offers() -> impl Strategy<Value = Vec<Offer>> {
    let gap = prop_oneof![3 => Just(0u64), 3 => 0..100_000u64, 3 => 0..3_000_000u64, 1 => 0..200_000_000u64];
    let hold = prop_oneof![9 => Just(None), 1 => (0..5_000_000u64).prop_map(|ns| Some(Nanos(ns)))];
    let offer =
        (gap, 1u32..3_100, any::<bool>(), hold).prop_map(|(gap, size, capable, hold)| Offer {
            gap: Nanos(gap),
            size,
            capable,
            hold,
        });
    prop::collection::vec(offer, 1..400)
}

fn rate() -> impl Strategy<Value = BitRate> {
    prop_oneof![1_000u64..1_000_000, 1_000_000u64..1_000_000_000].prop_map(BitRate::from_bps)
}

fn steps() -> impl Strategy<Value = RateSpec> {
    let step = (
        0..20_000_000u64,
        prop_oneof![4 => rate(), 1 => Just(BitRate::from_bps(0))],
    );
    (rate(), prop::collection::vec(step, 0..20), rate()).prop_map(|(first, steps, last)| {
        let mut at = Nanos::ZERO;
        let mut all = vec![(at, first)];
        // The last rate is above 0, so every packet leaves.
        for (gap, rate) in steps.into_iter().chain([(1, last)]) {
            at += Nanos(gap);
            all.push((at, rate));
        }
        RateSpec::Steps(all)
    })
}

fn delivery_trace() -> impl Strategy<Value = Vec<u64>> {
    (
        prop::collection::vec(prop_oneof![2 => Just(0u64), 3 => 0..20u64], 0..60),
        1u64..20,
    )
        .prop_map(|(gaps, last)| {
            let mut at = 0;
            let mut all: Vec<u64> = gaps.iter().map(|gap| (at += gap, at).1).collect();
            all.push(at + last);
            all
        })
}

fn trace_rate(opportunities_ms: Vec<u64>) -> RateSpec {
    RateSpec::Trace(Arc::new(DeliveryTrace {
        source: "generated".into(),
        opportunities_ms,
    }))
}

fn any_rate() -> impl Strategy<Value = RateSpec> {
    let log_normal = (rate(), 0.0..1.0f64, 0..50u64, 1..20u64).prop_map(
        |(mean, deviation, correlation, interval)| RateSpec::LogNormal {
            mean,
            deviation,
            correlation: ms(correlation),
            interval: ms(interval),
        },
    );
    prop_oneof![
        1 => Just(RateSpec::Unlimited),
        3 => rate().prop_map(RateSpec::Constant),
        2 => steps(),
        2 => log_normal,
        2 => delivery_trace().prop_map(trace_rate),
    ]
}

fn queue() -> impl Strategy<Value = QueueLimit> {
    prop_oneof![
        (0u32..40).prop_map(QueueLimit::Packets),
        (0u64..40_000).prop_map(|bytes| QueueLimit::Bytes(Bytes(bytes))),
    ]
}

fn loss() -> impl Strategy<Value = LossSpec> {
    let p = || (0.0..=1.0f64).prop_map(|p| Probability::new(p).expect("in [0, 1]"));
    prop_oneof![
        Just(LossSpec::None),
        p().prop_map(LossSpec::Bernoulli),
        (p(), p(), p(), p()).prop_map(|(enter_bad, leave_bad, loss_good, loss_bad)| {
            LossSpec::GilbertElliott {
                enter_bad,
                leave_bad,
                loss_good,
                loss_bad,
            }
        }),
    ]
}

fn outages() -> impl Strategy<Value = Vec<Outage>> {
    let outage = (0..500u64, 1..50u64).prop_map(|(from, length)| Outage {
        from: ms(from),
        until: ms(from + length),
    });
    prop::collection::vec(outage, 0..4)
}

fn jitter() -> impl Strategy<Value = Option<JitterSpec>> {
    let jitter = (0..20u64, 0..200u64).prop_map(|(deviation, correlation)| JitterSpec {
        deviation: ms(deviation),
        correlation: ms(correlation),
    });
    prop::option::of(jitter)
}

fn delays() -> impl Strategy<Value = Option<DelaySteps>> {
    let later = prop::collection::vec((1..100u64, 0..50u64), 0..6);
    let delays = (0..50u64, later).prop_map(|(first, later)| {
        let mut at = 0;
        let later = later.into_iter().map(|(gap, delay)| {
            at += gap;
            (ms(at), ms(delay))
        });
        DelaySteps::new(
            None,
            [(Nanos::ZERO, ms(first))]
                .into_iter()
                .chain(later)
                .collect(),
        )
    });
    prop::option::of(delays)
}

fn any_link() -> impl Strategy<Value = LinkSpec> {
    (
        any_rate(),
        (0..50u64, delays()),
        jitter(),
        queue(),
        prop::option::of(queue()),
        loss(),
        outages(),
    )
        .prop_map(
            |(rate, (delay, delays), jitter, queue, ecn_threshold, loss, outages)| LinkSpec {
                delay: delays.as_ref().map_or(ms(delay), DelaySteps::least),
                delays: delays.map(Arc::new),
                jitter,
                queue,
                ecn_threshold,
                loss,
                outages,
                ..with_rate(rate)
            },
        )
}

/// Makes the offers to a link in order and passes each with its time and outcome to `each`.
fn run(link: &mut Link, offers: &[Offer], mut each: impl FnMut(&mut Link, Nanos, Offer, Outcome)) {
    let mut now = Nanos::ZERO;
    for offer in offers {
        now += offer.gap;
        if let Some(hold) = offer.hold {
            link.hold_until(now + hold);
        }
        let outcome = link.offer(now, offer.size, offer.capable);
        each(link, now, *offer, outcome);
    }
}

proptest! {
    #[test]
    fn the_queue_keeps_its_limit_and_drops_only_when_full(spec in any_link(), offers in offers(), seed: u64) {
        let mut link = Link::new(&spec, seed, 0);
        let (mut packets, mut bytes) = (0u32, 0u64);
        run(&mut link, &offers, |link, now, offer, outcome| {
            let (waiting, waiting_bytes) = (link.queue_packets(now), link.queue_bytes(now));
            if outcome == Outcome::QueueDrop {
                // Packets are dropped only if the queue is full.
                match spec.queue {
                    QueueLimit::Packets(limit) => assert_eq!(waiting, limit),
                    QueueLimit::Bytes(limit) => assert!(waiting_bytes + u64::from(offer.size) > limit.0),
                }
            } else {
                (packets, bytes) = (packets + 1, bytes + u64::from(offer.size));
            }
            match spec.queue {
                QueueLimit::Packets(limit) => assert!(waiting <= limit, "{waiting} wait"),
                QueueLimit::Bytes(limit) => assert!(waiting_bytes <= limit.0, "{waiting_bytes} bytes wait"),
            }
            assert!(waiting <= packets && waiting_bytes <= bytes);
            assert_eq!(waiting == 0, waiting_bytes == 0);
        });
        // All accepted packets leave the queue in the end.
        let end = Nanos::from_secs(1_000_000);
        prop_assert_eq!((link.queue_packets(end), link.queue_bytes(end)), (0, 0));
    }

    #[test]
    fn packets_arrive_in_order_and_never_before_they_were_offered(
        spec in any_link(),
        offers in offers(),
        seed: u64,
    ) {
        let mut last = Nanos::ZERO;
        run(&mut Link::new(&spec, seed, 0), &offers, |_, now, offer, outcome| {
            if let Outcome::Delivered { at, marked } = outcome {
                let least = if spec.jitter.is_some() { now } else { now + spec.delay };
                assert!(at >= last && at >= least, "{at} after {last}, offered at {now}");
                assert!(offer.capable || !marked);
                last = at;
            }
        });
    }

    #[test]
    fn a_link_is_never_faster_than_its_rate(rate in rate(), queue in queue(), offers in offers()) {
        // For any interval between two arrivals, with 1 ns of rounding: bits of the arrivals after
        // the first ≤ rate × time.
        let mut link = Link::new(&LinkSpec { queue, ..with_rate(RateSpec::Constant(rate)) }, 0, 0);
        let (mut bits, mut worst) = (0u128, i128::MIN);
        run(&mut link, &offers, |_, _, offer, outcome| {
            if let Outcome::Delivered { at, .. } = outcome {
                bits += u128::from(offer.size) * 8;
                // Both sides × rate, in bit/s × ns.
                let ahead = (bits * 1_000_000_000) as i128 - i128::from(at.0) * i128::from(rate.bps());
                assert!(worst == i128::MIN || ahead <= worst + i128::from(rate.bps()), "above its rate");
                worst = if worst == i128::MIN { ahead } else { worst.min(ahead) };
            }
        });
    }

    #[test]
    fn a_transmitter_never_rests_while_packets_wait(rate in rate(), queue in queue(), offers in offers()) {
        // Lindley: a packet leaves one transmission time after its arrival or after the departure
        // of the previous packet, whichever is later.
        let mut link = Link::new(&LinkSpec { queue, ..with_rate(RateSpec::Constant(rate)) }, 0, 0);
        let offers: Vec<_> = offers.into_iter().map(|offer| Offer { hold: None, ..offer }).collect();
        let mut last = Nanos::ZERO;
        run(&mut link, &offers, |_, now, offer, outcome| {
            if let Outcome::Delivered { at, .. } = outcome {
                let exact_ns = f64::from(offer.size) * 8e9 / rate.bps() as f64;
                let taken_ns = (at - last.max(now)).0 as f64;
                assert!((taken_ns - exact_ns).abs() < 1.001, "{taken_ns} ns instead of {exact_ns}");
                last = at;
            }
        });
    }

    #[test]
    fn the_same_seed_gives_the_same_fates(spec in any_link(), offers in offers(), seed: u64) {
        let fates = |link: &mut Link| {
            let mut fates = Vec::new();
            run(link, &offers, |_, _, _, outcome| fates.push(outcome));
            fates
        };
        prop_assert_eq!(fates(&mut Link::new(&spec, seed, 3)), fates(&mut Link::new(&spec, seed, 3)));
    }

    #[test]
    fn a_trace_link_matches_mahimahi_event_by_event(
        opportunities_ms in delivery_trace(),
        limit in 0usize..20,
        offers in offers(),
    ) {
        let queue = QueueLimit::Packets(limit as u32);
        let spec = LinkSpec { queue, ..with_rate(trace_rate(opportunities_ms.clone())) };
        let mut pump = BytePump::new(opportunities_ms, limit);
        let offers: Vec<_> = offers.into_iter().map(|offer| Offer { hold: None, ..offer }).collect();
        let mut computed = Vec::new();
        run(&mut Link::new(&spec, 0, 0), &offers, |_, now, offer, outcome| {
            let accepted = pump.offer(now, offer.size);
            match outcome {
                Outcome::Delivered { at, .. } => computed.push(at),
                other => assert_eq!(other, Outcome::QueueDrop),
            }
            assert_eq!(accepted, outcome != Outcome::QueueDrop, "{now}");
        });
        prop_assert_eq!(computed, pump.drain());
    }
}

/// A trace-driven link as an event simulation: events that are due happen first, then the packet
/// joins the queue.
struct BytePump {
    opportunities_ms: Vec<u64>,
    limit: usize,
    /// The next opportunity: pass and line.
    next: (u64, usize),
    waiting: VecDeque<u32>,
    /// Remaining bytes of the packet in transmission, 0 if there is none.
    rest: u32,
    departures: Vec<Nanos>,
}

impl BytePump {
    fn new(opportunities_ms: Vec<u64>, limit: usize) -> Self {
        let (waiting, departures) = (VecDeque::new(), Vec::new());
        BytePump {
            opportunities_ms,
            limit,
            next: (0, 0),
            waiting,
            rest: 0,
            departures,
        }
    }

    fn offer(&mut self, now: Nanos, size: u32) -> bool {
        while self.due() <= now {
            self.pump();
        }
        let room = self.waiting.len() < self.limit;
        if room {
            self.waiting.push_back(size);
        }
        room
    }

    fn drain(mut self) -> Vec<Nanos> {
        while self.rest > 0 || !self.waiting.is_empty() {
            self.pump();
        }
        self.departures
    }

    fn due(&self) -> Nanos {
        let period_ms = self.opportunities_ms[self.opportunities_ms.len() - 1];
        ms(self.next.0 * period_ms + self.opportunities_ms[self.next.1])
    }

    fn pump(&mut self) {
        let due = self.due();
        let mut left = DeliveryTrace::OPPORTUNITY_BYTES;
        while left > 0 {
            if self.rest == 0 {
                let Some(size) = self.waiting.pop_front() else {
                    break;
                };
                self.rest = size;
            }
            let sent = left.min(self.rest);
            (left, self.rest) = (left - sent, self.rest - sent);
            if self.rest == 0 {
                self.departures.push(due);
            }
        }
        let last = self.next.1 + 1 == self.opportunities_ms.len();
        self.next = if last {
            (self.next.0 + 1, 0)
        } else {
            (self.next.0, self.next.1 + 1)
        };
    }
}
