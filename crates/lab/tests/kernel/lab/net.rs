//! Labs for tests, and traffic in them.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use joulepath_kernel::mptcp::socket::{self, Options, Protocol};
use joulepath_lab::Program;
use joulepath_lab::{Lab, LabSpec};
use joulepath_model::scenario::{self, Scenario};

/// Two radios, 30 Mbit/s in all.
pub(super) const TWO_PATHS: &str = r#"
title = "two paths"
duration = "30 s"
[[path]]
name = "wifi"
rate = "20 Mbit/s"
delay = "10 ms"
energy = { per_mbps = "100 mW", active = "1 W" }
[[path]]
name = "lte"
rate = "10 Mbit/s"
delay = "20 ms"
energy = "lte-huang2012"
"#;

/// Path of this crate's worker program.
pub(super) const WORKER: &str = env!("CARGO_BIN_EXE_joulepath-worker");

/// This crate's worker program.
pub(super) fn program() -> Program {
    Program::at(WORKER)
}

/// Parses a scenario without traces.
pub(super) fn scenario(text: &str) -> Scenario {
    scenario::load(text, &|name| Err(format!("no trace {name}")))
        .expect("the test's scenario is right")
}

/// Starts a lab of the scenario and its clock.
pub(super) fn lab(text: &str, change: impl FnOnce(&mut LabSpec)) -> Lab {
    let mut spec = LabSpec::of(&scenario(text), 1);
    change(&mut spec);
    let mut lab = Lab::start(&spec, &program()).expect("the lab starts");
    lab.start_clock().expect("the clock starts");
    lab
}

/// Both ends of a connection.
pub(super) struct Pair {
    pub(super) client: TcpStream,
    pub(super) server: TcpStream,
    /// Further subflows need the listener.
    _listener: OwnedFd,
}

/// Connects from the client's address on one tunnel to the server.
pub(super) fn connect(lab: &Lab, line: usize, protocol: Protocol) -> Pair {
    const PATIENCE: Duration = Duration::from_secs(5);
    let options = Options::default();
    let any = SocketAddr::new(lab.server_address(), 0);
    let listener = lab
        .server()
        .enter_thread(|| socket::listen(protocol, any, &options, 8))
        .unwrap()
        .unwrap();
    let at = SocketAddr::try_from(rustix::net::getsockname(&listener).unwrap()).unwrap();
    let from = SocketAddr::new(lab.tunnels()[line].client_address, 0);
    let connect = || socket::connect_within(protocol, from, at, &options, PATIENCE);
    let client = lab.client().enter_thread(connect).unwrap().unwrap();
    let (server, _) = socket::accept_within(&listener, PATIENCE).unwrap();
    Pair {
        client: blocking(client),
        server: blocking(server),
        _listener: listener,
    }
}

fn blocking(socket: OwnedFd) -> TcpStream {
    let stream = TcpStream::from(socket);
    stream.set_nonblocking(false).unwrap();
    stream
}

/// The server sends as much as it can for `duration`. Returns the bytes that the client has
/// received by then; packets in flight are left for the next call.
pub(super) fn download(pair: &mut Pair, duration: Duration) -> u64 {
    let Pair { client, server, .. } = pair;
    let deadline = Instant::now() + duration;
    client
        .set_read_timeout(Some(Duration::from_millis(50)))
        .unwrap();
    server
        .set_write_timeout(Some(Duration::from_millis(50)))
        .unwrap();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let chunk = [7; 1 << 16];
            while Instant::now() < deadline {
                match server.write(&chunk) {
                    Ok(_) => {}
                    Err(error) if is_timeout(&error) => {}
                    Err(error) => panic!("the server cannot write: {error}"),
                }
            }
        });
        let mut buffer = vec![0; 1 << 18];
        let mut total = 0;
        while Instant::now() < deadline {
            match client.read(&mut buffer) {
                Ok(0) => panic!("the server has closed"),
                Ok(n) => total += n as u64,
                Err(error) if is_timeout(&error) => {}
                Err(error) => panic!("the client cannot read: {error}"),
            }
        }
        total
    })
}

fn is_timeout(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted
    )
}
