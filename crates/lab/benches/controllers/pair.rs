//! Connections to measure.

use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::os::fd::OwnedFd;
use std::thread;
use std::time::{Duration, Instant};

use joulepath_kernel::Namespace;
use joulepath_kernel::mptcp::socket::{Options, Protocol, accept_within, connect_within, listen};

const PATIENCE: Duration = Duration::from_secs(30);
/// The reader checks the clock after this time without data.
const PAUSE: Duration = Duration::from_millis(20);

/// Both ends of a connection whose server sends.
pub(crate) struct Pair {
    client: TcpStream,
    server: TcpStream,
    _listener: OwnedFd,
}

impl Pair {
    pub(crate) fn open(
        server: &Namespace,
        client: &Namespace,
        from: IpAddr,
        to: SocketAddr,
        congestion: &str,
    ) -> Self {
        let options = Options {
            congestion: Some(congestion.into()),
            ..Options::default()
        };
        let from = SocketAddr::new(from, 0);
        let open = || listen(Protocol::Mptcp, to, &options, 8);
        let listener = server.enter_thread(open).unwrap().unwrap();
        let connect = || connect_within(Protocol::Mptcp, from, to, &options, PATIENCE);
        let client = blocking(client.enter_thread(connect).unwrap().unwrap());
        let (server, _) = accept_within(&listener, PATIENCE).unwrap();
        Pair {
            client,
            server: blocking(server),
            _listener: listener,
        }
    }

    /// Counts the bytes that arrive within `during`, then reads what is in flight.
    pub(crate) fn download(&mut self, during: Duration) -> u64 {
        let deadline = Instant::now() + during;
        let Pair { client, server, .. } = self;
        thread::scope(|scope| {
            scope.spawn(move || {
                server.set_write_timeout(Some(PAUSE)).unwrap();
                let chunk = vec![7; 1 << 18];
                while Instant::now() < deadline {
                    let _full = server.write(&chunk);
                }
            });
            client.set_read_timeout(Some(PAUSE)).unwrap();
            let mut buffer = vec![0; 1 << 20];
            let mut total = 0;
            while Instant::now() < deadline {
                total += client.read(&mut buffer).unwrap_or(0) as u64;
            }
            total
        })
    }

    /// Reads what is in flight, until nothing arrives for a while or the time is over.
    pub(crate) fn drain(&mut self, at_most: Duration) {
        let deadline = Instant::now() + at_most;
        let mut buffer = vec![0; 1 << 20];
        while Instant::now() < deadline
            && self.client.read(&mut buffer).is_ok_and(|bytes| bytes > 0)
        {}
    }
}

fn blocking(socket: OwnedFd) -> TcpStream {
    let stream = TcpStream::from(socket);
    stream.set_nonblocking(false).unwrap();
    stream
}
