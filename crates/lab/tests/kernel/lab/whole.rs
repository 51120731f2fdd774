//! MPTCP over emulated radios.

use std::time::{Duration, Instant};

use joulepath_kernel::mptcp::info;
use joulepath_kernel::mptcp::socket::Protocol;
use joulepath_lab::Lab;

use super::net::{TWO_PATHS, connect, download, lab};

/// Payload of a segment with the kernel's headers: IP, TCP, timestamps, data sequence signal.
const MSS: u64 = 1460;

#[test(needs(LAB, IPV6))]
fn a_connection_fills_both_paths_over_ipv4_and_ipv6() {
    // Two labs at once.
    std::thread::scope(|scope| {
        for ipv6 in [false, true] {
            scope.spawn(move || fill_both_paths(ipv6));
        }
    });
}

fn fill_both_paths(ipv6: bool) {
    let mut lab = lab(TWO_PATHS, |spec| spec.ipv6 = ipv6);
    lab.announce(1, false).unwrap();
    let mut pair = connect(&lab, 0, Protocol::Mptcp);
    download(&mut pair, Duration::from_secs(1));
    lab.begin_measurement().unwrap();
    download(&mut pair, Duration::from_secs(4));
    let full = info::full_info(&pair.client).unwrap();
    assert!(!full.is_plain_tcp());
    assert_eq!(full.subflows.len(), 2);
    let reading = lab.snapshot().unwrap();
    for (line, rate) in [(0, 20e6), (1, 10e6)] {
        let [down, up] = reading.tunnels[line];
        // Reno with a queue of a hundred packets keeps a link busy; 60 % allow for a loss in slow
        // start.
        let part = down.delivered_bytes as f64 * 8.0 / reading.measured_s / rate;
        assert!(
            (0.6..1.01).contains(&part),
            "ipv6 {ipv6}, line {line}: {part} of the rate"
        );
        // A full segment has the scenario's payload and counts with the scenario's size.
        let per_packet = down.delivered_payload / down.delivered_packets;
        assert!(
            (MSS - 30..=MSS).contains(&per_packet),
            "{per_packet} B of payload per packet"
        );
        assert!(up.delivered_bytes < down.delivered_bytes / 10);
    }
    let anomalies = reading.anomalies;
    assert_eq!(
        (anomalies.oversized, anomalies.malformed, anomalies.refused),
        (0, 0, 0)
    );
    // WiFi: 1 W while the subflow is open, 100 mW per Mbit/s.
    let wifi = reading.energy.interfaces[0];
    assert!(
        (wifi.sunk_j / reading.measured_s - 1.0).abs() < 0.01,
        "{wifi:?}"
    );
    let megabits = reading.tunnels[0][0].delivered_bytes as f64 * 8e-6;
    assert!(
        (wifi.transfer_j / (0.1 * megabits) - 1.0).abs() < 0.05,
        "{wifi:?}"
    );
}

#[test(needs(LAB))]
fn marks_reach_the_receiver_and_slow_the_sender() {
    let text = format!(
        "{}[transport]\necn = true\n",
        TWO_PATHS.replace("delay = \"10 ms\"", MARKING)
    );
    let mut lab = lab(&text, |_| {});
    let mut pair = connect(&lab, 0, Protocol::Mptcp);
    download(&mut pair, Duration::from_secs(3));
    let reading = lab.snapshot().unwrap();
    let [down, _] = reading.tunnels[0];
    let told = info::full_info(&pair.server).unwrap().subflows[0]
        .tcp
        .marked_packets;
    assert!(
        down.marks > 0 && told > 0,
        "{} marked, the sender knows of {told}",
        down.marks
    );
    // A receiver echoes a mark until it is acknowledged, so the sender counts up to a window more
    // per mark.
    assert!(
        down.queue_high_water < 100,
        "the queue never has to drop: {down:?}"
    );
}

const MARKING: &str = "delay = \"10 ms\"\nqueue = \"200 packets\"\necn_threshold = \"20 packets\"";

#[test(needs(LAB))]
fn an_interface_can_go_down_and_up() {
    let mut lab = lab(TWO_PATHS, |_| {});
    lab.announce(1, false).unwrap();
    let mut pair = connect(&lab, 0, Protocol::Mptcp);
    assert!(download(&mut pair, Duration::from_secs(1)) > 0);
    lab.set_tunnel(0, false).unwrap();
    // Packets lost on this path are sent again on the other once the kernel has noticed, after a
    // few RTOs.
    let deadline = Instant::now() + Duration::from_secs(20);
    let before = lab.snapshot().unwrap().tunnels;
    while download(&mut pair, Duration::from_millis(500)) == 0 {
        assert!(
            Instant::now() < deadline,
            "the other path does not take over"
        );
    }
    let down = lab.snapshot().unwrap().tunnels;
    assert_eq!(down[0][0].delivered_packets, before[0][0].delivered_packets);
    assert!(down[1][0].delivered_packets > before[1][0].delivered_packets);
    lab.set_tunnel(0, true).unwrap();
    // The backoff of a subflow that lost everything for seconds doubles, so it may take as long
    // again.
    let deadline = Instant::now() + Duration::from_secs(20);
    while lab.snapshot().unwrap().tunnels[0][0].delivered_packets == down[0][0].delivered_packets {
        assert!(Instant::now() < deadline, "the path is not used again");
        download(&mut pair, Duration::from_millis(500));
    }
}

#[test(needs(LAB))]
fn two_simultaneous_labs_are_separate() {
    let mut labs = [lab(TWO_PATHS, |_| {}), lab(TWO_PATHS, |_| {})];
    assert_ne!(labs[0].id(), labs[1].id());
    // Both have the same addresses and device names; only one has traffic.
    let mut pair = connect(&labs[0], 0, Protocol::Mptcp);
    assert!(download(&mut pair, Duration::from_secs(1)) > 0);
    let packets = |lab: &mut Lab| lab.snapshot().unwrap().tunnels[0][0].packets;
    assert!(packets(&mut labs[0]) > 0);
    assert_eq!(packets(&mut labs[1]), 0);
    let [one, mut two] = labs;
    drop(one);
    let mut pair = connect(&two, 0, Protocol::Mptcp);
    assert!(download(&mut pair, Duration::from_secs(1)) > 0);
    assert!(packets(&mut two) > 0);
}

#[test(needs(LAB))]
fn a_competitor_has_its_own_tunnel_and_consumes_no_energy() {
    let mut lab = lab(SHARED, |_| {});
    let names: Vec<&str> = lab
        .tunnels()
        .iter()
        .map(|line| line.name.as_str())
        .collect();
    assert_eq!(names, ["wifi", "other"]);
    let mut pair = connect(&lab, 1, Protocol::Tcp);
    download(&mut pair, Duration::from_secs(2));
    let reading = lab.snapshot().unwrap();
    assert!(
        reading.tunnels[1][0].delivered_bytes > 500_000,
        "{reading:?}"
    );
    assert_eq!(reading.energy.interfaces.len(), 1);
    assert_eq!(reading.energy.interfaces[0].transfer_j, 0.0);
}

const SHARED: &str = r#"
title = "shared bottleneck"
duration = "10 s"
[[link]]
name = "bottleneck"
rate = "10 Mbit/s"
delay = "10 ms"
[[path]]
name = "wifi"
via = ["bottleneck"]
energy = { per_mbps = "100 mW", active = "1 W" }
[[competitor]]
name = "other"
via = ["bottleneck"]
cc = "reno"
"#;

/// A window of 64 KiB, which fills a tenth of 50 Mbit/s.
const FAR: &str = r#"
title = "a small buffer"
duration = "10 s"
[[path]]
name = "far"
rate = "50 Mbit/s"
delay = "50 ms"
energy = "free"
[receiver]
buffer = "64 KiB"
"#;

#[test(needs(LAB))]
fn a_program_without_a_buffer_setting_gets_the_scenarios() {
    let mut lab = lab(FAR, |_| {});
    let mut pair = connect(&lab, 0, Protocol::Mptcp);
    download(&mut pair, Duration::from_secs(1));
    lab.begin_measurement().unwrap();
    download(&mut pair, Duration::from_secs(2));
    let reading = lab.snapshot().unwrap();
    let payload = reading.tunnels[0][0].delivered_payload;
    // 65,536 · 8 bit / 0.1 s = 5.24 Mbit/s.
    let part = payload as f64 * 8.0 / reading.measured_s / 5.24e6;
    assert!((0.8..1.15).contains(&part), "{part} of a window per RTT");
}

#[test(needs(LAB))]
fn differences_to_the_scenario_are_listed() {
    let text = format!("{TWO_PATHS}[transport]\nrto_initial = \"3 s\"\n");
    let lab = lab(&text, |_| {});
    assert!(
        lab.differences()
            .iter()
            .any(|text| text.contains("rto_initial is 3 s")),
        "{:?}",
        lab.differences()
    );
}

#[test(needs(LAB))]
fn an_unknown_controller_is_refused_by_name() {
    let mut spec = joulepath_lab::LabSpec::of(&super::net::scenario(TWO_PATHS), 1);
    spec.default_cc = "jp_nonesuch".into();
    let error = Lab::start(&spec, &super::net::program()).unwrap_err();
    assert!(error.to_string().contains("jp_nonesuch"), "{error}");
    assert!(
        error
            .remedy()
            .is_some_and(|remedy| remedy.contains("joulepath cc load")),
        "{error:?}"
    );
}
