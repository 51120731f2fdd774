//! Links with the packets on them, the hosts at the ends of the routes, and the event queue.

#[cfg(test)]
use std::sync::Arc;

use joulepath_link::{Exit, Link, Outcome};
use joulepath_model::network::{ChannelSpec, LinkSpec, RateSpec};
use joulepath_model::units::Nanos;

use crate::event::{Due, EventQueue, MAX_TIME_NS, Source, Traffic};
use crate::parallel::border::Border;
use crate::parallel::shared::Shared;
use crate::path::channel::SharedChannel;
use crate::path::counts::Counts;
use crate::path::held::{Held, HeldPackets};
use crate::path::hop::Hop;
use crate::path::host::{End, Hosts};
use crate::path::log::{Entry, PacketLog};
use crate::path::packet::{ARRIVES, Back, CE, ECT, Front, Kind, Packet};
use crate::path::ring::PacketRing;
use crate::path::routes::{Route, RouteTable};
use crate::path::sack::SackArena;
use crate::path::tally::Tallies;
use crate::prefetch::hint::{prefetch, prefetch_lines};

/// One link of the network, two cache lines. Only the first packet on it is in the event queue.
#[repr(C, align(64))]
pub(crate) struct Wire {
    ring: PacketRing,
    pub(crate) link: Link,
}

#[cfg(not(debug_assertions))]
const _: () = assert!(size_of::<Wire>() == 2 * size_of::<[u64; 8]>());

/// A wire has two halves: the link belongs to the part of the network where packets enter, the
/// packets on the wire to the part where they arrive.
impl Shared<Wire> {
    /// The link of a wire.
    #[inline(always)]
    fn link(&mut self, wire: u32) -> &mut Link {
        self.check_half(wire as usize, 0);
        // SAFETY: this half belongs to the part that offers packets to the link, and only that part
        // calls this.
        unsafe { &mut (*self.place(wire as usize).as_ptr()).link }
    }

    /// The link of a wire, to read.
    #[inline(always)]
    fn link_at(&self, wire: u32) -> &Link {
        self.check_half(wire as usize, 0);
        // SAFETY: as above.
        unsafe { &(*self.place(wire as usize).as_ptr()).link }
    }

    /// The packets on a wire.
    #[inline(always)]
    fn ring(&self, wire: u32) -> &PacketRing {
        self.check_half(wire as usize, 1);
        // SAFETY: this half belongs to the part where the packets arrive, and only that part calls
        // this.
        unsafe { &(*self.place(wire as usize).as_ptr()).ring }
    }

    /// The packets on a wire, to change.
    #[inline(always)]
    fn packets(&mut self, wire: u32) -> &mut PacketRing {
        self.check_half(wire as usize, 1);
        // SAFETY: as above.
        unsafe { &mut (*self.place(wire as usize).as_ptr()).ring }
    }
}

/// A station of a shared channel.
#[derive(Clone, Copy, Debug)]
struct Station {
    channel: u32,
    /// Its index on the channel.
    place: u32,
}

/// The links and channels, the packets on them, and the event queue.
pub(crate) struct Network {
    pub(crate) wires: Shared<Wire>,
    pub(crate) channels: Vec<SharedChannel>,
    /// The packets held by links, in the order of the links; only for links that hold packets.
    pub(crate) held: Vec<HeldPackets>,
    /// Empty between calls of [`Self::release`].
    exits: Vec<Exit>,
    stations: Vec<Station>,
    pub(crate) routes: RouteTable,
    pub(crate) hosts: Hosts,
    pub(crate) queue: EventQueue,
    pub(crate) sacks: SackArena,
    pub(crate) counts: Counts,
    /// Counters of each link, if the options ask for them.
    pub(crate) tallies: Tallies,
    /// The log of packets, for traces.
    pub(crate) log: Option<Box<PacketLog>>,
    /// Exchange with the other parts of the network, if it has parts.
    pub(crate) border: Option<Box<Border>>,
}

/// The flow of a packet for links with a queue per flow: its subflow, or its source of cross
/// traffic.
#[inline]
fn flow_of(packet: &Packet) -> u64 {
    u64::from(packet.subflow()) | u64::from(packet.kind() == Kind::Cross) << 32
}

/// Rate of a link in packets of 1500 bytes; 0 if the rate is not known in advance.
fn packets_per_s(spec: &LinkSpec) -> f64 {
    const PACKET_BITS: f64 = 8.0 * 1500.0;
    match spec.rate {
        RateSpec::Constant(rate) | RateSpec::LogNormal { mean: rate, .. } => {
            rate.bps() as f64 / PACKET_BITS
        }
        RateSpec::Unlimited | RateSpec::Steps(_) | RateSpec::Trace(_) => 0.0,
    }
}

/// Rate and delay of these links for [`EventQueue::for_links`].
fn traffic(links: &[LinkSpec]) -> Traffic {
    let packet_ns = |rate: f64| if rate > 0.0 { 1e9 / rate } else { 0.0 };
    let reach_ns = |spec: &LinkSpec| spec.delay.0 as f64 + packet_ns(packets_per_s(spec));
    Traffic {
        packets_per_s: links.iter().map(packets_per_s).sum(),
        reach_ns: links.iter().map(reach_ns).sum::<f64>() / links.len() as f64,
    }
}

/// Whether a packet on its last hop is handled by both ends of its connection.
#[inline(always)]
fn concerns_both_ends(packet: &Packet) -> bool {
    packet.arrives() && !matches!(packet.kind(), Kind::Data | Kind::Ack)
}

/// Announces to the other parts the arrival of a packet that both ends of a connection handle.
#[cold]
fn announce(border: &mut Option<Box<Border>>, arrival_ns: u64) {
    if let Some(border) = border {
        border.announce(arrival_ns);
    }
}

/// Puts a packet on a wire. Each wire has one event, for its first packet. A packet that overtakes
/// the first, because its host is faster, gets another event.
#[inline(always)]
fn enter(link: u32, packet: &Packet, ring: &mut PacketRing, queue: &mut EventQueue) {
    if ring.insert(packet) {
        queue.push(packet.arrival_ns, link);
    }
}

/// Sets the arrival of a packet that leaves the link at `at_ns`, including the host's processing
/// time.
#[inline(always)]
fn deliver(packet: &mut Packet, hop: Hop, at_ns: u64, hosts: &mut Hosts) {
    packet.arrival_ns = at_ns;
    if hop.is_last() {
        packet.arrival_ns = hosts.done_with(at_ns, packet.subflow(), hop.end());
        packet.mark(ARRIVES);
    }
}

/// [`deliver`] for a delivery that [`Tallies::ignore_delivery`] ignores.
#[inline(always)]
fn deliver_uncounted(
    packet: &mut Packet,
    hop: Hop,
    at_ns: u64,
    hosts: &mut Hosts,
    border: &mut Option<Box<Border>>,
) {
    deliver(packet, hop, at_ns, hosts);
    debug_assert!(packet.arrival_ns <= MAX_TIME_NS);
    if concerns_both_ends(packet) {
        announce(border, packet.arrival_ns);
    }
}

impl Network {
    /// The links and channels of a scenario. Each uses the random stream of `seed` with its own
    /// index; link `i` is event source `i`.
    pub(crate) fn new(links: &[LinkSpec], channels: &[ChannelSpec], seed: u64) -> Self {
        let wire = |(i, spec)| Wire {
            link: Link::new(spec, seed, i as u64),
            ring: PacketRing::new(),
        };
        let wires: Vec<Wire> = links.iter().enumerate().map(wire).collect();
        let keeps = |(wire, _): &(&Wire, u32)| wire.link.keeps_packets();
        Network {
            held: wires
                .iter()
                .zip(0..)
                .filter(keeps)
                .map(|(_, link)| HeldPackets::new(link))
                .collect(),
            exits: vec![],
            wires: wires.into(),
            channels: channels
                .iter()
                .zip(0..)
                .map(|(spec, i)| SharedChannel::new(spec, seed, i))
                .collect(),
            stations: vec![],
            routes: RouteTable::default(),
            hosts: Hosts::default(),
            queue: EventQueue::for_links(links.len(), traffic(links)),
            sacks: SackArena::default(),
            counts: Counts::default(),
            tallies: Tallies::none(),
            log: None,
            border: None,
        }
    }

    /// A view of the network for one of its parts, with its own event queue and counters.
    ///
    /// # Safety
    /// See [`Shared::view`], for all lists.
    pub(crate) unsafe fn part(&self, border: Border) -> Self {
        // SAFETY: the caller guarantees it.
        unsafe {
            Network {
                wires: self.wires.view(),
                channels: vec![],
                held: vec![],
                exits: vec![],
                stations: vec![],
                routes: self.routes.view(),
                hosts: self.hosts.view(),
                queue: self.queue.empty_like(),
                sacks: SackArena::default(),
                counts: Counts::default(),
                tallies: Tallies::none(),
                log: None,
                border: Some(Box::new(border)),
            }
        }
    }

    /// Makes views of the wires check which part uses them.
    #[cfg(test)]
    pub(crate) fn check_owners(&mut self, part: u8, tails: Arc<[u8]>, heads: Arc<[u8]>) {
        use crate::parallel::shared::Owners;
        let of = [tails, heads];
        self.wires = std::mem::take(&mut self.wires).checked(Owners { part, of });
    }

    /// Adds a route to one end of a subflow.
    pub(crate) fn add_route(&mut self, hops: &[Hop], end: End) -> Route {
        let crosses = |hop: Hop| {
            let border = self.border.as_deref();
            border.is_some_and(|border| hop.link().is_some_and(|link| border.is_crossed_by(link)))
        };
        let last = hops.len().saturating_sub(1);
        let known = hops.iter().enumerate().map(|(i, &hop)| {
            let hop = if i == last { hop.leading_to(end) } else { hop };
            let hop = self.as_modelled(hop);
            if crosses(hop) { hop.crossing() } else { hop }
        });
        let known: Vec<Hop> = known.collect();
        self.routes.add(&known)
    }

    /// A hop over a link that belongs to no route.
    pub(crate) fn hop_over(&self, link: usize) -> Hop {
        self.as_modelled(Hop::over(link))
    }

    /// The same hop, marked as modelled if its link is not plain.
    fn as_modelled(&self, hop: Hop) -> Hop {
        let is_modelled = hop
            .link()
            .is_some_and(|link| !self.wires[link].link.is_plain());
        if is_modelled { hop.modelled() } else { hop }
    }

    /// Offers a packet of `size` bytes to a link or a station.
    #[inline(always)]
    pub(crate) fn offer(&mut self, now_ns: u64, hop: Hop, packet: &mut Packet, size: u32) {
        let link = hop.number();
        if !hop.is_plain() {
            return self.offer_beyond(now_ns, hop, packet.apart(), size);
        }
        let wire = &mut self.wires[link as usize];
        debug_assert!(wire.link.is_plain());
        // Rare cases go out of line, as words, so that the packet stays in registers.
        match wire
            .link
            .offer_to_plain(Nanos(now_ns), size, packet.flags() & ECT != 0)
        {
            Outcome::Delivered { at, marked: false } if self.tallies.ignore_delivery(at.0) => {
                deliver_uncounted(packet, hop, at.0, &mut self.hosts, &mut self.border);
                enter(link, packet, &mut wire.ring, &mut self.queue);
            }
            Outcome::Delivered { at, marked } => {
                self.note_delivery(now_ns, hop, packet.apart(), at, marked);
            }
            Outcome::QueueDrop => self.note_rare(now_ns, hop, packet.apart(), Outcome::QueueDrop),
            Outcome::WireLoss => self.note_rare(now_ns, hop, packet.apart(), Outcome::WireLoss),
            Outcome::Held(_) => unreachable!("a plain link holds no packet"),
        }
    }

    /// Puts a packet on the wire of a link whose far end is in this part, for a delivery that is
    /// not counted.
    #[inline(always)]
    fn pass_over(&mut self, at_ns: u64, hop: Hop, (front, back): (Front, Back)) {
        let mut packet = Packet::joined(front, back);
        deliver_uncounted(&mut packet, hop, at_ns, &mut self.hosts, &mut self.border);
        enter(
            hop.number(),
            &packet,
            self.wires.packets(hop.number()),
            &mut self.queue,
        );
    }

    /// [`Self::offer`] for a station, for a link to another part of the network, and for a link
    /// that is not plain.
    #[inline(never)]
    fn offer_beyond(&mut self, now_ns: u64, hop: Hop, (front, back): (Front, Back), size: u32) {
        let packet = Packet::joined(front, back);
        let link = hop.number();
        if hop.is_station() {
            return self.offer_to_station(now_ns, link, packet, size);
        }
        let link_model = self.wires.link(link);
        let outcome = link_model.offer_of(flow_of(&packet), Nanos(now_ns), size, packet.ecn());
        match outcome {
            Outcome::Delivered { at, marked: false }
                if self.tallies.ignore_delivery(at.0) && !hop.is_crossing() =>
            {
                self.pass_over(at.0, hop, (front, back));
            }
            _ => self.note_and_settle(now_ns, hop, (front, back), outcome),
        }
    }

    /// [`Self::note_and_settle`] for rare outcomes of a plain link.
    #[cold]
    #[inline(never)]
    fn note_rare(&mut self, now_ns: u64, hop: Hop, parts: (Front, Back), outcome: Outcome) {
        self.note_and_settle(now_ns, hop, parts, outcome);
    }

    /// [`Self::note_and_settle`] for a delivery that is marked or counted.
    #[cold]
    #[inline(never)]
    fn note_delivery(
        &mut self,
        now_ns: u64,
        hop: Hop,
        parts: (Front, Back),
        at: Nanos,
        marked: bool,
    ) {
        let outcome = Outcome::Delivered { at, marked };
        self.note_and_settle(now_ns, hop, parts, outcome);
    }

    /// Counts a link's decision about an offered packet and applies it.
    #[inline(never)]
    fn note_and_settle(&mut self, now_ns: u64, hop: Hop, parts: (Front, Back), outcome: Outcome) {
        self.tallies.count(hop.number(), &outcome);
        let entry = self.log.as_mut().and_then(|log| {
            let link = self.wires.link_at(hop.number());
            log.offered(
                now_ns,
                hop.number(),
                link,
                &Packet::joined(parts.0, parts.1),
                &self.sacks,
                outcome,
            )
        });
        self.settle(now_ns, hop, parts, outcome, entry);
    }

    /// Applies a link's decision to a packet with this entry in the log.
    #[inline(never)]
    fn settle(
        &mut self,
        now_ns: u64,
        hop: Hop,
        (front, back): (Front, Back),
        outcome: Outcome,
        entry: Option<Entry>,
    ) {
        let mut packet = Packet::joined(front, back);
        match outcome {
            // A link whose rate stays 0 would deliver the packet after `MAX_TIME_NS`.
            Outcome::Delivered { at, .. } if at.0 > MAX_TIME_NS => {
                self.discard(packet.kind(), packet.aux())
            }
            Outcome::Delivered { at, marked } => {
                deliver(&mut packet, hop, at.0, &mut self.hosts);
                if marked {
                    packet.mark(CE);
                }
                packet.arrival_ns = packet.arrival_ns.min(MAX_TIME_NS);
                if concerns_both_ends(&packet) {
                    announce(&mut self.border, packet.arrival_ns);
                }
                if hop.is_crossing() {
                    return self.hand_over(hop.number(), packet);
                }
                self.enter(hop.number(), packet);
            }
            Outcome::QueueDrop => {
                self.counts.queue_drop();
                self.discard(packet.kind(), packet.aux());
            }
            Outcome::WireLoss => {
                self.counts.wire_losses(1);
                self.discard(packet.kind(), packet.aux());
            }
            Outcome::Held(number) => {
                self.hold(now_ns, hop.number(), number, Held { packet, hop, entry })
            }
        }
    }

    /// Puts a packet on a wire whose far end is in this part.
    #[inline(always)]
    pub(crate) fn enter(&mut self, link: u32, packet: Packet) {
        enter(link, &packet, self.wires.packets(link), &mut self.queue);
    }

    /// Hands a packet to the part of the network where it will arrive.
    #[inline(never)]
    fn hand_over(&mut self, link: u32, packet: Packet) {
        let border = self
            .border
            .as_mut()
            .expect("a network with crossing links has a border");
        let has_blocks = packet.kind() == Kind::Ack && packet.aux() != 0;
        border.hand_over(
            link,
            packet,
            has_blocks.then(|| *self.sacks.take(packet.aux())),
        );
    }

    /// Holds a packet whose fate its link may not know yet.
    fn hold(&mut self, now_ns: u64, link: u32, number: u32, packet: Held) {
        let at = self.held.binary_search_by_key(&link, |held| held.link);
        let at = at.expect("a link that holds packets has an entry in `held`");
        self.held[at].keep(number, packet);
        self.release(at, now_ns);
    }

    /// Settles the packets of link `at`, among the links that hold packets, whose fate is certain
    /// at `now_ns`.
    pub(crate) fn release(&mut self, at: usize, now_ns: u64) {
        let held = &mut self.held[at];
        let number = held.link;
        let mut exits = std::mem::take(&mut self.exits);
        held.ask(self.wires.link(number), now_ns, &mut exits, &mut self.queue);
        for exit in exits.drain(..) {
            let &Held { packet, hop, entry } = self.held[at].packet(exit.number);
            if let (Some(log), Some(entry)) = (&mut self.log, entry) {
                log.released(now_ns, entry, self.wires.link_at(number), exit.outcome);
            }
            match exit.outcome {
                Outcome::Delivered { at, marked: false } if self.tallies.ignore_delivery(at.0) => {
                    self.pass_over(at.0, hop, packet.apart());
                }
                outcome => {
                    self.tallies.settle(number, &outcome);
                    self.settle(now_ns, hop, packet.apart(), outcome, None);
                }
            }
        }
        self.exits = exits;
    }

    /// Begins a log of at most `most` packets on these links.
    pub(crate) fn begin_log(&mut self, links: &[usize], most: usize) {
        self.tallies.notice_all();
        self.log = Some(Box::new(PacketLog::new(self.wires.len(), links, most)));
    }

    /// Prefetches the wire of the event `after` places after the first.
    #[inline(always)]
    pub(crate) fn prefetch_wire(&self, due: Due<'_>, after: usize) {
        prefetch_lines(self.wires.address(due.source(after) as usize), 1);
    }

    /// The packet of the event `after` places after the first.
    #[inline(always)]
    pub(crate) fn first_of(&self, due: Due<'_>, after: usize) -> Option<&Packet> {
        let source = due.source(after);
        ((source as usize) < self.wires.len()).then(|| self.wires.ring(source).first())
    }

    /// The first packet on a wire.
    pub(crate) fn first_on(&self, link: Source) -> &Packet {
        self.wires.ring(link).first()
    }

    /// The packet `places` after the first on a wire, for prefetching: it may be stale.
    #[inline(always)]
    pub(crate) fn after_first_on(&self, link: Source, places: u32) -> &Packet {
        self.wires.ring(link).after_first(places)
    }

    /// Address of a link, for prefetching.
    #[inline(always)]
    pub(crate) fn address_of_link(&self, hop: Hop) -> *const Wire {
        self.wires.address(hop.number() as usize)
    }

    /// Prefetches what a link reads when its next packet, of `subflow`, arrives.
    #[inline(always)]
    pub(crate) fn prefetch_reads(&self, hop: Hop, subflow: u32) {
        let link = hop.number();
        if link as usize >= self.wires.len() {
            return;
        }
        if hop.is_last() {
            self.hosts.prefetch(subflow, hop.end());
        }
        prefetch(self.wires.link_at(link).next_place());
    }

    /// Whether a source is a link. Then its number is the link's.
    #[inline(always)]
    pub(crate) fn is_link(&self, source: Source) -> bool {
        (source as usize) < self.wires.len()
    }

    /// Takes the packet that has reached the end of link `link`, which is the earliest event.
    /// `QUEUE` is the expected kind of the queue.
    #[inline(always)]
    pub(crate) fn arrive<const QUEUE: u8>(&mut self, link: Source) -> Packet {
        let (packet, next_ns) = self.wires.packets(link).pop();
        match next_ns {
            Some(next_ns) => self.queue.replace_top_of::<QUEUE>(next_ns, link),
            // No packet follows, or the next one has an event.
            None => self.queue.pop(),
        }
        packet
    }

    /// Frees the SACK blocks of a lost packet. It takes two words instead of the packet, so that
    /// the packet stays in registers on its way into the ring.
    #[cold]
    pub(crate) fn discard(&mut self, kind: Kind, aux: u32) {
        if matches!(kind, Kind::Ack | Kind::RelayAck) && aux != 0 {
            self.sacks.take(aux);
        }
    }

    /// Settles all held packets whose fate is certain at `now_ns`.
    pub(crate) fn release_all(&mut self, now_ns: u64) {
        (0..self.held.len()).for_each(|at| self.release(at, now_ns));
    }

    /// When a link has sent all that it has accepted, ns.
    #[inline(always)]
    pub(crate) fn busy_until_ns(&self, link: u32, now_ns: u64) -> u64 {
        self.wires.link_at(link).busy_until(Nanos(now_ns)).0
    }

    /// Time that the present rate of a link takes for a byte, ns.
    pub(crate) fn ns_per_byte(&self, link: usize) -> f64 {
        const BYTES: u64 = 1_000_000;
        self.wires[link].link.air(BYTES).0 as f64 / BYTES as f64
    }

    /// The link, after it has transmitted all packets that are due before `now_ns`.
    pub(crate) fn link_before(&mut self, link: usize, now_ns: u64) -> &mut Link {
        let link = &mut self.wires[link].link;
        link.catch_up(Nanos(now_ns.saturating_sub(1)));
        link
    }

    /// Adds a sample of all queue lengths to the links' counters.
    pub(crate) fn look_at_queues(&mut self, now: Nanos) {
        self.release_all(now.0);
        self.tallies
            .look(self.wires.iter().map(|wire| wire.link.queue_packets(now)));
    }

    /// Adds a station to a channel.
    pub(crate) fn add_station(&mut self, channel: usize) -> Hop {
        let place = self.channels[channel].add_station();
        self.stations.push(Station {
            channel: channel as u32,
            place: place as u32,
        });
        Hop::station(self.stations.len() - 1)
    }

    /// The channel of a station, and the station's index there.
    fn place(&self, station: u32) -> (usize, usize) {
        let Station { channel, place } = self.stations[station as usize];
        (channel as usize, place as usize)
    }

    /// Whether `hop` takes one more packet. A station's queue is limited; a link takes all packets
    /// and drops the excess itself.
    pub(crate) fn has_room(&self, hop: Hop) -> bool {
        if !hop.is_station() {
            return true;
        }
        let (channel, place) = self.place(hop.number());
        self.channels[channel].has_room(place)
    }

    #[cold]
    fn offer_to_station(&mut self, now_ns: u64, station: u32, packet: Packet, size: u32) {
        let (channel, place) = self.place(station);
        if !self.channels[channel].offer(now_ns, place, packet, size, &mut self.queue) {
            self.counts.queue_drop();
            self.discard(packet.kind(), packet.aux());
        }
    }

    /// Ends the transmission on a channel. Returns the packet that arrived and the packets whose
    /// retries ran out.
    pub(crate) fn end_transmission(&mut self, channel: usize) -> (Option<Packet>, Vec<Packet>) {
        let (arrived, lost) = self.channels[channel].end_transmission(&mut self.queue);
        self.counts.wire_losses(lost.len() as u64);
        self.counts.channel_hops(arrived.is_some().into());
        (arrived, lost)
    }
}
