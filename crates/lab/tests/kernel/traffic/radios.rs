//! Compares a scenario's traffic over emulated radios with closed forms. The tests with
//! milliseconds need an idle machine.

use joulepath_kernel::mptcp::MAX_SUBFLOWS;
use joulepath_kernel::mptcp::socket::Protocol;
use joulepath_lab::Program;
use joulepath_lab::traffic::{Outcome, Pair, Spec, Stack};
use joulepath_lab::{Lab, LabSpec};
use joulepath_model::cancel::Cancel;
use joulepath_model::scenario;

/// Runs the scenario's traffic in a lab, with Reno.
fn run(text: &str) -> Outcome {
    run_over(text, false)
}

fn run_over(text: &str, ipv6: bool) -> Outcome {
    let scenario = scenario::load(text, &|name| Err(format!("no trace {name}"))).unwrap();
    let program = Program::at(env!("CARGO_BIN_EXE_joulepath-worker"));
    let mut lab = Lab::start(
        &LabSpec {
            ipv6,
            ..LabSpec::of(&scenario, 1)
        },
        &program,
    )
    .unwrap();
    let stack = Stack {
        protocol: Protocol::Mptcp,
        congestion: "reno".into(),
        only_path: None,
        kernel_name: &|name| name.to_owned(),
    };
    let spec = Spec::of(&scenario, 1, &stack, lab.tunnels(), lab.server_address()).unwrap();
    let mut pair = Pair::start(spec, lab.server(), lab.client(), &program, &Cancel::new()).unwrap();
    pair.begin(lab.start_clock().unwrap()).unwrap();
    pair.finish().unwrap()
}

/// Allowed utilization of the links.
const FILLED: std::ops::Range<f64> = 0.80..1.02;

/// True if the first path carries about two thirds.
fn is_split(outcome: &Outcome) -> bool {
    (outcome.paths[0].share - 2.0 / 3.0).abs() < 0.08
}

#[test(needs(LAB, QUIET_CLOCK))]
fn two_radios_are_filled_in_proportion_to_their_rates() {
    let outcome = run(r#"
        title = "two radios"
        duration = "6 s"
        warm_up = "3 s"
        [[path]]
        name = "wifi"
        rate = "20 Mbit/s"
        delay = "10 ms"
        energy = "wifi-seed000"
        [[path]]
        name = "lte"
        rate = "10 Mbit/s"
        delay = "20 ms"
        energy = "lte-huang2012"
    "#);
    // 1460 of 1500 bytes are payload: 29.2 Mbit/s, plus data that waited for its order at the end
    // of the warm-up. A queue of a bandwidth-delay product keeps Reno busy.
    let part = outcome.goodput_bps / 30e6;
    eprintln!(
        "two radios: {part:.3} of the rate, shares {:.3} {:.3}",
        outcome.paths[0].share, outcome.paths[1].share
    );
    assert!(FILLED.contains(&part) && is_split(&outcome), "{outcome:#?}");
    // The RTT is the wire's plus up to a full queue of 100 packets of 1500 bytes: 60 ms and 120 ms.
    for (path, (least_s, most_s)) in outcome.paths.iter().zip([(0.020, 0.090), (0.040, 0.180)]) {
        assert!(
            (least_s..most_s).contains(&path.mean_rtt_s.unwrap()),
            "{outcome:#?}"
        );
    }
}

/// Allowed ratio to one window per RTT without a queue.
const A_WINDOW: std::ops::Range<f64> = 0.85..1.1;
const RTT_S: std::ops::Range<f64> = 0.100..0.110;

#[test(needs(LAB, QUIET_CLOCK))]
fn a_receive_buffer_limits_the_rate_to_a_window_per_rtt() {
    // With full segments the kernel measures the payload's share of a packet; with small ones it
    // never does.
    for mss in [1460, 536] {
        let outcome = run(&format!(
            r#"
            title = "a small buffer"
            duration = "3 s"
            warm_up = "1 s"
            [[path]]
            name = "far"
            rate = "50 Mbit/s"
            delay = "50 ms"
            energy = "wifi-seed000"
            [receiver]
            buffer = "64 KiB"
            [transport]
            mss = "{mss} B"
            "#
        ));
        // 65,536 · 8 bit / 0.1 s = 5.24 Mbit/s.
        let part = outcome.goodput_bps / 5.24e6;
        eprintln!("a small buffer, segments of {mss} bytes: {part:.3} of a window per RTT");
        assert!(
            A_WINDOW.contains(&part) && RTT_S.contains(&outcome.paths[0].mean_rtt_s.unwrap()),
            "{outcome:#?}"
        );
    }
}

/// The scenario `far` with a receive buffer that grows up to `max_memory`.
fn growing(max_memory: &str) -> Outcome {
    run(&format!(
        r#"
        title = "a growing buffer"
        duration = "6 s"
        warm_up = "3 s"
        [[path]]
        name = "far"
        rate = "20 Mbit/s"
        delay = "50 ms"
        queue = "170 packets"
        energy = "wifi-seed000"
        [receiver]
        buffer = "auto"
        memory = "64 KiB"
        max_memory = "{max_memory}"
        "#
    ))
}

/// The packet engine grows the window by the kernel's rule (`joulepath_model::receive`): up to 128
/// KiB of memory, 82,944 bytes of payload, 6.6 Mbit/s at an RTT of 100 ms; with 6 MiB, to the rate
/// of the link.
#[test(needs(LAB, QUIET_CLOCK))]
fn a_receive_buffer_grows_up_to_its_maximum() {
    let limited = growing("128 KiB");
    let part = limited.goodput_bps / (82_944.0 * 8.0 / 0.1);
    eprintln!("growth to 128 KiB: {part:.3} of a window per RTT");
    assert!(
        A_WINDOW.contains(&part) && RTT_S.contains(&limited.paths[0].mean_rtt_s.unwrap()),
        "{limited:#?}"
    );
    let roomy = growing("6 MiB");
    let part = roomy.goodput_bps / 20e6;
    eprintln!("growth to 6 MiB: {part:.3} of the rate");
    assert!(FILLED.contains(&part), "{roomy:#?}");
}

const MEDIAN_S: std::ops::Range<f64> = 0.0282..0.0320;

#[test(needs(LAB, QUIET_CLOCK))]
fn a_lone_message_takes_propagation_and_serialization() {
    let outcome = run(r#"
        title = "messages"
        duration = "4 s"
        [[path]]
        name = "radio"
        rate = "10 Mbit/s"
        delay = "20 ms"
        energy = "wifi-seed000"
        [workload]
        kind = "messages"
        mean_gap = "50 ms"
        size = "10 kB"
    "#);
    let delay = outcome.delay.unwrap();
    // 10 000 bytes and 7 headers at 10 Mbit/s: 8.3 ms, and 20 ms of propagation. One in six waits
    // for another.
    eprintln!(
        "messages: p50 {:.2} ms, mean {:.2} ms",
        delay.p50_s * 1e3,
        delay.mean_s * 1e3
    );
    assert!(MEDIAN_S.contains(&delay.p50_s), "{delay:?}");
    assert!((30..140).contains(&delay.count), "{delay:?}");
}

const COMPLETION_S: std::ops::Range<f64> = 0.395..0.440;

#[test(needs(LAB, QUIET_CLOCK))]
fn a_file_takes_the_rounds_of_slow_start() {
    let outcome = run(r#"
        title = "a file"
        duration = "30 s"
        [[path]]
        name = "radio"
        rate = "100 Mbit/s"
        delay = "50 ms"
        energy = "wifi-seed000"
        [workload]
        kind = "file"
        size = "100 kB"
    "#);
    // 69 segments from a window of 10: 10, 20, 39 in three rounds. The server may send after a
    // handshake of 150 ms. The last round arrives two RTTs and a propagation delay later, at 400
    // ms, plus 8.3 ms of serialization, most of which is hidden.
    let completion_s = outcome.completion_s.unwrap();
    eprintln!("a file: {completion_s:.4} s");
    assert!(COMPLETION_S.contains(&completion_s), "{outcome:#?}");
}

#[test(needs(LAB, IPV6))]
fn a_run_over_eight_ipv6_radios_uses_all_of_them() {
    const RATE_BPS: f64 = 4e6;
    let mut text =
        String::from("title = \"eight radios\"\nduration = \"4 s\"\nwarm_up = \"2 s\"\n");
    for path in 0..MAX_SUBFLOWS {
        let radio = format!(
            "name = \"radio{path}\"\nrate = \"4 Mbit/s\"\ndelay = \"10 ms\"\nenergy = \"wifi-seed000\""
        );
        text += &format!("[[path]]\n{radio}\n");
    }
    let outcome = run_over(&text, true);
    assert!(
        outcome.paths.len() == MAX_SUBFLOWS && (outcome.measured_s - 2.0).abs() < 1e-9,
        "{outcome:#?}"
    );
    // No path can take the load of another, so a sender with endless data needs all of them.
    for path in &outcome.paths {
        assert!(
            path.opened_s.is_some() && path.mean_cwnd >= 2.0,
            "{outcome:#?}"
        );
        assert!(
            path.mean_rtt_s.is_some_and(|rtt_s| rtt_s >= 0.020),
            "{outcome:#?}"
        );
        assert!(
            (0.1 * RATE_BPS..1.2 * RATE_BPS).contains(&path.goodput_bps),
            "{outcome:#?}"
        );
    }
}
