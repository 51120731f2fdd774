//! Limits of bytes that the kernel enforces.

use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::time::Duration;

use joulepath_kernel::gate::{Gates, Stops};
use joulepath_kernel::mptcp::socket::{Options, Protocol, connect_within};
use joulepath_testbed::net::Net;
use joulepath_testbed::observe::wait_until;

const LIMIT: u64 = 100_000;
const NAME: &str = "joulepath-test";

/// A plain TCP connection over the first path.
fn connect(net: &Net) -> (TcpStream, TcpStream) {
    let listener = net
        .server
        .enter_thread(|| TcpListener::bind((net.server_ip, 5001)).unwrap())
        .unwrap();
    let (from, to) = (net.client_at(0), net.server_at(5001));
    let connect = || {
        connect_within(
            Protocol::Tcp,
            from,
            to,
            &Options::default(),
            Duration::from_secs(20),
        )
    };
    let client = net.client.enter_thread(connect).unwrap().unwrap();
    (client.into(), listener.accept().unwrap().0)
}

fn stops_tcp(net: &Net) {
    let mut gates = net.client.enter_thread(Gates::open).unwrap().unwrap();
    let (mut client, mut server) = connect(net);
    gates
        .add(NAME, &["c0"], LIMIT, Stops::Mptcp { joins: 1 })
        .unwrap();
    client.set_nonblocking(true).unwrap();
    server
        .set_read_timeout(Some(Duration::from_millis(200)))
        .unwrap();
    // Sends until this many bytes have arrived, or none arrives any more.
    let mut send = |bytes: u64| {
        let mut arrived = 0;
        while arrived < bytes {
            match client.write(&[0; 10_000]) {
                Err(error) if error.kind() != ErrorKind::WouldBlock => panic!("{error}"),
                _ => {}
            }
            let Ok(more) = server.read(&mut [0; 100_000]) else {
                break;
            };
            arrived += more as u64;
        }
        arrived
    };
    // It stops only MPTCP.
    assert!(send(2 * LIMIT) >= 2 * LIMIT);
    assert_eq!(gates.passed(NAME).unwrap(), LIMIT);
    gates.remove(NAME).unwrap();
    gates.remove(NAME).unwrap();
    gates.add(NAME, &["c0"], LIMIT, Stops::All).unwrap();
    let arrived = send(10 * LIMIT);
    assert!((LIMIT / 2..2 * LIMIT).contains(&arrived), "{arrived} bytes");
    // A larger limit lets the connection go on; so does the end of the process.
    let passed = gates.passed(NAME).unwrap();
    gates.set(NAME, passed + 5 * LIMIT).unwrap();
    let mut all = 0;
    wait_until("the connection goes on", || {
        all += send(10 * LIMIT);
        all > LIMIT
    });
    drop(gates);
    let mut all = 0;
    wait_until("nothing stops it", || {
        all += send(10 * LIMIT);
        all > 20 * LIMIT
    });
}

#[test(needs(NET))]
fn a_gate_stops_a_device_at_its_limit_and_ends_with_its_socket() {
    for net in [Net::v4(1), Net::v6(1)] {
        stops_tcp(&net);
    }
}

/// A lease that cannot be renewed takes the device's address away.
#[test(needs(NET))]
fn dhcp_passes_a_closed_gate() {
    for net in [Net::v4(1), Net::v6(1)] {
        let port = if net.server_ip.is_ipv4() { 67 } else { 547 };
        let bind = |port| {
            net.server
                .enter_thread(|| UdpSocket::bind((net.server_ip, port)).unwrap())
                .unwrap()
        };
        let (dhcp, other) = (bind(port), bind(5003));
        let mut gates = net.client.enter_thread(Gates::open).unwrap().unwrap();
        gates.add(NAME, &["c0"], 1, Stops::All).unwrap();
        let socket = net
            .client
            .enter_thread(|| UdpSocket::bind(net.client_at(0)).unwrap())
            .unwrap();
        drop(socket.send_to(&[0; 300], net.server_at(5003)));
        socket.send_to(&[0; 300], net.server_at(port)).unwrap();
        dhcp.set_read_timeout(Some(Duration::from_secs(20)))
            .unwrap();
        assert_eq!(dhcp.recv(&mut [0; 1000]).unwrap(), 300);
        // What was sent before it has not arrived.
        other.set_nonblocking(true).unwrap();
        assert_eq!(
            other.recv(&mut [0; 1000]).unwrap_err().kind(),
            ErrorKind::WouldBlock
        );
    }
}

#[test(needs(NET))]
fn a_gate_counts_the_bytes_of_all_its_devices() {
    let net = Net::v4(2);
    let mut gates = net.client.enter_thread(Gates::open).unwrap().unwrap();
    gates.add(NAME, &["c0", "c1"], LIMIT, Stops::All).unwrap();
    let sink = net
        .server
        .enter_thread(|| UdpSocket::bind((net.server_ip, 5002)).unwrap())
        .unwrap();
    sink.set_read_timeout(Some(Duration::from_millis(500)))
        .unwrap();
    for path in [0, 1] {
        let socket = net
            .client
            .enter_thread(|| UdpSocket::bind(net.client_at(path)).unwrap())
            .unwrap();
        (0..60).for_each(|_| drop(socket.send_to(&[0; 1000], net.server_at(5002))));
    }
    let mut arrived = 0;
    while sink.recv(&mut [0; 1000]).is_ok() {
        arrived += 1000;
    }
    assert!(
        (LIMIT * 9 / 10..=LIMIT).contains(&arrived),
        "{arrived} bytes"
    );
}
