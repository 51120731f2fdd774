//! A case: a connection, what breaks it, the finding and its fix, and the rate after the fix.

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

use super::broken::TCP;
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
/// Cases that run at once.
const AT_ONCE: usize = 3;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    Client,
    Server,
}

/// What a fix is for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Aim {
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
pub(super) struct Programs {
    pub(super) client: Protocol,
    pub(super) server: Protocol,
    /// SO_SNDBUF of the sender, bytes.
    pub(super) send_buffer: Option<u64>,
    /// The receiver sets SO_RCVBUF for a window of this size, bytes.
    pub(super) window: Option<u64>,
    /// SO_MAX_PACING_RATE of the sender, bytes/s.
    pub(super) pacing: Option<u64>,
    /// The sender writes this much, bit/s.
    pub(super) bps: Option<f64>,
}

/// A connection, what is wrong with it, and where `why` runs.
#[derive(Clone, Copy)]
pub(super) struct Case {
    /// What `why` names first; `None`: nothing.
    pub(super) cause: Option<&'static str>,
    pub(super) programs: Programs,
    /// The programs after the fix.
    pub(super) fixed: Programs,
    /// The end that sends.
    pub(super) sender: End,
    pub(super) watched: End,
    /// Each path's rate, Mbit/s, one-way delay, ms, queue, packets, and loss to the client, %.
    pub(super) paths: &'static [(f64, u32, u32, f64)],
    pub(super) sysctl: Option<(End, &'static str, &'static str)>,
    pub(super) ipv6: bool,
    /// Both paths and the competitor share one bottleneck, which has the values of the first path.
    pub(super) is_shared: bool,
    /// Commands that break something.
    pub(super) broken: &'static [(End, &'static str)],
    /// The sender pauses this long, then these commands break the open connection.
    pub(super) later: Option<(Duration, &'static [(End, &'static str)])>,
    /// The fix is for new connections, whose first device the routes choose. Otherwise it is for
    /// the connection that broke later.
    pub(super) reopens: bool,
    pub(super) aim: Aim,
    /// The end that runs the first command in the advice.
    pub(super) advised: Option<End>,
    /// Commands that do what the advice says in words.
    pub(super) repaired: &'static [(End, &'static str)],
}

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
pub(super) fn judge(cases: &[Case]) {
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
