//! A connection that the routing table sends into a device that the configuration does not name
//! keeps all its subflows there. The third radio acts as the tunnel.

use joulepath_kernel::mptcp::diag;
use joulepath_kernel::route::Routing;

use super::first::{Pair, Steered};
use super::*;

const TUNNEL: usize = 2;
/// Packets that the kernel sends by itself, such as those of neighbour discovery.
const NOISE_BYTES: u64 = 5_000;

/// The ways in which a VPN takes connections: commands of `ip` that add its routes and rules, and
/// those that remove them. `ADDRESS` is the tunnel's, `SERVER` the server's.
const FORMS: [(&str, &[&str], &[&str]); 5] = [
    (
        "default route",
        &["route add default dev c2 src ADDRESS metric 50"],
        &["route del default metric 50"],
    ),
    (
        "two halves",
        &[
            "route add HALF0 dev c2 src ADDRESS",
            "route add HALF1 dev c2 src ADDRESS",
        ],
        &["route del HALF0", "route del HALF1"],
    ),
    (
        "rules of wg-quick",
        &[
            "route add default dev c2 src ADDRESS table 51820",
            "rule add not fwmark 51820 table 51820",
            "rule add table main suppress_prefixlength 0",
        ],
        &[
            "rule del table main suppress_prefixlength 0",
            "rule del not fwmark 51820 table 51820",
            "route flush table 51820",
        ],
    ),
    (
        "split tunnel",
        &["route add SERVER dev c2 src ADDRESS"],
        &["route del SERVER dev c2"],
    ),
    (
        "rule for a user",
        &[
            "route add default dev c2 src ADDRESS table 77",
            "rule add uidrange 0-0 lookup 77",
        ],
        &["rule del uidrange 0-0 lookup 77", "route flush table 77"],
    ),
];

struct World {
    steered: Steered,
    v6: bool,
}

impl World {
    fn new(net: Net, v6: bool) -> Self {
        let world = World {
            steered: Steered::unconfigured(net),
            v6,
        };
        world.ip("route flush table 102");
        world
    }

    fn host(&self) -> &Host {
        &self.steered.host
    }

    fn ip(&self, words: &str) {
        let halves = if self.v6 {
            ["::/1", "8000::/1"]
        } else {
            ["0.0.0.0/1", "128.0.0.0/1"]
        };
        let words = words
            .replace("ADDRESS", &self.host().ip(TUNNEL).to_string())
            .replace("SERVER", &self.host().net.server_at(0).ip().to_string())
            .replace("HALF0", halves[0])
            .replace("HALF1", halves[1]);
        let family = if self.v6 { "-6" } else { "-4" };
        let run = || {
            Command::new("ip")
                .arg(family)
                .args(words.split(' '))
                .output()
                .unwrap()
        };
        let said = self.host().net.client.enter_thread(run).unwrap();
        assert!(
            said.status.success(),
            "ip {words}: {}",
            String::from_utf8_lossy(&said.stderr)
        );
    }

    /// Bytes over the radios that the configuration names, in both directions.
    fn beside(&self) -> u64 {
        let read = || Routing::open()?.counters();
        let counters = self.host().net.client.enter_thread(read).unwrap().unwrap();
        let named = |device: &u32| {
            self.host().net.paths[..TUNNEL]
                .iter()
                .any(|path| path.device == *device)
        };
        let named = counters.iter().filter(|(device, _)| named(device));
        named
            .map(|(_, counters)| counters.received_bytes + counters.sent_bytes)
            .sum()
    }

    /// Own addresses of MPTCP subflows.
    fn subflows(&self) -> Vec<IpAddr> {
        let listing = self
            .host()
            .net
            .client
            .enter_thread(diag::list)
            .unwrap()
            .unwrap();
        let all = listing
            .connections
            .iter()
            .flat_map(|connection| &connection.subflows);
        all.map(|one| one.local.ip()).collect()
    }

    fn wait_for_polls(&self) {
        let up_s = || self.host().status().unwrap()["up_s"].as_f64().unwrap();
        let begun = up_s();
        wait_until("the daemon polls several times", || up_s() > begun + 0.7);
    }

    fn connect(&self) -> Pair {
        let pair = self.steered.connect(Protocol::Mptcp);
        assert_eq!(pair.start().ip(), self.host().ip(TUNNEL));
        pair
    }

    /// A new connection carries data, and no byte of it leaves the tunnel.
    fn stays(&self, what: &str) {
        let host = self.host();
        wait_until(&format!("{what}: the daemon knows"), || {
            let status = host.status().unwrap();
            let tunnels = status["first"]["tunnels"].as_array().unwrap();
            tunnels
                .iter()
                .any(|one| one["name"] == "c2" && one["bypass"] == false)
        });
        host.wait_for(what, &[]);
        // Its routing rules go after the endpoints.
        self.wait_for_polls();
        self.steered
            .wait_for_start(&format!("{what}: connections start in the tunnel"), TUNNEL);
        let before = self.beside();
        let pair = self.connect();
        pair.send(3_000_000);
        self.wait_for_polls();
        pair.send(100_000);
        assert_eq!(self.subflows(), [host.ip(TUNNEL)], "{what}");
        assert!(
            self.beside() - before < NOISE_BYTES,
            "{what}: {} bytes",
            self.beside() - before
        );
        pair.end();
        wait_until("the connection has ended", || self.subflows().is_empty());
    }
}

fn stays_in_the_tunnel(net: Net, v6: bool) {
    let world = World::new(net, v6);
    let both = [(world.host().ip(0), false), (world.host().ip(1), false)];
    for pm in ["kernel", "userspace"] {
        for (intent, (form, up, down)) in ["aggregate", "frugal"].into_iter().cycle().zip(FORMS) {
            let soon = if pm == "kernel" {
                ""
            } else {
                "open_after = { bytes = \"0 B\", age = \"0 s\" }"
            };
            let keys = format!("intent = \"{intent}\"\npm = \"{pm}\"\nfirst = \"steer\"\n{soon}");
            world.host().configure(&keys, "");
            let what = |when: &str| format!("{form}, {when} the daemon, {pm}, {intent}");
            up.iter().for_each(|words| world.ip(words));
            let daemon = world.host().start();
            world.stays(&what("before"));
            down.iter().for_each(|words| world.ip(words));
            let all = if intent == "aggregate" {
                &both[..]
            } else {
                &both[..1]
            };
            world
                .host()
                .wait_for(&format!("{form}, {pm}: the endpoints come back"), all);
            up.iter().for_each(|words| world.ip(words));
            world.stays(&what("after"));
            down.iter().for_each(|words| world.ip(words));
            assert_eq!(daemon.stop(), Some(0));
            let manager = joulepath_kernel::mptcp::path_manager::chosen;
            assert_eq!(
                world
                    .host()
                    .net
                    .client
                    .enter_thread(manager)
                    .unwrap()
                    .unwrap(),
                "kernel"
            );
        }
    }
}

#[test(needs(NET))]
fn a_tunnel_that_appears_cuts_off_no_connection() {
    let world = World::new(Net::v4(3), false);
    let host = world.host();
    // The tunnel's routes are not those of the connection's path.
    let accept = || fs::write("/proc/sys/net/ipv4/conf/all/rp_filter", "0");
    host.net.client.enter_thread(accept).unwrap().unwrap();
    for (form, up, down) in FORMS
        .into_iter()
        .filter(|(form, ..)| *form != "rule for a user")
    {
        host.configure("intent = \"aggregate\"", "");
        let daemon = host.start();
        host.wait_for(
            "the endpoints appear",
            &[(host.ip(0), false), (host.ip(1), false)],
        );
        let pair = world.steered.connect(Protocol::Mptcp);
        wait_until("it has two subflows", || {
            pair.talk();
            world.subflows().len() == 2
        });
        up.iter().for_each(|words| world.ip(words));
        wait_until("the daemon withdraws an endpoint", || {
            host.endpoints().len() == 1
        });
        pair.send(500_000);
        assert_eq!(world.subflows().len(), 1, "{form}");
        assert_eq!(host.manager().limits().unwrap().extra_subflows, 0);
        down.iter().for_each(|words| world.ip(words));
        pair.send(500_000);
        pair.end();
        assert_eq!(daemon.stop(), Some(0));
    }
}

#[test(needs(NET))]
fn an_ipv4_connection_into_a_tunnel_has_no_subflow_beside_it() {
    stays_in_the_tunnel(Net::v4(3), false);
}

#[test(needs(NET))]
fn an_ipv6_connection_into_a_tunnel_has_no_subflow_beside_it() {
    stays_in_the_tunnel(Net::v6(3), true);
}

#[test(needs(NET))]
fn a_connection_that_began_in_a_tunnel_before_the_daemon_gets_no_subflow_when_the_tunnel_has_gone()
{
    let world = World::new(Net::v4(3), false);
    let host = world.host();
    let (_, up, down) = FORMS[0];
    up.iter().for_each(|words| world.ip(words));
    let old = world.connect();
    host.configure("intent = \"aggregate\"", "");
    let daemon = host.start();
    wait_until("the daemon has polled", || {
        daemon.has_said("c2, which the configuration does not name")
    });
    down.iter().for_each(|words| world.ip(words));
    wait_until("the daemon notices", || {
        daemon.has_said("c2 takes no more connections")
    });
    // New connections have both paths; the old one has none beside the tunnel.
    let new = world.steered.connect(Protocol::Mptcp);
    new.send(3_000_000);
    wait_until("a new connection has two subflows", || {
        world.subflows().len() == 3
    });
    let mut subflows = world.subflows();
    subflows.sort_unstable();
    assert_eq!(subflows, [host.ip(0), host.ip(1), host.ip(TUNNEL)]);
    assert_eq!(host.endpoints(), []);
    // A FIN would not leave without the tunnel.
    old.abort();
    host.wait_for(
        "endpoints come with its end",
        &[(host.ip(0), false), (host.ip(1), false)],
    );
    assert_eq!(daemon.stop(), Some(0));
}

#[test(needs(NET))]
fn the_configuration_permits_subflows_beside_a_tunnel_by_its_name() {
    let world = World::new(Net::v4(3), false);
    let host = world.host();
    host.configure("intent = \"aggregate\"\nbypass = [\"c*\"]", "");
    let daemon = host.start();
    FORMS[0].1.iter().for_each(|words| world.ip(words));
    host.wait_for(
        "both endpoints stay",
        &[(host.ip(0), false), (host.ip(1), false)],
    );
    let pair = world.connect();
    wait_until("the connection has subflows beside the tunnel", || {
        pair.talk();
        world.subflows().len() == 3
    });
    assert_eq!(
        host.status().unwrap()["first"]["tunnels"][0]["bypass"],
        true
    );
    assert_eq!(daemon.stop(), Some(0));
}
