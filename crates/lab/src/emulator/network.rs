//! A scenario's links with real packets. This module reads no clock and does no I/O: time is an
//! argument.
//!
//! ```text
//!   enter(now, tunnel, direction) ─► link ─► link ─► … ─► Arrival { due, bytes }
//!                                    ▲
//!                    cross traffic ──┘   (phantoms: a size, no bytes)
//! ```
//!
//! A packet crosses the links of its tunnel one after the other. It enters each link when the
//! previous link delivers it, not when the caller calls, so lateness does not accumulate along a
//! route.

use std::collections::VecDeque;

use joulepath_link::cross::CrossSource;
use joulepath_link::{Ecn, Exit, Link, Outcome};
use joulepath_model::energy::Traffic;
use joulepath_model::energy::meter::EnergyReading;
use joulepath_model::scenario::{LinkIndex, Scenario};
use joulepath_model::units::Nanos;

use super::device::Device;
use super::messages::{Backlog, End, Flow, Served};
use super::packet::{self, Headers};
use super::services::Services;

/// Time of an event that never happens.
const NEVER: u64 = u64::MAX;

/// Bit that only the flow keys of cross traffic have.
const CROSS_FLOWS: u64 = 1 << 63;

/// The links of one tunnel.
#[derive(Clone, Debug)]
pub(super) struct Route {
    /// Links by direction (down, up), in the order in which packets cross them.
    pub(super) links: [Vec<LinkIndex>; 2],
    /// The link next to the device in each direction, and the device's interface of these links.
    pub(super) radio: Option<([LinkIndex; 2], usize)>,
}

/// A packet on a link.
#[derive(Debug)]
struct Packet {
    tunnel: usize,
    direction: Traffic,
    /// Number of links already crossed.
    hops: usize,
    /// Size on the wire in bytes, as in the simulator.
    size: u32,
    payload: u32,
    ecn: Ecn,
    /// Key of its flow, for links with a queue per flow.
    flow: u64,
    /// Index of its service; 0 if they are not counted.
    service: usize,
    entered_ns: u64,
    bytes: Vec<u8>,
}

/// A packet that has arrived at its end.
#[derive(Debug)]
pub(super) struct Arrival {
    pub(super) tunnel: usize,
    pub(super) direction: Traffic,
    /// When it was due to arrive, ns.
    pub(super) due_ns: u64,
    pub(super) bytes: Vec<u8>,
}

/// A link and its packets, each with its time of delivery, ns.
struct Wire {
    link: Link,
    ring: VecDeque<(u64, Packet)>,
    /// Packets whose fate the link does not know yet, by the link's number; `None` for phantoms.
    held: Vec<Option<Packet>>,
    /// Largest number of packets in the queue.
    high_water: u32,
}

/// Segment sizes as in the simulator, bytes.
#[derive(Clone, Copy, Debug)]
struct WireSizes {
    header: u32,
    ack: u32,
}

/// All links, and all packets on them.
pub(super) struct Network {
    wires: Vec<Wire>,
    cross: Vec<CrossSource>,
    /// By tunnel.
    routes: Vec<Route>,
    sizes: WireSizes,
    /// Next delivery of each link, then next packet of each source of cross traffic, ns.
    due: Vec<u64>,
    /// By tunnel and direction.
    flows: Vec<[Flow; 2]>,
    /// By tunnel: true if packets pass.
    open: Vec<bool>,
    pub(super) device: Device,
    /// Traffic by service, if it is counted.
    services: Option<Services>,
    /// Packets that have arrived, for the caller.
    pub(super) arrivals: VecDeque<Arrival>,
    /// Buffers to reuse.
    spare: Vec<Vec<u8>>,
}

impl Network {
    /// Creates the links with the simulator's random numbers for this seed: link `i` and source `i`
    /// draw from stream `i` of their kinds.
    pub(super) fn new(scenario: &Scenario, seed: u64, routes: Vec<Route>, device: Device) -> Self {
        let wire = |(i, spec)| Wire {
            link: Link::new(spec, seed, i as u64),
            ring: VecDeque::new(),
            held: vec![],
            high_water: 0,
        };
        let wires: Vec<Wire> = scenario.links.iter().enumerate().map(wire).collect();
        let cross = |(i, spec)| CrossSource::new(spec, seed, i as u64);
        let cross: Vec<CrossSource> = scenario.cross.iter().enumerate().map(cross).collect();
        let mut due = vec![NEVER; wires.len()];
        due.extend(cross.iter().map(|source| source.next_ns().unwrap_or(NEVER)));
        let (header, ack) = (
            scenario.transport.header.0 as u32,
            scenario.transport.ack_size.0 as u32,
        );
        Network {
            wires,
            cross,
            due,
            flows: vec![Default::default(); routes.len()],
            open: vec![true; routes.len()],
            routes,
            sizes: WireSizes { header, ack },
            services: device.attributes().then(Services::default),
            device,
            arrivals: VecDeque::new(),
            spare: vec![],
        }
    }

    /// Time of the next event, ns.
    pub(super) fn next_ns(&self) -> Option<u64> {
        self.earliest().map(|(due_ns, _)| due_ns)
    }

    /// Processes all events up to `now_ns` in order. Simultaneous events happen in the order of
    /// their sources, as in the simulator.
    pub(super) fn advance(&mut self, now_ns: u64) {
        while let Some((due_ns, source)) = self.earliest().filter(|&(due_ns, _)| due_ns <= now_ns) {
            if source < self.wires.len() {
                self.leave(source, due_ns);
            } else {
                self.send_cross(source - self.wires.len(), due_ns);
            }
        }
    }

    /// Lets a packet enter a tunnel. Call [`Self::advance`] with the same `now_ns` first.
    pub(super) fn enter(
        &mut self,
        now_ns: u64,
        tunnel: usize,
        direction: Traffic,
        bytes: &[u8],
        headers: &Headers,
    ) {
        let flow = &mut self.flows[tunnel][direction as usize];
        flow.packets += 1;
        let size = self.sizes.charge(headers);
        flow.bytes += u64::from(size);
        if !self.open[tunnel] {
            flow.interrupted += 1;
            return;
        }
        self.device.watch(now_ns, tunnel, direction, headers);
        let services = self.services.as_mut();
        let service = services.map_or(0, |all| all.index(headers.service(direction)));
        let mut buffer = self.spare.pop().unwrap_or_default();
        buffer.clear();
        buffer.extend_from_slice(&bytes[..headers.length]);
        self.offer(
            now_ns,
            Packet {
                tunnel,
                direction,
                hops: 0,
                size,
                payload: headers.payload as u32,
                ecn: headers.ecn,
                flow: headers.flow,
                service,
                entered_ns: now_ns,
                bytes: buffer,
            },
        );
        if direction == Traffic::Up {
            self.meter(now_ns, tunnel, direction, size, service);
        }
    }

    /// Counts a packet that passes the device's interface.
    fn meter(&mut self, now_ns: u64, tunnel: usize, direction: Traffic, size: u32, service: usize) {
        let route = &self.routes[tunnel].links[direction as usize];
        let air = match direction {
            Traffic::Down => route
                .last()
                .map(|&link| self.wires[link].link.air(size.into())),
            Traffic::Up => route.first().map(|&link| {
                self.wires[link]
                    .link
                    .busy_until(Nanos(now_ns))
                    .saturating_sub(Nanos(now_ns))
            }),
        };
        let air = air.unwrap_or_default();
        self.device
            .meter(now_ns, tunnel, direction, size, air, service);
    }

    /// Closes a tunnel, which loses the packets in it, or opens it.
    pub(super) fn set_open(&mut self, tunnel: usize, open: bool) {
        self.open[tunnel] = open;
    }

    /// Takes a buffer back for reuse.
    pub(super) fn recycle(&mut self, bytes: Vec<u8>) {
        /// More than the links ever carry at once.
        const KEPT: usize = 4096;
        if self.spare.len() < KEPT {
            self.spare.push(bytes);
        }
    }

    /// Resets the counters.
    pub(super) fn begin_measurement(&mut self, now_ns: u64) {
        self.flows.fill_with(Default::default);
        self.wires.iter_mut().for_each(|wire| wire.high_water = 0);
        if let Some(services) = &mut self.services {
            services.clear();
        }
        self.device.begin_measurement(now_ns);
    }

    /// The counters of a tunnel, down and up.
    pub(super) fn flows(&self, tunnel: usize) -> [Flow; 2] {
        let mut flows = self.flows[tunnel];
        for (flow, links) in flows.iter_mut().zip(&self.routes[tunnel].links) {
            let marks = links.iter().map(|&link| self.wires[link].high_water);
            flow.queue_high_water = marks.max().unwrap_or(0);
        }
        flows
    }

    /// All energy so far, and the traffic by service if it is counted.
    pub(super) fn read(&mut self, now_ns: u64, end: End) -> (EnergyReading, Vec<Served>) {
        let (energy, attribution) = self.device.read(now_ns, end);
        let served = self.services.as_ref().zip(attribution);
        let served = served.map(|(services, attribution)| services.read(&attribution));
        (energy, served.unwrap_or_default())
    }

    /// The number of tunnels.
    pub(super) fn tunnels(&self) -> usize {
        self.routes.len()
    }

    /// Totals over all interfaces of the device: delivered payload, bytes; by direction, packets
    /// and the sum of their transit times, ns.
    pub(super) fn device_totals(&self) -> (u64, [u64; 2], [u64; 2]) {
        let own = self
            .routes
            .iter()
            .zip(&self.flows)
            .filter(|(route, _)| route.radio.is_some());
        own.fold(
            (0, [0; 2], [0; 2]),
            |(mut payload, mut packets, mut transit_ns), (_, flows)| {
                for (way, flow) in flows.iter().enumerate() {
                    payload += flow.delivered_payload;
                    packets[way] += flow.delivered_packets;
                    transit_ns[way] += flow.transit_ns;
                }
                (payload, packets, transit_ns)
            },
        )
    }

    /// Number of packets in the queue of a link.
    pub(super) fn queue_packets(&self, link: LinkIndex, now_ns: u64) -> u32 {
        self.wires[link].link.queue_packets(Nanos(now_ns))
    }

    /// The backlogs of all links.
    pub(super) fn backlogs(&self, now_ns: u64) -> Vec<Backlog> {
        let backlog = |wire: &Wire| Backlog {
            packets: wire.link.queue_packets(Nanos(now_ns)),
            bytes: wire.link.queue_bytes(Nanos(now_ns)),
        };
        self.wires.iter().map(backlog).collect()
    }

    fn earliest(&self) -> Option<(u64, usize)> {
        // Among simultaneous events the first source wins: min_by_key returns the first minimum. A
        // heap would not be faster for some dozens of sources.
        let (source, &due_ns) = self
            .due
            .iter()
            .enumerate()
            .min_by_key(|(_, due_ns)| **due_ns)?;
        (due_ns != NEVER).then_some((due_ns, source))
    }

    /// Takes what is due from a link: the first packet at its end, or a held packet.
    fn leave(&mut self, link: LinkIndex, due_ns: u64) {
        if self.wires[link].link.keeps_packets() {
            while let Some(exit) = self.wires[link].link.take(Nanos(due_ns)) {
                self.leave_held(link, due_ns, exit);
            }
            return self.ask(link, due_ns);
        }
        let ring = &mut self.wires[link].ring;
        let (_, packet) = ring.pop_front().expect("a link that is due has a packet");
        self.due[link] = ring.front().map_or(NEVER, |&(at_ns, _)| at_ns);
        self.arrive(due_ns, packet);
    }

    /// Records when a link that holds packets is due.
    fn ask(&mut self, link: LinkIndex, now_ns: u64) {
        self.due[link] = self.wires[link]
            .link
            .due()
            .map_or(NEVER, |due| due.0.max(now_ns));
    }

    /// A held packet leaves a link.
    fn leave_held(&mut self, link: LinkIndex, due_ns: u64, exit: Exit) {
        let Some(mut packet) = self.wires[link].held[exit.number as usize].take() else {
            return;
        };
        let flow = &mut self.flows[packet.tunnel][packet.direction as usize];
        match exit.outcome {
            Outcome::Delivered { marked, .. } => {
                if marked {
                    flow.marks += 1;
                    packet::mark(&mut packet.bytes);
                }
                return self.arrive(due_ns, packet);
            }
            Outcome::QueueDrop => flow.queue_drops += 1,
            Outcome::WireLoss | Outcome::Held(_) => flow.wire_losses += 1,
        }
        self.recycle(packet.bytes);
    }

    /// A packet has passed a link: it enters the next one or has arrived.
    fn arrive(&mut self, due_ns: u64, mut packet: Packet) {
        if !self.open[packet.tunnel] {
            self.flows[packet.tunnel][packet.direction as usize].interrupted += 1;
            return self.recycle(packet.bytes);
        }
        packet.hops += 1;
        if packet.hops < self.routes[packet.tunnel].links[packet.direction as usize].len() {
            return self.offer(due_ns, packet);
        }
        let Packet {
            tunnel,
            direction,
            size,
            payload,
            service,
            entered_ns,
            bytes,
            ..
        } = packet;
        if let Some(services) = &mut self.services
            && self.routes[tunnel].radio.is_some()
        {
            services.count(service, due_ns, direction, size, payload);
        }
        let flow = &mut self.flows[tunnel][direction as usize];
        flow.delivered_packets += 1;
        flow.delivered_bytes += u64::from(size);
        flow.delivered_payload += u64::from(payload);
        flow.transit_ns += due_ns - entered_ns;
        if direction == Traffic::Down {
            self.meter(due_ns, tunnel, direction, size, service);
        }
        self.arrivals.push_back(Arrival {
            tunnel,
            direction,
            due_ns,
            bytes,
        });
    }

    fn offer(&mut self, now_ns: u64, mut packet: Packet) {
        let route = &self.routes[packet.tunnel];
        let link = route.links[packet.direction as usize][packet.hops];
        let wire = &mut self.wires[link];
        if let Some((radios, interface)) = route.radio
            && radios.contains(&link)
        {
            let ready = self.device.wake(now_ns, interface, packet.service);
            if ready.0 > now_ns {
                wire.link.hold_until(ready);
            }
            if packet.direction == Traffic::Down {
                let busy = wire.link.busy_until(Nanos(now_ns)).max(ready);
                self.device.foretell(
                    now_ns,
                    interface,
                    busy.saturating_add(wire.link.air(packet.size.into())),
                );
            }
        }
        let outcome = wire
            .link
            .offer_of(packet.flow, Nanos(now_ns), packet.size, packet.ecn);
        let flow = &mut self.flows[packet.tunnel][packet.direction as usize];
        match outcome {
            Outcome::Delivered { at: Nanos::MAX, .. } | Outcome::WireLoss => flow.wire_losses += 1,
            Outcome::QueueDrop => flow.queue_drops += 1,
            Outcome::Delivered { at, marked } => {
                if marked {
                    flow.marks += 1;
                    packet::mark(&mut packet.bytes);
                }
                wire.high_water = wire.high_water.max(wire.link.queue_packets(Nanos(now_ns)));
                return self.carry(link, at.0, packet);
            }
            Outcome::Held(number) => {
                wire.high_water = wire.high_water.max(wire.link.queue_packets(Nanos(now_ns)));
                wire.hold(number, Some(packet));
                return self.ask(link, now_ns);
            }
        }
        self.recycle(packet.bytes);
    }

    fn carry(&mut self, link: LinkIndex, at_ns: u64, packet: Packet) {
        let ring = &mut self.wires[link].ring;
        if ring.is_empty() {
            self.due[link] = at_ns;
        }
        ring.push_back((at_ns, packet));
    }

    /// Sends a phantom packet of cross traffic, which occupies one link.
    fn send_cross(&mut self, index: usize, now_ns: u64) {
        let source = &mut self.cross[index];
        let (size, link) = (source.emit(now_ns), source.link());
        self.due[self.wires.len() + index] = source.next_ns().unwrap_or(NEVER);
        let Some(size) = size else { return };
        // A phantom has no receiver, so its arrival needs no action.
        let wire = &mut self.wires[link];
        let flow = CROSS_FLOWS | index as u64;
        if let Outcome::Held(number) = wire.link.offer_of(flow, Nanos(now_ns), size, false) {
            wire.hold(number, None);
            self.ask(link, now_ns);
        }
    }
}

impl Wire {
    /// Holds a packet or a phantom under the link's number.
    fn hold(&mut self, number: u32, packet: Option<Packet>) {
        let at = number as usize;
        if at >= self.held.len() {
            self.held.resize_with(at + 1, || None);
        }
        self.held[at] = packet;
    }
}

impl WireSizes {
    /// Size of a packet on a link, bytes. A TCP segment has the scenario's size, whatever options
    /// this kernel writes. Any other packet has its own length.
    fn charge(self, headers: &Headers) -> u32 {
        match headers.tcp {
            Some(tcp) if tcp.payload > 0 => tcp.payload as u32 + self.header,
            Some(_) => self.ack,
            None => headers.length as u32,
        }
    }
}
