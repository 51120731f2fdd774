//! Labs for tests, and traffic in them.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use joulepath_linux::Program;
use joulepath_linux::lab::{Lab, LabSpec};
use joulepath_linux::mptcp::socket::{self, Options, Protocol};
use joulepath_model::scenario::{self, Scenario};

/// This crate's worker program.
pub(crate) fn program() -> Program {
    Program::at(env!("CARGO_BIN_EXE_joulepath-worker"))
}

/// A scenario from its text; it names no traces.
pub(crate) fn scenario(text: &str) -> Scenario {
    scenario::load(text, &|name| Err(format!("no trace {name}"))).expect("the test's scenario is right")
}

/// A lab of the scenario with the clock running.
pub(crate) fn lab(text: &str, change: impl FnOnce(&mut LabSpec)) -> Lab {
    let mut spec = LabSpec::of(&scenario(text), 1);
    change(&mut spec);
    let mut lab = Lab::start(&spec, &program()).expect("the lab starts");
    lab.start_clock().expect("the clock starts");
    lab
}

/// A connection, with both ends.
pub(crate) struct Pair {
    pub(crate) client: TcpStream,
    pub(crate) server: TcpStream,
    /// Further subflows are taken only while somebody listens.
    _listener: OwnedFd,
}

/// A connection from the client's address on one line to the server.
pub(crate) fn connect(lab: &Lab, line: usize, protocol: Protocol) -> Pair {
    const PATIENCE: Duration = Duration::from_secs(5);
    let options = Options::default();
    let any = SocketAddr::new(lab.server_address(), 0);
    let listener = lab.server().enter_thread(|| socket::listen(protocol, any, &options, 8)).unwrap().unwrap();
    let at = SocketAddr::try_from(rustix::net::getsockname(&listener).unwrap()).unwrap();
    let from = SocketAddr::new(lab.lines()[line].client_address, 0);
    let connect = || socket::connect_within(protocol, from, at, &options, PATIENCE);
    let client = lab.client().enter_thread(connect).unwrap().unwrap();
    let (server, _) = socket::accept_within(&listener, PATIENCE).unwrap();
    Pair { client: blocking(client), server: blocking(server), _listener: listener }
}

fn blocking(socket: OwnedFd) -> TcpStream {
    let stream = TcpStream::from(socket);
    stream.set_nonblocking(false).unwrap();
    stream
}

/// The server sends as much as it can for so long; returns the bytes that the client received by then.
pub(crate) fn download(pair: &mut Pair, duration: Duration) -> u64 {
    let Pair { client, server, .. } = pair;
    let deadline = Instant::now() + duration;
    std::thread::scope(|scope| {
        let closer = server.try_clone().unwrap();
        scope.spawn(move || {
            let chunk = [7; 1 << 16];
            // Until the receiver has closed.
            while server.write_all(&chunk).is_ok() {}
        });
        let mut buffer = vec![0; 1 << 18];
        let mut total = 0;
        client.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
        while Instant::now() < deadline {
            match client.read(&mut buffer) {
                Ok(0) => break,
                Ok(n) => total += n as u64,
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
                Err(error) => panic!("the client cannot read: {error}"),
            }
        }
        // Wakes the sender, even if nothing passes any more.
        let _ = closer.shutdown(std::net::Shutdown::Both);
        total
    })
}
