//! Bursts of losses: the TCP-rate reference and the fluid engine, compared with the packet engine.

use joulepath_control::limit::limits;
use joulepath_fluid::{RunError, RunOptions, Unsupported, run};

use crate::assert_near;
use crate::runs::{scenario, setup};

/// Largest relative difference from the packet engine.
const TOLERANCE: f64 = 0.15;

/// The `loss` of a link that loses `mean` of all packets, and `bad` of them in bursts of `burst`
/// packets.
fn bursty(mean: f64, burst: f64, bad: f64) -> String {
    let (leave, share) = (1.0 / burst, mean / bad);
    let enter = leave * share / (1.0 - share);
    let percent = |p: f64| format!("\"{:.6} %\"", 100.0 * p);
    format!(
        "{{ enter_bad = {}, leave_bad = {}, loss_bad = {} }}",
        percent(enter),
        percent(leave),
        percent(bad)
    )
}

/// A path that is never full: 100 Mbit/s.
fn path(name: &str, rtt_ms: u32, loss: &str) -> String {
    format!(
        "[[path]]\nname = \"{name}\"\nrate = \"100 Mbit/s\"\ndelay = \"{} ms\"\nqueue = \"500 \
         packets\"\nloss = {loss}\nenergy = \"wifi-huang2012\"\n",
        rtt_ms / 2
    )
}

fn bulk(paths: &str) -> String {
    format!("duration = \"1500 s\"\nwarm_up = \"20 s\"\n{paths}")
}

/// Mean goodput of the packet engine over two seeds, bit/s.
fn packet_bps(toml: &str, policy: &str) -> f64 {
    let scenario = scenario(toml);
    let of_seed = |seed| {
        let options = joulepath_packet::RunOptions::default();
        let result = joulepath_packet::run(&scenario, &setup(policy, &scenario), seed, options);
        result.expect("the scenario runs").goodput_bps
    };
    f64::midpoint(of_seed(1), of_seed(2))
}

fn fluid_bps(toml: &str, policy: &str) -> f64 {
    let scenario = scenario(toml);
    let result = run(
        &scenario,
        &setup(policy, &scenario),
        1,
        RunOptions::default(),
    );
    result.expect("the scenario runs").goodput_bps
}

fn reference_bps(toml: &str) -> f64 {
    let limits = limits(&scenario(toml));
    limits
        .iter()
        .find(|limit| limit.kind == "tcp-reference")
        .expect("a reference")
        .goodput_bps
}

/// Without events in place of lost packets the reference is 0.26 to 0.72 of the packet engine here.
#[test]
fn reference_and_fluid_engine_count_a_burst_once() {
    for (rtt_ms, bad) in [(40, 0.5), (100, 0.5), (40, 1.0)] {
        for mean in [0.001, 0.003] {
            for burst in [3.0, 10.0, 25.0] {
                if bad == 1.0 && burst > 3.0 {
                    continue; // these bursts stop a TCP
                }
                let toml = bulk(&path("only", rtt_ms, &bursty(mean, burst, bad)));
                let what = format!("{rtt_ms} ms, {mean} in bursts of {burst}");
                let measured_bps = packet_bps(&toml, "reno");
                assert_near(
                    &format!("reference, {what}"),
                    reference_bps(&toml),
                    measured_bps,
                    TOLERANCE,
                );
                assert_near(
                    &format!("NewReno, {what}"),
                    fluid_bps(&toml, "reno"),
                    measured_bps,
                    TOLERANCE,
                );
                let cubic_bps = packet_bps(&toml, "cubic");
                // RFC 9438's response function assumes equal intervals between losses.
                let tolerance = if rtt_ms > 40 { 0.2 } else { TOLERANCE };
                assert_near(
                    &format!("CUBIC, {what}"),
                    fluid_bps(&toml, "cubic"),
                    cubic_bps,
                    tolerance,
                );
            }
        }
    }
}

/// 1 and 3 % in bursts that lose every retransmission with some probability: the reference has
/// their stalls.
#[test]
fn the_reference_counts_lost_retransmissions() {
    for (mean, burst) in [
        (0.01, 3.0),
        (0.01, 10.0),
        (0.01, 30.0),
        (0.03, 3.0),
        (0.03, 10.0),
    ] {
        let toml = bulk(&path("only", 40, &bursty(mean, burst, 0.5)));
        let what = format!("{mean} in bursts of {burst}");
        assert_near(
            &what,
            reference_bps(&toml),
            packet_bps(&toml, "reno"),
            TOLERANCE,
        );
    }
}

/// Every packet of a burst is lost. One event in a hundred loses its retransmission, and then, with
/// one packet for each timeout, four of five that follow, or nine of ten: without an end to the run
/// such stalls take half of the time. In 60 to 120 s most of that does not fit.
#[test]
fn the_reference_counts_stalls_no_longer_than_the_run() {
    for (enter, leave, seconds) in [
        ("0.2 %", "20 %", 120),
        ("0.05 %", "10 %", 60),
        ("0.05 %", "10 %", 120),
    ] {
        let loss =
            format!("{{ enter_bad = \"{enter}\", leave_bad = \"{leave}\", loss_bad = \"100 %\" }}");
        let toml = format!(
            "duration = \"{seconds} s\"\nwarm_up = \"10 s\"\n{}",
            path("only", 70, &loss)
        );
        let random = scenario(&toml);
        let seeds = 1..=40;
        let of_seed = |seed| {
            let options = joulepath_packet::RunOptions::default();
            let result = joulepath_packet::run(&random, &setup("reno", &random), seed, options);
            result.expect("the scenario runs").goodput_bps
        };
        let measured_bps = seeds.clone().map(of_seed).sum::<f64>() / seeds.count() as f64;
        assert_near(
            &format!("{enter}, {leave}, {seconds} s"),
            reference_bps(&toml),
            measured_bps,
            TOLERANCE,
        );
    }
}

/// Links of 10 to 60 Mbit/s, so loss, the link, or both about equally limit the window. Without the
/// variance of the window the engine is above the packet engine by up to 31 %.
#[test]
fn the_fluid_engine_follows_random_losses_on_full_and_empty_links() {
    let on_link = |mbps: u32, rtt_ms: u32, loss: &str| {
        let queue = (mbps * rtt_ms / 12).max(20);
        let path = path("only", rtt_ms, loss)
            .replace("100 Mbit/s", &format!("{mbps} Mbit/s"))
            .replace("500 packets", &format!("{queue} packets"));
        bulk(&path)
    };
    for (mbps, rtt_ms) in [(10, 30), (10, 80), (60, 30), (60, 200)] {
        for mean in [0.0005, 0.003, 0.01, 0.05] {
            for burst in [1.0, 3.0] {
                if mean == 0.05 && burst > 1.0 {
                    continue; // these bursts stop a TCP
                }
                let loss = match burst {
                    1.0 => format!("\"{} %\"", 100.0 * mean),
                    _ => bursty(mean, burst, 0.5),
                };
                let toml = on_link(mbps, rtt_ms, &loss);
                assert_near(
                    &format!("{mbps} Mbit/s, {rtt_ms} ms, {mean} in bursts of {burst}"),
                    fluid_bps(&toml, "reno"),
                    packet_bps(&toml, "reno"),
                    TOLERANCE,
                );
            }
        }
    }
}

#[test]
fn coupled_windows_meet_bursts_as_events() {
    let paths =
        path("near", 40, &bursty(0.003, 10.0, 0.5)) + &path("far", 80, &bursty(0.001, 3.0, 0.5));
    let toml = bulk(&paths);
    assert_near(
        "LIA",
        fluid_bps(&toml, "lia"),
        packet_bps(&toml, "lia"),
        TOLERANCE,
    );
}

/// Bursts of 30 lost packets at a window of 60.
#[test]
fn the_fluid_engine_refuses_bursts_that_stop_a_tcp() {
    let toml = bulk(&path("only", 40, &bursty(0.01, 30.0, 1.0)));
    let scenario = scenario(&toml);
    let error = run(
        &scenario,
        &setup("reno", &scenario),
        1,
        RunOptions::default(),
    )
    .map(|_| ());
    let Err(RunError::Unsupported(Unsupported::Bursts { link, percent })) = error else {
        panic!("{error:?}");
    };
    assert_eq!(link, "only.down");
    assert!((50..=100).contains(&percent), "{percent}");
}

/// Losses that meet by chance couple paths without a common link for 10 to 40 % of the time, and
/// then growth is a quarter. Uncoupled, the engine is 28 and 34 % above the packet engine.
#[test]
fn dwc_takes_losses_that_meet_by_chance_for_a_shared_bottleneck() {
    for [near, far] in [[(36, 1.0), (80, 1.0)], [(126, 0.5), (198, 2.4)]] {
        let on =
            |name, (rtt_ms, percent): (u32, f64)| path(name, rtt_ms, &format!("\"{percent} %\""));
        let toml = bulk(&(on("near", near) + &on("far", far)));
        let [detecting, uncoupled] = ["mptcp[cc=dwc]", "uncoupled"].map(|policy| {
            let fluid_bps = fluid_bps(&toml, policy);
            let packet_bps = packet_bps(&toml, policy);
            assert_near(policy, fluid_bps, packet_bps, TOLERANCE);
            fluid_bps
        });
        assert!(detecting < 0.9 * uncoupled, "{detecting} {uncoupled}");
    }
}

#[test]
fn the_fluid_engine_refuses_energy_weights_under_random_losses() {
    let refused = |policy: &str, losses: [&str; 2]| {
        let toml = bulk(&(path("near", 40, losses[0]) + &path("far", 80, losses[1])));
        let scenario = scenario(&toml);
        match joulepath_fluid::check(&scenario, &setup(policy, &scenario)) {
            Ok(()) => None,
            Err(Unsupported::Feedback { link, .. }) => Some(link),
            Err(other) => panic!("{other}"),
        }
    };
    let (none, some) = ("\"0 %\"", "\"1 %\"");
    assert_eq!(
        refused("mptcp[cc=ecmtcp]", [none, some]),
        Some("far.down".to_owned())
    );
    assert_eq!(refused("mptcp[cc=ecmtcp]", [none, none]), None);
    assert_eq!(
        refused("mptcp[cc=ecmtcp,ratio=delivery]", [some, some]),
        None
    );
    assert_eq!(refused("mptcp", [some, some]), None);
}
