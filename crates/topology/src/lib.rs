//! Data-centre networks: the links of a [`TopologySpec`], and the random connections and routes of
//! a seed.
//!
//! ```text
//!   TopologySpec ──► Network { links, layers }        the same for every seed
//!                       │ draw(seed, subflows)
//!                       ▼
//!                    Connection { device, peer, paths }     one per host
//! ```
//!
//! Everything is a pure function of the specification and the seed.

#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_types))]

mod cube;
mod draw;
mod graph;
mod partition;
mod tree;

use joulepath_model::network::LinkSpec;
use joulepath_model::random::{Domain, Stream};
use joulepath_model::scenario::LinkIndex;
use joulepath_model::topology::{Routing, TopologyKind, TopologySpec};

use cube::{Bcube, Vpc};
use draw::{peers, some_of};
use graph::Graph;
pub use graph::{Arc, Node};
use tree::{FatTree, Vl2};

/// The links of a topology.
#[derive(Clone, Debug)]
pub struct Network {
    spec: TopologySpec,
    shape: Shape,
    graph: Graph,
    /// Number of hosts, which are nodes 0 to `hosts` − 1.
    pub hosts: u32,
    /// Number of switches, which are the nodes after the hosts.
    pub switches: u32,
    /// Every unidirectional link.
    pub links: Vec<LinkSpec>,
    /// Names of the layers, from the hosts up.
    pub layers: Vec<String>,
}

/// Kind of network, which determines the routes.
#[derive(Clone, Copy, Debug)]
enum Shape {
    FatTree(FatTree),
    Vl2(Vl2),
    Bcube(Bcube),
    Vpc(Vpc),
}

/// One connection and the paths of its subflows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Connection {
    /// The host that owns the connection.
    pub device: Node,
    /// The far end.
    pub peer: Node,
    /// The path of each subflow.
    pub paths: Vec<Path>,
}

/// The path of one subflow: a route in each direction, over the same nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Path {
    /// Index of the device's interface.
    pub interface: usize,
    /// Links from the peer to the device.
    pub down: Vec<LinkIndex>,
    /// Links from the device to the peer.
    pub up: Vec<LinkIndex>,
    /// Hosts between the two ends that forward the packets.
    pub relays: u32,
}

impl Network {
    /// Builds the network of a specification.
    ///
    /// # Panics
    /// If the number of hosts exceeds 32 bits. Scenarios with such a specification are refused.
    pub fn new(spec: &TopologySpec) -> Self {
        let hosts = spec
            .kind
            .hosts()
            .expect("a parser bounds the number of hosts");
        let by_level = |what: &str, count: u32| {
            (0..count)
                .map(|index| format!("{what} {index}"))
                .collect::<Vec<_>>()
        };
        let named = |names: [&str; 3]| names.map(str::to_owned).to_vec();
        let (shape, graph, switches, layers) = match spec.kind {
            TopologyKind::FatTree { k } => {
                let tree = FatTree::new(k);
                let layers = named(["host-edge", "edge-aggregation", "aggregation-core"]);
                (Shape::FatTree(tree), tree.graph(), tree.switches(), layers)
            }
            TopologyKind::Vl2 {
                d_a,
                d_i,
                hosts_per_tor,
            } => {
                let vl2 = Vl2::new(d_a, d_i, hosts_per_tor);
                let layers = named(["host-tor", "tor-aggregation", "aggregation-intermediate"]);
                (Shape::Vl2(vl2), vl2.graph(), vl2.switches(), layers)
            }
            TopologyKind::Bcube { n, k } => {
                let bcube = Bcube::new(n, k);
                (
                    Shape::Bcube(bcube),
                    bcube.graph(),
                    bcube.switches(),
                    by_level("level", k + 1),
                )
            }
            TopologyKind::Vpc { hosts, interfaces } => {
                let vpc = Vpc { hosts, interfaces };
                (
                    Shape::Vpc(vpc),
                    vpc.graph(),
                    interfaces,
                    by_level("subnet", interfaces),
                )
            }
        };
        let links = graph.specs(spec, hosts);
        Network {
            spec: spec.clone(),
            shape,
            graph,
            hosts,
            switches,
            links,
            layers,
        }
    }

    /// Both ends and the layer of each link, in the order of [`Self::links`].
    pub fn arcs(&self) -> &[Arc] {
        &self.graph.arcs
    }

    /// True if both ends of a link are switches (L' of 002, section V-C).
    pub fn is_between_switches(&self, link: LinkIndex) -> bool {
        let arc = self.graph.arcs[link];
        arc.from >= self.hosts && arc.to >= self.hosts
    }

    /// Number of ends of a link that are switch ports.
    pub fn switch_ports(&self, link: LinkIndex) -> u32 {
        let arc = self.graph.arcs[link];
        u32::from(arc.from >= self.hosts) + u32::from(arc.to >= self.hosts)
    }

    /// Draws the connections under test: one per host, each with at most `subflows` subflows. The
    /// pairs of hosts depend on the seed only. With distinct routes, a smaller number of subflows
    /// uses the first of the routes of a larger number.
    pub fn draw(&self, seed: u64, subflows: u32) -> Vec<Connection> {
        let peers = peers(
            self.spec.traffic,
            self.hosts,
            &mut Stream::new(seed, Domain::Placement, 0),
        );
        let connection = |(device, peer): (Node, Node)| {
            let mut stream = Stream::new(seed, Domain::Routing, u64::from(device));
            let walks = self.walks(device, peer, subflows, &mut stream);
            Connection {
                device,
                peer,
                paths: walks.iter().map(|walk| self.path(walk)).collect(),
            }
        };
        (0..self.hosts).zip(peers).map(connection).collect()
    }

    /// Number of routes of least cost between two hosts; distinct routing draws from these. In
    /// BCube these are the parallel paths; longer ones also exist.
    pub fn choices(&self, a: Node, b: Node) -> u32 {
        match self.shape {
            Shape::FatTree(tree) => tree.choices(a, b),
            Shape::Vl2(vl2) => vl2.choices(a, b),
            Shape::Bcube(_) | Shape::Vpc(_) => self.spec.kind.interfaces(),
        }
    }

    /// The nodes on the path of each subflow.
    fn walks(&self, a: Node, b: Node, subflows: u32, stream: &mut Stream) -> Vec<Vec<Node>> {
        if let Shape::Bcube(bcube) = self.shape {
            return match self.spec.routing {
                Routing::Ecmp => (0..subflows)
                    .map(|_| bcube.shortest(a, b, stream))
                    .collect(),
                Routing::Distinct => bcube.distinct(a, b, subflows as usize, stream),
            };
        }
        let of = self.choices(a, b);
        let chosen = match self.spec.routing {
            Routing::Distinct => some_of(of, subflows, stream),
            Routing::Ecmp => (0..subflows)
                .map(|_| stream.below(u64::from(of)) as u32)
                .collect(),
        };
        let walk = |choice: u32| match self.shape {
            Shape::FatTree(tree) => tree.path(a, b, choice),
            Shape::Vl2(vl2) => vl2.path(a, b, choice),
            Shape::Vpc(vpc) => vpc.path(a, b, choice),
            Shape::Bcube(_) => unreachable!("handled above"),
        };
        chosen.into_iter().map(walk).collect()
    }

    fn path(&self, walk: &[Node]) -> Path {
        let up = self.graph.route(walk);
        let back: Vec<Node> = walk.iter().rev().copied().collect();
        let interface = match self.shape {
            Shape::FatTree(_) | Shape::Vl2(_) => 0,
            // In these networks a layer belongs to one interface.
            Shape::Bcube(_) | Shape::Vpc(_) => self.graph.arcs[up[0]].layer,
        };
        let between = &walk[1..walk.len() - 1];
        let relays = between.iter().filter(|&&node| node < self.hosts).count() as u32;
        Path {
            interface,
            down: self.graph.route(&back),
            up,
            relays,
        }
    }
}
