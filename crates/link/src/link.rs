//! A link: computes the fate of the packets that are offered to it.
//!
//! ```text
//!   offer ─► policer ─► DropTail ──────► transmitter, wire ─┬─► the answer of `offer`
//!                  └──► managed queue ─► transmitter, wire ─┴─► flight ─► `take`
//! ```

use std::borrow::Cow;

use joulepath_model::network::{LinkSpec, RateSpec};
use joulepath_model::scenario::Scenario;
use joulepath_model::units::Nanos;

use crate::ecn::Ecn;
use crate::keeper::{Front, Keeper};
use crate::loss::{Loss, Quiet};
use crate::opportunities::Opportunities;
use crate::outcome::{Exit, Outcome};
use crate::policer::Policer;
use crate::queue::{Admission, ByteLimits, Queue};
use crate::rate::{ConstantRate, LogNormal, NEVER_NS, PiecewiseRate};
use crate::wire::{Delays, Jitter, Outages};
use joulepath_model::random::{Domain, Stream};

/// A unidirectional link as a state machine: a DropTail queue, a transmitter, a wire.
///
/// The fields that every packet uses come first, so that they share few cache lines.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Link {
    /// End of the transmission of all accepted packets, ns.
    free_ns: u64,
    rate: ConstantRate,
    delay_ns: u64,
    queue: Queue,
    quiet: Quiet,
    /// Parts that most links do not have.
    extras: Option<Box<Extras>>,
    #[cfg(debug_assertions)]
    last_offer: Nanos,
}

/// Together with the ring of packets in front of it this is two cache lines, so a network of a
/// thousand links fits into the second-level cache.
#[cfg(not(debug_assertions))]
const _: () = assert!(size_of::<Link>() <= 104);

/// Everything beyond a queue of packets, a constant rate and a constant delay.
#[derive(Clone, Debug)]
struct Extras {
    loss: Option<Loss>,
    /// Draws which ECN-capable packets are marked.
    marks: Option<(Loss, Quiet)>,
    service: Service,
    byte_limits: Option<ByteLimits>,
    outages: Outages,
    delays: Option<Box<Delays>>,
    jitter: Option<Box<Jitter>>,
    policer: Option<Policer>,
    keeper: Option<Box<Keeper>>,
}

/// A packet that is offered.
#[derive(Clone, Copy)]
struct Offer {
    flow: u64,
    /// Time of the offer, ns.
    now: u64,
    /// Bytes.
    size: u32,
    ecn: Ecn,
    /// True if the link marks it at random.
    marked: bool,
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
    /// Link number `index` of a scenario, idle at time 0. Its random numbers depend only on `seed`
    /// and `index`.
    ///
    /// # Panics
    /// If `spec` is invalid in a scenario: rate steps that do not ascend from time 0, a log-normal
    /// rate with mean or interval 0, a trace that is empty or descends.
    pub fn new(spec: &LinkSpec, seed: u64, index: u64) -> Self {
        let stream = |domain| Stream::new(seed, domain, index);
        let (rate, service) = transmitter(&spec.rate, stream(Domain::LinkRate));
        let (loss, quiet) = Loss::new(spec.loss, stream(Domain::LinkLoss));
        let (marks, unmarked) = Loss::new(spec.mark.into(), stream(Domain::LinkMark));
        let extras = Extras {
            loss,
            marks: marks.map(|marks| (marks, unmarked)),
            service,
            byte_limits: ByteLimits::new(spec.queue, spec.ecn_threshold),
            outages: Outages::new(&spec.outages),
            delays: spec
                .delays
                .clone()
                .map(|steps| Box::new(Delays::new(steps))),
            jitter: spec
                .jitter
                .map(|jitter| Box::new(Jitter::new(jitter, stream(Domain::LinkJitter)))),
            policer: spec.policer.map(Policer::new),
            keeper: Keeper::new(spec, stream).map(Box::new),
        };
        Link {
            free_ns: 0,
            rate,
            delay_ns: spec.delay.0,
            queue: Queue::new(spec.queue, spec.ecn_threshold),
            quiet,
            extras: (!extras.are_void()).then(|| Box::new(extras)),
            #[cfg(debug_assertions)]
            last_offer: Nanos::ZERO,
        }
    }

    /// Offers a packet of `size` bytes (less than 1 GiB), headers included, at `now`, and returns
    /// its fate.
    ///
    /// `now` must not decrease from call to call. Delivery times do not decrease either, unless the
    /// link reorders.
    #[inline(always)]
    pub fn offer(&mut self, now: Nanos, size: u32, ecn: impl Into<Ecn>) -> Outcome {
        self.offer_of(0, now, size, ecn)
    }

    /// Like [`Link::offer`], for a packet of the flow with key `flow`. Packets with the same key
    /// share a queue if the link has a queue per flow.
    #[inline(always)]
    pub fn offer_of(&mut self, flow: u64, now: Nanos, size: u32, ecn: impl Into<Ecn>) -> Outcome {
        let ecn = ecn.into();
        match self.is_plain() {
            true => self.offer_to_plain(now, size, ecn.is_capable()),
            false => self.offer_with_extras(flow, now, size, ecn),
        }
    }

    /// True if the link has only a queue in packets, a constant rate, a constant delay and random
    /// loss.
    #[inline(always)]
    pub fn is_plain(&self) -> bool {
        self.extras.as_deref().is_none_or(Extras::are_plain)
    }

    /// Like [`Link::offer`], for a link that [is plain](Link::is_plain). It never holds a packet.
    #[inline(always)]
    pub fn offer_to_plain(&mut self, now: Nanos, size: u32, ecn_capable: bool) -> Outcome {
        self.note_offer(now);
        let congested = if self.free_ns <= now.0 {
            let idle = self.free_ns < now.0;
            self.free_ns = now.0 + self.rate.transmission_ns(idle, size);
            self.queue.pass(size, ecn_capable)
        } else {
            let Admission::Accepted { congested } =
                self.queue.admit(now.0, self.free_ns, size, ecn_capable)
            else {
                return Outcome::QueueDrop;
            };
            self.free_ns += self.rate.transmission_ns(false, size);
            congested
        };
        if self.quiet.is_over() && self.loses() {
            return Outcome::WireLoss;
        }
        Outcome::Delivered {
            at: Nanos(self.free_ns + self.delay_ns),
            marked: congested,
        }
    }

    /// Asks the loss process about a packet after the quiet period. Returns true if the packet is
    /// lost.
    #[cold]
    fn loses(&mut self) -> bool {
        self.quiet.ask(
            self.extras
                .as_deref_mut()
                .and_then(|extras| extras.loss.as_mut()),
        )
    }

    /// Checks that calls come in the order of time.
    #[inline(always)]
    fn note_offer(&mut self, _now: Nanos) {
        #[cfg(debug_assertions)]
        {
            assert!(
                _now >= self.last_offer,
                "offered at {_now}, after an offer at {}",
                self.last_offer
            );
            self.last_offer = _now;
        }
    }

    /// The memory that the next [`Link::offer`] reads first, so that a caller can prefetch it.
    /// Memory that it only writes needs no prefetch.
    #[inline(always)]
    pub fn next_place(&self) -> &impl Sized {
        self.queue.next_decisive()
    }

    /// Blocks the transmitter until `t`, for example during the promotion of a radio. Packets
    /// accepted before this call keep their delivery times.
    pub fn hold_until(&mut self, t: Nanos) {
        if t.0 > self.free_ns {
            self.free_ns = t.0;
            self.rate.interrupt();
            let Some(extras) = self.extras.as_deref_mut() else {
                return;
            };
            let front = extras
                .keeper
                .as_mut()
                .and_then(|keeper| keeper.front.as_mut());
            if let Some(front) = front.filter(|front| front.start_ns != NEVER_NS) {
                // A recorded link must not use an opportunity before `t`.
                let start_ns = front.start_ns.max(t.0);
                front.start_ns = extras.service.start_ns(start_ns, start_ns);
            }
        }
    }

    /// True if the link can return [`Outcome::Held`].
    pub fn keeps_packets(&self) -> bool {
        self.extras
            .as_deref()
            .is_some_and(|extras| extras.keeper.is_some())
    }

    /// Time at which [`Link::take`] must be called next; none if the link holds no packets.
    /// [`Link::offer`] may make it earlier.
    pub fn due(&self) -> Option<Nanos> {
        let keeper = self.extras.as_deref()?.keeper.as_ref()?;
        if !(keeper.dropped.is_empty() && keeper.lost.is_empty()) {
            return Some(Nanos::ZERO);
        }
        let due_ns = keeper.start_ns().min(keeper.flight.due_ns());
        (due_ns != NEVER_NS).then_some(Nanos(due_ns))
    }

    /// The next packet whose fate is known at `now`; none if there are no more. On a link that
    /// keeps packets, call it whenever it is [`Link::due`].
    pub fn take(&mut self, now: Nanos) -> Option<Exit> {
        self.with_keeper(|link, extras, keeper| link.next_exit::<false>(extras, keeper, now.0))?
    }

    /// Adds to `exits` all packets whose fate is certain at `now`: their arrival may be later. They
    /// come in the order of arrival, except for those held back by a time. Returns when to call it
    /// next, if no packet is offered before; until then, the link may have transmitted packets
    /// unnoticed.
    pub fn take_ahead(&mut self, now: Nanos, exits: &mut Vec<Exit>) -> Option<Nanos> {
        self.with_keeper(|link, extras, keeper| {
            let due_ns = if keeper.flight.is_plain() {
                link.serve(extras, keeper, now.0);
                keeper.take_all(exits);
                // No packet arrives earlier than a delay after its transmission starts. Jitter may
                // shorten the delay.
                let patience_ns = if extras.jitter.is_none() {
                    link.delay_ns.saturating_sub(1)
                } else {
                    0
                };
                keeper.start_ns().saturating_add(patience_ns)
            } else {
                while let Some(exit) = link.next_exit::<true>(extras, keeper, now.0) {
                    exits.push(exit);
                }
                keeper.start_ns().min(keeper.flight.due_ns())
            };
            (due_ns != NEVER_NS).then_some(Nanos(due_ns))
        })?
    }

    /// Transmits the packets of a managed queue that are due by `now`. A caller that uses
    /// [`Link::take_ahead`] calls this before it reads the queue or holds the transmitter.
    pub fn catch_up(&mut self, now: Nanos) {
        self.with_keeper(|link, extras, keeper| link.serve(extras, keeper, now.0));
    }

    /// Calls `f` with the parts of a link that keeps packets.
    #[inline(always)]
    fn with_keeper<R>(
        &mut self,
        f: impl FnOnce(&mut Self, &mut Extras, &mut Keeper) -> R,
    ) -> Option<R> {
        let mut extras = self.extras.take()?;
        let mut keeper = extras.keeper.take();
        let result = keeper
            .as_deref_mut()
            .map(|keeper| f(self, &mut extras, keeper));
        extras.keeper = keeper;
        self.extras = Some(extras);
        result
    }

    /// End of the transmission of the packet that was accepted last; none if a managed queue
    /// decides later which packet is next.
    pub fn last_departure(&self) -> Option<Nanos> {
        self.front().is_none().then_some(Nanos(self.free_ns))
    }

    /// Time that the transmission of `size` bytes takes at the present rate: none without a rate,
    /// during an outage, and on a trace, whose opportunities are instants.
    pub fn air(&self, size: u64) -> Nanos {
        let service = self.extras.as_deref().map(|extras| &extras.service);
        let bps = match service {
            None | Some(Service::Constant) => self.rate.bps(),
            Some(Service::Piecewise(rate)) => rate.bps(),
            Some(Service::Trace(_)) => 0,
        };
        Nanos(
            (size.saturating_mul(8_000_000_000))
                .checked_div(bps)
                .unwrap_or(0),
        )
    }

    /// End of the transmission of all packets accepted by `now`, maybe in the past; an estimate if
    /// a managed queue holds some; `now` if the rate stays 0.
    #[inline]
    pub fn busy_until(&self, now: Nanos) -> Nanos {
        let waiting = self.front().map_or(0, |front| front.aqm.waiting().1);
        match self.free_ns {
            NEVER_NS => now,
            free_ns if waiting > 0 => Nanos(free_ns.max(now.0)).saturating_add(self.air(waiting)),
            free_ns => Nanos(free_ns),
        }
    }

    /// Propagation delay, without jitter; if it changes, the least.
    pub fn delay(&self) -> Nanos {
        Nanos(self.delay_ns)
    }

    /// Number of packets that wait at `now`, without the packet in transmission. `now` must not be
    /// before the last offer.
    pub fn queue_packets(&self, now: Nanos) -> u32 {
        if let Some(front) = self.front() {
            return front.aqm.waiting().0;
        }
        self.queue.waiting_packets(now.0)
    }

    /// Bytes of the packets that wait at `now`. `now` must not be before the last offer.
    pub fn queue_bytes(&self, now: Nanos) -> u64 {
        if let Some(front) = self.front() {
            return front.aqm.waiting().1;
        }
        self.queue.waiting_bytes(now.0)
    }

    /// Bytes of all packets with a transmission start up to `now`, modulo 2⁶⁴.
    pub fn sent_bytes(&self, now: Nanos) -> u64 {
        if let Some(front) = self.front() {
            return front.sent;
        }
        self.queue
            .accepted_bytes()
            .wrapping_sub(self.queue.waiting_bytes(now.0))
    }

    /// Transmits a packet at the constant rate as soon as the transmitter is free.
    #[inline(always)]
    fn transmit(&mut self, now: u64, size: u32) {
        let idle = self.free_ns < now;
        self.free_ns = self.free_ns.max(now) + self.rate.transmission_ns(idle, size);
    }

    fn front(&self) -> Option<&Front> {
        self.extras.as_deref()?.keeper.as_ref()?.front.as_ref()
    }

    #[inline(never)]
    fn offer_with_extras(&mut self, flow: u64, now: Nanos, size: u32, ecn: Ecn) -> Outcome {
        self.note_offer(now);
        let Some(mut extras) = self.extras.take() else {
            unreachable!("only called with extras")
        };
        let refused = extras
            .policer
            .as_mut()
            .is_some_and(|policer| !policer.passes(now.0, size));
        let offer = Offer {
            flow,
            now: now.0,
            size,
            ecn,
            marked: ecn.is_capable() && !refused && extras.marks_next(),
        };
        let outcome = if refused {
            Outcome::QueueDrop
        } else if let Some(keeper) = extras.keeper.take() {
            self.offer_to_keeper(&mut extras, keeper, offer)
        } else {
            self.offer_to_fifo(&mut extras, offer)
        };
        self.extras = Some(extras);
        outcome
    }

    #[inline(never)]
    fn offer_to_keeper(
        &mut self,
        extras: &mut Extras,
        mut keeper: Box<Keeper>,
        offer: Offer,
    ) -> Outcome {
        let outcome = if keeper.front.is_some() {
            self.offer_to_aqm(extras, &mut keeper, offer)
        } else {
            match self.offer_to_fifo(extras, offer) {
                Outcome::Delivered { at, marked } if at != Nanos::MAX => {
                    let Offer { now, size, ecn, .. } = offer;
                    let number = keeper.packets.add(now, size, ecn, marked);
                    keeper.flight.enter(at.0, number, size);
                    Outcome::Held(number)
                }
                known => known,
            }
        };
        extras.keeper = Some(keeper);
        outcome
    }

    fn offer_to_aqm(&mut self, extras: &mut Extras, keeper: &mut Keeper, offer: Offer) -> Outcome {
        let Offer {
            flow,
            now,
            size,
            ecn,
            marked,
        } = offer;
        self.serve(extras, keeper, now);
        let number = keeper.packets.add(now, size, ecn, marked);
        let Some(front) = &mut keeper.front else {
            unreachable!("only called with a managed queue")
        };
        front
            .aqm
            .enqueue(number, flow, &mut keeper.packets, &mut keeper.dropped);
        if front.start_ns == NEVER_NS && front.aqm.waiting().0 > 0 {
            // A packet that arrives at the exact time of a trace's opportunity has missed it.
            front.start_ns = extras
                .service
                .start_ns(self.free_ns.max(now), self.free_ns.max(now + 1));
            self.serve(extras, keeper, now);
        }
        Outcome::Held(number)
    }

    /// Transmits the packets of the managed queue that are due by `now`.
    #[inline(always)]
    fn serve(&mut self, extras: &mut Extras, keeper: &mut Keeper, now: u64) {
        if keeper.start_ns() > now {
            return;
        }
        self.transmit_due(extras, keeper, now);
    }

    #[inline(never)]
    fn transmit_due(&mut self, extras: &mut Extras, keeper: &mut Keeper, now: u64) {
        let Some(front) = &mut keeper.front else {
            return;
        };
        while front.start_ns <= now {
            let start = front.start_ns;
            let sent = front
                .aqm
                .dequeue(start, &mut keeper.packets, &mut keeper.dropped);
            if let Some(number) = sent {
                let size = keeper.packets.get(number).size;
                front.sent = front.sent.wrapping_add(size.into());
                match self.send(extras, start, start, size) {
                    Some(at_ns) if at_ns != NEVER_NS => keeper.flight.enter(at_ns, number, size),
                    _ => keeper.lost.push(number),
                }
            }
            let waits = front.aqm.waiting().0 > 0 && self.free_ns != NEVER_NS;
            front.start_ns = if waits {
                extras.service.start_ns(self.free_ns, self.free_ns)
            } else {
                NEVER_NS
            };
        }
    }

    /// The next packet whose fate is known at `now`; with `AHEAD`, certain.
    #[inline]
    fn next_exit<const AHEAD: bool>(
        &mut self,
        extras: &mut Extras,
        keeper: &mut Keeper,
        now: u64,
    ) -> Option<Exit> {
        loop {
            if let Some(known) = keeper.known() {
                return Some(known);
            }
            let start_ns = keeper.start_ns();
            // A packet that arrives before the next one leaves the queue comes first.
            if let Some(out) = keeper.take_out::<AHEAD>(now.min(start_ns)) {
                return Some(out);
            }
            if start_ns > now {
                return None;
            }
            self.serve(extras, keeper, start_ns);
        }
    }

    #[inline(always)]
    fn offer_to_fifo(&mut self, extras: &mut Extras, offer: Offer) -> Outcome {
        let Offer { now, size, ecn, .. } = offer;
        let ecn_capable = ecn.is_capable();
        let start = match &mut extras.service {
            Service::Constant | Service::Piecewise(_) => self.free_ns.max(now),
            // A packet that arrives at the exact time of an opportunity has missed it.
            Service::Trace(opportunities) => opportunities.seek(self.free_ns.max(now + 1)),
        };
        let admission = match extras.byte_limits {
            None => self.queue.admit(now, start, size, ecn_capable),
            Some(limits) => self
                .queue
                .admit_within(limits, now, start, size, ecn_capable),
        };
        let Admission::Accepted { congested } = admission else {
            return Outcome::QueueDrop;
        };
        match self.send(extras, now, start, size) {
            Some(at_ns) => Outcome::Delivered {
                at: Nanos(at_ns),
                marked: congested || offer.marked,
            },
            None => Outcome::WireLoss,
        }
    }

    /// Transmits a packet, accepted at `now`, from `start` on. Returns its arrival time, ns, or
    /// none if it is lost on the wire.
    #[inline(always)]
    fn send(&mut self, extras: &mut Extras, now: u64, start: u64, size: u32) -> Option<u64> {
        match &mut extras.service {
            Service::Constant => self.transmit(now, size),
            Service::Piecewise(rate) => self.free_ns = rate.finish(start, size),
            Service::Trace(opportunities) => self.free_ns = opportunities.send(size),
        }
        let lost = self.quiet.is_over() && self.quiet.ask(extras.loss.as_mut());
        if extras.outages.meet(start, self.free_ns) || lost {
            return None;
        }
        Some(self.arrival(extras))
    }

    /// Arrival time at the far end of the packet that left the transmitter last.
    fn arrival(&self, extras: &mut Extras) -> u64 {
        match (&mut extras.jitter, &mut extras.delays) {
            _ if self.free_ns == NEVER_NS => NEVER_NS,
            (None, None) => self.free_ns + self.delay_ns,
            (None, Some(delays)) => delays.arrival(self.free_ns),
            (Some(jitter), None) => jitter.arrival(self.free_ns, self.delay_ns),
            (Some(jitter), Some(delays)) => jitter.arrival(self.free_ns, delays.at(self.free_ns)),
        }
    }
}

impl Extras {
    /// True if the next ECN-capable packet is marked at random.
    fn marks_next(&mut self) -> bool {
        let Some((marks, unmarked)) = &mut self.marks else {
            return false;
        };
        unmarked.is_over() && unmarked.ask(Some(marks))
    }

    fn are_void(&self) -> bool {
        self.loss.is_none() && self.are_plain()
    }

    /// True if there is nothing but random loss.
    fn are_plain(&self) -> bool {
        matches!(self.service, Service::Constant)
            && self.byte_limits.is_none()
            && self.outages.is_empty()
            && self.delays.is_none()
            && self.jitter.is_none()
            && self.policer.is_none()
            && self.marks.is_none()
            && self.keeper.is_none()
    }
}

impl Service {
    /// Start of the next transmission, ns: `free_ns`, or the first opportunity from
    /// `opportunity_ns` on.
    fn start_ns(&mut self, free_ns: u64, opportunity_ns: u64) -> u64 {
        match self {
            Service::Constant | Service::Piecewise(_) => free_ns,
            Service::Trace(opportunities) => opportunities.seek(opportunity_ns),
        }
    }
}

/// The scenario of a run with `seed`: every random rate and every walk of a signal is replaced by
/// its steps. `None` if it has neither.
pub fn realised(scenario: &Scenario, seed: u64) -> Option<Scenario> {
    let drawn = scenario.drawn(seed);
    let mut any = matches!(drawn, Cow::Owned(_));
    let mut realised = drawn.into_owned();
    for (index, link) in (0..).zip(&mut realised.links) {
        if let RateSpec::LogNormal {
            mean,
            deviation,
            correlation,
            interval,
        } = link.rate
        {
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
            None => (
                unused,
                Service::Piecewise(PiecewiseRate::steps(&[(Nanos::ZERO, rate)])),
            ),
        },
        RateSpec::Steps(ref steps) => (unused, Service::Piecewise(PiecewiseRate::steps(steps))),
        RateSpec::LogNormal {
            mean,
            deviation,
            correlation,
            interval,
        } => {
            let process = LogNormal::new(mean, deviation, correlation, interval, stream);
            (
                unused,
                Service::Piecewise(PiecewiseRate::log_normal(process)),
            )
        }
        RateSpec::Trace(ref trace) => (unused, Service::Trace(Opportunities::new(trace.clone()))),
    }
}
