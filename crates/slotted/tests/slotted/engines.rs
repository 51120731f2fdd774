//! The slotted system against the packet engine on scenarios/papers/003-three-radios.toml.

use joulepath_control::Setup;
use joulepath_control::allocate::EnergyShape;
use joulepath_model::result::RunResult;
use joulepath_model::scenario::{Scenario, load_with};
use joulepath_model::units::Nanos;
use joulepath_slotted::{Feasible, Means, Params, Policy};

use crate::ran;

const SEEDS: [u64; 3] = [1, 2, 3];
const V: f64 = 100.0;
/// RTTs with which the windows are nearly full. With those of table 1 mmWave's window always has
/// room for a single packet, but not for the scenario's messages of 29 packets.
const RTT_MS: [u64; 3] = [20, 50, 10];

fn scenario() -> Scenario {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../scenarios/papers/003-three-radios.toml"
    );
    let text = std::fs::read_to_string(path).expect("the shipped scenario");
    let half =
        |path: &str, rtt_ms: u64| (format!("path.{path}.delay"), format!("{} ms", rtt_ms / 2));
    let set = [
        half("wifi", RTT_MS[0]),
        half("lte", RTT_MS[1]),
        half("mmwave", RTT_MS[2]),
    ];
    load_with(&text, &set, &|name| Err(format!("no trace {name}")))
        .expect("the shipped scenario loads")
}

fn packets(policy: &str) -> Vec<RunResult> {
    let scenario = scenario();
    let setup =
        Setup::of(&policy.parse().expect("a policy"), &scenario).expect("it fits the scenario");
    let options = joulepath_packet::RunOptions::default();
    SEEDS
        .map(|seed| {
            joulepath_packet::run(&scenario, &setup, seed, options.clone()).expect("it runs")
        })
        .to_vec()
}

fn slots(policy: Policy) -> Vec<Means> {
    let mut params = Params::three_radios(35);
    (params.duration, params.warm_up) = (Nanos::from_secs(60), Nanos::from_secs(5));
    for (path, ms) in params.paths.iter_mut().zip(RTT_MS) {
        path.rtt = Nanos::from_millis(ms);
    }
    SEEDS.map(|seed| ran(&params, policy, seed).means).to_vec()
}

fn mean<T>(values: &[T], of: impl Fn(&T) -> f64) -> f64 {
    values.iter().map(of).sum::<f64>() / values.len() as f64
}

/// Power and rate of the slotted system, relative to the packet engine.
fn ratios(slots: &[Means], packets: &[RunResult]) -> [f64; 2] {
    let (power, rate) = (
        mean(slots, |r| r.power_w),
        mean(slots, |r| r.throughput_mbps),
    );
    println!(
        "slots {power} J/s {rate} Mbit/s delay {} s",
        mean(slots, |r| r.delay_s.unwrap())
    );
    println!(
        "packets {} W {} bit/s delay {} s",
        mean(packets, |r| r.power_w),
        mean(packets, |r| r.goodput_bps),
        mean(packets, |r| r.delay.expect("messages have delays").mean_s)
    );
    [
        power / mean(packets, |r| r.power_w),
        rate * 1e6 / mean(packets, |r| r.goodput_bps),
    ]
}

#[test]
fn slots_and_packets_agree_on_energy_and_throughput() {
    let so = Policy::SoMptcp {
        v: V,
        shape: EnergyShape::Linear,
        feasible: Feasible::Window,
        place_holder: true,
    };
    for [power, rate] in [
        ratios(&slots(Policy::Mptcp), &packets("mptcp")),
        ratios(&slots(so), &packets(&format!("so-mptcp[V={V}]"))),
    ] {
        assert!((rate - 1.0).abs() < 0.05, "throughput: {rate}");
        assert!((power - 1.0).abs() < 0.15, "power: {power}");
    }
}
