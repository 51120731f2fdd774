//! Lists and changes devices, addresses, routes and rules.

use std::fmt;
use std::net::IpAddr;

use super::address::{self, Address};
use super::entry::{self, Flow, Route};
use super::link::{self, Counters, Link, ReceivedIpv6};
use super::neighbour::{self, Neighbour};
use super::nexthop::{self, Nexthop, Nexthops};
use super::rule::{self, Rule};
use super::uapi::{family, flag, kind};
use crate::error::{Doing, Result};
use crate::netlink::Netlink;

/// The loopback device's index in every namespace.
const LOOPBACK: u32 = 1;
const FAMILIES: [u8; 2] = [family::INET, family::INET6];

/// An rtnetlink socket in the namespace in which it was opened. Reading needs no capability,
/// changing needs `CAP_NET_ADMIN` there.
#[derive(Debug)]
pub struct Routing {
    netlink: Netlink,
}

impl Routing {
    /// Opens the socket in the calling thread's namespace.
    ///
    /// # Errors
    /// [`Error::Io`](crate::Error::Io) if the process has no file descriptors left.
    pub fn open() -> Result<Self> {
        Ok(Routing {
            netlink: Netlink::open(None).doing("opening an rtnetlink socket")?,
        })
    }

    /// All devices, sorted by index.
    ///
    /// # Errors
    /// [`Error::Busy`](crate::Error::Busy) if the list keeps changing,
    /// [`Error::Malformed`](crate::Error::Malformed) if the kernel's answer cannot be parsed.
    pub fn links(&mut self) -> Result<Vec<Link>> {
        let request = link::list_request();
        let links = self.netlink.list(kind::GET_LINK, &request, |reply| {
            Link::parse(reply.payload).map(Some)
        });
        sorted(links.map_err(|failure| failure.doing("listing network devices")))
    }

    /// The counters of each device, by index.
    ///
    /// # Errors
    /// As [`Self::links`].
    pub fn counters(&mut self) -> Result<Vec<(u32, Counters)>> {
        let request = link::counters_request();
        let counters = self.netlink.list(kind::GET_STATS, &request, |reply| {
            Counters::parse(reply.payload)
        });
        counters.map_err(|failure| failure.doing("reading the counters of network devices"))
    }

    /// IPv6 packets that a device has received; `None` without IPv6.
    ///
    /// # Errors
    /// As [`Self::links`].
    pub fn received_ipv6(&mut self, device: u32) -> Result<Option<ReceivedIpv6>> {
        let mut received = None;
        let request = link::ipv6_counters_request(device);
        self.netlink
            .ask(kind::GET_LINK, 0, &request, |reply| {
                received = ReceivedIpv6::parse(reply.payload)?;
                Ok(())
            })
            .map_err(|failure| failure.doing("reading the IPv6 counters of a network device"))?;
        Ok(received)
    }

    /// All addresses, sorted by device.
    ///
    /// # Errors
    /// As [`Self::links`].
    pub fn addresses(&mut self) -> Result<Vec<Address>> {
        let request = address::list_request();
        let addresses = self.netlink.list(kind::GET_ADDRESS, &request, |reply| {
            Address::parse(reply.payload)
        });
        sorted(addresses.map_err(|failure| failure.doing("listing addresses")))
    }

    /// All entries of all routing tables, sorted by destination. A route with a nexthop object has
    /// the object's hops.
    ///
    /// # Errors
    /// As [`Self::links`].
    pub fn routes(&mut self) -> Result<Vec<Route>> {
        let mut routes = vec![];
        for family in FAMILIES {
            let request = entry::list_request(family);
            let list = self.netlink.list(kind::GET_ROUTE, &request, |reply| {
                Route::parse(reply.payload)
            });
            routes.extend(list.map_err(|failure| failure.doing("listing routes"))?);
        }
        let lacks_hops =
            |(route, object): &(Route, Option<u32>)| object.is_some() && route.hops.is_empty();
        let objects = if routes.iter().any(lacks_hops) {
            self.nexthops()?
        } else {
            Nexthops::default()
        };
        let with_hops = |(route, object): (Route, Option<u32>)| match object {
            Some(object) if route.hops.is_empty() => Route {
                hops: objects.hops(object),
                ..route
            },
            _ => route,
        };
        sorted(Ok(routes.into_iter().map(with_hops).collect()))
    }

    /// The device through which a connection leaves; `None` if there is no route.
    ///
    /// # Errors
    /// [`Error::Malformed`](crate::Error::Malformed) if the kernel's answer cannot be parsed.
    pub fn lookup(&mut self, flow: &Flow) -> Result<Option<u32>> {
        let request = flow.request();
        let mut device = None;
        let asked = self.netlink.ask(kind::GET_ROUTE, 0, &request, |reply| {
            device = entry::lookup_answer(reply.payload)?;
            Ok(())
        });
        match asked {
            // No route, or the source is not an address of this host.
            Err(failure) if failure.errno().is_some() => Ok(None),
            asked => asked.map(|()| device).map_err(|failure| {
                failure.doing(format!("looking up the route to {}", flow.destination))
            }),
        }
    }

    /// All neighbours, sorted by device.
    ///
    /// # Errors
    /// As [`Self::links`].
    pub fn neighbours(&mut self) -> Result<Vec<Neighbour>> {
        let mut neighbours = vec![];
        for family in neighbour::FAMILIES {
            let request = neighbour::list_request(family);
            let list = self.netlink.list(kind::GET_NEIGHBOUR, &request, |reply| {
                Neighbour::parse(reply.payload)
            });
            neighbours.extend(list.map_err(|failure| failure.doing("listing neighbours"))?);
        }
        sorted(Ok(neighbours))
    }

    /// Makes the kernel ask a neighbour at once whether it is still there, instead of after its
    /// next packets.
    ///
    /// # Errors
    /// [`Error::Permission`](crate::Error::Permission) without `CAP_NET_ADMIN`;
    /// [`Error::Io`](crate::Error::Io) if its hardware address is unknown.
    pub fn probe_neighbour(&mut self, device: u32, address: IpAddr) -> Result<()> {
        let request = neighbour::probe_request(device, address);
        self.change(
            format_args!("asking the neighbour {address}"),
            kind::NEW_NEIGHBOUR,
            flag::REPLACE,
            &request,
        )
    }

    fn nexthops(&mut self) -> Result<Nexthops> {
        let request = nexthop::list_request();
        let list = self.netlink.list(kind::GET_NEXTHOP, &request, |reply| {
            Nexthop::parse(reply.payload)
        });
        list.map(Nexthops::new)
            .map_err(|failure| failure.doing("listing nexthop objects"))
    }

    /// All rules, sorted by priority.
    ///
    /// # Errors
    /// As [`Self::links`].
    pub fn rules(&mut self) -> Result<Vec<Rule>> {
        let mut rules = vec![];
        for family in FAMILIES {
            let request = rule::list_request(family);
            let list = self
                .netlink
                .list(kind::GET_RULE, &request, |reply| Rule::parse(reply.payload));
            match list {
                // The kernel has no rules for this family.
                Err(failure) if failure.errno() == Some(rustix::io::Errno::OPNOTSUPP) => {}
                list => rules.extend(list.map_err(|failure| failure.doing("listing rules"))?),
            }
        }
        sorted(Ok(rules))
    }

    /// Sets the loopback device up.
    ///
    /// # Errors
    /// [`Error::Permission`](crate::Error::Permission) without `CAP_NET_ADMIN`.
    pub fn set_loopback_up(&mut self) -> Result<()> {
        self.set_up(LOOPBACK, true)
    }

    /// Sets a device up or down.
    ///
    /// # Errors
    /// [`Error::Permission`](crate::Error::Permission) without `CAP_NET_ADMIN`;
    /// [`Error::Io`](crate::Error::Io) if there is no such device, or its driver refuses.
    pub fn set_up(&mut self, device: u32, up: bool) -> Result<()> {
        let doing = format_args!("setting device {device} {}", if up { "up" } else { "down" });
        self.change(doing, kind::NEW_LINK, 0, &link::set_up_request(device, up))
    }

    /// Sets a device's largest packet in bytes, its transmit queue length in packets, and the limit
    /// of segments per packet for TCP.
    ///
    /// # Errors
    /// As [`Self::set_up`].
    pub fn shape_device(
        &mut self,
        device: u32,
        mtu: u32,
        queue_packets: u32,
        segments: u32,
    ) -> Result<()> {
        let request = link::shape_request(device, mtu, queue_packets, segments);
        self.change(
            format_args!("setting the MTU of device {device} to {mtu}"),
            kind::NEW_LINK,
            0,
            &request,
        )
    }

    /// Adds an address with the full prefix length to the loopback device. It is reachable through
    /// every other device.
    ///
    /// # Errors
    /// As [`Self::add_address`].
    pub fn add_loopback_address(&mut self, address: IpAddr) -> Result<()> {
        self.add_address(LOOPBACK, address)
    }

    /// Adds an address with the full prefix length to a device.
    ///
    /// # Errors
    /// [`Error::Permission`](crate::Error::Permission) without `CAP_NET_ADMIN`;
    /// [`Error::Io`](crate::Error::Io) if the device already has it, or there is no such device.
    pub fn add_address(&mut self, device: u32, address: IpAddr) -> Result<()> {
        let doing = format_args!("adding the address {address} to device {device}");
        let request = address::request(device, address);
        self.change(
            doing,
            kind::NEW_ADDRESS,
            flag::CREATE | flag::EXCLUSIVE,
            &request,
        )
    }

    /// Removes an address with the full prefix length from a device.
    ///
    /// # Errors
    /// [`Error::Permission`](crate::Error::Permission) without `CAP_NET_ADMIN`;
    /// [`Error::Io`](crate::Error::Io) if the device does not have it.
    pub fn delete_address(&mut self, device: u32, address: IpAddr) -> Result<()> {
        let doing = format_args!("removing the address {address} from device {device}");
        self.change(
            doing,
            kind::DEL_ADDRESS,
            0,
            &address::request(device, address),
        )
    }

    /// Adds a rule: packets from `source` use `table`.
    ///
    /// # Errors
    /// [`Error::Permission`](crate::Error::Permission) without `CAP_NET_ADMIN`;
    /// [`Error::Io`](crate::Error::Io) if the rule exists already.
    pub fn add_source_rule(&mut self, source: IpAddr, table: u32) -> Result<()> {
        let doing = format_args!("adding a rule from {source} to table {table}");
        let request = Rule::from_source(source, table);
        self.change(
            doing,
            kind::NEW_RULE,
            flag::CREATE | flag::EXCLUSIVE,
            &request,
        )
    }

    /// Adds a rule after those of the same priority.
    ///
    /// # Errors
    /// As [`Self::add_source_rule`].
    pub fn add_rule(&mut self, rule: &Rule) -> Result<()> {
        let doing = format_args!("adding a rule for packets from {}", rule.source);
        self.change(
            doing,
            kind::NEW_RULE,
            flag::CREATE | flag::EXCLUSIVE,
            &rule.request(),
        )
    }

    /// Removes a rule.
    ///
    /// # Errors
    /// [`Error::Permission`](crate::Error::Permission) without `CAP_NET_ADMIN`;
    /// [`Error::Io`](crate::Error::Io) if there is no such rule.
    pub fn delete_rule(&mut self, rule: &Rule) -> Result<()> {
        let doing = format_args!("removing the rule for packets from {}", rule.source);
        self.change(doing, kind::DEL_RULE, 0, &rule.request())
    }

    /// Adds a route, or replaces the route with the same destination, priority and table.
    ///
    /// # Errors
    /// [`Error::Permission`](crate::Error::Permission) without `CAP_NET_ADMIN`;
    /// [`Error::Io`](crate::Error::Io) if a device or gateway cannot be used, with the kernel's
    /// reason.
    pub fn add_route(&mut self, route: &Route) -> Result<()> {
        let doing = format_args!(
            "routing to {} through {}",
            route.destination,
            through(route)
        );
        self.change(
            doing,
            kind::NEW_ROUTE,
            flag::CREATE | flag::REPLACE,
            &route.request(),
        )
    }

    /// Removes a route.
    ///
    /// # Errors
    /// [`Error::Permission`](crate::Error::Permission) without `CAP_NET_ADMIN`;
    /// [`Error::Io`](crate::Error::Io) if there is no such route.
    pub fn delete_route(&mut self, route: &Route) -> Result<()> {
        let doing = format_args!(
            "removing the route to {} through {}",
            route.destination,
            through(route)
        );
        self.change(doing, kind::DEL_ROUTE, 0, &route.delete_request())
    }

    fn change(
        &mut self,
        doing: fmt::Arguments<'_>,
        kind: u16,
        flags: u16,
        request: &[u8],
    ) -> Result<()> {
        let done = self.netlink.command(kind, flags, request);
        done.map_err(|failure| failure.doing(doing.to_string()))
    }
}

fn sorted<T: Ord>(list: Result<Vec<T>>) -> Result<Vec<T>> {
    let mut list = list?;
    list.sort_unstable();
    Ok(list)
}

/// The devices of a route, for messages.
fn through(route: &Route) -> String {
    let devices: Vec<String> = route
        .hops
        .iter()
        .filter_map(|hop| hop.device)
        .map(|device| format!("device {device}"))
        .collect();
    if devices.is_empty() {
        "no device".into()
    } else {
        devices.join(" and ")
    }
}
