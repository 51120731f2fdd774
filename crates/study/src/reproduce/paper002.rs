//! Paper 002: DTS and extended DTS. Hosts, two bottlenecks, bursts, radios; the data centres are in
//! `paper002_data_centre`.

use joulepath_report::{Figure, Line, Rule};

use super::evidence::{Evidence, Metric, lines, running_mean, total};
use super::experiment::{Examined, Experiment, OF_AN_EFFECT, Standing};
use super::metrics::{goodput_mbps, joules, joules_per_gbit, watts};
use super::study::Study;

const TWO_BOTTLENECKS: &str = "papers/002-fig5a";
const BURSTS: &str = "papers/002-fig5b";
const RADIOS: &str = "papers/002-fig17";
const LIA: &str = "mptcp";
const OLIA: &str = "mptcp[cc=olia]";
const BALIA: &str = "mptcp[cc=balia]";
/// ψ as 002 prints it (section IV), not 000's.
const ECMTCP: &str = "mptcp[cc=ecmtcp,ratio=seed002]";
const DTS: &str = "dts";
const EDTS: &str = "edts";
const EXISTING: [(&str, &str); 4] =
    [(LIA, "LIA"), (OLIA, "OLIA"), (BALIA, "Balia"), (ECMTCP, "ecMTCP as 002 has it")];
/// N and its study.
const USERS: [(f64, &str); 4] = [(10.0, "N = 10"), (20.0, "N = 20"), (50.0, "N = 50"), (100.0, "N = 100")];

pub(super) fn experiments() -> Vec<Experiment> {
    let open = |id, title, source, claim, why| Experiment {
        id,
        title,
        source,
        claim,
        cause: if id == "002-fig2" {
            "the power of a phone"
        } else {
            "the power of a host, an input of ours"
        },
        standing: Standing::Open(why),
        slots: vec![],
        studies: vec![],
        examine: |_| Examined::default(),
    };
    let host = "a property of the host's processor, printed without values. Our host model takes it as given \
                (energy model, section 6): to measure it here would be to read our own input";
    vec![
        open(
            "002-fig1",
            "CPU power over the number of subflows",
            "002, section III, figure 1",
            "MPTCP needs more CPU power than TCP, and more with every subflow",
            host,
        ),
        open(
            "002-fig2",
            "power of a phone",
            "002, section III, figure 2",
            "on a phone MPTCP over WiFi and LTE needs much more power than TCP",
            "neither values nor rates are printed, and the phone's constants are not published",
        ),
        open(
            "002-fig3a",
            "energy and power of a wired transfer",
            "002, section III, figure 3a",
            "from 200 to 1000 Mbit/s power rises by about 15 % and the energy of 10 GB falls",
            "the 15 % are what our host model is calibrated with; that energy falls then follows",
        ),
        open(
            "002-fig3b",
            "energy and power of a transfer over WiFi",
            "002, section III, figure 3b",
            "from 10 to 50 Mbit/s power rises by up to 90 %",
            "the 90 % are what our host model is calibrated with",
        ),
        open(
            "002-fig4",
            "CPU power over the path's delay",
            "002, section III, figure 4",
            "a higher delay means more CPU power",
            "no values; the delay was changed through the number of subflows, so the two effects cannot be \
             told apart",
        ),
        Experiment {
            id: "002-fig5a/6",
            cause: "what OLIA takes at shared bottlenecks",
            title: "N MPTCP and 2N TCP users on two bottlenecks",
            source: "002, section VI, figures 5a and 6",
            claim: "OLIA has the lowest mean energy of LIA, OLIA, Balia and ecMTCP, the more so for large N",
            standing: Standing::Measured,
            slots: vec![],
            studies: users(),
            examine: two_bottlenecks,
        },
        Experiment {
            id: "002-fig5b/7",
            cause: "what shifts least energy under bursts",
            title: "existing algorithms under bursts",
            source: "002, section VI, figures 5b and 7",
            claim: "LIA needs the least energy of the existing algorithms under bursts of cross traffic",
            standing: Standing::Measured,
            slots: vec![],
            studies: vec![bursts()],
            examine: existing,
        },
        Experiment {
            id: "002-fig8",
            cause: "what DTS carries under bursts",
            title: "throughput of LIA and DTS under bursts",
            source: "002, section VI, figure 8",
            claim: "DTS loses no throughput against LIA",
            standing: Standing::Measured,
            slots: vec![],
            studies: vec![bursts()],
            examine: traces,
        },
        Experiment {
            id: "002-fig9",
            cause: "what DTS saves under bursts",
            title: "energy of LIA and DTS under bursts",
            source: "002, section VI, figure 9",
            claim: "DTS saves up to 20 % of energy against LIA",
            standing: Standing::Measured,
            slots: vec![],
            studies: vec![bursts()],
            examine: |evidence| {
                let rule = Rule::UpTo { stated: 0.8, tolerance: OF_AN_EFFECT };
                Examined {
                    findings: vec![{
                        let (name, metric) = energy(evidence, PER_BIT);
                        let what = format!("{name}, DTS ÷ LIA");
                        evidence.ratio(&what, rule, &["bursts"], (DTS, LIA), metric)
                    }],
                    figures: vec![evidence.boxes(
                        ("Energy per gigabit", "J/Gbit"),
                        &["bursts"],
                        &[(LIA, "LIA"), (DTS, "DTS")],
                        joules_per_gbit,
                    )],
                }
            },
        },
        Experiment {
            id: "002-fig17",
            cause: "what moving windows off the dear radio saves",
            title: "WiFi and 4G with cross traffic",
            source: "002, section VI, figure 17",
            claim: "DTS needs up to 30 % less energy than LIA, for less throughput",
            standing: Standing::Measured,
            slots: vec![],
            studies: radios(),
            examine: wireless,
        },
    ]
}

/// A metric of energy by its name; the usual one if no reading says otherwise.
type Energy = (&'static str, Metric);
const PER_BIT: Energy = ("energy per bit", joules_per_gbit);
const ABSOLUTE: Energy = ("energy", joules);

/// What "energy" means: the paper says it of transfers of a given size and of a given time alike.
fn energy(evidence: &Evidence<'_>, usual: Energy) -> Energy {
    match evidence.reading(METRIC) {
        Some("J/bit") => PER_BIT,
        Some("J") => ABSOLUTE,
        _ => usual,
    }
}

/// What the search calls it.
pub(super) const METRIC: &str = "metric";

fn users() -> Vec<Study> {
    let policies = EXISTING.map(|(policy, _)| policy);
    let study = |(n, name): &(f64, &str)| {
        let study = Study::of(TWO_BOTTLENECKS, &policies).named(*name).seeds(10, 0);
        if *n == 10.0 { study } else { study.variant(format!("n{n}")) }
    };
    USERS.iter().map(study).collect()
}

pub(super) fn bursts() -> Study {
    Study::of(BURSTS, &[LIA, OLIA, BALIA, ECMTCP, DTS]).named("bursts").seeds(10, 0).series(1)
}

pub(super) fn radios() -> Vec<Study> {
    let policies = [LIA, DTS, EDTS];
    vec![
        Study::of(RADIOS, &policies).named("64 KiB").seeds(20, 3).kernel(&[LIA, DTS], 4, Some("40 s")),
        Study::of(RADIOS, &policies).named("4 MiB").variant("4MB").seeds(20, 3).kernel(
            &[LIA, DTS],
            4,
            Some("40 s"),
        ),
    ]
}

fn two_bottlenecks(evidence: &Evidence<'_>) -> Examined {
    let names = evidence.studies();
    let names = names.as_slice();
    let mut findings = vec![];
    for &name in names {
        for (rival, label) in EXISTING.iter().filter(|(policy, _)| *policy != OLIA) {
            let what = format!("energy, OLIA ÷ {label}, {name}");
            findings.push(evidence.ratio(&what, Rule::Below { than: 1.0 }, &[name], (OLIA, rival), joules));
        }
    }
    let ran: Vec<(f64, &str)> = USERS.into_iter().filter(|(_, name)| names.contains(name)).collect();
    let per_user = |(policy, label): &(&str, &str)| evidence.sweep(label, &ran, policy, joules);
    Examined {
        findings,
        figures: vec![
            evidence.boxes(("Energy of all users", "J (relative)"), names, &EXISTING, joules),
            lines("Energy of all users", "N", "J (relative)", EXISTING.iter().map(per_user).collect()),
        ],
    }
}

fn existing(evidence: &Evidence<'_>) -> Examined {
    let rivals = EXISTING.iter().filter(|(policy, _)| *policy != LIA);
    let (name, metric) = energy(evidence, PER_BIT);
    let findings = rivals
        .map(|(rival, label)| {
            let what = format!("{name}, LIA ÷ {label}");
            evidence.ratio(&what, Rule::Below { than: 1.0 }, &["bursts"], (LIA, rival), metric)
        })
        .collect();
    let figure = evidence.boxes(("Energy per gigabit", "J/Gbit"), &["bursts"], &EXISTING, joules_per_gbit);
    Examined { findings, figures: vec![figure] }
}

fn traces(evidence: &Evidence<'_>) -> Examined {
    // "No loss" within 5 %.
    let rule = Rule::Above { than: 0.95 };
    let finding = evidence.ratio("goodput, DTS ÷ LIA", rule, &["bursts"], (DTS, LIA), |run| run.goodput_bps);
    let trace = |(policy, label): (&str, &str)| -> Line {
        evidence.over_time(label, ("bursts", policy), |series| {
            total(&series.goodput_bps).iter().map(|bps| bps / 1e6).collect()
        })
    };
    let mean = |(policy, label): (&str, &str)| -> Line {
        evidence.over_time(label, ("bursts", policy), |series| {
            running_mean(&series.time_s, &total(&series.goodput_bps)).iter().map(|bps| bps / 1e6).collect()
        })
    };
    let both = [(LIA, "LIA"), (DTS, "DTS")];
    Examined {
        findings: vec![finding],
        figures: vec![
            lines("Goodput, first seed", "time, s", "Mbit/s", both.map(trace).to_vec()),
            lines("Goodput since the start, first seed", "time, s", "Mbit/s", both.map(mean).to_vec()),
        ],
    }
}

/// Energy and goodput of both versions on both buffers. The transfer has no end and lasts 200 s, and the
/// paper speaks of a trade of energy for throughput: absolute energy, not joules per bit.
pub(super) fn wireless(evidence: &Evidence<'_>) -> Examined {
    let buffers = evidence.studies();
    let versions = [(DTS, "DTS"), (EDTS, "extended DTS")];
    let version = evidence.reading(VERSION);
    let judged = versions.iter().filter(|(policy, _)| version.is_none_or(|version| version == *policy));
    let (name, metric) = energy(evidence, ABSOLUTE);
    let mut findings = vec![];
    for (policy, label) in judged {
        for &buffer in &buffers {
            let reading = format!("{label}, {buffer}");
            let mut add = |what: &str, rule: Rule, metric: Metric| {
                let what = format!("{what}, DTS ÷ LIA");
                let finding = evidence.ratio(&what, rule, &[buffer], (policy, LIA), metric);
                findings.push(finding.under(&reading));
            };
            add(name, Rule::UpTo { stated: 0.7, tolerance: OF_AN_EFFECT }, metric);
            add("goodput", Rule::Below { than: 1.0 }, |run| run.goodput_bps);
            add("energy per bit, not judged", Rule::Shown, joules_per_gbit);
        }
    }
    let policies = [(LIA, "LIA"), versions[0], versions[1]];
    let bars =
        |title: (&str, &str), metric: Metric| -> Figure { evidence.bars(title, &buffers, &policies, metric) };
    Examined {
        findings,
        figures: vec![
            bars(("Energy", "J"), joules),
            bars(("Energy per gigabit", "J/Gbit"), joules_per_gbit),
            bars(("Goodput", "Mbit/s"), goodput_mbps),
            bars(("Power", "W"), watts),
        ],
    }
}

/// Which of the two DTS is meant: the paper does not say in figure 17.
pub(super) const VERSION: &str = "version";
