//! Paper 001: ES-MPTCP, files over 3G and WLAN.

use joulepath_model::result::RunResult;
use joulepath_report::{Figure, Finding, Rule, capital, ratio_interval};

use super::evidence::{Evidence, Metric, lines};
use super::experiment::{Examined, Experiment, OF_AN_EFFECT, Standing};
use super::metrics::{goodput_mbps, joules};
use super::study::Study;

const MIXED: &str = "papers/001-3g-wlan";
const EQUAL: &str = "papers/001-wlan-wlan";
/// The scenario itself has this size; the others are its variants.
const BASE: &str = "600kB";
/// kB, and the name of the study.
const SIZES: [(f64, &str); 11] = [
    (16.0, "16kB"),
    (32.0, "32kB"),
    (64.0, "64kB"),
    (128.0, "128kB"),
    (256.0, "256kB"),
    (512.0, "512kB"),
    (600.0, "600kB"),
    (700.0, "700kB"),
    (800.0, "800kB"),
    (900.0, "900kB"),
    (1000.0, "1000kB"),
];
const LOW_RTT: &str = "mptcp";
const EMTCP: &str = "emtcp";
const ES: &str = "es-mptcp";
const WLAN: &str = "single:wlan";
const UMTS: &str = "single:3g";
const NAMES: [(&str, &str); 3] = [(LOW_RTT, "lowRTT"), (EMTCP, "eMTCP (recon.)"), (ES, "ES-MPTCP")];

pub(super) fn experiments() -> Vec<Experiment> {
    // Segments are given to windows that have space, never queued ahead: what eMTCP would take back from 3G's
    // queue is never there.
    let unknown = Standing::Open(
        "eMTCP's text was not available: what was reconstructed of it is its order of costs, and what sets \
         it apart is missing",
    );
    vec![
        Experiment {
            id: "001-3g3g",
            cause: "what the paper shows of 3G + 3G",
            title: "eMTCP over two 3G links",
            source: "001, section III",
            claim: "a comparison over 3G + 3G is announced",
            standing: Standing::Open("no result is shown, and none of its parameters is given"),
            slots: vec![],
            studies: vec![],
            examine: |_| Examined::default(),
        },
        Experiment {
            id: "001-fig2a",
            cause: "what eMTCP does, whose text was not available",
            title: "energy of eMTCP and lowRTT",
            source: "001, section III, figure 2a",
            claim: "eMTCP needs more energy than lowRTT on 3G + WLAN",
            standing: unknown,
            slots: vec![],
            studies: mixed(&[LOW_RTT, EMTCP]),
            examine: |evidence| compared(evidence, ("energy", "J"), joules),
        },
        Experiment {
            id: "001-fig2b",
            cause: "what eMTCP does, whose text was not available",
            title: "goodput of eMTCP and lowRTT",
            source: "001, section III, figure 2b",
            claim: "eMTCP has less goodput than lowRTT on 3G + WLAN",
            standing: unknown,
            slots: vec![],
            studies: mixed(&[LOW_RTT, EMTCP]),
            examine: |evidence| compared(evidence, ("goodput", "Mbit/s"), goodput_mbps),
        },
        Experiment {
            id: "001-fig3",
            cause: "what eMTCP does, whose text was not available",
            title: "packets on the WLAN",
            source: "001, section III, figure 3",
            claim: "at 800 and 900 KB eMTCP sends a larger part over the WLAN than lowRTT",
            standing: unknown,
            slots: vec![],
            studies: mixed(&[LOW_RTT, EMTCP]),
            examine: |evidence| compared(evidence, ("part on the WLAN", ""), |run| run.paths[0].share),
        },
        Experiment {
            id: "001-fig4",
            cause: "what eMTCP does, whose text was not available",
            title: "goodput of the WLAN path",
            source: "001, section III, figure 4",
            claim: "the WLAN path has less goodput under eMTCP than under lowRTT",
            standing: unknown,
            slots: vec![],
            studies: mixed(&[LOW_RTT, EMTCP]),
            examine: |evidence| {
                let wlan: Metric = |run| run.paths[0].goodput_bps / 1e6;
                compared(evidence, ("goodput of the WLAN", "Mbit/s"), wlan)
            },
        },
        Experiment {
            id: "001-fig5",
            cause: "what eMTCP does, whose text was not available",
            title: "retransmission rate",
            source: "001, section III, figure 5",
            claim: "eMTCP retransmits more than lowRTT",
            standing: unknown,
            slots: vec![],
            studies: mixed(&[LOW_RTT, EMTCP]),
            examine: |evidence| {
                let percent: Metric = |run| 100.0 * run.retransmission_ratio;
                compared(evidence, ("retransmitted", "%"), percent)
            },
        },
        Experiment {
            id: "001-fig6",
            cause: "what eMTCP does, whose text was not available",
            title: "completion time",
            source: "001, section III, figure 6",
            claim: "eMTCP takes longer than lowRTT",
            standing: unknown,
            slots: vec![],
            studies: mixed(&[LOW_RTT, EMTCP]),
            examine: |evidence| compared(evidence, ("completion time", "s"), completion),
        },
        Experiment {
            id: "001-fig8a",
            cause: "what leaving 3G out saves",
            title: "energy of ES-MPTCP",
            source: "001, section V, figure 8a",
            claim: "ES-MPTCP reduces energy by up to 16.2 %",
            standing: Standing::Measured,
            slots: vec![],
            studies: mixed(&[LOW_RTT, EMTCP, ES]),
            examine: |evidence| up_to(evidence, ("energy", "J"), joules, (1.0 - 0.162, 1.0 - 0.162)),
        },
        Experiment {
            id: "001-fig8b",
            cause: "whether leaving 3G out carries more",
            title: "goodput of ES-MPTCP",
            source: "001, section V, figure 8b",
            claim: "ES-MPTCP improves goodput by up to 13.6 %, clearly from 600 KB on",
            standing: Standing::Measured,
            slots: vec![],
            studies: mixed(&[LOW_RTT, EMTCP, ES]),
            examine: |evidence| up_to(evidence, ("goodput", "Mbit/s"), goodput_mbps, (1.136, 1.136)),
        },
        Experiment {
            id: "001-fig8c",
            cause: "what leaving 3G out saves",
            title: "energy efficiency of ES-MPTCP",
            source: "001, section V, figure 8c",
            claim: "ES-MPTCP has up to 20 % more efficiency than eMTCP and 23 % more than lowRTT",
            standing: Standing::Measured,
            slots: vec![],
            studies: mixed(&[LOW_RTT, EMTCP, ES]),
            examine: |evidence| {
                up_to(evidence, ("efficiency", "Mbit/J"), |run| run.bits_per_joule / 1e6, (1.20, 1.23))
            },
        },
        Experiment {
            id: "001-fig9a/b",
            cause: "which path alone is better at which size",
            title: "each path alone",
            source: "001, section V, figures 9a and 9b",
            claim: "3G alone is better than WLAN alone above 800 KB and worse below, in goodput and in \
                    energy",
            standing: Standing::Measured,
            slots: vec![],
            studies: mixed(&[WLAN, UMTS]),
            examine: alone,
        },
        Experiment {
            id: "001-fig10a/b",
            cause: "whether giving up one of two equal paths helps",
            title: "two WLANs",
            source: "001, section V, figures 10a and 10b",
            claim: "on WLAN + WLAN ES-MPTCP is better than lowRTT in energy and in goodput",
            standing: Standing::Measured,
            slots: vec![],
            studies: sizes(EQUAL, &[LOW_RTT, ES], &[LOW_RTT, ES]),
            examine: equal,
        },
    ]
}

/// Files of every size. The quick extent has them, too: they last seconds.
fn sizes(scenario: &'static str, policies: &[&str], real: &[&str]) -> Vec<Study> {
    let study = |(_, name): &(f64, &'static str)| {
        let study = Study::of(scenario, policies).named(*name).seeds(100, 10);
        let study = if *name == BASE { study } else { study.variant(*name) };
        // The kernel runs the sizes at which the paper's claims turn.
        let in_kernel = ["256kB", BASE, "900kB"].contains(name) && !real.is_empty();
        if in_kernel { study.kernel(real, 15, None) } else { study }
    };
    SIZES.iter().map(study).collect()
}

/// On 3G + WLAN. Mainline has no scheduler that takes segments back: it runs all but eMTCP.
pub(super) fn mixed(policies: &[&str]) -> Vec<Study> {
    let real: Vec<&str> = policies.iter().copied().filter(|policy| *policy != EMTCP).collect();
    // A comparison with eMTCP alone has nothing for the kernel.
    let real = if real.len() > 1 { real } else { vec![] };
    sizes(MIXED, policies, &real)
}

fn completion(run: &RunResult) -> f64 {
    run.completion_s.unwrap_or(f64::NAN)
}

/// A metric over the file's size.
fn over_sizes(
    evidence: &Evidence<'_>,
    (name, unit): (&str, &str),
    policies: &[(&str, &str)],
    metric: Metric,
) -> Figure {
    let ran = evidence.studies();
    let sizes: Vec<(f64, &str)> = SIZES.into_iter().filter(|(_, name)| ran.contains(name)).collect();
    let line = |(policy, label): &(&str, &str)| evidence.sweep(label, &sizes, policy, metric);
    lines(&capital(name), "size, kB", unit, policies.iter().map(line).collect())
}

/// eMTCP beside lowRTT: over all sizes together, and at the two of figure 3.
fn compared(evidence: &Evidence<'_>, (name, unit): (&str, &str), metric: Metric) -> Examined {
    let at = |what: &str, studies: &[&str]| {
        let what = format!("{name}, eMTCP (recon.) ÷ lowRTT, {what}");
        evidence.ratio(&what, Rule::Shown, studies, (EMTCP, LOW_RTT), metric)
    };
    Examined {
        findings: vec![at("all sizes", &evidence.studies()), at("800 and 900 kB", &["800kB", "900kB"])],
        figures: vec![over_sizes(evidence, (name, unit), &NAMES[..2], metric)],
    }
}

/// ES-MPTCP beside eMTCP and lowRTT, at the size that favours it most.
fn up_to(
    evidence: &Evidence<'_>,
    (name, unit): (&str, &str),
    metric: Metric,
    (emtcp, low_rtt): (f64, f64),
) -> Examined {
    let best = |rival: &str, label: &str, stated: f64| {
        // eMTCP's text was not available: what is measured against it is shown, not judged.
        let rule = if rival == EMTCP { Rule::Shown } else { Rule::UpTo { stated, tolerance: OF_AN_EFFECT } };
        let up = stated > 1.0;
        let what = format!("{name}, ES-MPTCP ÷ {label}");
        evidence.best(&what, rule, up, &evidence.studies(), (ES, rival), metric)
    };
    let whole = |rival: &str, label: &str| {
        let what = format!("{name}, ES-MPTCP ÷ {label}, all sizes together");
        evidence.ratio(&what, Rule::Shown, &evidence.studies(), (ES, rival), metric)
    };
    Examined {
        findings: vec![
            best(EMTCP, "eMTCP (recon.)", emtcp),
            best(LOW_RTT, "lowRTT", low_rtt),
            whole(EMTCP, "eMTCP (recon.)"),
            whole(LOW_RTT, "lowRTT"),
        ],
        figures: vec![over_sizes(evidence, (name, unit), &NAMES, metric)],
    }
}

fn alone(evidence: &Evidence<'_>) -> Examined {
    let ran = evidence.studies();
    let of = |sizes: &[&'static str]| -> Vec<&str> {
        sizes.iter().copied().filter(|size| ran.contains(size)).collect()
    };
    let small = of(&["256kB", "512kB", "600kB", "700kB"]);
    let large = of(&["900kB", "1000kB"]);
    let ratio = |name: &str, metric: Metric, studies: &[&str], what: &str, rule: Rule| {
        evidence.ratio(&format!("{name}, 3G alone ÷ WLAN alone, {what}"), rule, studies, (UMTS, WLAN), metric)
    };
    let (above, below) = (Rule::Above { than: 1.0 }, Rule::Below { than: 1.0 });
    Examined {
        findings: vec![
            ratio("goodput", goodput_mbps, &large, "900 and 1000 kB", above),
            ratio("goodput", goodput_mbps, &small, "256 to 700 kB", below),
            ratio("energy", joules, &large, "900 and 1000 kB", below),
            ratio("energy", joules, &small, "256 to 700 kB", above),
        ],
        figures: vec![
            over_sizes(evidence, ("goodput", "Mbit/s"), &[(WLAN, "WLAN"), (UMTS, "3G")], goodput_mbps),
            over_sizes(evidence, ("energy", "J"), &[(WLAN, "WLAN"), (UMTS, "3G")], joules),
        ],
    }
}

fn equal(evidence: &Evidence<'_>) -> Examined {
    let pair = (ES, LOW_RTT);
    let what = |name: &str| format!("{name}, ES-MPTCP ÷ lowRTT, all sizes");
    let both = [(LOW_RTT, "lowRTT"), (ES, "ES-MPTCP")];
    Examined {
        findings: vec![
            evidence.ratio(&what("energy"), Rule::Below { than: 1.0 }, &evidence.studies(), pair, joules),
            evidence.ratio(
                &what("goodput"),
                Rule::Above { than: 1.0 },
                &evidence.studies(),
                pair,
                goodput_mbps,
            ),
        ],
        figures: vec![
            over_sizes(evidence, ("energy", "J"), &both, joules),
            over_sizes(evidence, ("goodput", "Mbit/s"), &both, goodput_mbps),
        ],
    }
}

/// Both headline numbers, for the claim across papers.
pub(super) fn headline(evidence: &Evidence<'_>) -> Examined {
    let best = |name: &str, metric: Metric, stated: f64, (rival, label): (&str, &str)| {
        let rule = if rival == EMTCP { Rule::Shown } else { Rule::UpTo { stated, tolerance: OF_AN_EFFECT } };
        let what = format!("{name}, ES-MPTCP ÷ {label}");
        evidence.best(&what, rule, stated > 1.0, &evidence.studies(), (ES, rival), metric)
    };
    let signs = evidence.pairs(&evidence.studies(), EMTCP, LOW_RTT, |run| run.bits_per_joule);
    Examined {
        findings: vec![
            best("energy", joules, 1.0 - 0.162, NAMES[0]),
            best("energy", joules, 1.0 - 0.162, NAMES[1]),
            best("goodput", goodput_mbps, 1.136, NAMES[0]),
            best("goodput", goodput_mbps, 1.136, NAMES[1]),
            Finding::new(
                "efficiency, eMTCP ÷ lowRTT (section III says below 1, section V implies 1.025)",
                "",
                Rule::Shown,
                ratio_interval(&signs),
                signs.len(),
            ),
        ],
        figures: vec![over_sizes(evidence, ("energy", "J"), &NAMES, joules)],
    }
}
