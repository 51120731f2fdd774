//! The parts of an unfinished engine.

use std::sync::Arc;

use joulepath_control::Setup;
use joulepath_link::writes::{Writes, start_within};
use joulepath_model::scenario::{Scenario, Workload};
use joulepath_model::units::Nanos;
use joulepath_topology::Network as Topology;

use crate::application::{Reader, Writer};
use crate::connection::device::{Device, Interface};
use crate::connection::state::Connection;
use crate::connection::subflow::{Subflow, SubflowId};
use crate::parallel;
use crate::parallel::border::Border;
use crate::parallel::shared::Shared;
use crate::path::hop::Hop;
use crate::path::network::Network;
use crate::path::routes::Routes;
use crate::path::tally::Tallies;
use crate::receiver::{Relay, SubflowReceiver};
use crate::run::options::RunOptions;
use crate::sender::SubflowSender;

pub(super) struct Builder<'a> {
    pub(super) scenario: &'a Scenario,
    pub(super) setup: &'a Setup,
    pub(super) seed: u64,
    pub(super) options: &'a RunOptions,
    /// The data centre, whose links replace the scenario's.
    pub(super) topology: Option<&'a Topology>,
    pub(super) net: Network,
    /// The station of each path's relay.
    pub(super) relay_stations: Vec<Option<Hop>>,
    pub(super) senders: Shared<SubflowSender>,
    pub(super) receivers: Shared<SubflowReceiver>,
    pub(super) interfaces: Shared<Interface>,
    pub(super) subflows: Shared<Subflow>,
    pub(super) connections: Shared<Connection>,
    pub(super) devices: Shared<Option<Device>>,
}

/// The parameters of a new subflow.
pub(super) struct SubflowConfig {
    /// Index within the connection.
    pub(super) local: u8,
    /// Whether the device is the receiver.
    pub(super) downloads: bool,
    /// Index of the scenario's path; `None` for competitors.
    pub(super) path: Option<u16>,
    pub(super) routes: Routes,
    pub(super) relay: Option<Relay>,
    pub(super) interface: Interface,
    pub(super) opens_at_ns: u64,
}

impl<'a> Builder<'a> {
    pub(super) fn new(
        scenario: &'a Scenario,
        setup: &'a Setup,
        seed: u64,
        options: &'a RunOptions,
        topology: Option<&'a Topology>,
    ) -> Self {
        let links = topology.map_or(&scenario.links, |topology| &topology.links);
        let mut net = Network::new(links, &scenario.channels, seed);
        if options.links {
            net.tallies = Tallies::new(links.len(), scenario.duration);
        }
        Builder {
            scenario,
            setup,
            seed,
            options,
            topology,
            net,
            relay_stations: vec![],
            senders: Shared::default(),
            receivers: Shared::default(),
            interfaces: Shared::default(),
            subflows: Shared::default(),
            connections: Shared::default(),
            devices: Shared::default(),
        }
    }

    /// Divides the network of a topology into at most `parts` parts. Call it before adding routes.
    pub(super) fn cut(&mut self, parts: usize) {
        let map = self
            .topology
            .filter(|_| parts > 1)
            .and_then(|topology| parallel::cut(topology, parts));
        self.net.border = map.map(|map| Box::new(Border::new(Arc::new(map))));
    }

    /// Number of the next connection.
    pub(super) fn number(&self) -> u64 {
        self.connections.len() as u64
    }

    /// Start of the next connection, ns.
    pub(super) fn start_within(&self, start: Nanos, spread: Nanos) -> u64 {
        start_within(self.seed, self.number(), start, spread).0
    }

    /// The two ends of the next connection's application.
    pub(super) fn application(&self, workload: Workload) -> (Writer, Reader) {
        let (mss, warm_up) = (self.scenario.transport.mss, self.scenario.warm_up);
        let writes = Writes::new(workload, self.seed, self.number(), self.scenario.duration);
        (
            Writer::new(writes, mss),
            Reader::new(workload, mss, warm_up),
        )
    }

    /// Number of full segments that fit into a buffer, at least 1.
    pub(super) fn segments(&self, bytes: u64) -> u32 {
        u32::try_from(bytes / self.scenario.transport.mss.0)
            .unwrap_or(u32::MAX / 4)
            .max(1)
    }

    /// Adds a subflow, with both ends, to the next connection.
    pub(super) fn add_subflow(&mut self, config: SubflowConfig) {
        let SubflowConfig {
            local,
            downloads,
            routes,
            mut relay,
            ..
        } = config;
        let id = SubflowId {
            connection: self.connections.len() as u32,
            local,
            epoch: 0,
            downloads,
        };
        let window_end = relay.as_mut().map_or(u32::MAX, Relay::first_window);
        self.net.routes.add_subflow(routes);
        if let Some(most_ns) = self.processing_ns(&routes) {
            self.net.hosts.add_subflow(most_ns, self.seed);
        }
        let (of_data, of_acks) = (
            self.net.routes.hop(routes.data, 0),
            self.net.routes.hop(routes.acks, 0),
        );
        self.senders.push(SubflowSender::new(
            id,
            of_data,
            window_end,
            &self.scenario.transport,
        ));
        self.receivers
            .push(SubflowReceiver::new(id, of_acks, relay));
        self.interfaces.push(config.interface);
        self.subflows
            .push(Subflow::new(config.path, config.opens_at_ns));
    }
}
