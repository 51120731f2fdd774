//! Measures the emulator's rate, delay and loss against the scenario. `cargo bench -p joulepath-lab
//! --bench emulator` prints the table of `docs/models/emulator.md`. Needs root and an idle machine.

use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use joulepath_lab::Program;
use joulepath_lab::emulator::messages::{Flow, Reading};
use joulepath_lab::{Lab, LabSpec};
use joulepath_model::scenario;

/// Duration of each row's measurement, s.
const SECONDS: u64 = 10;
/// Size on the wire, bytes.
const PACKET: usize = 1500;
/// IPv4 and UDP headers, bytes.
const HEADERS: usize = 28;

/// One row: rates of the paths, and offered load as a fraction of them.
struct Case {
    rates_mbps: &'static [f64],
    load: f64,
    loss: f64,
}

const CASES: &[Case] = &[
    Case {
        rates_mbps: &[10.0],
        load: 0.9,
        loss: 0.0,
    },
    Case {
        rates_mbps: &[100.0],
        load: 0.9,
        loss: 0.0,
    },
    Case {
        rates_mbps: &[100.0],
        load: 1.2,
        loss: 0.0,
    },
    Case {
        rates_mbps: &[20.0, 10.0],
        load: 1.2,
        loss: 0.0,
    },
    Case {
        rates_mbps: &[120.0, 80.0],
        load: 1.2,
        loss: 0.0,
    },
    Case {
        rates_mbps: &[100.0],
        load: 0.9,
        loss: 0.01,
    },
    Case {
        rates_mbps: &[1000.0],
        load: 0.9,
        loss: 0.0,
    },
];

fn main() {
    if !rustix::process::geteuid().is_root() {
        return println!("SKIPPED: needs root");
    }
    println!("| paths, Mbit/s | offered | rate error | late p50 | p99 | max | lost | priority |");
    println!("|---|---|---|---|---|---|---|---|");
    for case in CASES {
        let mut lab = start(case);
        let sources: Vec<Source> = (0..case.rates_mbps.len())
            .map(|line| Source::new(&lab, line))
            .collect();
        let stop = AtomicBool::new(false);
        let reading = thread::scope(|scope| {
            for (source, rate) in sources.iter().zip(case.rates_mbps) {
                let stop = &stop;
                scope.spawn(move || source.send(rate * 1e6 * case.load, stop));
            }
            // All queues that fill up are full by then.
            thread::sleep(Duration::from_secs(1));
            lab.begin_measurement().expect("the emulator answers");
            thread::sleep(Duration::from_secs(SECONDS));
            let reading = lab.snapshot().expect("the emulator answers");
            stop.store(true, Ordering::Relaxed);
            reading
        });
        println!("{}", row(case, &reading, lab.is_realtime()));
    }
}

fn start(case: &Case) -> Lab {
    let path = |(i, rate): (usize, &f64)| {
        format!(
            "[[path]]\nname = \"p{i}\"\nrate = \"{rate} Mbit/s\"\ndelay = \"10 ms\"\n\
             loss = \"{} %\"\nqueue = \"200 packets\"\nenergy = \"free\"\n",
            case.loss * 100.0
        )
    };
    let paths: String = case.rates_mbps.iter().enumerate().map(path).collect();
    let text = format!("title = \"bench\"\nduration = \"60 s\"\n{paths}");
    let scenario =
        scenario::load(&text, &|_| Err("no traces".into())).expect("the scenario is right");
    let program = Program::at(env!("CARGO_BIN_EXE_joulepath-worker"));
    let mut lab = Lab::start(&LabSpec::of(&scenario, 1), &program).expect("the lab starts");
    lab.start_clock().expect("the emulator answers");
    lab
}

/// Sends datagrams from the server over one tunnel.
struct Source {
    sender: UdpSocket,
    /// Nobody reads from it: the kernel drops what does not fit, after the emulator.
    _receiver: UdpSocket,
}

impl Source {
    fn new(lab: &Lab, line: usize) -> Self {
        let bind =
            |address| move || UdpSocket::bind(SocketAddr::new(address, 0)).expect("a port is free");
        let sender = lab
            .server()
            .enter_thread(bind(lab.server_address()))
            .expect("the lab lives");
        let receiver = lab
            .client()
            .enter_thread(bind(lab.tunnels()[line].client_address))
            .expect("the lab lives");
        sender
            .connect(receiver.local_addr().expect("it is bound"))
            .expect("there is a route");
        Source {
            sender,
            _receiver: receiver,
        }
    }

    /// Sends evenly over time.
    fn send(&self, bps: f64, stop: &AtomicBool) {
        let datagram = [0; PACKET - HEADERS];
        let begin = Instant::now();
        let gap_s = PACKET as f64 * 8.0 / bps;
        for number in 0u32.. {
            let due = Duration::from_secs_f64(f64::from(number) * gap_s);
            thread::sleep(due.saturating_sub(begin.elapsed()));
            if stop.load(Ordering::Relaxed) {
                return;
            }
            self.sender.send(&datagram).expect("it is sent");
        }
    }
}

fn row(case: &Case, reading: &Reading, realtime: bool) -> String {
    let names: Vec<String> = case.rates_mbps.iter().map(f64::to_string).collect();
    let error = |(flows, rate): (&[Flow; 2], &f64)| {
        let delivered_bps = flows[0].delivered_bytes as f64 * 8.0 / reading.measured_s;
        // Below the link's rate, the offered load must arrive, apart from random losses.
        (delivered_bps / (rate * 1e6 * case.load.min(1.0) * (1.0 - case.loss)) - 1.0).abs()
    };
    let worst = reading
        .tunnels
        .iter()
        .zip(case.rates_mbps)
        .map(error)
        .fold(0.0, f64::max);
    let (sent, lost) = reading
        .tunnels
        .iter()
        .fold((0, 0), |(sent, lost), [down, _]| {
            (
                sent + down.packets - down.queue_drops,
                lost + down.wire_losses,
            )
        });
    let ms = |ns: u64| format!("{:.3} ms", ns as f64 / 1e6);
    let lateness = reading.lateness;
    format!(
        "| {} | {:.0} % | {:.2} % | {} | {} | {} | {lost} of {sent} | {} |",
        names.join(" + "),
        case.load * 100.0,
        worst * 100.0,
        ms(lateness.p50_ns),
        ms(lateness.p99_ns),
        ms(lateness.max_ns),
        if realtime { "real-time" } else { "ordinary" },
    )
}
