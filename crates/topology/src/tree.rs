//! Hierarchies of switches: FatTree (Al-Fares, Loukissas, Vahdat, SIGCOMM 2008) and VL2 (Greenberg
//! et al., SIGCOMM 2009).

use crate::graph::{Graph, Node};

/// FatTree of k-port switches: k pods of k/2 edge and k/2 aggregation switches, (k/2)² core
/// switches.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FatTree {
    /// k/2.
    half: u32,
}

impl FatTree {
    pub(crate) fn new(k: u32) -> Self {
        FatTree { half: k / 2 }
    }

    fn hosts(self) -> u32 {
        2 * self.half * self.half * self.half
    }

    pub(crate) fn switches(self) -> u32 {
        5 * self.half * self.half
    }

    pub(crate) fn hosts_of_pod(self) -> u32 {
        self.half * self.half
    }

    /// Edge switches are numbered through all pods.
    fn edge(self, index: u32) -> Node {
        self.hosts() + index
    }

    fn aggregation(self, pod: u32, index: u32) -> Node {
        self.hosts() + 2 * self.half * self.half + pod * self.half + index
    }

    /// Core switch `index` of those connected to aggregation switch number `group` of each pod.
    fn core(self, group: u32, index: u32) -> Node {
        self.hosts() + 4 * self.half * self.half + group * self.half + index
    }

    pub(crate) fn graph(self) -> Graph {
        let (half, mut graph) = (self.half, Graph::default());
        for host in 0..self.hosts() {
            graph.connect(host, self.edge(host / half), 0);
        }
        for pod in 0..2 * half {
            for edge in 0..half {
                for up in 0..half {
                    graph.connect(self.edge(pod * half + edge), self.aggregation(pod, up), 1);
                }
            }
        }
        for pod in 0..2 * half {
            for group in 0..half {
                for index in 0..half {
                    graph.connect(self.aggregation(pod, group), self.core(group, index), 2);
                }
            }
        }
        graph
    }

    /// Number of shortest paths: 1 below one edge switch, k/2 within a pod, (k/2)² between pods.
    pub(crate) fn choices(self, a: Node, b: Node) -> u32 {
        let (edges, pods) = self.places(a, b);
        match () {
            () if edges.0 == edges.1 => 1,
            () if pods.0 == pods.1 => self.half,
            () => self.half * self.half,
        }
    }

    pub(crate) fn path(self, a: Node, b: Node, choice: u32) -> Vec<Node> {
        let (edges, pods) = self.places(a, b);
        if edges.0 == edges.1 {
            return vec![a, self.edge(edges.0), b];
        }
        if pods.0 == pods.1 {
            return vec![
                a,
                self.edge(edges.0),
                self.aggregation(pods.0, choice),
                self.edge(edges.1),
                b,
            ];
        }
        let (group, index) = (choice / self.half, choice % self.half);
        vec![
            a,
            self.edge(edges.0),
            self.aggregation(pods.0, group),
            self.core(group, index),
            self.aggregation(pods.1, group),
            self.edge(edges.1),
            b,
        ]
    }

    /// Edge switch and pod of each of two hosts.
    fn places(self, a: Node, b: Node) -> ((u32, u32), (u32, u32)) {
        let edges = (a / self.half, b / self.half);
        (edges, (edges.0 / self.half, edges.1 / self.half))
    }
}

/// VL2: each top-of-rack switch is connected to two aggregation switches, and each aggregation
/// switch to all intermediate switches. Traffic between racks is spread over the intermediate
/// switches (Valiant load balancing).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Vl2 {
    /// D_A/2: the number of intermediate switches, and of racks below each pair of aggregation
    /// switches.
    half_a: u32,
    /// D_I: the number of aggregation switches.
    aggregations: u32,
    per_tor: u32,
}

impl Vl2 {
    pub(crate) fn new(d_a: u32, d_i: u32, hosts_per_tor: u32) -> Self {
        Vl2 {
            half_a: d_a / 2,
            aggregations: d_i,
            per_tor: hosts_per_tor,
        }
    }

    fn tors(self) -> u32 {
        self.half_a * self.aggregations / 2
    }

    fn hosts(self) -> u32 {
        self.tors() * self.per_tor
    }

    pub(crate) fn switches(self) -> u32 {
        self.tors() + self.aggregations + self.half_a
    }

    /// Number of hosts below one pair of aggregation switches.
    pub(crate) fn hosts_of_pair(self) -> u32 {
        self.half_a * self.per_tor
    }

    fn tor(self, index: u32) -> Node {
        self.hosts() + index
    }

    /// One of the two aggregation switches of a rack.
    fn aggregation(self, tor: u32, side: u32) -> Node {
        self.hosts() + self.tors() + self.pair(tor) * 2 + side
    }

    fn intermediate(self, index: u32) -> Node {
        self.hosts() + self.tors() + self.aggregations + index
    }

    fn pair(self, tor: u32) -> u32 {
        tor / self.half_a
    }

    pub(crate) fn graph(self) -> Graph {
        let mut graph = Graph::default();
        for host in 0..self.hosts() {
            graph.connect(host, self.tor(host / self.per_tor), 0);
        }
        for tor in 0..self.tors() {
            for side in 0..2 {
                graph.connect(self.tor(tor), self.aggregation(tor, side), 1);
            }
        }
        for aggregation in 0..self.aggregations {
            for index in 0..self.half_a {
                let from = self.hosts() + self.tors() + aggregation;
                graph.connect(from, self.intermediate(index), 2);
            }
        }
        graph
    }

    /// Number of paths: 1 within a rack. Between racks there is one for every intermediate switch
    /// and each of 2 × 2 choices of aggregation switches, except those that pass a switch twice.
    pub(crate) fn choices(self, a: Node, b: Node) -> u32 {
        let (from, to) = (a / self.per_tor, b / self.per_tor);
        match () {
            () if from == to => 1,
            () if self.pair(from) == self.pair(to) => 2 * self.half_a,
            () => 4 * self.half_a,
        }
    }

    pub(crate) fn path(self, a: Node, b: Node, choice: u32) -> Vec<Node> {
        let (from, to) = (a / self.per_tor, b / self.per_tor);
        if from == to {
            return vec![a, self.tor(from), b];
        }
        let (index, sides) = (choice % self.half_a, choice / self.half_a);
        let up = sides % 2;
        let down = if self.pair(from) == self.pair(to) {
            1 - up
        } else {
            sides / 2
        };
        vec![
            a,
            self.tor(from),
            self.aggregation(from, up),
            self.intermediate(index),
            self.aggregation(to, down),
            self.tor(to),
            b,
        ]
    }
}
