//! Every fix that `joulepath why` prints is applied: it gains what was predicted, and never costs
//! rate. Healthy connections have no finding. The links are emulated, with rate, delay, queue and
//! loss. Not applied: advice without a command, and a route through a gateway whose address only
//! the user knows.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::os::fd::AsRawFd;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use joulepath_kernel::Namespace;
use joulepath_kernel::mptcp::diag;
use joulepath_kernel::mptcp::memory::ReceiveWindow;
use joulepath_kernel::mptcp::path_manager::{Endpoint, Limits, PathManager};
use joulepath_kernel::mptcp::socket::{
    Buffers, Options, Protocol, accept_within, connect_within, listen,
};
use joulepath_kernel::route::Prefix;
use joulepath_lab::{Lab, LabSpec, Program};
use joulepath_model::scenario;
use joulepath_model::units::Bytes;
use serde_json::Value;

use crate::cc::stage::Stage;
use crate::run::{Said, command, folder};

const PATIENCE: Duration = Duration::from_secs(20);
/// Slow start, and the growth of buffers, end before the command watches.
const SETTLES: Duration = Duration::from_secs(4);
const WATCHES: Duration = Duration::from_secs(6);
/// A fix keeps this part of the rate at least; a lower bound holds up to this factor.
const NO_WORSE: f64 = 0.9;
/// A predicted rate differs by at most this part.
const WITHIN: f64 = 1.0 / 3.0;
/// Where only a lower bound is known, the rate grows by this factor at least.
const MORE: f64 = 1.2;
/// The payload of one path is this part of its rate at least.
const LEAST: f64 = 0.8;
/// A NAT forgets a connection that pauses this long.
const FORGETS: Duration = Duration::from_secs(23);
/// Cases that run at once.
const AT_ONCE: usize = 3;
const BBR: &str = "net.ipv4.tcp_available_congestion_control";

#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Client,
    Server,
}

/// What a fix is for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Aim {
    /// The rate of the connection.
    Rate,
    /// The second path carries nothing.
    Spare,
    /// The subflows of new connections are coupled, and a TCP competitor keeps its rate. How much
    /// it gains is tested with the controllers.
    Share,
}

/// The programs at both ends.
#[derive(Clone, Copy)]
struct Programs {
    client: Protocol,
    server: Protocol,
    /// SO_SNDBUF of the sender, bytes.
    send_buffer: Option<u64>,
    /// The receiver sets SO_RCVBUF for a window of this size, bytes.
    window: Option<u64>,
    /// SO_MAX_PACING_RATE of the sender, bytes/s.
    pacing: Option<u64>,
    /// The sender writes this much, bit/s.
    bps: Option<f64>,
}

/// A connection, what is wrong with it, and where `why` runs.
#[derive(Clone, Copy)]
struct Case {
    /// What `why` names first; `None`: nothing.
    cause: Option<&'static str>,
    programs: Programs,
    /// The programs after the fix.
    fixed: Programs,
    /// The end that sends.
    sender: End,
    watched: End,
    /// Each path's rate, Mbit/s, one-way delay, ms, queue, packets, and loss to the client, %.
    paths: &'static [(f64, u32, u32, f64)],
    sysctl: Option<(End, &'static str, &'static str)>,
    ipv6: bool,
    /// Both paths and the competitor share one bottleneck, which has the values of the first path.
    is_shared: bool,
    /// Commands that break something.
    broken: &'static [(End, &'static str)],
    /// The sender pauses this long, then these commands break the open connection.
    later: Option<(Duration, &'static [(End, &'static str)])>,
    /// The fix is for new connections, whose first device the routes choose. Otherwise it is for
    /// the connection that broke later.
    reopens: bool,
    aim: Aim,
    /// The end that runs the first command in the advice.
    advised: Option<End>,
    /// Commands that do what the advice says in words.
    repaired: &'static [(End, &'static str)],
}

const MPTCP: Programs = Programs {
    client: Protocol::Mptcp,
    server: Protocol::Mptcp,
    send_buffer: None,
    window: None,
    pacing: None,
    bps: None,
};
const TCP: Programs = Programs {
    client: Protocol::Tcp,
    server: Protocol::Tcp,
    ..MPTCP
};
const HEALTHY: Case = Case {
    cause: None,
    programs: MPTCP,
    fixed: MPTCP,
    sender: End::Client,
    watched: End::Client,
    paths: &[(6.0, 20, 30, 0.0), (3.0, 30, 25, 0.0)],
    sysctl: None,
    ipv6: false,
    is_shared: false,
    broken: &[],
    later: None,
    reopens: false,
    aim: Aim::Rate,
    advised: None,
    repaired: &[],
};
const ONE: &[(f64, u32, u32, f64)] = &[(6.0, 20, 30, 0.0)];
const LOSSY: &[(f64, u32, u32, f64)] = &[(6.0, 20, 40, 3.0)];
/// The send buffer ends before the queue.
const LONG_QUEUE: &[(f64, u32, u32, f64)] = &[(6.0, 20, 4000, 0.0)];
/// The default receive buffer is smaller than the bandwidth-delay product.
const LONG_WAY: &[(f64, u32, u32, f64)] = &[(6.0, 150, 200, 0.0)];
const UNEQUAL: &[(f64, u32, u32, f64)] = &[(6.0, 8, 30, 0.0), (0.6, 200, 30, 0.0)];
const WMEM: (End, &str, &str) = (End::Client, "net.ipv4.tcp_wmem", "4096 16384 32768");
const RMEM: (End, &str, &str) = (End::Client, "net.ipv4.tcp_rmem", "4096 16384 40000");
const PEER_RMEM: (End, &str, &str) = (End::Server, "net.ipv4.tcp_rmem", "4096 16384 40000");
const NO_GROWTH: (End, &str, &str) = (End::Client, "net.ipv4.tcp_moderate_rcvbuf", "0");
const NO_ENDPOINT: &str = "ip mptcp endpoint flush";
const BACKUP: &str = "ip mptcp endpoint change id 1 backup";
const PEER_BACKUP: &str = "ip mptcp endpoint add $(ip -4 -o addr show scope global | \
                           sed -n 's/.* inet \\([0-9.]*\\).*/\\1/p' | head -n 1) backup";
/// Rules by source address, with their tables.
const NO_RULES: &str = "for one in $(ip rule | sed -n 's/.*from [0-9].* lookup \\([0-9]*\\).*/\\1/p'); \
                        do ip route flush table $one; done; \
                        for one in $(ip rule | sed -n 's/^\\([0-9]*\\):.*from [0-9].*/\\1/p'); \
                        do ip rule del priority $one; done";
/// Answers to the second device return through the first one, and the strict filter drops them.
const FILTER: &[(End, &str)] = &[
    (End::Client, NO_RULES),
    (
        End::Client,
        "ip route add default dev radio0; ip route add default dev radio1 metric 200",
    ),
    (End::Client, "sysctl -qw net.ipv4.conf.all.rp_filter=1"),
];
/// Joins from the second address leave through the first device, whose network drops foreign
/// addresses.
const UNBOUND: &[(End, &str)] = &[
    (End::Client, NO_RULES),
    (
        End::Client,
        "ip mptcp endpoint flush; ip mptcp endpoint add $(ip -4 -o addr show dev radio1 | sed \
         's/.* inet \\([0-9.]*\\).*/\\1/') subflow",
    ),
    (End::Server, "sysctl -qw net.ipv4.conf.radio0.rp_filter=1"),
];
const TABLE: (End, &str) = (End::Server, "nft add table inet hole");
const CHAIN: (End, &str) = (
    End::Server,
    "nft 'add chain inet hole in { type filter hook prerouting priority 0; }'",
);
/// Large packets that arrive over the second device are lost.
const HOLE: &[(End, &str)] = &[
    TABLE,
    CHAIN,
    (
        End::Server,
        "nft add rule inet hole in iifname radio1 meta length gt 1300 drop",
    ),
];
const STRIPPED: &[(End, &str)] = &[
    TABLE,
    CHAIN,
    (
        End::Server,
        "nft add rule inet hole in reset tcp option mptcp",
    ),
];
const DROPPED: &[(End, &str)] = &[
    TABLE,
    CHAIN,
    (
        End::Server,
        "nft add rule inet hole in tcp option mptcp exists drop",
    ),
];
const PASSES: &[(End, &str)] = &[
    (End::Server, "nft delete table inet hole"),
    (End::Client, "sysctl -qw net.mptcp.blackhole_timeout=3600"),
];
const SILENT: &[(End, &str)] = &[
    TABLE,
    CHAIN,
    (End::Server, "nft add rule inet hole in iifname radio1 drop"),
];
/// A NAT that has forgotten all connections: only SYNs open an entry.
const FORGOTTEN: &[(End, &str)] = &[
    TABLE,
    CHAIN,
    (
        End::Server,
        "nft add rule inet hole in iifname radio1 ct state new 'tcp flags & syn == 0' drop",
    ),
    (
        End::Server,
        "nft 'add chain inet hole out { type filter hook output priority 0; }'",
    ),
    (
        End::Server,
        "nft add rule inet hole out oifname radio1 ct state new 'tcp flags & syn == 0' drop",
    ),
];

/// No route leads through the second device, and its endpoint names no device.
const NO_ROUTE: &[(End, &str)] = &[
    (End::Client, "ip route del default dev radio1"),
    UNBOUND[0],
    UNBOUND[1],
    UNBOUND[2],
];
/// A socket that is bound to a device without a route gets nowhere with IPv6.
const NO_ROUTE_6: &[(End, &str)] = &[
    (End::Client, "ip -6 route del default dev radio1"),
    (
        End::Client,
        "for one in $(ip -6 rule | sed -n 's/.*from [0-9a-f]*:.* lookup \\([0-9]*\\).*/\\1/p'); \
         do ip -6 route flush table $one; done",
    ),
];
const SILENT_FIRST: &[(End, &str)] = &[
    TABLE,
    CHAIN,
    (End::Server, "nft add rule inet hole in iifname radio0 drop"),
];
/// The peer does not learn that the subflow is a backup now. MP_PRIO (kind 30, length 3 or 4,
/// subtype 5) follows timestamps, SACK blocks and the DSS option, of which some may be absent.
const DEAF: &[(End, &str)] = &[
    TABLE,
    CHAIN,
    (
        End::Server,
        "for at in 160 192 224 256 288 320 352 384 416 448; do nft add rule inet hole in \
         \"@th,$at,16 { 0x1e03, 0x1e04 } @th,$((at + 16)),4 5 drop\"; done",
    ),
    (End::Client, BACKUP),
];

impl Case {
    fn scenario(&self) -> scenario::Scenario {
        let mut text =
            String::from("title = \"why\"\nduration = \"300 s\"\n[workload]\nkind = \"bulk\"\n");
        for (index, (mbit, delay_ms, queue, loss)) in self.paths.iter().enumerate() {
            let link = format!(
                "rate = \"{mbit} Mbit/s\"\ndelay = \"{delay_ms} ms\"\nqueue = \"{queue} packets\"\n\
                 loss = \"{loss} %\"\n"
            );
            if self.is_shared && index == 0 {
                text += &format!("[[link]]\nname = \"shared\"\n{link}");
            }
            let link = if self.is_shared {
                "via = [\"shared\"]\n"
            } else {
                &link
            };
            text += &format!("[[path]]\nname = \"radio{index}\"\nenergy = \"free\"\n{link}");
        }
        scenario::load(&text, &|name| Err(format!("no trace {name}"))).unwrap()
    }

    fn lab(&self) -> Lab {
        let mut spec = LabSpec::of(&self.scenario(), 1);
        let linux = [
            ("net.ipv4.tcp_rmem", "4096 131072 6291456"),
            ("net.ipv4.tcp_wmem", "4096 16384 4194304"),
            ("net.ipv4.tcp_moderate_rcvbuf", "1"),
        ];
        spec.ipv6 = self.ipv6;
        spec.sysctls = linux
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .to_vec();
        let mut lab = Lab::start(&spec, &Program::at(env!("CARGO_BIN_EXE_joulepath"))).unwrap();
        lab.start_clock().unwrap();
        let limits = Limits {
            accepted_addresses: 0,
            extra_subflows: 2,
        };
        for end in [lab.client(), lab.server()] {
            end.enter_thread(|| PathManager::open()?.set_limits(limits))
                .unwrap()
                .unwrap();
        }
        for tunnel in &lab.tunnels()[1..] {
            let endpoint = Endpoint::subflow(tunnel.client_address, tunnel.client_device);
            lab.client()
                .enter_thread(|| PathManager::open()?.add(&endpoint))
                .unwrap()
                .unwrap();
        }
        if let Some((end, name, value)) = self.sysctl {
            namespace(&lab, end).set_sysctl(name, value).unwrap();
        }
        run_all(&lab, self.broken);
        lab
    }

    /// Breaks, explains, fixes, measures; what went wrong.
    fn judge(&self) -> Result<String, String> {
        let lab = self.lab();
        let start =
            |programs| Transfer::start(&lab, (!self.reopens).then_some(0), self.sender, programs);
        let mut transfer = start(self.programs);
        let competitor = self
            .is_shared
            .then(|| Transfer::start(&lab, Some(0), self.sender, TCP));
        thread::sleep(SETTLES);
        if let Some((pause, commands)) = self.later {
            transfer.is_paused.store(true, Ordering::Relaxed);
            thread::sleep(pause);
            run_all(&lab, commands);
            transfer.is_paused.store(false, Ordering::Relaxed);
            thread::sleep(SETTLES);
        }
        let measured = competitor.as_ref().unwrap_or(&transfer);
        let begun = (Instant::now(), measured.received());
        let findings = why(namespace(&lab, self.watched), transfer.port);
        let before = measured.rate_since(begun);
        let first = findings.first();
        let cause = first.map(|one| one["cause"].as_str().unwrap().to_owned());
        if cause.as_deref() != self.cause {
            return Err(format!(
                "expected {:?} at {before:.2e} bit/s: {findings:?}",
                self.cause
            ));
        }
        let Some(finding) =
            first.filter(|one| one["fix"] != serde_json::json!({"commands": [], "advice": null}))
        else {
            return Ok(format!("{cause:?} at {before:.2e} bit/s"));
        };
        let is_new = self.later.is_none() || self.reopens;
        if is_new {
            transfer.end();
        }
        for fix in finding["fix"]["commands"].as_array().unwrap() {
            let line = fix.as_str().unwrap();
            // The programs after the fix are those that it starts.
            if !line.starts_with("joulepath run ") {
                run_in(namespace(&lab, self.watched), line);
            }
        }
        if let Some(end) = self.advised {
            let advice = finding["fix"]["advice"].as_str().unwrap();
            run_in(namespace(&lab, end), advice.split('`').nth(1).unwrap());
        }
        run_all(&lab, self.repaired);
        if is_new {
            transfer = start(self.fixed);
        }
        thread::sleep(SETTLES);
        let measured = competitor.as_ref().unwrap_or(&transfer);
        let begun = (Instant::now(), measured.received());
        thread::sleep(WATCHES);
        let after = measured.rate_since(begun);
        if self.aim == Aim::Share {
            let listing = lab.client().enter_thread(diag::list).unwrap().unwrap();
            let own = listing
                .connections
                .iter()
                .filter(|one| one.remote.port() == transfer.port);
            let flows = own.flat_map(|one| &one.subflows);
            let controllers: Vec<_> = flows.map(|one| one.congestion.as_deref()).collect();
            assert_eq!(controllers, [Some("jp_lia"); 2]);
        }
        let gain = &finding["gain"];
        let said = format!("{cause:?}: {before:.2e} → {after:.2e} bit/s, predicted {gain}");
        if self.holds(before, after, gain) {
            Ok(said)
        } else {
            Err(format!("{said}: {finding}"))
        }
    }

    /// True if the fix does what it is for. Rates in bit/s.
    fn holds(&self, before: f64, after: f64, gain: &Value) -> bool {
        let rates = self.paths.iter().map(|(mbit, ..)| 1e6 * mbit);
        let links: f64 = rates.clone().sum();
        match (self.aim, gain["after_bps"].as_f64()) {
            (Aim::Rate, None) => after > 0.0 && after >= NO_WORSE * before,
            (Aim::Rate, Some(predicted)) => {
                let is_met = match gain["at_least"] == true {
                    true => after >= NO_WORSE * predicted && after >= MORE * before,
                    false => (after / predicted - 1.0).abs() <= WITHIN,
                };
                is_met && predicted <= links && after >= NO_WORSE * before
            }
            (Aim::Spare, _) => rates
                .take(1)
                .any(|first| (LEAST * first..=first).contains(&after)),
            (Aim::Share, _) => after >= NO_WORSE * before,
        }
    }
}

fn run_all(lab: &Lab, commands: &[(End, &str)]) {
    commands
        .iter()
        .for_each(|(end, line)| run_in(namespace(lab, *end), line));
}

fn namespace(lab: &Lab, end: End) -> &Namespace {
    match end {
        End::Client => lab.client(),
        End::Server => lab.server(),
    }
}

/// The findings on the connection to or from a port.
fn why(namespace: &Namespace, port: u16) -> Vec<Value> {
    let folder = folder();
    let run = || {
        command(folder.path(), &["why", "--json", "--all"])
            .output()
            .unwrap()
    };
    let said = Said::of(namespace.enter_thread(run).unwrap());
    let all: Value =
        serde_json::from_str(&said.stdout).unwrap_or_else(|error| panic!("{error}: {said:?}"));
    let connections = all["connections"].as_array().unwrap();
    let is_wanted = |one: &Value| {
        ["local", "remote"]
            .iter()
            .any(|end| one[end].as_str().unwrap().ends_with(&format!(":{port}")))
    };
    let mut wanted = connections.iter().filter(|one| is_wanted(one));
    let (Some(one), None) = (wanted.next(), wanted.next()) else {
        panic!("port {port}: {all}")
    };
    one["findings"].as_array().unwrap().clone()
}

/// Runs a printed command as it is.
fn run_in(namespace: &Namespace, line: &str) {
    let own = Path::new(env!("CARGO_BIN_EXE_joulepath"))
        .parent()
        .unwrap()
        .display();
    let path = format!("{own}:{}", std::env::var("PATH").unwrap());
    let run = || {
        Command::new("sh")
            .args(["-c", line])
            .env("PATH", &path)
            .output()
    };
    let output = namespace.enter_thread(run).unwrap().unwrap();
    assert!(
        output.status.success(),
        "{line}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
}

/// A transfer in one direction, until it is ended.
struct Transfer {
    bytes: Arc<AtomicU64>,
    is_paused: Arc<AtomicBool>,
    is_over: Arc<AtomicBool>,
    ends: [TcpStream; 2],
    /// Of the listener.
    port: u16,
}

impl Drop for Transfer {
    fn drop(&mut self) {
        self.end();
    }
}

impl Transfer {
    /// From the address of a tunnel, or of the device that the routes choose.
    fn start(lab: &Lab, tunnel: Option<usize>, sender: End, programs: Programs) -> Self {
        let options = |end: End| Options {
            buffers: Buffers {
                send: programs.send_buffer.filter(|_| end == sender).map(Bytes),
                receive: programs
                    .window
                    .filter(|_| end != sender)
                    .map(|bytes| ReceiveWindow::of(Bytes(bytes))),
            },
            ..Options::default()
        };
        let any = SocketAddr::new(lab.server_address(), 0);
        let listen = || listen(programs.server, any, &options(End::Server), 4);
        let listener = lab.server().enter_thread(listen).unwrap().unwrap();
        let at = SocketAddr::try_from(rustix::net::getsockname(&listener).unwrap()).unwrap();
        let any = Prefix::all_like(at.ip()).address();
        let from = SocketAddr::new(
            tunnel.map_or(any, |tunnel| lab.tunnels()[tunnel].client_address),
            0,
        );
        let connect = || connect_within(programs.client, from, at, &options(End::Client), PATIENCE);
        let client = TcpStream::from(lab.client().enter_thread(connect).unwrap().unwrap());
        let server = TcpStream::from(accept_within(&listener, PATIENCE).unwrap().0);
        for stream in [&client, &server] {
            stream.set_nonblocking(false).unwrap();
        }
        let ends = [&client, &server].map(|stream| stream.try_clone().unwrap());
        let (sender, receiver) = if sender == End::Client {
            (client, server)
        } else {
            (server, client)
        };
        if let Some(rate) = programs.pacing {
            pace(&sender, rate);
        }
        let bytes = Arc::new(AtomicU64::new(0));
        let [is_paused, is_over] = [(); 2].map(|()| Arc::new(AtomicBool::new(false)));
        let (counter, paused, over) = (bytes.clone(), is_paused.clone(), is_over.clone());
        thread::spawn(move || {
            let mut buffer = [0; 65_536];
            while let Ok(read @ 1..) = (&receiver).read(&mut buffer) {
                counter.fetch_add(read as u64, Ordering::Relaxed);
            }
            // Joins need the listener.
            drop(listener);
        });
        thread::spawn(move || {
            let (begin, mut written) = (Instant::now(), 0_usize);
            while !over.load(Ordering::Relaxed) {
                let due = programs
                    .bps
                    .map(|bps| bps * begin.elapsed().as_secs_f64() / 8.0);
                if paused.load(Ordering::Relaxed) || due.is_some_and(|due| written as f64 > due) {
                    thread::sleep(Duration::from_millis(5));
                    continue;
                }
                match (&sender).write(&[7; 4096]) {
                    Ok(more) => written += more,
                    Err(_) => break,
                }
            }
        });
        Transfer {
            bytes,
            is_paused,
            is_over,
            ends,
            port: at.port(),
        }
    }

    fn received(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// bit/s
    fn rate_since(&self, (begin, bytes): (Instant, u64)) -> f64 {
        (self.received() - bytes) as f64 * 8.0 / begin.elapsed().as_secs_f64()
    }

    fn end(&self) {
        self.is_over.store(true, Ordering::Relaxed);
        for end in &self.ends {
            // The other end may have closed it.
            let _ = end.shutdown(Shutdown::Both);
        }
    }
}

/// Sets SO_MAX_PACING_RATE, bytes/s.
fn pace(socket: &TcpStream, rate: u64) {
    let (level, name) = (libc::SOL_SOCKET, libc::SO_MAX_PACING_RATE);
    let length = size_of_val(&rate) as libc::socklen_t;
    // SAFETY: the kernel reads `length` bytes of `rate`.
    let status = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            level,
            name,
            (&raw const rate).cast(),
            length,
        )
    };
    assert_eq!(status, 0, "{}", std::io::Error::last_os_error());
}

/// Judges all, some at once.
#[track_caller]
fn judge(cases: &[Case]) {
    let mut wrong = vec![];
    for some in cases.chunks(AT_ONCE) {
        thread::scope(|scope| {
            let jobs: Vec<_> = some
                .iter()
                .map(|case| scope.spawn(|| case.judge()))
                .collect();
            for job in jobs {
                match job.join().unwrap() {
                    Ok(said) => println!("{said}"),
                    Err(said) => wrong.push(said),
                }
            }
        });
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test(needs(LAB, RATES))]
fn nothing_is_said_of_a_healthy_connection() {
    judge(&[
        HEALTHY,
        Case {
            sender: End::Server,
            watched: End::Server,
            ..HEALTHY
        },
        Case {
            cause: Some("application"),
            programs: Programs {
                bps: Some(1e6),
                ..MPTCP
            },
            ..HEALTHY
        },
    ]);
}

#[test(needs(LAB, RATES))]
fn a_larger_buffer_gains_what_was_predicted() {
    let download = Case {
        cause: Some("receive-buffer"),
        sender: End::Server,
        ..HEALTHY
    };
    let peer = Case {
        cause: Some("peer-buffer"),
        ..HEALTHY
    };
    let small = Programs {
        window: Some(10_000),
        ..MPTCP
    };
    judge(&[
        Case {
            cause: Some("send-buffer"),
            sysctl: Some(WMEM),
            ..HEALTHY
        },
        Case {
            cause: Some("send-buffer"),
            programs: Programs {
                send_buffer: Some(12_000),
                ..MPTCP
            },
            ..HEALTHY
        },
        Case {
            sysctl: Some(RMEM),
            ..download
        },
        Case {
            programs: small,
            ..download
        },
        Case {
            sysctl: Some(NO_GROWTH),
            paths: LONG_WAY,
            ..download
        },
        Case {
            sysctl: Some(PEER_RMEM),
            advised: Some(End::Server),
            ..peer
        },
        Case {
            programs: small,
            ..peer
        },
    ]);
}

#[test(needs(LAB, RATES))]
fn another_controller_gains_what_was_predicted() {
    let known = std::fs::read_to_string(format!("/proc/sys/{}", BBR.replace('.', "/"))).unwrap();
    if !known.split_whitespace().any(|name| name == "bbr") {
        joulepath_testbed::skip("this kernel has no BBR");
    }
    let server = Case {
        sender: End::Server,
        watched: End::Server,
        paths: LOSSY,
        ..HEALTHY
    };
    judge(&[
        Case {
            cause: Some("random-loss"),
            ..server
        },
        Case {
            cause: Some("random-loss"),
            programs: TCP,
            fixed: TCP,
            ..server
        },
        Case {
            cause: Some("bufferbloat"),
            programs: TCP,
            fixed: TCP,
            paths: LONG_QUEUE,
            ..HEALTHY
        },
    ]);
}

/// Paths that the connection does not use, and why.
#[test(needs(LAB, RATES))]
fn a_path_that_was_missing_carries_data_after_the_fix() {
    let without = Case {
        cause: Some("no-endpoint"),
        broken: &[(End::Client, NO_ENDPOINT)],
        ..HEALTHY
    };
    let backup = Case {
        cause: Some("backup"),
        broken: &[(End::Client, BACKUP)],
        ..HEALTHY
    };
    judge(&[
        Case { ..without },
        Case {
            sender: End::Server,
            ..without
        },
        Case {
            sysctl: Some((End::Client, "net.mptcp.path_manager", "userspace")),
            ..without
        },
        Case {
            cause: Some("limits"),
            broken: &[(End::Client, "ip mptcp limits set subflows 0")],
            ..HEALTHY
        },
        Case {
            cause: Some("peer-refuses"),
            broken: &[(End::Server, "ip mptcp limits set subflows 0")],
            advised: Some(End::Server),
            ..HEALTHY
        },
        Case { ..backup },
        Case {
            sender: End::Server,
            ..backup
        },
        Case {
            broken: &[(End::Server, PEER_BACKUP)],
            advised: Some(End::Server),
            ..backup
        },
        Case {
            cause: Some("wrong-device"),
            broken: FILTER,
            ..HEALTHY
        },
        Case {
            cause: Some("wrong-device"),
            broken: UNBOUND,
            ..HEALTHY
        },
        Case {
            cause: Some("wrong-device"),
            broken: NO_ROUTE,
            ..HEALTHY
        },
        Case {
            cause: Some("wrong-device"),
            broken: NO_ROUTE_6,
            ipv6: true,
            ..HEALTHY
        },
        Case {
            cause: Some("mtu"),
            broken: HOLE,
            ..HEALTHY
        },
    ]);
}

#[test(needs(LAB, RATES))]
fn a_connection_without_mptcp_has_both_paths_after_the_fix() {
    let tcp = Protocol::Tcp;
    judge(&[
        Case {
            cause: Some("plain-tcp"),
            programs: Programs {
                client: tcp,
                ..MPTCP
            },
            ..HEALTHY
        },
        Case {
            cause: Some("fallback"),
            programs: Programs {
                server: tcp,
                ..MPTCP
            },
            ..HEALTHY
        },
        Case {
            cause: Some("fallback"),
            broken: STRIPPED,
            repaired: PASSES,
            ..HEALTHY
        },
        Case {
            cause: Some("mptcp-dropped"),
            broken: DROPPED,
            repaired: PASSES,
            ..HEALTHY
        },
    ]);
}

#[test(needs(LAB, RATES))]
fn a_path_that_blocks_or_is_silent_costs_nothing_after_the_fix() {
    let small = Programs {
        window: Some(30_000),
        ..MPTCP
    };
    let blocked = Case {
        cause: Some("head-of-line"),
        programs: small,
        fixed: small,
        sender: End::Server,
        paths: UNEQUAL,
        ..HEALTHY
    };
    let paced = Programs {
        pacing: Some(250_000),
        ..TCP
    };
    judge(&[
        Case { ..blocked },
        Case {
            watched: End::Server,
            advised: Some(End::Client),
            ..blocked
        },
        Case {
            cause: Some("dead-path"),
            later: Some((Duration::ZERO, SILENT)),
            ..HEALTHY
        },
        Case {
            cause: Some("dead-path"),
            broken: &[(End::Client, NO_ENDPOINT)],
            later: Some((Duration::ZERO, SILENT_FIRST)),
            reopens: true,
            ..HEALTHY
        },
        Case {
            cause: Some("stale-subflow"),
            later: Some((FORGETS, FORGOTTEN)),
            ..HEALTHY
        },
        Case {
            cause: Some("pacing-limit"),
            programs: paced,
            fixed: TCP,
            paths: ONE,
            ..HEALTHY
        },
    ]);
}

/// The peer sends on, as one does that ignores MP_PRIO.
#[test(needs(LAB, RATES))]
fn a_backup_that_the_peer_uses_carries_nothing_after_the_fix() {
    let ignored = Case {
        later: Some((Duration::ZERO, DEAF)),
        aim: Aim::Spare,
        ..HEALTHY
    };
    judge(&[Case {
        cause: Some("backup-ignored"),
        sender: End::Server,
        ..ignored
    }]);
}

#[test(needs(ENGINE, MACHINE_STATE))]
fn a_competitor_gets_its_share_of_a_bottleneck_after_the_fix() {
    let _stage = Stage::new(&["lia"]);
    judge(&[Case {
        cause: Some("shared-bottleneck"),
        is_shared: true,
        aim: Aim::Share,
        ..HEALTHY
    }]);
}
