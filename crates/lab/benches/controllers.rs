//! What our congestion controllers cost the kernel: time per ACK, and bulk throughput against the kernel's
//! own reno.
//!
//! `cargo bench -p joulepath-lab --features bpf --bench controllers [-- acks|bulk] [--runs N]`, as root. Per
//! ACK: two subflows over emulated links of 60 Mbit/s each, in congestion avoidance with losses, so that
//! every part of a controller runs. Bulk: two subflows over veth devices without limits, ours and the
//! kernel's in turn.

use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::os::fd::OwnedFd;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use joulepath_controllers::{Connection, Controller};
use joulepath_kernel::Namespace;
use joulepath_kernel::cc::{Cost, Counting, Registered};
use joulepath_kernel::mptcp::path_manager::{Endpoint, Limits, PathManager};
use joulepath_kernel::mptcp::socket::{Options, Protocol, accept_within, connect_within, listen};
use joulepath_lab::Program;
use joulepath_lab::{Lab, LabSpec};
use joulepath_model::scenario;

const PATIENCE: Duration = Duration::from_secs(10);
/// Until slow start is over.
const WARM_UP: Duration = Duration::from_secs(2);
const COUNTED: Duration = Duration::from_secs(4);
const BULK: Duration = Duration::from_secs(2);
const DEFAULT_RUNS: usize = 10;

const RADIOS: &str = r#"
title = "two lossy links"
duration = "60 s"
[[path]]
name = "a"
rate = "60 Mbit/s"
delay = "10 ms"
loss = "0.02 %"
queue = "100 packets"
energy = { per_mbps = "100 mW", active = "1 W" }
[[path]]
name = "b"
rate = "60 Mbit/s"
delay = "15 ms"
loss = "0.02 %"
queue = "100 packets"
energy = { per_mbps = "200 mW", active = "1 W" }
"#;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    if !rustix::process::geteuid().is_root() {
        println!("SKIPPED: needs root");
        return;
    }
    let wants = |what| {
        !arguments.iter().any(|argument| ["acks", "bulk"].contains(&argument.as_str()) && argument != what)
    };
    let runs = arguments.iter().skip_while(|argument| *argument != "--runs").nth(1);
    let runs = runs.map_or(DEFAULT_RUNS, |number| number.parse().expect("--runs takes a number"));
    if wants("acks") {
        acks();
    }
    if wants("bulk") {
        bulk(runs);
    }
}

/// Both ends of a connection; the server sends.
struct Pair {
    client: TcpStream,
    server: TcpStream,
    _listener: OwnedFd,
}

impl Pair {
    fn open(server: &Namespace, client: &Namespace, from: IpAddr, to: IpAddr, congestion: &str) -> Self {
        let options = Options { congestion: Some(congestion.into()), ..Options::default() };
        let at = SocketAddr::new(to, 5001);
        let from = SocketAddr::new(from, 0);
        let open = || listen(Protocol::Mptcp, at, &options, 8);
        let listener = server.enter_thread(open).unwrap().unwrap();
        let connect = || connect_within(Protocol::Mptcp, from, at, &options, PATIENCE);
        let client = blocking(client.enter_thread(connect).unwrap().unwrap());
        let (server, _) = accept_within(&listener, PATIENCE).unwrap();
        Pair { client, server: blocking(server), _listener: listener }
    }

    /// Bytes that arrive within `duration`.
    fn download(&mut self, duration: Duration) -> u64 {
        let deadline = Instant::now() + duration;
        let Pair { client, server, .. } = self;
        thread::scope(|scope| {
            scope.spawn(move || {
                server.set_write_timeout(Some(Duration::from_millis(20))).unwrap();
                let chunk = vec![7; 1 << 18];
                while Instant::now() < deadline {
                    let _full = server.write(&chunk);
                }
            });
            client.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
            let mut buffer = vec![0; 1 << 20];
            let mut total = 0;
            while Instant::now() < deadline {
                total += client.read(&mut buffer).unwrap_or(0) as u64;
            }
            total
        })
    }
}

fn blocking(socket: OwnedFd) -> TcpStream {
    let stream = TcpStream::from(socket);
    stream.set_nonblocking(false).unwrap();
    stream
}

fn register(controller: Controller) -> Registered {
    let name = format!("b{}_{}", std::process::id() % 10_000, controller.name());
    Registered::new(controller, &Connection::new(1), &name).unwrap()
}

fn acks() {
    println!(
        "{:<10} {:>10} {:>12} {:>10} {:>12}",
        "controller", "ACKs", "ns per ACK", "losses", "ns per loss"
    );
    for controller in Controller::all() {
        let [ack, loss] = acks_of(&register(controller));
        let ns = |cost: Cost| cost.per_call_ns().map_or("–".into(), |ns| format!("{ns:.0}"));
        println!(
            "{:<10} {:>10} {:>12} {:>10} {:>12}",
            controller.name(),
            ack.calls,
            ns(ack),
            loss.calls,
            ns(loss)
        );
    }
}

fn acks_of(registered: &Registered) -> [Cost; 2] {
    let scenario = scenario::load(RADIOS, &|name| Err(format!("no trace {name}"))).unwrap();
    let program = Program::at(env!("CARGO_BIN_EXE_joulepath-worker"));
    let mut lab = Lab::start(&LabSpec::of(&scenario, 1), &program).unwrap();
    lab.start_clock().unwrap();
    lab.announce(1, false).unwrap();
    let from = lab.tunnels()[0].client_address;
    let mut pair = Pair::open(lab.server(), lab.client(), from, lab.server_address(), registered.name());
    pair.download(WARM_UP);
    let _counting = Counting::start().unwrap();
    pair.download(COUNTED);
    let costs = registered.costs().unwrap();
    // What is called for each ACK: the second one where the controller owns its window.
    let per_ack = ["jp_op_cong_avoid", "jp_op_cong_control"];
    [&per_ack[..], &["jp_op_ssthresh"]].map(|names| {
        let found = costs.iter().find(|(program, _)| names.contains(&program.as_str()));
        found.map_or(Cost::default(), |&(_, cost)| cost)
    })
}

/// Two namespaces with two cables.
fn cables() -> (Namespace, Namespace) {
    let (client, server) = (Namespace::new().unwrap(), Namespace::new().unwrap());
    let inside = |namespace: &Namespace, line: &str| {
        let run = || Command::new("ip").args(line.split(' ')).status().expect("iproute2 is installed");
        assert!(namespace.enter_thread(run).unwrap().success(), "ip {line}");
    };
    let there = server.path();
    for k in [1, 2] {
        inside(&client, &format!("link add v{k} type veth peer name w{k}"));
        inside(&client, &format!("link set w{k} netns {}", there.display()));
        for (namespace, device, host) in [(&client, 'v', 1), (&server, 'w', 2)] {
            inside(namespace, &format!("addr add 198.18.{k}.{host}/24 dev {device}{k}"));
            inside(namespace, &format!("link set {device}{k} up"));
        }
    }
    let limits = Limits { accepted_addresses: 7, extra_subflows: 7 };
    for namespace in [&client, &server] {
        namespace.enter_thread(|| PathManager::open()?.set_limits(limits)).unwrap().unwrap();
    }
    let add = || {
        let socket = std::net::UdpSocket::bind("0.0.0.0:0").unwrap();
        let device = rustix::net::netdevice::name_to_index(&socket, "v2").unwrap();
        PathManager::open()?.add(&Endpoint::subflow(IpAddr::from([198, 18, 2, 1]), device))
    };
    client.enter_thread(add).unwrap().unwrap();
    // The second subflow goes to the first address, through the second cable.
    inside(&client, "rule add from 198.18.2.1 table 2");
    inside(&client, "route add 198.18.1.2 via 198.18.2.2 dev v2 table 2");
    (client, server)
}

/// Gbit/s of one transfer.
fn transfer(ends: &(Namespace, Namespace), congestion: &str) -> f64 {
    let (client, server) = ends;
    let [from, to] = [IpAddr::from([198, 18, 1, 1]), IpAddr::from([198, 18, 1, 2])];
    let mut pair = Pair::open(server, client, from, to, congestion);
    pair.download(Duration::from_millis(300));
    pair.download(BULK) as f64 * 8e-9 / BULK.as_secs_f64()
}

fn bulk(runs: usize) {
    let ends = cables();
    println!("\nbulk over two veth devices, {runs} runs each, in turn");
    println!("{:<10} {:>12} {:>12} {:>18}", "controller", "Gbit/s", "kernel reno", "ratio ± 95 %");
    for name in ["reno", "lia", "olia", "balia", "dts", "eemptcp"] {
        let registered = register(Controller::by_name(name).unwrap());
        let pairs: Vec<(f64, f64)> = (0..runs)
            .map(|run| match run % 2 {
                0 => (transfer(&ends, registered.name()), transfer(&ends, "reno")),
                _ => {
                    let theirs = transfer(&ends, "reno");
                    (transfer(&ends, registered.name()), theirs)
                }
            })
            .collect();
        let mean = |values: &dyn Fn(&(f64, f64)) -> f64| pairs.iter().map(values).sum::<f64>() / runs as f64;
        let ratio = mean(&|(ours, theirs)| ours / theirs);
        let variance = mean(&|(ours, theirs)| (ours / theirs - ratio).powi(2));
        let half = 1.96 * (variance / (runs.max(2) - 1) as f64).sqrt();
        let (ours, theirs) = (mean(&|pair| pair.0), mean(&|pair| pair.1));
        println!("{name:<10} {ours:>12.2} {theirs:>12.2} {ratio:>11.3} ± {half:.3}");
    }
}
