//! Shares a server of this machine into the lab: an MPTCP listener on the lab's server address
//! passes each connection on to the same port of this machine's loopback address.
//!
//! ```text
//!   device ══ emulated paths ══► server's namespace :PORT ──► 127.0.0.1:PORT outside
//! ```

use std::io;
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::thread;

use super::Lab;
use joulepath_kernel::error::{Doing, Result};
use joulepath_kernel::mptcp::socket::{self, Options, Protocol};

/// Maximum number of connections that wait to be accepted: the kernel's default.
const BACKLOG: u16 = 4096;

/// A shared server. Dropping the value stops accepting connections.
#[derive(Debug)]
pub struct Serving {
    listener: TcpListener,
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
        let doing = format!("sharing port {port}");
        listener.set_nonblocking(false).doing(&doing)?;
        let taker = listener.try_clone().doing(&doing)?;
        thread::spawn(move || {
            // Ends with an error when the listener is shut down.
            while let Ok((inside, _)) = taker.accept() {
                thread::spawn(move || pass_on(inside, port));
            }
        });
        Ok(Serving { listener })
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        // Wakes the accepting thread. If this fails, the thread ends with the process.
        let _ = rustix::net::shutdown(self.listener.as_fd(), rustix::net::Shutdown::Both);
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
