//! Claims across the papers: the headline of each, tested harder than the paper did; and two theorems.

use joulepath_control::allocate::{CostedPath, Genetic, Problem, Reading};
use joulepath_model::random::{Domain, Stream};
use joulepath_model::result::RunResult;
use joulepath_report::{Figure, Finding, Line, Plot, Rule};

use super::evidence::{Evidence, Metric, exactly, lines};
use super::experiment::{Examined, Experiment, OF_AN_EFFECT, Standing};
use super::metrics::{goodput_mbps, joules_per_gbit, kbit_per_joule};
use super::paper004::{CWA, MPTCP};
use super::study::Study;
use super::{paper000, paper001};

const LIA: &str = "mptcp";
const OLIA: &str = "mptcp[cc=olia]";
const BALIA: &str = "mptcp[cc=balia]";
const UNCOUPLED: &str = "uncoupled";
const EEMPTCP: &str = "eemptcp[solve=once]";
const DTS: &str = "dts";
/// Random instances on which a theorem is tried.
const INSTANCES: u64 = 2000;
/// Sink buffers of 004, segments.
const BUFFERS: [(f64, &str); 6] =
    [(16.0, "16"), (33.0, "33"), (66.0, "66"), (100.0, "100"), (300.0, "300"), (1000.0, "1000")];

pub(super) fn experiments() -> Vec<Experiment> {
    vec![
        Experiment {
            id: "claim-1",
            cause: "whether EEMPTCP carries twice what LIA does",
            title: "EEMPTCP doubles the energy efficiency of LIA",
            source: "000, abstract and section V",
            claim: "EEMPTCP has twice the energy efficiency of MPTCP (LIA)",
            standing: Standing::Measured,
            slots: vec![],
            studies: doubling(),
            examine: doubled,
        },
        Experiment {
            id: "claim-2",
            cause: "what leaving 3G out saves and carries",
            title: "ES-MPTCP saves energy and gains throughput",
            source: "001, abstract and section V",
            claim: "ES-MPTCP needs up to 16.2 % less energy and has up to 13.6 % more throughput",
            standing: Standing::Measured,
            slots: vec![],
            studies: paper001::mixed(&["mptcp", "emtcp", "es-mptcp"]),
            examine: paper001::headline,
        },
        Experiment {
            id: "claim-3",
            cause: "what DTS saves under bursts",
            title: "DTS saves a fifth of the energy without losing throughput",
            source: "002, abstract and section VI",
            claim: "DTS saves up to 20 % of energy against LIA and loses no throughput",
            standing: Standing::Measured,
            slots: vec![],
            studies: saving(),
            examine: saved,
        },
        super::paper003::claim(),
        Experiment {
            id: "claim-4",
            cause: "what prices save",
            title: "extended DTS saves in data centres and over radios",
            source: "002, abstract and section VI",
            claim: "extended DTS saves up to 20 % of energy against LIA in data centres and up to 30 % over \
                    radios",
            standing: Standing::Measured,
            slots: vec![],
            studies: prices(),
            examine: priced,
        },
        Experiment {
            id: "claim-6",
            cause: "what CWA's cuts cost and spare",
            title: "CWA comes near the aggregate goodput",
            source: "004, abstract and section IV",
            claim: "the goodput of CWA-MPTCP is almost the 6 Mbit/s of both links, that of MPTCP much lower",
            standing: Standing::Measured,
            slots: vec![],
            studies: buffers(),
            examine: aggregate,
        },
        Experiment {
            id: "claim-7",
            cause: "a theorem on additive power",
            title: "additive power never favours two interfaces per bit",
            source: "energy models of 000 and 001; the mediant inequality",
            claim: "if power adds up over interfaces, the energy per bit of two lies between those of each",
            standing: Standing::Ours,
            slots: vec![],
            studies: vec![],
            examine: |_| mediant(),
        },
        Experiment {
            id: "claim-8",
            cause: "a theorem on the exact split",
            title: "the exact split beats the genetic algorithm",
            source: "000, section III, against the exact solution of its problem (4)-(7)",
            claim: "no split that the genetic algorithm finds is better than the exact one",
            standing: Standing::Ours,
            slots: vec![],
            studies: vec![],
            examine: |_| exact_against_genetic(),
        },
    ]
}

fn doubling() -> Vec<Study> {
    let policies = [EEMPTCP, LIA, UNCOUPLED, OLIA, BALIA];
    let table1 = paper000::table1();
    vec![
        Study { policies: policies.map(str::to_owned).to_vec(), ..table1 },
        Study::of("papers/000-fairness", &policies).named("fairness").seeds(30, 0),
    ]
}

fn doubled(evidence: &Evidence<'_>) -> Examined {
    let rule = Rule::Ratio { stated: 2.0, tolerance: OF_AN_EFFECT };
    let what = "efficiency, EEMPTCP ÷ LIA";
    let mut findings = vec![evidence.one_ratio(what, rule, "table 1", (EEMPTCP, LIA), kbit_per_joule)];
    for (rival, label) in [(UNCOUPLED, "uncoupled Reno"), (OLIA, "OLIA"), (BALIA, "Balia")] {
        let what = format!("efficiency, EEMPTCP ÷ {label}");
        findings.push(evidence.ratio(&what, Rule::Shown, &["table 1"], (EEMPTCP, rival), kbit_per_joule));
    }
    let named =
        [(EEMPTCP, "EEMPTCP"), (LIA, "LIA"), (UNCOUPLED, "uncoupled Reno"), (OLIA, "OLIA"), (BALIA, "Balia")];
    let shares = |run: &RunResult| run.goodput_bps / run.competitors_bps;
    for (policy, label) in named {
        let what = format!("TCP shares taken by {label} at a shared bottleneck");
        findings.push(evidence.finding(&what, "", Rule::Shown, ("fairness", policy), shares));
    }
    Examined {
        findings,
        figures: vec![
            evidence.bars(("Energy efficiency", "kbit/J"), &["table 1"], &named, kbit_per_joule),
            evidence.bars(("TCP shares at a shared bottleneck", ""), &["fairness"], &named, shares),
        ],
    }
}

/// DTS in three versions: exact ε, the polynomial as printed, and c = 1/2.
const VERSIONS: [(&str, &str); 3] =
    [(DTS, "DTS"), ("dts[shape=literal]", "DTS, polynomial as printed"), ("dts[c=0.5]", "DTS, c = 1/2")];

fn saving() -> Vec<Study> {
    let policies = [LIA, VERSIONS[0].0, VERSIONS[1].0, VERSIONS[2].0];
    vec![
        Study::of("papers/002-fig5b", &policies).named("bursts").seeds(10, 0),
        Study::of("papers/002-fig17", &policies).named("radios").variant("4MB").seeds(20, 0),
    ]
}

fn saved(evidence: &Evidence<'_>) -> Examined {
    let mut findings = vec![];
    for (policy, label) in VERSIONS {
        let judged = policy == DTS;
        let rule = |rule: Rule| if judged { rule } else { Rule::Shown };
        let less = rule(Rule::UpTo { stated: 0.8, tolerance: OF_AN_EFFECT });
        for study in ["bursts", "radios"] {
            let mut add = |what: &str, rule: Rule, metric: Metric| {
                let what = format!("{what}, {label} ÷ LIA");
                findings.push(evidence.ratio(&what, rule, &[study], (policy, LIA), metric).under(study));
            };
            add("energy per bit", less, joules_per_gbit);
            add("goodput", rule(Rule::Above { than: 0.95 }), goodput_mbps);
        }
    }
    let named = [(LIA, "LIA"), VERSIONS[0], VERSIONS[1], VERSIONS[2]];
    Examined {
        findings,
        figures: vec![evidence.bars(
            ("Energy per gigabit", "J/Gbit"),
            &["bursts", "radios"],
            &named,
            joules_per_gbit,
        )],
    }
}

/// κ of extended DTS, per packet and unit of price.
const KAPPAS: [(f64, &str); 4] = [
    (1e-5, "edts[kappa=0.00001]"),
    (1e-4, "edts[kappa=0.0001]"),
    (1e-3, "edts[kappa=0.001]"),
    (1e-2, "edts[kappa=0.01]"),
];
const PLACES: [&str; 2] = ["FatTree", "radios"];

fn prices() -> Vec<Study> {
    let policies: Vec<&str> = [LIA].into_iter().chain(KAPPAS.iter().map(|(_, policy)| *policy)).collect();
    vec![
        Study::of("papers/002-fattree", &policies).named(PLACES[0]).seeds(3, 0),
        Study::of("papers/002-fig17", &policies).named(PLACES[1]).variant("4MB").seeds(20, 0),
    ]
}

fn priced(evidence: &Evidence<'_>) -> Examined {
    let mut examined = Examined::default();
    for (place, stated) in [(PLACES[0], 0.8), (PLACES[1], 0.7)] {
        let rule = Rule::UpTo { stated, tolerance: OF_AN_EFFECT };
        let ratios: Vec<Finding> = KAPPAS
            .iter()
            .map(|(kappa, policy)| {
                let what = format!("energy per bit, extended DTS with κ = {kappa} ÷ LIA, {place}");
                evidence.ratio(&what, rule, &[place], (policy, LIA), joules_per_gbit)
            })
            .collect();
        // Stated is the best case: the κ with the least energy stands for the claim, the others are shown.
        let mean = |finding: &Finding| finding.measured.map_or(f64::INFINITY, |ours| ours.mean);
        let best = (0..ratios.len()).min_by(|&a, &b| mean(&ratios[a]).total_cmp(&mean(&ratios[b])));
        for (index, finding) in ratios.into_iter().enumerate() {
            let judged = Some(index) == best;
            examined.findings.push(if judged {
                finding
            } else {
                Finding { rule: Rule::Shown, verdict: None, ..finding }
            });
        }
        let ratio = |name: &str, metric: Metric| {
            let of = |(kappa, policy): (f64, &str)| {
                let finding = evidence.ratio("", Rule::Shown, &[place], (policy, LIA), metric);
                (kappa, finding.measured.map(|ours| ours.mean))
            };
            Line::new(name, KAPPAS.map(of))
        };
        examined.figures.push(Figure {
            title: format!("Extended DTS ÷ LIA over κ, {place}"),
            x: "κ".to_owned(),
            y: "ratio".to_owned(),
            plot: Plot::Lines {
                lines: vec![ratio("energy per bit", joules_per_gbit), ratio("goodput", goodput_mbps)],
                log_x: true,
            },
        });
    }
    examined
}

fn buffers() -> Vec<Study> {
    let study = |(segments, name): &(f64, &'static str)| {
        let bytes = format!("{} B", segments * 1448.0);
        Study::of("papers/004-wireless", &[MPTCP, CWA])
            .named(*name)
            .set("receiver.buffer", &bytes)
            .seeds(10, 2)
    };
    BUFFERS.iter().map(study).collect()
}

fn aggregate(evidence: &Evidence<'_>) -> Examined {
    let near = Rule::Above { than: 0.9 * 6.0 };
    Examined {
        findings: vec![
            evidence.finding("goodput of CWA, 100 segments", "Mbit/s", near, ("100", CWA), goodput_mbps),
            evidence.ratio(
                "goodput, CWA ÷ MPTCP, 100 segments",
                Rule::Above { than: 1.0 },
                &["100"],
                (CWA, MPTCP),
                goodput_mbps,
            ),
            evidence.ratio(
                "goodput, CWA ÷ MPTCP, 16 segments",
                Rule::Shown,
                &["16"],
                (CWA, MPTCP),
                goodput_mbps,
            ),
            evidence.ratio(
                "goodput, CWA ÷ MPTCP, 1000 segments",
                Rule::Shown,
                &["1000"],
                (CWA, MPTCP),
                goodput_mbps,
            ),
        ],
        figures: vec![lines(
            "Goodput over the sink's buffer",
            "segments",
            "Mbit/s",
            vec![
                evidence.sweep("MPTCP", &BUFFERS, MPTCP, goodput_mbps),
                evidence.sweep("CWA", &BUFFERS, CWA, goodput_mbps),
            ],
        )],
    }
}

/// A number between the bounds, uniform in its logarithm.
fn log_uniform(random: &mut Stream, low: f64, high: f64) -> f64 {
    low * libm::pow(high / low, random.uniform())
}

/// Interfaces as wide apart as real ones: slopes of 1 to 500 mW per Mbit/s, θ of 0.05 to 5 W, capacities of
/// 0.1 to 100 Mbit/s.
fn interfaces(random: &mut Stream, n: usize) -> Vec<CostedPath> {
    (0..n)
        .map(|_| CostedPath {
            slope_j_per_bit: log_uniform(random, 1e-9, 5e-7),
            sunk_w: log_uniform(random, 0.05, 5.0),
            capacity_bps: log_uniform(random, 1e5, 1e8),
        })
        .collect()
}

/// Energy per bit of both interfaces at their capacities, with a base power that burns once, less the cheaper
/// of the two alone; J/bit.
fn surplus(paths: &[CostedPath], base_w: f64) -> f64 {
    let alone = |path: &CostedPath| {
        (base_w + path.sunk_w + path.slope_j_per_bit * path.capacity_bps) / path.capacity_bps
    };
    let power: f64 = paths.iter().map(|path| path.sunk_w + path.slope_j_per_bit * path.capacity_bps).sum();
    let rate: f64 = paths.iter().map(|path| path.capacity_bps).sum();
    (base_w + power) / rate - paths.iter().map(alone).fold(f64::INFINITY, f64::min)
}

fn mediant() -> Examined {
    let both_win = |base_w: f64| {
        let mut random = Stream::new(7, Domain::Allocator, 0);
        let wins = (0..INSTANCES).filter(|_| {
            let paths = interfaces(&mut random, 2);
            // Rounding is far below a millionth of any energy per bit here.
            surplus(&paths, base_w) < -1e-15
        });
        wins.count() as f64
    };
    let finding = |what: &str, rule: Rule, value: f64| {
        Finding::new(what, &format!("of {INSTANCES} random pairs"), rule, exactly(value), INSTANCES as usize)
    };
    Examined {
        findings: vec![
            finding(
                "pairs of interfaces that beat both of their members per bit, additive power",
                Rule::Value { stated: 0.0, tolerance: 0.0 },
                both_win(0.0),
            ),
            finding("the same with 0.5 W that they share", Rule::Shown, both_win(0.5)),
        ],
        figures: vec![],
    }
}

fn exact_against_genetic() -> Examined {
    const PROBLEMS: u64 = 100; // the genetic algorithm takes milliseconds on each
    let mut random = Stream::new(8, Domain::Allocator, 0);
    let (mut solved, mut worse, mut gaps) = (0u32, 0.0, vec![]);
    for _ in 0..PROBLEMS {
        let paths = interfaces(&mut random, 3);
        let problem = Problem::of_paper(&paths, Reading::C);
        let Ok(exact) = problem.solve() else { continue };
        solved += 1;
        let Ok(genetic) = Genetic::default().solve(&problem, &mut random) else { continue };
        let ratio = genetic.bits_per_joule() / exact.bits_per_joule();
        worse += f64::from(ratio > 1.0 + 1e-9);
        gaps.push(ratio);
    }
    Examined {
        findings: vec![
            Finding::new(
                "random problems on which the genetic algorithm is better than the exact solution",
                "",
                Rule::Value { stated: 0.0, tolerance: 0.0 },
                exactly(worse),
                solved as usize,
            ),
            Finding::new(
                "efficiency of the genetic algorithm ÷ the exact one",
                "",
                Rule::Shown,
                joulepath_report::estimate(&gaps),
                gaps.len(),
            ),
        ],
        figures: vec![],
    }
}
