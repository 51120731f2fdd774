//! Paper 001: ES-MPTCP, files over 3G and WLAN.

use joulepath_model::result::RunResult;
use joulepath_report::{Figure, Finding, Rule, capital, ratio_estimate};

use super::evidence::{Evidence, Metric, lines};
use super::experiment::{Examined, Experiment, OF_AN_EFFECT};
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
const NAMES: [(&str, &str); 3] = [(LOW_RTT, "lowRTT"), (EMTCP, "eMTCP"), (ES, "ES-MPTCP")];

pub(super) fn experiments() -> Vec<Experiment> {
    // Segments are given to windows that have space, never queued ahead.
    let same = "the WLAN has the lower power and the lower RTT: eMTCP, which prefers the one, and lowRTT, \
                which prefers the other, choose alike, segment by segment. What eMTCP would take back from \
                3G's queue is never there where only free window space is filled";
    vec![
        Experiment {
            id: "001-3g3g",
            title: "eMTCP over two 3G links",
            source: "001, section III",
            claim: "a comparison over 3G + 3G is announced",
            reason: "no result is shown, and none of its parameters is given",
            is_open: true,
            slots: vec![],
            studies: vec![],
            examine: |_| Examined::default(),
        },
        Experiment {
            id: "001-fig2a",
            title: "energy of eMTCP and lowRTT",
            source: "001, section III, figure 2a",
            claim: "eMTCP needs more energy than lowRTT on 3G + WLAN",
            reason: same,
            is_open: false,
            slots: vec![],
            studies: mixed(&[LOW_RTT, EMTCP]),
            examine: |evidence| compared(evidence, ("energy", "J"), joules, Rule::Above { than: 1.0 }),
        },
        Experiment {
            id: "001-fig2b",
            title: "goodput of eMTCP and lowRTT",
            source: "001, section III, figure 2b",
            claim: "eMTCP has less goodput than lowRTT on 3G + WLAN",
            reason: same,
            is_open: false,
            slots: vec![],
            studies: mixed(&[LOW_RTT, EMTCP]),
            examine: |evidence| {
                compared(evidence, ("goodput", "Mbit/s"), goodput_mbps, Rule::Below { than: 1.0 })
            },
        },
        Experiment {
            id: "001-fig3",
            title: "packets on the WLAN",
            source: "001, section III, figure 3",
            claim: "at 800 and 900 KB eMTCP sends a larger part over the WLAN than lowRTT",
            reason: same,
            is_open: false,
            slots: vec![],
            studies: mixed(&[LOW_RTT, EMTCP]),
            examine: |evidence| {
                compared(
                    evidence,
                    ("part on the WLAN", ""),
                    |run| run.paths[0].share,
                    Rule::Above { than: 1.0 },
                )
            },
        },
        Experiment {
            id: "001-fig4",
            title: "goodput of the WLAN path",
            source: "001, section III, figure 4",
            claim: "the WLAN path has less goodput under eMTCP than under lowRTT",
            reason: same,
            is_open: false,
            slots: vec![],
            studies: mixed(&[LOW_RTT, EMTCP]),
            examine: |evidence| {
                let wlan: Metric = |run| run.paths[0].goodput_bps / 1e6;
                compared(evidence, ("goodput of the WLAN", "Mbit/s"), wlan, Rule::Below { than: 1.0 })
            },
        },
        Experiment {
            id: "001-fig5",
            title: "retransmission rate",
            source: "001, section III, figure 5",
            claim: "eMTCP retransmits more than lowRTT",
            reason: same,
            is_open: false,
            slots: vec![],
            studies: mixed(&[LOW_RTT, EMTCP]),
            examine: |evidence| {
                let percent: Metric = |run| 100.0 * run.retransmission_ratio;
                compared(evidence, ("retransmitted", "%"), percent, Rule::Above { than: 1.0 })
            },
        },
        Experiment {
            id: "001-fig6",
            title: "completion time",
            source: "001, section III, figure 6",
            claim: "eMTCP takes longer than lowRTT",
            reason: same,
            is_open: false,
            slots: vec![],
            studies: mixed(&[LOW_RTT, EMTCP]),
            examine: |evidence| {
                compared(evidence, ("completion time", "s"), completion, Rule::Above { than: 1.0 })
            },
        },
        Experiment {
            id: "001-fig8a",
            title: "energy of ES-MPTCP",
            source: "001, section V, figure 8a",
            claim: "ES-MPTCP reduces energy by up to 16.2 %",
            reason: "size and rival of the 16.2 % are not told. ES-MPTCP leaves 3G off, whose θ is six times \
                     the WLAN's: with θ as given the saving at the large sizes is larger than the paper's",
            is_open: false,
            slots: vec![],
            studies: mixed(&[LOW_RTT, EMTCP, ES]),
            examine: |evidence| up_to(evidence, ("energy", "J"), joules, (1.0 - 0.162, 1.0 - 0.162)),
        },
        Experiment {
            id: "001-fig8b",
            title: "goodput of ES-MPTCP",
            source: "001, section V, figure 8b",
            claim: "ES-MPTCP improves goodput by up to 13.6 %, clearly from 600 KB on",
            reason: "leaving one of two paths out cannot carry more: where 3G is not used the file takes as \
                     long as before or longer",
            is_open: false,
            slots: vec![],
            studies: mixed(&[LOW_RTT, EMTCP, ES]),
            examine: |evidence| up_to(evidence, ("goodput", "Mbit/s"), goodput_mbps, (1.136, 1.136)),
        },
        Experiment {
            id: "001-fig8c",
            title: "energy efficiency of ES-MPTCP",
            source: "001, section V, figure 8c",
            claim: "ES-MPTCP has up to 20 % more efficiency than eMTCP and 23 % more than lowRTT",
            reason: "follows from the energy: the same bytes for fewer joules",
            is_open: false,
            slots: vec![],
            studies: mixed(&[LOW_RTT, EMTCP, ES]),
            examine: |evidence| {
                up_to(evidence, ("efficiency", "Mbit/J"), |run| run.bits_per_joule / 1e6, (1.20, 1.23))
            },
        },
        Experiment {
            id: "001-fig9a/b",
            title: "each path alone",
            source: "001, section V, figures 9a and 9b",
            claim: "3G alone is better than WLAN alone above 800 KB and worse below, in goodput and in \
                    energy",
            reason: "under 1 % of loss and 25 ms the WLAN carries 6 Mbit/s in the mean, 3G 5 Mbit/s at most \
                     and at five times the power: no size turns that round (defect 001-9)",
            is_open: false,
            slots: vec![],
            studies: mixed(&[WLAN, UMTS]),
            examine: alone,
        },
        Experiment {
            id: "001-fig10a/b",
            title: "two WLANs",
            source: "001, section V, figures 10a and 10b",
            claim: "on WLAN + WLAN ES-MPTCP is better than lowRTT in energy and in goodput",
            reason: "on two equal paths the selector either keeps both and is lowRTT, or gives one up and \
                     halves the rate: it cannot be better in both. The second WLAN's parameters are not \
                     given",
            is_open: false,
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

fn names() -> Vec<&'static str> {
    SIZES.iter().map(|(_, name)| *name).collect()
}

/// A metric over the file's size.
fn over_sizes(
    evidence: &Evidence<'_>,
    (name, unit): (&str, &str),
    policies: &[(&str, &str)],
    metric: Metric,
) -> Figure {
    let line = |(policy, label): &(&str, &str)| evidence.sweep(label, &SIZES, policy, metric);
    lines(&capital(name), "size, kB", unit, policies.iter().map(line).collect())
}

/// eMTCP beside lowRTT: over all sizes together, and at the two of figure 3.
fn compared(evidence: &Evidence<'_>, (name, unit): (&str, &str), metric: Metric, rule: Rule) -> Examined {
    let at = |what: &str, studies: &[&str]| {
        evidence.ratio(&format!("{name}, eMTCP ÷ lowRTT, {what}"), rule, studies, (EMTCP, LOW_RTT), metric)
    };
    Examined {
        findings: vec![at("all sizes", &names()), at("800 and 900 kB", &["800kB", "900kB"])],
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
        let rule = Rule::UpTo { stated, tolerance: OF_AN_EFFECT };
        evidence.best_ratio(&format!("{name}, ES-MPTCP ÷ {label}"), rule, &names(), (ES, rival), metric)
    };
    let whole = |rival: &str, label: &str| {
        let what = format!("{name}, ES-MPTCP ÷ {label}, all sizes together");
        evidence.ratio(&what, Rule::Shown, &names(), (ES, rival), metric)
    };
    Examined {
        findings: vec![
            best(EMTCP, "eMTCP", emtcp),
            best(LOW_RTT, "lowRTT", low_rtt),
            whole(EMTCP, "eMTCP"),
            whole(LOW_RTT, "lowRTT"),
        ],
        figures: vec![over_sizes(evidence, (name, unit), &NAMES, metric)],
    }
}

fn alone(evidence: &Evidence<'_>) -> Examined {
    let small = ["256kB", "512kB", "600kB", "700kB"];
    let large = ["900kB", "1000kB"];
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
            evidence.ratio(&what("energy"), Rule::Below { than: 1.0 }, &names(), pair, joules),
            evidence.ratio(&what("goodput"), Rule::Above { than: 1.0 }, &names(), pair, goodput_mbps),
        ],
        figures: vec![
            over_sizes(evidence, ("energy", "J"), &both, joules),
            over_sizes(evidence, ("goodput", "Mbit/s"), &both, goodput_mbps),
        ],
    }
}

/// Both headline numbers, for the claim across papers.
pub(super) fn headline(evidence: &Evidence<'_>) -> Examined {
    let rule = |stated: f64| Rule::UpTo { stated, tolerance: OF_AN_EFFECT };
    let best = |name: &str, metric: Metric, stated: f64, (rival, label): (&str, &str)| {
        let what = format!("{name}, ES-MPTCP ÷ {label}");
        evidence.best_ratio(&what, rule(stated), &names(), (ES, rival), metric)
    };
    let signs = evidence.pairs(&names(), EMTCP, LOW_RTT, |run| run.bits_per_joule);
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
                ratio_estimate(&signs),
                signs.len(),
            ),
        ],
        figures: vec![over_sizes(evidence, ("energy", "J"), &NAMES, joules)],
    }
}
