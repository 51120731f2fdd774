//! `uninterrupted`: small flows while a path passes nothing and stays up.

use std::io::{Read, Write};
use std::time::Instant;

use super::behaviour::Connection;
use super::datagrams::{PAUSE, World, ip};
use super::*;

/// Each flow sees the failure at another instant.
const FLOWS: u64 = 10;
/// A pause between two messages of a flow, at most.
const PAUSE_MS: u64 = 100;
/// The longest gap that is allowed.
const GAP: Duration = Duration::from_secs(1);
/// How long the path is dead.
const DEAD: Duration = Duration::from_secs(2);

/// Where nothing arrives.
#[derive(Clone, Copy, Debug)]
pub(super) enum Lost {
    Client,
    Server,
    Both,
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    Requests,
    ServerAlone,
}

impl Host {
    /// Drops whatever arrives over the first path. Its carrier stays.
    pub(super) fn kill_first_path(&self, lost: Lost) {
        let ends = [(&self.net.client, "c0"), (&self.net.server, "s0")];
        let ends = match lost {
            Lost::Client => &ends[..1],
            Lost::Server => &ends[1..],
            Lost::Both => &ends[..],
        };
        for (namespace, device) in ends {
            let rules = format!(
                "table inet dead {{ chain arrivals {{ type filter hook prerouting priority raw;\n\
                 iifname {device} drop\n}}\n}}"
            );
            let run = || Command::new("nft").arg(&rules).status().unwrap();
            assert!(namespace.enter_thread(run).unwrap().success());
        }
    }

    /// Ends that.
    pub(super) fn heal(&self) {
        for namespace in [&self.net.client, &self.net.server] {
            let rules = "table inet dead {}\ndelete table inet dead";
            let run = || Command::new("nft").arg(rules).status().unwrap();
            assert!(namespace.enter_thread(run).unwrap().success());
        }
    }
}

/// Pauses that differ by flow.
struct Pauses(u64);

impl Pauses {
    fn pause(&mut self) {
        // Knuth's generator: its high bits are good enough.
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        std::thread::sleep(Duration::from_millis((self.0 >> 33) % PAUSE_MS));
    }
}

/// Answers each byte, or sends without being asked.
fn serve(mut server: TcpStream, kind: Kind, mut pauses: Pauses) {
    let mut byte = [0];
    match kind {
        Kind::Requests => {
            while server.read_exact(&mut byte).is_ok() && server.write_all(&byte).is_ok() {}
        }
        Kind::ServerAlone => {
            while server.write_all(&byte).is_ok() {
                pauses.pause();
            }
        }
    }
}

/// The longest time until `end` between two bytes that arrive.
fn longest_gap(mut client: TcpStream, kind: Kind, mut pauses: Pauses, end: Instant) -> Duration {
    let (mut last, mut longest) = (Instant::now(), Duration::ZERO);
    while last < end {
        if let Kind::Requests = kind {
            client.write_all(&[1]).unwrap();
        }
        client.read_exact(&mut [0]).unwrap();
        longest = longest.max(last.elapsed());
        last = Instant::now();
        if let Kind::Requests = kind {
            pauses.pause();
        }
    }
    longest
}

/// The gaps of all flows, sorted, while the first path is dead.
fn gaps(kind: Kind, lost: Lost) -> Vec<Duration> {
    let (host, listener) = Host::with_server();
    host.configure("intent = \"uninterrupted\"", "");
    let daemon = host.start();
    host.wait_for(
        "the second path is a backup",
        &[(host.ip(0), false), (host.ip(1), true)],
    );
    let flows: Vec<Connection> = (0..FLOWS).map(|_| host.connect(&listener, 0)).collect();
    let pairs = 2 * usize::try_from(FLOWS).unwrap();
    wait_until("each has both paths", || host.kinds().len() == pairs);
    let end = Instant::now() + DEAD + DEAD;
    let clients: Vec<_> = (0..)
        .zip(flows)
        .map(|(flow, Connection { client, server })| {
            client.set_nodelay(true).unwrap();
            client.set_read_timeout(Some(PATIENCE)).unwrap();
            server.set_nodelay(true).unwrap();
            std::thread::spawn(move || serve(server, kind, Pauses(flow)));
            std::thread::spawn(move || longest_gap(client, kind, Pauses(flow + FLOWS), end))
        })
        .collect();
    std::thread::sleep(DEAD / 2);
    host.kill_first_path(lost);
    let mut gaps: Vec<Duration> = clients.into_iter().map(|one| one.join().unwrap()).collect();
    let said = daemon.said.lock().unwrap().clone();
    assert_eq!(daemon.role("c1"), "regular", "{said}");
    gaps.sort_unstable();
    gaps
}

#[test(needs(NET, tool("nft"), QUIET_CLOCK))]
fn no_flow_waits_a_second_when_a_path_dies() {
    for kind in [Kind::Requests, Kind::ServerAlone] {
        for lost in [Lost::Client, Lost::Server, Lost::Both] {
            let gaps = gaps(kind, lost);
            let (median, longest) = (gaps[gaps.len() / 2], gaps[gaps.len() - 1]);
            println!("{kind:?}, lost {lost:?}: median {median:?}, longest {longest:?}");
            assert!(longest <= GAP, "{kind:?}, lost {lost:?}: {gaps:?}");
        }
    }
}

/// Both paths carry at least so many packets more than before.
fn both_carry(world: &World, before: [u64; 2], packets: u64) -> bool {
    [0, 1]
        .iter()
        .all(|&path| world.sent_on(path) >= before[path] + packets)
}

#[test(needs(NET, tool("nft")))]
fn a_call_through_the_relay_loses_nothing_when_a_path_dies() {
    let host = Host::new();
    host.configure("intent = \"uninterrupted\"", "");
    let world = World::new(&host, &[(host.ip(0), false), (host.ip(1), true)]);
    wait_until("datagrams pass", || world.passes(100));
    let before = [0, 1].map(|path| world.sent_on(path));
    // Each end speaks, and the first path dies in the middle.
    for number in 0..100 {
        if number == 50 {
            assert!(both_carry(&world, before, 50), "copies on both paths");
            host.kill_first_path(Lost::Both);
        }
        assert!(world.passes(160), "datagram {number} is lost");
        std::thread::sleep(PAUSE);
    }
}

#[test(needs(NET, tool("nft")))]
fn a_metered_path_carries_no_copies() {
    let host = Host::new();
    host.configure("intent = \"uninterrupted\"", "metered = true");
    let world = World::new(&host, &[(host.ip(0), false), (host.ip(1), true)]);
    wait_until("datagrams pass", || world.passes(100));
    let before = world.sent_on(1);
    assert!((0..50).all(|_| world.passes(160)));
    assert_eq!(world.sent_on(1), before);
}

/// A program's connection through SOCKS5 to a server of the other namespace, and its end there.
fn through_relay(host: &Host) -> Connection {
    for path in 0..2 {
        let (own, metric) = (host.ip(path), 100 + path);
        let route = format!("route add default dev c{path} src {own} metric {metric}");
        ip(&host.net.client, &route);
    }
    let server = host.net.server_at(PORT);
    let listen = || std::net::TcpListener::bind(server).unwrap();
    let listener = host.net.server.enter_thread(listen).unwrap();
    let connect = || TcpStream::connect("127.0.0.1:1080").unwrap();
    let mut client = host.net.client.enter_thread(connect).unwrap();
    client.set_read_timeout(Some(PATIENCE)).unwrap();
    let IpAddr::V4(to) = server.ip() else {
        panic!("{server}")
    };
    client.write_all(&[5, 1, 0, 5, 1, 0, 1]).unwrap();
    client.write_all(&to.octets()).unwrap();
    client.write_all(&PORT.to_be_bytes()).unwrap();
    let mut answer = [0; 12];
    client.read_exact(&mut answer).unwrap();
    assert_eq!(answer[..4], [5, 0, 5, 0], "the relay refuses");
    let server = listener.accept().unwrap().0;
    Connection { client, server }
}

#[test(needs(NET, tool("nft"), QUIET_CLOCK))]
fn a_connection_through_the_relay_does_not_wait_when_a_path_dies() {
    let host = Host::new();
    host.configure("intent = \"uninterrupted\"", "");
    let world = World::new(&host, &[(host.ip(0), false), (host.ip(1), true)]);
    let Connection { client, server } = through_relay(&host);
    client.set_nodelay(true).unwrap();
    std::thread::spawn(move || serve(server, Kind::Requests, Pauses(0)));
    let talk = |time: Duration| {
        let client = client.try_clone().unwrap();
        longest_gap(client, Kind::Requests, Pauses(1), Instant::now() + time)
    };
    wait_until("copies go over the second path", || {
        let before = [0, 1].map(|path| world.sent_on(path));
        talk(DEAD / 4);
        both_carry(&world, before, 5)
    });
    host.kill_first_path(Lost::Both);
    let gap = talk(DEAD);
    println!("longest gap {gap:?}");
    // A pause, and 100 ms.
    assert!(gap <= Duration::from_millis(PAUSE_MS + 100), "{gap:?}");
}
