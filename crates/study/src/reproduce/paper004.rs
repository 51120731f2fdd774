//! Paper 004: CWA-MPTCP, its proactive scheduler, relays.

use joulepath_model::result::{BlockSeries, RunResult};
use joulepath_report::{Finding, Line, Rule};

use super::evidence::{Evidence, MOST_POINTS, Metric, exactly, level, lines};
use super::experiment::{Examined, Experiment, OF_A_NUMBER, Standing};
use super::metrics::goodput_mbps;
use super::study::Study;

const WIRELESS: &str = "papers/004-wireless";
const WIRED: &str = "papers/004-wired";
/// The scheduler of the paper's section III-C: "finds the first path having one packet free space". minRTT
/// with penalisation would itself cut the slow path's window, which is what CWA is about.
pub(super) const MPTCP: &str = "mptcp[scheduler=first-free]";
pub(super) const CWA: &str = "cwa[scheduler=first-free]";
const PROACTIVE: &str = "cwa-proactive";
const RELAYS: &str = "papers/004-relays";
/// Radio of the last hop and kind of the relays: the study, and the scenario's variant.
const HOPS: [(&str, Option<&str>); 4] = [
    ("802.11b, IP relays", None),
    ("802.11b, TCP relays", Some("tcp")),
    ("802.11g, IP relays", Some("g")),
    ("802.11g, TCP relays", Some("g-tcp")),
];
/// The upper bound: both links together.
const AGGREGATE_MBPS: f64 = 6.0;
/// A tenth above the slow link's rate.
const NEAR_SLOW_MBPS: f64 = 2.2;
/// What a buffer must hold at least to take a block of 100 segments.
const BLOCK: f64 = 100.0;
const DURATION_S: f64 = 200.0;
/// The sink's buffer: table I bounds it to 100 segments, figures 5, 8 and 10 show more than that: both are
/// run.
const SINKS: [(&str, Option<&str>); 2] = [("100 segments", None), ("4 MiB", Some("4 MiB"))];

pub(super) fn experiments() -> Vec<Experiment> {
    vec![
        Experiment {
            id: "004-fig3",
            cause: "a slip in equation (2)",
            title: "goodput of a block over two paths",
            source: "004, section III-A, figure 3, equations (2) to (4)",
            claim: "for ΔD > τ1 the goodput is (τ2/τ1 + 1)/ΔD, inversely proportional to the difference of \
                    the delays; with ΔD = 3 τ1 two packets arrive in between",
            standing: Standing::Slip,
            slots: vec![],
            studies: vec![],
            examine: |_| blocks(),
        },
        Experiment {
            id: "004-dT",
            cause: "a slip in the range of equation (5)",
            title: "how long a subflow is blocked after a reduction",
            source: "004, section III-B, equation (5)",
            claim: "for 1 ≤ θ ≤ 3, τ = 5 ms and a window of 100 packets, ΔT ranges from 170 to 340 ms",
            standing: Standing::Slip,
            slots: vec![],
            studies: vec![],
            examine: |_| blocking_time(),
        },
        Experiment {
            id: "004-fig4",
            cause: "what CWA's cuts cost and spare",
            title: "goodput over wireless links",
            source: "004, section IV-A, figure 4",
            claim: "CWA's goodput almost reaches the aggregate of 6 Mbit/s; MPTCP's is much lower, at times \
                    near the slow path's rate",
            standing: Standing::Measured,
            slots: vec![],
            studies: over_links(WIRELESS, &[MPTCP, CWA]),
            examine: |evidence| goodput_of_blocks(evidence, &[(MPTCP, "MPTCP"), (CWA, "CWA")]),
        },
        Experiment {
            id: "004-fig5",
            cause: "what CWA leaves to be put in order",
            title: "receive buffer over wireless links",
            source: "004, section IV-A, figure 5",
            claim: "CWA needs about the least receive buffer that a block of 100 packets can have; MPTCP \
                    more",
            standing: Standing::Measured,
            slots: vec![],
            studies: over_links(WIRELESS, &[MPTCP, CWA]),
            examine: |evidence| buffer_of_blocks(evidence, &[(MPTCP, "MPTCP"), (CWA, "CWA")]),
        },
        Experiment {
            id: "004-fig7",
            cause: "what relays change",
            title: "goodput through cooperative relays",
            source: "004, section IV-A, figures 6 and 7",
            claim: "CWA has more goodput than MPTCP through IP relays and through TCP relays; TCP relays are \
                    better than IP relays",
            standing: Standing::Measured,
            slots: vec![],
            studies: through_relays(),
            examine: |evidence| relayed(evidence, "goodput", true),
        },
        Experiment {
            id: "004-fig8",
            cause: "what relays change in the buffer",
            title: "receive buffer with cooperative relays",
            source: "004, section IV-A, figure 8",
            claim: "CWA needs less receive buffer than MPTCP with either relay, and less with TCP relays \
                    than with IP relays",
            standing: Standing::Measured,
            slots: vec![],
            studies: through_relays(),
            examine: |evidence| relayed(evidence, "receive buffer", false),
        },
        Experiment {
            id: "004-fig9",
            cause: "what CWA's cuts cost and spare",
            title: "goodput over wired links",
            source: "004, section IV-B, figure 9",
            claim: "CWA with the proactive scheduler almost reaches 6 Mbit/s, with a few short dips; MPTCP \
                    and CWA alone have less",
            standing: Standing::Measured,
            slots: vec![],
            studies: over_links(WIRED, &[MPTCP, CWA, PROACTIVE]),
            examine: |evidence| {
                goodput_of_blocks(evidence, &[(MPTCP, "MPTCP"), (CWA, "CWA"), (PROACTIVE, "CWA + proactive")])
            },
        },
        Experiment {
            id: "004-fig10",
            cause: "what CWA leaves to be put in order",
            title: "receive buffer over wired links",
            source: "004, section IV-B, figure 10",
            claim: "CWA with the proactive scheduler needs the least receive buffer, that of a block of 100 \
                    packets",
            standing: Standing::Measured,
            slots: vec![],
            studies: over_links(WIRED, &[MPTCP, CWA, PROACTIVE]),
            examine: |evidence| {
                buffer_of_blocks(evidence, &[(MPTCP, "MPTCP"), (CWA, "CWA"), (PROACTIVE, "CWA + proactive")])
            },
        },
    ]
}

/// Both sizes of the sink's buffer. Mainline has CWA, not the proactive scheduler.
fn over_links(scenario: &'static str, policies: &[&str]) -> Vec<Study> {
    let study = |(name, buffer): &(&'static str, Option<&str>)| {
        let study = Study::of(scenario, policies).named(*name).seeds(20, 3).series(1);
        match buffer {
            // The kernel has its own scheduler, whatever the policy says.
            Some(buffer) => study.set("receiver.buffer", buffer).kernel_as(
                &[(MPTCP, "mptcp"), (CWA, "cwa")],
                3,
                Some("40 s"),
            ),
            None => study,
        }
    };
    SINKS.iter().map(study).collect()
}

fn through_relays() -> Vec<Study> {
    let study = |(name, variant): &(&'static str, Option<&str>)| {
        let study = Study::of(RELAYS, &[MPTCP, CWA]).named(*name).seeds(10, 0).series(1);
        variant.map_or(study.clone(), |variant| study.variant(variant))
    };
    HOPS.iter().map(study).collect()
}

/// Goodput by block (more is better) or buffer (less is better), CWA beside MPTCP and TCP relays beside IP
/// relays.
fn relayed(evidence: &Evidence<'_>, name: &str, more: bool) -> Examined {
    let (metric, unit): (Metric, &str) =
        if more { (block_goodput, "Mbit/s") } else { (block_buffer, "packets") };
    let better = if more { Rule::Above { than: 1.0 } } else { Rule::Below { than: 1.0 } };
    let policies = [(MPTCP, "MPTCP"), (CWA, "CWA")];
    let mut examined = Examined::default();
    let ran = evidence.studies();
    for (ip, tcp, radio) in [(0, 1, "802.11b"), (2, 3, "802.11g")] {
        let (ip, tcp) = (HOPS[ip].0, HOPS[tcp].0);
        if !ran.contains(&ip) {
            continue;
        }
        for (hop, relays) in [(ip, "IP relays"), (tcp, "TCP relays")] {
            let what = format!("{name} by block, CWA ÷ MPTCP, {relays}");
            let finding = evidence.ratio(&what, better, &[hop], (CWA, MPTCP), metric);
            examined.findings.push(finding.under(radio));
        }
        let what = format!("{name} by block of CWA, TCP ÷ IP relays");
        let finding = evidence.between(&what, better, (tcp, CWA), (ip, CWA), metric);
        examined.findings.push(finding.under(radio));
        if more {
            let what = "long-run goodput of CWA, TCP ÷ IP relays";
            let finding = evidence.between(what, Rule::Shown, (tcp, CWA), (ip, CWA), goodput_mbps);
            examined.findings.push(finding.under(radio));
        }
        let value: fn(&BlockSeries) -> Vec<f64> = match more {
            true => |blocks| blocks.goodput_bps.iter().map(|bps| bps / 1e6).collect(),
            false => |blocks| blocks.buffer.clone(),
        };
        let drawn = [(ip, "IP relays"), (tcp, "TCP relays")].into_iter().flat_map(|(hop, relay)| {
            policies
                .map(|(policy, label)| by_block(evidence, hop, (policy, &format!("{label}, {relay}")), value))
        });
        let title = format!("{name} of each block, {radio}, first seed");
        examined.figures.push(lines(&title, "time, s", unit, drawn.collect()));
    }
    let hops = ran;
    examined.figures.push(evidence.bars(
        (&format!("Mean {name} of a block"), unit),
        &hops,
        &policies,
        metric,
    ));
    if more {
        examined.figures.push(evidence.bars(("Long-run goodput", "Mbit/s"), &hops, &policies, goodput_mbps));
    }
    examined
}

fn block_goodput(run: &RunResult) -> f64 {
    run.blocks.map_or(f64::NAN, |blocks| blocks.goodput_bps.mean / 1e6)
}

fn slow_blocks(run: &RunResult) -> f64 {
    run.blocks.map_or(f64::NAN, |blocks| blocks.goodput_bps.p5 / 1e6)
}

fn block_buffer(run: &RunResult) -> f64 {
    run.blocks.map_or(f64::NAN, |blocks| blocks.buffer.mean)
}

/// Block by block, of the first seed; of very many every second, third, ….
fn by_block(
    evidence: &Evidence<'_>,
    study: &str,
    (policy, name): (&str, &str),
    value: fn(&BlockSeries) -> Vec<f64>,
) -> Line {
    let blocks = evidence
        .of(study, policy)
        .iter()
        .find_map(|run| run.series.as_ref()?.blocks.as_ref())
        .cloned()
        .unwrap_or_default();
    let step = blocks.time_s.len().div_ceil(MOST_POINTS).max(1);
    let values = value(&blocks).into_iter().map(Some);
    Line::new(name, blocks.time_s.into_iter().zip(values).step_by(step))
}

/// The last of `policies` is the paper's, the first MPTCP.
pub(super) fn goodput_of_blocks(evidence: &Evidence<'_>, policies: &[(&str, &str)]) -> Examined {
    let (ours, name) = policies[policies.len() - 1];
    let (rival, _) = policies[0];
    let aggregate = Rule::Value { stated: AGGREGATE_MBPS, tolerance: OF_A_NUMBER };
    let mut examined = Examined::default();
    // The paper measures each block of 100 packets; the long run is ours, and shown.
    for sink in evidence.studies() {
        let reading = format!("sink of {sink}");
        let mut add = |what: String, rule: Rule, policy: &str, metric: Metric| {
            let finding = evidence.one_run(&what, "Mbit/s", rule, (sink, policy), metric);
            examined.findings.push(finding.under(&reading));
        };
        add(format!("goodput by block of {name}"), aggregate, ours, block_goodput);
        add(format!("long-run goodput of {name}"), Rule::Shown, ours, goodput_mbps);
        let near = Rule::Below { than: NEAR_SLOW_MBPS };
        add("slowest twentieth of MPTCP's blocks".to_owned(), near, rival, slow_blocks);
        let above = Rule::Above { than: 1.0 };
        for (what, metric, rule) in [
            ("goodput by block", block_goodput as Metric, above),
            ("long-run goodput", goodput_mbps, Rule::Shown),
        ] {
            let what = format!("{what}, {name} ÷ MPTCP");
            let finding = evidence.ratio(&what, rule, &[sink], (ours, rival), metric);
            examined.findings.push(finding.under(&reading));
        }
        let mut drawn: Vec<Line> = policies
            .iter()
            .map(|&policy| {
                by_block(evidence, sink, policy, |blocks| {
                    blocks.goodput_bps.iter().map(|bps| bps / 1e6).collect()
                })
            })
            .collect();
        drawn.push(level("aggregate", 0.0, DURATION_S, AGGREGATE_MBPS));
        let title = format!("Goodput of each block of 100 packets, sink of {sink}, first seed");
        examined.figures.push(lines(&title, "time, s", "Mbit/s", drawn));
    }
    let sinks = evidence.studies();
    examined.figures.push(evidence.bars(("Long-run goodput", "Mbit/s"), &sinks, policies, goodput_mbps));
    examined.figures.push(evidence.bars(
        ("Mean goodput of a block", "Mbit/s"),
        &sinks,
        policies,
        block_goodput,
    ));
    examined
}

pub(super) fn buffer_of_blocks(evidence: &Evidence<'_>, policies: &[(&str, &str)]) -> Examined {
    let (ours, name) = policies[policies.len() - 1];
    let (rival, _) = policies[0];
    let mut examined = Examined::default();
    for sink in evidence.studies() {
        let reading = format!("sink of {sink}");
        let least = Rule::Value { stated: BLOCK, tolerance: OF_A_NUMBER };
        let what = format!("receive buffer of {name}");
        let finding = evidence.one_run(&what, "packets", least, (sink, ours), block_buffer);
        examined.findings.push(finding.under(&reading));
        let what = format!("receive buffer, {name} ÷ MPTCP");
        let less = Rule::Below { than: 1.0 };
        let finding = evidence.ratio(&what, less, &[sink], (ours, rival), block_buffer);
        examined.findings.push(finding.under(&reading));
        let mut drawn: Vec<Line> = policies
            .iter()
            .map(|&policy| by_block(evidence, sink, policy, |blocks| blocks.buffer.clone()))
            .collect();
        drawn.push(level("least", 0.0, DURATION_S, BLOCK));
        let title = format!("Receive buffer of each block, sink of {sink}, first seed");
        examined.figures.push(lines(&title, "time, s", "packets", drawn));
    }
    let sinks = evidence.studies();
    examined.figures.push(evidence.bars(
        ("Mean receive buffer of a block", "packets"),
        &sinks,
        policies,
        block_buffer,
    ));
    examined
}

/// Arrival times at the sink, in units of τ1 after the first packet: every block has τ2/τ1 packets on path 1,
/// one on path 2; the second DSN of each block goes over path 2 and needs `delay_difference` longer.
fn arrivals(blocks: usize, per_block: usize, delay_difference: f64) -> Vec<f64> {
    let mut times = vec![];
    for block in 0..blocks {
        let start = (block * per_block) as f64;
        times.push(start);
        times.push(start + delay_difference);
        times.extend((1..per_block).map(|packet| start + packet as f64));
    }
    times
}

/// Packets in order per τ1 once the sequence has begun, over all of `arrivals`.
fn in_order_rate(arrivals: &[f64]) -> f64 {
    let last = arrivals.iter().copied().fold(0.0, f64::max);
    arrivals.len() as f64 / last
}

fn blocks() -> Examined {
    const RATIO: usize = 3; // τ2 / τ1 in figure 3
    let of_equation_2 = |delay_difference: f64| (RATIO as f64 + 1.0) / delay_difference;
    // One block: from its first to its last packet, and never less than what path 2 needs for its one packet.
    let of_block = |delay_difference: f64| {
        let last = arrivals(1, RATIO, delay_difference).into_iter().fold(RATIO as f64, f64::max);
        (RATIO as f64 + 1.0) / last
    };
    let long_run = |delay_difference: f64| in_order_rate(&arrivals(100_000, RATIO, delay_difference));
    let aggregate = 1.0 + 1.0 / RATIO as f64;
    let between = arrivals(1, RATIO + 1, 3.0).iter().filter(|&&at| 0.0 < at && at < 3.0).count();
    let number = |stated: f64| Rule::Value { stated, tolerance: OF_A_NUMBER };
    let finding = |what: &str, rule: Rule, value: f64| Finding::new(what, "", rule, exactly(value), 1);
    let line = |name: &str, value: &dyn Fn(f64) -> f64, stated: bool| {
        let differences = (4..=24).map(|quarter| f64::from(quarter) / 4.0);
        Line {
            stated,
            ..Line::new(name, differences.map(|difference| (difference, Some(value(difference)))))
        }
    };
    Examined {
        findings: vec![
            finding("packets of path 1 between packets 1 and 2 at ΔD = 3 τ1", number(2.0), between as f64),
            finding(
                "goodput of a block ÷ equation (2) at ΔD = 3 τ1",
                number(1.0),
                of_block(3.0) / of_equation_2(3.0),
            ),
            finding(
                "goodput of a block ÷ equation (2) at ΔD = 2 τ1",
                number(1.0),
                of_block(2.0) / of_equation_2(2.0),
            ),
            finding(
                "goodput of a block ÷ equation (2) at ΔD = 6 τ1",
                Rule::Shown,
                of_block(6.0) / of_equation_2(6.0),
            ),
            finding(
                "long-run in-order rate ÷ equation (2) at ΔD = 6 τ1",
                Rule::Shown,
                long_run(6.0) / of_equation_2(6.0),
            ),
            finding(
                "long-run in-order rate ÷ the aggregate at ΔD = 6 τ1",
                Rule::Shown,
                long_run(6.0) / aggregate,
            ),
        ],
        figures: vec![lines(
            "Goodput over the difference of the delays, τ2 = 3 τ1",
            "ΔD / τ1",
            "packets per τ1",
            vec![
                line("equation (2) (paper)", &of_equation_2, true),
                line("a block, counted", &of_block, false),
                line("long run, counted", &long_run, false),
            ],
        )],
    }
}

/// ΔT = (w − w/θ) τ, 004, eq. (5), ms.
fn blocking_ms(window: f64, theta: f64, interval_ms: f64) -> f64 {
    (window - window / theta) * interval_ms
}

fn blocking_time() -> Examined {
    let at = |theta: f64, stated: f64| {
        let rule = Rule::Value { stated, tolerance: OF_A_NUMBER };
        Finding::new(format!("ΔT at θ = {theta}"), "ms", rule, exactly(blocking_ms(100.0, theta, 5.0)), 1)
    };
    let thetas = (20..=60).map(|theta| f64::from(theta) / 20.0);
    let line = Line::new("equation (5)", thetas.map(|theta| (theta, Some(blocking_ms(100.0, theta, 5.0)))));
    let stated = [level("least (paper)", 1.0, 3.0, 170.0), level("most (paper)", 1.0, 3.0, 340.0)];
    Examined {
        findings: vec![at(1.0, 170.0), at(3.0, 340.0)],
        figures: vec![lines("Blocking time", "θ", "ms", [line].into_iter().chain(stated).collect())],
    }
}
