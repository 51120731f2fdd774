//! Sockets, their statistics, fallback, and the list of connections.

use std::fs;
use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::os::fd::{AsFd, OwnedFd};
use std::rc::Rc;
use std::time::{Duration, Instant};

use joulepath_kernel::error::Result;
use joulepath_kernel::mptcp::diag::{self, Listing};
use joulepath_kernel::mptcp::info::{FullInfo, connection_info, full_info};
use joulepath_kernel::mptcp::memory::ReceiveWindow;
use joulepath_kernel::mptcp::path_manager::{Endpoint, Limits, PathManager};
use joulepath_kernel::mptcp::socket::{
    Buffers, Options, Protocol, accept_within, connect_within, listen,
};
use joulepath_model::units::Bytes;

use joulepath_testbed::net::Net;

const PATIENCE: Duration = Duration::from_secs(20);
const PORT: u16 = 5001;

fn reno() -> Options {
    Options {
        congestion: Some("reno".into()),
        ..Options::default()
    }
}

/// Both ends of a connection over the first path.
struct Connection {
    client: TcpStream,
    server: TcpStream,
    /// The listener accepts further subflows, too.
    _listener: Rc<OwnedFd>,
}

impl Connection {
    fn open(net: &Net, server: Protocol, client: Protocol, options: &Options) -> Self {
        let listener = net
            .server
            .enter_thread(|| listen(server, net.server_at(PORT), options, 16))
            .unwrap()
            .unwrap();
        let (from, to) = (net.client_at(0), net.server_at(PORT));
        let connected = net
            .client
            .enter_thread(|| connect_within(client, from, to, options, PATIENCE));
        let client = connected.unwrap().unwrap();
        let (server, _) = accept_within(&listener, PATIENCE).unwrap();
        Connection {
            client: blocking(client),
            server: blocking(server),
            _listener: Rc::new(listener),
        }
    }

    /// Sends bytes back and forth, after which both ends are fully established.
    fn exchange(&self) {
        for (mut from, mut to) in [(&self.client, &self.server), (&self.server, &self.client)] {
            from.write_all(b"joule").unwrap();
            let mut bytes = [0; 5];
            to.read_exact(&mut bytes).unwrap();
            assert_eq!(&bytes, b"joule");
        }
    }
}

fn blocking(socket: OwnedFd) -> TcpStream {
    let stream = TcpStream::from(socket);
    stream.set_nonblocking(false).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
}

/// Calls `ask` until the result is right.
fn eventually<T>(mut ask: impl FnMut() -> T, right: impl Fn(&T) -> bool) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let answer = ask();
        if right(&answer) || Instant::now() > deadline {
            return answer;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Makes every connection open a subflow on each further path.
fn join_all_paths(net: &Net) {
    let limits = Limits {
        accepted_addresses: 0,
        extra_subflows: 7,
    };
    net.server
        .enter_thread(|| PathManager::open()?.set_limits(limits))
        .unwrap()
        .unwrap();
    let configure = || -> Result<()> {
        let mut manager = PathManager::open()?;
        manager.set_limits(limits)?;
        net.paths[1..]
            .iter()
            .try_for_each(|path| manager.add(&Endpoint::subflow(path.ip, path.device)))
    };
    net.client.enter_thread(configure).unwrap().unwrap();
}

fn subflows(socket: impl AsFd, count: usize) -> FullInfo {
    eventually(
        || full_info(socket.as_fd()).unwrap(),
        |info| info.subflows.len() == count,
    )
}

fn list_in(net: &Net) -> Listing {
    net.client.enter_thread(diag::list).unwrap().unwrap()
}

#[test(needs(NET))]
fn both_ends_report_mptcp() {
    let net = Net::v4(1);
    let connection = Connection::open(&net, Protocol::Mptcp, Protocol::Mptcp, &reno());
    connection.exchange();
    for socket in [&connection.client, &connection.server] {
        let info = full_info(socket).unwrap();
        assert!(!info.is_plain_tcp());
        let mptcp = info.connection.unwrap();
        assert!(mptcp.remote_key_received && !mptcp.fallback);
        let counters = mptcp.counters.expect("this kernel reports counters");
        assert_eq!(
            (counters.received, counters.acked, counters.reinjected),
            (5, 5, 0)
        );
        assert_eq!(info.subflows.len(), 1);
        let tcp = &info.subflows[0].tcp;
        assert!(tcp.srtt_us > 0 && tcp.cwnd_packets >= 10, "{tcp:?}");
        assert_eq!(tcp.received_bytes, 5);
    }
    let (client, server) = (
        full_info(&connection.client).unwrap(),
        full_info(&connection.server).unwrap(),
    );
    assert_eq!(client.subflows[0].local.ip(), net.paths[0].ip);
    assert_eq!(client.subflows[0].local, server.subflows[0].remote);
    assert_eq!(client.subflows[0].remote, net.server_at(PORT));
}

#[test(needs(NET))]
fn both_ends_report_the_fallback_to_a_server_without_mptcp() {
    let net = Net::v4(1);
    let connection = Connection::open(&net, Protocol::Tcp, Protocol::Mptcp, &reno());
    connection.exchange();
    let client = full_info(&connection.client).unwrap();
    assert!(client.is_plain_tcp(), "{client:?}");
    assert_eq!(connection_info(&connection.server).unwrap(), None);
    assert!(full_info(&connection.server).unwrap().is_plain_tcp());
}

#[test(needs(NET))]
fn both_ends_report_the_fallback_to_a_client_without_mptcp() {
    let net = Net::v4(1);
    let connection = Connection::open(&net, Protocol::Mptcp, Protocol::Tcp, &reno());
    connection.exchange();
    for socket in [&connection.client, &connection.server] {
        let info = full_info(socket).unwrap();
        assert!(info.is_plain_tcp());
        assert_eq!(info.subflows.len(), 1);
        assert_eq!(info.subflows[0].tcp.received_bytes, 5);
    }
}

fn eight_subflows(net: &Net) {
    join_all_paths(net);
    let connection = Connection::open(net, Protocol::Mptcp, Protocol::Mptcp, &reno());
    connection.exchange();
    let client = subflows(&connection.client, 8);
    assert_eq!(client.subflows.len(), 8, "{client:?}");
    let mut seen: Vec<IpAddr> = client
        .subflows
        .iter()
        .map(|subflow| subflow.local.ip())
        .collect();
    seen.sort_unstable();
    let mut wanted: Vec<IpAddr> = net.paths.iter().map(|path| path.ip).collect();
    wanted.sort_unstable();
    assert_eq!(seen, wanted);
    let ids: Vec<Option<u32>> = client.subflows.iter().map(|subflow| subflow.id).collect();
    assert_eq!(ids, (1..=8).map(Some).collect::<Vec<_>>());
    assert_eq!(subflows(&connection.server, 8).subflows.len(), 8);
}

#[test(needs(NET))]
fn a_connection_has_eight_subflows_over_ipv4() {
    eight_subflows(&Net::v4(8));
}

#[test(needs(NET, IPV6))]
fn a_connection_has_eight_subflows_over_ipv6() {
    eight_subflows(&Net::v6(8));
}

#[test(needs(NET))]
fn the_list_has_each_connection_with_its_subflows_and_controllers() {
    let net = Net::v4(2);
    join_all_paths(&net);
    let reno_connection = Connection::open(&net, Protocol::Mptcp, Protocol::Mptcp, &reno());
    reno_connection.exchange();
    subflows(&reno_connection.client, 2);
    // A second connection with another controller, and a plain TCP connection.
    let bbr = Options {
        congestion: Some("bbr".into()),
        ..Options::default()
    };
    let (from, second, third) = (
        net.client_at(0),
        net.server_at(PORT + 1),
        net.server_at(PORT + 2),
    );
    let listeners = net.server.enter_thread(|| {
        (
            listen(Protocol::Mptcp, second, &bbr, 4).unwrap(),
            listen(Protocol::Tcp, third, &reno(), 4).unwrap(),
        )
    });
    let (listener, _other_listener) = listeners.unwrap();
    let others = net.client.enter_thread(|| {
        let mptcp = connect_within(Protocol::Mptcp, from, second, &bbr, PATIENCE).unwrap();
        (
            mptcp,
            connect_within(Protocol::Tcp, from, third, &reno(), PATIENCE).unwrap(),
        )
    });
    let (bbr_client, _plain) = others.unwrap();
    let (accepted, _) = accept_within(&listener, PATIENCE).unwrap();
    let bbr_connection = Connection {
        client: blocking(bbr_client),
        server: blocking(accepted),
        _listener: Rc::new(listener),
    };
    bbr_connection.exchange();
    subflows(&bbr_connection.client, 2);
    let all_established =
        |listing: &Listing| listing.connections.iter().all(|c| c.subflows.len() == 2);
    let listing = eventually(|| list_in(&net), all_established);
    assert_eq!(listing.connections.len(), 2, "{listing:#?}");
    assert_eq!(listing.plain.len(), 1, "{listing:#?}");
    let wanted = connection_info(&reno_connection.client).unwrap().unwrap();
    let listed = listing
        .connections
        .iter()
        .find(|c| c.info.token == wanted.token)
        .unwrap();
    assert_eq!(listed.info.counters, wanted.counters);
    let locals: Vec<IpAddr> = listed
        .subflows
        .iter()
        .map(|subflow| subflow.local.ip())
        .collect();
    assert_eq!(locals, [net.paths[0].ip, net.paths[1].ip]);
    for (i, subflow) in listed.subflows.iter().enumerate() {
        let member = subflow.membership.unwrap();
        assert_eq!((member.token, member.joined), (wanted.token, i > 0));
        assert_eq!(subflow.congestion.as_deref(), Some("reno"));
        assert!(
            subflow
                .info
                .as_ref()
                .is_some_and(|info| info.cwnd_packets > 0)
        );
        assert_ne!(listed.inode, 0);
    }
    let users = listing.by_controller();
    assert_eq!(
        (
            users["reno"].plain,
            users["reno"].subflows,
            users["reno"].connections
        ),
        (1, 2, 1)
    );
    assert_eq!(
        (
            users["bbr"].plain,
            users["bbr"].subflows,
            users["bbr"].connections
        ),
        (0, 2, 1)
    );
}

#[test(needs(NET))]
fn five_hundred_connections_are_listed_until_they_close() {
    const CONNECTIONS: usize = 500;
    let net = Net::v4(2);
    join_all_paths(&net);
    let (from, to): (SocketAddr, SocketAddr) = (net.client_at(0), net.server_at(PORT));
    let listener = net
        .server
        .enter_thread(|| listen(Protocol::Mptcp, to, &reno(), 512))
        .unwrap()
        .unwrap();
    let listener = Rc::new(listener);
    let mut open = vec![];
    let connect = || connect_within(Protocol::Mptcp, from, to, &reno(), PATIENCE);
    for _ in 0..CONNECTIONS {
        let client = net.client.enter_thread(connect).unwrap().unwrap();
        let (server, _) = accept_within(&listener, PATIENCE).unwrap();
        let connection = Connection {
            client: blocking(client),
            server: blocking(server),
            _listener: listener.clone(),
        };
        connection.exchange();
        open.push(connection);
    }
    let complete = |listing: &Listing| listing.connections.iter().all(|c| c.subflows.len() == 2);
    let listing = eventually(|| list_in(&net), complete);
    assert_eq!(listing.connections.len(), CONNECTIONS);
    assert!(complete(&listing), "subflows are missing");
    drop(open);
    let gone = |listing: &Listing| listing.connections.is_empty();
    assert!(
        gone(&eventually(|| list_in(&net), gone)),
        "connections are still listed"
    );
}

/// Bytes that the client can write until the kernel permanently takes no more.
fn fill(connection: &Connection, chunk: usize) -> usize {
    connection.client.set_nonblocking(true).unwrap();
    let (mut written, chunk) = (0, vec![7; chunk]);
    let mut idle_since = Instant::now();
    while idle_since.elapsed() < Duration::from_millis(300) {
        match (&connection.client).write(&chunk) {
            Ok(n) => (written, idle_since) = (written + n, Instant::now()),
            Err(_) => std::thread::sleep(Duration::from_millis(5)),
        }
    }
    written
}

#[test(needs(NET))]
fn a_send_buffer_holds_the_requested_payload() {
    for protocol in [Protocol::Mptcp, Protocol::Tcp] {
        for size in [64 << 10, 1 << 20] {
            let net = Net::v4(1);
            let buffers = Buffers {
                receive: None,
                send: Some(Bytes(size)),
            };
            let connection =
                Connection::open(&net, protocol, protocol, &Options { buffers, ..reno() });
            connection.exchange();
            // From now on nothing is acknowledged.
            net.set_cable(0, false);
            let part = fill(&connection, 1400) as f64 / size as f64;
            // The last write may exceed the limit, and TCP counts memory in whole pages.
            assert!(
                (0.9..1.3).contains(&part),
                "{protocol:?}: {part} of {size} bytes"
            );
        }
    }
}

#[test(needs(NET))]
fn the_receive_window_is_within_its_bounds_of_the_buffer() {
    for protocol in [Protocol::Mptcp, Protocol::Tcp] {
        let size = 1 << 20;
        let net = Net::v4(1);
        let buffers = Buffers {
            receive: Some(ReceiveWindow::of(Bytes(size))),
            send: Some(Bytes(64 << 10)),
        };
        let connection = Connection::open(&net, protocol, protocol, &Options { buffers, ..reno() });
        connection.exchange();
        let window = || {
            let info = full_info(&connection.client).unwrap();
            f64::from(info.subflows[0].tcp.send_window_bytes) / size as f64
        };
        // Half of the memory: 0.8 of the requested size since Linux 6.6, all of it before.
        assert!(
            (0.75..1.01).contains(&window()),
            "{protocol:?}: first {}",
            window()
        );
        let (mut reader, chunk) = (connection.server.try_clone().unwrap(), vec![0; 1 << 16]);
        let read =
            move || std::io::copy(&mut (&mut reader).take(10 << 20), &mut std::io::sink()).unwrap();
        let reading = std::thread::spawn(read);
        (0..160).for_each(|_| (&connection.client).write_all(&chunk).unwrap());
        assert_eq!(reading.join().unwrap(), 10 << 20);
        // Packets of 64 kB on this cable are nearly all payload. The client may have seen the
        // window before the reader caught up; further bytes bring the new one.
        let later = || {
            connection.exchange();
            window()
        };
        let range = 0.9..2.01;
        let measured = eventually(later, |window| range.contains(window));
        assert!(range.contains(&measured), "{protocol:?}: later {measured}");
    }
}

#[test(needs(NET))]
fn only_the_mptcp_socket_has_the_reserve() {
    const RESERVE: u64 = 3 << 20;
    let net = Net::v4(1);
    let rmem = || fs::read_to_string("/proc/sys/net/ipv4/tcp_rmem").unwrap();
    let in_client = || net.client.enter_thread(rmem).unwrap();
    let before = in_client();
    let options = Options {
        reserve: Some(Bytes(RESERVE)),
        ..reno()
    };
    let connection = Connection::open(&net, Protocol::Mptcp, Protocol::Mptcp, &options);
    connection.exchange();
    let memory = rustix::net::sockopt::socket_recv_buffer_size(&connection.client).unwrap();
    assert_eq!(memory as u64, RESERVE);
    // Later subflows take the namespace's setting.
    assert_eq!(in_client(), before);
    // The peer sees the window of the subflow's memory, not of the reserve.
    let usual: u64 = before.split_whitespace().nth(1).unwrap().parse().unwrap();
    let window = full_info(&connection.server).unwrap().subflows[0]
        .tcp
        .send_window_bytes;
    assert!(u64::from(window) <= usual, "{window} of {usual}");
}
