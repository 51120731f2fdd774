//! Ends connections of other processes (`SOCK_DESTROY`, `CONFIG_INET_DIAG_DESTROY`).
//!
//! [`Aborter`] resets single connections. [`abort_connections`]: a connection outlives its process
//! while it closes: for minutes if the other end does not answer. Until then it keeps its network
//! namespace and its congestion controller alive.

use std::net::{IpAddr, SocketAddr};

use rustix::io::Errno;
use rustix::net::netlink;

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
const ADDRESSES_AT: usize = 4;
const ADDRESS_LEN: usize = 16;
const INTERFACE_AT: usize = 36;
const COOKIE_AT: usize = 40;
/// All states except `Closed` and `Listen`: a listener ends with its process.
const CONNECTED: u32 = 0xfff & !(1 << 7) & !(1 << 10);

/// Resets every TCP connection of the calling thread's network namespace, including MPTCP subflows.
/// Returns how many there were; 0 means that none is left.
///
/// # Errors
/// [`Error::Permission`] without `CAP_NET_ADMIN`; [`Error::Unsupported`] if the kernel was built
/// without `CONFIG_INET_DIAG_DESTROY`. The connections then end by themselves.
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

/// Resets single connections of the network namespace in which it was opened.
#[derive(Debug)]
pub struct Aborter {
    netlink: Netlink,
}

impl Aborter {
    /// Opens a socket in the calling thread's namespace.
    ///
    /// # Errors
    /// [`Error::Io`] if the process has no file descriptors left.
    pub fn open() -> Result<Self> {
        Ok(Aborter {
            netlink: Netlink::open(Some(netlink::SOCK_DIAG)).doing("opening sock_diag")?,
        })
    }

    /// Resets a TCP connection or a subflow; an MPTCP connection goes on over its other subflows.
    /// `interface`: index of the device to which it is bound. Returns false if it has already
    /// ended.
    ///
    /// # Errors
    /// As [`abort_connections`].
    pub fn abort(
        &mut self,
        local: SocketAddr,
        remote: SocketAddr,
        interface: Option<u32>,
    ) -> Result<bool> {
        let family = if local.is_ipv4() {
            libc::AF_INET
        } else {
            libc::AF_INET6
        };
        destroy(
            &mut self.netlink,
            &request(family, 0, id(local, remote, interface)),
        )
    }
}

/// `struct inet_diag_sockid`, for any cookie.
fn id(local: SocketAddr, remote: SocketAddr, interface: Option<u32>) -> [u8; ID_LEN] {
    let mut id = [0; ID_LEN];
    for (k, end) in [local, remote].into_iter().enumerate() {
        id[2 * k..2 * k + 2].copy_from_slice(&end.port().to_be_bytes());
        let octets = match end.ip() {
            IpAddr::V4(ip) => ip.octets().to_vec(),
            IpAddr::V6(ip) => ip.octets().to_vec(),
        };
        let at = ADDRESSES_AT + ADDRESS_LEN * k;
        id[at..at + octets.len()].copy_from_slice(&octets);
    }
    id[INTERFACE_AT..COOKIE_AT].copy_from_slice(&interface.unwrap_or(0).to_ne_bytes());
    id[COOKIE_AT..].fill(u8::MAX);
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
