//! Every TCP and MPTCP connection of the network namespace, whoever made it (`NETLINK_SOCK_DIAG`).
//!
//! MPTCP's protocol number, 262, does not fit the field that `inet_diag` has for it: it goes in an attribute. A TCP socket that
//! is a subflow says so in its ULP information, with the token of its connection; the kernel tells that only with
//! `CAP_NET_ADMIN`.

use std::collections::{BTreeMap, HashSet};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use neli::consts::socket::NlFamily;
use neli::types::Buffer;
use serde::{Deserialize, Serialize};

use super::info::{ConnectionInfo, canonical};
use super::netlink::{Attributes, Extent, Look, Netlink, attribute, parse_attributes};
use super::sockopt::Fields;
use super::{AddressId, TcpInfo, TcpState, Token};
use crate::error::{Doing, Result};

use neli::ToBytes;

/// `SOCK_DIAG_BY_FAMILY`.
const BY_FAMILY: u16 = 20;
/// `struct inet_diag_msg`.
const MESSAGE_LEN: usize = 72;
/// `struct inet_diag_sockid` begins here in the message.
const ID_AT: usize = 4;
/// States of connections that have two ends: all but `Closed` and `Listen`.
const CONNECTED: u32 = 0xfff & !(1 << 7) & !(1 << 10);

mod request {
    pub(super) const PROTOCOL: u16 = 3;
}

mod answer {
    pub(super) const INFO: u16 = 2;
    pub(super) const CONGESTION: u16 = 4;
    pub(super) const ULP_INFO: u16 = 19;
    pub(super) const ULP_MPTCP: u16 = 3;
}

mod subflow {
    pub(super) const LOCAL_TOKEN: u16 = 2;
    pub(super) const FLAGS: u16 = 8;
    pub(super) const REMOTE_ID: u16 = 9;
    pub(super) const LOCAL_ID: u16 = 10;

    pub(super) const JOINED_REMOTELY: u32 = 1 << 2;
    pub(super) const JOINED_LOCALLY: u32 = 1 << 3;
    pub(super) const BACKUP_REMOTE: u32 = 1 << 4;
    pub(super) const BACKUP_LOCAL: u32 = 1 << 5;
}

/// A TCP connection: a plain one, or a subflow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TcpSocket {
    /// Own address.
    pub local: SocketAddr,
    /// The other end's.
    pub remote: SocketAddr,
    /// Life of the connection.
    pub state: TcpState,
    /// Owner.
    pub uid: u32,
    /// Inode of the socket, by which `/proc/PID/fd` finds its process; 0 for a subflow, which no process holds.
    pub inode: u32,
    /// Congestion controller.
    pub congestion: Option<String>,
    /// Statistics; none in `TimeWait`.
    pub info: Option<TcpInfo>,
    /// What it is to MPTCP; none if it is plain TCP, or if the kernel does not say without `CAP_NET_ADMIN`.
    pub membership: Option<Membership>,
}

/// A subflow's part in its connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Membership {
    /// The connection.
    pub token: Token,
    /// What this host calls its own address.
    pub local_id: AddressId,
    /// What the other end calls its own.
    pub remote_id: AddressId,
    /// Whether it joined a connection that stood; the first one has not.
    pub joined: bool,
    /// Whether this host has declared it a backup.
    pub backup_locally: bool,
    /// Whether the other end has.
    pub backup_remotely: bool,
}

/// An MPTCP connection with its subflows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Connection {
    /// Own address of the first subflow.
    pub local: SocketAddr,
    /// The other end's.
    pub remote: SocketAddr,
    /// Life of the connection.
    pub state: TcpState,
    /// Owner.
    pub uid: u32,
    /// Inode of the socket, by which `/proc/PID/fd` finds its process.
    pub inode: u32,
    /// Statistics.
    pub info: ConnectionInfo,
    /// Its subflows, by their ids.
    pub subflows: Vec<TcpSocket>,
}

/// What there is in a network namespace.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Listing {
    /// MPTCP connections, by their tokens.
    pub connections: Vec<Connection>,
    /// TCP connections that are no subflow of one of them, by their addresses.
    pub plain: Vec<TcpSocket>,
}

/// How much uses a congestion controller.
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
    /// Who uses each congestion controller, by its name.
    pub fn by_controller(&self) -> BTreeMap<String, Users> {
        let mut all: BTreeMap<String, Users> = BTreeMap::new();
        for name in self.plain.iter().filter_map(|socket| socket.congestion.as_ref()) {
            all.entry(name.clone()).or_default().plain += 1;
        }
        for connection in &self.connections {
            let mut names: Vec<&String> =
                connection.subflows.iter().filter_map(|s| s.congestion.as_ref()).collect();
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
    /// Subflows that one of both ends has declared backups: own address, the other end's.
    pub(crate) fn backups(&self) -> HashSet<(SocketAddr, SocketAddr)> {
        let subflows = self.connections.iter().flat_map(|connection| &connection.subflows);
        let is_backup =
            |socket: &&TcpSocket| socket.membership.is_some_and(|m| m.backup_locally || m.backup_remotely);
        subflows.filter(is_backup).map(|socket| (socket.local, socket.remote)).collect()
    }
}

/// Lists the network namespace of the calling thread. MPTCP first, TCP after: a connection that begins between the two has its
/// subflows among the plain ones.
///
/// # Errors
/// On a kernel without `inet_diag`.
pub fn list() -> Result<Listing> {
    let mut netlink = Netlink::open(NlFamily::SockOrInetDiag).doing("opening sock_diag")?;
    let mut connections: BTreeMap<Token, Connection> = BTreeMap::new();
    for family in [libc::AF_INET, libc::AF_INET6] {
        let query = Query { family, protocol: libc::IPPROTO_MPTCP };
        query.each(&mut netlink, |message| {
            connections.extend(message.connection().map(|connection| (connection.info.token, connection)));
        })?;
    }
    let mut plain = vec![];
    for family in [libc::AF_INET, libc::AF_INET6] {
        let query = Query { family, protocol: libc::IPPROTO_TCP };
        query.each(&mut netlink, |message| {
            let Some(socket) = message.tcp_socket() else { return };
            let token = socket.membership.map(|member| member.token);
            match token.and_then(|token| connections.get_mut(&token)) {
                Some(connection) => connection.subflows.push(socket),
                None => plain.push(socket),
            }
        })?;
    }
    plain.sort_by_key(|socket| (socket.local, socket.remote));
    let mut connections: Vec<Connection> = connections.into_values().collect();
    for connection in &mut connections {
        connection
            .subflows
            .sort_by_key(|s| (s.membership.map(|m| (m.local_id, m.remote_id)), s.local, s.remote));
    }
    Ok(Listing { connections, plain })
}

/// One list.
struct Query {
    family: libc::c_int,
    protocol: libc::c_int,
}

impl Query {
    fn each(&self, netlink: &mut Netlink, mut each: impl FnMut(Message)) -> Result<()> {
        let payload = self.payload().doing("asking sock_diag")?;
        let asked = netlink.request(BY_FAMILY, Extent::All, Buffer::from(payload), &mut |bytes| {
            each(Message::parse(bytes)?);
            Ok(())
        });
        asked.doing(if self.protocol == libc::IPPROTO_MPTCP {
            "listing MPTCP connections"
        } else {
            "listing TCP connections"
        })
    }

    /// `struct inet_diag_req_v2`, all of whose id is "any", and the protocol.
    fn payload(&self) -> io::Result<Vec<u8>> {
        const ID_LEN: usize = 48;
        let extensions = (1 << (answer::INFO - 1)) | (1 << (answer::CONGESTION - 1));
        // The attribute decides; older TCP-only code looks at the byte.
        let mut payload = vec![self.family as u8, libc::IPPROTO_TCP as u8, extensions, 0];
        payload.extend(CONNECTED.to_ne_bytes());
        payload.extend([0; ID_LEN]);
        let mut protocol = io::Cursor::new(vec![]);
        attribute(request::PROTOCOL, &(self.protocol as u32).to_ne_bytes())?
            .to_bytes(&mut protocol)
            .map_err(io::Error::other)?;
        payload.extend(protocol.get_ref());
        Ok(payload)
    }
}

/// `struct inet_diag_msg` and its attributes.
struct Message {
    local: SocketAddr,
    remote: SocketAddr,
    state: TcpState,
    uid: u32,
    inode: u32,
    attributes: Attributes,
}

impl Message {
    fn parse(bytes: &[u8]) -> io::Result<Self> {
        let short = || io::Error::new(io::ErrorKind::UnexpectedEof, "a short answer of sock_diag");
        let (head, rest) = bytes.split_at_checked(MESSAGE_LEN).ok_or_else(short)?;
        let fields = Fields(head);
        let address = |ip_at: usize, port_at: usize| -> Option<SocketAddr> {
            let octets: [u8; 16] = *head.get(ip_at..)?.first_chunk()?;
            let ip: IpAddr = if i32::from(head[0]) == libc::AF_INET {
                Ipv4Addr::from(*octets.first_chunk::<4>()?).into()
            } else {
                Ipv6Addr::from(octets).into()
            };
            let port = u16::from_be_bytes(*head.get(port_at..)?.first_chunk()?);
            Some(canonical((ip, port).into()))
        };
        let read = || {
            Some((
                address(ID_AT + 4, ID_AT)?,
                address(ID_AT + 20, ID_AT + 2)?,
                fields.u32(64)?,
                fields.u32(68)?,
            ))
        };
        let (local, remote, uid, inode) = read().ok_or_else(short)?;
        Ok(Message {
            local,
            remote,
            state: TcpState::new(head[1]),
            uid,
            inode,
            attributes: parse_attributes(rest)?,
        })
    }

    fn connection(self) -> Option<Connection> {
        let info = ConnectionInfo::parse(self.attributes.bytes(answer::INFO)?)?;
        let Message { local, remote, state, uid, inode, .. } = self;
        Some(Connection { local, remote, state, uid, inode, info, subflows: vec![] })
    }

    fn tcp_socket(self) -> Option<TcpSocket> {
        let name = self.attributes.bytes(answer::CONGESTION);
        let name = name.map(|name| String::from_utf8_lossy(name).trim_end_matches('\0').to_owned());
        Some(TcpSocket {
            info: self.attributes.bytes(answer::INFO).and_then(TcpInfo::parse),
            membership: self.attributes.bytes(answer::ULP_INFO).and_then(membership),
            congestion: name.filter(|name| !name.is_empty()),
            local: self.local,
            remote: self.remote,
            state: self.state,
            uid: self.uid,
            inode: self.inode,
        })
    }
}

/// None for other ULPs than MPTCP, such as TLS.
fn membership(ulp_info: &[u8]) -> Option<Membership> {
    let ulp = parse_attributes(ulp_info).ok()?;
    let mptcp = parse_attributes(ulp.bytes(answer::ULP_MPTCP)?).ok()?;
    let flags = mptcp.u32(subflow::FLAGS)?;
    Some(Membership {
        token: Token(mptcp.u32(subflow::LOCAL_TOKEN)?),
        local_id: AddressId(mptcp.u8(subflow::LOCAL_ID)?),
        remote_id: AddressId(mptcp.u8(subflow::REMOTE_ID)?),
        joined: flags & (subflow::JOINED_LOCALLY | subflow::JOINED_REMOTELY) != 0,
        backup_locally: flags & subflow::BACKUP_LOCAL != 0,
        backup_remotely: flags & subflow::BACKUP_REMOTE != 0,
    })
}
