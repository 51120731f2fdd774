//! Compares the emulator's rate, delay, loss, marks and queues with the scenario. It measures with
//! datagrams, which do not adapt; the bounds allow for a busy machine.

use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, ScopedJoinHandle};
use std::time::{Duration, Instant};

use joulepath_lab::Lab;
use joulepath_link::{Link, Outcome};
use joulepath_model::units::Nanos;
use rustix::process::{Pid, Signal, kill_process};

use super::net::{lab, scenario};

/// IPv4 and UDP headers, bytes.
const HEADERS: usize = 28;

/// Datagrams from the server to the client over one tunnel.
pub(super) struct Datagrams {
    pub(super) sender: UdpSocket,
    pub(super) receiver: UdpSocket,
}

impl Datagrams {
    pub(super) fn new(lab: &Lab, line: usize) -> Self {
        let bind = |address| move || UdpSocket::bind(SocketAddr::new(address, 0)).unwrap();
        let sender = lab
            .server()
            .enter_thread(bind(lab.server_address()))
            .unwrap();
        let receiver = lab
            .client()
            .enter_thread(bind(lab.tunnels()[line].client_address))
            .unwrap();
        sender.connect(receiver.local_addr().unwrap()).unwrap();
        receiver
            .set_read_timeout(Some(Duration::from_secs(1)))
            .unwrap();
        // Room for datagrams that arrive while the test is not scheduled.
        rustix::net::sockopt::set_socket_recv_buffer_size_force(&receiver, 64 << 20).unwrap();
        Datagrams { sender, receiver }
    }

    /// Sends `count` numbered packets of 1500 bytes on the wire evenly over time at `bps`.
    pub(super) fn send(&self, count: u32, bps: f64) {
        let begin = Instant::now();
        let mut datagram = [0; 1500 - HEADERS];
        for number in 0..count {
            let due = Duration::from_secs_f64(f64::from(number) * 12_000.0 / bps);
            thread::sleep(due.saturating_sub(begin.elapsed()));
            datagram[..4].copy_from_slice(&number.to_be_bytes());
            self.sender.send(&datagram).unwrap();
        }
    }

    /// Sends such packets until `stop` is set. Returns the maximum lateness of a packet.
    fn send_until(&self, stop: &AtomicBool, bps: f64) -> Duration {
        let begin = Instant::now();
        let mut latest = Duration::ZERO;
        for number in 0u32.. {
            let due = Duration::from_secs_f64(f64::from(number) * 12_000.0 / bps);
            thread::sleep(due.saturating_sub(begin.elapsed()));
            if stop.load(Ordering::Relaxed) {
                break;
            }
            self.sender.send(&[0; 1500 - HEADERS]).unwrap();
            latest = latest.max(begin.elapsed().saturating_sub(due));
        }
        latest
    }

    /// Numbers and times of arrival, until nothing has arrived for a second.
    pub(super) fn receive(&self) -> Vec<(u32, Instant)> {
        let mut arrived = vec![];
        let mut datagram = [0; 1500];
        while self.receiver.recv(&mut datagram).is_ok() {
            let number = u32::from_be_bytes(datagram[..4].try_into().unwrap());
            arrived.push((number, Instant::now()));
        }
        arrived
    }
}

/// Sends over a tunnel and receives.
pub(super) fn through(lab: &Lab, line: usize, count: u32, bps: f64) -> Vec<(u32, Instant)> {
    let datagrams = Datagrams::new(lab, line);
    thread::scope(|scope| {
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

#[test(needs(LAB, ALONE))]
fn links_keep_their_rates_up_to_200_mbit_s_in_total() {
    let mut lab = lab(FAST, |_| {});
    let carried = rates_of(&mut lab, &[(0, 120e6, 150e6), (1, 80e6, 100e6)]);
    println!("measured rate / rate: {carried:?}");
    // The queues stay full even if the sending threads are stopped for some 10 ms: 1000 packets
    // take 100 ms.
    let is_kept = carried
        .iter()
        .all(|tunnel| (tunnel.part - 1.0).abs() < 0.02);
    let latest = carried
        .iter()
        .map(|tunnel| tunnel.latest)
        .max()
        .expect("two tunnels");
    if !is_kept && latest > Duration::from_millis(50) {
        joulepath_testbed::too_busy(format!(
            "packets were sent up to {} ms late",
            latest.as_millis()
        ));
    }
    assert!(is_kept, "{carried:?}");
}

/// What a tunnel carried.
#[derive(Debug)]
struct Carried {
    /// Fraction of its rate.
    part: f64,
    /// Maximum lateness of a sent packet. If it is large, the queue may have run empty, and the
    /// measurement is void.
    latest: Duration,
}

/// Measures tunnels, each with its rate and the offered load, bit/s. The emulator counts packets
/// and time, so this test's scheduling does not matter as long as there is something to send.
fn rates_of(lab: &mut Lab, tunnels: &[(usize, f64, f64)]) -> Vec<Carried> {
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let send = |&(tunnel, _, offered_bps): &(usize, f64, f64)| {
            let datagrams = Datagrams::new(lab, tunnel);
            let stop = &stop;
            scope.spawn(move || datagrams.send_until(stop, offered_bps))
        };
        let senders: Vec<_> = tunnels.iter().map(send).collect();
        // All queues that fill up are full by then.
        thread::sleep(Duration::from_millis(700));
        lab.begin_measurement().unwrap();
        thread::sleep(Duration::from_millis(1500));
        let reading = lab.snapshot().unwrap();
        stop.store(true, Ordering::Relaxed);
        let carried =
            |(&(tunnel, rate_bps, _), sender): (&(usize, f64, f64), ScopedJoinHandle<Duration>)| {
                let delivered_bits = reading.tunnels[tunnel][0].delivered_bytes as f64 * 8.0;
                let part = delivered_bits / reading.measured_s / rate_bps;
                Carried {
                    part,
                    latest: sender.join().expect("a sender does not panic"),
                }
            };
        tunnels.iter().zip(senders).map(carried).collect()
    })
}

/// 100 Mbit/s and 20 ms. The packets come at 30 Mbit/s and find no queue, unless the sender was
/// stopped and catches up, for which there is room.
pub(super) const SLOW: &str = r#"
title = "delay"
duration = "10 s"
[[path]]
name = "a"
rate = "100 Mbit/s"
delay = "20 ms"
queue = "5000 packets"
energy = "free"
"#;

#[test(needs(LAB, QUIET_CLOCK))]
fn packets_leave_when_they_are_due() {
    let mut lab = lab(SLOW, |_| {});
    assert_eq!(through(&lab, 0, 5000, 30e6).len(), 5000);
    let reading = lab.snapshot().unwrap();
    println!("{:?}", reading.lateness);
    // 1500 B at 100 Mbit/s take 120 µs, then 20 ms. Packets queue a little while the sender catches
    // up.
    let down = reading.tunnels[0][0];
    let mean_ms = down.transit_ns as f64 / down.delivered_packets as f64 / 1e6;
    assert!((20.12..21.0).contains(&mean_ms), "{mean_ms} ms");
    assert_eq!(reading.lateness.packets, 5000);
    assert!(
        reading.lateness.is_within(Nanos::from_millis(1)),
        "{:?}",
        reading.lateness
    );
    assert_eq!(
        reading.anomalies.oversized + reading.anomalies.malformed + reading.anomalies.refused,
        0
    );
}

#[test(needs(LAB))]
fn the_same_packets_are_lost_as_in_the_simulator() {
    let text = SLOW.replace("energy", "loss = \"5 %\"\nenergy");
    let lab = lab(&text, |_| {});
    let arrived = through(&lab, 0, 4000, 20e6);
    // The link itself tells which packets survive: its losses depend only on the packet's number.
    let mut link = Link::new(&scenario(&text).links[0], 1, 0);
    let survives = |number: &u32| {
        let at = Nanos(u64::from(*number) * 1_000_000);
        matches!(link.offer(at, 1500, false), Outcome::Delivered { .. })
    };
    let expected: Vec<u32> = (0..4000).filter(survives).collect();
    let numbers: Vec<u32> = arrived.iter().map(|(number, _)| *number).collect();
    assert_eq!(numbers, expected);
    // 5 % of 4000: 200 ± 5 standard deviations of √(4000·0.05·0.95) = 13.8.
    let lost = 4000 - numbers.len() as i32;
    assert!((lost - 200).abs() < 69, "{lost}");
}

#[test(needs(LAB))]
fn a_full_queue_drops_and_a_long_queue_marks() {
    let text = SLOW.replace("100 Mbit/s", "10 Mbit/s").replace(
        "\"5000 packets\"",
        "\"50 packets\"\necn_threshold = \"20 packets\"",
    );
    let mut lab = lab(&text, |_| {});
    let datagrams = Datagrams::new(&lab, 0);
    const ECT_0: u8 = 0b10;
    rustix::net::sockopt::set_ip_tos(&datagrams.sender, ECT_0).unwrap();
    // The emulator is stopped until all packets are sent, so the sender's scheduling does not
    // matter.
    let emulator = Pid::from_raw(lab.emulator_pid() as i32).unwrap();
    kill_process(emulator, Signal::STOP).unwrap();
    datagrams.send(200, f64::INFINITY);
    kill_process(emulator, Signal::CONT).unwrap();
    let arrived = datagrams.receive().len() as u64;
    let down = lab.snapshot().unwrap().tunnels[0][0];
    println!("{down:?}");
    assert_eq!(
        (
            down.packets,
            down.queue_drops + arrived,
            down.queue_high_water
        ),
        (200, 200, 50)
    );
    // One packet is being sent and fifty wait; thirty of them found twenty or more. The others are
    // dropped, except one per 1.2 ms while the emulator reads all of them. Each of those finds a
    // long queue.
    assert!((120..=149).contains(&down.queue_drops), "{down:?}");
    assert_eq!(down.marks, arrived - 21, "{down:?}");
}

#[test(needs(LAB))]
fn cross_traffic_takes_its_share_of_a_link() {
    let text = format!(
        "{}[[cross]]\npath = \"a\"\nkind = \"constant\"\nrate = \"6 Mbit/s\"\n",
        SLOW.replace("100 Mbit/s", "10 Mbit/s")
    );
    let mut lab = lab(&text, |_| {});
    // 7 and 6 Mbit/s share a queue with room for all, so they leave in proportion: 10·7/13 = 5.4
    // Mbit/s. Alone it would be 7 Mbit/s.
    let part = rates_of(&mut lab, &[(0, 10e6, 7e6)])[0].part;
    assert!((0.51..0.57).contains(&part), "{part} of the rate");
}
