//! Paper 002: DTS and extended DTS. Hosts, two bottlenecks, bursts, radios; the data centres are in
//! `paper002_data_centre`.

use joulepath_report::{Figure, Line, Rule};

use super::evidence::{Evidence, Metric, lines, running_mean, total};
use super::experiment::{Examined, Experiment, OF_AN_EFFECT};
use super::metrics::{goodput_mbps, joules, joules_per_gbit, watts};
use super::study::Study;

const TWO_BOTTLENECKS: &str = "papers/002-fig5a";
const BURSTS: &str = "papers/002-fig5b";
const RADIOS: &str = "papers/002-fig17";
const LIA: &str = "mptcp";
const OLIA: &str = "mptcp[cc=olia]";
const BALIA: &str = "mptcp[cc=balia]";
const ECMTCP: &str = "mptcp[cc=ecmtcp]";
const DTS: &str = "dts";
const EDTS: &str = "edts";
const EXISTING: [(&str, &str); 4] =
    [(LIA, "LIA"), (OLIA, "OLIA"), (BALIA, "Balia"), (ECMTCP, "ecMTCP (recon.)")];
/// N and its study.
const USERS: [(f64, &str); 4] = [(10.0, "N = 10"), (20.0, "N = 20"), (50.0, "N = 50"), (100.0, "N = 100")];

pub(super) fn experiments() -> Vec<Experiment> {
    let open = |id, title, source, claim, reason| Experiment {
        id,
        title,
        source,
        claim,
        reason,
        is_open: true,
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
            "the 15 % are what our host model is calibrated with; that energy falls then follows (by the \
             factor 4.35)",
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
            title: "N MPTCP and 2N TCP users on two bottlenecks",
            source: "002, section VI, figures 5a and 6",
            claim: "OLIA has the lowest mean energy of LIA, OLIA, Balia and ecMTCP, the more so for large N",
            reason: "energy follows the time that a user's 16 MB take, and that is the share of the \
                     bottlenecks which the algorithm takes from the TCP users. With 10 and 20 users OLIA \
                     takes most; with 50 and 100 windows are a few packets and LIA takes more. Rates, \
                     buffers and runs are not given",
            is_open: false,
            slots: vec![],
            studies: users(),
            examine: two_bottlenecks,
        },
        Experiment {
            id: "002-fig5b/7",
            title: "existing algorithms under bursts",
            source: "002, section VI, figures 5b and 7",
            claim: "LIA needs the least energy of the existing algorithms under bursts of cross traffic",
            reason: "the host's power hardly depends on the rate, so whoever carries most needs least per \
                     bit: OLIA, by one percent. Wired interfaces cost nothing here, and with equal costs \
                     ecMTCP (recon.) is LIA",
            is_open: false,
            slots: vec![],
            studies: vec![bursts()],
            examine: existing,
        },
        Experiment {
            id: "002-fig8",
            title: "throughput of LIA and DTS under bursts",
            source: "002, section VI, figure 8",
            claim: "DTS loses no throughput against LIA",
            reason: "ε is above 1 where the queue is short: DTS is a little more aggressive than LIA",
            is_open: false,
            slots: vec![],
            studies: vec![bursts()],
            examine: traces,
        },
        Experiment {
            id: "002-fig9",
            title: "energy of LIA and DTS under bursts",
            source: "002, section VI, figure 9",
            claim: "DTS saves up to 20 % of energy against LIA",
            reason: "both fill two paths of 100 Mbit/s, and the host burns nearly the same power whatever \
                     they carry: what DTS saves per bit is what it carries more. The volume and the runs are \
                     not given",
            is_open: false,
            slots: vec![],
            studies: vec![bursts()],
            examine: |evidence| {
                let rule = Rule::UpTo { stated: 0.8, tolerance: OF_AN_EFFECT };
                Examined {
                    findings: vec![evidence.ratio(
                        "energy per bit, DTS ÷ LIA",
                        rule,
                        &["bursts"],
                        (DTS, LIA),
                        joules_per_gbit,
                    )],
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
            title: "WiFi and 4G with cross traffic",
            source: "002, section VI, figure 17",
            claim: "DTS needs up to 30 % less energy than LIA, for less throughput",
            reason: "with 64 KiB of receive buffer the window, not the algorithm, sets the rate; with 4 MiB \
                     DTS shifts little because the radios' θ burns on both paths anyway. Cross traffic, \
                     radio model and which DTS are not given",
            is_open: false,
            slots: vec![],
            studies: radios(),
            examine: wireless,
        },
    ]
}

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
    let names = USERS.map(|(_, name)| name);
    let mut findings = vec![];
    for name in names {
        for (rival, label) in EXISTING.iter().filter(|(policy, _)| *policy != OLIA) {
            let what = format!("energy, OLIA ÷ {label}, {name}");
            findings.push(evidence.ratio(&what, Rule::Below { than: 1.0 }, &[name], (OLIA, rival), joules));
        }
    }
    let per_user = |(policy, label): &(&str, &str)| evidence.sweep(label, &USERS, policy, joules);
    Examined {
        findings,
        figures: vec![
            evidence.boxes(("Energy of all users", "J (relative)"), &names, &EXISTING, joules),
            lines("Energy of all users", "N", "J (relative)", EXISTING.iter().map(per_user).collect()),
        ],
    }
}

fn existing(evidence: &Evidence<'_>) -> Examined {
    let rivals = EXISTING.iter().filter(|(policy, _)| *policy != LIA);
    let findings = rivals
        .map(|(rival, label)| {
            let what = format!("energy per bit, LIA ÷ {label}");
            evidence.ratio(&what, Rule::Below { than: 1.0 }, &["bursts"], (LIA, rival), joules_per_gbit)
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

/// Energy per bit and goodput of both versions on both buffers.
pub(super) fn wireless(evidence: &Evidence<'_>) -> Examined {
    let buffers = ["64 KiB", "4 MiB"];
    let policies = [(LIA, "LIA"), (DTS, "DTS"), (EDTS, "extended DTS")];
    let mut findings = vec![];
    for (policy, label) in &policies[1..] {
        let rule = Rule::UpTo { stated: 0.7, tolerance: OF_AN_EFFECT };
        let what = format!("energy per bit, {label} ÷ LIA");
        findings.push(evidence.best_ratio(&what, rule, &buffers, (policy, LIA), joules_per_gbit));
        for buffer in buffers {
            let what = format!("goodput, {label} ÷ LIA, {buffer}");
            findings
                .push(evidence.ratio(&what, Rule::Shown, &[buffer], (policy, LIA), |run| run.goodput_bps));
        }
    }
    let bars =
        |title: (&str, &str), metric: Metric| -> Figure { evidence.bars(title, &buffers, &policies, metric) };
    Examined {
        findings,
        figures: vec![
            bars(("Energy per gigabit", "J/Gbit"), joules_per_gbit),
            bars(("Goodput", "Mbit/s"), goodput_mbps),
            bars(("Power", "W"), watts),
        ],
    }
}
