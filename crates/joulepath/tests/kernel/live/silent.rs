//! A preferred interface that is up and passes nothing: new connections start elsewhere, and come
//! back.

use std::io::{ErrorKind, Read, Write};
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};

use joulepath_kernel::route::{Prefix, Route, Routing};

use super::first::Steered;
use super::*;

/// How long a program waits for a connection.
const CONNECT: Duration = Duration::from_secs(3);

impl Steered {
    /// Removes the server's route of its answers on the first path, or adds it.
    fn answers(&self, answers: bool) {
        let (client, server) = (self.host.ip(0), self.host.net.server_ip);
        let route = Route {
            source: Some(server),
            ..Route::on_link(client, self.host.net.peer(0))
        };
        let change = || {
            let mut routing = Routing::open()?;
            if answers {
                routing.add_route(&route)
            } else {
                routing.delete_route(&route)
            }
        };
        self.host.net.server.enter_thread(change).unwrap().unwrap();
    }

    /// Both ends of a new connection, if it succeeds within `patience`.
    fn try_to_open(
        &self,
        protocol: Protocol,
        to: SocketAddr,
        patience: Duration,
    ) -> Option<(TcpStream, OwnedFd)> {
        let any = (Prefix::all_like(to.ip()).address(), 0).into();
        let connect = || connect_within(protocol, any, to, &Options::default(), patience);
        let socket = self.host.net.client.enter_thread(connect).unwrap().ok()?;
        Some((
            socket.into(),
            accept_within(&self.listener, PATIENCE).unwrap().0,
        ))
    }

    /// The own address of a new connection, if it succeeds.
    fn try_to_connect(&self, protocol: Protocol, to: SocketAddr) -> Option<IpAddr> {
        let (client, _) = self.try_to_open(protocol, to, CONNECT)?;
        Some(client.local_addr().unwrap().ip())
    }

    /// Waits until a new connection starts on this path, and returns it.
    fn wait_for_connection(
        &self,
        what: &str,
        protocol: Protocol,
        path: usize,
    ) -> (TcpStream, OwnedFd) {
        let to = self.host.net.server_at(PORT);
        let mut found = None;
        wait_until(what, || {
            found = self.try_to_open(protocol, to, CONNECT);
            let starts = |(client, _): &(TcpStream, OwnedFd)| client.local_addr().unwrap().ip();
            found.as_ref().map(starts) == Some(self.host.ip(path))
        });
        found.unwrap()
    }

    /// Stops the server's host from sending packets on its own.
    fn quiet(&self) {
        for name in [
            "net/ipv6/conf/s0/router_solicitations",
            "net/ipv6/conf/s0/accept_ra",
        ] {
            let set = || fs::write(format!("/proc/sys/{name}"), "0");
            self.host.net.server.enter_thread(set).unwrap().unwrap();
        }
    }

    /// Names of the interfaces that new connections avoid.
    fn unanswered(&self) -> Vec<String> {
        let status = self.host.status().unwrap();
        let names = status["first"]["unanswered"].as_array().unwrap().iter();
        names
            .map(|name| name.as_str().unwrap().to_owned())
            .collect()
    }
}

/// Addresses of IPv4 or IPv6 of a host with both: its own on a path, and the server's.
fn own(path: usize, v4: bool) -> IpAddr {
    let network = if v4 { "198.18.0." } else { "fd00::" };
    format!("{network}{}", path + 2).parse().unwrap()
}

fn server(v4: bool) -> IpAddr {
    let server = if v4 { "198.18.0.1" } else { "fd00::1" };
    server.parse().unwrap()
}

/// A host whose radios have addresses of both families.
fn with_both_families(configuration: &str) -> Steered {
    let Steered { host, listener } = Steered::with_intent(Net::v4(2), configuration);
    drop(listener);
    let of_client = || {
        let mut routing = Routing::open()?;
        for (path, priority) in [(0, 600), (1, 100)] {
            let (own, device) = (own(path, false), host.net.paths[path].device);
            routing.add_address(device, own)?;
            routing.add_route(&Route {
                priority,
                source: Some(own),
                ..Route::on_link(Prefix::all_like(own), device)
            })?;
        }
        Ok::<_, joulepath_kernel::Error>(())
    };
    host.net.client.enter_thread(of_client).unwrap().unwrap();
    let of_server = || {
        let mut routing = Routing::open()?;
        routing.add_loopback_address(server(false))?;
        (0..2).try_for_each(|path| routing.add_route(&answer(&host, path, false)))?;
        let any = (std::net::Ipv6Addr::UNSPECIFIED, PORT).into();
        listen(Protocol::Mptcp, any, &Options::default(), 4)
    };
    let listener = host.net.server.enter_thread(of_server).unwrap().unwrap();
    let steered = Steered { host, listener };
    steered.quiet();
    steered
}

/// The server's route of its answers of a family on a path.
fn answer(host: &Host, path: usize, v4: bool) -> Route {
    Route {
        source: Some(server(v4)),
        ..Route::on_link(own(path, v4), host.net.peer(path))
    }
}

fn one_family_leaves_and_returns(silent_v4: bool) {
    let steered = with_both_families("intent = \"frugal\"");
    let daemon = steered.host.start();
    let start = |v4: bool| {
        let (client, server) =
            steered.try_to_open(Protocol::Tcp, (server(v4), PORT).into(), CONNECT)?;
        Some((client.local_addr().unwrap().ip(), client, server))
    };
    let starts_on = |path, v4| start(v4).is_some_and(|(at, ..)| at == own(path, v4));
    for v4 in [true, false] {
        wait_until("new connections start on the preferred interface", || {
            starts_on(0, v4)
        });
    }
    let route = answer(&steered.host, 0, silent_v4);
    let silence = || Routing::open()?.delete_route(&route);
    steered
        .host
        .net
        .server
        .enter_thread(silence)
        .unwrap()
        .unwrap();
    let mut open = None;
    wait_until(
        "new connections of the silent family start elsewhere",
        || {
            assert!(starts_on(0, !silent_v4));
            open = start(silent_v4);
            open.as_ref()
                .is_some_and(|(at, ..)| *at == own(1, silent_v4))
        },
    );
    let family = if silent_v4 { "IPv4" } else { "IPv6" };
    let notes = || steered.host.status().unwrap()["interfaces"][0]["notes"].to_string();
    wait_until("the status shows it", || {
        steered.unanswered() == ["c0"] && notes().contains(&format!("{family} connections"))
    });
    assert!(daemon.has_said(&format!("c0 gets no answer over {family}: ")));
    assert!(starts_on(0, !silent_v4) && daemon.role("c0") == "regular");
    let answers = || Routing::open()?.add_route(&route);
    steered
        .host
        .net
        .server
        .enter_thread(answers)
        .unwrap()
        .unwrap();
    wait_until(
        "new connections start on the preferred interface again",
        || {
            assert!(starts_on(0, !silent_v4));
            starts_on(0, silent_v4)
        },
    );
    wait_until("the log says it", || {
        daemon.has_said(&format!("c0 is used again over {family}"))
    });
    assert_eq!(daemon.stop(), Some(0));
}

#[test(needs(NET))]
fn only_new_ipv4_connections_leave_an_interface_that_is_silent_for_ipv4() {
    one_family_leaves_and_returns(true);
}

#[test(needs(NET))]
fn only_new_ipv6_connections_leave_an_interface_that_is_silent_for_ipv6() {
    one_family_leaves_and_returns(false);
}

fn leaves_and_returns(net: Net, protocol: Protocol, configuration: &str) {
    let steered = Steered::with_intent(net, configuration);
    let daemon = steered.host.start();
    drop(steered.wait_for_connection(
        "new connections start on the preferred interface",
        protocol,
        0,
    ));
    steered.quiet();
    steered.answers(false);
    let _open =
        steered.wait_for_connection("new connections start on the other interface", protocol, 1);
    wait_until("the status shows it", || steered.unanswered() == ["c0"]);
    assert!(daemon.has_said("c0 gets no answer: "));
    wait_until("its role changes", || {
        daemon.role("c0") == "backup" && daemon.role("c1") == "regular"
    });
    steered.answers(true);
    wait_until("the status shows no silent interface", || {
        steered.unanswered().is_empty()
    });
    steered.wait_for_connection(
        "new connections start on the preferred interface again",
        protocol,
        0,
    );
    assert!(daemon.has_said("c0 is used again"));
    assert_eq!(daemon.stop(), Some(0));
}

#[test(needs(NET))]
fn new_tcp_connections_leave_a_silent_interface_and_return() {
    leaves_and_returns(Net::v4(2), Protocol::Tcp, "intent = \"frugal\"");
}

#[test(needs(NET))]
fn new_mptcp_connections_leave_a_silent_interface_and_return() {
    leaves_and_returns(Net::v4(2), Protocol::Mptcp, "intent = \"interactive\"");
}

#[test(needs(NET))]
fn new_ipv6_connections_leave_a_silent_interface_and_return() {
    leaves_and_returns(
        Net::v6(2),
        Protocol::Tcp,
        "intent = \"frugal\"\npm = \"userspace\"",
    );
}

/// The router answers ARP, so packets arrive. Linux repeats the first SYN after 1 s.
#[test(needs(NET))]
fn connections_that_programs_give_up_before_the_second_timeout_leave_a_silent_interface() {
    let steered = Steered::with_intent(Net::v4(2), "intent = \"frugal\"");
    let daemon = steered.host.start();
    for (protocol, patience) in [
        (Protocol::Tcp, Duration::from_secs(1)),
        (Protocol::Mptcp, Duration::from_secs(2)),
    ] {
        let first = "new connections start on the preferred interface";
        drop(steered.wait_for_connection(first, protocol, 0));
        steered.quiet();
        steered.answers(false);
        let to = steered.host.net.server_at(PORT);
        wait_until("a connection succeeds", || {
            steered.try_to_open(protocol, to, patience).is_some()
        });
        steered.answers(true);
        wait_until("the status shows no silent interface", || {
            steered.unanswered().is_empty()
        });
    }
    assert_eq!(daemon.stop(), Some(0));
}

#[test(needs(NET))]
fn new_connections_leave_a_silent_interface_on_which_a_download_runs() {
    let steered = Steered::with_intent(Net::v4(2), "intent = \"frugal\"");
    let _daemon = steered.host.start();
    steered.wait_for_connection(
        "new connections start on the preferred interface",
        Protocol::Tcp,
        0,
    );
    let pair = steered.connect(Protocol::Mptcp);
    let ends = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let [mut from, mut to] = [&pair.server, &pair.client];
        from.set_write_timeout(Some(Duration::from_millis(100)))
            .unwrap();
        to.set_read_timeout(Some(Duration::from_millis(100)))
            .unwrap();
        let goes_on = |moved: std::io::Result<usize>| match moved {
            Ok(_) => {}
            Err(error) => assert_eq!(error.kind(), ErrorKind::WouldBlock, "{error}"),
        };
        let ends = &ends;
        scope.spawn(move || {
            while !ends.load(Ordering::Relaxed) {
                goes_on(from.write(&[7; 4000]));
                std::thread::sleep(Duration::from_millis(20));
            }
        });
        scope.spawn(move || {
            while !ends.load(Ordering::Relaxed) {
                goes_on(to.read(&mut [0; 8000]));
            }
        });
        steered.answers(false);
        let other = "new connections start on the other interface";
        steered.wait_for_connection(other, Protocol::Tcp, 1);
        ends.store(true, Ordering::Relaxed);
    });
}

/// The server's host drops packets to an address that it does not have.
#[test(needs(NET))]
fn a_dead_server_alone_moves_no_other_connection() {
    let steered = Steered::with_intent(Net::v4(2), "intent = \"frugal\"");
    let host = &steered.host;
    let daemon = host.start();
    let dead: SocketAddr = "203.0.113.9:5001".parse().unwrap();
    let detour = || {
        let mut routes = host
            .net
            .client
            .enter_thread(|| Routing::open()?.routes())
            .unwrap()
            .unwrap();
        routes.retain(|route| route.destination == Prefix::from(dead.ip()));
        routes.first().and_then(|route| route.hops.first()?.device)
    };
    steered.wait_for_connection(
        "new connections start on the preferred interface",
        Protocol::Tcp,
        0,
    );
    let mut had = false;
    wait_until("the server is tried over the other interface", || {
        assert_eq!(steered.try_to_connect(Protocol::Tcp, dead), None);
        had |= detour() == Some(host.net.paths[1].device);
        had
    });
    wait_until("it is not tried any more", || {
        assert_eq!(steered.try_to_connect(Protocol::Tcp, dead), None);
        detour().is_none()
    });
    assert_eq!(steered.unanswered(), [""; 0]);
    assert_eq!(
        [daemon.role("c0"), daemon.role("c1")],
        ["regular", "unused"]
    );
    assert!(!daemon.has_said("gets no answer"));
    let to = host.net.server_at(PORT);
    assert_eq!(steered.try_to_connect(Protocol::Tcp, to), Some(host.ip(0)));
}
