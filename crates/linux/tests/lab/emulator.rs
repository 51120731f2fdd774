//! The emulator against what the scenario says: rate, delay, loss, marks, queues. Measured with datagrams, which react to
//! nothing; bounds stand on a machine that other work keeps busy.

use std::net::{SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

use joulepath_link::{Link, Outcome};
use joulepath_linux::emulator::messages::{Flow, Reading};
use joulepath_linux::lab::Lab;
use joulepath_model::units::Nanos;

use crate::attempts::attempts;
use crate::net::{lab, scenario};

/// IPv4 and UDP headers, bytes.
const HEADERS: usize = 28;

/// Datagrams from the server to the client over one line.
struct Datagrams {
    sender: UdpSocket,
    receiver: UdpSocket,
}

impl Datagrams {
    fn new(lab: &Lab, line: usize) -> Self {
        let bind = |address| move || UdpSocket::bind(SocketAddr::new(address, 0)).unwrap();
        let sender = lab.server().enter_thread(bind(lab.server_address())).unwrap();
        let receiver = lab.client().enter_thread(bind(lab.lines()[line].client_address)).unwrap();
        sender.connect(receiver.local_addr().unwrap()).unwrap();
        receiver.set_read_timeout(Some(Duration::from_secs(1))).unwrap();
        // Room for what comes while the test is not scheduled.
        rustix::net::sockopt::set_socket_recv_buffer_size_force(&receiver, 64 << 20).unwrap();
        Datagrams { sender, receiver }
    }

    /// Sends `count` packets of 1500 bytes on the wire, numbered, evenly over time at `bps`.
    fn send(&self, count: u32, bps: f64) {
        let begin = Instant::now();
        let mut datagram = [0; 1500 - HEADERS];
        for number in 0..count {
            let due = Duration::from_secs_f64(f64::from(number) * 12_000.0 / bps);
            std::thread::sleep(due.saturating_sub(begin.elapsed()));
            datagram[..4].copy_from_slice(&number.to_be_bytes());
            self.sender.send(&datagram).unwrap();
        }
    }

    /// Numbers and instants of all that arrive, until nothing has come for a second.
    fn receive(&self) -> Vec<(u32, Instant)> {
        let mut arrived = vec![];
        let mut datagram = [0; 1500];
        while self.receiver.recv(&mut datagram).is_ok() {
            let number = u32::from_be_bytes(datagram[..4].try_into().unwrap());
            arrived.push((number, Instant::now()));
        }
        arrived
    }
}

/// Sends over a line and receives.
fn through(lab: &Lab, line: usize, count: u32, bps: f64) -> Vec<(u32, Instant)> {
    let datagrams = Datagrams::new(lab, line);
    std::thread::scope(|scope| {
        let arrived = scope.spawn(|| datagrams.receive());
        datagrams.send(count, bps);
        arrived.join().unwrap()
    })
}

/// Two fast paths, 200 Mbit/s in all.
const FAST: &str = r#"
title = "fast"
duration = "10 s"
[[path]]
name = "a"
rate = "120 Mbit/s"
delay = "5 ms"
queue = "1000 packets"
energy = "free"
[[path]]
name = "b"
rate = "80 Mbit/s"
delay = "5 ms"
queue = "1000 packets"
energy = "free"
"#;

#[test]
fn rates_are_kept_up_to_200_mbit_s_in_all() {
    let Some(_machine) = crate::common::machine() else { return };
    let lab = lab(FAST, |_| {});
    // The aim is 2 %, and the usual error 0.01 %; the receiving thread may be stopped for some 10 ms of 1.5 s at either end.
    let right = |rates: &[f64; 2]| rates.iter().all(|rate| (rate - 1.0).abs() < 0.02);
    let rates = attempts(|| rates_of(&lab), right);
    println!("measured rate / rate: {rates:?}");
    assert!(right(&rates), "{rates:?}");
}

/// Measured rates of both lines, in parts of their rates.
fn rates_of(lab: &Lab) -> [f64; 2] {
    // A quarter more than fits, for about two seconds: the queues stay full.
    std::thread::scope(|scope| {
        let measure = |line, bps: f64| {
            scope.spawn(move || {
                let arrived = through(lab, line, (2.0 * bps / 12_000.0) as u32, 1.25 * bps);
                // From the fiftieth on, when the queue is there, to the last but 1000, which found it full.
                let counted = &arrived[50..arrived.len() - 1000];
                let seconds = (counted[counted.len() - 1].1 - counted[0].1).as_secs_f64();
                (counted.len() - 1) as f64 * 12_000.0 / seconds / bps
            })
        };
        let threads = [measure(0, 120e6), measure(1, 80e6)];
        threads.map(|thread| thread.join().unwrap())
    })
}

/// 100 Mbit/s and 20 ms; the packets come at 30 Mbit/s and find no queue, unless the sender was stopped: then there is room for
/// what it catches up on.
const SLOW: &str = r#"
title = "delay"
duration = "10 s"
[[path]]
name = "a"
rate = "100 Mbit/s"
delay = "20 ms"
queue = "5000 packets"
energy = "free"
"#;

#[test]
fn packets_leave_when_they_are_due() {
    let Some(_machine) = crate::common::machine() else { return };
    let measure = || {
        let mut lab = lab(SLOW, |_| {});
        assert_eq!(through(&lab, 0, 5000, 30e6).len(), 5000);
        lab.snapshot().unwrap()
    };
    // 1500 B at 100 Mbit/s take 120 µs, then 20 ms. Two packets that the sender catches up on meet: at most a few more.
    let mean_ms = |reading: &Reading| {
        let down = reading.lines[0][0];
        down.transit_ns as f64 / down.delivered_packets as f64 / 1e6
    };
    let in_time = |reading: &Reading| (20.12..21.0).contains(&mean_ms(reading));
    // Calm, p99 is below 0.1 ms. Half of the packets are on time on any machine that is not unusable.
    let right = |reading: &Reading| in_time(reading) && reading.lateness.p50_ns < 1_000_000;
    let reading = attempts(measure, right);
    println!("{:?}", reading.lateness);
    assert!(in_time(&reading), "{} ms", mean_ms(&reading));
    assert_eq!(reading.lateness.packets, 5000);
    assert!(reading.lateness.p50_ns < 1_000_000, "{:?}", reading.lateness);
    assert_eq!(reading.anomalies.oversized + reading.anomalies.malformed + reading.anomalies.refused, 0);
}

#[test]
fn the_same_packets_are_lost_as_in_the_simulator() {
    let Some(_machine) = crate::common::machine() else { return };
    let text = SLOW.replace("energy", "loss = \"5 %\"\nenergy");
    let lab = lab(&text, |_| {});
    let arrived = through(&lab, 0, 4000, 20e6);
    // The link itself says which: its losses depend on the number of the packet alone.
    let mut link = Link::new(&scenario(&text).links[0], 1, 0);
    let survives = |number: &u32| {
        let at = Nanos(u64::from(*number) * 1_000_000);
        matches!(link.offer(at, 1500, false), Outcome::Delivered { .. })
    };
    let expected: Vec<u32> = (0..4000).filter(survives).collect();
    let numbers: Vec<u32> = arrived.iter().map(|(number, _)| *number).collect();
    assert_eq!(numbers, expected);
    // And they are 5 %: 200 ± 5 standard deviations of √(4000·0.05·0.95) = 13.8.
    let lost = 4000 - numbers.len() as i32;
    assert!((lost - 200).abs() < 69, "{lost}");
}

#[test]
fn a_full_queue_drops_and_a_long_one_marks() {
    let Some(_machine) = crate::common::machine() else { return };
    let text = SLOW
        .replace("100 Mbit/s", "10 Mbit/s")
        .replace("\"5000 packets\"", "\"50 packets\"\necn_threshold = \"20 packets\"");
    let measure = || {
        let mut lab = lab(&text, |_| {});
        let datagrams = Datagrams::new(&lab, 0);
        const ECT_0: u8 = 0b10;
        rustix::net::sockopt::set_ip_tos(&datagrams.sender, ECT_0).unwrap();
        // 1.2 ms each: all 200 come before the second has left, if the sender is not stopped for long.
        datagrams.send(200, 1e9);
        let arrived = datagrams.receive().len() as u64;
        (lab.snapshot().unwrap().lines[0][0], arrived)
    };
    // One is sent, fifty wait: of these thirty found twenty or more and are marked, and whatever had room later. A sender that
    // is stopped for some milliseconds lets a few leave meanwhile.
    let right =
        |(down, arrived): &(Flow, u64)| down.queue_drops > 100 && (25..=arrived - 21).contains(&down.marks);
    let (down, arrived) = attempts(measure, right);
    println!("{down:?}");
    assert_eq!(down.packets, 200);
    assert_eq!(down.queue_drops + arrived, 200);
    assert_eq!(down.queue_high_water, 50);
    assert!(right(&(down, arrived)), "{down:?}, {arrived} arrived");
}

#[test]
fn cross_traffic_takes_its_part_of_a_link() {
    let Some(_machine) = crate::common::machine() else { return };
    let text = format!(
        "{}[[cross]]\npath = \"a\"\nkind = \"constant\"\nrate = \"6 Mbit/s\"\n",
        SLOW.replace("100 Mbit/s", "10 Mbit/s")
    );
    let measure = || {
        let lab = lab(&text, |_| {});
        let arrived = through(&lab, 0, 2000, 7e6);
        assert_eq!(arrived.len(), 2000);
        let (_, last) = arrived[arrived.len() - 1];
        (arrived.len() - 1) as f64 * 12_000.0 / (last - arrived[0].1).as_secs_f64()
    };
    // 7 and 6 Mbit/s come to a queue that has room for all of them, so they leave in proportion: 10·7/13 = 5.4 Mbit/s. Alone, it
    // would be 7.
    let right = |bps: &f64| (5.1e6..5.7e6).contains(bps);
    let bps = attempts(measure, right);
    assert!(right(&bps), "{bps}");
}
