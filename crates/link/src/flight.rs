//! Packets between the transmitter and the far end, with reordering and aggregation.
//!
//! ```text
//!   enter(at) ─► wire, in the order of arrival ─┬──────────────────► bursts ─► out
//!                                               └─► held back ─────┘
//!                                     until n others have arrived
//! ```

use std::collections::VecDeque;

use joulepath_model::network::{AggregateSpec, QueueLimit, ReorderDepth, ReorderSpec};
use joulepath_model::random::Stream;

use crate::rate::NEVER_NS;

/// A packet on the wire.
#[derive(Clone, Copy, Debug)]
struct Arrival {
    at_ns: u64,
    number: u32,
    size: u32,
    /// True if later packets have to overtake it.
    held_back: bool,
}

/// The part of the link between the transmitter and the far end.
#[derive(Clone, Debug)]
pub(crate) struct Flight {
    /// In the order of arrival. Packets of one instant arrive in the order in which they were sent.
    wire: VecDeque<Arrival>,
    /// Later packets arrive no earlier than this, ns.
    newest_ns: u64,
    reorder: Option<Reorder>,
    aggregate: Option<Aggregate>,
    /// Packets with a certain arrival, with its time, in the order of arrival.
    out: VecDeque<(u64, u32)>,
}

/// Chooses the packets to hold back, and keeps them.
#[derive(Clone, Debug)]
struct Reorder {
    spec: ReorderSpec,
    /// Number of packets before the next packet that is held back.
    gap: u64,
    stream: Stream,
    held: Vec<HeldBack>,
}

/// A packet that later packets have to overtake.
#[derive(Clone, Copy, Debug)]
struct HeldBack {
    number: u32,
    size: u32,
    /// Packets that still have to overtake it.
    left: u32,
    /// Time at which it is released at the latest, ns.
    until_ns: u64,
}

/// Packets that wait for the release of their burst.
#[derive(Clone, Debug)]
struct Aggregate {
    spec: AggregateSpec,
    /// Periods end at this time plus whole periods, ns.
    phase_ns: u64,
    burst: VecDeque<u32>,
    bytes: u64,
    /// Release time of the burst, ns.
    due_ns: u64,
}

impl Flight {
    pub(crate) fn new(
        reorder: Option<(ReorderSpec, Stream)>,
        aggregate: Option<(AggregateSpec, Stream)>,
    ) -> Self {
        Flight {
            wire: VecDeque::new(),
            newest_ns: 0,
            reorder: reorder.map(|(spec, stream)| Reorder::new(spec, stream)),
            aggregate: aggregate.map(|(spec, stream)| Aggregate::new(spec, stream)),
            out: VecDeque::new(),
        }
    }

    /// True if packets arrive in the order in which they enter, each at its own time.
    #[inline]
    pub(crate) fn is_plain(&self) -> bool {
        self.reorder.is_none() && self.aggregate.is_none()
    }

    /// Adds a packet that arrives at `at_ns` if nothing overtakes it. `at_ns` must not decrease.
    #[inline]
    pub(crate) fn enter(&mut self, at_ns: u64, number: u32, size: u32) {
        self.newest_ns = at_ns;
        let is_held_back = self.reorder.as_mut().is_some_and(Reorder::strikes);
        if is_held_back || !self.wire.is_empty() || self.holds_back() {
            return self.put_on_wire(Arrival {
                at_ns,
                number,
                size,
                held_back: is_held_back,
            });
        }
        // Nothing is before it, and no later packet can overtake it.
        if self.burst_due_ns() < at_ns {
            self.release_burst(self.burst_due_ns());
        }
        self.pass(at_ns, number, size);
    }

    #[inline]
    fn holds_back(&self) -> bool {
        self.reorder
            .as_ref()
            .is_some_and(|reorder| !reorder.held.is_empty())
    }

    fn put_on_wire(&mut self, mut arrival: Arrival) {
        if arrival.held_back
            && let Some(Reorder {
                spec:
                    ReorderSpec {
                        depth: ReorderDepth::Time(depth),
                        ..
                    },
                ..
            }) = self.reorder
        {
            arrival.at_ns = arrival.at_ns.saturating_add(depth.0);
            arrival.held_back = false;
        }
        let is_later = |other: &&Arrival| other.at_ns > arrival.at_ns;
        match self.wire.iter().rev().take_while(is_later).count() {
            0 => self.wire.push_back(arrival),
            later => self.wire.insert(self.wire.len() - later, arrival),
        }
    }

    /// Time of the next event, ns.
    #[inline]
    pub(crate) fn due_ns(&self) -> u64 {
        let out = self.out.front().map_or(NEVER_NS, |&(at_ns, _)| at_ns);
        out.min(self.wire_due_ns())
            .min(self.held_due_ns())
            .min(self.burst_due_ns())
    }

    /// The next packet with a certain arrival, which may be later, and its time, ns.
    #[inline]
    pub(crate) fn next(&mut self) -> Option<(u64, u32)> {
        self.out.pop_front()
    }

    /// The next packet that has arrived by `now`, and its time, ns.
    pub(crate) fn take(&mut self, now: u64) -> Option<(u64, u32)> {
        self.take_within(now, now)
    }

    /// The next packet whose arrival no later packet can change, and its time, ns.
    pub(crate) fn take_ahead(&mut self, now: u64) -> Option<(u64, u32)> {
        self.take_within(now, now.max(self.newest_ns))
    }

    /// The next packet, if arrivals on the wire until `wire_ns` are certain, and so are releases
    /// until `now` or before `wire_ns`.
    #[inline]
    fn take_within(&mut self, now: u64, wire_ns: u64) -> Option<(u64, u32)> {
        loop {
            if self.out.front().is_some_and(|&(at_ns, _)| at_ns <= wire_ns) {
                return self.out.pop_front();
            }
            if self.is_plain() {
                return None;
            }
            let due_ns = self.due_ns();
            if due_ns > wire_ns {
                return None;
            }
            if self.wire_due_ns() == due_ns {
                self.arrive();
                continue;
            }
            // A packet that arrives at the same instant comes first.
            if due_ns == wire_ns && due_ns > now {
                return None;
            }
            if self.held_due_ns() == due_ns {
                self.give_up_holding(due_ns);
            } else {
                self.release_burst(due_ns);
            }
        }
    }

    fn wire_due_ns(&self) -> u64 {
        self.wire.front().map_or(NEVER_NS, |arrival| arrival.at_ns)
    }

    fn held_due_ns(&self) -> u64 {
        let held = self.reorder.iter().flat_map(|reorder| &reorder.held);
        held.map(|held| held.until_ns).min().unwrap_or(NEVER_NS)
    }

    fn burst_due_ns(&self) -> u64 {
        self.aggregate
            .as_ref()
            .map_or(NEVER_NS, |aggregate| aggregate.due_ns)
    }

    /// Lets the first packet on the wire arrive. It may release packets that it overtakes.
    fn arrive(&mut self) {
        let Some(Arrival {
            at_ns,
            number,
            size,
            held_back,
        }) = self.wire.pop_front()
        else {
            return;
        };
        let Some(Reorder { spec, held, .. }) = &mut self.reorder else {
            return self.pass(at_ns, number, size);
        };
        if held_back && let ReorderDepth::Packets { packets, at_most } = spec.depth {
            return held.push(HeldBack {
                number,
                size,
                left: packets,
                until_ns: at_ns + at_most.0,
            });
        }
        held.iter_mut().for_each(|held| held.left -= 1);
        self.pass(at_ns, number, size);
        self.release_held(at_ns, |held| held.left == 0);
    }

    fn give_up_holding(&mut self, now: u64) {
        self.release_held(now, |held| held.until_ns <= now);
    }

    /// Releases the held packets for which `is_over` is true, oldest first.
    fn release_held(&mut self, now: u64, is_over: impl Fn(&HeldBack) -> bool) {
        while let Some(reorder) = &mut self.reorder {
            let Some(at) = reorder.held.iter().position(&is_over) else {
                return;
            };
            let HeldBack { number, size, .. } = reorder.held.remove(at);
            self.pass(now, number, size);
        }
    }

    /// Handles a packet that has arrived, after any reordering.
    fn pass(&mut self, now: u64, number: u32, size: u32) {
        match &mut self.aggregate {
            None => self.out.push_back((now, number)),
            Some(aggregate) => {
                if aggregate.add(now, number, size) {
                    self.release_burst(now);
                }
            }
        }
    }

    fn release_burst(&mut self, now: u64) {
        if let Some(aggregate) = &mut self.aggregate {
            self.out
                .extend(aggregate.burst.drain(..).map(|number| (now, number)));
            (aggregate.bytes, aggregate.due_ns) = (0, NEVER_NS);
        }
    }
}

impl Reorder {
    fn new(spec: ReorderSpec, mut stream: Stream) -> Self {
        Reorder {
            spec,
            gap: stream.geometric(spec.share.get()),
            stream,
            held: vec![],
        }
    }

    /// True if the next packet is held back.
    fn strikes(&mut self) -> bool {
        let strikes = self.gap == 0;
        self.gap = if strikes {
            self.stream.geometric(self.spec.share.get())
        } else {
            self.gap - 1
        };
        strikes
    }
}

impl Aggregate {
    fn new(spec: AggregateSpec, mut stream: Stream) -> Self {
        let phase_ns = stream.below(spec.period.0);
        Aggregate {
            spec,
            phase_ns,
            burst: VecDeque::new(),
            bytes: 0,
            due_ns: NEVER_NS,
        }
    }

    /// Adds a packet. Returns true if the burst has its full size.
    fn add(&mut self, now: u64, number: u32, size: u32) -> bool {
        if self.burst.is_empty() {
            self.due_ns = self.period_end_ns(now);
        }
        self.burst.push_back(number);
        self.bytes += u64::from(size);
        match self.spec.size {
            QueueLimit::Packets(packets) => self.burst.len() >= packets as usize,
            QueueLimit::Bytes(bytes) => self.bytes >= bytes.0,
        }
    }

    /// End of the period that contains `now`; `now` itself if a period ends there.
    fn period_end_ns(&self, now: u64) -> u64 {
        let period_ns = self.spec.period.0;
        now + (period_ns - (now + period_ns - self.phase_ns) % period_ns) % period_ns
    }
}
