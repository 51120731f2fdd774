//! Traffic over one interface to a far end.

use std::io::{self, BufRead, BufReader, ErrorKind, Read};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream, ToSocketAddrs, UdpSocket};
use std::os::fd::{AsFd, AsRawFd};
use std::thread;
use std::time::{Duration, Instant};

use joulepath_model::cancel::Cancel;
use joulepath_model::energy::Traffic;
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{AddressFamily, SocketType};

use super::pace::Pace;
use super::protocol::{Datagram, LONGEST, LONGEST_MS, Request, SHORTEST, Token, token};
use crate::calibrate::Flow;
use crate::error::{Error, Kind, Result};

/// Timeout of connecting and of each probe.
const PATIENCE: Duration = Duration::from_secs(5);
/// Payload of a probe, bytes.
const PROBE: usize = 32;
/// Longest wait for a packet after the far end should have stopped.
const LATE: Duration = Duration::from_millis(200);

/// Makes traffic on one interface.
pub trait Link: Send {
    /// Sends or receives a flow for `lasts`. Reports packets to `passed`.
    ///
    /// # Errors
    /// If the socket fails or the user cancels.
    fn flow(
        &mut self,
        flow: &Flow,
        lasts: Duration,
        stop: &Cancel,
        passed: &mut dyn FnMut(Passage),
    ) -> Result<()>;

    /// Sends a probe and waits for its echo.
    ///
    /// # Errors
    /// If the socket fails.
    fn probe(&mut self) -> Result<Probe>;
}

/// Packets that passed together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Passage {
    /// Time of the last packet.
    pub at: Instant,
    /// Received or sent.
    pub direction: Traffic,
    /// Bytes including headers.
    pub bytes: u32,
    /// Number of packets.
    pub packets: u32,
}

/// Result of a probe.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Probe {
    /// Send time.
    pub sent: Instant,
    /// Arrival of the echo; `None` if there was none.
    pub back: Option<Instant>,
    /// Size of probe and echo including headers.
    pub bytes: u32,
}

/// A UDP link bound to an interface.
#[derive(Debug)]
pub struct UdpLink {
    socket: UdpSocket,
    token: Token,
    /// IP and UDP headers, bytes.
    headers: u32,
    probes: u32,
}

impl UdpLink {
    /// Connects to the far end at `to` (`HOST:PORT`) through `interface`.
    ///
    /// # Errors
    /// If the interface does not exist, or the far end cannot be reached.
    pub fn connect(interface: &str, to: &str) -> Result<UdpLink> {
        let failed =
            |error: io::Error| Error::io(format!("cannot reach {to} through {interface}"), &error);
        let address = to.to_socket_addrs().map_err(failed)?.next();
        let address =
            address.ok_or_else(|| Error::new(Kind::Usage, format!("{to} has no address")))?;
        let greeting = greeting(interface, address).map_err(failed)?;
        let any: IpAddr = match address {
            SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
            SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
        };
        let socket = UdpSocket::bind((any, 0)).map_err(failed)?;
        bind_to_device(&socket, interface).map_err(failed)?;
        socket.connect(address).map_err(failed)?;
        let headers = if address.is_ipv4() { 28 } else { 48 };
        Ok(UdpLink {
            socket,
            token: token(&greeting)?,
            headers,
            probes: 0,
        })
    }

    fn failed(error: &io::Error) -> Error {
        Error::io("the calibration's traffic failed", error)
    }

    fn payload(&self, flow: &Flow) -> usize {
        (flow.packet.saturating_sub(self.headers) as usize).clamp(SHORTEST, LONGEST)
    }

    fn upload(
        &self,
        flow: &Flow,
        until: Instant,
        stop: &Cancel,
        passed: &mut dyn FnMut(Passage),
    ) -> Result<()> {
        let filler = Datagram::Filler.bytes(&self.token, self.payload(flow));
        let size = filler.len() as u32 + self.headers;
        let mut pace = Pace::new(flow.rate.bps(), size as usize, Instant::now());
        while Instant::now() < until && !stop.is_set() {
            let mut packets = 0;
            for _ in 0..pace.due(Instant::now()) {
                match self.socket.send(&filler) {
                    Ok(_) => packets += 1,
                    // A full queue, or a far end that is briefly unreachable: fewer packets pass
                    // and are counted.
                    Err(error) if is_passing(&error) => {}
                    Err(error) => return Err(Self::failed(&error)),
                }
            }
            if packets > 0 {
                let at = Instant::now();
                passed(Passage {
                    at,
                    direction: Traffic::Up,
                    bytes: packets * size,
                    packets,
                });
            }
            thread::sleep(Pace::TICK);
        }
        Ok(())
    }

    fn download(
        &self,
        flow: &Flow,
        until: Instant,
        stop: &Cancel,
        passed: &mut dyn FnMut(Passage),
    ) -> Result<()> {
        let payload = self.payload(flow);
        let share = payload as f64 / (payload as f64 + f64::from(self.headers));
        let lasts = until.saturating_duration_since(Instant::now());
        let request = Request {
            payload_bps: ((flow.rate.bps() as f64 * share) as u64).max(1),
            payload: payload as u16,
            lasts_ms: u32::try_from(lasts.as_millis())
                .unwrap_or(u32::MAX)
                .min(LONGEST_MS),
        };
        let asked = Datagram::Send(request).bytes(&self.token, PROBE);
        self.socket
            .send(&asked)
            .map_err(|error| Self::failed(&error))?;
        let bytes = asked.len() as u32 + self.headers;
        passed(Passage {
            at: Instant::now(),
            direction: Traffic::Up,
            bytes,
            packets: 1,
        });
        self.socket
            .set_read_timeout(Some(LATE))
            .map_err(|error| Self::failed(&error))?;
        let mut buffer = [0; LONGEST + 1];
        while Instant::now() < until + LATE && !stop.is_set() {
            match self.socket.recv(&mut buffer) {
                Ok(length) => {
                    let bytes = length as u32 + self.headers;
                    passed(Passage {
                        at: Instant::now(),
                        direction: Traffic::Down,
                        bytes,
                        packets: 1,
                    });
                }
                Err(error) if is_passing(&error) => {
                    if Instant::now() >= until {
                        break;
                    }
                }
                Err(error) => return Err(Self::failed(&error)),
            }
        }
        Ok(())
    }
}

/// True for errors after which traffic may resume.
fn is_passing(error: &io::Error) -> bool {
    use ErrorKind::{ConnectionRefused, Interrupted, TimedOut, WouldBlock};
    matches!(
        error.kind(),
        WouldBlock | TimedOut | Interrupted | ConnectionRefused
    ) || error.raw_os_error() == Some(libc::ENOBUFS)
}

/// The greeting of the far end to a client on `interface`.
fn greeting(interface: &str, to: SocketAddr) -> io::Result<String> {
    let family = if to.is_ipv4() {
        AddressFamily::INET
    } else {
        AddressFamily::INET6
    };
    let socket = rustix::net::socket(family, SocketType::STREAM, None)?;
    bind_to_device(&socket, interface)?;
    // This timeout also applies to `connect`.
    set_socket_timeout(&socket, Timeout::Send, Some(PATIENCE))?;
    rustix::net::connect(&socket, &to)?;
    let stream = TcpStream::from(socket);
    stream.set_read_timeout(Some(PATIENCE))?;
    let mut line = String::new();
    BufReader::new(stream.take(256)).read_line(&mut line)?;
    Ok(line)
}

/// Restricts a socket to one interface. Unprivileged users may do so since Linux 5.7.
fn bind_to_device(socket: &impl AsFd, interface: &str) -> io::Result<()> {
    let name = interface.as_bytes();
    let length = libc::socklen_t::try_from(name.len()).map_err(io::Error::other)?;
    let fd = socket.as_fd().as_raw_fd();
    // SAFETY: the kernel reads `length` bytes of `name`, which lives until the call returns.
    let status = unsafe {
        libc::setsockopt(
            fd,
            libc::SOL_SOCKET,
            libc::SO_BINDTODEVICE,
            name.as_ptr().cast(),
            length,
        )
    };
    if status < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(())
    }
}

impl Link for UdpLink {
    fn flow(
        &mut self,
        flow: &Flow,
        lasts: Duration,
        stop: &Cancel,
        passed: &mut dyn FnMut(Passage),
    ) -> Result<()> {
        let until = Instant::now() + lasts;
        match flow.direction {
            Traffic::Up => self.upload(flow, until, stop, passed),
            Traffic::Down => self.download(flow, until, stop, passed),
        }
    }

    fn probe(&mut self) -> Result<Probe> {
        self.probes += 1;
        let expected = Datagram::Echo(self.probes);
        let bytes = expected.bytes(&self.token, PROBE);
        self.socket
            .set_read_timeout(Some(PATIENCE))
            .map_err(|error| Self::failed(&error))?;
        let sent = Instant::now();
        match self.socket.send(&bytes) {
            Err(error) if !is_passing(&error) => return Err(Self::failed(&error)),
            _ => {}
        }
        let size = bytes.len() as u32 + self.headers;
        let mut buffer = [0; LONGEST + 1];
        while sent.elapsed() < PATIENCE {
            match self.socket.recv(&mut buffer) {
                // Skip fillers and late echoes.
                Ok(length) => {
                    if Datagram::parse(&buffer[..length]) == Some((self.token, expected)) {
                        return Ok(Probe {
                            sent,
                            back: Some(Instant::now()),
                            bytes: size,
                        });
                    }
                }
                Err(error) if is_passing(&error) => {}
                Err(error) => return Err(Self::failed(&error)),
            }
        }
        Ok(Probe {
            sent,
            back: None,
            bytes: size,
        })
    }
}
