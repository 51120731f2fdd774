//! Ends connections of other processes (`SOCK_DESTROY`, `CONFIG_INET_DIAG_DESTROY`).
//!
//! [`abort_connections`]: a connection outlives its process while it closes: for minutes if the other end
//! does not answer. Until then it keeps its network namespace and its congestion controller alive.

use std::net::IpAddr;

use rustix::io::Errno;
use rustix::net::netlink;

use super::diag::TcpSocket;
use crate::error::{Doing, Error, Result};
use crate::netlink::{Bytes, Netlink};

/// `SOCK_DIAG_BY_FAMILY` and `SOCK_DESTROY`.
const BY_FAMILY: u16 = 20;
const DESTROY: u16 = 21;
/// `struct inet_diag_msg`.
const MESSAGE: &str = "struct inet_diag_msg";
const MESSAGE_LEN: usize = 72;
/// Offset of its `struct inet_diag_sockid`.
const ID_AT: usize = 4;
const ID_LEN: usize = 48;
/// All states except `Closed` and `Listen`: a listener ends with its process.
const CONNECTED: u32 = 0xfff & !(1 << 7) & !(1 << 10);

/// Resets every TCP connection of the calling thread's network namespace, including MPTCP subflows. Returns
/// how many there were; 0 means that none is left.
///
/// # Errors
/// [`Error::Permission`] without `CAP_NET_ADMIN`; [`Error::Unsupported`] if the kernel was built without
/// `CONFIG_INET_DIAG_DESTROY`. The connections then end by themselves.
pub fn abort_connections() -> Result<usize> {
    let mut netlink = Netlink::open(Some(netlink::SOCK_DIAG)).doing("opening sock_diag")?;
    let mut found = vec![];
    for family in [libc::AF_INET, libc::AF_INET6] {
        let all = request(family, CONNECTED, [0; ID_LEN]);
        let list = netlink.list(BY_FAMILY, &all, |reply| {
            let (fields, _) = Bytes::split(MESSAGE, reply.payload, MESSAGE_LEN)?;
            Ok(Some(request(family, 0, fields.array(ID_AT))))
        });
        found.extend(list.map_err(|failure| failure.doing("listing TCP connections"))?);
    }
    for connection in &found {
        destroy(&mut netlink, connection)?;
    }
    Ok(found.len())
}

/// Resets a TCP connection. Returns false if it has already ended.
///
/// # Errors
/// As [`abort_connections`].
pub fn abort(socket: &TcpSocket) -> Result<bool> {
    let mut netlink = Netlink::open(Some(netlink::SOCK_DIAG)).doing("opening sock_diag")?;
    let v4 = socket.local.is_ipv4();
    destroy(&mut netlink, &request(if v4 { libc::AF_INET } else { libc::AF_INET6 }, 0, id(socket)))
}

/// `struct inet_diag_sockid`, with any cookie.
fn id(socket: &TcpSocket) -> [u8; ID_LEN] {
    let mut id = [0; ID_LEN];
    for (at, end) in [socket.local, socket.remote].into_iter().enumerate() {
        id[2 * at..][..2].copy_from_slice(&end.port().to_be_bytes());
        let address = &mut id[4 + 16 * at..][..16];
        match end.ip() {
            IpAddr::V4(ip) => address[..4].copy_from_slice(&ip.octets()),
            IpAddr::V6(ip) => address.copy_from_slice(&ip.octets()),
        }
    }
    id[36..40].copy_from_slice(&socket.interface.unwrap_or(0).to_ne_bytes());
    id[40..].fill(0xff);
    id
}

/// Returns false if the connection has ended by itself.
fn destroy(netlink: &mut Netlink, connection: &[u8]) -> Result<bool> {
    match netlink.command(DESTROY, 0, connection) {
        Ok(()) => Ok(true),
        Err(failure) if failure.errno() == Some(Errno::NOENT) => Ok(false),
        Err(failure) if failure.errno() == Some(Errno::OPNOTSUPP) => Err(Error::Unsupported {
            what: "ending connections of others".into(),
            why: "this kernel was built without CONFIG_INET_DIAG_DESTROY".into(),
            remedy: "wait until they end by themselves, up to two minutes".into(),
        }),
        Err(failure) => Err(failure.doing("ending a connection")),
    }
}

/// `struct inet_diag_req_v2`.
fn request(family: libc::c_int, states: u32, id: [u8; ID_LEN]) -> Vec<u8> {
    let mut payload = vec![family as u8, libc::IPPROTO_TCP as u8, 0, 0];
    payload.extend(states.to_ne_bytes());
    payload.extend(id);
    payload
}
