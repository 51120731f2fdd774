//! Paper 000: EEMPTCP on WiFi, LTE and 3G. Everything but the splitting problem comes from one set of runs.

use joulepath_control::allocate::{CapacityModel, Genetic, Problem, Reading, costed_path};
use joulepath_model::random::{Domain, Stream};
use joulepath_model::result::{RunResult, Series};
use joulepath_report::{Bars, Figure, Finding, Line, Plot, Rule, interval};

use super::evidence::{Evidence, Metric, exactly, leads_from, level, lines, running_mean, total};
use super::experiment::{Examined, Experiment, OF_A_NUMBER, OF_AN_EFFECT, Standing};
use super::metrics::{goodput_kbps, kbit_per_joule, watts};
use super::study::Study;
use crate::source::Source;

const TABLE1: &str = "papers/000-table1";
const EEMPTCP: &str = "eemptcp[solve=once]";
const MPTCP: &str = "mptcp";
const ECMTCP: &str = "mptcp[cc=ecmtcp]";
const UNCOUPLED: &str = "uncoupled";
/// In the paper's order, with the paper's names.
const POLICIES: [(&str, &str); 4] =
    [(EEMPTCP, "EEMPTCP"), (MPTCP, "MPTCP"), (ECMTCP, "ecMTCP (recon.)"), (UNCOUPLED, "uncoupled Reno")];
/// Table 1 and figures 4 to 6: kbit/s, W, kbit/J of EEMPTCP, MPTCP and ecMTCP.
const GOODPUT_KBPS: [f64; 3] = [415.66, 205.57, 181.07];
const POWER_W: [f64; 3] = [2.28, 2.26, 2.26];
const KBIT_PER_J: [f64; 3] = [182.46, 90.99, 80.23];
/// Power differs by 1 % between all policies: a tolerance of 10 % would say nothing. Half of the last printed
/// digit.
const OF_POWER: f64 = 0.005 / 2.26;
/// Seeds with time series.
const SERIES: u32 = 10;
const DURATION_S: f64 = 120.0;
/// Runs of the genetic algorithm.
const GENETIC_RUNS: u64 = 20;

pub(super) fn experiments() -> Vec<Experiment> {
    vec![
        Experiment {
            id: "000-alg1",
            cause: "whether the genetic algorithm comes near the optimum",
            title: "the genetic algorithm for the splitting problem",
            source: "000, section III, problem (4)-(7), algorithm 1",
            claim: "the genetic algorithm finds a near-optimal split of the rates",
            standing: Standing::Open("the paper prints no split, and does not say how near is near"),
            slots: vec![],
            studies: vec![],
            examine: splitting,
        },
        Experiment {
            id: "000-fig4",
            cause: "whether EEMPTCP carries twice what LIA does",
            title: "average throughput over time",
            source: "000, section V, figure 4, table 1",
            claim: "EEMPTCP carries 415.66 kbit/s, twice as much as MPTCP (205.57) and ecMTCP (181.07)",
            standing: Standing::Measured,
            slots: vec![],
            studies: vec![table1()],
            examine: throughput,
        },
        Experiment {
            id: "000-fig5",
            cause: "how little the power of three open radios varies",
            title: "average power over time",
            source: "000, section V, figure 5, table 1",
            claim: "EEMPTCP needs 2.28 W, 0.85 % more than MPTCP; ecMTCP 0.01 % less; curves of ecMTCP and \
                    MPTCP cross near 20 s",
            standing: Standing::Measured,
            slots: vec![],
            studies: vec![table1()],
            examine: power,
        },
        Experiment {
            id: "000-fig6",
            cause: "whether EEMPTCP carries twice what LIA does",
            title: "energy efficiency over time",
            source: "000, section V, figure 6, table 1",
            claim: "EEMPTCP reaches 182.46 kbit/J, twice MPTCP's 90.99; ecMTCP 80.23",
            standing: Standing::Measured,
            slots: vec![],
            studies: vec![table1()],
            examine: efficiency,
        },
        Experiment {
            id: "000-tab1",
            cause: "whether EEMPTCP carries twice what LIA does",
            title: "summary of throughput, power and efficiency",
            source: "000, section V, table 1",
            claim: "throughput 415.66, 205.57, 181.07 kbit/s; power 2.28, 2.26, 2.26 W; efficiency 182.46, \
                    90.99, 80.23 kbit/J",
            standing: Standing::Measured,
            slots: vec![],
            studies: vec![table1()],
            examine: summary,
        },
        Experiment {
            id: "000-fig7",
            cause: "what EEMPTCP gives to each radio",
            title: "shares of the subflows of EEMPTCP",
            source: "000, section V, figure 7",
            claim: "at the end WiFi, LTE and 3G carry 0.18, 0.43 and 0.39; LTE leads 3G after about 30 s",
            standing: Standing::Measured,
            slots: vec![],
            studies: vec![table1()],
            examine: |evidence| shares(evidence, EEMPTCP, [0.18, 0.43, 0.39], 30.0),
        },
        Experiment {
            id: "000-fig8",
            cause: "what LIA gives to each radio",
            title: "shares of the subflows of MPTCP",
            source: "000, section V, figure 8",
            claim: "at the end WiFi, LTE and 3G carry 0.24, 0.39 and 0.37; LTE leads 3G after about 50 s",
            standing: Standing::Measured,
            slots: vec![],
            studies: vec![table1()],
            examine: |evidence| shares(evidence, MPTCP, [0.24, 0.39, 0.37], 50.0),
        },
    ]
}

/// The three radios of table 1. Mainline has the controllers, not ecMTCP's costs on line: the kernel runs the
/// others.
pub(super) fn table1() -> Study {
    Study::of(TABLE1, &POLICIES.map(|(policy, _)| policy))
        .named("table 1")
        .seeds(30, 5)
        .series(SERIES)
        .kernel(&[EEMPTCP, MPTCP, UNCOUPLED], 5, Some("40 s"))
}

/// Ours and the paper's three numbers, and the ratio to MPTCP that they make.
fn numbers(
    evidence: &Evidence<'_>,
    (name, unit): (&str, &str),
    stated: [f64; 3],
    tolerance: f64,
    metric: Metric,
) -> Vec<Finding> {
    let of = |(&(policy, label), stated): (&(&str, &str), f64)| {
        // ecMTCP is a reconstruction: it is shown, and carries no verdict.
        let rule = if policy == ECMTCP { Rule::Shown } else { Rule::Value { stated, tolerance } };
        evidence.one_run(&format!("{name} of {label}"), unit, rule, ("table 1", policy), metric)
    };
    let mut findings: Vec<Finding> = POLICIES.iter().zip(stated).map(of).collect();
    findings.push(evidence.finding(
        &format!("{name} of uncoupled Reno, which the paper has not"),
        unit,
        Rule::Shown,
        ("table 1", UNCOUPLED),
        metric,
    ));
    findings
}

fn to_mptcp(evidence: &Evidence<'_>, name: &str, policy: usize, stated: f64, metric: Metric) -> Finding {
    let (policy, label) = POLICIES[policy];
    let rule = if policy == ECMTCP { Rule::Shown } else { Rule::Ratio { stated, tolerance: OF_AN_EFFECT } };
    let what = format!("{name} of {label} ÷ MPTCP's");
    evidence.one_ratio(&what, rule, "table 1", (policy, MPTCP), metric)
}

/// A running average of each policy, with the paper's three numbers as level lines.
fn averages(
    evidence: &Evidence<'_>,
    title: &str,
    y: &str,
    stated: [f64; 3],
    value: fn(&Series) -> Vec<f64>,
) -> Figure {
    let mut all: Vec<Line> = POLICIES
        .iter()
        .map(|(policy, label)| evidence.over_time(label, ("table 1", policy), value))
        .collect();
    for ((_, label), stated) in POLICIES.iter().zip(stated) {
        all.push(level(&format!("{label} (paper)"), 0.0, DURATION_S, stated));
    }
    lines(title, "time, s", y, all)
}

fn mean_goodput(series: &Series) -> Vec<f64> {
    scaled(running_mean(&series.time_s, &total(&series.goodput_bps)), 1e-3)
}

fn mean_power(series: &Series) -> Vec<f64> {
    running_mean(&series.time_s, &total(&series.power_w))
}

fn mean_efficiency(series: &Series) -> Vec<f64> {
    mean_goodput(series).iter().zip(mean_power(series)).map(|(kbps, watts)| kbps / watts).collect()
}

fn scaled(values: Vec<f64>, factor: f64) -> Vec<f64> {
    values.into_iter().map(|value| value * factor).collect()
}

fn throughput(evidence: &Evidence<'_>) -> Examined {
    let mut findings =
        vec![to_mptcp(evidence, "goodput", 0, GOODPUT_KBPS[0] / GOODPUT_KBPS[1], goodput_kbps)];
    findings.extend(numbers(evidence, ("goodput", "kbit/s"), GOODPUT_KBPS, OF_A_NUMBER, goodput_kbps));
    let figure = averages(evidence, "Average goodput since the start", "kbit/s", GOODPUT_KBPS, mean_goodput);
    Examined { findings, figures: vec![figure] }
}

fn power(evidence: &Evidence<'_>) -> Examined {
    let mut findings = numbers(evidence, ("power", "W"), POWER_W, OF_POWER, watts);
    findings.push(to_mptcp(evidence, "power", 0, 1.0085, watts));
    findings.push(to_mptcp(evidence, "power", 2, 0.9999, watts));
    let crossings: Vec<f64> = evidence
        .of("table 1", ECMTCP)
        .iter()
        .zip(evidence.of("table 1", MPTCP))
        .filter_map(|(ours, theirs)| {
            let (ours, theirs) = (ours.series.as_ref()?, theirs.series.as_ref()?);
            leads_from(&ours.time_s, &mean_power(theirs), &mean_power(ours))
        })
        .collect();
    findings.push(Finding::of_one_run(
        "time from which MPTCP's average power stays above ecMTCP's (recon.)",
        "s",
        Rule::Shown,
        &crossings,
    ));
    let figure = averages(evidence, "Average power since the start", "W", POWER_W, mean_power);
    Examined { findings, figures: vec![figure] }
}

fn efficiency(evidence: &Evidence<'_>) -> Examined {
    let stated = KBIT_PER_J[0] / KBIT_PER_J[1];
    let mut findings = vec![to_mptcp(evidence, "efficiency", 0, stated, kbit_per_joule)];
    findings.extend(numbers(evidence, ("efficiency", "kbit/J"), KBIT_PER_J, OF_A_NUMBER, kbit_per_joule));
    let figure =
        averages(evidence, "Energy efficiency since the start", "kbit/J", KBIT_PER_J, mean_efficiency);
    Examined { findings, figures: vec![figure] }
}

fn summary(evidence: &Evidence<'_>) -> Examined {
    let mut findings = numbers(evidence, ("goodput", "kbit/s"), GOODPUT_KBPS, OF_A_NUMBER, goodput_kbps);
    findings.extend(numbers(evidence, ("power", "W"), POWER_W, OF_POWER, watts));
    findings.extend(numbers(evidence, ("efficiency", "kbit/J"), KBIT_PER_J, OF_A_NUMBER, kbit_per_joule));
    let bars = |title: &str, unit: &str, stated: [f64; 3], metric: Metric| {
        let values = POLICIES.map(|(policy, _)| evidence.mean("table 1", policy, metric)).to_vec();
        let stated = stated.into_iter().map(Some).chain([None]).collect();
        let plot = Plot::Bars {
            groups: POLICIES.map(|(_, label)| label.to_owned()).to_vec(),
            bars: vec![Bars { name: "measured".to_owned(), values, stated }],
        };
        Figure { title: title.to_owned(), x: String::new(), y: unit.to_owned(), plot }
    };
    let figures = vec![
        bars("Goodput", "kbit/s", GOODPUT_KBPS, goodput_kbps),
        bars("Power", "W", POWER_W, watts),
        bars("Energy efficiency", "kbit/J", KBIT_PER_J, kbit_per_joule),
    ];
    Examined { findings, figures }
}

/// Each path's part of the goodput so far.
fn share_so_far(series: &Series, path: usize) -> Vec<f64> {
    let all = running_mean(&series.time_s, &total(&series.goodput_bps));
    let own = running_mean(&series.time_s, &series.goodput_bps[path]);
    own.iter().zip(all).map(|(own, all)| own / all).collect()
}

fn shares(evidence: &Evidence<'_>, policy: &str, stated: [f64; 3], lead_s: f64) -> Examined {
    const RADIOS: [&str; 3] = ["WiFi", "LTE", "3G"];
    const BY_PATH: [fn(&RunResult) -> f64; 3] =
        [|run| run.paths[0].share, |run| run.paths[1].share, |run| run.paths[2].share];
    let mut findings = vec![];
    let mut drawn = vec![];
    for (path, radio) in RADIOS.iter().enumerate() {
        let rule = Rule::Value { stated: stated[path], tolerance: OF_A_NUMBER };
        let what = format!("share of {radio} at the end");
        findings.push(evidence.one_run(&what, "", rule, ("table 1", policy), BY_PATH[path]));
        drawn.push(evidence.over_time(radio, ("table 1", policy), |series| share_so_far(series, path)));
        drawn.push(level(&format!("{radio} (paper)"), 0.0, DURATION_S, stated[path]));
    }
    let leads: Vec<f64> = evidence
        .of("table 1", policy)
        .iter()
        .filter_map(|run| run.series.as_ref())
        .filter_map(|series| leads_from(&series.time_s, &share_so_far(series, 1), &share_so_far(series, 2)))
        .collect();
    findings.push(Finding::of_one_run(
        "time from which LTE leads 3G for good",
        "s",
        Rule::Value { stated: lead_s, tolerance: OF_A_NUMBER },
        &leads,
    ));
    let figure = lines("Part of the goodput so far", "time, s", "share", drawn);
    Examined { findings, figures: vec![figure] }
}

/// The exact solution beside the genetic algorithm's, in the readings that have one.
fn splitting(_: &Evidence<'_>) -> Examined {
    let scenario =
        Source::named(TABLE1).and_then(|source| source.load(&[])).expect("a shipped scenario loads");
    let direction = scenario.connections[0].direction;
    let costed: Vec<_> = (0..scenario.paths.len())
        .map(|path| costed_path(&scenario, direction, path, CapacityModel::Mathis))
        .collect();
    let mut examined = Examined::default();
    for (reading, name) in [(Reading::B, "B"), (Reading::C, "C"), (Reading::D, "D")] {
        let problem = Problem::of_paper(&costed, reading);
        let exact = problem.solve().expect("these readings have a solution (algorithms sheet, 6.1)");
        let genetic: Vec<_> = (0..GENETIC_RUNS)
            .filter_map(|seed| {
                let mut random = Stream::new(seed, Domain::Allocator, 0);
                Genetic::default().solve(&problem, &mut random).ok()
            })
            .collect();
        let gaps: Vec<f64> =
            genetic.iter().map(|found| found.bits_per_joule() / exact.bits_per_joule()).collect();
        examined.findings.push(Finding::new(
            format!("efficiency of the genetic algorithm's split ÷ the optimum's, reading {name}"),
            "",
            Rule::Shown,
            interval(&gaps),
            gaps.len(),
        ));
        let shares = genetic.iter().map(|found| found.shares()).collect::<Vec<_>>();
        let of_path = |path: usize| interval(&shares.iter().map(|shares| shares[path]).collect::<Vec<_>>());
        let plot = Plot::Bars {
            groups: scenario.paths.iter().map(|path| path.name.clone()).collect(),
            bars: vec![
                Bars {
                    name: "exact".to_owned(),
                    values: exact.shares().into_iter().map(exactly).collect(),
                    stated: vec![],
                },
                Bars {
                    name: "genetic algorithm".to_owned(),
                    values: (0..costed.len()).map(of_path).collect(),
                    stated: vec![],
                },
            ],
        };
        examined.figures.push(Figure {
            title: format!("Split α, reading {name}"),
            x: String::new(),
            y: "share of the rate".to_owned(),
            plot,
        });
    }
    examined
}
