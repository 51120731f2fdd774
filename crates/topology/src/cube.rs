//! Networks in which hosts have several interfaces: BCube (Guo et al., SIGCOMM 2009) and a virtual
//! private cloud.

use joulepath_model::random::Stream;

use crate::draw::shuffle;
use crate::graph::{Graph, Node};

/// Number of random paths to try for each wanted path beyond the parallel ones.
const TRIES: usize = 16;

/// BCube(n, k). Host addresses have k + 1 digits below n. A switch of level l connects the n hosts
/// whose addresses differ only in digit l.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bcube {
    n: u32,
    levels: u32,
}

impl Bcube {
    pub(crate) fn new(n: u32, k: u32) -> Self {
        Bcube { n, levels: k + 1 }
    }

    fn hosts(self) -> u32 {
        self.n.pow(self.levels)
    }

    pub(crate) fn switches(self) -> u32 {
        self.levels * self.per_level()
    }

    /// Number of hosts with the same highest digit.
    pub(crate) fn hosts_of_digit(self) -> u32 {
        self.n.pow(self.levels - 1)
    }

    fn per_level(self) -> u32 {
        self.n.pow(self.levels - 1)
    }

    /// The switch of `level` that `host` is connected to. Its number is the host's address without
    /// that digit.
    fn switch(self, level: u32, host: Node) -> Node {
        let weight = self.n.pow(level);
        let rest = host / (weight * self.n) * weight + host % weight;
        self.hosts() + level * self.per_level() + rest
    }

    fn digit(self, level: u32, host: Node) -> u32 {
        host / self.n.pow(level) % self.n
    }

    fn with_digit(self, level: u32, host: Node, digit: u32) -> Node {
        host - self.digit(level, host) * self.n.pow(level) + digit * self.n.pow(level)
    }

    pub(crate) fn graph(self) -> Graph {
        let mut graph = Graph::default();
        for level in 0..self.levels {
            for host in 0..self.hosts() {
                graph.connect(host, self.switch(level, host), level as usize);
            }
        }
        graph
    }

    /// The levels at which the addresses of two hosts differ.
    fn differing(self, a: Node, b: Node) -> Vec<u32> {
        (0..self.levels)
            .filter(|&level| self.digit(level, a) != self.digit(level, b))
            .collect()
    }

    /// Extends `walk` by correcting the digits at `levels`, in this order, to those of `b`.
    fn correct(self, walk: &mut Vec<Node>, levels: &[u32], b: Node) {
        for &level in levels {
            let host = *walk.last().expect("a walk begins somewhere");
            let next = self.with_digit(level, host, self.digit(level, b));
            walk.extend([self.switch(level, host), next]);
        }
    }

    /// A shortest path, which corrects the digits in random order.
    pub(crate) fn shortest(self, a: Node, b: Node, stream: &mut Stream) -> Vec<Node> {
        let mut levels = self.differing(a, b);
        shuffle(&mut levels, stream);
        let mut walk = vec![a];
        self.correct(&mut walk, &levels, b);
        walk
    }

    /// At most `wanted` different paths: first the k + 1 parallel paths of the BCube paper
    /// (BuildPathSet) in random order, then paths that leave at random levels and correct the
    /// digits in random order.
    pub(crate) fn distinct(
        self,
        a: Node,
        b: Node,
        wanted: usize,
        stream: &mut Stream,
    ) -> Vec<Vec<Node>> {
        let mut firsts: Vec<u32> = (0..self.levels).collect();
        shuffle(&mut firsts, stream);
        let descending = |first: u32| {
            (1..self.levels).map(move |step| (first + self.levels - step) % self.levels)
        };
        let parallel =
            |first: u32| self.leaving_at(first, descending(first).collect(), a, b, stream);
        let mut paths: Vec<Vec<Node>> = firsts.into_iter().map(parallel).collect();
        for _ in 0..TRIES * wanted {
            if paths.len() >= wanted {
                break;
            }
            let first = stream.below(u64::from(self.levels)) as u32;
            let mut rest: Vec<u32> = descending(first).collect();
            shuffle(&mut rest, stream);
            let path = self.leaving_at(first, rest, a, b, stream);
            if !paths.contains(&path) {
                paths.push(path);
            }
        }
        paths.truncate(wanted);
        paths
    }

    /// A path that leaves `a` at level `first` and continues in the order `rest`. If the hosts do
    /// not differ at that level, the path goes to a random neighbour there and corrects that digit
    /// last.
    fn leaving_at(
        self,
        first: u32,
        rest: Vec<u32>,
        a: Node,
        b: Node,
        stream: &mut Stream,
    ) -> Vec<Node> {
        let differs = |level: &u32| self.digit(*level, a) != self.digit(*level, b);
        let rest = rest.into_iter().filter(differs);
        let mut walk = vec![a];
        if differs(&first) {
            let levels: Vec<u32> = std::iter::once(first).chain(rest).collect();
            self.correct(&mut walk, &levels, b);
            return walk;
        }
        let other = stream.below(u64::from(self.n - 1)) as u32;
        let digit = if other >= self.digit(first, a) {
            other + 1
        } else {
            other
        };
        walk.extend([self.switch(first, a), self.with_digit(first, a, digit)]);
        let levels: Vec<u32> = rest.chain([first]).collect();
        self.correct(&mut walk, &levels, b);
        walk
    }
}

/// A virtual private cloud: interface i of every host is in subnet i, which is one switch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Vpc {
    pub(crate) hosts: u32,
    pub(crate) interfaces: u32,
}

impl Vpc {
    pub(crate) fn graph(self) -> Graph {
        let mut graph = Graph::default();
        for subnet in 0..self.interfaces {
            for host in 0..self.hosts {
                graph.connect(host, self.hosts + subnet, subnet as usize);
            }
        }
        graph
    }

    pub(crate) fn path(self, a: Node, b: Node, subnet: u32) -> Vec<Node> {
        vec![a, self.hosts + subnet, b]
    }
}
