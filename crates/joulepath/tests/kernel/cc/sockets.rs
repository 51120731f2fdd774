//! Sockets in use switch to another load, are counted, and keep an unloaded controller.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::fd::AsRawFd;
use std::thread;
use std::time::Duration;

use joulepath_kernel::cc::{Control, ControlKey, Field, Lease, controls};
use joulepath_kernel::mptcp::path_manager::{Endpoint, Limits, PathManager};
use joulepath_kernel::mptcp::socket::{Options, Protocol, accept_within, connect_within, listen};
use joulepath_testbed::net::Net;
use serde_json::Value;

use super::stage::{Place, Stage, another, controller};
use joulepath_testbed::observe::wait_until;

const NAME: &str = "cwa";

/// Sends `bytes` of a pattern from one end to the other and checks them there.
fn transfer(from: &TcpStream, to: &TcpStream, bytes: usize) {
    let byte = |i: usize| (i * 7 + i / 251) as u8;
    thread::scope(|scope| {
        let (mut from, mut to) = (from, to);
        scope.spawn(move || {
            from.write_all(&(0..bytes).map(byte).collect::<Vec<u8>>())
                .unwrap()
        });
        let mut received = vec![0; bytes];
        to.read_exact(&mut received).unwrap();
        assert!(
            received
                .iter()
                .enumerate()
                .all(|(i, &received)| received == byte(i)),
            "the bytes differ"
        );
    });
}

/// Numbers of sockets in `status`: all, and those of an earlier load.
fn sockets(status: &Value) -> (u64, u64) {
    let found = controller(status, NAME).unwrap_or_else(|| panic!("{status}"));
    (
        found["sockets"].as_u64().unwrap(),
        found["stayed_sockets"].as_u64().unwrap(),
    )
}

/// True if every subflow uses the newest load and has had a round trip since `than_us`.
fn are_fresh(status: &Value, least_delivered: u64) -> bool {
    let found = controller(status, NAME).unwrap();
    let connections = found["connections"].as_array().unwrap();
    let mut subflows = connections
        .iter()
        .flat_map(|connection| connection["subflows"].as_array().unwrap());
    subflows.all(|subflow| {
        subflow["current_load"] == true
            && subflow["delivered_packets"].as_u64().unwrap() >= least_delivered
    })
}

#[test(needs(ENGINE, MACHINE_STATE))]
fn sockets_in_use_switch_to_the_new_load_and_no_byte_is_lost() {
    let stage = Stage::new(&[NAME]);
    stage.cc(&["load", NAME]).ok();
    let (here, there) = (&stage.here, Place::new("reno"));
    let name = format!("jp_{NAME}");
    let pairs: Vec<_> = [here, &there]
        .iter()
        .flat_map(|place| place.connections(3, Some(&name)))
        .collect();
    for (client, server) in &pairs {
        transfer(client, server, 100_000);
    }
    // While data flows.
    thread::scope(|scope| {
        for (client, server) in &pairs {
            scope.spawn(move || transfer(client, server, 20_000_000));
        }
        let said = stage.cc(&["load", NAME]);
        assert_eq!(said.code, Some(0), "{said:?}");
        assert!(
            said.stderr
                .contains("replaced; 12 sockets in use went over to it"),
            "{said:?}"
        );
        assert_eq!(sockets(&here.status()), (12, 0));
    });
    for (client, server) in &pairs {
        transfer(client, server, 100_000);
    }
    // The new programs have counted the data delivered since then.
    assert!(are_fresh(&here.status(), 1), "{}", here.status());
}

#[test(needs(ENGINE, MACHINE_STATE))]
fn all_subflows_of_an_mptcp_connection_switch_to_the_new_load() {
    let stage = Stage::new(&[NAME]);
    stage.cc(&["load", NAME]).ok();
    let net = Net::v4(2);
    let limits = Limits {
        accepted_addresses: 0,
        extra_subflows: 7,
    };
    net.server
        .enter_thread(|| PathManager::open()?.set_limits(limits))
        .unwrap()
        .unwrap();
    let join = || {
        let mut manager = PathManager::open()?;
        manager.set_limits(limits)?;
        manager.add(&Endpoint::subflow(net.paths[1].ip, net.paths[1].device))
    };
    net.client.enter_thread(join).unwrap().unwrap();
    let options = Options {
        congestion: Some(format!("jp_{NAME}")),
        ..Options::default()
    };
    let patience = std::time::Duration::from_secs(60);
    let (from, to) = (net.client_at(0), net.server_at(5001));
    let listener = net
        .server
        .enter_thread(|| listen(Protocol::Mptcp, to, &options, 4))
        .unwrap()
        .unwrap();
    let connect = || connect_within(Protocol::Mptcp, from, to, &options, patience);
    let client = TcpStream::from(net.client.enter_thread(connect).unwrap().unwrap());
    let server = TcpStream::from(accept_within(&listener, patience).unwrap().0);
    for socket in [&client, &server] {
        socket.set_nonblocking(false).unwrap();
    }
    // Two subflows, each with two ends.
    wait_until("both subflows are up on both ends", || {
        transfer(&client, &server, 100_000);
        sockets(&stage.here.status()) == (4, 0)
    });
    let said = stage.cc(&["load", NAME]);
    assert!(
        said.stderr.contains("; 4 sockets in use went over to it"),
        "{said:?}"
    );
    assert_eq!(sockets(&stage.here.status()), (4, 0));
    transfer(&client, &server, 1_000_000);
    // A subflow that joins later also gets the newest load; coupled subflows see each other.
    let status = stage.here.status();
    let connections = controller(&status, NAME).unwrap()["connections"]
        .as_array()
        .unwrap();
    assert_eq!(
        connections.len(),
        2,
        "one connection is seen from each of its ends: {status}"
    );
    assert!(
        connections
            .iter()
            .all(|connection| connection["subflows"].as_array().unwrap().len() == 2),
        "{status}"
    );
}

#[test(needs(ENGINE, MACHINE_STATE))]
fn sockets_that_keep_an_unloaded_controller_switch_when_it_is_loaded_again() {
    let stage = Stage::new(&[NAME]);
    stage.cc(&["load", NAME]).ok();
    let pairs = stage.here.connections(4, Some(&format!("jp_{NAME}")));
    let said = stage.cc(&["unload", NAME]);
    assert!(
        said.stderr
            .contains("unloaded, 8 sockets keep it until they close"),
        "{said:?}"
    );
    // The name is free, and the sockets work.
    stage.assert_clean();
    for (client, server) in &pairs {
        transfer(client, server, 50_000);
    }
    let said = stage.cc(&["load", NAME]);
    assert!(
        said.stderr
            .contains("loaded; 8 sockets of an earlier load went over to it"),
        "{said:?}"
    );
    assert_eq!(sockets(&stage.here.status()), (8, 0));
}

#[test(needs(ENGINE, MACHINE_STATE))]
fn new_sockets_of_every_namespace_get_the_new_load() {
    let stage = Stage::new(&[NAME]);
    stage.cc(&["load", NAME]).ok();
    let there = Place::new(another());
    there.cc(&["default", NAME]).ok();
    stage.cc(&["load", NAME]).ok();
    let pairs = there.connections(2, None);
    assert_eq!(sockets(&stage.here.status()), (4, 0));
    drop(pairs);
    // An accepted socket inherits the controller that the listening socket has chosen.
    let listening = || {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        rustix::net::sockopt::set_tcp_congestion(&listener, &format!("jp_{NAME}")).unwrap();
        listener
    };
    let listener = there.namespace.enter_thread(listening).unwrap();
    stage.cc(&["load", NAME]).ok();
    let at = listener.local_addr().unwrap();
    let client = there
        .namespace
        .enter_thread(|| TcpStream::connect(at).unwrap())
        .unwrap();
    let accepted = listener.accept().unwrap();
    wait_until("two sockets use the new load", || {
        sockets(&stage.here.status()) == (2, 0)
    });
    drop((client, accepted));
}

#[test(needs(ENGINE, MACHINE_STATE))]
fn five_thousand_sockets_are_counted_as_they_are() {
    const PAIRS: usize = 2500;
    let stage = Stage::new(&[NAME]);
    let files = rustix::process::Rlimit {
        current: Some(20_000),
        maximum: Some(20_000),
    };
    if rustix::process::setrlimit(rustix::process::Resource::Nofile, files).is_err() {
        joulepath_testbed::skip("may not open 5000 sockets");
    }
    stage.cc(&["load", NAME]).ok();
    let there = Place::new("reno");
    let name = format!("jp_{NAME}");
    let (many, few) = (
        stage.here.connections(PAIRS - 10, Some(&name)),
        there.connections(10, Some(&name)),
    );
    let status = stage.here.status();
    let found = controller(&status, NAME).unwrap();
    assert_eq!(found["sockets"], 2 * PAIRS);
    // Both sockets of one are together.
    let connections = found["connections"].as_array().unwrap();
    assert_eq!(connections.len(), PAIRS);
    assert!(
        connections
            .iter()
            .all(|connection| connection["subflows"].as_array().unwrap().len() == 2)
    );
    let mut by_namespace = std::collections::BTreeMap::new();
    for connection in connections {
        *by_namespace
            .entry(connection["netns"].as_u64().unwrap())
            .or_insert(0) += 1;
    }
    let mut counts: Vec<usize> = by_namespace.into_values().collect();
    counts.sort_unstable();
    assert_eq!(counts, [10, PAIRS - 10]);
    let text = stage.cc(&["status"]).ok();
    assert!(
        text.contains(&format!("jp_{NAME}: 2500 connections, 5000 sockets\n")),
        "{}",
        &text[..200]
    );
    // All of them go over at once.
    let said = stage.cc(&["load", NAME]);
    assert!(
        said.stderr
            .contains("replaced; 5000 sockets in use went over to it"),
        "{said:?}"
    );
    assert_eq!(sockets(&stage.here.status()), (5000, 0));
    drop((many, few));
    wait_until("they have all closed", || {
        sockets(&stage.here.status()).0 == 0
    });
}

/// SO_MAX_PACING_RATE of a socket, bytes/s.
fn limit_of(socket: &TcpStream) -> u64 {
    let (mut limit, mut length) = (0u64, size_of::<u64>() as libc::socklen_t);
    let (level, name) = (libc::SOL_SOCKET, libc::SO_MAX_PACING_RATE);
    // SAFETY: the kernel writes at most `length` bytes to `limit`.
    let status = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            level,
            name,
            (&raw mut limit).cast(),
            &raw mut length,
        )
    };
    assert_eq!(status, 0, "{}", std::io::Error::last_os_error());
    limit
}

#[test(needs(ENGINE, MACHINE_STATE))]
fn a_paced_socket_that_switches_has_no_limit_afterwards() {
    const RATE: u32 = 5_000_000;
    const UNLIMITED: u64 = u64::MAX;
    let stage = Stage::new(&[NAME]);
    stage.cc(&["load", NAME]).ok();
    let name = format!("jp_{NAME}");
    let pairs = stage.here.connections(1, Some(&name));
    let (client, server) = &pairs[0];
    assert_eq!(limit_of(client), UNLIMITED);
    let netns = stage.here.namespace.cookie().unwrap();
    let key = ControlKey::Address {
        netns,
        local: [127, 0, 0, 1].into(),
    };
    let controls = controls(&name).unwrap();
    controls
        .set(
            key,
            Control::Pacing(RATE),
            Lease::For(Duration::from_secs(600)),
        )
        .unwrap();
    let until = |limit| {
        wait_until("the limit applies", || {
            transfer(client, server, 20_000);
            limit_of(client) == limit
        });
    };
    until(RATE.into());
    let said = stage.cc(&["load", NAME]);
    assert!(
        said.stderr.contains("; 2 sockets in use went over to it"),
        "{said:?}"
    );
    // The limit holds until it ends; then the application's own value is restored.
    until(RATE.into());
    controls.clear(key, Field::Pacing).unwrap();
    until(UNLIMITED);
}
