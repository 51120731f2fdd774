//! Invented but plausible results of a comparison.

use joulepath_model::result::{
    Comparison, Counters, DelayStats, EnergySplit, Manifest, PathResult, Reference, RunResult,
    ScenarioRef, Series,
};
use joulepath_report::{LINK_BOUND, PolicyRuns, TCP_REFERENCE, summarise};
use rand_core::Rng;
use rand_pcg::Pcg32;

/// Names, shares and slopes of a policy's paths.
struct Plan {
    policy: &'static str,
    label: &'static str,
    goodput_bps: f64,
    shares: [f64; 3],
}

const PATHS: [&str; 3] = ["wifi", "lte", "umts"];
/// Slope in J/bit and sunk power in W of each path.
const ENERGY: [(f64, f64); 3] = [(137e-9, 0.133), (52e-9, 1.288), (122e-9, 0.818)];
const PLANS: [Plan; 8] = [
    Plan {
        policy: "uncoupled",
        label: "uncoupled",
        goodput_bps: 2.91e6,
        shares: [0.31, 0.52, 0.17],
    },
    Plan {
        policy: "mptcp",
        label: "mptcp (LIA)",
        goodput_bps: 2.64e6,
        shares: [0.33, 0.55, 0.12],
    },
    Plan {
        policy: "mptcp[cc=olia]",
        label: "mptcp[cc=olia]",
        goodput_bps: 2.58e6,
        shares: [0.36, 0.54, 0.10],
    },
    Plan {
        policy: "mptcp[cc=balia]",
        label: "mptcp[cc=balia]",
        goodput_bps: 2.66e6,
        shares: [0.34, 0.54, 0.12],
    },
    Plan {
        policy: "mptcp[cc=ecmtcp]",
        label: "mptcp[cc=ecmtcp] (recon.)",
        goodput_bps: 2.44e6,
        shares: [0.45, 0.46, 0.09],
    },
    Plan {
        policy: "dts",
        label: "dts",
        goodput_bps: 2.31e6,
        shares: [0.52, 0.41, 0.07],
    },
    Plan {
        policy: "eemptcp",
        label: "eemptcp",
        goodput_bps: 2.02e6,
        shares: [0.78, 0.22, 0.0],
    },
    Plan {
        policy: "es-mptcp",
        label: "es-mptcp (recon.)",
        goodput_bps: 1.88e6,
        shares: [0.88, 0.12, 0.0],
    },
];

/// Values around a mean: the sum of twelve uniform numbers is nearly normal.
pub(crate) struct Noise(Pcg32);

impl Noise {
    pub(crate) fn new(seed: u64) -> Self {
        Noise(Pcg32::new(seed, 7))
    }

    pub(crate) fn normal(&mut self) -> f64 {
        (0..12)
            .map(|_| f64::from(self.0.next_u32()) / 4_294_967_296.0)
            .sum::<f64>()
            - 6.0
    }

    fn around(&mut self, mean: f64, relative: f64) -> f64 {
        mean * (1.0 + relative * self.normal())
    }
}

/// A comparison and its settings.
pub(crate) struct Fake {
    pub(crate) policies: usize,
    pub(crate) seeds: u64,
    /// Number of samples of every run's series.
    pub(crate) samples: usize,
    pub(crate) workload: &'static str,
}

impl Default for Fake {
    fn default() -> Self {
        Fake {
            policies: PLANS.len(),
            seeds: 30,
            samples: 0,
            workload: "bulk",
        }
    }
}

impl Fake {
    pub(crate) fn comparison(&self) -> Comparison {
        let scenario = ScenarioRef {
            title: "WiFi + LTE + 3G, continuous download".into(),
            file: "scenarios/papers/000-table1.toml".into(),
            source: Some("000, section V, table 1".into()),
            duration_s: 120.0,
            paths: PATHS.map(String::from).to_vec(),
            workload: self.workload.into(),
            rivals: 0,
        };
        let limits = vec![
            limit(
                TCP_REFERENCE,
                "wifi, at the rate that TCP would take",
                [0.9e6, 0.0, 0.0],
            ),
            limit(
                LINK_BOUND,
                "wifi alone, at its link's rate",
                [1.9e6, 0.0, 0.0],
            ),
        ];
        let policies = PLANS[..self.policies].iter().map(|plan| PolicyRuns {
            policy: plan.policy.into(),
            label: plan.label.into(),
            parts: "cc=lia scheduler=lowrtt selector=all allocator=none".into(),
            uncoupled: plan.policy == "uncoupled",
            runs: (1..=self.seeds).map(|seed| self.run(plan, seed)).collect(),
        });
        Comparison {
            rows: summarise(&scenario, &limits, policies.collect()),
            scenario,
            engine: "packet".into(),
            seeds: self.seeds as u32,
            manifest: Manifest {
                scenario_sha256: "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
                    .into(),
                version: "0.1.0".into(),
                commit: "33b56abc0ffee".into(),
                seeds: (1..=self.seeds).collect(),
                command: "joulepath compare scenarios/papers/000-table1.toml".into(),
            },
            references: limits,
            notes: vec![],
            background: None,
            partial: false,
        }
    }

    fn run(&self, plan: &Plan, seed: u64) -> RunResult {
        let mut noise = Noise::new(seed);
        // Most of a seed's randomness is common to all policies, the rest is a policy's own.
        let own = Noise::new(seed * 1000 + plan.policy.len() as u64).around(1.0, 0.015);
        let goodput_bps = own * noise.around(plan.goodput_bps, 0.04);
        let file_bits = 8.0 * 16e6;
        let is_file = self.workload == "file";
        let measured_s = if is_file {
            file_bits / goodput_bps
        } else {
            120.0
        };
        let paths: Vec<_> = (0..3)
            .map(|path| path_result(plan, path, goodput_bps, measured_s, &mut noise))
            .collect();
        let transfer_j = (0..3)
            .map(|p| ENERGY[p].0 * paths[p].goodput_bps * measured_s)
            .sum::<f64>();
        let sunk_j = (0..3).map(|p| sunk_w(plan, p) * measured_s).sum::<f64>();
        let tail_j = 0.04 * sunk_j;
        let energy_j = transfer_j + sunk_j + tail_j;
        RunResult {
            policy: plan.policy.into(),
            seed,
            measured_s,
            goodput_bps,
            energy_j,
            power_w: energy_j / measured_s,
            bits_per_joule: goodput_bps * measured_s / energy_j,
            energy_split: EnergySplit {
                sunk_j,
                transfer_j,
                tail_j,
            },
            completion_s: is_file.then_some(measured_s),
            delay: (self.workload == "messages").then(|| delay(noise.around(0.180, 0.1))),
            longest_stall_s: (self.workload == "messages").then(|| noise.around(0.210, 0.1)),
            punctuality: vec![],
            retransmission_ratio: noise.around(0.031, 0.1),
            paths,
            competitors_bps: 0.0,
            competitor_groups_bps: vec![],
            links: vec![],
            network: None,
            connections_bps: vec![goodput_bps],
            blocks: None,
            receive_buffer: None,
            channels: vec![],
            relays: vec![],
            counters: Counters {
                packet_hops: 60_000,
                events: 61_000,
                queue_drops: 410,
                wire_losses: 2_900,
            },
            series: (self.samples > 0).then(|| series(plan, self.samples, &mut noise)),
        }
    }
}

/// An unused interface sleeps; one with little traffic sleeps between packets.
fn sunk_w(plan: &Plan, path: usize) -> f64 {
    ENERGY[path].1 * (2.0 * plan.shares[path]).min(1.0)
}

fn delay(mean_s: f64) -> DelayStats {
    DelayStats {
        count: 600,
        mean_s,
        p50_s: 0.9 * mean_s,
        p95_s: 2.1 * mean_s,
        p99_s: 3.4 * mean_s,
        max_s: 5.0 * mean_s,
    }
}

fn path_result(
    plan: &Plan,
    path: usize,
    goodput_bps: f64,
    measured_s: f64,
    noise: &mut Noise,
) -> PathResult {
    let share = plan.shares[path];
    let path_bps = share * goodput_bps;
    PathResult {
        name: PATHS[path].into(),
        share,
        goodput_bps: path_bps,
        energy_j: (ENERGY[path].0 * path_bps + sunk_w(plan, path)) * measured_s,
        segments: (path_bps * measured_s / 11_200.0) as u64,
        retransmissions: (path_bps * measured_s / 11_200.0 * 0.03) as u64,
        timeouts: 3,
        mean_rtt_s: (share > 0.0).then(|| noise.around(0.150 + 0.05 * path as f64, 0.05)),
        mean_cwnd: noise.around(1.0 + 20.0 * share, 0.05),
        loss_event_rate: 0.02,
    }
}

/// Sawtooth curves with different periods.
fn series(plan: &Plan, samples: usize, noise: &mut Noise) -> Series {
    let time_s: Vec<f64> = (1..=samples)
        .map(|i| 120.0 * i as f64 / samples as f64)
        .collect();
    let mut by_path = |value: &mut dyn FnMut(usize, f64, &mut Noise) -> f64| -> Vec<Vec<f64>> {
        (0..3)
            .map(|path| time_s.iter().map(|&t| value(path, t, noise)).collect())
            .collect()
    };
    let tooth = |path: usize, t: f64| 0.6 + 0.8 * (t / (7.0 + 4.0 * path as f64)).fract();
    let rate = |path: usize, t: f64| plan.shares[path] * plan.goodput_bps * tooth(path, t);
    let used = |path: usize| plan.shares[path] > 0.0;
    let cwnd = by_path(&mut |p, t, noise| {
        if used(p) {
            noise.around(1.0 + 25.0 * plan.shares[p] * tooth(p, t), 0.03)
        } else {
            1.0
        }
    });
    let goodput_bps = by_path(&mut |p, t, noise| noise.around(rate(p, t), 0.08).max(0.0));
    let rtt_s = by_path(&mut |p, t, noise| {
        if used(p) {
            noise.around(0.14 + 0.05 * p as f64 + 0.05 * tooth(p, t), 0.03)
        } else {
            0.0
        }
    });
    let queue = by_path(&mut |p, t, noise| {
        if used(p) {
            (40.0 * (tooth(p, t) - 0.7) + noise.normal())
                .max(0.0)
                .round()
        } else {
            0.0
        }
    });
    let power_w = by_path(&mut |p, t, _| ENERGY[p].0 * rate(p, t) + sunk_w(plan, p));
    Series {
        time_s,
        goodput_bps,
        cwnd,
        rtt_s,
        queue,
        power_w,
        ..Series::default()
    }
}

fn limit(kind: &str, label: &str, rates_bps: [f64; 3]) -> Reference {
    let used = |path: &usize| rates_bps[*path] > 0.0;
    let goodput_bps = rates_bps.iter().sum::<f64>();
    let power_w = (0..3)
        .map(|p| ENERGY[p].0 * rates_bps[p] + if used(&p) { ENERGY[p].1 } else { 0.0 })
        .sum::<f64>();
    Reference {
        kind: kind.into(),
        label: label.into(),
        paths: (0..3).filter(used).map(|path| PATHS[path].into()).collect(),
        rates_bps: rates_bps.to_vec(),
        capacities_bps: vec![30e6; 3],
        goodput_bps,
        power_w,
        bits_per_joule: goodput_bps / power_w,
        energy_j: None,
        delivers: None,
    }
}
