//! Stream sockets that speak MPTCP or plain TCP.
//!
//! ## Buffers
//! A scenario's buffers are payload; Linux counts memory. [`ReceiveWindow`] computes the memory for
//! a receive window. `SO_RCVBUF = v` allocates 2 v bytes (`sk_rcvbuf`) and ends Linux' automatic
//! growth, as a fixed buffer requires. `TCP_WINDOW_CLAMP` would be exact, but MPTCP sockets refuse
//! it.
//!
//! The send buffer holds unacknowledged payload, almost without overhead, and `SO_SNDBUF = v`
//! allocates 2 v bytes: [`Buffers::send`] = S is set as S/2.
//!
//! If permitted, both are set with the `…FORCE` options, so that the machine's `rmem_max` does not
//! limit a scenario. Measurements: `docs/models/kernel-traffic.md`.

use std::fs;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use joulepath_model::units::Bytes;
use rustix::event::PollFlags;
use rustix::io::Errno;
use rustix::net::sockopt;
use rustix::net::{AddressFamily, SocketFlags, SocketType, ipproto};
use serde::{Deserialize, Serialize};

use super::memory::ReceiveWindow;
use crate::congestion;
use crate::error::{Doing, Error, Result};
use crate::wait::ready;

/// Protocol of a socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Protocol {
    /// MPTCP, with fallback to TCP if the peer lacks it.
    Mptcp,
    /// Plain TCP.
    Tcp,
}

/// Payload that each end may hold. `None` leaves the size to Linux, which grows it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Buffers {
    /// Received, not yet read by the application, or out of order.
    pub receive: Option<ReceiveWindow>,
    /// Written by the application and not yet acknowledged.
    pub send: Option<Bytes>,
}

/// Settings of a socket.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Congestion controller of all its subflows, by the kernel's name; `None` keeps the
    /// namespace's default.
    pub congestion: Option<String>,
    /// Buffers.
    pub buffers: Buffers,
    /// Memory of an MPTCP socket itself, if it should exceed that of its subflows, which is
    /// `net.ipv4.tcp_rmem`: see [`super::memory`].
    pub reserve: Option<Bytes>,
}

/// Opens a non-blocking socket.
///
/// # Errors
/// On a kernel without MPTCP, or if MPTCP is switched off.
pub fn open(protocol: Protocol, to: IpAddr) -> Result<OwnedFd> {
    let family = if to.is_ipv4() {
        AddressFamily::INET
    } else {
        AddressFamily::INET6
    };
    let number = match protocol {
        Protocol::Mptcp => ipproto::MPTCP,
        Protocol::Tcp => ipproto::TCP,
    };
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    rustix::net::socket_with(family, SocketType::STREAM, flags, Some(number)).map_err(|errno| {
        match errno {
            Errno::PROTONOSUPPORT | Errno::INVAL => Error::Unsupported {
                what: "MPTCP sockets".into(),
                why: "this kernel was built without CONFIG_MPTCP".into(),
                remedy: "boot a distribution's kernel, 6.1 or newer".into(),
            },
            Errno::NOPROTOOPT => Error::Unsupported {
                what: "MPTCP sockets".into(),
                why: "MPTCP is switched off in this network namespace".into(),
                remedy: "sysctl -w net.mptcp.enabled=1".into(),
            },
            errno => Error::io("opening a socket", errno),
        }
    })
}

/// As [`open`], with more memory for the MPTCP socket than for its subflows, which take `tcp_rmem`
/// when they are created. The namespace is the calling thread's; no other thread may open sockets
/// in it meanwhile.
///
/// # Errors
/// As [`open`], or if this process may not set the sysctl.
fn open_with_reserve(protocol: Protocol, to: IpAddr, memory: Bytes) -> Result<OwnedFd> {
    const SYSCTL: &str = "/proc/sys/net/ipv4/tcp_rmem";
    let doing = "setting net.ipv4.tcp_rmem";
    let before = fs::read_to_string(SYSCTL).doing(doing)?;
    let least = before.split_whitespace().next().unwrap_or("4096");
    let memory = memory.0.min(i32::MAX as u64);
    fs::write(SYSCTL, format!("{least} {memory} {memory}")).doing(doing)?;
    let opened = open(protocol, to);
    fs::write(SYSCTL, before).doing(doing)?;
    opened
}

/// Opens a socket and applies `options`.
fn open_and_configure(protocol: Protocol, to: IpAddr, options: &Options) -> Result<OwnedFd> {
    let socket = match options.reserve {
        Some(memory) if protocol == Protocol::Mptcp => open_with_reserve(protocol, to, memory)?,
        _ => open(protocol, to)?,
    };
    configure(&socket, options)?;
    Ok(socket)
}

/// Applies `options`, and disables Nagle's algorithm, so that small writes are sent at once.
///
/// # Errors
/// If the controller is not loaded or this user may not choose it.
pub fn configure(socket: impl AsFd, options: &Options) -> Result<()> {
    let socket = socket.as_fd();
    if let Some(name) = &options.congestion {
        congestion::choose(socket, name)?;
    }
    sockopt::set_tcp_nodelay(socket, true).doing("switching Nagle's algorithm off")?;
    if let Some(window) = options.buffers.receive {
        let size = buffer_size(window.memory(), 2);
        sockopt::set_socket_recv_buffer_size_force(socket, size)
            .or_else(|_| sockopt::set_socket_recv_buffer_size(socket, size))
            .doing("setting the receive buffer")?;
    }
    if let Some(bytes) = options.buffers.send {
        let size = buffer_size(bytes, 2);
        sockopt::set_socket_send_buffer_size_force(socket, size)
            .or_else(|_| sockopt::set_socket_send_buffer_size(socket, size))
            .doing("setting the send buffer")?;
    }
    Ok(())
}

/// The value for a buffer option, which is an `int` that Linux doubles.
fn buffer_size(bytes: Bytes, divisor: u64) -> usize {
    const LARGEST: u64 = i32::MAX as u64 / 2;
    (bytes.0 / divisor).clamp(1, LARGEST) as usize
}

/// Listens at `at`; accepted connections inherit `options`.
///
/// # Errors
/// If the address is in use or not local, or as [`open`] and [`configure`].
pub fn listen(
    protocol: Protocol,
    at: SocketAddr,
    options: &Options,
    backlog: u16,
) -> Result<OwnedFd> {
    let socket = open_and_configure(protocol, at.ip(), options)?;
    sockopt::set_socket_reuseaddr(&socket, true).doing("setting SO_REUSEADDR")?;
    rustix::net::bind(&socket, &at).doing(format!("binding to {at}"))?;
    rustix::net::listen(&socket, i32::from(backlog)).doing(format!("listening at {at}"))?;
    Ok(socket)
}

/// Accepts the next connection, non-blocking, with its remote address; `None` if there is none yet.
///
/// # Errors
/// If the system runs out of a resource.
pub fn accept(listener: impl AsFd) -> Result<Option<(OwnedFd, SocketAddr)>> {
    match rustix::net::acceptfrom_with(listener, SocketFlags::NONBLOCK | SocketFlags::CLOEXEC) {
        Ok((socket, peer)) => {
            let peer = peer.ok_or(Errno::NOTCONN).and_then(SocketAddr::try_from);
            Ok(Some((
                socket,
                super::info::canonical(peer.doing("reading a client's address")?),
            )))
        }
        // The connection ended before it was accepted.
        Err(Errno::AGAIN | Errno::CONNABORTED | Errno::INTR) => Ok(None),
        Err(errno) => Err(Error::io("accepting a connection", errno)),
    }
}

/// As [`accept`], but waits for at most `patience`.
///
/// # Errors
/// As [`accept`], or if no connection comes.
pub fn accept_within(listener: impl AsFd, patience: Duration) -> Result<(OwnedFd, SocketAddr)> {
    let listener = listener.as_fd();
    let deadline = Instant::now() + patience;
    loop {
        if let Some(accepted) = accept(listener)? {
            return Ok(accepted);
        }
        if !ready(listener, PollFlags::IN, deadline).doing("waiting for a connection")? {
            return Err(Error::Run(format!(
                "no connection arrived within {} s",
                patience.as_secs_f64()
            )));
        }
    }
}

/// Starts to connect from `from` to `to`. The socket becomes writable when it is connected or has
/// failed; [`connected`] returns which.
///
/// # Errors
/// If the address is in use or not local, or as [`open`] and [`configure`].
pub fn start_connecting(
    protocol: Protocol,
    from: SocketAddr,
    to: SocketAddr,
    options: &Options,
) -> Result<OwnedFd> {
    let socket = open_and_configure(protocol, to.ip(), options)?;
    sockopt::set_socket_reuseaddr(&socket, true).doing("setting SO_REUSEADDR")?;
    rustix::net::bind(&socket, &from).doing(format!("binding to {from}"))?;
    match rustix::net::connect(&socket, &to) {
        Ok(()) | Err(Errno::INPROGRESS) => Ok(socket),
        Err(errno) => Err(Error::io(format!("connecting from {from} to {to}"), errno)),
    }
}

/// True if a socket that became writable is connected.
///
/// # Errors
/// The reason why it is not.
pub fn connected(socket: impl AsFd, to: SocketAddr) -> Result<()> {
    match sockopt::socket_error(socket) {
        Ok(Ok(())) => Ok(()),
        Ok(Err(errno)) | Err(errno) => Err(Error::io(format!("connecting to {to}"), errno)),
    }
}

/// Connects from `from` to `to`, and waits for at most `patience`.
///
/// # Errors
/// As [`start_connecting`] and [`connected`], or if there is no answer.
pub fn connect_within(
    protocol: Protocol,
    from: SocketAddr,
    to: SocketAddr,
    options: &Options,
    patience: Duration,
) -> Result<OwnedFd> {
    let socket = start_connecting(protocol, from, to, options)?;
    let deadline = Instant::now() + patience;
    if !ready(socket.as_fd(), PollFlags::OUT, deadline).doing("waiting for the handshake")? {
        return Err(Error::Run(format!(
            "{to} did not answer {from} within {} s",
            patience.as_secs_f64()
        )));
    }
    connected(&socket, to)?;
    Ok(socket)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffer_sizes_account_for_the_kernels_doubling() {
        assert_eq!(buffer_size(Bytes(65_536), 1), 65_536);
        assert_eq!(buffer_size(Bytes(65_536), 2), 32_768);
        assert_eq!(buffer_size(Bytes(1 << 40), 1), (1 << 30) - 1);
        assert_eq!(buffer_size(Bytes(0), 2), 1);
    }
}
