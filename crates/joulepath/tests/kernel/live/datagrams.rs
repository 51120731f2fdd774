//! UDP through the relay, over the interfaces that the daemon chooses.

use std::net::UdpSocket;
use std::time::Instant;

use joulepath_kernel::Namespace;

use super::uninterrupted::Lost;
use super::*;
use crate::relay::End;

/// Where programs send, and where the server listens.
const DOOR: &str = "127.0.0.1:5353";
const SERVER: &str = "198.18.0.1:5354";
/// 50 datagrams per second, as in a call.
pub(super) const PAUSE: Duration = Duration::from_millis(20);

/// A host with the daemon and both ends of a relay.
pub(super) struct World<'a> {
    _daemon: Daemon<'a>,
    _ends: [End; 2],
    host: &'a Host,
    program: UdpSocket,
    server: UdpSocket,
}

pub(super) fn ip(namespace: &Namespace, words: &str) {
    let words: Vec<&str> = words.split(' ').collect();
    let run = || Command::new("ip").args(&words).status().unwrap();
    assert!(namespace.enter_thread(run).unwrap().success());
}

impl<'a> World<'a> {
    pub(super) fn new(host: &'a Host, endpoints: &[(IpAddr, bool)]) -> Self {
        let daemon = host.start();
        host.wait_for("the daemon has given roles", endpoints);
        host.run(&["relay", "new", "--server", "198.18.0.1:8443"])
            .ok();
        let edit = |name: &str, lines: &str| {
            let file = host.folder.path().join(name);
            let text = fs::read_to_string(&file).unwrap();
            fs::write(&file, text.replace("[::]:8443", "0.0.0.0:8443") + lines).unwrap();
        };
        edit(
            "relay-serve.toml",
            "udp = true\nallow_private = [\"198.18.0.0/15\"]\n",
        );
        let socket = host.socket();
        let near = format!(
            "daemon = \"{}\"\n[[udp]]\nlisten = \"{DOOR}\"\nto = \"{SERVER}\"\n",
            socket.display()
        );
        edit("relay-connect.toml", &near);
        let net = &host.net;
        ip(&net.client, "link set lo up");
        // Else the kernel itself sends packets now and then.
        let quiet = || fs::write("/proc/sys/net/ipv6/conf/all/disable_ipv6", "1");
        net.client.enter_thread(quiet).unwrap().unwrap();
        let bind = |address: &str| {
            let socket = UdpSocket::bind(address).unwrap();
            socket.set_read_timeout(Some(PATIENCE)).unwrap();
            socket
        };
        let server = net.server.enter_thread(|| bind(SERVER)).unwrap();
        let ends = [
            End::start(
                host.folder.path(),
                &net.server,
                &["serve", "relay-serve.toml"],
                "serving UDP on",
            ),
            End::start(
                host.folder.path(),
                &net.client,
                &["connect", "relay-connect.toml"],
                "udp on",
            ),
        ];
        let program = net.client.enter_thread(|| bind("127.0.0.1:0")).unwrap();
        program.connect(DOOR).unwrap();
        World {
            _daemon: daemon,
            _ends: ends,
            host,
            program,
            server,
        }
    }

    /// Sends so many bytes and receives them at the server, and the same in return. Datagrams may be
    /// lost: false if none came back.
    pub(super) fn passes(&self, length: usize) -> bool {
        let mut buffer = [0; 2048];
        for socket in [&self.program, &self.server] {
            socket.set_read_timeout(Some(10 * PAUSE)).unwrap();
        }
        self.program.send(&vec![1; length]).unwrap();
        let Ok((found, near)) = self.server.recv_from(&mut buffer) else {
            return false;
        };
        assert_eq!(found, length);
        self.server.send_to(&buffer[..found], near).unwrap();
        self.program
            .recv(&mut buffer)
            .is_ok_and(|found| found == length)
    }

    /// Packets that have left over a path.
    pub(super) fn sent_on(&self, path: usize) -> u64 {
        let read = || fs::read_to_string("/proc/thread-self/net/dev").unwrap();
        let all = self.host.net.client.enter_thread(read).unwrap();
        let name = format!("c{path}:");
        let line = all.lines().find_map(|line| line.trim().strip_prefix(&name));
        let sent = line.unwrap().split_whitespace().nth(9);
        sent.unwrap().parse().unwrap()
    }
}

#[test(needs(NET, tool("nft")))]
fn datagrams_follow_the_roles_leave_a_silent_path_and_come_back() {
    let host = Host::new();
    host.configure("intent = \"interactive\"", "");
    let world = World::new(&host, &[(host.ip(0), false), (host.ip(1), true)]);
    wait_until("datagrams pass", || world.passes(100));
    let on_backup = world.sent_on(1);
    for _ in 0..100 {
        assert!(world.passes(100));
    }
    // The backup carries nothing, not even a ping.
    assert_eq!(world.sent_on(1), on_backup);
    let start = Instant::now();
    host.kill_first_path(Lost::Both);
    assert!(!world.passes(100));
    wait_until("the backup takes over", || world.passes(100));
    println!("after {:?}", start.elapsed());
    assert!(world.sent_on(1) > on_backup);
    host.heal();
    wait_until("the first path is used again", || {
        let before = world.sent_on(1);
        world.passes(100) && world.sent_on(1) == before
    });
    // A role given by hand counts as well.
    host.tell(&["set-intent", "off", "--interface", "c0"]);
    wait_until("the datagrams leave the interface", || {
        let before = world.sent_on(0);
        world.passes(100) && world.sent_on(0) == before
    });
}

#[test(needs(NET))]
fn an_interface_above_its_hard_quota_carries_no_datagrams() {
    let host = Host::new();
    host.configure("intent = \"interactive\"", "quota = { hard = \"50 kB\" }");
    let world = World::new(&host, &[(host.ip(0), false), (host.ip(1), true)]);
    host.tell(&["set-intent", "off", "--interface", "c0"]);
    wait_until("the second interface carries them", || {
        let before = world.sent_on(1);
        world.passes(1000) && world.sent_on(1) > before
    });
    wait_until("they end at the quota", || !world.passes(1000));
    let hard = |status: &Value| {
        status["interfaces"][1]["reason"]["code"] == "hard-quota"
            || status["interfaces"][0]["reason"]["code"] == "hard-quota"
    };
    wait_until("the daemon has closed the interface", || {
        host.status().is_some_and(|status| hard(&status))
    });
    // These devices have no ARP: the kernel cuts off no socket that is bound to one.
    let stays = || {
        let before = world.sent_on(1);
        !world.passes(1000) && world.sent_on(1) == before
    };
    wait_until("the relay has left it", stays);
    assert!((0..5).all(|_| stays()));
}

#[test(needs(NET))]
fn what_wireguard_sends_passes_in_one_packet_each() {
    let host = Host::new();
    host.configure("intent = \"frugal\"", "");
    let world = World::new(&host, &[(host.ip(0), false)]);
    wait_until("datagrams pass", || world.passes(100));
    // Handshake and its answer, keepalive, data with the MTU of docs/relay.md.
    for length in [148, 92, 32, 1320 + 32] {
        assert!(world.passes(length), "{length} bytes");
    }
    for namespace in [&host.net.client, &host.net.server] {
        let read = || fs::read_to_string("/proc/thread-self/net/snmp").unwrap();
        let all = namespace.enter_thread(read).unwrap();
        let mut ip = all.lines().filter_map(|line| line.strip_prefix("Ip: "));
        let (names, values) = (ip.next().unwrap(), ip.next().unwrap());
        let place = names.split(' ').position(|name| name == "FragCreates");
        assert_eq!(values.split(' ').nth(place.unwrap()), Some("0"));
    }
}
