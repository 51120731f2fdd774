//! Paper 002 in data centres: a virtual private cloud, BCube, FatTree, VL2.

use joulepath_model::result::RunResult;
use joulepath_report::{Finding, Line, Rule};

use super::evidence::{Evidence, lines};
use super::experiment::{Examined, Experiment, OF_AN_EFFECT, Standing};
use super::metrics::{goodput_gbps, joules, joules_per_gbit};
use super::paper002::METRIC;
use super::study::Study;

const CLOUD: &str = "papers/002-fig10";
const BCUBE: &str = "papers/002-bcube";
const FAT_TREE: &str = "papers/002-fattree";
const VL2: &str = "papers/002-vl2";
const LIA: &str = "mptcp";
const DTS: &str = "dts";
const EDTS: &str = "edts";
const TCP: &str = "uncoupled[subflows=1]";
const DCTCP: &str = "uncoupled[cc=dctcp,subflows=1]";
/// LIA with so many subflows.
const SUBFLOWS: [(f64, &str); 4] =
    [(1.0, "mptcp[subflows=1]"), (2.0, "mptcp[subflows=2]"), (4.0, "mptcp[subflows=4]"), (8.0, LIA)];
/// "Greatly" is at least a fifth less.
const GREATLY: f64 = 0.8;
/// "No saving" is less than a twentieth.
const NOTHING: f64 = 0.95;
const SEEDS: u32 = 5;

pub(super) fn experiments() -> Vec<Experiment> {
    let overhead = |id, title, source, claim, cause, scenario, examine| Experiment {
        id,
        title,
        source,
        claim,
        cause,
        standing: Standing::Measured,
        slots: vec![],
        studies: vec![
            Study::of(scenario, &SUBFLOWS.map(|(_, policy)| policy)).named("subflows").seeds(SEEDS, 0),
        ],
        examine,
    };
    // The paper does not define its overhead: here it is the hosts' energy per gigabit.
    let more_is_found = "whether more subflows find idle parts of the network";
    let nothing_to_find = "whether more subflows cost the host more than they find";
    vec![
        Experiment {
            id: "002-fig10",
            cause: "what four interfaces save over one",
            title: "hosts in a virtual private cloud",
            source: "002, section VI-B, figure 10",
            claim: "DTS needs up to 70 % less energy than TCP and DCTCP, and about as much as LIA",
            standing: Standing::Measured,
            slots: vec![],
            studies: vec![Study::of(CLOUD, &[TCP, DCTCP, LIA, DTS]).named("cloud").seeds(10, 0)],
            examine: cloud,
        },
        overhead(
            "002-fig12",
            "energy over the number of subflows in BCube",
            "002, section VI-C, figure 12",
            "in BCube more subflows reduce the energy overhead greatly",
            more_is_found,
            BCUBE,
            |evidence| by_subflows(evidence, Rule::Below { than: GREATLY }),
        ),
        overhead(
            "002-fig13",
            "energy over the number of subflows in FatTree",
            "002, section VI-C, figure 13",
            "in FatTree more subflows save no energy",
            more_is_found,
            FAT_TREE,
            |evidence| by_subflows(evidence, Rule::Above { than: NOTHING }),
        ),
        overhead(
            "002-fig14",
            "energy over the number of subflows in VL2",
            "002, section VI-C, figure 14",
            "in VL2 more subflows save no energy",
            nothing_to_find,
            VL2,
            |evidence| by_subflows(evidence, Rule::Above { than: NOTHING }),
        ),
        Experiment {
            id: "002-fig15",
            cause: "what prices save",
            title: "energy of extended DTS in FatTree and VL2",
            source: "002, section VI-C, figure 15",
            claim: "with 8 subflows extended DTS needs up to 20 % less energy than LIA",
            standing: Standing::Measured,
            slots: vec![],
            studies: extended(),
            examine: |evidence| {
                let rule = Rule::UpTo { stated: 0.8, tolerance: OF_AN_EFFECT };
                // The paper's own measure of energy costs in a data centre is U_ep, its equation (6).
                match evidence.reading(METRIC) {
                    Some("hosts, J/bit") => {
                        extended_against_lia(evidence, "energy of the hosts per bit", rule, joules_per_gbit)
                    }
                    Some("switches, J/bit") => {
                        extended_against_lia(evidence, "energy of the switches per bit", rule, network_energy)
                    }
                    _ => extended_against_lia(evidence, "U_ep", rule, price),
                }
            },
        },
        Experiment {
            id: "002-fig16",
            cause: "what prices carry",
            title: "throughput of extended DTS in FatTree and VL2",
            source: "002, section VI-C, figure 16",
            claim: "with 8 subflows extended DTS has about the throughput of LIA",
            standing: Standing::Measured,
            slots: vec![],
            studies: extended(),
            examine: |evidence| {
                let similar = Rule::Within { low: 0.95, high: 1.05 };
                extended_against_lia(evidence, "goodput", similar, |run| run.goodput_bps)
            },
        },
    ]
}

fn extended() -> Vec<Study> {
    let study = |(name, scenario)| Study::of(scenario, &[LIA, EDTS, DTS]).named(name).seeds(SEEDS, 0);
    [("FatTree", FAT_TREE), ("VL2", VL2)].map(study).to_vec()
}

/// Energy of the switches per gigabit that arrives, J.
fn network_energy(run: &RunResult) -> f64 {
    let bits = run.goodput_bps * run.measured_s;
    run.network.as_ref().map_or(f64::NAN, |network| network.energy_j() / bits * 1e9)
}

/// U_ep, packets.
fn price(run: &RunResult) -> f64 {
    run.network.as_ref().map_or(f64::NAN, |network| network.price_packets)
}

fn cloud(evidence: &Evidence<'_>) -> Examined {
    let less = Rule::UpTo { stated: 0.3, tolerance: OF_AN_EFFECT };
    let similar = Rule::Within { low: 0.9, high: 1.1 };
    let ratio = |what: &str, rule: Rule, rival: &str| {
        evidence.ratio(&format!("energy, DTS ÷ {what}"), rule, &["cloud"], (DTS, rival), joules)
    };
    let named = [(TCP, "TCP"), (DCTCP, "DCTCP"), (LIA, "LIA"), (DTS, "DTS")];
    Examined {
        findings: vec![
            ratio("TCP", less, TCP),
            ratio("DCTCP", less, DCTCP),
            ratio("LIA", similar, LIA),
            evidence.ratio("energy, LIA ÷ TCP", Rule::Shown, &["cloud"], (LIA, TCP), joules),
        ],
        figures: vec![
            evidence.bars(("Energy of all hosts", "J (relative)"), &["cloud"], &named, joules),
            evidence.bars(("Goodput of all hosts", "Gbit/s"), &["cloud"], &named, goodput_gbps),
        ],
    }
}

fn by_subflows(evidence: &Evidence<'_>, rule: Rule) -> Examined {
    let ratio = |what: &str, rule: Rule, metric: fn(&RunResult) -> f64| -> Finding {
        let what = format!("{what}, 8 subflows ÷ 1");
        evidence.ratio(&what, rule, &["subflows"], (LIA, SUBFLOWS[0].1), metric)
    };
    // What "energy overhead" is the paper does not say.
    let of_switches = evidence.reading(METRIC) == Some("switches, J/bit");
    let (hosts, switches) = if of_switches { (Rule::Shown, rule) } else { (rule, Rule::Shown) };
    let over = |title: &str, unit: &str, metric: fn(&RunResult) -> f64| {
        let points = SUBFLOWS.map(|(n, policy)| (n, evidence.mean("subflows", policy, metric)));
        lines(title, "subflows", unit, vec![Line::with_band("LIA", points)])
    };
    Examined {
        findings: vec![
            ratio("energy of the hosts per bit", hosts, joules_per_gbit),
            ratio("energy of the switches per bit", switches, network_energy),
            ratio("goodput", Rule::Shown, goodput_gbps),
        ],
        figures: vec![
            over("Energy of the hosts per gigabit", "J/Gbit (relative)", joules_per_gbit),
            over("Energy of the switches per gigabit", "J/Gbit", network_energy),
            over("Goodput of all hosts", "Gbit/s", goodput_gbps),
        ],
    }
}

fn extended_against_lia(
    evidence: &Evidence<'_>,
    name: &str,
    rule: Rule,
    metric: fn(&RunResult) -> f64,
) -> Examined {
    let topologies = evidence.studies();
    let mut findings = vec![];
    for &topology in &topologies {
        let what = format!("{name}, extended DTS ÷ LIA, {topology}");
        findings.push(evidence.ratio(&what, rule, &[topology], (EDTS, LIA), metric));
    }
    for &topology in &topologies {
        let what = format!("energy of the hosts per bit, extended DTS ÷ LIA, {topology}");
        findings.push(evidence.ratio(&what, Rule::Shown, &[topology], (EDTS, LIA), joules_per_gbit));
        let what = format!("energy of the switches per bit, extended DTS ÷ LIA, {topology}");
        findings.push(evidence.ratio(&what, Rule::Shown, &[topology], (EDTS, LIA), network_energy));
        let what = format!("U_ep, extended DTS ÷ LIA, {topology}");
        findings.push(evidence.ratio(&what, Rule::Shown, &[topology], (EDTS, LIA), price));
    }
    let named = [(LIA, "LIA"), (EDTS, "extended DTS"), (DTS, "DTS")];
    Examined {
        findings,
        figures: vec![
            evidence.bars(
                ("Energy of the hosts per gigabit", "J/Gbit (relative)"),
                &topologies,
                &named,
                joules_per_gbit,
            ),
            evidence.bars(
                ("Energy of the switches per gigabit", "J/Gbit"),
                &topologies,
                &named,
                network_energy,
            ),
            evidence.bars(("Goodput of all hosts", "Gbit/s"), &topologies, &named, goodput_gbps),
        ],
    }
}
