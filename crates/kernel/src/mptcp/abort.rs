//! Ends connections whose process has exited (`SOCK_DESTROY`, `CONFIG_INET_DIAG_DESTROY`).
//!
//! A connection outlives its process while it closes: for minutes if the other end does not answer. Until
//! then it keeps its network namespace and its congestion controller alive.

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
        match netlink.command(DESTROY, 0, connection) {
            Ok(()) => {}
            // The connection has ended by itself.
            Err(failure) if failure.errno() == Some(Errno::NOENT) => {}
            Err(failure) if failure.errno() == Some(Errno::OPNOTSUPP) => {
                return Err(Error::Unsupported {
                    what: "ending connections of others".into(),
                    why: "this kernel was built without CONFIG_INET_DIAG_DESTROY".into(),
                    remedy: "wait until they end by themselves, up to two minutes".into(),
                });
            }
            Err(failure) => return Err(failure.doing("ending a connection")),
        }
    }
    Ok(found.len())
}

/// `struct inet_diag_req_v2`.
fn request(family: libc::c_int, states: u32, id: [u8; ID_LEN]) -> Vec<u8> {
    let mut payload = vec![family as u8, libc::IPPROTO_TCP as u8, 0, 0];
    payload.extend(states.to_ne_bytes());
    payload.extend(id);
    payload
}
