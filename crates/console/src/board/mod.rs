//! The daemon's state as a page in a browser: read-only, without anything from outside.
//!
//! ```text
//!   browser ──► answer: method, host, token ──► page ◄── daemon, if one runs
//!                                                 ▲
//!                         observer ───────────────┘ watches connections while somebody looks
//! ```

mod answer;
mod observer;
mod page;

use std::io::{self, Cursor};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::thread;

use joulepath_live::{Request, client};
use tiny_http::{Header, Response, Server};

use self::answer::{Answer, Asked, answer};
use self::observer::Observer;
use self::page::{Seen, page};

/// Requests that are answered at the same time.
const WORKERS: usize = 4;

/// A page that is ready to be served.
pub struct Board {
    server: Server,
    socket: PathBuf,
    token: Option<String>,
}

impl Board {
    /// Listens at `address` for the page of the daemon at `socket`. With a token, only requests with it get
    /// the page.
    ///
    /// # Errors
    /// If the address cannot be used.
    pub fn open(address: SocketAddr, socket: &Path, token: Option<String>) -> io::Result<Self> {
        let server = Server::http(address)
            .map_err(|error| error.downcast::<io::Error>().map_or_else(io::Error::other, |error| *error))?;
        Ok(Board { server, socket: socket.to_owned(), token })
    }

    /// Address of the page, with the token.
    pub fn url(&self) -> String {
        let address = self.server.server_addr().to_ip();
        let address = address.map_or_else(String::new, |address| address.to_string());
        match &self.token {
            Some(token) => format!("http://{address}/?token={token}"),
            None => format!("http://{address}/"),
        }
    }

    /// Answers requests until the process ends.
    pub fn serve(&self) {
        let observer = Observer::start(self.socket.clone());
        thread::scope(|scope| {
            for _ in 0..WORKERS {
                scope.spawn(|| {
                    while let Ok(request) = self.server.recv() {
                        let header = |name: &'static str| {
                            let found = request.headers().iter().find(|header| header.field.equiv(name));
                            found.map(|header| header.value.as_str())
                        };
                        let asked = Asked {
                            method: request.method().as_str(),
                            target: request.url(),
                            host: header("Host"),
                            site: header("Sec-Fetch-Site"),
                        };
                        let answer = answer(&asked, self.token.as_deref(), || self.page(&observer));
                        // The client is gone: nobody is left to hear of it.
                        let _ = request.respond(response(answer));
                    }
                });
            }
        });
    }

    fn page(&self, observer: &Observer) -> String {
        let status = client::ask(&self.socket, &Request::Status).map_err(|error| error.to_string());
        page(&Seen { status, observed: observer.look() })
    }
}

fn response(answer: Answer) -> Response<Cursor<Vec<u8>>> {
    let all = answer.headers.iter().filter_map(|(name, value)| Header::from_bytes(*name, *value).ok());
    all.fold(Response::from_string(answer.body).with_status_code(answer.code), Response::with_header)
}

/// What to do if an address cannot be used.
pub fn remedy(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::AddrInUse => "another program has this port: name another one, or 0 for a free one",
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
