//! Links with the packets on them, the hosts at the ends of the routes, the routes over the links, and the
//! event queue.

use joulepath_link::{Link, Outcome};
use joulepath_model::network::{ChannelSpec, LinkSpec};
use joulepath_model::result::Counters;
use joulepath_model::units::Nanos;

use crate::channel::SharedChannel;
use crate::event::{EventQueue, MAX_TIME_NS, Source};
use crate::held::{Held, HeldPackets};
use crate::host::{End, Hosts};
use crate::packet::{CE, ECT, Kind, Packet};
use crate::ring::PacketRing;
use crate::sack::SackArena;
use crate::tally::Tallies;

/// One link of the network. Only the first packet on it is in the event queue.
pub(crate) struct Wire {
    pub(crate) link: Link,
    ring: PacketRing,
    /// Packets that have an event although they are not the first one any more, ns, the last one first: a
    /// later packet overtook them, because its host is faster.
    later_ns: Vec<u64>,
}

/// What a packet enters next on its route. A link has the end of the subflow to which it leads, if there is
/// no hop after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hop {
    /// The link of this number.
    Link { link: u32, end: Option<End> },
    /// The link of this number, at one end of which is the radio of the subflow's device: the radio may
    /// sleep.
    Radio { link: u32, end: Option<End> },
    /// The station of this number.
    Station(u32),
}

impl Hop {
    /// A link with hops after it. [`Network::add_route`] knows better of the last one.
    pub(crate) fn over(link: usize) -> Self {
        Hop::Link { link: link as u32, end: None }
    }

    /// Its link, if it is one.
    pub(crate) fn link(self) -> Option<usize> {
        match self {
            Hop::Link { link, .. } | Hop::Radio { link, .. } => Some(link as usize),
            Hop::Station(_) => None,
        }
    }
}

/// Routes are read for every packet at every hop, so a hop is one word.
const _: () = assert!(size_of::<Hop>() == 8);

/// Hops in the order in which packets pass them. They are a part of [`Network`]'s list of hops.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Route {
    start: u32,
    len: u8,
}

impl Route {
    /// Whether a packet that has passed `hops` hops has arrived.
    #[inline]
    pub(crate) fn is_complete(self, hops: u8) -> bool {
        hops == self.len
    }
}

/// The routes of a subflow.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Routes {
    pub(crate) data: Route,
    pub(crate) acks: Route,
}

/// A station of a shared channel.
#[derive(Clone, Copy, Debug)]
struct Station {
    channel: u32,
    /// Its number on the channel.
    place: u32,
}

/// The links and channels, the packets on them, and the event queue.
pub(crate) struct Network {
    pub(crate) wires: Vec<Wire>,
    pub(crate) channels: Vec<SharedChannel>,
    /// What the links that keep packets keep, in the order of the links.
    pub(crate) held: Vec<HeldPackets>,
    stations: Vec<Station>,
    /// The hops of all routes.
    hops: Vec<Hop>,
    /// The routes of each subflow. They are apart from the rest of a subflow because a packet on its way
    /// needs nothing else.
    routes: Vec<Routes>,
    pub(crate) hosts: Hosts,
    pub(crate) queue: EventQueue,
    pub(crate) sacks: SackArena,
    pub(crate) counters: Counters,
    /// What each link did, if the run was asked for that.
    pub(crate) tallies: Tallies,
}

/// The key of a packet's flow for links that have a queue per flow: its subflow, or its source of cross
/// traffic.
#[inline]
fn flow_of(packet: &Packet) -> u64 {
    u64::from(packet.subflow()) | u64::from(packet.kind == Kind::Cross) << 32
}

impl Network {
    /// The links and channels of a scenario. Each of them draws from the stream of `seed` that has its index,
    /// and link `i` is event source `i`.
    pub(crate) fn new(links: &[LinkSpec], channels: &[ChannelSpec], seed: u64) -> Self {
        let wire = |(i, spec)| Wire {
            link: Link::new(spec, seed, i as u64),
            ring: PacketRing::new(),
            later_ns: vec![],
        };
        let wires: Vec<Wire> = links.iter().enumerate().map(wire).collect();
        let keeps = |(wire, _): &(&Wire, u32)| wire.link.keeps_packets();
        Network {
            held: wires.iter().zip(0..).filter(keeps).map(|(_, link)| HeldPackets::new(link)).collect(),
            wires,
            channels: channels.iter().zip(0..).map(|(spec, i)| SharedChannel::new(spec, seed, i)).collect(),
            stations: vec![],
            hops: vec![],
            routes: vec![],
            hosts: Hosts::default(),
            queue: EventQueue::for_links(links.len()),
            sacks: SackArena::default(),
            counters: Counters::default(),
            tallies: Tallies::default(),
        }
    }

    /// Adds a route to one end of a subflow.
    pub(crate) fn add_route(&mut self, hops: &[Hop], end: End) -> Route {
        let start = self.hops.len() as u32;
        self.hops.extend(hops);
        if let Some(Hop::Link { end: of_last, .. } | Hop::Radio { end: of_last, .. }) =
            self.hops[start as usize..].last_mut()
        {
            *of_last = Some(end);
        }
        Route { start, len: u8::try_from(hops.len()).expect("a route has at most 255 hops") }
    }

    /// Adds the routes of the next subflow.
    pub(crate) fn add_subflow(&mut self, routes: Routes) {
        self.routes.push(routes);
    }

    /// The links of a route.
    pub(crate) fn links(&self, route: Route) -> impl Iterator<Item = usize> + '_ {
        let hops = &self.hops[route.start as usize..][..route.len.into()];
        hops.iter().filter_map(|hop| hop.link())
    }

    /// The routes of a subflow.
    #[inline]
    pub(crate) fn routes(&self, subflow: u32) -> &Routes {
        &self.routes[subflow as usize]
    }

    /// The hop that a packet enters after it has passed `hops` hops of its route.
    #[inline]
    pub(crate) fn hop(&self, route: Route, hops: u8) -> Hop {
        self.hops[route.start as usize + hops as usize]
    }

    /// Offers a packet of `size` bytes to a link or a station.
    #[inline(always)]
    pub(crate) fn offer(&mut self, now_ns: u64, hop: Hop, packet: Packet, size: u32) {
        let (link, end) = match hop {
            Hop::Link { link, end } | Hop::Radio { link, end } => (link, end),
            Hop::Station(station) => return self.offer_to_station(now_ns, station, packet, size),
        };
        let link_model = &mut self.wires[link as usize].link;
        let outcome = link_model.offer_of(flow_of(&packet), Nanos(now_ns), size, packet.flags & ECT != 0);
        self.tallies.count(link, &outcome);
        self.settle(now_ns, link, packet, end, outcome);
    }

    /// Does to a packet what its link has decided.
    #[inline(always)]
    fn settle(&mut self, now_ns: u64, link: u32, mut packet: Packet, end: Option<End>, outcome: Outcome) {
        let wire = &mut self.wires[link as usize];
        match outcome {
            // A link whose rate stays 0 would deliver the packet after the end of time.
            Outcome::Delivered { at, .. } if at.0 > MAX_TIME_NS => self.discard(packet.kind, packet.aux),
            Outcome::Delivered { at, marked } => {
                packet.arrival_ns = end
                    .map_or(at.0, |end| self.hosts.done_with(at.0, packet.subflow(), end))
                    .min(MAX_TIME_NS);
                if marked {
                    packet.flags |= CE;
                }
                if wire.ring.is_empty() {
                    self.queue.push(packet.arrival_ns, link);
                }
                if let Some(first_ns) = wire.ring.insert(packet) {
                    wire.later_ns.push(first_ns);
                    self.queue.push(packet.arrival_ns, link);
                }
            }
            Outcome::QueueDrop => {
                self.counters.queue_drops += 1;
                self.discard(packet.kind, packet.aux);
            }
            Outcome::WireLoss => {
                self.counters.wire_losses += 1;
                self.discard(packet.kind, packet.aux);
            }
            Outcome::Held(number) => self.hold(now_ns, link, number, Held { packet, end }),
        }
    }

    /// Keeps a packet whose fate its link does not know yet.
    #[cold]
    fn hold(&mut self, now_ns: u64, link: u32, number: u32, packet: Held) {
        let at = self.held.binary_search_by_key(&link, |held| held.link);
        let held = &mut self.held[at.expect("a link that keeps packets has a place for them")];
        held.keep(number, packet);
        held.ask(&self.wires[link as usize].link, now_ns, &mut self.queue);
    }

    /// Settles the packets that a link has kept and whose fate is known by `now_ns`. `at` counts the links
    /// that keep packets.
    pub(crate) fn release(&mut self, at: usize, now_ns: u64) {
        loop {
            let held = &mut self.held[at];
            let number = held.link;
            let link = &mut self.wires[number as usize].link;
            let Some((Held { packet, end }, outcome)) = held.release(link, now_ns) else {
                return held.ask(link, now_ns, &mut self.queue);
            };
            self.tallies.settle(number, &outcome);
            self.settle(now_ns, number, packet, end, outcome);
        }
    }

    /// Takes the packet that has reached the end of link `link`, the earliest event.
    #[inline]
    pub(crate) fn arrive(&mut self, link: Source) -> Packet {
        let wire = &mut self.wires[link as usize];
        let (mut packet, next_ns) = wire.ring.pop();
        match next_ns {
            Some(next_ns) if wire.later_ns.last() != Some(&next_ns) => self.queue.replace_top(next_ns, link),
            // There is none, or it has its event.
            _ => {
                wire.later_ns.pop();
                self.queue.pop();
            }
        }
        self.counters.packet_hops += 1;
        packet.hop += 1;
        packet
    }

    /// Counts a lost packet and frees its SACK blocks. The arguments are two words in place of the packet, so
    /// that a packet stays in registers on its way into the ring.
    #[cold]
    pub(crate) fn discard(&mut self, kind: Kind, aux: u32) {
        if matches!(kind, Kind::Ack | Kind::RelayAck) && aux != 0 {
            self.sacks.take(aux);
        }
    }

    /// Adds the present lengths of all queues to what is told of the links.
    pub(crate) fn look_at_queues(&mut self, now: Nanos) {
        self.tallies.look(self.wires.iter().map(|wire| wire.link.queue_packets(now)));
    }

    /// Adds a station to a channel.
    pub(crate) fn add_station(&mut self, channel: usize) -> Hop {
        let place = self.channels[channel].add_station();
        self.stations.push(Station { channel: channel as u32, place: place as u32 });
        Hop::Station(self.stations.len() as u32 - 1)
    }

    /// The channel of a station, and the station's number there.
    fn place(&self, station: u32) -> (usize, usize) {
        let Station { channel, place } = self.stations[station as usize];
        (channel as usize, place as usize)
    }

    /// Whether `hop` takes one more packet. A station holds a limited number; a link takes all and drops what
    /// does not fit.
    pub(crate) fn has_room(&self, hop: Hop) -> bool {
        let Hop::Station(station) = hop else { return true };
        let (channel, place) = self.place(station);
        self.channels[channel].has_room(place)
    }

    #[cold]
    fn offer_to_station(&mut self, now_ns: u64, station: u32, packet: Packet, size: u32) {
        let (channel, place) = self.place(station);
        if !self.channels[channel].offer(now_ns, place, packet, size, &mut self.queue) {
            self.counters.queue_drops += 1;
            self.discard(packet.kind, packet.aux);
        }
    }

    /// Ends the transmission on a channel. Returns the packet that has arrived, and those that were given up.
    pub(crate) fn end_transmission(&mut self, channel: usize) -> (Option<Packet>, Vec<Packet>) {
        let (mut arrived, lost) = self.channels[channel].end_transmission(&mut self.queue);
        self.counters.wire_losses += lost.len() as u64;
        if let Some(packet) = &mut arrived {
            self.counters.packet_hops += 1;
            packet.hop += 1;
        }
        (arrived, lost)
    }
}
