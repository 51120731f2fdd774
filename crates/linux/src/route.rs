//! Devices, addresses, rules and routes of the caller's network namespace, over rtnetlink.

use std::io;
use std::net::IpAddr;

use neli::consts::nl::{NlmF, NlmsgerrAttr};
use neli::consts::rtnl::{
    FrAct, Frattr, Ifa, IfaF, Ifla, RtAddrFamily, RtScope, RtTable, Rta, RtaType, Rtm, Rtn, Rtprot,
};
use neli::consts::socket::NlFamily;
use neli::err::RouterError;
use neli::nl::NlPayload;
use neli::router::synchronous::NlRouter;
use neli::rtnl::{FibmsgBuilder, IfaddrmsgBuilder, IfinfomsgBuilder, RtattrBuilder, RtmsgBuilder};
use neli::types::{Buffer, RtBuffer};
use neli::utils::Groups;
use neli::{Size, ToBytes};

use crate::error::{Error, Result};

/// The loopback device has this index in every namespace.
const LOOPBACK: u32 = 1;
/// `RTAX_LOCK`: which metrics the kernel must not override. The minimum RTO counts only if it is locked.
const METRIC_LOCK: u16 = 1;

/// A property of a route that TCP reads (`RTAX_…` in `linux/rtnetlink.h`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u16)]
pub enum Metric {
    /// Initial congestion window, packets.
    InitialWindow = 11,
    /// Lower bound of the RTO, ms.
    MinRto = 13,
    /// 1: every segment is acknowledged at once.
    QuickAck = 15,
}

/// A route through a device without a gateway.
#[derive(Clone, Debug)]
pub struct Route {
    /// One address; none means all of `source`'s family.
    pub destination: Option<IpAddr>,
    /// Source address unless a socket has one.
    pub source: IpAddr,
    /// Index of the device.
    pub device: u32,
    /// Routing table; none means the main one.
    pub table: Option<u32>,
    /// Of several routes to one destination in one table that with the least counts.
    pub priority: u32,
    /// What TCP is told.
    pub metrics: Vec<(Metric, u32)>,
}

/// An rtnetlink socket. It belongs to the namespace in which it was opened.
pub struct Routing {
    socket: NlRouter,
}

impl Routing {
    /// Of the calling thread's namespace.
    ///
    /// # Errors
    /// If the kernel gives no socket.
    pub fn open() -> Result<Self> {
        let (socket, _) = NlRouter::connect(NlFamily::Route, None, Groups::empty())
            .map_err(|error| refused("opening an rtnetlink socket", error))?;
        socket.enable_ext_ack(true).map_err(|error| refused("asking rtnetlink for reasons", error))?;
        Ok(Routing { socket })
    }

    /// The loopback device up.
    ///
    /// # Errors
    /// What the kernel answers.
    pub fn set_loopback_up(&self) -> Result<()> {
        self.set_up(LOOPBACK, true)
    }

    /// A device up or down.
    ///
    /// # Errors
    /// What the kernel answers.
    pub fn set_up(&self, device: u32, up: bool) -> Result<()> {
        let link = IfinfomsgBuilder::default().ifi_family(RtAddrFamily::Unspecified).ifi_index(device as i32);
        let link = if up { link.up() } else { link.down() };
        let doing = format!("setting device {device} {}", if up { "up" } else { "down" });
        self.request(&doing, Rtm::Newlink, NlmF::empty(), link.build().expect("complete"))
    }

    /// Largest packet in bytes, length of the transmit queue in packets, and most segments that TCP may hand down as one.
    ///
    /// # Errors
    /// What the kernel answers.
    pub fn shape_device(&self, device: u32, mtu: u32, queue_packets: u32, segments: u32) -> Result<()> {
        let mut attributes = RtBuffer::<Ifla, Buffer>::new();
        for (name, value) in [(Ifla::Mtu, mtu), (Ifla::Txqlen, queue_packets), (Ifla::GsoMaxSegs, segments)] {
            attributes.push(attribute(name, value));
        }
        let link = IfinfomsgBuilder::default()
            .ifi_family(RtAddrFamily::Unspecified)
            .ifi_index(device as i32)
            .rtattrs(attributes);
        let doing = format!("setting the MTU of device {device} to {mtu}");
        self.request(&doing, Rtm::Newlink, NlmF::empty(), link.build().expect("complete"))
    }

    /// An address of the loopback device, reachable through every other one.
    ///
    /// # Errors
    /// What the kernel answers.
    pub fn add_loopback_address(&self, address: IpAddr) -> Result<()> {
        self.add_address(LOOPBACK, address)
    }

    /// An address of a device, alone on its network.
    ///
    /// # Errors
    /// What the kernel answers.
    pub fn add_address(&self, device: u32, address: IpAddr) -> Result<()> {
        let mut attributes = RtBuffer::<Ifa, Buffer>::new();
        attributes.push(attribute(Ifa::Local, octets(address)));
        attributes.push(attribute(Ifa::Address, octets(address)));
        let message = IfaddrmsgBuilder::default()
            .ifa_family(family(address))
            .ifa_prefixlen(bits(address))
            // No duplicate can be on a line with two ends; without this an IPv6 address is not usable for a second.
            .ifa_flags(IfaF::NODAD)
            .ifa_scope(RtScope::Universe)
            .ifa_index(device)
            .rtattrs(attributes);
        let doing = format!("giving device {device} the address {address}");
        self.request(&doing, Rtm::Newaddr, NlmF::CREATE | NlmF::EXCL, message.build().expect("complete"))
    }

    /// Packets from `source` are routed by `table`.
    ///
    /// # Errors
    /// What the kernel answers.
    pub fn add_source_rule(&self, source: IpAddr, table: u32) -> Result<()> {
        let mut attributes = RtBuffer::<Frattr, Buffer>::new();
        attributes.push(attribute(Frattr::Src, octets(source)));
        attributes.push(attribute(Frattr::Table, table));
        let message = FibmsgBuilder::default()
            .fib_family(family(source))
            .fib_dst_len(0)
            .fib_src_len(bits(source))
            .fib_tos(0)
            .fib_table(RtTable::Unspec)
            .fib_action(FrAct::FrActToTbl)
            .rtattrs(attributes);
        let doing = format!("routing packets from {source} by table {table}");
        self.request(&doing, Rtm::Newrule, NlmF::CREATE | NlmF::EXCL, message.build().expect("complete"))
    }

    /// A route; one to the same destination in the same table is replaced.
    ///
    /// # Errors
    /// What the kernel answers.
    pub fn add_route(&self, route: &Route) -> Result<()> {
        let mut attributes = RtBuffer::<Rta, Buffer>::new();
        if let Some(destination) = route.destination {
            attributes.push(attribute(Rta::Dst, octets(destination)));
        }
        attributes.push(attribute(Rta::Oif, route.device));
        attributes.push(attribute(Rta::Prefsrc, octets(route.source)));
        attributes.push(attribute(Rta::Table, route.table.unwrap_or(libc::RT_TABLE_MAIN.into())));
        attributes.push(attribute(Rta::Priority, route.priority));
        if !route.metrics.is_empty() {
            attributes.push(attribute(Rta::Metrics, metrics(&route.metrics)));
        }
        let message = RtmsgBuilder::default()
            .rtm_family(family(route.source))
            .rtm_dst_len(route.destination.map_or(0, bits))
            .rtm_src_len(0)
            .rtm_tos(0)
            .rtm_table(RtTable::Unspec)
            .rtm_protocol(Rtprot::Static)
            .rtm_scope(RtScope::Link)
            .rtm_type(Rtn::Unicast)
            .rtattrs(attributes);
        let doing = format!("routing through device {}", route.device);
        self.request(&doing, Rtm::Newroute, NlmF::CREATE | NlmF::REPLACE, message.build().expect("complete"))
    }

    fn request<P: Size + ToBytes>(&self, doing: &str, kind: Rtm, flags: NlmF, message: P) -> Result<()> {
        let payload = NlPayload::Payload(message);
        let answers = self
            .socket
            .send::<_, _, u16, Buffer>(kind, flags | NlmF::ACK, payload)
            .map_err(|error| refused(doing, error))?;
        for answer in answers {
            answer.map_err(|error| refused(doing, error))?;
        }
        Ok(())
    }
}

fn attribute<T: RtaType + Size, P: Size + ToBytes>(name: T, value: P) -> neli::rtnl::Rtattr<T, Buffer> {
    let built = RtattrBuilder::default().rta_type(name).rta_payload(value).build();
    built.expect("an attribute of a few bytes")
}

fn metrics(metrics: &[(Metric, u32)]) -> RtBuffer<Rta, Buffer> {
    let mut nested = RtBuffer::new();
    let locked = metrics.iter().filter(|(metric, _)| *metric == Metric::MinRto);
    let lock = locked.fold(0u32, |bits, (metric, _)| bits | 1 << *metric as u16);
    nested.push(attribute(Rta::from(METRIC_LOCK), lock));
    for &(metric, value) in metrics {
        nested.push(attribute(Rta::from(metric as u16), value));
    }
    nested
}

fn family(address: IpAddr) -> RtAddrFamily {
    if address.is_ipv4() { RtAddrFamily::Inet } else { RtAddrFamily::Inet6 }
}

fn bits(address: IpAddr) -> u8 {
    if address.is_ipv4() { 32 } else { 128 }
}

fn octets(address: IpAddr) -> Buffer {
    match address {
        IpAddr::V4(v4) => Buffer::from(v4.octets().as_slice()),
        IpAddr::V6(v6) => Buffer::from(v6.octets().as_slice()),
    }
}

/// What the kernel, or the socket, said.
fn refused<T: std::fmt::Debug, P: std::fmt::Debug>(doing: &str, error: RouterError<T, P>) -> Error {
    let RouterError::Nlmsgerr(refusal) = error else {
        return Error::Run(format!("{doing}: {error:?}"));
    };
    let reason =
        refusal.ext_ack().get_attr_handle().get_attr_payload_as_with_len::<String>(NlmsgerrAttr::Msg);
    let doing = match reason {
        Ok(reason) => format!("{doing}: {}", reason.trim_end_matches('\0')),
        Err(_) => doing.to_owned(),
    };
    Error::io(doing, io::Error::from_raw_os_error(-refusal.error()))
}
