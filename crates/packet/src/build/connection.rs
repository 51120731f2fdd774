//! Adds connections under test and competitors, step by step.

use joulepath_control::allocate::{Sharer, SoMptcp};
use joulepath_control::competitor_controller;
use joulepath_control::path::traffic_of;
use joulepath_control::price::Needs;
use joulepath_control::schedule::{FirstFree, Scheduler};
use joulepath_control::select::{Observer, PathEnergy};
use joulepath_controllers::{self as controllers, Capability};
use joulepath_model::energy::meter::DeviceMeter;
use joulepath_model::random::{Domain, Stream};
use joulepath_model::scenario::{
    Competitor, ConnectionGroup, Direction, PathIndex, PathSpec, Workload,
};
use joulepath_model::units::Nanos;
use joulepath_topology::Path;

use super::builder::{Builder, SubflowConfig};
use super::routes::Sinks;
use super::tested::Tested;
use crate::connection::device::{Access, Device, Interface};
use crate::connection::plane::{ControlPlane, Slots};
use crate::connection::selection::{Selection, Surroundings};
use crate::connection::state::Connection;
use crate::path::host::End;
use crate::path::routes::Routes;
use crate::receiver::{ReceiverEnd, Reception, Tuning};
use crate::run::error::RunError;
use crate::sender::{SenderEnd, SenderSpec};

/// Air time of a full packet, in parts of the shortest gap that ends a radio's activity, above
/// which each packet reaches the meter at once.
const LEAST_AIR: f64 = 0.25;

/// Size of the buffers of competitors, bytes: large enough never to limit them.
const COMPETITOR_BUFFER_BYTES: u64 = 1 << 30;

impl<'a> Builder<'a> {
    /// Adds all connections under test.
    pub(super) fn add_tested(&mut self) -> Result<(), RunError> {
        let scenario = self.scenario;
        if let Some((topology, spec)) = self.topology.zip(scenario.topology.as_ref()) {
            let subflows = self.setup.subflows().unwrap_or(spec.subflows);
            for connection in topology.draw(self.seed, subflows) {
                self.add_connection(&scenario.connections[0], connection.paths)?;
            }
            return Ok(());
        }
        for group in &scenario.connections {
            for _ in 0..group.count {
                let path = |&index: &PathIndex| {
                    let PathSpec { down, up, .. } = &scenario.paths[index];
                    Path {
                        interface: index,
                        down: down.clone(),
                        up: up.clone(),
                        relays: 0,
                    }
                };
                self.add_connection(group, group.paths.iter().map(path).collect())?;
            }
        }
        Ok(())
    }

    fn add_connection(
        &mut self,
        group: &'a ConnectionGroup,
        paths: Vec<Path>,
    ) -> Result<(), RunError> {
        let tested = self.tested(group, paths)?;
        let mut cc = self.setup.connection(tested.paths.len());
        let mut control = self.control_plane(&tested);
        control.sharer = self.share(&tested, &mut cc)?;
        let selection = self.selection(&tested)?;
        let meter = self.meter(&tested);
        let first = self.subflows.len() as u32;
        let access = self.access(&tested);
        let has_relays = self.add_subflows(&tested, &meter, &access);
        let (sender, receiver) = self.ends(&tested, cc, has_relays);
        let n = tested.paths.len();
        let mut connection = Connection::new(
            first,
            n,
            group.direction,
            tested.starts_at_ns,
            sender,
            receiver,
        );
        (connection.control, connection.selection) = (control, selection);
        self.connections.push(connection);
        self.devices
            .push(Some(Device::new(meter, group.paths.clone(), access)));
        Ok(())
    }

    /// The paths that the policy uses, and the connection's start.
    fn tested(&self, group: &'a ConnectionGroup, paths: Vec<Path>) -> Result<Tested<'a>, RunError> {
        let paths = self.setup.used(group, paths, |path| path.interface)?;
        let specs: Vec<&PathSpec> = paths
            .iter()
            .map(|path| &self.scenario.paths[path.interface])
            .collect();
        let traffic = traffic_of(group.direction);
        let energies = specs
            .iter()
            .map(|spec| PathEnergy::of(&spec.energy.model, traffic))
            .collect();
        let starts_at_ns = self.start_within(group.start, group.spread);
        Ok(Tested {
            group,
            paths,
            specs,
            energies,
            starts_at_ns,
        })
    }

    /// The control plane of a connection: signals for the controller, and the slots of an
    /// allocator.
    fn control_plane(&self, tested: &Tested<'_>) -> ControlPlane {
        let needs = Needs::of(self.setup.controller());
        let mut control = ControlPlane::new(needs, self.scenario, self.costs(tested));
        control.slots = self.setup.slots().map(|options| Slots {
            allocator: SoMptcp::new(options.v, options.shape),
            slot: options.slot,
            energies: tested.energies.clone(),
        });
        control
    }

    /// Gives each subflow its share, if the policy allocates shares. Returns the sharer that adapts
    /// the shares during the connection, with its observer.
    fn share(
        &self,
        tested: &Tested<'_>,
        cc: &mut controllers::Connection,
    ) -> Result<Option<(Sharer, Observer)>, RunError> {
        let random = Stream::new(self.seed, Domain::Allocator, self.number());
        let paths: Vec<PathIndex> = tested.indices().collect();
        let sharing = self
            .setup
            .sharing(self.scenario, tested.group, &paths, random)?;
        let Some(sharing) = sharing else {
            return Ok(None);
        };
        for (subflow, &share) in cc.subflows.iter_mut().zip(&sharing.of_paths) {
            subflow.own.set_target_share(share);
        }
        Ok(sharing.sharer.map(|sharer| (sharer, self.observer(tested))))
    }

    /// The observer of the paths, for selectors and sharers.
    fn observer(&self, tested: &Tested<'_>) -> Observer {
        Observer::new(&tested.energies, self.scenario.transport.mss.0 as f64)
    }

    /// Opens and closes subflows; `None` if the policy has no selector.
    fn selection(&self, tested: &Tested<'_>) -> Result<Option<Selection>, RunError> {
        let names: Vec<&str> = tested.specs.iter().map(|spec| spec.name.as_str()).collect();
        let selector = self.setup.bound_selector(&names)?;
        let histories = tested.specs.iter().map(|spec| spec.history);
        let observer = || self.observer(tested).remembering(histories);
        let surroundings = || Surroundings {
            device: self.scenario.device.clone(),
            receive_window: tested.group.receive_buffer.0 as f64,
        };
        let selection = |selector| Selection {
            selector,
            observer: observer(),
            surroundings: surroundings(),
        };
        Ok(selector.map(selection))
    }

    /// The device's meter. It covers all interfaces of the device: an unused interface may burn
    /// energy while idle.
    fn meter(&self, tested: &Tested<'_>) -> DeviceMeter {
        let models: Vec<_> = tested
            .group
            .paths
            .iter()
            .map(|&path| self.interface_model(path))
            .collect();
        let mut meter =
            DeviceMeter::new(&models, &self.scenario.device, Nanos(tested.starts_at_ns));
        self.scenario
            .follow_signals(&mut meter, &tested.group.paths);
        meter
    }

    /// The links next to the device of each interface.
    fn access(&self, tested: &Tested<'_>) -> Vec<Access> {
        let of = |&index: &PathIndex| {
            let spec = &self.scenario.paths[index];
            if self.topology.is_none() && spec.relay.is_none() {
                return Access::Links([spec.radio.0, spec.radio.1]);
            }
            let path = tested
                .paths
                .iter()
                .find(|path| path.interface == index && spec.relay.is_none());
            let ends = path.map_or([None; 2], |path| [path.down.last(), path.up.first()]);
            Access::PerByte(ends.map(|link| link.map_or(0.0, |&link| self.net.ns_per_byte(link))))
        };
        tested.group.paths.iter().map(of).collect()
    }

    /// Whether full packets take so long on the air of a path's links that each one must reach the
    /// meter at once.
    fn is_slow(&self, spec: &PathSpec, limit: Nanos) -> bool {
        let transport = &self.scenario.transport;
        let bits = 8.0 * (transport.mss.0 + transport.header.0) as f64;
        let is_slow = |link: usize| {
            let least = self
                .scenario
                .links
                .get(link)
                .and_then(|link| link.rate.least());
            least.is_some_and(|rate| bits / rate.bps() as f64 > limit.as_secs_f64() * LEAST_AIR)
        };
        self.topology.is_none() && (is_slow(spec.radio.0) || is_slow(spec.radio.1))
    }

    /// Adds a subflow on each path; returns whether one of them ends at a TCP relay.
    fn add_subflows(
        &mut self,
        tested: &Tested<'_>,
        meter: &DeviceMeter,
        access: &[Access],
    ) -> bool {
        let mut sinks = Sinks::none(self.scenario.channels.len());
        let mut has_relays = false;
        for (local, (path, spec)) in tested.paths.iter().zip(&tested.specs).enumerate() {
            let used = tested
                .group
                .paths
                .iter()
                .position(|&of_group| of_group == path.interface);
            let index = used.expect("the path is one of the group's");
            let patience = meter.patience(index);
            let patience_ns = if self.is_slow(spec, patience) {
                0
            } else {
                patience.0
            };
            let (routes, relay) = self.routes(tested, path, &mut sinks);
            has_relays |= relay.is_some();
            self.add_subflow(SubflowConfig {
                local: local as u8,
                downloads: tested.group.direction == Direction::Download,
                path: Some(path.interface as u16),
                routes,
                relay,
                interface: Interface::metered(
                    index as u8,
                    patience_ns,
                    1 + path.relays,
                    access[index],
                ),
                opens_at_ns: tested.starts_at_ns + spec.start.0,
            });
        }
        has_relays
    }

    /// The two ends of a connection under test.
    fn ends(
        &self,
        tested: &Tested<'_>,
        cc: controllers::Connection,
        has_relays: bool,
    ) -> (SenderEnd, ReceiverEnd) {
        let group = tested.group;
        let (writer, reader) = self.application(group.workload);
        let controller = self.setup.controller();
        let mut scheduler = self.setup.scheduler().clone();
        scheduler.learn_costs(&tested.energies);
        let window = self.segments(group.receive_buffer.0.min(group.send_buffer.0));
        let mut sender = SenderEnd::new(SenderSpec {
            controller,
            cc,
            scheduler,
            window,
            writer,
            has_relays,
        });
        for (view, spec) in sender.views.iter_mut().zip(&tested.specs) {
            view.backup = spec.backup;
        }
        let keeps_series = self.options.series && self.connections.is_empty();
        let reception = Reception::new(keeps_series, tested.starts_at_ns);
        let each_mark = controller.has(Capability::ReadsMarks);
        let mut receiver = ReceiverEnd::new(reader, Some(reception), each_mark);
        if let Some(tuning) = self.tuning(tested) {
            sender.data.follow(tuning.offers(), tuning.window());
            receiver.tuning = Some(Box::new(tuning));
        }
        (sender, receiver)
    }

    /// The receive buffer, if it grows.
    fn tuning(&self, tested: &Tested<'_>) -> Option<Tuning> {
        let links = self
            .topology
            .map_or(&self.scenario.links, |topology| &topology.links);
        let mss = self.scenario.transport.mss;
        let ack_delay = |path: &Path| {
            let back = if tested.group.direction == Direction::Download {
                &path.up
            } else {
                &path.down
            };
            back.iter().map(|&link| links[link].delay.0).sum()
        };
        let growth = tested.group.receive_memory?.start(mss);
        Some(Tuning::new(
            growth,
            mss,
            tested.paths.iter().map(ack_delay),
            tested.starts_at_ns,
        ))
    }

    /// Adds all competitors: TCP downloads without a device.
    pub(super) fn add_competitors(&mut self) -> Result<(), RunError> {
        for competitor in &self.scenario.competitors {
            for _ in 0..competitor.count {
                self.add_competitor(competitor)?;
            }
        }
        Ok(())
    }

    fn add_competitor(&mut self, competitor: &Competitor) -> Result<(), RunError> {
        let controller = competitor_controller(competitor)?;
        let starts_at_ns = self.start_within(competitor.start, competitor.spread);
        let first = self.subflows.len() as u32;
        let data = self.plain_route(&competitor.down, End::Receiver);
        let routes = Routes {
            data,
            acks: self.plain_route(&competitor.up, End::Sender),
        };
        self.add_subflow(SubflowConfig {
            local: 0,
            downloads: true,
            path: None,
            routes,
            relay: None,
            interface: Interface::unmetered(),
            opens_at_ns: 0,
        });
        let workload = competitor
            .size
            .map_or(Workload::Bulk, |size| Workload::File { size });
        let (writer, reader) = self.application(workload);
        let sender = SenderEnd::new(SenderSpec {
            controller,
            cc: controllers::Connection::new(1),
            scheduler: Scheduler::FirstFree(FirstFree),
            window: self.segments(COMPETITOR_BUFFER_BYTES),
            writer,
            has_relays: false,
        });
        let receiver = ReceiverEnd::new(reader, None, controller.has(Capability::ReadsMarks));
        let connection = Connection::new(
            first,
            1,
            Direction::Download,
            starts_at_ns,
            sender,
            receiver,
        );
        self.connections.push(connection);
        self.devices.push(None);
        Ok(())
    }
}
