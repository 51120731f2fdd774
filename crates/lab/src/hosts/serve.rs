//! Shares servers of this machine into the lab: a listener on the lab's server address passes each
//! connection or datagram on to the same port of this machine's loopback address.
//!
//! ```text
//!   device ══ emulated paths ══► server's namespace :PORT ──► 127.0.0.1:PORT outside
//! ```

use std::collections::BTreeMap;
use std::io;
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use super::Lab;
use joulepath_kernel::error::{Doing, Result};
use joulepath_kernel::mptcp::socket::{self, Options, Protocol};

/// Maximum number of connections that wait to be accepted: the kernel's default.
const BACKLOG: u16 = 4096;
/// Longer than any datagram.
const DATAGRAM_BYTES: usize = 1 << 16;
/// How often threads that wait for datagrams check if the server is still shared.
const TURN: Duration = Duration::from_millis(100);

/// A shared server. Dropping the value stops accepting connections and datagrams.
#[derive(Debug)]
pub enum Serving {
    /// Connections.
    Tcp(TcpListener),
    /// Datagrams; set at the end.
    Udp(Arc<AtomicBool>),
}

impl Lab {
    /// Shares the TCP server at 127.0.0.1:`port` of the caller's namespace. The device reaches it
    /// at [`Lab::server_address`].
    ///
    /// # Errors
    /// If the port is in use in the lab, or without MPTCP.
    pub fn serve(&self, port: u16) -> Result<Serving> {
        let at = SocketAddr::new(self.server_address(), port);
        let listen = || socket::listen(Protocol::Mptcp, at, &Options::default(), BACKLOG);
        let listener = TcpListener::from(self.server().enter_thread(listen)??);
        let doing = format!("sharing TCP port {port}");
        listener.set_nonblocking(false).doing(&doing)?;
        let taker = listener.try_clone().doing(&doing)?;
        thread::spawn(move || {
            // Ends with an error when the listener is shut down.
            while let Ok((inside, _)) = taker.accept() {
                thread::spawn(move || pass_on(inside, port));
            }
        });
        Ok(Serving::Tcp(listener))
    }

    /// Shares a UDP server, as [`Lab::serve`] a TCP server.
    ///
    /// # Errors
    /// If the port is in use in the lab.
    pub fn serve_udp(&self, port: u16) -> Result<Serving> {
        let at = SocketAddr::new(self.server_address(), port);
        let doing = format!("sharing UDP port {port}");
        let inside = self.server().enter_thread(|| UdpSocket::bind(at))?;
        serve_datagrams(inside.doing(&doing)?, port).doing(&doing)
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        match self {
            // Wakes the accepting thread. If this fails, the thread ends with the process.
            Serving::Tcp(listener) => {
                let _ = rustix::net::shutdown(listener.as_fd(), rustix::net::Shutdown::Both);
            }
            Serving::Udp(ended) => ended.store(true, Ordering::Relaxed),
        }
    }
}

/// Copies both directions until both have ended. If there is no server outside, the device's
/// connection closes.
fn pass_on(inside: TcpStream, port: u16) {
    let Ok(outside) = TcpStream::connect((Ipv4Addr::LOCALHOST, port)) else {
        return;
    };
    thread::scope(|scope| {
        scope.spawn(|| pipe(&inside, &outside));
        pipe(&outside, &inside);
    });
}

/// Copies one direction until its sender has finished, then closes it at the receiver.
fn pipe(mut from: &TcpStream, mut to: &TcpStream) {
    if io::copy(&mut from, &mut to).is_err() {
        // One side is gone, so the other gets no more data.
        let _ = from.shutdown(Shutdown::Both);
    }
    let _ = to.shutdown(Shutdown::Write);
}

/// Passes datagrams on. The server outside sees one socket for each address of the device.
fn serve_datagrams(inside: UdpSocket, port: u16) -> io::Result<Serving> {
    let inside = Arc::new(inside);
    inside.set_read_timeout(Some(TURN))?;
    let ended = Arc::new(AtomicBool::new(false));
    let is_over = Arc::clone(&ended);
    thread::spawn(move || {
        let mut clients = BTreeMap::<SocketAddr, UdpSocket>::new();
        let mut buffer = vec![0; DATAGRAM_BYTES];
        while !is_over.load(Ordering::Relaxed) {
            let Ok((length, from)) = inside.recv_from(&mut buffer) else {
                continue;
            };
            if !clients.contains_key(&from)
                && let Ok(outside) = connect_datagrams(port)
                && let Ok(answers) = outside.try_clone()
            {
                let (inside, is_over) = (Arc::clone(&inside), Arc::clone(&is_over));
                thread::spawn(move || answer(&inside, &answers, from, &is_over));
                clients.insert(from, outside);
            }
            // A lost datagram is the sender's to repeat.
            let _ = clients
                .get(&from)
                .map(|outside| outside.send(&buffer[..length]));
        }
    });
    Ok(Serving::Udp(ended))
}

fn connect_datagrams(port: u16) -> io::Result<UdpSocket> {
    let outside = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
    outside.connect((Ipv4Addr::LOCALHOST, port))?;
    outside.set_read_timeout(Some(TURN))?;
    Ok(outside)
}

/// Passes the server's datagrams to one address of the device.
fn answer(inside: &UdpSocket, outside: &UdpSocket, to: SocketAddr, is_over: &AtomicBool) {
    let mut buffer = vec![0; DATAGRAM_BYTES];
    while !is_over.load(Ordering::Relaxed) {
        if let Ok(length) = outside.recv(&mut buffer) {
            let _ = inside.send_to(&buffer[..length], to);
        }
    }
}
