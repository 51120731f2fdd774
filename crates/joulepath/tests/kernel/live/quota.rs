//! Hard quotas: bounds on what an interface carries.

use std::io::{Read, Write};

use joulepath_kernel::route::{Routing, Rule};

use super::first::Steered;
use super::*;

const HARD: &str = "quota = { hard = \"400 kB\", period_day = 1 }";
/// Less than what is used before a quota of 400 kB is closed.
const LITTLE: &str = "quota = { hard = \"1 kB\", period_day = 1 }";
/// 2 % of the quota or 0.5 MB, whichever is larger.
const BEYOND: u64 = 500_000;

impl Steered {
    /// Bytes that the second radio has carried in both directions.
    fn carried(&self) -> u64 {
        let device = self.host.net.paths[1].device;
        let counters = || Routing::open()?.counters();
        let all = self
            .host
            .net
            .client
            .enter_thread(counters)
            .unwrap()
            .unwrap();
        let (_, one) = all.iter().find(|(index, _)| *index == device).unwrap();
        one.received_bytes + one.sent_bytes
    }

    fn all_rules(&self) -> Vec<Rule> {
        self.host
            .net
            .client
            .enter_thread(|| Routing::open()?.rules())
            .unwrap()
            .unwrap()
    }

    /// Sends in both directions, about 1 MB/s, until the second radio is not used. Errors end the
    /// sending: plain TCP is reset.
    fn use_up(&self, daemon: &Daemon, protocol: Protocol) {
        let pair = self.connect(protocol);
        assert_eq!(pair.start().ip(), self.host.ip(1));
        wait_until("the quota is used up", || {
            for (mut from, mut to) in [(&pair.client, &pair.server), (&pair.server, &pair.client)] {
                let mut buffer = vec![0; 10_000];
                let _ = from
                    .write_all(&buffer)
                    .and_then(|()| to.read_exact(&mut buffer));
            }
            daemon.role("c1") == "unused"
        });
    }

    /// New connections of both protocols start elsewhere, and nothing more passes.
    fn is_left(&self) {
        let at_the_end = self.carried();
        for protocol in [Protocol::Tcp, Protocol::Mptcp, Protocol::Tcp] {
            let pair = self.connect(protocol);
            assert_eq!(pair.start().ip(), self.host.ip(0));
            (0..10).for_each(|_| pair.talk());
        }
        assert!(
            self.carried() < at_the_end + 20_000,
            "{} {}",
            at_the_end,
            self.carried()
        );
    }
}

/// The second radio owns the default route.
fn is_a_bound(net: Net, keys: &str, protocol: Protocol) {
    let steered = Steered::new(net);
    steered.host.configure(keys, HARD);
    let (before, begun) = (steered.all_rules(), steered.carried());
    let daemon = steered.host.start();
    steered.use_up(&daemon, protocol);
    wait_until("the rules are in place", || steered.all_rules() != before);
    steered.is_left();
    let carried = steered.carried() - begun;
    assert!(carried <= 400_000 + BEYOND, "{carried} bytes");
    // A kill changes nothing; the next start counts on.
    daemon.kill();
    steered.is_left();
    steered.host.configure(keys, LITTLE);
    let daemon = steered.host.start();
    assert_eq!(daemon.role("c1"), "unused");
    // A larger quota opens it again, at once.
    steered
        .host
        .configure(keys, "quota = { hard = \"40 MB\", period_day = 1 }");
    daemon.signal("HUP");
    wait_until("the routing table decides again", || {
        steered.connect(Protocol::Tcp).start().ip() == steered.host.ip(1)
    });
    steered.host.configure(keys, LITTLE);
    daemon.signal("HUP");
    wait_until("the quota is used up again", || {
        daemon.role("c1") == "unused"
    });
    daemon.kill();
    steered.host.run(&["live", "--undo"]);
    wait_until("undo removes the rules", || steered.all_rules() == before);
}

#[test(needs(NET))]
fn a_hard_quota_bounds_plain_tcp_on_the_default_route_without_steering() {
    is_a_bound(Net::v4(2), "intent = \"aggregate\"", Protocol::Tcp);
}

#[test(needs(NET))]
fn a_hard_quota_bounds_mptcp_over_ipv6_with_the_daemon_as_path_manager() {
    is_a_bound(
        Net::v6(2),
        "intent = \"aggregate\"\npm = \"userspace\"",
        Protocol::Mptcp,
    );
}

/// Ten kills in fresh state lose no bytes.
#[test(needs(NET))]
fn a_killed_daemon_forgets_no_bytes() {
    let steered = Steered::new(Net::v4(2));
    steered.host.configure(
        "intent = \"aggregate\"",
        "quota = { hard = \"40 MB\", period_day = 1 }",
    );
    let mut base = None;
    for _ in 0..5 {
        let daemon = steered.host.start();
        base.get_or_insert(steered.carried());
        let pair = steered.connect(Protocol::Tcp);
        (0..20).for_each(|_| pair.talk());
        daemon.kill();
    }
    let carried = steered.carried() - base.unwrap();
    let _daemon = steered.host.start();
    let status = steered.host.status().unwrap();
    let used = status["interfaces"][1]["quota"]["used_bytes"]
        .as_u64()
        .unwrap();
    assert!(used >= carried, "{used} of {carried} bytes");
}

#[test(needs(NET))]
fn a_hard_quota_ends_the_subflows_of_another_program_s_endpoint() {
    let (host, listener) = Host::with_server();
    host.configure("intent = \"aggregate\"", HARD);
    host.manager()
        .add(&Endpoint::subflow(host.ip(1), host.net.paths[1].device))
        .unwrap();
    let daemon = host.start();
    let mut both = [(host.ip(0), false), (host.ip(1), false)];
    both.sort_unstable();
    host.wait_for("the daemon adds the other endpoint", &both);
    let pair = host.connect(&listener, 0);
    wait_until("it has both subflows", || {
        host.kinds() == [(0, false), (1, false)]
    });
    let (from, to) = (host.net.client_at(1), host.net.server_at(PORT));
    let send = || {
        let socket = std::net::UdpSocket::bind(from).unwrap();
        (0..500).for_each(|_| assert_eq!(socket.send_to(&[0; 1000], to).unwrap(), 1000));
    };
    host.net.client.enter_thread(send).unwrap();
    wait_until("the quota is used up", || daemon.role("c1") == "unused");
    wait_until("its subflow is closed", || host.kinds() == [(0, false)]);
    assert_eq!(host.endpoints(), both);
    (&pair.client).write_all(b"still here").unwrap();
    (&pair.server).read_exact(&mut [0; 10]).unwrap();
}

/// 2031-04-01, s since 1970: a period begins.
const MIDNIGHT_S: i64 = 1_932_768_000;
/// The quota is used up before.
const SOON_S: i64 = 30;

/// The daemon follows its own clock while the system's clock is years away from it.
#[test(needs(NET))]
fn a_period_that_begins_while_the_daemon_runs_opens_the_interface() {
    let steered = Steered::new(Net::v4(2));
    let host = &steered.host;
    host.configure("intent = \"aggregate\"", HARD);
    assert_eq!(host.start().stop(), Some(0));
    let path = host.folder.path().join("state/ledger");
    let mut ledger: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    let clock = &mut ledger["value"]["clock"];
    let ahead_s = MIDNIGHT_S - SOON_S - clock["unix_s"].as_i64().unwrap();
    for name in ["booted_s", "unix_s"] {
        clock[name] = (clock[name].as_i64().unwrap() + ahead_s).into();
    }
    fs::write(&path, ledger.to_string()).unwrap();
    let daemon = host.start();
    assert_eq!(host.status().unwrap()["today"], "2031-03-31");
    steered.use_up(&daemon, Protocol::Tcp);
    steered.is_left();
    assert_eq!(host.status().unwrap()["today"], "2031-03-31");
    wait_until("the new period opens it", || daemon.role("c1") == "regular");
    assert_eq!(host.status().unwrap()["today"], "2031-04-01");
    wait_until("connections start there again", || {
        steered.connect(Protocol::Tcp).start().ip() == host.ip(1)
    });
    let pair = steered.connect(Protocol::Tcp);
    (0..10).for_each(|_| pair.talk());
    assert_eq!(daemon.stop(), Some(0));
}
