//! The daemon's state as a page in a browser: read-only, without anything from outside.
//!
//! ```text
//!   browser ──► http ──► answer: method, host, token ──► page ◄── daemon, if one runs
//!                                                          ▲
//!                         observer ────────────────────────┘ watches connections while somebody looks
//! ```

mod answer;
mod http;
mod observer;
mod page;

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};

use joulepath_live::{Request, client};

use self::answer::answer;
use self::observer::Observer;
use self::page::{Seen, page};

/// A page that is ready to be served.
pub struct Board {
    listener: TcpListener,
    socket: PathBuf,
    token: Option<String>,
}

impl Board {
    /// Listens at `address` for the page of the daemon at `socket`. With a token, only requests
    /// with it get the page.
    ///
    /// # Errors
    /// If the address cannot be used.
    pub fn open(address: SocketAddr, socket: &Path, token: Option<String>) -> io::Result<Self> {
        Ok(Board {
            listener: TcpListener::bind(address)?,
            socket: socket.to_owned(),
            token,
        })
    }

    /// Address of the page, with the token.
    pub fn url(&self) -> String {
        let address = self
            .listener
            .local_addr()
            .map_or_else(|_| String::new(), |address| address.to_string());
        match &self.token {
            Some(token) => format!("http://{address}/?token={token}"),
            None => format!("http://{address}/"),
        }
    }

    /// Answers requests until the process ends.
    ///
    /// # Errors
    /// If connections can no longer be waited for.
    pub fn serve(&self) -> io::Result<()> {
        let observer = Observer::start(self.socket.clone());
        http::serve(&self.listener, |asked| {
            answer(asked, self.token.as_deref(), || self.page(&observer))
        })
    }

    fn page(&self, observer: &Observer) -> String {
        let status = client::ask(&self.socket, &Request::Status).map_err(|error| error.to_string());
        page(&Seen {
            status,
            observed: observer.look(),
        })
    }
}

/// What to do if an address cannot be used.
pub fn remedy(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::AddrInUse => {
            "another program has this port: name another one, or 0 for a free one"
        }
        io::ErrorKind::AddrNotAvailable => "no interface has this address: 127.0.0.1 always exists",
        io::ErrorKind::PermissionDenied => "ports under 1024 need root: name another one",
        _ => "name another address, such as 127.0.0.1:7077",
    }
}

/// A token: 128 random bits in hexadecimal.
///
/// # Errors
/// If the kernel gives no random numbers.
pub fn token() -> io::Result<String> {
    let mut bytes = [0; 16];
    io::Read::read_exact(&mut std::fs::File::open("/dev/urandom")?, &mut bytes)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests;
