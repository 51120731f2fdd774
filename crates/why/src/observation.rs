//! What was seen of the machine.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::net::IpAddr;

use joulepath_kernel::mptcp::diag::Listing;
use joulepath_kernel::mptcp::path_manager::{Endpoint, Limits};
use joulepath_kernel::route::{Address, Link, Route};
use serde::{Deserialize, Serialize};

/// Version of the JSON: a change that breaks readers increases it.
pub const SCHEMA: u32 = 1;

/// Kinds of devices whose packets leave through another device.
const TUNNELS: [&str; 8] = [
    "wireguard",
    "ipip",
    "sit",
    "gre",
    "gretap",
    "vti",
    "xfrm",
    "ip6tnl",
];
/// First letters of the names that VPN programs give to TUN devices. Other programs build links of
/// them.
const VPNS: [&str; 10] = [
    "cscotun",
    "mullvad",
    "nord",
    "ovpn",
    "proton",
    "tailscale",
    "tap",
    "tun",
    "utun",
    "vpn",
];

/// A machine, watched for some seconds.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Observation<'a> {
    /// [`SCHEMA`].
    pub schema: u32,
    /// At least two, in the order of time.
    pub samples: Vec<Sample<'a>>,
    /// Configuration.
    pub host: Host,
}

/// All connections at one instant.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Sample<'a> {
    /// Since the first sample, s.
    pub at_s: f64,
    /// Connections with their statistics.
    pub listing: Cow<'a, Listing>,
    /// Counters of TCP and MPTCP, as `nstat` names them; only in the first and the last sample.
    #[serde(default)]
    pub counters: Cow<'a, BTreeMap<String, u64>>,
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
    pub lookups: Lookups,
    /// The daemon of this network namespace.
    #[serde(default)]
    pub daemon: Option<Daemon>,
    /// Processes by the inode of their socket; empty for sockets of other users without root's
    /// rights.
    pub programs: BTreeMap<u32, Program>,
}

/// The daemon, and what it has decided.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Daemon {
    /// The intent in force; empty if the daemon does not answer.
    pub intent: String,
    /// The interfaces that it manages.
    pub interfaces: Vec<Managed>,
    /// Devices that take connections and that its configuration does not name; true if these
    /// connections may have subflows on other devices.
    #[serde(default)]
    pub tunnels: BTreeMap<String, bool>,
}

/// An interface that the daemon manages.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Managed {
    /// Name of the device.
    pub name: String,
    /// True if connections shall use it.
    pub is_wanted: bool,
    /// The daemon's reason, a sentence.
    pub reason: String,
    /// The command that makes the daemon use it; `None` if no command of the daemon does.
    pub command: Option<String>,
    /// Its rate, as the daemon remembers it, bit/s.
    pub rate_bps: Option<f64>,
}

impl Daemon {
    /// The decision on an interface.
    pub fn of(&self, name: &str) -> Option<&Managed> {
        self.interfaces.iter().find(|one| one.name == name)
    }

    /// True if the daemon leaves an interface unused. An interface that it does not know is not its
    /// user's.
    pub fn spares(&self, name: &str) -> bool {
        self.of(name).is_none_or(|one| !one.is_wanted)
    }
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

/// Answers of the routing tables, found by their question.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(from = "Vec<Lookup>", into = "Vec<Lookup>")]
pub struct Lookups(BTreeMap<(IpAddr, Option<u32>, IpAddr), Option<u32>>);

impl From<Vec<Lookup>> for Lookups {
    fn from(all: Vec<Lookup>) -> Self {
        let entry = |one: Lookup| ((one.source, one.bound, one.destination), one.through);
        Lookups(all.into_iter().map(entry).collect())
    }
}

impl From<Lookups> for Vec<Lookup> {
    fn from(all: Lookups) -> Self {
        let lookup = |((source, bound, destination), through)| Lookup {
            source,
            bound,
            destination,
            through,
        };
        all.0.into_iter().map(lookup).collect()
    }
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

    /// True for a device whose packets leave through another one: as the daemon says, else by its
    /// kind.
    pub fn is_tunnel(&self, index: u32) -> bool {
        let Some(link) = self.links.iter().find(|link| link.index == index) else {
            return false;
        };
        let daemon = self.daemon.as_ref();
        if daemon.is_some_and(|daemon| daemon.of(&link.name).is_some()) {
            return false;
        }
        let is_of_vpn = match link.kind.as_deref() {
            Some("tun") => VPNS.iter().any(|start| link.name.starts_with(start)),
            Some(kind) => TUNNELS.contains(&kind),
            None => false,
        };
        is_of_vpn || daemon.is_some_and(|daemon| daemon.tunnels.contains_key(&link.name))
    }

    /// True for a tunnel whose connections have no subflow on another device.
    pub fn keeps(&self, index: u32) -> bool {
        let name = self.device_name(index);
        let may = self
            .daemon
            .as_ref()
            .and_then(|daemon| daemon.tunnels.get(&name))
            .copied();
        self.is_tunnel(index) && may != Some(true)
    }

    /// The device that has this address.
    pub fn device_of(&self, address: IpAddr) -> Option<u32> {
        self.addresses
            .iter()
            .find(|one| one.address == address)
            .map(|one| one.device)
    }

    /// The answer for packets from `source` to `destination`; `None` if it was not asked.
    pub fn route(
        &self,
        source: IpAddr,
        bound: Option<u32>,
        destination: IpAddr,
    ) -> Option<Option<u32>> {
        self.lookups.0.get(&(source, bound, destination)).copied()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_daemon_knows_better_than_the_kind_which_device_is_a_tunnel() {
        let link = |index, name: &str, kind: &str| Link {
            index,
            name: name.into(),
            kind: Some(kind.into()),
            ..Link::default()
        };
        let links = vec![
            link(1, "office", "tun"),
            link(2, "wg0", "wireguard"),
            link(3, "wg1", "wireguard"),
        ];
        let mut host = Host {
            links,
            ..Host::default()
        };
        let all = |host: &Host| [1, 2, 3].map(|index| (host.is_tunnel(index), host.keeps(index)));
        assert_eq!(all(&host), [(false, false), (true, true), (true, true)]);
        let named = Managed {
            name: "wg0".into(),
            is_wanted: true,
            reason: String::new(),
            command: None,
            rate_bps: None,
        };
        let tunnels = [("office".into(), false), ("wg1".into(), true)].into();
        host.daemon = Some(Daemon {
            interfaces: vec![named],
            tunnels,
            ..Daemon::default()
        });
        assert_eq!(all(&host), [(true, true), (false, false), (true, false)]);
    }
}
