//! Links with the packets on them, and the event queue that their heads stand in.

use joulepath_link::{Link, Outcome};
use joulepath_model::network::{ChannelSpec, LinkSpec};
use joulepath_model::result::Counters;
use joulepath_model::units::Nanos;

use crate::channel::SharedChannel;
use crate::event::{EventQueue, MAX_TIME_NS, Source};
use crate::packet::{CE, ECT, Kind, Packet, PacketRing};
use crate::reassembly::SackArena;

/// One link of the network. Only the first packet on it stands in the event queue.
pub(crate) struct Wire {
    pub(crate) link: Link,
    ring: PacketRing,
    /// A device's radio is next to it, and may sleep.
    pub(crate) by_radio: bool,
}

/// Links in the order in which packets cross them.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Route {
    start: u32,
    len: u8,
}

impl Route {
    /// Whether a packet that has crossed `hops` links has arrived.
    #[inline]
    pub(crate) fn is_complete(self, hops: u8) -> bool {
        hops == self.len
    }
}

/// Where the packets of a subflow travel.
#[derive(Clone, Copy, Debug)]
struct Way {
    data: Route,
    acks: Route,
}

/// The network and its clockwork.
pub(crate) struct Network {
    pub(crate) wires: Vec<Wire>,
    pub(crate) channels: Vec<SharedChannel>,
    /// Channel and place of each station. Stations are numbered behind the links.
    pub(crate) stations: Vec<(u32, u32)>,
    routes: Vec<u32>,
    /// Of each subflow, apart from everything else: all that a packet on its way needs.
    ways: Vec<Way>,
    pub(crate) queue: EventQueue,
    pub(crate) sacks: SackArena,
    pub(crate) counters: Counters,
}

impl Network {
    /// The links and channels of a scenario; each draws from the stream of `seed` with its index, and link `i` is event source `i`.
    pub(crate) fn new(links: &[LinkSpec], channels: &[ChannelSpec], seed: u64) -> Self {
        let wire = |(i, spec)| Wire {
            link: Link::new(spec, seed, i as u64),
            ring: PacketRing::new(),
            by_radio: false,
        };
        Network {
            wires: links.iter().enumerate().map(wire).collect(),
            channels: channels.iter().zip(0..).map(|(spec, i)| SharedChannel::new(spec, seed, i)).collect(),
            stations: vec![],
            routes: vec![],
            ways: vec![],
            queue: EventQueue::for_links(links.len()),
            sacks: SackArena::default(),
            counters: Counters::default(),
        }
    }

    pub(crate) fn add_route(&mut self, links: &[usize]) -> Route {
        let start = self.routes.len() as u32;
        self.routes.extend(links.iter().map(|&link| link as u32));
        Route { start, len: u8::try_from(links.len()).expect("a route has at most 255 links") }
    }

    /// The next subflow's routes, of which both start or end at the links of `radio`.
    pub(crate) fn add_way(&mut self, data: Route, acks: Route, radio: (u32, u32)) {
        self.ways.push(Way { data, acks });
        for link in [radio.0, radio.1] {
            if let Some(wire) = self.wires.get_mut(link as usize) {
                wire.by_radio = true;
            }
        }
    }

    /// Where data, or else ACKs, of a subflow travel.
    #[inline]
    pub(crate) fn way(&self, subflow: u32, is_data: bool) -> Route {
        let way = &self.ways[subflow as usize];
        if is_data { way.data } else { way.acks }
    }

    /// The link that a packet which has crossed `hops` links of its route enters next.
    #[inline]
    pub(crate) fn link_at(&self, route: Route, hops: u8) -> u32 {
        self.routes[route.start as usize + hops as usize]
    }

    /// Offers a packet of `size` bytes to a link or a station.
    #[inline(always)]
    pub(crate) fn offer(&mut self, now_ns: u64, link: u32, mut packet: Packet, size: u32) {
        let Some(wire) = self.wires.get_mut(link as usize) else {
            return self.offer_to_station(now_ns, link, packet, size);
        };
        match wire.link.offer(Nanos(now_ns), size, packet.flags & ECT != 0) {
            // A link whose rate stays 0 delivers behind the end of time.
            Outcome::Delivered { at, .. } if at.0 > MAX_TIME_NS => self.discard(packet.kind, packet.aux),
            Outcome::Delivered { at, marked } => {
                packet.arrival_ns = at.0;
                if marked {
                    packet.flags |= CE;
                }
                if wire.ring.is_empty() {
                    self.queue.push(at.0, link);
                }
                wire.ring.push(packet);
            }
            Outcome::QueueDrop => {
                self.counters.queue_drops += 1;
                self.discard(packet.kind, packet.aux);
            }
            Outcome::WireLoss => {
                self.counters.wire_losses += 1;
                self.discard(packet.kind, packet.aux);
            }
        }
    }

    /// Takes the packet that has reached the end of link `link`, the earliest event.
    #[inline]
    pub(crate) fn arrive(&mut self, link: Source) -> Packet {
        let (mut packet, next_ns) = self.wires[link as usize].ring.pop();
        match next_ns {
            Some(next_ns) => self.queue.replace_top(next_ns, link),
            None => self.queue.pop(),
        }
        self.counters.packet_hops += 1;
        packet.hop += 1;
        packet
    }

    /// Takes two words, not the packet: so that a packet never has to leave the registers on its way into the ring.
    #[cold]
    pub(crate) fn discard(&mut self, kind: Kind, aux: u32) {
        if matches!(kind, Kind::Ack | Kind::RelayAck) && aux != 0 {
            self.sacks.take(aux);
        }
    }
}
