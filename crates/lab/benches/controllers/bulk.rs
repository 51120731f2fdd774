//! Bulk transfers over two unlimited veth devices, alternating between our controller and the
//! kernel's.
//!
//! Both ends and the kernel's work for them run on one core. The result is bytes per second of CPU
//! time of this process and of that core's ksoftirqd, so other programs do not affect it. Softirqs
//! that run while another program has the core are missing for both controllers.

use std::fs;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use joulepath_controllers::{Capability, Controller};
use joulepath_kernel::Namespace;
use joulepath_kernel::cc::{Registered, available};
use joulepath_kernel::mptcp::path_manager::{Endpoint, Limits, PathManager};
use rustix::thread::{CpuSet, sched_setaffinity};
use rustix::time::{ClockId, clock_gettime};

use crate::Asked;
use crate::pair::Pair;

const WARM_UP: Duration = Duration::from_millis(50);
const COUNTED: Duration = Duration::from_millis(120);
const PORT: u16 = 5001;
/// A piece of a transfer with less has stalled, waiting for its data-level timer. One transfer in
/// ten does soon after its start, with any controller. The slowest transfers reach five times as
/// much during warm-up.
const STANDS_STILL: u64 = 500_000;
/// Maximum number of pieces.
const PATIENCE: usize = 50;

/// Results of one controller.
pub(crate) struct Bulk {
    /// The built-in controller that it is compared with.
    pub(crate) against: &'static str,
    /// True if the packets of both carry ECN, because the controller reads marks: the kernel's work
    /// for ECN is no cost of the controller.
    pub(crate) with_ecn: bool,
    /// For each pair of transfers, ours over theirs: bytes per second of CPU time.
    pub(crate) per_cpu: Vec<f64>,
    /// Ours, Gbit per second of CPU time.
    pub(crate) rates: Vec<f64>,
    /// As `per_cpu`, by wall-clock time.
    pub(crate) per_clock: Vec<f64>,
}

/// The built-in controller of the same kind if this kernel has it: BBR for controllers that own
/// their window, because they pace, and pacing takes CPU time in any controller.
fn built_in(controller: Controller, available: &[String]) -> &'static str {
    let wanted = match controller.name() {
        _ if controller.has(Capability::OwnsWindow) => "bbr",
        "cubic" => "cubic",
        _ => "reno",
    };
    if available.iter().any(|name| name == wanted) {
        wanted
    } else {
        "reno"
    }
}

pub(crate) fn measure(
    controllers: &[Controller],
    registered: &[Registered],
    asked: &Asked,
) -> Vec<Bulk> {
    let mut one = CpuSet::new();
    one.set(0);
    sched_setaffinity(None, &one).unwrap();
    let ends = cables();
    let meter = Meter::new();
    let available = available().unwrap();
    if let Some(packets) = asked.window {
        limit_windows(&ends, &meter, packets);
    }
    let mut found: Vec<Bulk> = controllers
        .iter()
        .map(|&controller| Bulk {
            against: built_in(controller, &available),
            with_ecn: controller.has(Capability::ReadsMarks),
            per_cpu: vec![],
            rates: vec![],
            per_clock: vec![],
        })
        .collect();
    for round in 0..asked.bulk_rounds {
        for (bulk, registered) in found.iter_mut().zip(registered) {
            negotiate_ecn(&ends, bulk.with_ecn);
            let transfer = |congestion: &str| transfer(&ends, &meter, congestion);
            let (ours, theirs) = match round % 2 {
                0 => {
                    let ours = transfer(registered.name());
                    (ours, transfer(bulk.against))
                }
                _ => {
                    let theirs = transfer(bulk.against);
                    (transfer(registered.name()), theirs)
                }
            };
            bulk.per_cpu.push(ours.per_cpu / theirs.per_cpu);
            bulk.per_clock.push(ours.per_clock / theirs.per_clock);
            bulk.rates.push(ours.per_cpu);
        }
    }
    found
}

/// Makes new connections request ECN (RFC 3168), or only accept it, which is the default.
fn negotiate_ecn((client, server): &(Namespace, Namespace), asks: bool) {
    for namespace in [client, server] {
        let set = || fs::write("/proc/sys/net/ipv4/tcp_ecn", if asks { "1" } else { "2" });
        namespace.enter_thread(set).unwrap().unwrap();
    }
}

/// Gbit/s.
struct Rate {
    per_cpu: f64,
    per_clock: f64,
}

/// Measures the first piece after the warm-up that does not stall.
fn transfer(ends: &(Namespace, Namespace), meter: &Meter, congestion: &str) -> Rate {
    let (client, server) = ends;
    let at = SocketAddr::new(IpAddr::from([198, 18, 1, 2]), PORT);
    let mut pair = Pair::open(
        server,
        client,
        IpAddr::from([198, 18, 1, 1]),
        at,
        congestion,
    );
    for _ in 0..PATIENCE {
        if pair.download(WARM_UP) < STANDS_STILL {
            continue;
        }
        let (cpu, clock) = (meter.seconds(), Instant::now());
        let bytes = pair.download(COUNTED);
        let (cpu, clock) = (meter.seconds() - cpu, clock.elapsed().as_secs_f64());
        if bytes >= STANDS_STILL {
            let gbit = bytes as f64 * 8e-9;
            return Rate {
                per_cpu: gbit / cpu,
                per_clock: gbit / clock,
            };
        }
    }
    panic!("{congestion} stalled {PATIENCE} times");
}

/// CPU time of this process and of the first core's ksoftirqd.
struct Meter {
    softirqs: Option<PathBuf>,
}

impl Meter {
    fn new() -> Self {
        let processes = fs::read_dir("/proc")
            .unwrap()
            .map(|entry| entry.unwrap().path());
        let is_first = |path: &PathBuf| {
            fs::read_to_string(path.join("comm")).is_ok_and(|name| name.trim_end() == "ksoftirqd/0")
        };
        Meter {
            softirqs: processes
                .into_iter()
                .find(is_first)
                .map(|path| path.join("schedstat")),
        }
    }

    fn seconds(&self) -> f64 {
        let own = clock_gettime(ClockId::ProcessCPUTime);
        let softirqs = self.softirqs.as_ref().map_or(0.0, |path| {
            let said = fs::read_to_string(path).unwrap();
            said.split(' ').next().unwrap().parse::<f64>().unwrap() * 1e-9
        });
        own.tv_sec as f64 + own.tv_nsec as f64 * 1e-9 + softirqs
    }
}

/// Output of `ip` within a namespace.
fn inside(namespace: &Namespace, line: &str) -> String {
    let run = || {
        Command::new("ip")
            .args(line.split(' '))
            .output()
            .expect("iproute2 is installed")
    };
    let output = namespace.enter_thread(run).unwrap();
    assert!(
        output.status.success(),
        "ip {line}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap()
}

/// Limits the server's windows to `packets` by route metrics. The kernel applies that from the
/// second connection on: it reads the routes of an address when it has closed the first.
fn limit_windows(ends: &(Namespace, Namespace), meter: &Meter, packets: u32) {
    let server = &ends.1;
    for k in [1, 2] {
        inside(
            server,
            &format!(
                "route change 198.18.{k}.0/24 dev w{k} proto kernel scope link src 198.18.{k}.2 \
                 cwnd lock {packets}"
            ),
        );
    }
    for _ in 0..PATIENCE {
        transfer(ends, meter, "reno");
        let known = inside(server, "tcp_metrics show");
        if known.matches(&format!(" cwnd {packets} ")).count() == 2 {
            return;
        }
    }
    panic!("the kernel ignores the window in a route");
}

/// Creates two namespaces with two cables.
fn cables() -> (Namespace, Namespace) {
    let (client, server) = (Namespace::new().unwrap(), Namespace::new().unwrap());
    let there = server.path();
    for k in [1, 2] {
        inside(&client, &format!("link add v{k} type veth peer name w{k}"));
        inside(&client, &format!("link set w{k} netns {}", there.display()));
        for (namespace, device, host) in [(&client, 'v', 1), (&server, 'w', 2)] {
            inside(
                namespace,
                &format!("addr add 198.18.{k}.{host}/24 dev {device}{k}"),
            );
            inside(namespace, &format!("link set {device}{k} up"));
        }
    }
    let limits = Limits {
        accepted_addresses: 7,
        extra_subflows: 7,
    };
    for namespace in [&client, &server] {
        namespace
            .enter_thread(|| PathManager::open()?.set_limits(limits))
            .unwrap()
            .unwrap();
    }
    let add = || {
        let socket = std::net::UdpSocket::bind("0.0.0.0:0").unwrap();
        let device = rustix::net::netdevice::name_to_index(&socket, "v2").unwrap();
        PathManager::open()?.add(&Endpoint::subflow(IpAddr::from([198, 18, 2, 1]), device))
    };
    client.enter_thread(add).unwrap().unwrap();
    // The second subflow reaches the first address through the second cable.
    inside(&client, "rule add from 198.18.2.1 table 2");
    inside(
        &client,
        "route add 198.18.1.2 via 198.18.2.2 dev v2 table 2",
    );
    (client, server)
}
