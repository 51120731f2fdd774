//! One link: what becomes of a packet that is offered to it.

use joulepath_model::network::{LinkSpec, RateSpec};
use joulepath_model::scenario::Scenario;
use joulepath_model::units::{BitRate, Nanos};

use crate::loss::Loss;
use crate::opportunities::Opportunities;
use crate::queue::{Admission, ByteLimits, Queue};
use crate::rate::{ConstantRate, LogNormal, NEVER_NS, PiecewiseRate};
use crate::wire::{Jitter, Outages};
use joulepath_model::random::{Domain, Stream};

/// What becomes of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It reaches the far end.
    Delivered {
        /// When its last byte arrives; [`Nanos::MAX`] if the rate stays 0 for ever.
        at: Nanos,
        /// Whether the queue set its congestion-experienced mark.
        marked: bool,
    },
    /// The queue was full.
    QueueDrop,
    /// It was sent, but lost on the wire: by chance or in an outage.
    WireLoss,
}

/// A unidirectional link as a state machine: a DropTail queue, a transmitter, a wire.
#[derive(Clone, Debug)]
pub struct Link {
    /// When the transmitter will have sent all packets that were accepted, ns.
    free_ns: u64,
    rate: ConstantRate,
    delay_ns: u64,
    queue: Queue,
    loss: Loss,
    /// The parts that most links do not have.
    extras: Option<Box<Extras>>,
    #[cfg(debug_assertions)]
    last_offer: Nanos,
}

/// At most two cache lines: a network of a thousand links fits into the second-level cache.
#[cfg(not(debug_assertions))]
const _: () = assert!(size_of::<Link>() <= 128);

/// All that makes a link more than a queue of packets, a constant rate, a constant delay and random loss.
#[derive(Clone, Debug)]
struct Extras {
    service: Service,
    byte_limits: Option<ByteLimits>,
    outages: Outages,
    jitter: Option<Jitter>,
}

/// How the transmitter works.
#[derive(Clone, Debug)]
enum Service {
    /// At the constant rate [`Link::rate`].
    Constant,
    Piecewise(PiecewiseRate),
    Trace(Opportunities),
}

impl Link {
    /// The `index`-th link of a scenario, idle at time 0. Its random numbers depend on `seed` and `index`
    /// alone.
    ///
    /// # Panics
    /// If `spec` is one that no scenario's parser accepts: rate steps that do not ascend from time 0, a
    /// log-normal rate whose mean or interval is 0, a trace that is empty or descends.
    pub fn new(spec: &LinkSpec, seed: u64, index: u64) -> Self {
        let stream = |domain| Stream::new(seed, domain, index);
        let (rate, service) = transmitter(&spec.rate, stream(Domain::LinkRate));
        let extras = Extras {
            service,
            byte_limits: ByteLimits::new(spec.queue, spec.ecn_threshold),
            outages: Outages::new(&spec.outages),
            jitter: spec.jitter.map(|jitter| Jitter::new(jitter, stream(Domain::LinkJitter))),
        };
        Link {
            free_ns: 0,
            rate,
            delay_ns: spec.delay.0,
            queue: Queue::new(spec.queue, spec.ecn_threshold),
            loss: Loss::new(spec.loss, stream(Domain::LinkLoss)),
            extras: (!extras.are_void()).then(|| Box::new(extras)),
            #[cfg(debug_assertions)]
            last_offer: Nanos::ZERO,
        }
    }

    /// Offers a packet of `size` bytes (below 1 GiB), headers included, at `now`, and says what will become
    /// of it.
    ///
    /// Calls come in the order of time: `now` does not decrease. Neither do the delivery times that are
    /// returned.
    #[inline(always)]
    pub fn offer(&mut self, now: Nanos, size: u32, ecn_capable: bool) -> Outcome {
        #[cfg(debug_assertions)]
        {
            assert!(now >= self.last_offer, "offered at {now}, after an offer at {}", self.last_offer);
            self.last_offer = now;
        }
        if self.extras.is_some() {
            return self.offer_with_extras(now, size, ecn_capable);
        }
        let start = self.free_ns.max(now.0);
        let Admission::Accepted { congested } = self.queue.admit(now.0, start, size) else {
            return Outcome::QueueDrop;
        };
        self.transmit(now.0, size);
        if self.loss.strikes() {
            return Outcome::WireLoss;
        }
        Outcome::Delivered { at: Nanos(self.free_ns + self.delay_ns), marked: congested & ecn_capable }
    }

    /// Blocks the transmitter until `t`, for example while a radio is promoted. Packets that were accepted
    /// before this call keep their delivery times.
    pub fn hold_until(&mut self, t: Nanos) {
        if t.0 > self.free_ns {
            self.free_ns = t.0;
            self.rate.interrupt();
        }
    }

    /// Packets that wait at `now`, which is not before the last offer. The one in transmission does not
    /// count.
    pub fn queue_packets(&self, now: Nanos) -> u32 {
        u32::try_from(self.queue.waiting_packets(now.0)).unwrap_or(u32::MAX)
    }

    /// Bytes of the packets that wait at `now`, which is not before the last offer.
    pub fn queue_bytes(&self, now: Nanos) -> u64 {
        self.queue.waiting_bytes(now.0)
    }

    /// Bytes of all packets whose transmission has started by `now`, modulo 2⁶⁴.
    pub fn sent_bytes(&self, now: Nanos) -> u64 {
        self.queue.accepted_bytes().wrapping_sub(self.queue.waiting_bytes(now.0))
    }

    /// Sends a packet at the constant rate as soon as the transmitter is free.
    #[inline]
    fn transmit(&mut self, now: u64, size: u32) {
        let idle = self.free_ns < now;
        self.free_ns = self.free_ns.max(now) + self.rate.transmission_ns(idle, size);
    }

    #[inline(never)]
    fn offer_with_extras(&mut self, now: Nanos, size: u32, ecn_capable: bool) -> Outcome {
        let Some(mut extras) = self.extras.take() else { unreachable!("only called with extras") };
        let outcome = self.offer_through(&mut extras, now.0, size, ecn_capable);
        self.extras = Some(extras);
        outcome
    }

    fn offer_through(&mut self, extras: &mut Extras, now: u64, size: u32, ecn_capable: bool) -> Outcome {
        let start = match &mut extras.service {
            Service::Constant | Service::Piecewise(_) => self.free_ns.max(now),
            // A packet that arrives at the same instant as an opportunity has missed it.
            Service::Trace(opportunities) => opportunities.seek(self.free_ns.max(now + 1)),
        };
        let admission = match extras.byte_limits {
            None => self.queue.admit(now, start, size),
            Some(limits) => self.queue.admit_within(limits, now, start, size),
        };
        let Admission::Accepted { congested } = admission else { return Outcome::QueueDrop };
        match &mut extras.service {
            Service::Constant => self.transmit(now, size),
            Service::Piecewise(rate) => self.free_ns = rate.finish(start, size),
            Service::Trace(opportunities) => self.free_ns = opportunities.send(size),
        }
        let lost = self.loss.strikes();
        if extras.outages.meet(start, self.free_ns) || lost {
            return Outcome::WireLoss;
        }
        Outcome::Delivered { at: Nanos(self.arrival(extras)), marked: congested & ecn_capable }
    }

    /// When the packet that is the last to leave the transmitter arrives at the far end.
    fn arrival(&self, extras: &mut Extras) -> u64 {
        match &mut extras.jitter {
            _ if self.free_ns == NEVER_NS => NEVER_NS,
            None => self.free_ns + self.delay_ns,
            Some(jitter) => jitter.arrival(self.free_ns, self.delay_ns),
        }
    }
}

impl Extras {
    fn are_void(&self) -> bool {
        matches!(self.service, Service::Constant)
            && self.byte_limits.is_none()
            && self.outages.is_empty()
            && self.jitter.is_none()
    }
}

/// The scenario as a run with `seed` meets it: every random rate is replaced by the steps that it takes.
/// `None` if no rate is random.
pub fn realised(scenario: &Scenario, seed: u64) -> Option<Scenario> {
    let mut realised = scenario.clone();
    let mut any = false;
    for (index, link) in (0..).zip(&mut realised.links) {
        if let RateSpec::LogNormal { mean, deviation, correlation, interval } = link.rate {
            let stream = Stream::new(seed, Domain::LinkRate, index);
            let process = LogNormal::new(mean, deviation, correlation, interval, stream);
            link.rate = RateSpec::Steps(process.steps(scenario.duration));
            any = true;
        }
    }
    any.then_some(realised)
}

fn transmitter(spec: &RateSpec, stream: Stream) -> (ConstantRate, Service) {
    let unused = ConstantRate::UNLIMITED;
    match *spec {
        RateSpec::Unlimited => (ConstantRate::UNLIMITED, Service::Constant),
        RateSpec::Constant(rate) => match ConstantRate::new(rate) {
            Some(rate) => (rate, Service::Constant),
            None => {
                (unused, Service::Piecewise(PiecewiseRate::steps(&[(Nanos::ZERO, BitRate::from_bps(0))])))
            }
        },
        RateSpec::Steps(ref steps) => (unused, Service::Piecewise(PiecewiseRate::steps(steps))),
        RateSpec::LogNormal { mean, deviation, correlation, interval } => {
            let process = LogNormal::new(mean, deviation, correlation, interval, stream);
            (unused, Service::Piecewise(PiecewiseRate::log_normal(process)))
        }
        RateSpec::Trace(ref trace) => (unused, Service::Trace(Opportunities::new(trace.clone()))),
    }
}
