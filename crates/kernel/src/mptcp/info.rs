//! Reads the kernel's statistics of a connection from its socket, and whether it has fallen back to
//! TCP.
//!
//! The structures grow with the kernel. Every query passes the size of its buffer and parses what
//! the kernel wrote, so the same code works from Linux 5.16 on. Fields that this kernel does not
//! report are `None`, never 0.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6};
use std::os::fd::{AsFd, AsRawFd};

use serde::{Deserialize, Serialize};

use super::tcp_info::{TCP_INFO_LEN, TcpInfo};
use super::{MAX_SUBFLOWS, Token};
use crate::error::{Doing, Error, Result};
use crate::sockopt::{
    self, Fields, MPTCP_FULL_INFO, MPTCP_INFO, MPTCP_SUBFLOW_ADDRS, MPTCP_TCPINFO, SOL_MPTCP,
};

/// `MPTCP_INFO_FLAG_FALLBACK`.
const FLAG_FALLBACK: u32 = 1 << 0;
/// `MPTCP_INFO_FLAG_REMOTE_KEY_RECEIVED`.
const FLAG_REMOTE_KEY: u32 = 1 << 1;
/// Length of the structure that includes the byte counters of Linux 6.5. The counter of
/// retransmissions lies at offset 44, where older kernels have padding.
const LEN_WITH_COUNTERS: usize = 80;
/// `struct mptcp_info` has 96 bytes in Linux 6.18; this leaves room for more.
const MPTCP_INFO_LEN: usize = 256;
/// Two `struct __kernel_sockaddr_storage`.
const ADDRS_LEN: usize = 2 * SOCKADDR_LEN;
const SOCKADDR_LEN: usize = 128;
/// `struct mptcp_subflow_info`: an id, aligned to 8, and the addresses.
const SUBFLOW_INFO_LEN: usize = 8 + ADDRS_LEN;
/// `struct mptcp_subflow_data`, aligned to 8.
const SUBFLOW_DATA_LEN: usize = 16;

/// Statistics of one connection (`struct mptcp_info`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConnectionInfo {
    /// The path manager's token.
    pub token: Token,
    /// True if it has fallen back to plain TCP.
    pub fallback: bool,
    /// True if the peer's key has arrived, so that both ends speak MPTCP.
    pub remote_key_received: bool,
    /// Subflows apart from the first.
    pub extra_subflows: u8,
    /// Limit of the path manager for extra subflows.
    pub extra_subflows_max: u8,
    /// Number of subflows. Linux 6.7.
    pub subflows: Option<u8>,
    /// True if DSS checksums are in use.
    pub checksums: bool,
    /// Next data sequence number that the application writes.
    pub write_dsn: u64,
    /// First data sequence number that is not acknowledged.
    pub unacked_dsn: u64,
    /// Next expected data sequence number.
    pub receive_dsn: u64,
    /// Bytes since the start, at the data level. Linux 6.5.
    pub counters: Option<ByteCounters>,
}

/// Bytes at the data level. Except for `reinjected`, each byte counts once, however many subflows
/// carried it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ByteCounters {
    /// First transmissions.
    pub sent: u64,
    /// Received in order.
    pub received: u64,
    /// Acknowledged by the peer.
    pub acked: u64,
    /// Sent again on another subflow, because a subflow did not deliver them.
    pub reinjected: u64,
    /// Number of timeouts of the connection's retransmission timer.
    pub timeouts: u32,
}

/// One subflow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SubflowInfo {
    /// Counts from 1 in the order of creation; unique in its connection. Linux 6.5.
    pub id: Option<u32>,
    /// Local address.
    pub local: SocketAddr,
    /// Remote address.
    pub remote: SocketAddr,
    /// TCP's statistics.
    pub tcp: TcpInfo,
}

/// A connection and its subflows at one instant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FullInfo {
    /// `None` for plain TCP; a socket that has fallen back reports itself as plain TCP.
    pub connection: Option<ConnectionInfo>,
    /// Its subflows, in the order of creation. A plain TCP connection has exactly one.
    pub subflows: Vec<SubflowInfo>,
}

impl FullInfo {
    /// True for plain TCP, from the start or after a fallback.
    pub fn is_plain_tcp(&self) -> bool {
        self.connection
            .as_ref()
            .is_none_or(|connection| connection.fallback)
    }
}

impl ConnectionInfo {
    /// Parses what the kernel wrote; `None` if it is too short.
    pub(crate) fn parse(bytes: &[u8]) -> Option<Self> {
        let fields = Fields(bytes);
        let flags = fields.u32(8)?;
        let counters = || {
            Some(ByteCounters {
                timeouts: fields.u32(44)?,
                reinjected: fields.u64(48)?,
                sent: fields.u64(56)?,
                received: fields.u64(64)?,
                acked: fields.u64(72)?,
            })
        };
        Some(ConnectionInfo {
            token: Token(fields.u32(12)?),
            fallback: flags & FLAG_FALLBACK != 0,
            remote_key_received: flags & FLAG_REMOTE_KEY != 0,
            extra_subflows: fields.u8(0)?,
            extra_subflows_max: fields.u8(3)?,
            subflows: fields.u8(80),
            checksums: fields.u8(42)? != 0,
            write_dsn: fields.u64(16)?,
            unacked_dsn: fields.u64(24)?,
            receive_dsn: fields.u64(32)?,
            counters: if bytes.len() >= LEN_WITH_COUNTERS {
                counters()
            } else {
                None
            },
        })
    }
}

/// `MPTCP_INFO` of a connection; `None` for plain TCP, from the start or after a fallback.
///
/// # Errors
/// [`Error::Io`] if the file is no connected TCP or MPTCP socket; [`Error::Unsupported`] on kernels
/// before 5.16.
pub fn connection_info(socket: impl AsFd) -> Result<Option<ConnectionInfo>> {
    let mut buffer = [0; MPTCP_INFO_LEN];
    match sockopt::get(socket, SOL_MPTCP, MPTCP_INFO, &mut buffer) {
        Ok(bytes) => ConnectionInfo::parse(bytes).map(Some).ok_or_else(too_short),
        Err(error) if is_not_mptcp(&error) => Ok(None),
        Err(error) => Err(Error::io("reading MPTCP_INFO", error)),
    }
}

/// `TCP_INFO` of a plain TCP socket; of an MPTCP socket, that of its first subflow.
///
/// # Errors
/// [`Error::Io`] if the file is no connected TCP or MPTCP socket; [`Error::Unsupported`] on kernels
/// before 5.16.
pub fn tcp_info(socket: impl AsFd) -> Result<TcpInfo> {
    let mut buffer = [0; TCP_INFO_LEN];
    let bytes = sockopt::get(socket, libc::IPPROTO_TCP, libc::TCP_INFO, &mut buffer)
        .doing("reading TCP_INFO")?;
    TcpInfo::parse(bytes).ok_or_else(too_short)
}

/// `MPTCP_FULL_INFO`, or its equivalent on kernels before 6.5: the connection and its subflows. A
/// plain TCP socket is a connection with one subflow.
///
/// # Errors
/// [`Error::Io`] if the file is no connected TCP or MPTCP socket; [`Error::Unsupported`] on kernels
/// before 5.16.
pub fn full_info(socket: impl AsFd) -> Result<FullInfo> {
    let socket = socket.as_fd();
    match full_info_at_once(socket) {
        Ok(info) => Ok(info),
        Err(error) if is_not_mptcp(&error) => match connection_info(socket)? {
            // The kernel lacks the option but has the older one: it is older than 6.5.
            Some(connection) => Ok(FullInfo {
                connection: Some(connection),
                subflows: subflows_in_pieces(socket)?,
            }),
            None => plain(socket),
        },
        Err(error) => Err(Error::io("reading MPTCP_FULL_INFO", error)),
    }
}

/// True for the error of sockets that are not MPTCP, and of kernels without the option.
fn is_not_mptcp(error: &io::Error) -> bool {
    matches!(
        error.raw_os_error(),
        Some(libc::EOPNOTSUPP | libc::ENOPROTOOPT | libc::EINVAL)
    )
}

fn too_short() -> Error {
    Error::Unsupported {
        what: "statistics of MPTCP".into(),
        why: "they require Linux 5.16 or newer".into(),
        remedy: "boot Linux 6.1 or newer".into(),
    }
}

fn plain(socket: impl AsFd + Copy) -> Result<FullInfo> {
    let address = |of: rustix::io::Result<rustix::net::SocketAddrAny>| -> io::Result<SocketAddr> {
        Ok(SocketAddr::try_from(of?)?)
    };
    let local = address(rustix::net::getsockname(socket)).doing("reading a socket's address")?;
    let peer =
        rustix::net::getpeername(socket).and_then(|peer| peer.ok_or(rustix::io::Errno::NOTCONN));
    let remote = address(peer).doing("reading a socket's peer")?;
    let (local, remote) = (canonical(local), canonical(remote));
    Ok(FullInfo {
        connection: None,
        subflows: vec![SubflowInfo {
            id: None,
            local,
            remote,
            tcp: tcp_info(socket)?,
        }],
    })
}

/// `struct mptcp_full_info`, with room for fields that newer kernels append.
#[repr(C, align(8))]
struct FullInfoRequest {
    size_tcpinfo_kernel: u32,
    size_tcpinfo_user: u32,
    size_sfinfo_kernel: u32,
    size_sfinfo_user: u32,
    num_subflows: u32,
    size_arrays_user: u32,
    subflow_info: u64,
    tcp_info: u64,
    mptcp_info: [u8; MPTCP_INFO_LEN],
}

/// Length of [`FullInfoRequest`] up to its last field.
const FULL_INFO_HEAD_LEN: usize = 40;

fn full_info_at_once(socket: impl AsFd + Copy) -> io::Result<FullInfo> {
    let mut room = MAX_SUBFLOWS;
    loop {
        let (info, count) = full_info_of(socket, room)?;
        if count <= room {
            return Ok(info);
        }
        room = count;
    }
}

/// The first `room` subflows, and the number of all.
fn full_info_of(socket: impl AsFd, room: usize) -> io::Result<(FullInfo, usize)> {
    let mut addresses = vec![0u8; room * SUBFLOW_INFO_LEN];
    let mut tcp = vec![0u8; room * TCP_INFO_LEN];
    let mut request = FullInfoRequest {
        size_tcpinfo_kernel: 0,
        size_tcpinfo_user: TCP_INFO_LEN as u32,
        size_sfinfo_kernel: 0,
        size_sfinfo_user: SUBFLOW_INFO_LEN as u32,
        num_subflows: 0,
        size_arrays_user: room as u32,
        subflow_info: addresses.as_mut_ptr().expose_provenance() as u64,
        tcp_info: tcp.as_mut_ptr().expose_provenance() as u64,
        mptcp_info: [0; MPTCP_INFO_LEN],
    };
    let mut len = size_of::<FullInfoRequest>() as libc::socklen_t;
    // SAFETY: the kernel writes at most `len` bytes to `request`. It writes at most
    // `size_arrays_user` elements, each at most as long as the size given for it, to each array.
    // The arrays are that long and live until the call returns.
    let status = unsafe {
        let fd = socket.as_fd().as_raw_fd();
        libc::getsockopt(
            fd,
            SOL_MPTCP,
            MPTCP_FULL_INFO,
            (&raw mut request).cast(),
            &raw mut len,
        )
    };
    if status < 0 {
        return Err(io::Error::last_os_error());
    }
    let written = (len as usize)
        .saturating_sub(FULL_INFO_HEAD_LEN)
        .min(MPTCP_INFO_LEN);
    let connection = ConnectionInfo::parse(&request.mptcp_info[..written]);
    // The kernel has reduced the sizes to its own; they are the strides of the arrays.
    let (info_step, tcp_step) = (
        request.size_sfinfo_user as usize,
        request.size_tcpinfo_user as usize,
    );
    let count = request.num_subflows as usize;
    let subflow = |i: usize| {
        let info = addresses.get(i * info_step..)?.get(..info_step)?;
        let (local, remote) = parse_addresses(info.get(8..)?)?;
        let tcp = TcpInfo::parse(tcp.get(i * tcp_step..)?.get(..tcp_step)?)?;
        Some(SubflowInfo {
            id: Fields(info).u32(0),
            local,
            remote,
            tcp,
        })
    };
    Ok((
        FullInfo {
            connection,
            subflows: (0..count.min(room)).filter_map(subflow).collect(),
        },
        count,
    ))
}

/// Combines `MPTCP_TCPINFO` and `MPTCP_SUBFLOW_ADDRS`, and repeats both if a subflow is opened or
/// closed in between.
fn subflows_in_pieces(socket: impl AsFd + Copy) -> Result<Vec<SubflowInfo>> {
    const ATTEMPTS: usize = 8;
    for _ in 0..ATTEMPTS {
        let before = subflow_array::<ADDRS_LEN>(socket, MPTCP_SUBFLOW_ADDRS)?;
        let tcp = subflow_array::<TCP_INFO_LEN>(socket, MPTCP_TCPINFO)?;
        if before != subflow_array::<ADDRS_LEN>(socket, MPTCP_SUBFLOW_ADDRS)? {
            continue;
        }
        let subflow = |(addresses, tcp): (&Vec<u8>, &Vec<u8>)| {
            let (local, remote) = parse_addresses(addresses)?;
            Some(SubflowInfo {
                id: None,
                local,
                remote,
                tcp: TcpInfo::parse(tcp)?,
            })
        };
        return Ok(before.iter().zip(&tcp).filter_map(subflow).collect());
    }
    Err(Error::Run(
        "the subflows of a connection change faster than they can be listed".into(),
    ))
}

/// Reads an option that returns a header and one element per subflow.
fn subflow_array<const LEN: usize>(
    socket: impl AsFd + Copy,
    option: libc::c_int,
) -> Result<Vec<Vec<u8>>> {
    let mut room = MAX_SUBFLOWS;
    loop {
        let mut buffer = vec![0u8; SUBFLOW_DATA_LEN + room * LEN];
        for (at, value) in [(0, SUBFLOW_DATA_LEN), (12, LEN)] {
            buffer[at..at + 4].copy_from_slice(&(value as u32).to_ne_bytes());
        }
        sockopt::get(socket, SOL_MPTCP, option, &mut buffer).doing("reading the subflows")?;
        let (count, elements) = elements(&buffer);
        if count <= room {
            return Ok(elements);
        }
        room = count;
    }
}

/// The number of all subflows, and those in the buffer: `struct mptcp_subflow_data` and an array.
fn elements(buffer: &[u8]) -> (usize, Vec<Vec<u8>>) {
    let head = Fields(buffer);
    let count = head.u32(4).unwrap_or(0) as usize;
    let step = head.u32(12).unwrap_or(0) as usize;
    let element = |i: usize| {
        buffer
            .get(SUBFLOW_DATA_LEN + i * step..)?
            .get(..step)
            .map(<[u8]>::to_vec)
    };
    let there = buffer
        .len()
        .checked_div(step)
        .map_or(0, |most| count.min(most));
    (count, (0..there).map_while(element).collect())
}

/// Local and remote address.
fn parse_addresses(bytes: &[u8]) -> Option<(SocketAddr, SocketAddr)> {
    Some((
        parse_sockaddr(bytes)?,
        parse_sockaddr(bytes.get(SOCKADDR_LEN..)?)?,
    ))
}

/// Parses `struct sockaddr_in` or `sockaddr_in6`. An IPv4-mapped address becomes IPv4.
fn parse_sockaddr(bytes: &[u8]) -> Option<SocketAddr> {
    let fields = Fields(bytes);
    let port = u16::from_be_bytes(*bytes.get(2..)?.first_chunk()?);
    match i32::from(fields.u16(0)?) {
        libc::AF_INET => Some(
            (
                IpAddr::from(Ipv4Addr::from(*bytes.get(4..)?.first_chunk::<4>()?)),
                port,
            )
                .into(),
        ),
        libc::AF_INET6 => {
            let address = Ipv6Addr::from(*bytes.get(8..)?.first_chunk::<16>()?);
            Some(canonical(
                SocketAddrV6::new(address, port, 0, fields.u32(24)?).into(),
            ))
        }
        _ => None,
    }
}

/// Converts an IPv4-mapped address to IPv4.
pub fn canonical(address: SocketAddr) -> SocketAddr {
    match address.ip().to_canonical() {
        ip @ IpAddr::V4(_) => (ip, address.port()).into(),
        IpAddr::V6(_) => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn twelve_subflows_are_counted_although_the_buffer_holds_eight() {
        // struct mptcp_subflow_data: size of the header, number of subflows, sizes of an element;
        // then elements of 4 bytes.
        let mut buffer = vec![0; SUBFLOW_DATA_LEN];
        for (at, value) in [(0, SUBFLOW_DATA_LEN as u32), (4, 12), (8, 4), (12, 4)] {
            buffer[at..at + 4].copy_from_slice(&value.to_ne_bytes());
        }
        buffer.extend((0..8u32).flat_map(u32::to_ne_bytes));
        let (count, eight) = elements(&buffer);
        assert_eq!((count, eight.len()), (12, 8));
        buffer.extend((8..12u32).flat_map(u32::to_ne_bytes));
        let (_, twelve) = elements(&buffer);
        assert_eq!(twelve.last().unwrap(), &11u32.to_ne_bytes());
        assert_eq!(elements(&[]), (0, vec![]));
    }

    #[test]
    fn padding_of_an_old_kernel_is_not_read_as_a_counter() {
        // Linux 6.1: 43 bytes, padded to 48 with arbitrary bytes.
        let old = ConnectionInfo::parse(&[0xff; 48]).unwrap();
        assert_eq!((old.counters, old.subflows), (None, None));
        let new = ConnectionInfo::parse(&[0; 96]).unwrap();
        assert!(new.counters.is_some() && new.subflows.is_some());
        assert_eq!(ConnectionInfo::parse(&[0; 40]), None);
    }

    #[test]
    fn counters_are_at_the_kernels_offsets() {
        let bytes: Vec<u8> = (0..96).collect();
        let info = ConnectionInfo::parse(&bytes).unwrap();
        let at = |i: u8| u64::from_ne_bytes(std::array::from_fn(|k| i + k as u8));
        let counters = info.counters.unwrap();
        assert_eq!(counters.sent, at(56));
        assert_eq!(counters.acked, at(72));
        assert_eq!(info.token, Token(u32::from_ne_bytes([12, 13, 14, 15])));
        // The flags are bytes 8 to 11; the lowest byte has neither bit set.
        assert!(!info.fallback && !info.remote_key_received);
        assert_eq!(info.subflows, Some(80));
    }

    #[test]
    fn the_request_is_laid_out_as_in_the_kernel() {
        assert_eq!(
            std::mem::offset_of!(FullInfoRequest, mptcp_info),
            FULL_INFO_HEAD_LEN
        );
        assert_eq!(std::mem::offset_of!(FullInfoRequest, subflow_info), 24);
    }

    #[test]
    fn an_ipv4_address_on_an_ipv6_socket_is_ipv4() {
        let mut bytes = [0u8; 28];
        bytes[..2].copy_from_slice(&(libc::AF_INET6 as u16).to_ne_bytes());
        bytes[2..4].copy_from_slice(&80u16.to_be_bytes());
        bytes[18..24].copy_from_slice(&[0xff, 0xff, 10, 0, 0, 1]);
        assert_eq!(parse_sockaddr(&bytes), Some("10.0.0.1:80".parse().unwrap()));
    }

    #[test]
    fn no_answer_of_the_kernel_causes_a_panic() {
        let v6 = [&(libc::AF_INET6 as u16).to_ne_bytes()[..], &[7; 26]].concat();
        joulepath_testbed::fuzz([vec![0; 96], vec![1; 300], v6.repeat(12)], |bytes| {
            let _ = (
                ConnectionInfo::parse(bytes),
                TcpInfo::parse(bytes),
                elements(bytes),
                parse_addresses(bytes),
            );
        });
    }
}
