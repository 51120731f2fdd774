//! A host as the kernel configures it: which subflows its configuration, its peer and the networks
//! between yield, and which counters that leaves.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use joulepath_kernel::mptcp::AddressId;
use joulepath_kernel::mptcp::path_manager::{Endpoint, Limits};
use joulepath_kernel::route::{Address, Link, Operation, Prefix, Route, Scope};
use joulepath_why::observation::{Host, Lookup};

/// A wrong reverse path loses answers.
const STRICT: u64 = 1;

/// Configuration of host, peer and networks. Interface 0 has the default route.
#[derive(Clone, Debug)]
pub(crate) struct Config {
    pub(crate) interfaces: usize,
    /// The program's socket is MPTCP.
    pub(crate) is_mptcp: bool,
    /// The peer's is.
    pub(crate) peer_is_mptcp: bool,
    pub(crate) has_endpoint: Vec<bool>,
    /// The endpoint is bound to its device.
    pub(crate) is_bound: Vec<bool>,
    /// A rule sends packets from its address to its device.
    pub(crate) has_rule: Vec<bool>,
    /// The network drops MP_JOIN.
    pub(crate) is_filtered: Vec<bool>,
    pub(crate) limit: u32,
    pub(crate) peer_limit: u32,
    pub(crate) rp_filter: u64,
    /// Joins of earlier connections, all answered.
    pub(crate) earlier_joins: u64,
}

/// What a connection gets.
#[derive(Clone, Debug, Default)]
pub(crate) struct Opened {
    /// Interfaces with a subflow, the first one first.
    pub(crate) used: Vec<usize>,
    pub(crate) fallback: bool,
    pub(crate) counters: BTreeMap<String, u64>,
}

impl Config {
    pub(crate) fn good(interfaces: usize) -> Self {
        Config {
            interfaces,
            is_mptcp: true,
            peer_is_mptcp: true,
            has_endpoint: vec![true; interfaces],
            is_bound: vec![true; interfaces],
            has_rule: vec![true; interfaces],
            is_filtered: vec![false; interfaces],
            limit: 2,
            peer_limit: 2,
            rp_filter: 0,
            earlier_joins: 0,
        }
    }

    /// The device through which packets from an interface's address leave.
    fn through(&self, interface: usize, bound: bool) -> usize {
        if bound || self.has_rule[interface] {
            interface
        } else {
            0
        }
    }

    /// Opens a connection as Linux' path manager does: a join for each endpoint within the limits.
    pub(crate) fn open(&self) -> Opened {
        let mut counters: BTreeMap<String, u64> = BTreeMap::new();
        let mut count =
            |name: &str, more: u64| *counters.entry(name.to_owned()).or_default() += more;
        count("MPTcpExtMPJoinSynTx", self.earlier_joins);
        count("MPTcpExtMPJoinSynAckRx", self.earlier_joins);
        let mut used = vec![0];
        let fallback = self.is_mptcp && !self.peer_is_mptcp;
        if fallback {
            count("MPTcpExtMPCapableFallbackSYNACK", 1);
        }
        let mut joins = 0;
        for interface in 1..self.interfaces {
            let begins =
                self.is_mptcp && !fallback && self.has_endpoint[interface] && joins < self.limit;
            if !begins {
                continue;
            }
            joins += 1;
            count("MPTcpExtMPJoinSynTx", 1);
            // A network drops packets with a foreign source address (RFC 2827).
            let leaves = self.through(interface, self.is_bound[interface]) == interface;
            if !leaves || self.is_filtered[interface] {
                continue;
            }
            if self.rp_filter == STRICT && self.through(interface, false) != interface {
                count("TcpExtIPReversePathFilter", 3);
                continue;
            }
            count("MPTcpExtMPJoinSynAckRx", 1);
            match used.len() as u32 <= self.peer_limit {
                true => used.push(interface),
                false => count("MPTcpExtMPRstRx", 1),
            }
        }
        Opened {
            used,
            fallback,
            counters,
        }
    }

    /// What `gather` reads of this host.
    pub(crate) fn host(&self, rmem: u64, wmem: u64) -> Host {
        let all = || 0..self.interfaces;
        let link = |at: usize| Link {
            index: device(at),
            name: name(at),
            hardware: vec![2, 0, 0, 0, 0, at as u8],
            up: true,
            carrier: true,
            operation: Operation::Up,
            mtu: 1500,
            ..Link::default()
        };
        let address = |at: usize| Address {
            device: device(at),
            address: ip(at),
            length: 24,
            peer: None,
            scope: Scope::Universe,
            tentative: false,
            duplicate: false,
            deprecated: false,
            temporary: false,
        };
        let route = |at: usize| Route {
            priority: 100 * at as u32,
            ..Route::via(Prefix::all_like(ip(at)), gateway(at), device(at))
        };
        let endpoint = |at: usize| Endpoint {
            id: Some(AddressId(at as u8)),
            interface: self.is_bound[at].then(|| device(at)),
            ..Endpoint::subflow(ip(at), device(at))
        };
        let lookups = all().flat_map(|at| {
            [None, Some(device(at))].map(|bound| Lookup {
                source: ip(at),
                bound,
                destination: peer().ip(),
                through: Some(device(self.through(at, bound.is_some()))),
            })
        });
        let sysctls = [
            (
                "net.ipv4.conf.all.rp_filter".to_owned(),
                self.rp_filter.to_string(),
            ),
            (
                "net.ipv4.tcp_rmem".to_owned(),
                format!("4096 131072 {rmem}"),
            ),
            ("net.ipv4.tcp_wmem".to_owned(), format!("4096 16384 {wmem}")),
            (
                "net.ipv4.tcp_available_congestion_control".to_owned(),
                "reno cubic bbr".to_owned(),
            ),
        ];
        let accepted_addresses = 0;
        Host {
            links: all().map(link).collect(),
            addresses: all().map(address).collect(),
            routes: all().map(route).collect(),
            endpoints: Some(
                all()
                    .filter(|&at| at > 0 && self.has_endpoint[at])
                    .map(endpoint)
                    .collect(),
            ),
            limits: Some(Limits {
                accepted_addresses,
                extra_subflows: self.limit,
            }),
            path_manager: Some("kernel".into()),
            sysctls: sysctls.into(),
            lookups: lookups.collect::<Vec<Lookup>>().into(),
            daemon: None,
            programs: BTreeMap::new(),
        }
    }
}

pub(crate) fn device(at: usize) -> u32 {
    2 + at as u32
}

fn name(at: usize) -> String {
    format!("radio{at}")
}

pub(crate) fn ip(at: usize) -> IpAddr {
    Ipv4Addr::new(192, 168, at as u8, 7).into()
}

fn gateway(at: usize) -> IpAddr {
    Ipv4Addr::new(192, 168, at as u8, 1).into()
}

pub(crate) fn peer() -> SocketAddr {
    (Ipv4Addr::new(203, 0, 113, 5), 443).into()
}
