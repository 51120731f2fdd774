//! Hosts, switches, and the links between them.

use std::collections::BTreeMap;

use joulepath_model::network::{LinkSpec, RateSpec};
use joulepath_model::scenario::LinkIndex;
use joulepath_model::topology::TopologySpec;

/// Number of a host or a switch. Hosts come first.
pub type Node = u32;

/// One direction of a cable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arc {
    /// The node that sends.
    pub from: Node,
    /// The node that receives.
    pub to: Node,
    /// Index into [`crate::Network::layers`].
    pub layer: usize,
}

/// A network under construction.
#[derive(Clone, Debug, Default)]
pub(crate) struct Graph {
    pub(crate) arcs: Vec<Arc>,
    links: BTreeMap<(Node, Node), LinkIndex>,
}

impl Graph {
    /// Adds a cable, which consists of two links.
    pub(crate) fn connect(&mut self, a: Node, b: Node, layer: usize) {
        for (from, to) in [(a, b), (b, a)] {
            self.links.insert((from, to), self.arcs.len());
            self.arcs.push(Arc { from, to, layer });
        }
    }

    /// The links along a walk from neighbour to neighbour.
    pub(crate) fn route(&self, nodes: &[Node]) -> Vec<LinkIndex> {
        nodes
            .windows(2)
            .map(|pair| self.links[&(pair[0], pair[1])])
            .collect()
    }

    /// The specification of every link. Links of hosts and links between switches have different
    /// rates.
    pub(crate) fn specs(&self, spec: &TopologySpec, hosts: u32) -> Vec<LinkSpec> {
        let link = |arc: &Arc| {
            let at_host = arc.from < hosts || arc.to < hosts;
            let name = format!("{}-{}", name(arc.from, hosts), name(arc.to, hosts));
            let rate = RateSpec::Constant(if at_host { spec.rate } else { spec.switch_rate });
            LinkSpec {
                ecn_threshold: spec.ecn_threshold,
                ..LinkSpec::new(name, rate, spec.delay, spec.queue)
            }
        };
        self.arcs.iter().map(link).collect()
    }
}

fn name(node: Node, hosts: u32) -> String {
    if node < hosts {
        format!("h{node}")
    } else {
        format!("s{}", node - hosts)
    }
}
