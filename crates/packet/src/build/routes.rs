//! Routes, relays and path costs.

use joulepath_control::price::PathCost;
use joulepath_model::energy::InterfaceModel;
use joulepath_model::network::LinkSpec;
use joulepath_model::scenario::{ConnectionGroup, Direction, LinkIndex, PathIndex, PathSpec};
use joulepath_model::units::JoulesPerBit;
use joulepath_topology::Path;

use super::builder::Builder;
use super::tested::Tested;
use crate::path::hop::Hop;
use crate::path::host::End;
use crate::path::routes::{Route, Routes};
use crate::receiver::{Relay, RelayRoutes};

/// The station of one device on each channel, shared by all paths of the device.
pub(super) struct Sinks(Vec<Option<Hop>>);

impl Sinks {
    pub(super) fn none(channels: usize) -> Self {
        Sinks(vec![None; channels])
    }
}

impl Builder<'_> {
    /// Adds a station for each relay, shared by all connections.
    pub(super) fn add_relay_stations(&mut self) {
        for path in &self.scenario.paths {
            let station = path.relay.map(|relay| self.net.add_station(relay.channel));
            self.relay_stations.push(station);
        }
    }

    /// The routes of a subflow, and the TCP relay at its end, if any.
    pub(super) fn routes(
        &mut self,
        tested: &Tested<'_>,
        path: &Path,
        sinks: &mut Sinks,
    ) -> (Routes, Option<Relay>) {
        let spec = &self.scenario.paths[path.interface];
        let (down, up) = self.whole_route(path, sinks);
        let relay = self.relay(tested, path.interface, &down, &up);
        // A TCP relay ends the subflow: its data and ACKs cross the links only.
        let (down, up) = if relay.is_some() {
            (self.hops(spec, &spec.down), self.hops(spec, &spec.up))
        } else {
            (down, up)
        };
        let (data, acks) = match tested.group.direction {
            Direction::Download => (down, up),
            Direction::Upload => (up, down),
        };
        let data = self.route(&data, spec, End::Receiver);
        (
            Routes {
                data,
                acks: self.route(&acks, spec, End::Sender),
            },
            relay,
        )
    }

    /// The hops over `links`. The link at the device's radio is marked, unless it is beyond a relay
    /// or in a topology, where no radio sleeps.
    fn hops(&self, spec: &PathSpec, links: &[LinkIndex]) -> Vec<Hop> {
        let may_sleep = self.topology.is_none() && spec.relay.is_none();
        let at_radio = |link| may_sleep && (link == spec.radio.0 || link == spec.radio.1);
        let hop = |&link: &LinkIndex| match at_radio(link) {
            true => Hop::at_radio(link),
            false => Hop::over(link),
        };
        links.iter().map(hop).collect()
    }

    /// The hops between server and device in both directions, over links and stations.
    fn whole_route(&mut self, path: &Path, sinks: &mut Sinks) -> (Vec<Hop>, Vec<Hop>) {
        let spec = &self.scenario.paths[path.interface];
        let (mut down, mut up) = (self.hops(spec, &path.down), self.hops(spec, &path.up));
        if let (Some(relay), Some(station)) = (spec.relay, self.relay_stations[path.interface]) {
            let sink =
                sinks.0[relay.channel].get_or_insert_with(|| self.net.add_station(relay.channel));
            down.push(station);
            up.insert(0, *sink);
        }
        (down, up)
    }

    /// A route over `hops` without transparent links: a path without a rate of its own has such a
    /// link next to the device. The link stays if a radio sleeps there, or if the route would be
    /// empty.
    fn route(&mut self, hops: &[Hop], spec: &PathSpec, end: End) -> Route {
        let sleeps = matches!(spec.energy.model, InterfaceModel::Rrc(_));
        let is_transparent = |link: usize| {
            self.scenario
                .links
                .get(link)
                .is_some_and(LinkSpec::is_transparent)
        };
        let acts = |hop: &Hop| sleeps || !hop.link().is_some_and(is_transparent);
        let acting: Vec<Hop> = hops.iter().copied().filter(acts).collect();
        self.net
            .add_route(if acting.is_empty() { hops } else { &acting }, end)
    }

    /// A route over these links only.
    pub(super) fn plain_route(&mut self, links: &[LinkIndex], end: End) -> Route {
        let hops: Vec<Hop> = links.iter().map(|&link| Hop::over(link)).collect();
        self.net.add_route(&hops, end)
    }

    /// The TCP relay of a path, if any. MAX − MIN is the part of the receive buffer that the
    /// connection's relays leave.
    fn relay(
        &mut self,
        tested: &Tested<'_>,
        path: PathIndex,
        down: &[Hop],
        up: &[Hop],
    ) -> Option<Relay> {
        let buffer = |path: PathIndex| {
            self.scenario.paths[path]
                .relay
                .and_then(|relay| relay.kind.buffer())
        };
        let (capacity, station) = (buffer(path)?, self.relay_stations[path]?);
        let relays: u64 = tested.indices().filter_map(buffer).map(u64::from).sum();
        let ConnectionGroup { receive_buffer, .. } = tested.group;
        let sink = receive_buffer.0 / self.scenario.transport.mss.0;
        let range = u32::try_from(sink.saturating_sub(relays))
            .unwrap_or(u32::MAX / 4)
            .max(1);
        let spec = &self.scenario.paths[path];
        // A relay's subflow is a download: packets that travel up reach its sender.
        let (down, up) = (
            self.route(down, spec, End::Receiver),
            self.route(up, spec, End::Sender),
        );
        let routes = RelayRoutes {
            down,
            up,
            last: self.net.add_route(&[station], End::Receiver),
            station,
        };
        Some(Relay::new(routes, capacity, range))
    }

    /// The energy model of an interface. In a topology every byte leaves one host's interface and
    /// enters another's, so both directions count.
    pub(super) fn interface_model(&self, path: PathIndex) -> InterfaceModel {
        let model = self.scenario.paths[path].energy.model.clone();
        match model {
            InterfaceModel::Linear {
                down,
                up,
                sunk,
                sunk_while,
            } if self.topology.is_some() => {
                let both = JoulesPerBit(down.0 + up.0);
                InterfaceModel::Linear {
                    down: both,
                    up: both,
                    sunk,
                    sunk_while,
                }
            }
            model => model,
        }
    }

    /// The cost of each subflow's path.
    pub(super) fn costs(&self, tested: &Tested<'_>) -> Vec<PathCost> {
        let direction = tested.group.direction;
        let Some(topology) = self.topology else {
            let paths: Vec<PathIndex> = tested.indices().collect();
            return PathCost::of(self.scenario, direction, &paths);
        };
        let cost = |path: &Path| {
            let data = if direction == Direction::Download {
                &path.down
            } else {
                &path.up
            };
            let between = data
                .iter()
                .copied()
                .filter(|&link| topology.is_between_switches(link));
            PathCost::in_topology(
                self.scenario,
                direction,
                path.interface,
                between,
                &topology.links,
            )
        };
        tested.paths.iter().map(cost).collect()
    }
}
