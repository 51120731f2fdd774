//! Managed queues, policers, reordering and aggregation in the emulator. The tests check counts and
//! the emulator's own clock, so they work on a busy machine.

use std::time::Duration;

use joulepath_kernel::mptcp::socket::Protocol;
use joulepath_lab::Lab;
use joulepath_lab::emulator::messages::Flow;
use rustix::process::{Pid, Signal, kill_process};

use super::emulator::{Datagrams, SLOW, through};
use super::net::{connect, download, lab};

/// A scenario with 10 Mbit/s, at which a packet takes 1.2 ms, and with `keys` for the link to the
/// device.
fn with(keys: &str) -> String {
    SLOW.replace("100 Mbit/s", "10 Mbit/s")
        .replace("queue = \"5000 packets\"", keys)
}

fn down(lab: &mut Lab) -> Flow {
    lab.snapshot().unwrap().tunnels[0][0]
}

/// While the emulator is stopped, one sender queues 60 packets, then another queues one. In the
/// emulator the second flow has its own queue, which is served next. The 60 packets have left after
/// 72 ms, before CoDel's interval of 100 ms is over.
#[test(needs(LAB))]
fn fq_codel_serves_a_sparse_flow_before_a_backlog() {
    let position = |keys: &str| {
        let mut lab = lab(&with(keys), |_| {});
        let (bulk, sparse) = (Datagrams::new(&lab, 0), Datagrams::new(&lab, 0));
        // Both flows go to one receiver, which sees their order.
        sparse
            .sender
            .connect(bulk.receiver.local_addr().unwrap())
            .unwrap();
        let emulator = Pid::from_raw(lab.emulator_pid() as i32).unwrap();
        kill_process(emulator, Signal::STOP).unwrap();
        bulk.send(60, f64::INFINITY);
        sparse.sender.send(&[0xFF; 100]).unwrap();
        kill_process(emulator, Signal::CONT).unwrap();
        let arrived = bulk.receive();
        assert_eq!(arrived.len(), 61, "{:?}", down(&mut lab));
        arrived
            .iter()
            .position(|(number, _)| *number == u32::MAX)
            .unwrap()
    };
    // The emulator reads all 61 packets before it has sent many at 1.2 ms each.
    let (managed, plain) = (
        position("aqm = \"fq-codel\""),
        position("queue = \"1000 packets\""),
    );
    println!("position {managed} with FQ-CoDel, {plain} with DropTail");
    assert_eq!(plain, 60);
    assert!(managed < 30, "{managed}");
}

/// Three times the rate for one second. DropTail would hold 1000 packets and drop the rest; these
/// start to drop after 0.2 s at the latest, and never because the queue is full.
#[test(needs(LAB))]
fn managed_queues_drop_before_the_queue_is_full() {
    for aqm in ["codel", "pie", "dualpi2"] {
        let mut lab = lab(
            &with(&format!("aqm = \"{aqm}\"\nqueue = \"5000 packets\"")),
            |_| {},
        );
        let arrived = through(&lab, 0, 2500, 30e6).len() as u64;
        let down = down(&mut lab);
        println!("{aqm}: {down:?}");
        assert_eq!((down.packets, arrived + down.queue_drops), (2500, 2500));
        assert!(down.queue_drops > 10, "{aqm}: {down:?}");
        assert!(down.queue_high_water < 5000, "{aqm}: {down:?}");
    }
}

/// A bucket of 30 packets that fills at 83 packets a second: of 100 packets at once it passes 30,
/// and those for which it refills while the packets are read.
#[test(needs(LAB))]
fn a_policer_passes_its_bucket() {
    let keys = "queue = \"1000 packets\"\npolicer = { rate = \"1 Mbit/s\", burst = \"45 kB\" }";
    let mut lab = lab(&with(keys), |_| {});
    let datagrams = Datagrams::new(&lab, 0);
    let emulator = Pid::from_raw(lab.emulator_pid() as i32).unwrap();
    kill_process(emulator, Signal::STOP).unwrap();
    datagrams.send(100, f64::INFINITY);
    kill_process(emulator, Signal::CONT).unwrap();
    let numbers: Vec<u32> = datagrams
        .receive()
        .iter()
        .map(|(number, _)| *number)
        .collect();
    let down = down(&mut lab);
    assert_eq!(numbers[..30], (0..30).collect::<Vec<u32>>(), "{down:?}");
    // 12 ms per further packet: the emulator may lose the processor for a while.
    assert!((30..=60).contains(&numbers.len()), "{}", numbers.len());
    assert_eq!(down.queue_drops + numbers.len() as u64, 100, "{down:?}");
}

/// One in ten packets is held until three have passed it.
#[test(needs(LAB))]
fn packets_are_overtaken() {
    let keys = "queue = \"5000 packets\"\nreorder = { share = \"10 %\", depth = \"3 packets\" }";
    let mut lab = lab(&with(keys), |_| {});
    let numbers: Vec<u32> = through(&lab, 0, 2000, 8e6)
        .iter()
        .map(|(number, _)| *number)
        .collect();
    assert_eq!(numbers.len(), 2000, "{:?}", down(&mut lab));
    let mut highest = 0;
    let late = numbers.iter().filter(|number| {
        let is_late = **number < highest;
        highest = highest.max(**number);
        is_late
    });
    let late = late.count();
    // 200 with a standard deviation of 13.4; nothing may pass the last few.
    assert!((130..=270).contains(&late), "{late}");
}

/// One burst per 40 ms: a packet waits 20 ms on average, in addition to 20 ms of delay and 1.2 ms
/// of transmission. Times are those of the emulator's clock at which packets are due.
#[test(needs(LAB))]
fn packets_come_in_bursts() {
    let keys =
        "queue = \"5000 packets\"\naggregate = { period = \"40 ms\", size = \"5000 packets\" }";
    let mut lab = lab(&with(keys), |_| {});
    assert_eq!(through(&lab, 0, 1500, 5e6).len(), 1500);
    let down = down(&mut lab);
    let mean_ms = down.transit_ns as f64 / down.delivered_packets as f64 / 1e6;
    // Packets also queue while the sender catches up.
    assert!((39.0..50.0).contains(&mean_ms), "{mean_ms} ms");
}

/// The kernel's own TCP through each queue: it fills DropTail, but not the managed queues.
#[test(needs(LAB))]
fn a_managed_queue_limits_the_delay_of_tcp() {
    let mean_ms = |keys: &str| {
        let mut lab = lab(&with(keys), |_| {});
        let mut pair = connect(&lab, 0, Protocol::Mptcp);
        download(&mut pair, Duration::from_secs(2));
        lab.begin_measurement().unwrap();
        assert!(
            download(&mut pair, Duration::from_secs(4)) > 1_000_000,
            "{keys}"
        );
        let down = down(&mut lab);
        println!("{keys}: {down:?}");
        down.transit_ns as f64 / down.delivered_packets as f64 / 1e6
    };
    let plain = mean_ms("queue = \"500 packets\"");
    let managed =
        ["codel", "fq-codel", "pie", "dualpi2"].map(|aqm| mean_ms(&format!("aqm = \"{aqm}\"")));
    println!(
        "mean time on the link: DropTail {plain} ms, CoDel, FQ-CoDel, PIE, DualPI2 {managed:?} ms"
    );
    // 21 ms without a queue; 500 packets take 600 ms.
    assert!(plain > 100.0, "{plain} ms");
    assert!(
        managed.iter().all(|managed| *managed < 75.0),
        "{managed:?} ms"
    );
}

/// The kernel's TCP over a path that reorders: it undoes its reductions as the simulator's TCP
/// does, and keeps its rate.
#[test(needs(LAB))]
fn the_kernels_tcp_tolerates_reordering() {
    let keys = "queue = \"50 packets\"\nreorder = { share = \"1 %\", depth = \"5 packets\" }";
    let mut lab = lab(&with(keys), |_| {});
    let mut pair = connect(&lab, 0, Protocol::Mptcp);
    download(&mut pair, Duration::from_secs(2));
    lab.begin_measurement().unwrap();
    download(&mut pair, Duration::from_secs(4));
    let reading = lab.snapshot().unwrap();
    let part = reading.tunnels[0][0].delivered_bytes as f64 * 8.0 / reading.measured_s / 10e6;
    // A loss of 1 % would leave 0.6 of the rate.
    assert!(part > 0.75, "{part} of the rate");
}
