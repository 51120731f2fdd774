//! Lists all TCP and MPTCP connections of the network namespace (`NETLINK_SOCK_DIAG`).
//!
//! MPTCP's protocol number, 262, does not fit into the field of `inet_diag`, so an attribute
//! carries it. A TCP socket that is a subflow has the token of its connection in its ULP
//! information, which the kernel reports only with `CAP_NET_ADMIN`.

use std::collections::{BTreeMap, HashSet};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use rustix::io::Errno;
use rustix::net::netlink;
use serde::{Deserialize, Serialize};

use super::info::{ConnectionInfo, canonical};
use super::{AddressId, TcpInfo, TcpState, Token};
use crate::error::{Doing, Error, Result};
use crate::netlink::{Attributes, Bytes, Failure, Known, Malformed, Netlink, put};
use crate::sockopt::Fields;

/// `SOCK_DIAG_BY_FAMILY`.
const BY_FAMILY: u16 = 20;
/// `struct inet_diag_msg`.
const MESSAGE: &str = "struct inet_diag_msg";
const MESSAGE_LEN: usize = 72;
/// Offset of its `struct inet_diag_sockid`: ports, then both addresses in 16 bytes each.
const PORTS_AT: usize = 4;
const ADDRESSES_AT: usize = 8;
const INTERFACE_AT: usize = 40;
const EXPIRES_AT: usize = 52;
const UID_AT: usize = 64;
const INODE_AT: usize = 68;
/// States of connections with two ends: all except `Closed` and `Listen`.
const CONNECTED: u32 = 0xfff & !(1 << 7) & !(1 << 10);

/// The request's attribute for a protocol above 255.
const PROTOCOL: u16 = 3;

const INFO: Known = Known(2, "INET_DIAG_INFO");
const CONGESTION: Known = Known(4, "INET_DIAG_CONG");
const MEMORY: Known = Known(7, "INET_DIAG_SKMEMINFO");
const MARK: Known = Known(15, "INET_DIAG_MARK");
const CGROUP: Known = Known(21, "INET_DIAG_CGROUP_ID");
const ULP_INFO: Known = Known(19, "INET_DIAG_ULP_INFO");
const ULP_MPTCP: Known = Known(3, "INET_ULP_INFO_MPTCP");

mod subflow {
    use super::Known;

    pub(super) const LOCAL_TOKEN: Known = Known(2, "MPTCP_SUBFLOW_ATTR_TOKEN_LOC");
    pub(super) const FLAGS: Known = Known(8, "MPTCP_SUBFLOW_ATTR_FLAGS");
    pub(super) const REMOTE_ID: Known = Known(9, "MPTCP_SUBFLOW_ATTR_ID_REM");
    pub(super) const LOCAL_ID: Known = Known(10, "MPTCP_SUBFLOW_ATTR_ID_LOC");

    pub(super) const BEGUN_LOCALLY: u32 = 1 << 1;
    pub(super) const JOINED_REMOTELY: u32 = 1 << 2;
    pub(super) const JOINED_LOCALLY: u32 = 1 << 3;
    pub(super) const BACKUP_REMOTE: u32 = 1 << 4;
    pub(super) const BACKUP_LOCAL: u32 = 1 << 5;
}

/// A TCP connection: a plain one, or a subflow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TcpSocket {
    /// Local address.
    pub local: SocketAddr,
    /// Remote address.
    pub remote: SocketAddr,
    /// Index of the interface that it is bound to, as subflows of an endpoint are; `None`: the
    /// routing table decides.
    #[serde(default)]
    pub interface: Option<u32>,
    /// State of the connection.
    pub state: TcpState,
    /// Time until its timer fires, ms; 0 without one.
    #[serde(default)]
    pub timer_ms: u32,
    /// User id of the owner.
    pub uid: u32,
    /// Inode of the socket, which identifies its process in `/proc/PID/fd`; 0 for a subflow, which
    /// no process holds.
    pub inode: u32,
    /// Congestion controller.
    pub congestion: Option<String>,
    /// Statistics; `None` in `TimeWait`.
    pub info: Option<TcpInfo>,
    /// Memory of its buffers. Linux 3.6.
    #[serde(default)]
    pub memory: Option<SocketMemory>,
    /// Its role in MPTCP. `None` for plain TCP, and if the kernel does not report it without
    /// `CAP_NET_ADMIN`.
    pub membership: Option<Membership>,
}

/// Memory of a socket, in bytes as Linux counts them: payload and overhead.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SocketMemory {
    /// Received and not yet read, or out of order.
    pub receive_used_bytes: u32,
    /// Limit of the receive buffer (`sk_rcvbuf`).
    pub receive_limit_bytes: u32,
    /// Written and not yet acknowledged.
    pub send_used_bytes: u32,
    /// Limit of the send buffer (`sk_sndbuf`).
    pub send_limit_bytes: u32,
}

impl SocketMemory {
    /// Parses `SK_MEMINFO_…`, an array of 32-bit numbers.
    fn parse(bytes: &[u8]) -> Option<Self> {
        let fields = Fields(bytes);
        Some(SocketMemory {
            receive_used_bytes: fields.u32(0)?,
            receive_limit_bytes: fields.u32(4)?,
            send_limit_bytes: fields.u32(12)?,
            send_used_bytes: fields.u32(20)?,
        })
    }
}

/// A subflow's role in its connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Membership {
    /// Token of the connection.
    pub token: Token,
    /// This host's id of the local address.
    pub local_id: AddressId,
    /// The peer's id of the remote address.
    pub remote_id: AddressId,
    /// True if it joined an existing connection; false for the first subflow.
    pub joined: bool,
    /// True if this host opened it.
    pub opened_locally: bool,
    /// True if this host has declared it a backup.
    pub backup_locally: bool,
    /// True if the peer has declared it a backup.
    pub backup_remotely: bool,
}

/// An MPTCP connection with its subflows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Connection {
    /// Local address of the first subflow.
    pub local: SocketAddr,
    /// Remote address of the first subflow.
    pub remote: SocketAddr,
    /// State of the connection.
    pub state: TcpState,
    /// User id of the owner.
    pub uid: u32,
    /// Inode of the socket, which identifies its process in `/proc/PID/fd`.
    pub inode: u32,
    /// Id of the control group (version 2) in which the socket was created: the inode of its
    /// folder. Requires Linux 5.8 with `CONFIG_SOCK_CGROUP_DATA`.
    #[serde(default)]
    pub cgroup: Option<u64>,
    /// Mark of the socket (`SO_MARK`); 0: none, or unknown without `CAP_NET_ADMIN`.
    #[serde(default)]
    pub mark: u32,
    /// Memory of its buffers. Linux 3.6.
    #[serde(default)]
    pub memory: Option<SocketMemory>,
    /// Statistics.
    pub info: ConnectionInfo,
    /// Its subflows, sorted by id.
    pub subflows: Vec<TcpSocket>,
}

/// The connections of a network namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Listing {
    /// MPTCP connections, sorted by token.
    pub connections: Vec<Connection>,
    /// Plain TCP connections, sorted by local and remote address.
    pub plain: Vec<TcpSocket>,
    /// Subflows whose connection is not in the list: it began or ended meanwhile, or it waits for
    /// its last acknowledgement.
    pub orphans: Vec<TcpSocket>,
}

/// Number of users of a congestion controller.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Users {
    /// Plain TCP connections.
    pub plain: usize,
    /// Subflows.
    pub subflows: usize,
    /// MPTCP connections with at least one such subflow.
    pub connections: usize,
}

impl Listing {
    /// Users of each congestion controller, by its name.
    pub fn by_controller(&self) -> BTreeMap<String, Users> {
        let mut all: BTreeMap<String, Users> = BTreeMap::new();
        for name in self
            .plain
            .iter()
            .filter_map(|socket| socket.congestion.as_ref())
        {
            all.entry(name.clone()).or_default().plain += 1;
        }
        for connection in &self.connections {
            let mut names: Vec<&String> = connection
                .subflows
                .iter()
                .filter_map(|s| s.congestion.as_ref())
                .collect();
            for &name in &names {
                all.entry(name.clone()).or_default().subflows += 1;
            }
            names.sort_unstable();
            names.dedup();
            for name in names {
                all.entry(name.clone()).or_default().connections += 1;
            }
        }
        all
    }
}

impl Listing {
    /// Subflows that either end has declared a backup: local and remote address.
    pub fn backups(&self) -> HashSet<(SocketAddr, SocketAddr)> {
        let subflows = self
            .connections
            .iter()
            .flat_map(|connection| &connection.subflows);
        let is_backup = |socket: &&TcpSocket| {
            socket
                .membership
                .is_some_and(|m| m.backup_locally || m.backup_remotely)
        };
        subflows
            .filter(is_backup)
            .map(|socket| (socket.local, socket.remote))
            .collect()
    }
}

/// Lists the network namespace of the calling thread. It lists MPTCP before TCP: the subflows of a
/// connection that begins in between are orphans.
///
/// # Errors
/// As [`Diag::list`].
pub fn list() -> Result<Listing> {
    Diag::open()?.list()
}

/// A socket that lists the connections of the network namespace in which it was opened.
#[derive(Debug)]
pub struct Diag {
    netlink: Netlink,
}

impl Diag {
    /// Opens the socket in the calling thread's namespace.
    ///
    /// # Errors
    /// [`Error::Io`] on a kernel without `inet_diag`.
    pub fn open() -> Result<Self> {
        Ok(Diag {
            netlink: Netlink::open(Some(netlink::SOCK_DIAG)).doing("opening sock_diag")?,
        })
    }

    /// Lists all connections.
    ///
    /// # Errors
    /// [`Error::Unsupported`] without the kernel modules for it, [`Error::Malformed`] if the
    /// kernel's answer cannot be parsed, and [`Error::Busy`] if the kernel does not answer.
    pub fn list(&mut self) -> Result<Listing> {
        let mut connections: BTreeMap<Token, Connection> = BTreeMap::new();
        for family in [libc::AF_INET, libc::AF_INET6] {
            let request = request(family, libc::IPPROTO_MPTCP);
            let list = self.netlink.list(BY_FAMILY, &request, |reply| {
                Message::parse(reply.payload)?.connection()
            });
            let list = list.map_err(|failure| not_listed(failure, "MPTCP", "mptcp_diag"))?;
            connections.extend(
                list.into_iter()
                    .map(|connection| (connection.info.token, connection)),
            );
        }
        let (mut plain, mut orphans) = (vec![], vec![]);
        for family in [libc::AF_INET, libc::AF_INET6] {
            let request = request(family, libc::IPPROTO_TCP);
            let list = self.netlink.list(BY_FAMILY, &request, |reply| {
                Message::parse(reply.payload)?.tcp_socket().map(Some)
            });
            for socket in list.map_err(|failure| not_listed(failure, "TCP", "tcp_diag"))? {
                let Some(membership) = socket.membership else {
                    plain.push(socket);
                    continue;
                };
                match connections.get_mut(&membership.token) {
                    Some(connection) => connection.subflows.push(socket),
                    None => orphans.push(socket),
                }
            }
        }
        let ends = |socket: &TcpSocket| (socket.local, socket.remote);
        plain.sort_by_key(ends);
        orphans.sort_by_key(ends);
        let mut connections: Vec<Connection> = connections.into_values().collect();
        for connection in &mut connections {
            let ids = |socket: &TcpSocket| socket.membership.map(|m| (m.local_id, m.remote_id));
            connection
                .subflows
                .sort_by_key(|socket| (ids(socket), socket.local, socket.remote));
        }
        Ok(Listing {
            connections,
            plain,
            orphans,
        })
    }
}

/// The error if a protocol's connections cannot be listed. The kernel loads the module by itself if
/// it exists.
fn not_listed(failure: Failure, protocol: &str, module: &str) -> Error {
    match failure.errno() {
        Some(Errno::NOENT) => Error::Unsupported {
            what: format!("listing {protocol} connections"),
            why: format!("the kernel module `{module}` is missing or cannot be loaded"),
            remedy: format!(
                "load it: sudo modprobe {module}; a kernel without it was built without INET_DIAG"
            ),
        },
        _ => failure.doing(format!("listing {protocol} connections")),
    }
}

/// `struct inet_diag_req_v2` that matches any socket id, and the protocol.
fn request(family: libc::c_int, protocol: libc::c_int) -> Vec<u8> {
    const ID_LEN: usize = 48;
    let extensions = [INFO, CONGESTION, MEMORY]
        .into_iter()
        .fold(0, |bits, known| bits | 1 << (known.0 - 1));
    // The attribute counts; older TCP-only code reads the byte.
    let mut payload = vec![family as u8, libc::IPPROTO_TCP as u8, extensions, 0];
    payload.extend(CONNECTED.to_ne_bytes());
    payload.extend([0; ID_LEN]);
    put(&mut payload, PROTOCOL, &(protocol as u32).to_ne_bytes());
    payload
}

/// `struct inet_diag_msg` and its attributes.
struct Message<'a> {
    local: SocketAddr,
    remote: SocketAddr,
    interface: Option<u32>,
    state: TcpState,
    timer_ms: u32,
    uid: u32,
    inode: u32,
    attributes: Attributes<'a>,
}

impl<'a> Message<'a> {
    fn parse(payload: &'a [u8]) -> Result<Self, Malformed> {
        let (fields, attributes) = Bytes::split(MESSAGE, payload, MESSAGE_LEN)?;
        let end = |number: usize| {
            let octets: [u8; 16] = fields.array(ADDRESSES_AT + 16 * number);
            let ip = match i32::from(fields.u8(0)) {
                libc::AF_INET => {
                    let [a, b, c, d, ..] = octets;
                    IpAddr::from(Ipv4Addr::new(a, b, c, d))
                }
                _ => Ipv6Addr::from(octets).into(),
            };
            let port = u16::from_be_bytes(fields.array(PORTS_AT + 2 * number));
            canonical((ip, port).into())
        };
        Ok(Message {
            local: end(0),
            remote: end(1),
            interface: Some(fields.u32(INTERFACE_AT)).filter(|&index| index != 0),
            state: TcpState::new(fields.u8(1)),
            timer_ms: fields.u32(EXPIRES_AT),
            uid: fields.u32(UID_AT),
            inode: fields.u32(INODE_AT),
            attributes,
        })
    }

    /// `None` if it has no statistics, as it is about to end.
    fn connection(self) -> Result<Option<Connection>, Malformed> {
        let Some(info) = self.attributes.bytes(INFO) else {
            return Ok(None);
        };
        let info = ConnectionInfo::parse(info);
        let info =
            info.ok_or_else(|| Malformed::new(INFO.1, "it is shorter than on Linux 5.16"))?;
        let cgroup = self.attributes.array(CGROUP)?.map(u64::from_ne_bytes);
        let memory = self.attributes.bytes(MEMORY).and_then(SocketMemory::parse);
        let Message {
            local,
            remote,
            state,
            uid,
            inode,
            ..
        } = self;
        let mark = self.attributes.u32(MARK)?.unwrap_or(0);
        Ok(Some(Connection {
            local,
            remote,
            state,
            uid,
            inode,
            cgroup,
            mark,
            memory,
            info,
            subflows: vec![],
        }))
    }

    fn tcp_socket(self) -> Result<TcpSocket, Malformed> {
        Ok(TcpSocket {
            info: self.attributes.bytes(INFO).and_then(TcpInfo::parse),
            membership: self
                .attributes
                .nested(ULP_INFO)?
                .map_or(Ok(None), membership)?,
            congestion: self
                .attributes
                .text(CONGESTION)
                .filter(|name| !name.is_empty()),
            memory: self.attributes.bytes(MEMORY).and_then(SocketMemory::parse),
            local: self.local,
            remote: self.remote,
            interface: self.interface,
            state: self.state,
            timer_ms: self.timer_ms,
            uid: self.uid,
            inode: self.inode,
        })
    }
}

/// `None` for other ULPs, such as TLS.
fn membership(ulp: Attributes<'_>) -> Result<Option<Membership>, Malformed> {
    let Some(mptcp) = ulp.nested(ULP_MPTCP)? else {
        return Ok(None);
    };
    let missing = |known: Known| Malformed::new(known.1, "it is missing");
    let flags = mptcp
        .u32(subflow::FLAGS)?
        .ok_or_else(|| missing(subflow::FLAGS))?;
    let token = mptcp
        .u32(subflow::LOCAL_TOKEN)?
        .ok_or_else(|| missing(subflow::LOCAL_TOKEN))?;
    let id = |known| Ok(AddressId(mptcp.u8(known)?.ok_or_else(|| missing(known))?));
    Ok(Some(Membership {
        token: Token(token),
        local_id: id(subflow::LOCAL_ID)?,
        remote_id: id(subflow::REMOTE_ID)?,
        joined: flags & (subflow::JOINED_LOCALLY | subflow::JOINED_REMOTELY) != 0,
        opened_locally: flags & (subflow::BEGUN_LOCALLY | subflow::JOINED_LOCALLY) != 0,
        backup_locally: flags & subflow::BACKUP_LOCAL != 0,
        backup_remotely: flags & subflow::BACKUP_REMOTE != 0,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::netlink::put_nested;

    /// The message of a subflow from 10.0.0.2:40000 to 10.0.0.1:443 with the token 7.
    fn subflow_message() -> Vec<u8> {
        let mut bytes = vec![0; MESSAGE_LEN];
        (bytes[0], bytes[1]) = (libc::AF_INET as u8, 1);
        bytes[PORTS_AT..][..4].copy_from_slice(&[0x9c, 0x40, 0x01, 0xbb]);
        bytes[ADDRESSES_AT..][..4].copy_from_slice(&[10, 0, 0, 2]);
        bytes[ADDRESSES_AT + 16..][..4].copy_from_slice(&[10, 0, 0, 1]);
        bytes[EXPIRES_AT..][..4].copy_from_slice(&200u32.to_ne_bytes());
        let mut mptcp = vec![];
        put(&mut mptcp, subflow::LOCAL_TOKEN.0, &7u32.to_ne_bytes());
        put(
            &mut mptcp,
            subflow::FLAGS.0,
            &(subflow::JOINED_LOCALLY | subflow::BACKUP_REMOTE).to_ne_bytes(),
        );
        put(&mut mptcp, subflow::LOCAL_ID.0, &[2]);
        put(&mut mptcp, subflow::REMOTE_ID.0, &[0]);
        let mut ulp = vec![];
        put_nested(&mut ulp, ULP_MPTCP.0, &mptcp);
        put(&mut bytes, CONGESTION.0, b"jp_lia\0");
        put_nested(&mut bytes, ULP_INFO.0, &ulp);
        bytes
    }

    #[test]
    fn a_subflow_is_distinguished_from_plain_tcp() {
        let message = subflow_message();
        let socket = Message::parse(&message).unwrap().tcp_socket().unwrap();
        assert_eq!(
            (socket.local, socket.remote),
            (
                "10.0.0.2:40000".parse().unwrap(),
                "10.0.0.1:443".parse().unwrap()
            )
        );
        assert_eq!(socket.congestion.as_deref(), Some("jp_lia"));
        assert_eq!(socket.timer_ms, 200);
        let member = socket.membership.unwrap();
        assert_eq!(
            (member.token, member.local_id, member.joined),
            (Token(7), AddressId(2), true)
        );
        assert!(member.opened_locally && member.backup_remotely && !member.backup_locally);
        let plain = Message::parse(&message[..MESSAGE_LEN])
            .unwrap()
            .tcp_socket()
            .unwrap();
        assert_eq!(plain.membership, None);
    }

    #[test]
    fn a_missing_attribute_of_a_subflow_is_named() {
        let mut message = subflow_message();
        // The flags become an unknown attribute.
        let at = message
            .windows(4)
            .position(|bytes| bytes == [8, 0, subflow::FLAGS.0 as u8, 0])
            .unwrap();
        message[at + 2] = 99;
        let error = Message::parse(&message).unwrap().tcp_socket().unwrap_err();
        assert_eq!(error.to_string(), "MPTCP_SUBFLOW_ATTR_FLAGS: it is missing");
    }

    #[test]
    fn the_error_names_a_missing_module() {
        let refused = |errno| Failure::Refused { errno, said: None };
        let error = not_listed(refused(Errno::NOENT), "MPTCP", "mptcp_diag");
        let Error::Unsupported { remedy, .. } = &error else {
            panic!("{error}")
        };
        assert!(remedy.contains("modprobe mptcp_diag"), "{remedy}");
        assert!(!matches!(
            not_listed(refused(Errno::NOMEM), "TCP", "tcp_diag"),
            Error::Unsupported { .. }
        ));
    }

    #[test]
    fn no_message_causes_a_panic() {
        joulepath_testbed::fuzz([subflow_message()], |bytes| {
            let Ok(message) = Message::parse(bytes) else {
                return;
            };
            let _ = message.tcp_socket().is_ok();
            let _ = Message::parse(bytes).map(|message| message.connection().is_ok());
        });
    }
}
