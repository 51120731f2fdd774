//! What was seen of the machine.

use std::collections::BTreeMap;
use std::net::IpAddr;

use joulepath_kernel::mptcp::diag::Listing;
use joulepath_kernel::mptcp::path_manager::{Endpoint, Limits};
use joulepath_kernel::route::{Address, Link, Route};
use serde::{Deserialize, Serialize};

/// Version of the JSON: a change that breaks readers increases it.
pub const SCHEMA: u32 = 1;

/// A machine, watched for some seconds.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Observation {
    /// [`SCHEMA`].
    pub schema: u32,
    /// At least two, in the order of time.
    pub samples: Vec<Sample>,
    /// Configuration.
    pub host: Host,
}

/// All connections at one instant.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Sample {
    /// Since the first sample, s.
    pub at_s: f64,
    /// Connections with their statistics.
    pub listing: Listing,
    /// Counters of TCP and MPTCP, as `nstat` names them; only in the first and the last sample.
    #[serde(default)]
    pub counters: BTreeMap<String, u64>,
}

/// Configuration of the host. What could not be read is `None` or absent.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Host {
    /// Network devices.
    pub links: Vec<Link>,
    /// Their addresses.
    pub addresses: Vec<Address>,
    /// Routes of all tables.
    pub routes: Vec<Route>,
    /// Endpoints of the in-kernel path manager.
    pub endpoints: Option<Vec<Endpoint>>,
    /// Its limits.
    pub limits: Option<Limits>,
    /// Path manager of new connections: `kernel` or `userspace`.
    pub path_manager: Option<String>,
    /// Settings by name, such as `net.ipv4.tcp_rmem`.
    pub sysctls: BTreeMap<String, String>,
    /// Answers of the routing tables.
    pub lookups: Vec<Lookup>,
    /// Processes by the inode of their socket; empty for sockets of other users without root's rights.
    pub programs: BTreeMap<u32, Program>,
}

/// The device through which packets of a source address leave.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lookup {
    /// Source address, one of this host's.
    pub source: IpAddr,
    /// Device that the socket is bound to; `None`: not bound.
    pub bound: Option<u32>,
    /// Destination.
    pub destination: IpAddr,
    /// Index of the device; `None`: no route.
    pub through: Option<u32>,
}

/// A process that holds a socket.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Program {
    /// Process id.
    pub pid: u32,
    /// Name, as `ps` shows it.
    pub name: String,
}

impl Host {
    /// Name of a device.
    pub fn device_name(&self, index: u32) -> String {
        let link = self.links.iter().find(|link| link.index == index);
        link.map_or_else(|| format!("device {index}"), |link| link.name.clone())
    }

    /// The device that has this address.
    pub fn device_of(&self, address: IpAddr) -> Option<u32> {
        self.addresses.iter().find(|one| one.address == address).map(|one| one.device)
    }

    /// The answer for packets from `source` to `destination`; `None` if it was not asked.
    pub fn route(&self, source: IpAddr, bound: Option<u32>, destination: IpAddr) -> Option<Option<u32>> {
        let is_asked =
            |one: &&Lookup| one.source == source && one.bound == bound && one.destination == destination;
        self.lookups.iter().find(is_asked).map(|one| one.through)
    }

    /// A setting, as text.
    pub fn sysctl(&self, name: &str) -> Option<&str> {
        self.sysctls.get(name).map(String::as_str)
    }

    /// The n-th number of a setting.
    pub fn number(&self, name: &str, n: usize) -> Option<u64> {
        self.sysctl(name)?.split_whitespace().nth(n)?.parse().ok()
    }
}
