//! From a scenario and a policy to an engine that is ready to run.

use joulepath_control::allocate::{CostedPath, Resolver, SoMptcp, costed_path};
use joulepath_control::price::{Needs, PathCost as Price};
use joulepath_control::schedule::{MAX_SUBFLOWS, PathCost, PathView, Scheduler, Style};
use joulepath_control::select::{Observer, PathEnergy, Use};
use joulepath_controllers::{self as controllers, Controller};
use joulepath_link::cross::CrossSource;
use joulepath_link::demand::{Demand, start_within};
use joulepath_link::random::{Domain, Stream};
use joulepath_model::energy::InterfaceModel;
use joulepath_model::energy::Traffic;
use joulepath_model::energy::meter::{DeviceMeter, EnergyReading};
use joulepath_model::network::LinkSpec;
use joulepath_model::scenario::{
    Competitor, ConnectionGroup, Direction, LinkIndex, PathIndex, PathSpec, Scenario, Transport, Workload,
};
use joulepath_model::units::{JoulesPerBit, Nanos};
use joulepath_topology::{Network as Topology, SubflowRoute};

use crate::application::Application;
use crate::connection::{Connection, DataSender, Device};
use crate::control::{ControlPlane, Slots};
use crate::engine::{Engine, Sources, WireSizes};
use crate::event::{LazyTimer, MAX_SOURCES, MAX_TIME_NS};
use crate::fabric::{self, Fabric};
use crate::lane::Common;
use crate::measure::Recorder;
use crate::network::{Network, Route};
use crate::reassembly::DataReceiver;
use crate::reception::Reception;
use crate::relay::Relay;
use crate::select::Selection;
use crate::subflow::{Placement, Subflow};
use crate::{RunError, RunOptions, Setup};

/// One subflow of a connection under test: the interface that it uses, and its links.
struct Leg {
    path: PathIndex,
    down: Vec<LinkIndex>,
    up: Vec<LinkIndex>,
    /// How many hosts' interfaces a packet passes in either direction beyond the device's and the peer's, plus one.
    crossings: u32,
}

/// Assembles an [`Engine`].
struct Builder<'a> {
    scenario: &'a Scenario,
    setup: &'a Setup,
    seed: u64,
    options: RunOptions,
    /// The data centre, in place of the scenario's own links.
    topology: Option<&'a Topology>,
    net: Network,
    /// Station of each path's relay.
    relay_stations: Vec<Option<usize>>,
    subflows: Vec<Subflow>,
    connections: Vec<Connection>,
}

/// Builds the engine of one run.
pub(crate) fn build(
    scenario: &Scenario,
    setup: &Setup,
    seed: u64,
    options: RunOptions,
) -> Result<Engine, RunError> {
    if scenario.duration.0 > MAX_TIME_NS {
        return Err(RunError::TooLong);
    }
    let topology = scenario.topology.as_ref().map(Topology::new);
    let links = topology.as_ref().map_or(&scenario.links, |topology| &topology.links);
    let mut builder = Builder {
        scenario,
        setup,
        seed,
        options,
        topology: topology.as_ref(),
        net: Network::new(links, &scenario.channels, seed),
        relay_stations: vec![],
        subflows: vec![],
        connections: vec![],
    };
    builder.add_relay_stations();
    builder.add_connections()?;
    let unfinished = builder.connections.len();
    for competitor in &scenario.competitors {
        for _ in 0..competitor.count {
            builder.add_competitor(competitor)?;
        }
    }
    builder.finish(unfinished)
}

fn traffic(direction: Direction) -> Traffic {
    match direction {
        Direction::Download => Traffic::Down,
        Direction::Upload => Traffic::Up,
    }
}

impl Builder<'_> {
    /// Every connection under test.
    fn add_connections(&mut self) -> Result<(), RunError> {
        let scenario = self.scenario;
        let Some((topology, spec)) = self.topology.zip(scenario.topology.as_ref()) else {
            for group in &scenario.connections {
                for _ in 0..group.count {
                    let leg = |&path: &PathIndex| self.leg(path);
                    let legs = group.paths.iter().map(leg).collect();
                    self.add_connection(group, legs)?;
                }
            }
            return Ok(());
        };
        let subflows = self.setup.subflows.unwrap_or(spec.subflows);
        for flow in topology.draw(self.seed, subflows) {
            let leg = |route: SubflowRoute| Leg {
                path: route.interface,
                down: route.down,
                up: route.up,
                crossings: 1 + route.relays,
            };
            self.add_connection(&scenario.connections[0], flow.routes.into_iter().map(leg).collect())?;
        }
        Ok(())
    }

    /// A subflow on one of the scenario's paths.
    fn leg(&self, path: PathIndex) -> Leg {
        let spec = &self.scenario.paths[path];
        Leg { path, down: spec.down.clone(), up: spec.up.clone(), crossings: 1 }
    }

    fn add_connection(&mut self, group: &ConnectionGroup, mut legs: Vec<Leg>) -> Result<(), RunError> {
        let scenario = self.scenario;
        legs.retain(|leg| self.setup.only_path.is_none_or(|only| only == leg.path));
        let paths: Vec<usize> = legs.iter().map(|leg| leg.path).collect();
        if paths.is_empty() {
            return Err(RunError::NoPath { connection: group.name.clone() });
        }
        let specs: Vec<&PathSpec> = paths.iter().map(|&p| &scenario.paths[p]).collect();
        let downloads = group.direction == Direction::Download;
        let mut sinks = vec![None; scenario.channels.len()];
        let starts_at_ns = self.start_within(group.start, group.spread);
        let controller = self.setup.controller;
        let direction = traffic(group.direction);
        let energies: Vec<PathEnergy> =
            specs.iter().map(|spec| PathEnergy::of(&spec.energy.model, direction)).collect();
        let mut resolver = None;
        let mut cc = controllers::Connection::new(paths.len());
        for (name, value) in &self.setup.controller_params {
            controller.set_param(&mut cc, name, value)?;
        }
        if let Some(allocator) = &self.setup.allocator {
            let mut random = Stream::new(self.seed, Domain::Allocator, self.connections.len() as u64);
            let cost = |&path: &usize| costed_path(scenario, group.direction, path, allocator.capacity);
            let costed: Vec<CostedPath> = paths.iter().map(cost).collect();
            for (local, share) in allocator.shares(&costed, &mut random)?.into_iter().enumerate() {
                cc.subflows[local].own.set_target_share(share);
            }
            if allocator.online {
                let solved_bps = costed.iter().map(|path| path.capacity_bps).collect();
                let observer = Observer::new(&energies, scenario.transport.mss.0 as f64);
                resolver = Some((Resolver::new(*allocator, solved_bps), observer, random));
            }
        }
        let needs = Needs::of(controller.name());
        let mut control = ControlPlane::new(needs, scenario, self.costs(group.direction, &legs));
        control.resolver = resolver;
        control.slots = self.setup.slots.map(|options| Slots {
            allocator: SoMptcp::new(options.v, options.shape),
            slot: options.slot,
            energies: energies.clone(),
        });
        // Interfaces that the policy leaves alone belong to the device, too: they may burn while idle.
        let interface = |&path: &usize| self.interface(path);
        let models: Vec<InterfaceModel> = group.paths.iter().map(interface).collect();
        let meter = DeviceMeter::new(&models, &scenario.device, Nanos(starts_at_ns));
        for (local, (leg, spec)) in legs.iter().zip(&specs).enumerate() {
            let interface =
                group.paths.iter().position(|&p| p == leg.path).expect("selected from the group's paths");
            let (down, up) = self.whole_route(leg, &mut sinks);
            let relay = self.relay(leg.path, &down, &up, group, &paths);
            // A TCP relay ends the subflow: its data and ACKs travel on the links alone.
            let (down, up) = if relay.is_some() { (spec.down.clone(), spec.up.clone()) } else { (down, up) };
            let (data, acks) = if downloads { (down, up) } else { (up, down) };
            let place = Placement {
                connection: self.connections.len() as u32,
                local: local as u8,
                path: Some(leg.path as u16),
                interface: interface as u8,
                data_route: self.route(&data, spec),
                ack_route: self.route(&acks, spec),
                // Behind a relay no radio of the device sleeps, and in a topology none at all.
                radio: if self.topology.is_some() || spec.relay.is_some() {
                    NO_RADIO
                } else {
                    (spec.radio.0 as u32, spec.radio.1 as u32)
                },
                patience_ns: Some(meter.patience(interface).0),
                crossings: leg.crossings,
                opens_at_ns: starts_at_ns + spec.start.0,
            };
            let mut subflow = self.subflow(place);
            subflow.relay = relay.map(Box::new);
            if let Some(relay) = &mut subflow.relay {
                subflow.window_end = relay.first_window();
            }
            self.subflows.push(subflow);
        }
        let window = group.receive_buffer.0.min(group.send_buffer.0);
        let mut connection = self.connection(Parts {
            n: paths.len(),
            direction: group.direction,
            controller,
            cc,
            scheduler: self.setup.scheduler.clone(),
            window_bytes: window,
            workload: group.workload,
            starts_at_ns,
        });
        connection.control = control;
        connection.device = Some(Device {
            meter,
            paths: group.paths.clone(),
            latest: EnergyReading::default(),
            reception: Reception::new(self.options.series && self.connections.is_empty(), starts_at_ns),
            finished_ns: None,
        });
        let costs: Vec<PathCost> = energies
            .iter()
            .map(|energy| PathCost { sunk_w: energy.sunk_w, slope_j_per_bit: energy.slope_j_per_bit })
            .collect();
        connection.scheduler.learn_costs(&costs);
        for (view, spec) in connection.views.iter_mut().zip(&specs) {
            view.backup = spec.backup;
        }
        if let Some(selector) = &self.setup.selector {
            let names: Vec<&str> = specs.iter().map(|spec| spec.name.as_str()).collect();
            connection.selection = Some(Selection {
                selector: selector.bind(&names)?,
                observer: Observer::new(&energies, scenario.transport.mss.0 as f64),
                base_w: scenario.device.shared_base.0,
            });
        }
        self.connections.push(connection);
        Ok(())
    }

    /// A route without the links that do nothing: a path without a rate of its own has such a link next to the device. It stays if
    /// a radio sleeps behind it, and if it is all that there is.
    fn route(&mut self, links: &[usize], spec: &PathSpec) -> Route {
        let sleeps = matches!(spec.energy.model, InterfaceModel::Rrc(_));
        let is_transparent = |l: usize| self.scenario.links.get(l).is_some_and(LinkSpec::is_transparent);
        let acts = |&&l: &&usize| sleeps || !is_transparent(l);
        let acting: Vec<usize> = links.iter().filter(acts).copied().collect();
        self.net.add_route(if acting.is_empty() { links } else { &acting })
    }

    /// The energy model of an interface. In a topology every byte that leaves one host's interface enters another's: both count.
    fn interface(&self, path: PathIndex) -> InterfaceModel {
        let model = self.scenario.paths[path].energy.model.clone();
        match model {
            InterfaceModel::Linear { down, up, sunk, sunk_while } if self.topology.is_some() => {
                let both = JoulesPerBit(down.0 + up.0);
                InterfaceModel::Linear { down: both, up: both, sunk, sunk_while }
            }
            model => model,
        }
    }

    /// What each subflow's way costs.
    fn costs(&self, direction: Direction, legs: &[Leg]) -> Vec<Price> {
        let Some(topology) = self.topology else {
            let paths: Vec<PathIndex> = legs.iter().map(|leg| leg.path).collect();
            return Price::of(self.scenario, direction, &paths);
        };
        let cost = |leg: &Leg| {
            let data = if direction == Direction::Download { &leg.down } else { &leg.up };
            let between = data.iter().copied().filter(|&link| topology.is_between_switches(link));
            Price::in_topology(self.scenario, direction, leg.path, between, &topology.links)
        };
        legs.iter().map(cost).collect()
    }

    fn subflow(&mut self, place: Placement) -> Subflow {
        self.net.add_way(place.data_route, place.ack_route, place.radio);
        Subflow::new(place, &self.scenario.transport)
    }

    /// One station for each relay: all connections share it.
    fn add_relay_stations(&mut self) {
        for path in &self.scenario.paths {
            let station = path.relay.map(|relay| self.net.add_station(relay.channel));
            self.relay_stations.push(station);
        }
    }

    /// Links and stations from the server to the device and back. `sinks` are the device's stations, by channel.
    fn whole_route(&mut self, leg: &Leg, sinks: &mut [Option<usize>]) -> (Vec<usize>, Vec<usize>) {
        let spec = &self.scenario.paths[leg.path];
        let (mut down, mut up) = (leg.down.clone(), leg.up.clone());
        if let (Some(relay), Some(station)) = (spec.relay, self.relay_stations[leg.path]) {
            let sink = *sinks[relay.channel].get_or_insert_with(|| self.net.add_station(relay.channel));
            down.push(station);
            up.insert(0, sink);
        }
        (down, up)
    }

    /// The TCP relay of a path, if that is what it has, of a connection over `paths`. MAX − MIN is what the relays leave of the receive
    /// buffer.
    fn relay(
        &mut self,
        path: usize,
        down: &[usize],
        up: &[usize],
        group: &ConnectionGroup,
        paths: &[usize],
    ) -> Option<Relay> {
        let buffer = |path: &usize| self.scenario.paths[*path].relay.and_then(|relay| relay.kind.buffer());
        let (capacity, station) = (buffer(&path)?, self.relay_stations[path]?);
        let relays: u64 = paths.iter().filter_map(buffer).map(u64::from).sum();
        let sink = group.receive_buffer.0 / self.scenario.transport.mss.0;
        let range = u32::try_from(sink.saturating_sub(relays)).unwrap_or(u32::MAX / 4).max(1);
        let spec = &self.scenario.paths[path];
        let routes = [self.route(down, spec), self.route(up, spec), self.net.add_route(&[station])];
        Some(Relay::new(routes, station as u32, capacity, range))
    }

    fn add_competitor(&mut self, competitor: &Competitor) -> Result<(), RunError> {
        let place = Placement {
            connection: self.connections.len() as u32,
            local: 0,
            path: None,
            interface: 0,
            data_route: self.net.add_route(&competitor.down),
            ack_route: self.net.add_route(&competitor.up),
            radio: NO_RADIO,
            patience_ns: None,
            crossings: 1,
            opens_at_ns: 0,
        };
        let subflow = self.subflow(place);
        self.subflows.push(subflow);
        let connection = self.connection(Parts {
            n: 1,
            direction: Direction::Download,
            controller: Controller::by_name(&competitor.cc)?,
            cc: controllers::Connection::new(1),
            scheduler: Scheduler::FirstFree,
            window_bytes: COMPETITOR_BUFFER_BYTES,
            workload: competitor.size.map_or(Workload::Bulk, |size| Workload::File { size }),
            starts_at_ns: self.start_within(competitor.start, competitor.spread),
        });
        self.connections.push(connection);
        Ok(())
    }

    /// Start of the next connection, ns.
    fn start_within(&self, start: Nanos, spread: Nanos) -> u64 {
        start_within(self.seed, self.connections.len() as u64, start, spread).0
    }

    /// A connection whose `parts.n` subflows are the last ones added.
    fn connection(&self, parts: Parts) -> Connection {
        let transport = &self.scenario.transport;
        let window = u32::try_from(parts.window_bytes / transport.mss.0).unwrap_or(u32::MAX / 4).max(1);
        let demand = Demand::new(parts.workload, self.seed, self.connections.len() as u64);
        let style = parts.scheduler.style();
        Connection {
            first: (self.subflows.len() - parts.n) as u32,
            n: parts.n,
            direction: parts.direction,
            echoes_each_mark: parts.controller.name() == "dctcp",
            controller: parts.controller,
            cc: parts.cc,
            views: [PathView::default(); MAX_SUBFLOWS],
            style,
            queues_ahead: parts.scheduler.queues_ahead(),
            is_scheduled: parts.n > 1 || parts.scheduler.wants_allotment() || parts.scheduler.queues_ahead(),
            weighs_backlog: parts.scheduler.weighs_backlog(),
            watches_rtt: parts.scheduler.watches_rtt(),
            scheduler: parts.scheduler,
            committed: Default::default(),
            sender: DataSender::new(window, parts.n, style == Style::Places),
            receiver: DataReceiver::new(),
            application: Application::new(demand, transport.mss, self.scenario.warm_up),
            application_timer: LazyTimer::new(),
            control: ControlPlane::idle(),
            control_timer: LazyTimer::new(),
            selection: None,
            look_timer: LazyTimer::new(),
            slot_timer: LazyTimer::new(),
            data_timer: LazyTimer::new(),
            starts_at_ns: parts.starts_at_ns,
            opener: Some(0),
            joined: false,
            started: false,
            done: false,
            before_bytes: 0,
            device: None,
        }
    }

    fn finish(self, unfinished: usize) -> Result<Engine, RunError> {
        let scenario = self.scenario;
        let sources = Sources::new(
            self.net.wires.len(),
            self.subflows.len(),
            self.connections.len(),
            scenario.cross.len(),
            scenario.channels.len(),
        );
        if sources.count() > MAX_SOURCES {
            return Err(RunError::TooLarge { sources: sources.count() });
        }
        let cross = |(i, spec)| CrossSource::new(spec, self.seed, i as u64);
        let fabric = self.topology.zip(scenario.topology.as_ref());
        let mut engine = Engine {
            fabric: fabric.map(|(topology, spec)| Fabric::new(topology, spec)),
            now_ns: 0,
            end_ns: scenario.duration.0,
            net: self.net,
            subflows: self.subflows,
            connections: self.connections,
            cross: scenario.cross.iter().enumerate().map(cross).collect(),
            common: Common {
                transport: scenario.transport.clone(),
                sizes: wire_sizes(&scenario.transport),
                sources,
            },
            recorder: Recorder::new(scenario, self.options.series),
            unfinished,
        };
        for (i, channel) in engine.net.channels.iter_mut().enumerate() {
            channel.source = sources.channel(i);
        }
        engine.schedule_start(scenario);
        Ok(engine)
    }
}

/// No link is next to a radio.
const NO_RADIO: (u32, u32) = (u32::MAX, u32::MAX);

/// Buffers of competitors do not limit them, bytes.
const COMPETITOR_BUFFER_BYTES: u64 = 1 << 30;

/// What differs between connections.
struct Parts {
    n: usize,
    direction: Direction,
    controller: Controller,
    cc: controllers::Connection,
    scheduler: Scheduler,
    window_bytes: u64,
    workload: Workload,
    starts_at_ns: u64,
}

fn wire_sizes(transport: &Transport) -> WireSizes {
    WireSizes { header: transport.header.0 as u32, ack: transport.ack_size.0 as u32 }
}

/// A selector looks for the first time so long after the connection starts.
const FIRST_LOOK: Nanos = Nanos::from_millis(10);

impl Engine {
    /// Which subflows open from the start, and which of them carries MP_CAPABLE: the first regular one.
    fn select_first(&mut self, c: usize) {
        let connection = &mut self.connections[c];
        let Some(selection) = &mut connection.selection else { return };
        let uses = selection.start(connection.application.workload(), &self.common);
        let first = connection.first as usize;
        for (i, &wanted) in uses.iter().enumerate() {
            self.subflows[first + i].wanted = wanted != Use::Closed;
            connection.views[i].backup = wanted == Use::Backup;
        }
        connection.opener = Some(uses.iter().position(|&wanted| wanted == Use::Regular).unwrap_or(0));
    }

    fn schedule_start(&mut self, scenario: &Scenario) {
        for c in 0..self.connections.len() {
            self.select_first(c);
            let connection = &mut self.connections[c];
            let at_ns = connection.starts_at_ns;
            let s = connection.first as usize + connection.opener.unwrap_or(0);
            let first_path_ns = self.subflows[s].opens_at_ns;
            self.subflows[s].rto.set(
                at_ns.max(first_path_ns),
                self.common.sources.rto(s),
                &mut self.net.queue,
            );
            if let Some(period) = self.connections[c].control.period() {
                let source = self.common.sources.control(c);
                self.connections[c].control_timer.set(at_ns + period.0, source, &mut self.net.queue);
            }
            if self.connections[c].control.slots.is_some() {
                self.connections[c].slot_timer.set(at_ns, self.common.sources.slot(c), &mut self.net.queue);
            }
            if self.connections[c].selection.is_some() {
                self.connections[c].look_timer.set(
                    at_ns + FIRST_LOOK.0,
                    self.common.sources.look(c),
                    &mut self.net.queue,
                );
            }
        }
        for i in 0..self.cross.len() {
            if let Some(at_ns) = self.cross[i].next_ns() {
                self.net.queue.push(at_ns, self.common.sources.cross(i));
            }
        }
        if scenario.warm_up > Nanos::ZERO {
            self.net.queue.push(scenario.warm_up.0, self.common.sources.warm_up());
        }
        if self.fabric.is_some() {
            self.net.queue.push(scenario.warm_up.0 + fabric::TICK.0, self.common.sources.fabric());
        }
        if let Some(at_ns) = self.recorder.first_ns() {
            self.net.queue.push(at_ns, self.common.sources.sample());
        }
    }
}
