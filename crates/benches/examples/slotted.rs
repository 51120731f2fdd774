//! The two tables of docs/papers/003.md: the policies, and what V does; means over seeds with 95 %
//! intervals.
//!
//! `cargo run --release -p joulepath-benches --example slotted [SEEDS]`

use joulepath_model::cancel::Cancel;
use joulepath_slotted::{Params, Policy, SlottedResult, run};

/// Student's t for a two-sided 95 % interval, by degrees of freedom from 1 on.
const T: [f64; 10] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
];
const V: [f64; 9] = [0.0, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0];

struct Runs(Vec<SlottedResult>);

impl Runs {
    fn new(load: u64, policy: Policy, seeds: u64) -> Self {
        let params = Params::three_radios(load);
        let result = |seed| run(&params, policy, seed, &Cancel::new());
        let results = (1..=seeds).map(result);
        Runs(
            results
                .collect::<Result<_, _>>()
                .expect("the parameters fit"),
        )
    }

    fn mean(&self, value: impl Fn(&SlottedResult) -> f64) -> f64 {
        self.0.iter().map(value).sum::<f64>() / self.0.len() as f64
    }

    /// Mean ± half of its interval, to the first digit of the interval, with 3 decimals at most.
    fn interval(&self, value: impl Fn(&SlottedResult) -> f64) -> String {
        let (n, mean) = (self.0.len(), self.mean(&value));
        let squares = self.mean(|r| (value(r) - mean).powi(2));
        let t = T.get(n - 2).copied().unwrap_or(1.96);
        let half = t * (squares / (n - 1) as f64).sqrt();
        let decimals = (-half.log10().floor()).clamp(0.0, 3.0) as usize;
        let half = format!("{half:.decimals$}");
        let exact = half.chars().all(|c| "0.".contains(c));
        let half = if exact {
            String::new()
        } else {
            format!(" ±{half}")
        };
        format!("{mean:.decimals$}{half}")
    }

    fn delay_s(&self) -> String {
        self.interval(|r| r.means.delay_s.unwrap_or(f64::NAN))
    }

    fn policy(&self, load: u64) -> [String; 4] {
        let carried = self.mean(|r| r.means.throughput_mbps);
        let grows = carried < 0.9 * load as f64;
        let waiting = self.mean(|r| r.means.waiting_packets.iter().sum());
        let mut queue = format!("{:.0}", self.mean(|r| r.means.backlog_packets));
        if waiting >= 0.5 {
            queue += &format!(" + {waiting:.0} at subflows");
        }
        [
            self.interval(|r| r.means.throughput_mbps),
            self.delay_s() + if grows { ", growing" } else { "" },
            self.interval(|r| r.means.power_w),
            queue,
        ]
    }
}

fn row(cells: impl IntoIterator<Item = String>) {
    println!("| {} |", cells.into_iter().collect::<Vec<_>>().join(" | "));
}

fn main() {
    let seeds = std::env::args().nth(1).map_or(5, |text| {
        text.parse().expect("a number of seeds, 2 or more")
    });
    println!("| λ | policy | Mbit/s | delay, s | energy cost, J/s | queue, packets |");
    println!("|---|---|---|---|---|---|");
    for load in [35, 45] {
        for (name, policy) in [
            ("MPTCP", Policy::Mptcp),
            ("MPTCP, round-robin", Policy::RoundRobin),
            ("eMPTCP (WiFi alone)", Policy::Emptcp),
            ("so-MPTCP", Policy::so_mptcp_within_links(100.0)),
            ("so-MPTCP, X = windows", Policy::SO_MPTCP),
        ] {
            let runs = Runs::new(load, policy, seeds);
            row([load.to_string(), name.to_owned()]
                .into_iter()
                .chain(runs.policy(load)));
        }
    }
    println!();
    let title = |v| format!("{v}");
    row(["V, λ = 35".to_owned()].into_iter().chain(V.map(title)));
    println!("|{}", "---|".repeat(V.len() + 1));
    let runs = V.map(|v| Runs::new(35, Policy::so_mptcp_within_links(v), seeds));
    type Value = fn(&Runs) -> String;
    let values: [(&str, Value); 3] = [
        ("energy cost, J/s", |runs| {
            format!("{:.0}", runs.mean(|r| r.means.power_w))
        }),
        ("delay, s", |runs| {
            format!("{:.3}", runs.mean(|r| r.means.delay_s.unwrap_or(f64::NAN)))
        }),
        ("queue, packets", |runs| {
            format!("{:.0}", runs.mean(|r| r.means.backlog_packets))
        }),
    ];
    for (name, value) in values {
        row([name.to_owned()].into_iter().chain(runs.iter().map(value)));
    }
}
