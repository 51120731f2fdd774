//! A data-centre network, as data: its kind and size, the routing of connections, the power of its
//! switches. The `topology` crate has the links and routes.

use serde::Serialize;

use crate::network::QueueLimit;
use crate::units::{BitRate, Nanos, Probability, Watts};

/// A regular network of hosts and switches, instead of paths. Every host has one connection under
/// test.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TopologySpec {
    /// Kind and size.
    #[serde(flatten)]
    pub kind: TopologyKind,
    /// Rate of links that end at a host.
    pub rate: BitRate,
    /// Rate of links between switches.
    pub switch_rate: BitRate,
    /// One-way propagation delay of each link.
    pub delay: Nanos,
    /// DropTail queue of each link.
    pub queue: QueueLimit,
    /// An ECN-capable packet is marked if it finds a queue of at least this length.
    pub ecn_threshold: Option<QueueLimit>,
    /// Subflows of each connection, unless the policy sets their number.
    pub subflows: u32,
    /// How routes are assigned to subflows.
    pub routing: Routing,
    /// Which hosts talk to each other.
    pub traffic: TrafficPattern,
    /// Power of the switches.
    pub switch: SwitchPower,
}

/// Kind and size of a topology.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum TopologyKind {
    /// Three layers of k-port switches (Al-Fares et al., SIGCOMM 2008): k³/4 hosts, 5k²/4 switches.
    FatTree {
        /// Ports of a switch, even.
        k: u32,
    },
    /// Folded Clos (Greenberg et al., SIGCOMM 2009): D_A·D_I/4 ToR, D_I aggregation and D_A/2
    /// intermediate switches.
    Vl2 {
        /// Ports of an aggregation switch, even.
        d_a: u32,
        /// Ports of an intermediate switch, even.
        d_i: u32,
        /// Hosts below each top-of-rack switch.
        hosts_per_tor: u32,
    },
    /// Hosts with k + 1 interfaces that relay for each other (Guo et al., SIGCOMM 2009): n^(k+1)
    /// hosts, (k + 1)·n^k switches.
    Bcube {
        /// Ports of a switch.
        n: u32,
        /// Highest level.
        k: u32,
    },
    /// A virtual private cloud: each interface of a host is in its own subnet, with one switch per
    /// subnet.
    Vpc {
        /// Hosts.
        hosts: u32,
        /// Interfaces of each host, which is also the number of subnets.
        interfaces: u32,
    },
}

impl TopologyKind {
    /// Number of hosts; none if it exceeds 32 bits.
    pub fn hosts(self) -> Option<u32> {
        match self {
            TopologyKind::FatTree { k } => k.checked_pow(3).map(|cube| cube / 4),
            TopologyKind::Vl2 {
                d_a,
                d_i,
                hosts_per_tor,
            } => d_a
                .checked_mul(d_i)
                .and_then(|product| (product / 4).checked_mul(hosts_per_tor)),
            TopologyKind::Bcube { n, k } => n.checked_pow(k.checked_add(1)?),
            TopologyKind::Vpc { hosts, .. } => Some(hosts),
        }
    }

    /// Number of interfaces of each host.
    pub fn interfaces(self) -> u32 {
        match self {
            TopologyKind::FatTree { .. } | TopologyKind::Vl2 { .. } => 1,
            TopologyKind::Bcube { k, .. } => k + 1,
            TopologyKind::Vpc { interfaces, .. } => interfaces,
        }
    }

    /// True if there are links between switches.
    pub fn has_switch_links(self) -> bool {
        matches!(
            self,
            TopologyKind::FatTree { .. } | TopologyKind::Vl2 { .. }
        )
    }
}

/// How routes are assigned to subflows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Routing {
    /// Each subflow takes a different route, drawn from all routes of least cost. There are at most
    /// as many subflows as such routes.
    Distinct,
    /// Each subflow's route is drawn independently, like ECMP's hash of ports; two subflows may
    /// share a route.
    Ecmp,
}

/// Which hosts talk to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum TrafficPattern {
    /// Every host opens one connection and is the far end of exactly one other.
    Permutation,
    /// Every host opens one connection to a random other host.
    Random,
}

/// Power of the switches: P = P_idle + (P_max − P_idle)·utilisation, per port.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct SwitchPower {
    /// P_max of one port.
    pub port: Watts,
    /// P_idle/P_max.
    pub idle: Probability,
}
