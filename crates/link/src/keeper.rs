//! Packets of a link whose fate is unknown when they are offered.

use joulepath_model::network::LinkSpec;
use joulepath_model::random::{Domain, Stream};
use joulepath_model::units::Nanos;

use crate::aqm::Aqm;
use crate::flight::Flight;
use crate::outcome::{Exit, Outcome};
use crate::packets::Packets;
use crate::rate::NEVER_NS;

/// Packets of a link whose fate is unknown when they are offered.
#[derive(Clone, Debug)]
pub(crate) struct Keeper {
    pub(crate) packets: Packets,
    /// The managed queue; none for DropTail.
    pub(crate) front: Option<Front>,
    pub(crate) flight: Flight,
    /// Packets dropped by the queue or lost on the wire that were not reported yet.
    pub(crate) dropped: Vec<u32>,
    pub(crate) lost: Vec<u32>,
}

/// A managed queue, and the time at which the next packet leaves it.
#[derive(Clone, Debug)]
pub(crate) struct Front {
    pub(crate) aqm: Aqm,
    /// Start of the next transmission, ns; [`NEVER_NS`] if the queue is empty.
    pub(crate) start_ns: u64,
    /// Bytes whose transmission has started, modulo 2⁶⁴.
    pub(crate) sent: u64,
}

impl Keeper {
    /// Returns `None` if the fate of every packet is known when it is offered.
    pub(crate) fn new(spec: &LinkSpec, stream: impl Fn(Domain) -> Stream) -> Option<Self> {
        if spec.aqm.is_none() && spec.reorder.is_none() && spec.aggregate.is_none() {
            return None;
        }
        let front = spec.aqm.as_ref().map(|aqm| Front {
            aqm: Aqm::new(aqm, spec.queue, stream(Domain::LinkAqm)),
            start_ns: NEVER_NS,
            sent: 0,
        });
        let reorder = spec
            .reorder
            .map(|reorder| (reorder, stream(Domain::LinkReorder)));
        let aggregate = spec
            .aggregate
            .map(|aggregate| (aggregate, stream(Domain::LinkAggregate)));
        Some(Keeper {
            packets: Packets::new(),
            front,
            flight: Flight::new(reorder, aggregate),
            dropped: vec![],
            lost: vec![],
        })
    }

    /// Start of the next transmission from a managed queue, ns; [`NEVER_NS`] if none is known.
    #[inline(always)]
    pub(crate) fn start_ns(&self) -> u64 {
        self.front.as_ref().map_or(NEVER_NS, |front| front.start_ns)
    }

    /// The next dropped or lost packet.
    #[inline]
    pub(crate) fn known(&mut self) -> Option<Exit> {
        let (number, outcome) = match self.dropped.pop() {
            Some(number) => (number, Outcome::QueueDrop),
            None => (self.lost.pop()?, Outcome::WireLoss),
        };
        self.packets.remove(number);
        Some(Exit { number, outcome })
    }

    /// Takes all packets whose fate is known, if they arrive in the order in which they left the
    /// queue.
    #[inline]
    pub(crate) fn take_all(&mut self, exits: &mut Vec<Exit>) {
        exits.extend(std::iter::from_fn(|| self.known()));
        while let Some((at_ns, number)) = self.flight.next() {
            exits.push(self.delivered(at_ns, number));
        }
    }

    #[inline]
    fn delivered(&mut self, at_ns: u64, number: u32) -> Exit {
        let marked = self.packets.remove(number).marked;
        Exit {
            number,
            outcome: Outcome::Delivered {
                at: Nanos(at_ns),
                marked,
            },
        }
    }

    /// The next packet that has arrived by `now`; with `AHEAD`, also later, if its arrival is
    /// certain.
    pub(crate) fn take_out<const AHEAD: bool>(&mut self, now: u64) -> Option<Exit> {
        let (at_ns, number) = if AHEAD {
            self.flight.take_ahead(now)
        } else {
            self.flight.take(now)
        }?;
        Some(self.delivered(at_ns, number))
    }
}
