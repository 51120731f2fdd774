//! Entries of routing tables.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use super::address::put_ip;
use super::prefix::Prefix;
use super::uapi::{MAIN_TABLE, family};
use crate::netlink::{Attributes, Bytes, Known, Malformed, put, put_nested};

/// `struct rtmsg`.
const HEADER_LEN: usize = 12;
const HEADER: &str = "struct rtmsg";
const FAMILY_AT: usize = 0;
const DESTINATION_LEN_AT: usize = 1;
const SOURCE_LEN_AT: usize = 2;
const TABLE_AT: usize = 4;
const ORIGIN_AT: usize = 5;
const KIND_AT: usize = 7;
const FLAGS_AT: usize = 8;

/// `RTM_F_CLONED`: cached information on one destination, which is no entry of a table.
const CLONED: u32 = 0x200;
const SCOPE_UNIVERSE: u8 = 0;
const SCOPE_LINK: u8 = 253;
const SCOPE_HOST: u8 = 254;
const SCOPE_NOWHERE: u8 = 255;

const DESTINATION: Known = Known(1, "RTA_DST");
const FROM: Known = Known(2, "RTA_SRC");
const DEVICE: Known = Known(4, "RTA_OIF");
const GATEWAY: Known = Known(5, "RTA_GATEWAY");
const PRIORITY: Known = Known(6, "RTA_PRIORITY");
const SOURCE: Known = Known(7, "RTA_PREFSRC");
const METRICS: Known = Known(8, "RTA_METRICS");
const HOPS: Known = Known(9, "RTA_MULTIPATH");
const TABLE: Known = Known(15, "RTA_TABLE");
/// A lookup's transport protocol: rules can select by it.
const PROTOCOL: u16 = 27;
/// The same for the mark, the user and both ports.
const MARK: u16 = 16;
const USER: u16 = 25;
const PORTS: [u16; 2] = [28, 29];
const VIA: Known = Known(18, "RTA_VIA");
const NEXTHOP: Known = Known(30, "RTA_NH_ID");

/// `RTAX_LOCK`: metrics that the kernel must not override. The minimum RTO counts only if it is
/// locked.
const METRIC_LOCK: u16 = 1;
/// `RTAX_CC_ALGO`: a name.
const METRIC_CONGESTION: Known = Known(16, "RTAX_CC_ALGO");
/// `struct rtnexthop`.
const HOP_LEN: usize = 8;

/// A route's property that TCP reads (`RTAX_…` in `linux/rtnetlink.h`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[repr(u16)]
pub enum Metric {
    /// Largest receive window, bytes, while the kernel's scaling ratio has its initial value.
    Window = 3,
    /// Initial congestion window, packets.
    InitialWindow = 11,
    /// Lower bound of the RTO, ms.
    MinRto = 13,
    /// 1: TCP acknowledges every segment at once.
    QuickAck = 15,
}

impl Metric {
    const ALL: [Metric; 4] = [
        Metric::Window,
        Metric::InitialWindow,
        Metric::MinRto,
        Metric::QuickAck,
    ];
}

/// One entry of a routing table.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Route {
    /// Destination addresses.
    pub destination: Prefix,
    /// Routing table.
    pub table: u32,
    /// Among routes with the same destination in one table, the lowest number wins. For IPv6 the
    /// kernel turns 0 into 1024.
    pub priority: u32,
    /// What happens to the packets.
    pub kind: RouteKind,
    /// The creator of the route.
    pub origin: Origin,
    /// Source address for sockets without one.
    pub source: Option<IpAddr>,
    /// Next hops, which share the traffic. Empty if the route forwards nothing.
    pub hops: Vec<Hop>,
    /// Metrics for TCP.
    pub metrics: Vec<(Metric, u32)>,
    /// The congestion controller of the connections that take it. Unlike the default of a network
    /// namespace, it may be one that is not allowed to all users.
    #[serde(default)]
    pub congestion: Option<String>,
}

/// A next hop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Hop {
    /// Index of the device; `None`: the kernel derives it from the gateway.
    pub device: Option<u32>,
    /// The router; `None` if the destination is on the link.
    pub gateway: Option<IpAddr>,
}

/// What happens to packets (`RTN_…`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RouteKind {
    /// Forwarded.
    Unicast,
    /// For this host.
    Local,
    /// Dropped silently.
    Blackhole,
    /// Refused as unreachable.
    Unreachable,
    /// Refused as prohibited.
    Prohibit,
    /// The lookup continues with the next rule.
    Throw,
    /// Another kind, by number: broadcast, multicast, anycast and others.
    Other(u8),
}

/// The creator of a route (`RTPROT_…`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Origin {
    /// The kernel, for a device's address.
    Kernel,
    /// A program that did not specify it.
    Boot,
    /// The administrator.
    Static,
    /// A router's advertisement.
    Advertisement,
    /// DHCP.
    Dhcp,
    /// Another, by number.
    Other(u8),
}

impl Route {
    /// A route in the main table to a destination on the device's link.
    pub fn on_link(destination: impl Into<Prefix>, device: u32) -> Self {
        Self::through(
            destination,
            Hop {
                device: Some(device),
                gateway: None,
            },
        )
    }

    /// A route in the main table through a gateway on the device's link.
    pub fn via(destination: impl Into<Prefix>, gateway: IpAddr, device: u32) -> Self {
        Self::through(
            destination,
            Hop {
                device: Some(device),
                gateway: Some(gateway),
            },
        )
    }

    fn through(destination: impl Into<Prefix>, hop: Hop) -> Self {
        Route {
            destination: destination.into(),
            table: MAIN_TABLE,
            priority: 0,
            kind: RouteKind::Unicast,
            origin: Origin::Static,
            source: None,
            hops: vec![hop],
            metrics: vec![],
            congestion: None,
        }
    }

    /// Parses an element of a list; `None` if it is no entry of a table. Also returns the id of the
    /// route's nexthop object, if any: the kernel repeats the object's hops in the route only if
    /// `net.ipv4.nexthop_compat_mode` is set.
    pub(super) fn parse(payload: &[u8]) -> Result<Option<(Self, Option<u32>)>, Malformed> {
        let (header, attributes) = Bytes::split(HEADER, payload, HEADER_LEN)?;
        let all = match header.u8(FAMILY_AT) {
            family::INET => Prefix::ALL_V4,
            family::INET6 => Prefix::ALL_V6,
            // An entry of multicast routing or MPLS.
            _ => return Ok(None),
        };
        if header.u32(FLAGS_AT) & CLONED != 0 {
            return Ok(None);
        }
        let destination = match attributes.ip(DESTINATION)? {
            Some(ip) => Prefix::new(ip, header.u8(DESTINATION_LEN_AT))
                .map_err(|error| Malformed::new(DESTINATION.1, error.to_string()))?,
            None => all,
        };
        let table = attributes
            .u32(TABLE)?
            .unwrap_or(u32::from(header.u8(TABLE_AT)));
        let of_tcp = attributes.nested(METRICS)?;
        let congestion = of_tcp.and_then(|all| all.text(METRIC_CONGESTION));
        let metrics = of_tcp.map_or(Ok(vec![]), metrics)?;
        let first = Hop {
            device: attributes.u32(DEVICE)?,
            gateway: gateway(attributes, GATEWAY)?,
        };
        let mut hops = attributes.bytes(HOPS).map_or(Ok(vec![]), hops)?;
        if hops.is_empty()
            && first
                != (Hop {
                    device: None,
                    gateway: None,
                })
        {
            hops.push(first);
        }
        let route = Route {
            destination,
            table,
            priority: attributes.u32(PRIORITY)?.unwrap_or(0),
            kind: RouteKind::new(header.u8(KIND_AT)),
            origin: Origin::new(header.u8(ORIGIN_AT)),
            source: attributes.ip(SOURCE)?,
            hops,
            metrics,
            congestion,
        };
        Ok(Some((route, attributes.u32(NEXTHOP)?)))
    }

    /// The request to add it.
    pub(super) fn request(&self) -> Vec<u8> {
        let mut payload = self.header(match self.kind {
            RouteKind::Local => SCOPE_HOST,
            _ if self.hops.iter().any(|hop| hop.gateway.is_some()) => SCOPE_UNIVERSE,
            _ => SCOPE_LINK,
        });
        if let Some(source) = self.source {
            put_ip(&mut payload, SOURCE, source);
        }
        if !self.metrics.is_empty() || self.congestion.is_some() {
            put_metrics(&mut payload, &self.metrics, self.congestion.as_deref());
        }
        payload
    }

    /// The request to remove it, with the fields that identify it, in any scope.
    pub(super) fn delete_request(&self) -> Vec<u8> {
        self.header(SCOPE_NOWHERE)
    }

    fn header(&self, scope: u8) -> Vec<u8> {
        let mut payload = vec![0; HEADER_LEN];
        payload[FAMILY_AT] = family::of(self.destination.address());
        payload[DESTINATION_LEN_AT] = self.destination.length();
        payload[ORIGIN_AT] = self.origin.number();
        payload[KIND_AT - 1] = scope;
        payload[KIND_AT] = self.kind.number();
        if !self.destination.is_all() {
            put_ip(&mut payload, DESTINATION, self.destination.address());
        }
        put(&mut payload, TABLE.0, &self.table.to_ne_bytes());
        put(&mut payload, PRIORITY.0, &self.priority.to_ne_bytes());
        match &self.hops[..] {
            [] => {}
            [hop] => hop.put(self.destination, &mut payload),
            hops => {
                let list: Vec<u8> = hops
                    .iter()
                    .flat_map(|hop| hop.nested(self.destination))
                    .collect();
                put_nested(&mut payload, HOPS.0, &list);
            }
        }
        payload
    }
}

impl Hop {
    fn put(&self, destination: Prefix, payload: &mut Vec<u8>) {
        if let Some(device) = self.device {
            put(payload, DEVICE.0, &device.to_ne_bytes());
        }
        self.put_gateway(destination, payload);
    }

    fn put_gateway(&self, destination: Prefix, payload: &mut Vec<u8>) {
        match self.gateway {
            None => {}
            Some(ip) if ip.is_ipv4() == destination.address().is_ipv4() => {
                put_ip(payload, GATEWAY, ip)
            }
            Some(ip) => {
                let octets = match ip {
                    IpAddr::V4(v4) => v4.octets().to_vec(),
                    IpAddr::V6(v6) => v6.octets().to_vec(),
                };
                let family = u16::from(family::of(ip)).to_ne_bytes();
                put(payload, VIA.0, &[&family[..], &octets].concat());
            }
        }
    }

    /// As an element of a list of hops (`struct rtnexthop`).
    fn nested(&self, destination: Prefix) -> Vec<u8> {
        let mut attributes = vec![];
        self.put_gateway(destination, &mut attributes);
        let length = (HOP_LEN + attributes.len()) as u16;
        let mut bytes = length.to_ne_bytes().to_vec();
        bytes.extend([0, 0]);
        bytes.extend(self.device.unwrap_or(0).to_ne_bytes());
        bytes.extend(attributes);
        bytes
    }
}

/// The gateway, which may be of another family than the destination; `plain` is the attribute for a
/// gateway of the same family.
pub(super) fn gateway(
    attributes: Attributes<'_>,
    plain: Known,
) -> Result<Option<IpAddr>, Malformed> {
    if let Some(ip) = attributes.ip(plain)? {
        return Ok(Some(ip));
    }
    let Some(via) = attributes.bytes(VIA) else {
        return Ok(None);
    };
    match via.split_at_checked(2).map(|(_, octets)| octets.len()) {
        Some(4 | 16) => {
            let octets = &via[2..];
            let v4 = <[u8; 4]>::try_from(octets).map(IpAddr::from);
            Ok(v4
                .or_else(|_| <[u8; 16]>::try_from(octets).map(IpAddr::from))
                .ok())
        }
        _ => Err(Malformed::new(
            VIA.1,
            format!("no address has {} bytes", via.len().saturating_sub(2)),
        )),
    }
}

/// What routing rules can select of a TCP connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flow {
    /// Own address; `None`: the kernel chooses it.
    pub source: Option<IpAddr>,
    /// The peer's address.
    pub destination: IpAddr,
    /// Own and the peer's port; 0 if unknown.
    pub ports: [u16; 2],
    /// Index of the device to which the socket is bound.
    pub bound: Option<u32>,
    /// Mark of the socket (`SO_MARK`); 0: none.
    pub mark: u32,
    /// Owner of the socket; `None`: the user of this process.
    pub uid: Option<u32>,
}

impl Flow {
    /// A connection to `destination` about which nothing else is known.
    pub fn to(destination: IpAddr) -> Self {
        Flow {
            source: None,
            destination,
            ports: [0; 2],
            bound: None,
            mark: 0,
            uid: None,
        }
    }

    /// The request for the device through which the kernel sends it.
    pub(super) fn request(&self) -> Vec<u8> {
        let mut payload = vec![0; HEADER_LEN];
        payload[FAMILY_AT] = family::of(self.destination);
        payload[DESTINATION_LEN_AT] = Prefix::from(self.destination).length();
        put_ip(&mut payload, DESTINATION, self.destination);
        if let Some(source) = self.source {
            payload[SOURCE_LEN_AT] = Prefix::from(source).length();
            put_ip(&mut payload, FROM, source);
        }
        if let Some(device) = self.bound {
            put(&mut payload, DEVICE.0, &device.to_ne_bytes());
        }
        if self.mark != 0 {
            put(&mut payload, MARK, &self.mark.to_ne_bytes());
        }
        if let Some(uid) = self.uid {
            put(&mut payload, USER, &uid.to_ne_bytes());
        }
        put(&mut payload, PROTOCOL, &[libc::IPPROTO_TCP as u8]);
        for (kind, port) in PORTS
            .into_iter()
            .zip(self.ports)
            .filter(|(_, port)| *port != 0)
        {
            put(&mut payload, kind, &port.to_be_bytes());
        }
        payload
    }
}

/// The device that answers a lookup; `None` if the packets are not forwarded.
pub(super) fn lookup_answer(payload: &[u8]) -> Result<Option<u32>, Malformed> {
    let (header, attributes) = Bytes::split(HEADER, payload, HEADER_LEN)?;
    let device = attributes.u32(DEVICE)?;
    Ok(device.filter(|_| RouteKind::new(header.u8(KIND_AT)) == RouteKind::Unicast))
}

fn hops(mut bytes: &[u8]) -> Result<Vec<Hop>, Malformed> {
    let mut hops = vec![];
    while !bytes.is_empty() {
        let (header, _) = Bytes::split(HOPS.1, bytes, HOP_LEN.min(bytes.len()).max(HOP_LEN))
            .map_err(|_| {
                Malformed::new(
                    HOPS.1,
                    format!("{} bytes are not a struct rtnexthop", bytes.len()),
                )
            })?;
        let length = usize::from(u16::from_ne_bytes(header.array(0)));
        let Some(attributes) = bytes.get(HOP_LEN..length) else {
            return Err(Malformed::new(
                HOPS.1,
                format!("a hop of {length} bytes in {}", bytes.len()),
            ));
        };
        let attributes = Attributes::parse(HOPS.1, attributes)?;
        hops.push(Hop {
            device: Some(header.u32(4)),
            gateway: gateway(attributes, GATEWAY)?,
        });
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    Ok(hops)
}

fn metrics(attributes: Attributes<'_>) -> Result<Vec<(Metric, u32)>, Malformed> {
    let value = |metric: Metric| {
        let value = attributes.u32(Known(metric as u16, METRICS.1))?;
        Ok(value.map(|value| (metric, value)))
    };
    Metric::ALL
        .into_iter()
        .filter_map(|metric| value(metric).transpose())
        .collect()
}

fn put_metrics(payload: &mut Vec<u8>, metrics: &[(Metric, u32)], congestion: Option<&str>) {
    let mut inner = vec![];
    let locked = metrics
        .iter()
        .filter(|(metric, _)| *metric == Metric::MinRto);
    let lock = locked.fold(0u32, |bits, (metric, _)| bits | 1 << *metric as u16);
    put(&mut inner, METRIC_LOCK, &lock.to_ne_bytes());
    for &(metric, value) in metrics {
        put(&mut inner, metric as u16, &value.to_ne_bytes());
    }
    if let Some(name) = congestion {
        put(
            &mut inner,
            METRIC_CONGESTION.0,
            &[name.as_bytes(), b"\0"].concat(),
        );
    }
    put_nested(payload, METRICS.0, &inner);
}

impl RouteKind {
    const NUMBERS: [(RouteKind, u8); 6] = [
        (RouteKind::Unicast, 1),
        (RouteKind::Local, 2),
        (RouteKind::Blackhole, 6),
        (RouteKind::Unreachable, 7),
        (RouteKind::Prohibit, 8),
        (RouteKind::Throw, 9),
    ];

    fn new(number: u8) -> Self {
        let known = Self::NUMBERS
            .into_iter()
            .find(|(_, known)| *known == number);
        known.map_or(RouteKind::Other(number), |(kind, _)| kind)
    }

    fn number(self) -> u8 {
        match self {
            RouteKind::Other(number) => number,
            kind => {
                Self::NUMBERS
                    .into_iter()
                    .find(|(known, _)| *known == kind)
                    .expect("all but Other")
                    .1
            }
        }
    }
}

impl Origin {
    const NUMBERS: [(Origin, u8); 5] = [
        (Origin::Kernel, 2),
        (Origin::Boot, 3),
        (Origin::Static, 4),
        (Origin::Advertisement, 9),
        (Origin::Dhcp, 16),
    ];

    fn new(number: u8) -> Self {
        let known = Self::NUMBERS
            .into_iter()
            .find(|(_, known)| *known == number);
        known.map_or(Origin::Other(number), |(origin, _)| origin)
    }

    fn number(self) -> u8 {
        match self {
            Origin::Other(number) => number,
            origin => {
                Self::NUMBERS
                    .into_iter()
                    .find(|(known, _)| *known == origin)
                    .expect("all but Other")
                    .1
            }
        }
    }
}

/// The request to list routes.
pub(super) fn list_request(family: u8) -> Vec<u8> {
    let mut payload = vec![0; HEADER_LEN];
    payload[FAMILY_AT] = family;
    payload
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    fn examples() -> Vec<Route> {
        let default = Route {
            source: Some(ip("10.0.0.2")),
            table: 1000,
            priority: 7,
            metrics: vec![(Metric::InitialWindow, 20), (Metric::MinRto, 300)],
            congestion: Some("cubic".into()),
            ..Route::via(Prefix::ALL_V4, ip("10.0.0.1"), 3)
        };
        let shared = Route {
            hops: vec![
                Hop {
                    device: Some(3),
                    gateway: Some(ip("fe80::1")),
                },
                Hop {
                    device: Some(4),
                    gateway: None,
                },
            ],
            ..Route::on_link(Prefix::new(ip("fd00::"), 64).unwrap(), 3)
        };
        let blackhole = Route {
            kind: RouteKind::Blackhole,
            hops: vec![],
            ..Route::on_link(ip("10.9.9.9"), 1)
        };
        // An IPv4 destination behind an IPv6 router (RFC 8950).
        let mixed = Route::via(ip("10.8.8.8"), ip("fe80::2"), 5);
        vec![
            default,
            shared,
            blackhole,
            mixed,
            Route::on_link(ip("10.0.0.9"), 3),
        ]
    }

    #[test]
    fn a_route_is_read_as_it_was_written() {
        for route in examples() {
            assert_eq!(Route::parse(&route.request()).unwrap(), Some((route, None)));
        }
    }

    #[test]
    fn a_route_refers_to_its_nexthop_object() {
        let route = Route {
            hops: vec![],
            ..examples()[4].clone()
        };
        let mut payload = route.request();
        put(&mut payload, NEXTHOP.0, &7_u32.to_ne_bytes());
        assert_eq!(Route::parse(&payload), Ok(Some((route, Some(7)))));
    }

    #[test]
    fn messages_without_a_table_entry_are_skipped() {
        let mut payload = examples()[0].request();
        payload[FLAGS_AT..][..4].copy_from_slice(&CLONED.to_ne_bytes());
        assert_eq!(Route::parse(&payload), Ok(None));
        let mut multicast = examples()[0].request();
        multicast[FAMILY_AT] = 128;
        assert_eq!(Route::parse(&multicast), Ok(None));
    }

    #[test]
    fn a_malformed_part_is_named() {
        let mut payload = list_request(family::INET);
        put(&mut payload, VIA.0, &[2, 0, 1]);
        assert!(
            Route::parse(&payload)
                .unwrap_err()
                .to_string()
                .starts_with("RTA_VIA: ")
        );
        let mut payload = list_request(family::INET);
        put(&mut payload, HOPS.0, &[200, 0, 0, 0, 3, 0, 0, 0]);
        assert!(
            Route::parse(&payload)
                .unwrap_err()
                .to_string()
                .starts_with("RTA_MULTIPATH: ")
        );
    }

    #[test]
    fn no_message_causes_a_panic() {
        joulepath_testbed::fuzz(examples().iter().map(|route| route.request()), |bytes| {
            let _ = Route::parse(bytes).is_ok();
        });
    }
}
