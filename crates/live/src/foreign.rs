//! Devices that the configuration does not name and that take connections, such as a VPN's tunnel.
//!
//! A connection that the routing table sends into such a device keeps all its subflows there,
//! unless `bypass` names the device. The kernel's path manager opens a subflow from each endpoint
//! for every connection. So while such a device takes connections, the daemon has no endpoints: it
//! opens the subflows of new connections itself, and asks the kernel for the route of each of them.
//!
//! The kernel chooses a path manager when a socket is created. A connection of the kernel's path
//! manager that has begun in a tunnel keeps the daemon from adding endpoints until it ends, also if
//! the tunnel is gone.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};

use joulepath_kernel::Result;
use joulepath_kernel::mptcp::Token;
use joulepath_kernel::mptcp::diag::{Connection, Listing};
use joulepath_kernel::route::{Flow, Link, Origin, Prefix, Route, RouteKind, Rule, View};
use joulepath_model::live::LiveConfig;

use crate::first;
use crate::status::TunnelStatus;

/// Virtual devices whose own network is on this machine, such as that of containers. They take
/// connections only by further routes.
const LOCAL: [&str; 8] = [
    "bridge", "dummy", "ifb", "ipvlan", "ipvtap", "macvlan", "macvtap", "veth",
];
/// Addresses all over the Internet: what the kernel answers for them is where new connections
/// start.
const INTERNET: [[&str; 4]; 2] = [
    ["1.1.1.1", "93.184.216.34", "151.101.1.69", "198.41.0.4"],
    [
        "2001:500:88:200::8",
        "2400:cb00:2048:1::1",
        "2606:4700:4700::1111",
        "2a00:1450:4001::1",
    ],
];

/// Indexes of the devices on which new connections start, IPv4 first.
pub(crate) type Starts = [BTreeSet<u32>; 2];

/// Asks the kernel where new connections start.
///
/// # Errors
/// As `lookup`.
pub(crate) fn starts(lookup: &mut dyn FnMut(&Flow) -> Result<Option<u32>>) -> Result<Starts> {
    let mut starts = Starts::default();
    for (start, addresses) in starts.iter_mut().zip(INTERNET) {
        for address in addresses.iter().filter_map(|text| text.parse().ok()) {
            start.extend(lookup(&Flow::to(address))?);
        }
    }
    Ok(starts)
}

/// Devices that take connections and are not named, by index.
pub(crate) fn taking(view: &View, is_named: impl Fn(&Link) -> bool) -> BTreeMap<u32, String> {
    let leads_away = |route: &&Route| {
        route.kind == RouteKind::Unicast && !first::is_ours(route) && !is_of_link(route.destination)
    };
    let is_foreign = |link: &&Link| !link.loopback && link.up && !is_named(link);
    let takes = |link: &&Link| {
        let is_local = link
            .kind
            .as_deref()
            .is_some_and(|kind| LOCAL.contains(&kind));
        view.routes.iter().filter(leads_away).any(|route| {
            route.hops.iter().any(|hop| hop.device == Some(link.index))
                && !(is_local && route.origin == Origin::Kernel)
        })
    };
    let devices = view.links.values().filter(is_foreign).filter(takes);
    devices
        .map(|link| (link.index, link.name.clone()))
        .collect()
}

/// True if these addresses are never behind a router.
fn is_of_link(destination: Prefix) -> bool {
    if destination.is_all() {
        return false;
    }
    match destination.address() {
        IpAddr::V4(ip) => ip.is_link_local() || ip.is_multicast() || ip.is_broadcast(),
        IpAddr::V6(ip) => ip.is_unicast_link_local() || ip.is_multicast(),
    }
}

/// True if the daemon may use the device.
pub(crate) fn is_named(config: &LiveConfig, link: &Link) -> bool {
    link.kind.is_none() || config.allows(&link.name)
}

/// True if another program's rule selects sockets by what only a listing shows: their user or mark.
pub(crate) fn selects_by_owner(view: &View) -> bool {
    view.rules
        .iter()
        .any(|rule: &Rule| rule.users.is_some() || rule.mark.is_some())
}

/// The route of a connection, as its first packet asked for it.
fn flow(connection: &Connection) -> Flow {
    let Connection { local, remote, .. } = connection;
    let first = connection
        .subflows
        .iter()
        .find(|one| (one.local, one.remote) == (*local, *remote));
    Flow {
        source: Some(local.ip().to_canonical()),
        ports: [local.port(), remote.port()],
        bound: first.and_then(|one| one.interface),
        mark: connection.mark,
        uid: Some(connection.uid),
        ..Flow::to(remote.ip().to_canonical())
    }
}

/// What the guard asks the kernel.
pub(crate) trait Asked {
    /// As [`joulepath_kernel::route::Routing::lookup`].
    fn device(&mut self, flow: &Flow) -> Result<Option<u32>>;
    /// True if the kernel's path manager opens the connection's subflows.
    fn is_of_kernel(&mut self, token: Token) -> bool;
}

/// The foreign devices, and the connections that have begun there.
#[derive(Debug, Default)]
pub(crate) struct Guard {
    /// Devices that take connections, and may not be bypassed.
    devices: BTreeMap<u32, String>,
    /// Connections of the last listing.
    begun: BTreeMap<Token, Begun>,
    /// Subflows of strays beside their device: both ends, and the device to which they are bound.
    beside: Vec<(SocketAddr, SocketAddr, Option<u32>)>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Begun {
    /// The foreign device on which it began.
    device: Option<u32>,
    /// True if it began there and the kernel's path manager opens its subflows.
    strays: bool,
}

impl Guard {
    /// Takes in the routes and a listing. A connection that was listed before such a device took
    /// connections began elsewhere.
    ///
    /// # Errors
    /// As [`Asked::device`].
    pub(crate) fn observe(
        &mut self,
        config: &LiveConfig,
        view: &View,
        listing: Option<&Listing>,
        kernel: &mut impl Asked,
    ) -> Result<()> {
        let may = |link: &Link| is_named(config, link) || config.may_bypass(&link.name);
        self.devices = taking(view, may);
        for begun in self.begun.values_mut() {
            if begun
                .device
                .and_then(|index| view.links.get(&index))
                .is_some_and(may)
            {
                *begun = Begun::default();
            }
        }
        let Some(listing) = listing else {
            return Ok(());
        };
        let before = std::mem::take(&mut self.begun);
        self.beside.clear();
        for connection in listing.connections.iter().filter(|one| !one.info.fallback) {
            let token = connection.info.token;
            let begun = match before.get(&token) {
                Some(begun) => *begun,
                None => {
                    let device = self.device_of(connection, view, kernel)?;
                    Begun {
                        device,
                        strays: device.is_some() && kernel.is_of_kernel(token),
                    }
                }
            };
            self.begun.insert(token, begun);
            if begun.strays {
                let is_there = |ip: IpAddr| {
                    view.addresses
                        .iter()
                        .any(|one| Some(one.device) == begun.device && one.address == ip)
                };
                let joined = connection
                    .subflows
                    .iter()
                    .filter(|one| one.membership.is_some_and(|m| m.joined));
                let beside = joined.filter(|one| !is_there(one.local.ip()));
                self.beside
                    .extend(beside.map(|one| (one.local, one.remote, one.interface)));
            }
        }
        Ok(())
    }

    /// The foreign device on which a connection has begun.
    fn device_of(
        &self,
        connection: &Connection,
        view: &View,
        kernel: &mut impl Asked,
    ) -> Result<Option<u32>> {
        if self.devices.is_empty() {
            return Ok(None);
        }
        let local = connection.local.ip().to_canonical();
        let mut owners = view
            .addresses
            .iter()
            .filter(|one| one.address == local)
            .map(|one| one.device);
        if let Some(owner) = owners.find(|device| self.devices.contains_key(device)) {
            return Ok(Some(owner));
        }
        Ok(kernel
            .device(&flow(connection))?
            .filter(|device| self.devices.contains_key(device)))
    }

    /// Lines for the log: what has changed since `before`, the names of the devices then.
    pub(crate) fn news(&self, before: &[String]) -> Vec<String> {
        let now = self.devices();
        let new = now.iter().filter(|name| !before.contains(name)).map(|name| {
            format!(
                "{name}, which the configuration does not name, takes connections: they get no subflows \
                 beside it; `bypass = [\"{name}\"]` permits them"
            )
        });
        let gone = before.iter().filter(|name| !now.contains(name));
        new.chain(gone.map(|name| format!("{name} takes no more connections")))
            .collect()
    }

    /// Names of the devices that take connections.
    pub(crate) fn devices(&self) -> Vec<String> {
        self.devices.values().cloned().collect()
    }

    /// True if the kernel's path manager opens the subflows of a connection that has begun on such
    /// a device.
    pub(crate) fn has_strays(&self) -> bool {
        self.begun.values().any(|begun| begun.strays)
    }

    /// Subflows that the kernel has opened beside such a device, for a connection that began there.
    pub(crate) fn beside(&self) -> &[(SocketAddr, SocketAddr, Option<u32>)] {
        &self.beside
    }

    /// True if there must be no endpoints.
    pub(crate) fn is_on(&self) -> bool {
        !self.devices.is_empty() || self.has_strays()
    }
}

/// The devices that take connections, for the status.
pub(crate) fn status(config: &LiveConfig, view: &View, starts: &Starts) -> Vec<TunnelStatus> {
    let tunnel = |(index, name): (u32, String)| TunnelStatus {
        general: starts.iter().any(|all| all.contains(&index)),
        bypass: config.may_bypass(&name),
        name,
    };
    taking(view, |link| is_named(config, link))
        .into_iter()
        .map(tunnel)
        .collect()
}

/// True if all new connections start on foreign devices.
pub(crate) fn takes_all(starts: &Starts, devices: &BTreeSet<u32>) -> bool {
    let mut all = starts.iter().flatten().peekable();
    all.peek().is_some() && all.all(|device| devices.contains(device))
}

#[cfg(test)]
mod tests {
    use joulepath_kernel::route::{Action, Hop};
    use joulepath_model::scenario::read_live;

    use super::*;
    use crate::samples::{address, connection, link};

    const WLAN: u32 = 2;
    const TUN: u32 = 3;

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    /// wlan0 with the default routes, and tun0, which has no route.
    fn view(kind: &str) -> View {
        let mut view = View::default();
        view.links.insert(WLAN, link(WLAN, "wlan0", true));
        view.links.insert(
            TUN,
            Link {
                kind: Some(kind.into()),
                ..link(TUN, "tun0", true)
            },
        );
        for (device, text) in [
            (WLAN, "192.0.2.7"),
            (TUN, "10.8.0.2"),
            (WLAN, "2001:db8::7"),
            (TUN, "fd08::2"),
        ] {
            view.addresses.insert(address(device, text));
        }
        for gateway in ["192.0.2.1", "2001:db8::1"].map(ip) {
            view.routes
                .insert(Route::via(Prefix::all_like(gateway), gateway, WLAN));
        }
        view
    }

    fn to(prefix: &str) -> Route {
        let (address, length) = prefix.split_once('/').unwrap();
        Route::on_link(
            Prefix::new(ip(address), length.parse().unwrap()).unwrap(),
            TUN,
        )
    }

    fn takes(view: &View, text: &str) -> bool {
        let config = read_live(&format!("intent = \"frugal\"\n{text}")).unwrap();
        !taking(view, |link| is_named(&config, link)).is_empty()
    }

    #[test]
    fn a_tunnel_takes_connections_by_routes_of_any_table_and_length() {
        let default = |v4: bool| to(if v4 { "0.0.0.0/0" } else { "::/0" });
        for routes in [
            vec![Route {
                priority: 50,
                ..default(true)
            }],
            vec![Route {
                priority: 50,
                ..default(false)
            }],
            vec![to("0.0.0.0/1"), to("128.0.0.0/1")],
            vec![to("::/1"), to("8000::/1")],
            vec![to("2000::/3")],
            vec![Route {
                table: 51_820,
                ..default(true)
            }],
            vec![Route {
                table: 51_820,
                ..default(false)
            }],
            vec![to("10.0.0.0/8")],
            vec![to("203.0.113.1/32")],
            vec![Route {
                origin: Origin::Kernel,
                ..to("10.8.0.0/24")
            }],
            vec![Route {
                hops: [WLAN, TUN]
                    .map(|device| Hop {
                        device: Some(device),
                        gateway: None,
                    })
                    .to_vec(),
                ..default(true)
            }],
        ] {
            let mut view = view("tun");
            assert!(!takes(&view, ""));
            view.routes.extend(routes.clone());
            assert!(takes(&view, ""), "{routes:?}");
            assert!(!takes(&view, "allow = [\"tun*\"]"));
            assert!(!takes(&view, "[[interface]]\nname = \"tun0\""));
            view.links.get_mut(&TUN).unwrap().up = false;
            assert!(!takes(&view, ""));
        }
    }

    #[test]
    fn networks_of_containers_and_of_the_link_take_no_connections() {
        for (kind, route, expected) in [
            (
                "bridge",
                Route {
                    origin: Origin::Kernel,
                    ..to("172.17.0.0/16")
                },
                false,
            ),
            ("bridge", to("172.17.0.0/16"), true),
            (
                "tun",
                Route {
                    origin: Origin::Kernel,
                    ..to("fe80::/64")
                },
                false,
            ),
            (
                "tun",
                Route {
                    origin: Origin::Kernel,
                    ..to("ff00::/8")
                },
                false,
            ),
            (
                "tun",
                Route {
                    kind: RouteKind::Other(3),
                    ..to("10.8.0.255/32")
                },
                false,
            ),
        ] {
            let mut view = view(kind);
            view.routes.insert(route.clone());
            assert_eq!(takes(&view, ""), expected, "{kind} {route:?}");
        }
    }

    #[test]
    fn rules_for_users_and_marks_need_the_owner_of_a_connection() {
        let mut view = view("tun");
        assert!(!selects_by_owner(&view));
        view.rules.insert(Rule {
            priority: 100,
            source: Prefix::ALL_V4,
            destination: None,
            incoming: None,
            outgoing: None,
            mark: None,
            users: Some((1000, 1000)),
            protocol: None,
            invert: false,
            action: Action::Table(77),
            suppress: None,
            origin: 3,
        });
        assert!(selects_by_owner(&view));
    }

    /// Answers with one device, and says that the kernel's path manager has all connections but 9.
    struct Fake(Option<u32>);

    impl Asked for Fake {
        fn device(&mut self, _: &Flow) -> Result<Option<u32>> {
            Ok(self.0)
        }

        fn is_of_kernel(&mut self, token: Token) -> bool {
            token != Token(9)
        }
    }

    fn listing(connections: &[(u32, &str)]) -> Listing {
        let one = |&(token, local): &(u32, &str)| connection(token, &[ip(local)]);
        Listing {
            connections: connections.iter().map(one).collect(),
            ..Listing::default()
        }
    }

    #[test]
    fn a_connection_that_began_in_a_tunnel_keeps_the_endpoints_away_until_it_ends() {
        let config = read_live("intent = \"frugal\"").unwrap();
        let (mut with, without) = (view("tun"), view("tun"));
        with.routes.insert(to("0.0.0.0/1"));
        for (local, route) in [("10.8.0.2", Some(WLAN)), ("192.0.2.7", Some(TUN))] {
            let mut guard = Guard::default();
            let mut look = |view: &View, all: &[(u32, &str)]| {
                guard
                    .observe(&config, view, Some(&listing(all)), &mut Fake(route))
                    .unwrap();
                (guard.is_on(), guard.has_strays())
            };
            // 1 began before the tunnel took connections.
            assert_eq!(look(&without, &[(1, "192.0.2.7")]), (false, false));
            assert_eq!(look(&with, &[(1, "192.0.2.7")]), (true, false));
            // The daemon steers 9 itself.
            assert_eq!(look(&with, &[(1, "192.0.2.7"), (9, local)]), (true, false));
            assert_eq!(look(&with, &[(1, "192.0.2.7"), (2, local)]), (true, true));
            assert_eq!(
                look(&without, &[(1, "192.0.2.7"), (2, local)]),
                (true, true),
                "{local}"
            );
            assert_eq!(look(&without, &[(1, "192.0.2.7")]), (false, false));
        }
        let bypass = read_live("intent = \"frugal\"\nbypass = [\"t*0\"]").unwrap();
        let mut guard = Guard::default();
        guard
            .observe(
                &config,
                &with,
                Some(&listing(&[(2, "10.8.0.2")])),
                &mut Fake(None),
            )
            .unwrap();
        assert!(guard.is_on() && guard.has_strays());
        guard
            .observe(&bypass, &with, None, &mut Fake(None))
            .unwrap();
        assert!(!guard.is_on());
    }

    #[test]
    fn all_new_connections_start_in_tunnels_if_no_family_starts_elsewhere() {
        let starts = |v4: &[u32], v6: &[u32]| [v4, v6].map(|all| all.iter().copied().collect());
        let tunnels = [TUN].into();
        assert!(
            takes_all(&starts(&[TUN], &[]), &tunnels)
                && takes_all(&starts(&[TUN], &[TUN]), &tunnels)
        );
        for other in [
            starts(&[TUN], &[WLAN]),
            starts(&[TUN, WLAN], &[]),
            starts(&[], &[]),
        ] {
            assert!(!takes_all(&other, &tunnels));
        }
    }
}
