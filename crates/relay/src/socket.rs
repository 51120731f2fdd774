//! Sockets of the relay: MPTCP where the kernel has it, congestion controllers by name, resets.

use std::io::{self, ErrorKind};
use std::net::{SocketAddr, UdpSocket};
use std::ops::Deref;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use joulepath_kernel::congestion;
use socket2::{Domain, Protocol, SockRef, Socket, TcpKeepalive, Type};
use tokio::io::Interest;
use tokio::net::{TcpListener, TcpSocket, TcpStream, lookup_host};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::destination::{Destination, canonical, may_reach};
use crate::error::{Error, Kind};
use crate::prefix::Prefix;

/// Time for resolving a name and connecting.
pub(crate) const CONNECT: Duration = Duration::from_secs(15);
/// Time before the next address of a name is tried as well (RFC 8305, section 8).
const STAGGER: Duration = Duration::from_millis(250);
/// Idle time before a connection is checked, on each subflow. The kernel's default is two hours;
/// NATs and firewalls of mobile networks forget a connection after five minutes or later.
const IDLE: Duration = Duration::from_secs(300);
const BACKLOG: i32 = 1024;

/// Which sockets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Speak {
    /// Plain TCP.
    Tcp,
    /// MPTCP, or TCP where the kernel refuses MPTCP.
    Mptcp,
}

fn socket(address: SocketAddr, speak: Speak) -> io::Result<Socket> {
    let domain = Domain::for_address(address);
    let new = |protocol| Socket::new(domain, Type::STREAM.nonblocking(), Some(protocol));
    match speak {
        Speak::Mptcp if has_mptcp() => new(Protocol::MPTCP),
        _ => new(Protocol::TCP),
    }
}

/// True if the kernel gives this process MPTCP sockets: `net.mptcp.enabled` and the policy of
/// containers can refuse them.
pub(crate) fn has_mptcp() -> bool {
    Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::MPTCP)).is_ok()
}

/// Checks that the kernel has the congestion controller and lets this process choose it.
///
/// # Errors
/// If not.
pub(crate) fn check_congestion(name: &str) -> Result<(), Error> {
    let probe = SocketAddr::from(([127, 0, 0, 1], 0));
    // Not on an MPTCP socket: it takes any name until it has its first subflow.
    let probe =
        socket(probe, Speak::Tcp).map_err(|error| Error::io("cannot make a socket", &error))?;
    congestion::choose(&probe, name).map_err(|error| {
        let kind = match error {
            joulepath_kernel::Error::Unsupported { .. } => Kind::Unsupported,
            joulepath_kernel::Error::Permission { .. } => Kind::Permission,
            _ => Kind::Failed,
        };
        let refused = Error::new(kind, format!("`congestion`: {error}"));
        match error.remedy() {
            Some(remedy) => refused.help(remedy),
            None => refused,
        }
    })
}

/// Listens.
pub(crate) fn listen(
    address: SocketAddr,
    speak: Speak,
    congestion: Option<&str>,
) -> io::Result<TcpListener> {
    let socket = socket(address, speak)?;
    socket.set_reuse_address(true)?;
    if address.is_ipv6() {
        socket.set_only_v6(false)?;
    }
    if let Some(name) = congestion {
        socket.set_tcp_congestion(name.as_bytes())?;
    }
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    TcpListener::from_std(socket.into())
}

/// Connects over an interface, by plain TCP.
pub(crate) async fn connect_over(interface: &str, address: SocketAddr) -> io::Result<Stream> {
    let socket = socket(address, Speak::Tcp)?;
    socket.bind_device(Some(interface.as_bytes()))?;
    let connected = TcpSocket::from_std_stream(socket.into()).connect(address);
    Ok(Stream::new(in_time(connected).await?))
}

/// Connects to the first address that answers: the next one is tried after a quarter of a second as
/// well.
pub(crate) async fn connect(
    addresses: Vec<SocketAddr>,
    speak: Speak,
    congestion: Option<&str>,
) -> io::Result<Stream> {
    let mut last = io::Error::new(ErrorKind::NotFound, "the name has no address");
    let mut tries = JoinSet::new();
    let mut left = addresses.into_iter();
    loop {
        match left.next() {
            Some(address) => {
                let socket = match socket(address, speak) {
                    Ok(socket) => socket,
                    Err(error) => {
                        last = error;
                        continue;
                    }
                };
                // Checked at the start: a controller that is unloaded since then does not stop the
                // relay.
                if let Some(name) = congestion {
                    let _ = socket.set_tcp_congestion(name.as_bytes());
                }
                tries.spawn(TcpSocket::from_std_stream(socket.into()).connect(address));
            }
            None if tries.is_empty() => return Err(last),
            None => {}
        }
        let more = left.len() > 0;
        let ended = tokio::select! {
            ended = tries.join_next() => ended,
            () = sleep(STAGGER), if more => None,
        };
        match ended {
            Some(Ok(Ok(stream))) => return Ok(Stream::new(stream)),
            Some(Ok(Err(error))) => last = error,
            Some(Err(error)) => last = io::Error::other(error),
            None => {}
        }
    }
}

/// Addresses of a destination. Names are resolved as the system does it.
pub(crate) async fn resolve(to: &Destination) -> io::Result<Vec<SocketAddr>> {
    match to {
        Destination::Address(address) => Ok(vec![canonical(*address)]),
        Destination::Name(name, port) => Ok(lookup_host((name.as_str(), *port))
            .await?
            .map(canonical)
            .collect()),
    }
}

/// Addresses of a destination that clients may reach.
pub(crate) async fn reachable(to: &Destination, allowed: &[Prefix]) -> io::Result<Vec<SocketAddr>> {
    let mut addresses = resolve(to).await?;
    addresses.retain(|address| {
        let named = allowed.iter().any(|prefix| prefix.contains(address.ip()));
        named || may_reach(address.ip(), allowed) && !is_own(*address)
    });
    Ok(addresses)
}

/// The future's result, or an error after [`CONNECT`].
pub(crate) async fn in_time<T>(future: impl Future<Output = io::Result<T>>) -> io::Result<T> {
    let late = |_| io::Error::new(ErrorKind::TimedOut, "no answer in time");
    timeout(CONNECT, future).await.map_err(late)?
}

/// True if the address belongs to this machine.
pub(crate) fn is_own(address: SocketAddr) -> bool {
    let any: SocketAddr = if address.is_ipv4() {
        ([0; 4], 0).into()
    } else {
        ([0; 16], 0).into()
    };
    // Connecting a UDP socket sends nothing: the kernel chooses the source address.
    let source = UdpSocket::bind(any).and_then(|socket| {
        socket.connect(address)?;
        socket.local_addr()
    });
    source.is_ok_and(|source| source.ip() == address.ip())
}

/// A connection, which is reset when it is dropped before [`Stream::end`]: the other side never
/// takes an abandoned connection for a complete one.
pub(crate) struct Stream {
    stream: TcpStream,
    ended: AtomicBool,
}

impl Stream {
    pub(crate) fn new(stream: TcpStream) -> Self {
        let socket = SockRef::from(&stream);
        // Without these it is slower or lasts longer after the other side has vanished, and works:
        // MPTCP has the first two since Linux 5.17 and 6.3.
        let _ = socket.set_tcp_nodelay(true);
        let _ = socket.set_keepalive(true);
        let _ = socket.set_tcp_keepalive(&TcpKeepalive::new().with_time(IDLE));
        Stream {
            stream,
            ended: AtomicBool::new(false),
        }
    }

    /// Both directions have ended: an ordinary close.
    pub(crate) fn end(self) {
        self.ends();
    }

    /// As [`Stream::end`], when it is dropped.
    pub(crate) fn ends(&self) {
        self.ended.store(true, Ordering::Relaxed);
    }

    /// Tells the other side that nothing more follows.
    pub(crate) fn finish(&self) -> io::Result<()> {
        match SockRef::from(&self.stream).shutdown(std::net::Shutdown::Write) {
            // The other side has closed both directions.
            Err(error) if error.kind() == ErrorKind::NotConnected => Ok(()),
            other => other,
        }
    }

    /// Returns at a reset or another error of the connection, never otherwise.
    pub(crate) async fn broken(&self) -> io::Error {
        match self.stream.ready(Interest::ERROR).await {
            Ok(_) => match self.stream.take_error() {
                Ok(Some(error)) | Err(error) => error,
                Ok(None) => ErrorKind::ConnectionReset.into(),
            },
            Err(error) => error,
        }
    }

    /// Writes all bytes. Waits while the other side does not read.
    pub(crate) async fn send(&self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            match self.stream.try_write(bytes) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(sent) => bytes = &bytes[sent..],
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    self.stream.writable().await?
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Waits for bytes or the end, without a buffer.
    pub(crate) async fn receive(&self) -> io::Result<()> {
        self.stream.readable().await
    }

    /// Reads exactly so many bytes.
    pub(crate) async fn receive_all(&self, bytes: &mut [u8]) -> io::Result<()> {
        let mut filled = 0;
        while filled < bytes.len() {
            self.receive().await?;
            match self.try_read(&mut bytes[filled..])? {
                Some(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Some(read) => filled += read,
                None => {}
            }
        }
        Ok(())
    }

    /// Reads what there is; 0 at the end, `None` if there is nothing yet.
    pub(crate) fn try_read(&self, bytes: &mut [u8]) -> io::Result<Option<usize>> {
        match self.stream.try_read(bytes) {
            Ok(read) => Ok(Some(read)),
            Err(error)
                if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) =>
            {
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Where a connection was going before nftables redirected it to us.
    pub(crate) fn original_destination(&self) -> io::Result<SocketAddr> {
        let socket = SockRef::from(&self.stream);
        let local = canonical(self.stream.local_addr()?);
        let found = if local.is_ipv4() {
            socket.original_dst_v4()?
        } else {
            socket.original_dst_v6()?
        };
        match found.as_socket() {
            Some(address) if address != local => Ok(address),
            _ => Err(io::Error::other("the connection was not redirected")),
        }
    }
}

impl Deref for Stream {
    type Target = TcpStream;

    fn deref(&self) -> &TcpStream {
        &self.stream
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        if !*self.ended.get_mut() {
            // Sends RST or MP_FASTCLOSE. SO_LINGER of 0 seconds does not reset MPTCP connections.
            let _ = rustix::net::connect_unspec(&self.stream);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;
    use crate::shared::block_on;

    /// The default, unless a machine has changed it, is CUBIC. Every kernel has Reno, free for
    /// everybody.
    const OTHER: &str = "reno";

    #[test]
    fn both_ends_of_the_leg_have_the_named_controller() {
        block_on(async {
            let listener = listen(([127, 0, 0, 1], 0).into(), Speak::Mptcp, Some(OTHER)).unwrap();
            let address = listener.local_addr().unwrap();
            let near = connect(vec![address], Speak::Mptcp, Some(OTHER))
                .await
                .unwrap();
            let (far, _) = listener.accept().await.unwrap();
            let far = Stream::new(far);
            for stream in [&near, &far] {
                let name = SockRef::from(&**stream).tcp_congestion().unwrap();
                assert_eq!(str::from_utf8(&name).unwrap().trim_end_matches('\0'), OTHER);
            }
            Ok(())
        })
        .unwrap();
    }

    #[test]
    fn connections_of_both_kinds_and_ends_are_checked_when_they_are_idle() {
        block_on(async {
            for speak in [Speak::Tcp, Speak::Mptcp] {
                let listener = listen(([127, 0, 0, 1], 0).into(), speak, None).unwrap();
                let near = connect(vec![listener.local_addr().unwrap()], speak, None)
                    .await
                    .unwrap();
                let far = Stream::new(listener.accept().await.unwrap().0);
                for stream in [&near, &far] {
                    let socket = SockRef::from(&**stream);
                    assert!(socket.keepalive().unwrap());
                    // Linux 6.18 or later for MPTCP.
                    match socket.tcp_keepalive_time() {
                        Ok(idle) => assert_eq!(idle, IDLE),
                        Err(error) => assert!(speak == Speak::Mptcp, "{error}"),
                    }
                }
            }
            Ok(())
        })
        .unwrap();
    }

    #[test]
    fn an_address_that_does_not_answer_does_not_delay_the_next_one_of_a_name() {
        block_on(async {
            let listener = listen(([127, 0, 0, 1], 0).into(), Speak::Tcp, None).unwrap();
            let good = listener.local_addr().unwrap();
            // Nothing listens there, so it is refused at once; then only the second is left.
            let closed = {
                let other = listen(([127, 0, 0, 1], 0).into(), Speak::Tcp, None).unwrap();
                other.local_addr().unwrap()
            };
            let stream = connect(vec![closed, good], Speak::Tcp, None).await.unwrap();
            assert_eq!(stream.peer_addr().unwrap(), good);
            let error = connect(vec![closed], Speak::Tcp, None).await.err().unwrap();
            assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
            assert!(connect(vec![], Speak::Tcp, None).await.is_err());
            Ok(())
        })
        .unwrap();
    }

    #[test]
    fn a_stream_that_is_dropped_is_reset_and_one_that_ended_is_closed() {
        for speak in [Speak::Tcp, Speak::Mptcp] {
            block_on(async {
                let listener = listen(([127, 0, 0, 1], 0).into(), speak, None).unwrap();
                let address = listener.local_addr().unwrap();
                for ends in [true, false] {
                    let stream = connect(vec![address], speak, None).await.unwrap();
                    let (far, _) = listener.accept().await.unwrap();
                    if ends {
                        stream.end()
                    } else {
                        drop(stream)
                    }
                    let mut far = far.into_std().unwrap();
                    far.set_nonblocking(false).unwrap();
                    far.set_read_timeout(Some(CONNECT)).unwrap();
                    let read = far.read(&mut [0]).map_err(|error| error.kind());
                    assert_eq!(
                        read,
                        if ends {
                            Ok(0)
                        } else {
                            Err(ErrorKind::ConnectionReset)
                        }
                    );
                }
                Ok(())
            })
            .unwrap();
        }
    }

    #[test]
    fn loopback_is_this_machine_and_a_documentation_address_is_not() {
        assert!(is_own("127.0.0.1:80".parse().unwrap()));
        assert!(!is_own("192.0.2.1:80".parse().unwrap()));
    }
}
