//! The far end of a calibration: receives, sends and echoes datagrams for clients with a token.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, UdpSocket};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use joulepath_model::cancel::Cancel;

use super::pace::Pace;
use super::protocol::{Datagram, LONGEST, Request, TOKEN_LENGTH, Token, greeting};
use crate::error::{Error, Result};

/// Tokens kept; a new token replaces the oldest.
const MOST_TOKENS: usize = 64;
/// Lifetime of a token.
const TOKEN_LASTS: Duration = Duration::from_secs(12 * 3600);
/// How often waiting checks for cancellation.
const STEP: Duration = Duration::from_millis(100);

/// A far end that listens.
#[derive(Debug)]
pub struct FarEnd {
    listener: TcpListener,
    datagrams: UdpSocket,
}

/// A client with a token.
struct Guest {
    token: Token,
    address: IpAddr,
    since: Instant,
    /// Number of its last request; a new request ends the previous one.
    request: Arc<AtomicU64>,
}

impl FarEnd {
    /// Listens on TCP and UDP at `address`.
    ///
    /// # Errors
    /// If permission is missing or the port is taken.
    pub fn open(address: &str) -> Result<FarEnd> {
        let failed =
            |error: std::io::Error| Error::io(format!("cannot listen at {address}"), &error);
        let listener = TcpListener::bind(address).map_err(failed)?;
        let datagrams = listener
            .local_addr()
            .and_then(UdpSocket::bind)
            .map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        datagrams.set_read_timeout(Some(STEP)).map_err(failed)?;
        Ok(FarEnd {
            listener,
            datagrams,
        })
    }

    /// The address on which it listens.
    ///
    /// # Errors
    /// If the system call fails.
    pub fn address(&self) -> Result<SocketAddr> {
        self.listener
            .local_addr()
            .map_err(|error| Error::io("cannot get the local address", &error))
    }

    /// Serves until `stop` is set.
    ///
    /// # Errors
    /// If the sockets fail.
    pub fn serve(self, stop: &Cancel) -> Result<()> {
        let guests: Mutex<VecDeque<Guest>> = Mutex::default();
        thread::scope(|scope| {
            scope.spawn(|| {
                while !stop.is_set() {
                    // A failed connection concerns only its client.
                    let _ = self.greet(&guests);
                    thread::sleep(STEP);
                }
            });
            let mut buffer = [0; LONGEST + 1];
            while !stop.is_set() {
                let Ok((length, from)) = self.datagrams.recv_from(&mut buffer) else {
                    continue;
                };
                let Some((token, datagram)) = Datagram::parse(&buffer[..length]) else {
                    continue;
                };
                let Some(request) = known(&guests, &token, from.ip()) else {
                    continue;
                };
                match datagram {
                    Datagram::Filler => {}
                    Datagram::Echo(_) => {
                        let _ = self.datagrams.send_to(&buffer[..length], from);
                    }
                    Datagram::Send(wish) => {
                        let number = request.fetch_add(1, Ordering::Relaxed) + 1;
                        let socket = &self.datagrams;
                        let is_last = move || request.load(Ordering::Relaxed) == number;
                        scope.spawn(move || {
                            send(socket, from, &token, wish, &|| is_last() && !stop.is_set())
                        });
                    }
                }
            }
        });
        Ok(())
    }

    /// Gives tokens to waiting clients.
    fn greet(&self, guests: &Mutex<VecDeque<Guest>>) -> std::io::Result<()> {
        loop {
            let (mut stream, from) = self.listener.accept()?;
            let mut token = [0; TOKEN_LENGTH];
            File::open("/dev/urandom")?.read_exact(&mut token)?;
            stream.set_write_timeout(Some(STEP))?;
            let guest = Guest {
                token,
                address: from.ip(),
                since: Instant::now(),
                request: Arc::default(),
            };
            {
                let mut guests = guests
                    .lock()
                    .expect("no thread panics while it holds the lock");
                guests.truncate(MOST_TOKENS - 1);
                guests.push_front(guest);
            }
            stream.write_all(greeting(&token).as_bytes())?;
        }
    }
}

/// The request counter of the client with this token and address.
fn known(guests: &Mutex<VecDeque<Guest>>, token: &Token, from: IpAddr) -> Option<Arc<AtomicU64>> {
    let guests = guests
        .lock()
        .expect("no thread panics while it holds the lock");
    let guest = guests.iter().find(|guest| guest.token == *token)?;
    let is_good = guest.address == from && guest.since.elapsed() < TOKEN_LASTS;
    is_good.then(|| guest.request.clone())
}

/// Sends fillers for the requested time, or until `wanted` returns false.
fn send(
    socket: &UdpSocket,
    to: SocketAddr,
    token: &Token,
    wish: Request,
    wanted: &dyn Fn() -> bool,
) {
    let filler = Datagram::Filler.bytes(token, usize::from(wish.payload));
    let until = Instant::now() + Duration::from_millis(wish.lasts_ms.into());
    let mut pace = Pace::new(wish.payload_bps, filler.len(), Instant::now());
    while Instant::now() < until && wanted() {
        for _ in 0..pace.due(Instant::now()) {
            // Errors are ignored: the queue fills if the rate exceeds the network's.
            let _ = socket.send_to(&filler, to);
        }
        thread::sleep(Pace::TICK);
    }
}
