//! `first = "steer"`: new connections start on the preferred interface, and none breaks.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr};
use std::os::fd::OwnedFd;

use joulepath_kernel::namespace::Namespace;
use joulepath_kernel::route::{Prefix, Route, Routing, Rule};

use super::*;

/// A host whose routing table prefers its second radio, and a server that accepts plain TCP and
/// MPTCP.
pub(super) struct Steered {
    pub(super) host: Host,
    pub(super) listener: OwnedFd,
}

impl Steered {
    pub(super) fn new(net: Net) -> Self {
        Steered::with_intent(net, "intent = \"handover\"")
    }

    /// With this intent, and further keys of the machine.
    pub(super) fn with_intent(net: Net, machine: &str) -> Self {
        let steered = Steered::unconfigured(net);
        steered
            .host
            .configure(&format!("{machine}\nfirst = \"steer\""), "");
        steered
    }

    pub(super) fn unconfigured(net: Net) -> Self {
        let host = Host::of(net);
        host.filter_strictly();
        for (path, metric) in [(0, 600), (1, 100)] {
            host.default_route(path, metric);
        }
        Steered::with(host)
    }

    fn with(host: Host) -> Self {
        let server = || {
            PathManager::open()?.set_limits(Limits {
                accepted_addresses: 0,
                extra_subflows: 2,
            })
        };
        host.net.server.enter_thread(server).unwrap().unwrap();
        let to = host.net.server_at(PORT);
        let listener = host
            .net
            .server
            .enter_thread(|| listen(Protocol::Mptcp, to, &Options::default(), 4));
        Steered {
            listener: listener.unwrap().unwrap(),
            host,
        }
    }

    /// Connects without choosing an address, and exchanges a byte in each direction.
    pub(super) fn connect(&self, protocol: Protocol) -> Pair {
        let (any, to) = (
            Prefix::all_like(self.host.ip(0)).address(),
            self.host.net.server_at(PORT),
        );
        let connect =
            || connect_within(protocol, (any, 0).into(), to, &Options::default(), PATIENCE);
        let client = TcpStream::from(self.host.net.client.enter_thread(connect).unwrap().unwrap());
        let server = TcpStream::from(accept_within(&self.listener, PATIENCE).unwrap().0);
        for stream in [&client, &server] {
            stream.set_nonblocking(false).unwrap();
            stream.set_read_timeout(Some(PATIENCE)).unwrap();
        }
        let pair = Pair { client, server };
        pair.talk();
        pair
    }

    /// Waits until a new connection starts on this path.
    pub(super) fn wait_for_start(&self, what: &str, path: usize) {
        let starts = || {
            self.connect(Protocol::Tcp)
                .client
                .local_addr()
                .unwrap()
                .ip()
                == self.host.ip(path)
        };
        wait_until(what, starts);
    }

    fn rules(&self) -> (Vec<Rule>, Vec<Route>) {
        let listed = || {
            let mut routing = Routing::open()?;
            Ok::<_, joulepath_kernel::Error>((routing.rules()?, routing.routes()?))
        };
        self.host.net.client.enter_thread(listed).unwrap().unwrap()
    }
}

pub(super) struct Pair {
    pub(super) client: TcpStream,
    pub(super) server: TcpStream,
}

impl Pair {
    pub(super) fn talk(&self) {
        for (mut from, mut to) in [(&self.client, &self.server), (&self.server, &self.client)] {
            from.write_all(b"x").unwrap();
            to.read_exact(&mut [0]).unwrap();
        }
    }

    /// Closes it without a handshake.
    pub(super) fn abort(self) {
        rustix::net::sockopt::set_socket_linger(&self.client, Some(Duration::ZERO)).unwrap();
    }

    /// Closes it in both directions.
    pub(super) fn end(self) {
        for (from, mut to) in [(&self.client, &self.server), (&self.server, &self.client)] {
            from.shutdown(Shutdown::Write).unwrap();
            assert_eq!(to.read(&mut [0]).unwrap(), 0);
        }
    }

    /// Sends to the server.
    pub(super) fn send(&self, bytes: usize) {
        std::thread::scope(|scope| {
            scope.spawn(|| (&self.client).write_all(&vec![b'x'; bytes]).unwrap());
            (&self.server).read_exact(&mut vec![0; bytes]).unwrap();
        });
    }

    pub(super) fn start(&self) -> SocketAddr {
        self.client.local_addr().unwrap()
    }
}

impl Host {
    /// Sets the strict reverse-path filter, and removes the rules by which the test network routes
    /// by source address.
    fn filter_strictly(&self) {
        let set = || {
            fs::write("/proc/sys/net/ipv4/conf/all/rp_filter", "1").unwrap();
            let mut routing = Routing::open()?;
            let is_source = |rule: &Rule| {
                self.net
                    .paths
                    .iter()
                    .any(|path| rule.source == path.ip.into())
            };
            let rules = routing.rules()?;
            rules
                .iter()
                .filter(|rule| is_source(rule))
                .try_for_each(|rule| routing.delete_rule(rule))
        };
        self.net.client.enter_thread(set).unwrap().unwrap();
    }

    /// Adds a default route to the main table.
    fn default_route(&self, path: usize, priority: u32) {
        let (source, device) = (self.ip(path), self.net.paths[path].device);
        let route = || {
            let all = Prefix::all_like(source);
            Routing::open()?.add_route(&Route {
                priority,
                source: Some(source),
                ..Route::on_link(all, device)
            })
        };
        self.net.client.enter_thread(route).unwrap().unwrap();
    }
}

fn steers_and_undoes(net: Net) {
    let steered = Steered::new(net);
    let host = &steered.host;
    let before = steered.rules();
    let old = steered.connect(Protocol::Tcp);
    assert_eq!(old.start().ip(), host.ip(1));
    let daemon = host.start();
    steered.wait_for_start("new connections start on the preferred interface", 0);
    let plain = steered.connect(Protocol::Tcp);
    let multipath = steered.connect(Protocol::Mptcp);
    assert_eq!(
        [plain.start().ip(), multipath.start().ip()],
        [host.ip(0); 2]
    );
    old.talk();

    host.tell(&["pause"]);
    steered.wait_for_start("the routing table decides again", 1);
    [&old, &plain, &multipath].into_iter().for_each(Pair::talk);
    host.tell(&["resume"]);
    steered.wait_for_start("the daemon steers again", 0);
    assert_eq!(daemon.stop(), Some(0));
    steered.wait_for_start("the routing table decides after the end", 1);
    [&old, &plain, &multipath].into_iter().for_each(Pair::talk);
    drop((old, plain, multipath));
    wait_until("nothing is left when the connections have ended", || {
        steered.rules() == before
    });
}

#[test(needs(NET))]
fn new_ipv4_connections_start_on_the_preferred_interface_and_the_end_breaks_none() {
    steers_and_undoes(Net::v4(2));
}

#[test(needs(NET))]
fn new_ipv6_connections_start_on_the_preferred_interface_and_the_end_breaks_none() {
    steers_and_undoes(Net::v6(2));
}

#[test(needs(NET))]
fn undo_after_a_kill_removes_rules_and_routes() {
    let steered = Steered::new(Net::v4(2));
    let before = steered.rules();
    let daemon = steered.host.start();
    steered.wait_for_start("new connections start on the preferred interface", 0);
    daemon.kill();
    assert_ne!(steered.rules(), before);
    steered.host.run(&["live", "--undo"]);
    wait_until("nothing is left", || steered.rules() == before);
}

/// As two WiFi cards in one network: the same subnet, the same router, and a strict reverse-path
/// filter.
#[test(needs(NET))]
fn two_radios_in_one_subnet_carry_one_connection() {
    let mut net = Net::v4(2);
    net.server_ip = "198.51.100.1".parse().unwrap();
    let host = Host::of(net);
    host.filter_strictly();
    let router = "198.18.0.250";
    let ip = |namespace: &Namespace, words: &str| {
        let run = || Command::new("ip").args(words.split(' ')).output().unwrap();
        let output = namespace.enter_thread(run).unwrap();
        assert!(
            output.status.success(),
            "ip {words}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
    };
    let (client, server) = (&host.net.client, &host.net.server);
    ip(server, &format!("addr add {} dev lo", host.net.server_ip));
    ip(server, "link add br0 type bridge");
    ip(server, "link set br0 up");
    for (path, metric) in [(0, 600), (1, 100)] {
        let own = host.ip(path);
        ip(server, &format!("route del {own}"));
        ip(
            server,
            &format!("link set s{path} arp on address 02:00:00:00:01:0{path} master br0"),
        );
        ip(client, &format!("link set c{path} arp on"));
        ip(client, &format!("addr del {own}/32 dev c{path}"));
        ip(
            client,
            &format!("addr add {own}/24 dev c{path} metric {metric}"),
        );
        ip(
            client,
            &format!("route add default via {router} dev c{path} metric {metric}"),
        );
    }
    ip(server, &format!("addr add {router}/24 dev br0"));
    host.configure("intent = \"aggregate\"\nfirst = \"steer\"", "");
    let steered = Steered::with(host);
    let daemon = steered.host.start();
    steered.wait_for_start("new connections start on the preferred interface", 0);
    let open = steered.connect(Protocol::Mptcp);
    wait_until("the connection has a subflow on each radio", || {
        let list = || diag::Diag::open()?.list();
        let listed = steered.host.net.client.enter_thread(list).unwrap().unwrap();
        let established = listed.connections.iter().flat_map(|one| &one.subflows);
        let mut sources: Vec<IpAddr> = established.map(|one| one.local.ip()).collect();
        sources.sort();
        sources == [steered.host.ip(0), steered.host.ip(1)]
    });
    open.talk();
    assert_eq!(daemon.stop(), Some(0));
}

/// The interface is up, but nothing comes back.
#[test(needs(NET))]
fn new_connections_leave_a_dead_default_route() {
    let steered = Steered::new(Net::v4(2));
    let host = &steered.host;
    let _daemon = host.start();
    steered.wait_for_start("new connections start on the preferred interface", 0);
    let open = steered.connect(Protocol::Mptcp);
    let answer = Route::on_link(host.ip(0), host.net.peer(0));
    host.net
        .server
        .enter_thread(|| Routing::open()?.delete_route(&answer))
        .unwrap()
        .unwrap();
    (&open.client).write_all(b"x").unwrap();
    let target = host.net.server_at(PORT);
    let route = || {
        let asked = [
            "-o",
            "route",
            "get",
            &target.ip().to_string(),
            "ipproto",
            "tcp",
        ];
        let said = Command::new("ip").args(asked).output().unwrap();
        String::from_utf8(said.stdout).unwrap()
    };
    wait_until("new connections start on the other interface", || {
        host.net
            .client
            .enter_thread(route)
            .unwrap()
            .contains("dev c1")
    });
}
