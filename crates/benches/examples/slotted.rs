//! Every figure of 003 as a table: means over seeds with 95 % intervals.
//!
//! `cargo run --release -p joulepath-benches --example slotted [SEEDS]`

use joulepath_model::cancel::Cancel;
use joulepath_slotted::{Params, Policy, SlottedResult, run};

/// Student's t for a two-sided 95 % interval, by degrees of freedom from 1 on.
const T: [f64; 10] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
];

fn interval(values: &[f64]) -> String {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / (n - 1.0);
    let t = T
        .get(values.len().saturating_sub(2))
        .copied()
        .unwrap_or(1.96);
    format!("{mean:.3} ±{:.3}", t * (variance / n).sqrt())
}

fn show(name: &str, params: &Params, policy: Policy, seeds: u64) {
    let results: Vec<SlottedResult> = (1..=seeds)
        .map(|seed| run(params, policy, seed, &Cancel::new()).expect("the shipped parameters fit"))
        .collect();
    let of = |value: &dyn Fn(&SlottedResult) -> f64| {
        interval(&results.iter().map(value).collect::<Vec<_>>())
    };
    let peak = |values: &[f64]| values.iter().copied().fold(0.0, f64::max);
    println!(
        "| {name} | {} | {} | {} | {} | {} | {} | {} |",
        of(&|r| r.means.throughput_mbps),
        of(&|r| r.means.delay_s.unwrap_or(f64::NAN)),
        of(&|r| r.means.delay_p95_s.unwrap_or(f64::NAN)),
        of(&|r| r.means.power_w),
        of(&|r| peak(&r.series.power_w)),
        of(&|r| r.means.backlog_packets),
        (0..3)
            .map(|i| of(&|r| r.means.virtual_queue_packets[i]))
            .collect::<Vec<_>>()
            .join(", "),
    );
    let list = |value: &dyn Fn(&SlottedResult) -> Vec<f64>| {
        let parts = value(&results[0]);
        parts
            .iter()
            .map(|x| format!("{x:.2}"))
            .collect::<Vec<_>>()
            .join("/")
    };
    eprintln!(
        "{name}: given {} capacity {} windows {} waiting {}",
        list(&|r| r.means.given_mbps.clone()),
        list(&|r| r.means.capacity_mbps.clone()),
        list(&|r| r.means.window_packets.clone()),
        list(&|r| r.means.waiting_packets.clone()),
    );
}

fn main() {
    let seeds = std::env::args().nth(1).map_or(5, |text| {
        text.parse().expect("a number of seeds, 2 or more")
    });
    println!(
        "| system | Mbit/s | delay, s | 95 % of it, s | J/s | peak J/s | Q, packets | W, packets |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    for load in [35, 45] {
        for (set, params) in [
            ("light loss", Params::three_radios(load)),
            ("lossy", Params::three_radios_lossy(load)),
        ] {
            for (name, policy) in [
                ("mptcp", Policy::Mptcp),
                ("emptcp", Policy::Emptcp),
                ("mptcp, round-robin", Policy::RoundRobin),
                ("so-mptcp", Policy::so_mptcp_within_links(100.0)),
                ("so-mptcp, X = windows", Policy::SO_MPTCP),
            ] {
                show(&format!("{load}, {set}, {name}"), &params, policy, seeds);
            }
        }
        for v in [0.0, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0] {
            show(
                &format!("{load}, V = {v}"),
                &Params::three_radios(load),
                Policy::so_mptcp_within_links(v),
                seeds,
            );
        }
    }
    for v in [0.0, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0] {
        show(
            &format!("fixed, V = {v}"),
            &Params::fixed_windows(100_000),
            Policy::so_mptcp(v),
            seeds,
        );
    }
}
