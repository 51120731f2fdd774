//! What the daemon does for established connections.

use std::io::{ErrorKind, Read, Write};
use std::net::UdpSocket;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use joulepath_kernel::route::{Prefix, Route, Routing};

use super::*;

/// A connection that has carried its first data.
pub(super) struct Connection {
    pub(super) client: TcpStream,
    pub(super) server: TcpStream,
}

impl Host {
    /// A host whose server lets all subflows join.
    pub(super) fn with_server() -> (Self, OwnedFd) {
        Host::with_server_at(Net::v4(2))
    }

    pub(super) fn with_server_at(net: Net) -> (Self, OwnedFd) {
        let host = Host::of(net);
        let server = || {
            PathManager::open()?.set_limits(Limits {
                accepted_addresses: 0,
                extra_subflows: 4,
            })
        };
        host.net.server.enter_thread(server).unwrap().unwrap();
        let to = host.net.server_at(PORT);
        let listener = host
            .net
            .server
            .enter_thread(|| listen(Protocol::Mptcp, to, &reno(), 4))
            .unwrap()
            .unwrap();
        (host, listener)
    }

    pub(super) fn connect(&self, listener: &OwnedFd, path: usize) -> Connection {
        let (from, to) = (self.net.client_at(path), self.net.server_at(PORT));
        let connect = || connect_within(Protocol::Mptcp, from, to, &reno(), PATIENCE);
        let client = TcpStream::from(self.net.client.enter_thread(connect).unwrap().unwrap());
        let server = TcpStream::from(accept_within(listener, PATIENCE).unwrap().0);
        // Further subflows need the first data.
        for mut stream in [&client, &server] {
            stream.set_nonblocking(false).unwrap();
            stream.write_all(b"x").unwrap();
        }
        for mut stream in [&client, &server] {
            stream.read_exact(&mut [0]).unwrap();
        }
        Connection { client, server }
    }

    /// Path, port and backup flag (set by this end) of every established subflow.
    pub(super) fn subflows(&self) -> Vec<(usize, u16, bool)> {
        let listing = self.net.client.enter_thread(diag::list).unwrap().unwrap();
        let all = listing
            .connections
            .iter()
            .flat_map(|connection| connection.subflows.clone());
        let established =
            all.filter(|one| one.state == joulepath_kernel::mptcp::TcpState::Established);
        let path = |ip: IpAddr| {
            self.net
                .paths
                .iter()
                .position(|path| path.ip == ip)
                .unwrap()
        };
        let of = |one: diag::TcpSocket| {
            (
                path(one.local.ip()),
                one.local.port(),
                one.membership.is_some_and(|m| m.backup_locally),
            )
        };
        let mut all: Vec<_> = established.map(of).collect();
        all.sort_unstable();
        all
    }

    pub(super) fn kinds(&self) -> Vec<(usize, bool)> {
        self.subflows()
            .into_iter()
            .map(|(path, _, backup)| (path, backup))
            .collect()
    }

    /// The server resets a subflow, like a NAT without its entry.
    pub(super) fn reset(&self, path: usize, port: u16) {
        let (ip, port) = (self.ip(path), port.to_string());
        let ip = if ip.is_ipv4() {
            ip.to_string()
        } else {
            format!("[{ip}]")
        };
        let kill = || {
            Command::new("ss")
                .args(["-t", "-K", "dst", &ip, "dport", "=", &port])
                .output()
                .unwrap()
        };
        let output = self.net.server.enter_thread(kill).unwrap();
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
    }

    /// New connections without a bound address begin on this path.
    pub(super) fn prefer(&self, path: usize) {
        let (ip, device) = (self.ip(path), self.net.paths[path].device);
        let route = || {
            Routing::open()?.add_route(&Route {
                source: Some(ip),
                priority: 1,
                ..Route::on_link(Prefix::all_like(ip), device)
            })
        };
        self.net.client.enter_thread(route).unwrap().unwrap();
    }
}

/// Time between two polls in the tests' configuration.
const POLL: Duration = Duration::from_millis(200);

pub(super) fn reno() -> Options {
    Options {
        congestion: Some("reno".into()),
        ..Options::default()
    }
}

#[test(needs(NET, tool("ss")))]
fn a_reset_subflow_is_reopened_and_healthy_ones_are_not_closed_for_it() {
    let (host, listener) = Host::with_server();
    host.configure("intent = \"interactive\"", "");
    let daemon = host.start();
    let first = host.connect(&listener, 0);
    wait_until("a backup subflow joins", || {
        host.kinds() == [(0, false), (1, true)]
    });
    let second = host.connect(&listener, 0);
    wait_until("another subflow joins", || {
        host.kinds() == [(0, false), (0, false), (1, true), (1, true)]
    });
    let seen = |status: &Value| status["interfaces"][1]["subflows"] == 2;
    wait_until("the daemon has seen it", || {
        host.status().is_some_and(|status| seen(&status))
    });
    // A subflow that ends within a second of the poll that saw it counts as refused, not as lost.
    // It must be older; how much does not matter.
    std::thread::sleep(Duration::from_secs(2));
    let before = host.subflows();
    // One of two: it cannot be reopened without closing the other, which works.
    host.reset(1, before[2].1);
    wait_until("it is gone", || host.subflows().len() == 3);
    let is_lost = |note: &Value| note["code"] == "lost" && note["connections"] == 1;
    wait_until("the status says so", || {
        host.status()
            .is_some_and(|status| is_lost(&status["interfaces"][1]["notes"][0]))
    });
    // Nor does any later poll close or open one.
    std::thread::sleep(10 * POLL);
    let status = host.status().unwrap();
    assert!(is_lost(&status["interfaces"][1]["notes"][0]), "{status}");
    assert_eq!(host.subflows(), [before[0], before[1], before[3]]);
    // Both of two.
    host.reset(1, before[3].1);
    wait_until("both subflows are reopened", || {
        host.kinds() == [(0, false), (0, false), (1, true), (1, true)]
    });
    let after = host.subflows();
    assert_eq!(after[..2], before[..2]);
    assert_eq!(daemon.stop(), Some(0));
    drop((first, second));
    host.wait_for("no endpoint stays when the connections have ended", &[]);
}

#[test(needs(NET))]
fn a_connection_leaves_its_expensive_first_path_once_the_cheap_one_works() {
    let (host, listener) = Host::with_server();
    host.prefer(1);
    host.configure("intent = \"frugal\"", "");
    let daemon = host.start();
    host.wait_for("the cheap one has an endpoint", &[(host.ip(0), false)]);
    let Connection {
        mut client,
        mut server,
    } = host.connect(&listener, 1);
    wait_until("the connection is on the cheap path only", || {
        host.kinds() == [(0, false)]
    });
    server.write_all(b"y").unwrap();
    client.read_exact(&mut [0]).unwrap();
    assert_eq!(daemon.stop(), Some(0));
}

impl Host {
    /// Sends 5 kB on a path outside all connections.
    pub(super) fn use_up(&self, path: usize) {
        let (from, to) = (self.net.client_at(path), self.net.server_at(PORT));
        let send = || {
            let socket = UdpSocket::bind(from).unwrap();
            (0..5).for_each(|_| assert_eq!(socket.send_to(&[0; 1000], to).unwrap(), 1000));
        };
        self.net.client.enter_thread(send).unwrap();
    }
}

#[test(needs(NET))]
fn a_first_subflow_over_a_hard_quota_is_closed() {
    let (host, listener) = Host::with_server();
    host.prefer(1);
    host.configure("intent = \"interactive\"", "quota = { hard = \"5 kB\" }");
    let daemon = host.start();
    let mut connection = host.connect(&listener, 1);
    wait_until("both are open", || host.kinds() == [(0, false), (1, true)]);
    host.use_up(1);
    wait_until(
        "the quota's path is left, and the other one carries on",
        || host.kinds() == [(0, false)],
    );
    // Nothing new starts there.
    let (from, to) = (host.net.client_at(1), host.net.server_at(PORT));
    let connect = || connect_within(Protocol::Mptcp, from, to, &reno(), PATIENCE);
    wait_until("its address has no way out", || {
        let refused = host.net.client.enter_thread(connect).unwrap().err();
        refused.is_some_and(|error| format!("{error:?}").contains("NetworkUnreachable"))
    });
    let Connection { client, server } = &mut connection;
    server.write_all(b"y").unwrap();
    client.read_exact(&mut [0]).unwrap();
    assert_eq!(daemon.stop(), Some(0));
}

#[test(needs(NET))]
fn a_download_whose_path_is_dead_continues_on_the_second() {
    let (host, listener) = Host::with_server();
    host.configure("intent = \"handover\"\nhandover_budget = \"100 MB\"", "");
    let daemon = host.start();
    let Connection { client, server } = host.connect(&listener, 0);
    let (stop, got) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut server = &server;
            // 800 kbit/s.
            while !stop.load(Ordering::Relaxed) && server.write_all(&[0; 5000]).is_ok() {
                std::thread::sleep(Duration::from_millis(50));
            }
        });
        scope.spawn(|| {
            let mut client = &client;
            client
                .set_read_timeout(Some(Duration::from_millis(100)))
                .unwrap();
            while !stop.load(Ordering::Relaxed) {
                match client.read(&mut [0; 65_536]) {
                    Ok(count) => drop(got.fetch_add(count as u64, Ordering::Relaxed)),
                    Err(error)
                        if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
                    Err(_) => break,
                }
            }
        });
        let received = || got.load(Ordering::Relaxed);
        wait_until("it flows", || received() > 200_000);
        assert_eq!(host.kinds(), [(0, false)]);
        // The server's packets on the first path are lost; the client cannot see that.
        let back = format!("{}/32", host.ip(0));
        let cut = || {
            Command::new("ip")
                .args(["route", "del", &back, "dev", "s0"])
                .status()
                .unwrap()
        };
        assert!(host.net.server.enter_thread(cut).unwrap().success());
        wait_until("the second path is opened", || {
            host.kinds().iter().any(|&(path, _)| path == 1)
        });
        let before = received();
        wait_until("data flows again", || received() > before + 200_000);
        wait_until("the second path is regular", || {
            host.endpoints() == [(host.ip(0), true), (host.ip(1), false)]
        });
        let status = host.status().unwrap();
        let stands_in =
            |one: &Value| one["reason"]["code"] == "handover" && one["reason"]["first"] == "c0";
        assert!(
            status["interfaces"]
                .as_array()
                .unwrap()
                .iter()
                .any(stands_in),
            "{status}"
        );
        stop.store(true, Ordering::Relaxed);
    });
    assert_eq!(daemon.stop(), Some(0));
}

/// CPU time of a process: `utime` and `stime` of proc_pid_stat(5), in clock ticks of 10 ms.
pub(super) fn processor_time(pid: u32) -> Duration {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let fields: Vec<&str> = stat.rsplit_once(") ").unwrap().1.split(' ').collect();
    let ticks: u64 = fields[11..13]
        .iter()
        .map(|ticks| ticks.parse::<u64>().unwrap())
        .sum();
    Duration::from_millis(10 * ticks)
}

/// Resident memory of a process, kB: `VmRSS`.
fn memory_kb(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))
        .unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

#[test(needs(NET, ALONE))]
fn polling_a_thousand_connections_costs_little_and_memory_stays_flat() {
    const CONNECTIONS: usize = 1000;
    const LOOKS: u32 = 50;
    /// Listings of this test, whose processor time is the measure.
    const LISTINGS: u32 = 20;
    let (host, listener) = Host::with_server();
    host.configure("intent = \"interactive\"", "");
    allow_files(4 * CONNECTIONS as u64);
    let daemon = host.start();
    let connections: Vec<Connection> = (0..CONNECTIONS)
        .map(|_| host.connect(&listener, 0))
        .collect();
    let all = |status: &Value| {
        status["connections"] == CONNECTIONS && status["interfaces"][1]["subflows"] == CONNECTIONS
    };
    wait_until("all connections have two subflows", || {
        host.status().is_some_and(|status| all(&status))
    });
    let pid = daemon.child.id();
    let (begun, before) = (Instant::now(), processor_time(pid));
    // Each poll uses a megabyte or more for a while, so memory is the minimum of many
    // readings.
    let least = |looks| {
        (0..looks)
            .map(|_| (std::thread::sleep(POLL), memory_kb(pid)).1)
            .min()
            .unwrap()
    };
    let (first, second) = (least(LOOKS / 2), least(LOOKS / 2));
    // CPU time, which others' work does not lengthen, for as many polls as the daemon had time for.
    let look =
        (processor_time(pid) - before).mul_f64(POLL.as_secs_f64() / begun.elapsed().as_secs_f64());
    // Most polls list nothing: counters and decisions cost less than a listing.
    let begun = processor_time(std::process::id());
    (0..LISTINGS).for_each(|_| drop(host.net.client.enter_thread(diag::list).unwrap().unwrap()));
    let listing = (processor_time(std::process::id()) - begun) / LISTINGS;
    eprintln!(
        "{look:?} of processor time for each poll of {CONNECTIONS} connections, {listing:?} for a listing"
    );
    assert!(look < listing, "{look:?}, {listing:?}");
    assert!(
        second < first + 1000,
        "it grows from {first} to {second} kB"
    );
    drop(connections);
    assert_eq!(daemon.stop(), Some(0));
}

/// Allows this process this many open files.
fn allow_files(count: u64) {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let now = getrlimit(Resource::Nofile);
    if now.current.is_some_and(|current| current < count) {
        setrlimit(
            Resource::Nofile,
            Rlimit {
                current: Some(count),
                ..now
            },
        )
        .unwrap();
    }
}
