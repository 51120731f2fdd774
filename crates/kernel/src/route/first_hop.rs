//! Asks the first router on a path for a sign of life.

use std::net::{IpAddr, SocketAddr};

use rustix::net::{AddressFamily, SendFlags, SocketFlags, SocketType, sockopt};

use crate::error::{Doing, Result};
use crate::sockopt::bind_to;

/// The first port of `traceroute`.
const PORT: u16 = 33_434;

/// Sends one empty UDP datagram from `source` through `device` towards `destination`, which it does
/// not reach: its hop limit is 1, so that the first router answers with *time exceeded*. Any answer
/// counts in the device's counters.
///
/// # Errors
/// [`Error::Io`](crate::Error::Io) if the address or the device is gone, or there is no route.
pub fn ask_first_hop(device: u32, source: IpAddr, destination: IpAddr) -> Result<()> {
    let doing = "asking the first router of a path";
    let family = if destination.is_ipv4() {
        AddressFamily::INET
    } else {
        AddressFamily::INET6
    };
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket = rustix::net::socket_with(family, SocketType::DGRAM, flags, None).doing(doing)?;
    bind_to(&socket, device, source).doing(doing)?;
    match destination {
        IpAddr::V4(_) => sockopt::set_ip_ttl(&socket, 1),
        IpAddr::V6(_) => sockopt::set_ipv6_unicast_hops(&socket, Some(1)),
    }
    .doing(doing)?;
    let to = SocketAddr::from((destination, PORT));
    rustix::net::sendto(&socket, &[], SendFlags::empty(), &to).doing(doing)?;
    Ok(())
}
