//! A scoreboard with all optional parts.

use joulepath_model::result::Estimate;
use joulepath_report::{
    Bars, Boxes, Figure, Finding, FiveNumbers, Line, Plot, Report, Reproduction, Rule,
    SecondMeasurement, Verdict,
};

fn estimate(mean: f64, half: f64) -> Option<Estimate> {
    Some(Estimate {
        mean,
        lo: mean - half,
        hi: mean + half,
    })
}

/// Each verdict, each plot, a kernel that agrees and one that differs, each rule.
pub(crate) fn scoreboard() -> Reproduction {
    Reproduction {
        extent: "quick".into(),
        version: "0.1.0".into(),
        commit: "33b56abc0ffee00d1234567890abcdef12345678".into(),
        command: "joulepath reproduce --quick".into(),
        run_s: 4321.0,
        runs: 1234,
        cores: 2,
        partial: false,
        merged: false,
        left_out: vec![],
        papers: vec![],
        set_ups: vec![],
        experiments: vec![
            throughput(),
            summary(),
            energy_by_size(),
            not_in_the_kernel(),
            bottlenecks(),
            not_run(),
            data_centre(),
            queue_bound(),
            few_runs(),
            slip(),
        ],
    }
}

/// A report with the weakest verdict of its findings.
fn report(
    id: &str,
    title: &str,
    claim: &str,
    findings: Vec<Finding>,
    figures: Vec<Figure>,
) -> Report {
    let (paper, part) = id.split_once('-').unwrap();
    Report {
        id: id.into(),
        title: title.into(),
        source: format!("Paper {paper}, section V, {part}"),
        claim: claim.into(),
        verdict: Verdict::weakest(findings.iter().filter_map(|finding| finding.verdict)),
        reading: None,
        reason: String::new(),
        cause: format!("what {id} asks"),
        is_ours: false,
        values_of: None,
        set_up: vec![format!(
            "scenarios/papers/{id}.toml --policy lia --policy eemptcp, 30 seeds, packet engine"
        )],
        engines: vec![if paper == "003" { "slotted" } else { "packet" }.into()],
        findings,
        kernel: None,
        figures,
        missing: 0,
        not_in_kernel: None,
        made: None,
    }
}

fn figure(title: &str, x: &str, y: &str, plot: Plot) -> Figure {
    Figure {
        title: title.into(),
        x: x.into(),
        y: y.into(),
        plot,
    }
}

fn line(name: &str, x: &[f64], y: impl Fn(f64) -> f64, half: Option<f64>, stated: bool) -> Line {
    Line {
        name: name.into(),
        x: x.to_vec(),
        y: x.iter().map(|&x| Some(y(x))).collect(),
        interval: half.map_or(Vec::new(), |half| {
            x.iter().map(|&x| (y(x) - half, y(x) + half)).collect()
        }),
        stated,
    }
}

/// A number and a ratio; time series with stated averages; the kernel differs.
fn throughput() -> Report {
    let time: Vec<f64> = (1..=240).map(|step| f64::from(step) * 0.5).collect();
    let settling =
        |end: f64| move |t: f64| end * (1.0 - 0.6 * (-t / 8.0).exp()) + 9.0 * (t / 3.0).sin();
    let ratio = Rule::Ratio {
        stated: 2.02,
        tolerance: 0.1,
    };
    let findings = vec![
        Finding::new(
            "EEMPTCP's goodput",
            "kbit/s",
            Rule::Value {
                stated: 415.66,
                tolerance: 0.1,
            },
            estimate(398.2, 6.1),
            30,
        ),
        Finding::new(
            "EEMPTCP's goodput ÷ LIA's",
            "",
            ratio,
            estimate(1.32, 0.05),
            30,
        ),
        Finding::new(
            "retransmissions, part of the packets",
            "",
            Rule::Shown,
            estimate(0.0412, 0.0011),
            30,
        ),
    ];
    let plot = Plot::Lines {
        lines: vec![
            line("EEMPTCP", &time, settling(398.2), Some(14.0), false),
            line("LIA", &time, settling(301.0), Some(9.0), false),
            line("ecMTCP", &time, settling(171.0), None, false),
            line("EEMPTCP (paper)", &[0.5, 120.0], |_| 415.66, None, true),
            line("LIA (paper)", &[0.5, 120.0], |_| 205.57, None, true),
        ],
        log_x: false,
    };
    let in_the_kernel = Finding::new(
        "EEMPTCP's goodput ÷ LIA's",
        "",
        ratio,
        estimate(0.97, 0.04),
        10,
    );
    Report {
        reason: "Losses of 10 % make every window a few packets: timeouts decide, not the rule of increase."
            .into(),
        kernel: SecondMeasurement::of(&[in_the_kernel], &findings[1..2], None),
        missing: 3,
        not_in_kernel: None,
        made: None,
        ..report(
            "000-fig4",
            "Goodput over time",
            "EEMPTCP has twice the goodput of MPTCP: 415.66 against 205.57 kbit/s.",
            findings,
            vec![figure("Goodput", "time, s", "goodput, kbit/s", plot)],
        )
    }
}

/// Bars with stated numbers, all reproduced; the kernel agrees.
fn summary() -> Report {
    let rule = Rule::Value {
        stated: 182.46,
        tolerance: 0.1,
    };
    let findings = vec![Finding::new(
        "EEMPTCP's efficiency",
        "kbit/J",
        rule,
        estimate(175.0, 3.0),
        30,
    )];
    let groups: Vec<String> = ["EEMPTCP", "MPTCP (LIA)", "ecMTCP (recon.)"]
        .map(String::from)
        .to_vec();
    let efficiency = Bars {
        name: "efficiency".into(),
        values: vec![estimate(175.0, 3.0), estimate(82.0, 2.0), None],
        stated: vec![Some(182.46), Some(90.99), Some(80.23)],
    };
    let shares = ["WiFi", "LTE", "3G"]
        .iter()
        .enumerate()
        .map(|(path, name)| Bars {
            name: (*name).into(),
            values: [0.21, 0.25, 0.36]
                .iter()
                .map(|share| estimate(share + 0.08 * path as f64, 0.012))
                .collect(),
            stated: if path == 0 {
                vec![Some(0.18), Some(0.24), None]
            } else {
                Vec::new()
            },
        });
    let figures = vec![
        figure(
            "Efficiency at the end",
            "",
            "efficiency, kbit/J",
            Plot::Bars {
                groups: groups.clone(),
                bars: vec![efficiency],
            },
        ),
        figure(
            "Share of each path",
            "policy",
            "part of the data",
            Plot::Bars {
                groups,
                bars: shares.collect(),
            },
        ),
    ];
    Report {
        kernel: SecondMeasurement::of(&findings, &findings, None),
        ..report(
            "000-tab1",
            "Summary of throughput, power and efficiency",
            "EEMPTCP transfers 182.46 kbit per joule.",
            findings,
            figures,
        )
    }
}

/// A sweep on a logarithmic axis, with more lines than colours.
fn energy_by_size() -> Report {
    let sizes = [
        16.0, 32.0, 64.0, 128.0, 256.0, 512.0, 600.0, 700.0, 800.0, 900.0, 1000.0,
    ];
    let names = [
        "ES-MPTCP",
        "eMTCP",
        "lowRTT",
        "LIA",
        "OLIA",
        "Balia",
        "wVegas",
        "DTS",
        "ecMTCP",
        "EWTCP",
        "uncoupled",
    ];
    let lines = names.iter().enumerate().map(|(index, name)| {
        let slope = 0.002 + 0.0004 * index as f64;
        line(
            name,
            &sizes,
            move |size| 0.8 + slope * size,
            (index < 3).then_some(0.11),
            false,
        )
    });
    let findings = vec![
        Finding::new(
            "ES-MPTCP's energy ÷ eMTCP's, least over sizes",
            "",
            Rule::UpTo {
                stated: 0.838,
                tolerance: 0.1,
            },
            estimate(0.93, 0.02),
            100,
        ),
        Finding::new(
            "ES-MPTCP's energy ÷ lowRTT's at 1000 KB",
            "",
            Rule::Below { than: 1.0 },
            estimate(0.81, 0.03),
            100,
        ),
    ];
    Report {
        reason: "The paper names neither the size nor the opponent.".into(),
        ..report(
            "001-fig8a",
            "Energy by size",
            "Energy is reduced by up to 16.2 %.",
            findings,
            vec![figure(
                "Total energy",
                "size, KB",
                "energy, J",
                Plot::Lines {
                    lines: lines.collect(),
                    log_x: true,
                },
            )],
        )
    }
}

/// Box plots; the stated order is not reproduced.
fn bottlenecks() -> Report {
    let five = |low: f64| {
        FiveNumbers::of((0..21).map(|k| low + f64::from(k * k) * 0.4).collect()).map(|five| {
            FiveNumbers {
                max: five.max + 20.0,
                ..five
            }
        })
    };
    let boxes = ["LIA", "OLIA", "Balia", "ecMTCP"]
        .iter()
        .enumerate()
        .map(|(index, name)| Boxes {
            name: (*name).into(),
            values: [300.0, 420.0, 610.0, 900.0]
                .iter()
                .map(|low| five(low + 25.0 * index as f64))
                .collect(),
        });
    let findings = vec![
        Finding::new(
            "OLIA's energy ÷ LIA's at N = 100",
            "",
            Rule::Below { than: 1.0 },
            estimate(1.03, 0.02),
            10,
        ),
        Finding::new(
            "Balia's goodput ÷ LIA's",
            "",
            Rule::Within {
                low: 0.95,
                high: 1.05,
            },
            estimate(1.01, 0.02),
            10,
        ),
        Finding::new(
            "spread of OLIA's energy between the users",
            "J",
            Rule::Above { than: 0.0 },
            estimate(33.0, 4.0),
            10,
        ),
    ];
    Report {
        reason: "At both bottlenecks the rates are the same within chance.".into(),
        ..report(
            "002-fig6",
            "Two bottlenecks shared by N users",
            "OLIA has the lowest mean energy, more so for large N.",
            findings,
            vec![figure(
                "Energy of the users",
                "users N",
                "energy, J",
                Plot::Boxes {
                    groups: ["10", "20", "50", "100"].map(String::from).to_vec(),
                    boxes: boxes.collect(),
                },
            )],
        )
    }
}

/// The simulator shows the effect, the kernel hardly any.
fn not_in_the_kernel() -> Report {
    let finding = |ratio| {
        Finding::new(
            "ES-MPTCP's energy ÷ lowRTT's",
            "",
            Rule::Below { than: 1.0 },
            ratio,
            5,
        )
    };
    let findings = vec![finding(estimate(0.777, 0.01))];
    let kernel = SecondMeasurement::of(&[finding(estimate(0.995, 0.004))], &findings, None);
    let claim = "ES-MPTCP needs less energy than lowRTT.";
    Report {
        kernel,
        ..report("001-fig8c", "Energy by size", claim, findings, vec![])
    }
    .confirmed()
}

/// An interrupted one.
fn not_run() -> Report {
    let findings = vec![Finding::new(
        "DTS's energy ÷ LIA's",
        "",
        Rule::Below { than: 1.0 },
        None,
        0,
    )];
    let report = report(
        "002-fig17",
        "Energy of DTS",
        "DTS needs less energy than LIA.",
        findings,
        vec![],
    );
    Report {
        verdict: Verdict::NotRun,
        reason: "10 of its runs are missing".into(),
        missing: 10,
        ..report
    }
}

/// Many groups with long names; a value that cannot be measured.
fn data_centre() -> Report {
    let groups = (1..=8)
        .map(|n| format!("{n} subflow{}, BCube", if n == 1 { "" } else { "s" }))
        .collect();
    let bars = ["LIA", "extended DTS"]
        .iter()
        .enumerate()
        .map(|(index, name)| Bars {
            name: (*name).into(),
            values: (1..=8)
                .map(|n| estimate(80.0 / f64::from(n) + 5.0 * index as f64, 2.0))
                .collect(),
            stated: Vec::new(),
        });
    let findings = vec![Finding::new(
        "energy overhead at 8 subflows ÷ at 1",
        "",
        Rule::Below { than: 0.5 },
        estimate(0.125, 0.004),
        10,
    )];
    report(
        "002-fig12",
        "BCube: subflows against energy",
        "More subflows reduce the energy overhead greatly.",
        findings,
        vec![figure(
            "Energy overhead",
            "",
            "overhead, J/Gbit",
            Plot::Bars {
                groups,
                bars: bars.collect(),
            },
        )],
    )
}

/// Nothing can be measured.
fn queue_bound() -> Report {
    let rule = Rule::Value {
        stated: 1.0,
        tolerance: 0.1,
    };
    Report {
        reason: "B and ε of the bound are not given.".into(),
        values_of: None,
        set_up: Vec::new(),
        engines: Vec::new(),
        ..report(
            "003-thm1",
            "Bound of the queues",
            "The mean queue stays below a bound.",
            vec![Finding::new("mean queue ÷ bound", "", rule, None, 0)],
            Vec::new(),
        )
    }
}

/// Too few runs to decide, under one of two readings.
fn few_runs() -> Report {
    let rule = Rule::Above { than: 1.0 };
    let findings = vec![
        Finding::new(
            "ES-MPTCP's goodput ÷ lowRTT's",
            "",
            rule,
            estimate(1.02, 0.2),
            3,
        )
        .under("deep queue"),
        Finding::new(
            "ES-MPTCP's goodput ÷ lowRTT's",
            "",
            rule,
            estimate(0.8, 0.1),
            3,
        )
        .under("short queue"),
    ];
    Report {
        verdict: Verdict::Inconclusive,
        reading: Some("deep queue".into()),
        ..report(
            "003-fig2a",
            "Goodput",
            "so-MPTCP carries more.",
            findings,
            Vec::new(),
        )
    }
}

/// A slip by the paper's own equation, and a single run of the paper.
fn slip() -> Report {
    let rule = Rule::Value {
        stated: 170.0,
        tolerance: 0.1,
    };
    let findings = vec![
        Finding::new("ΔT at θ = 1", "ms", rule, estimate(0.0, 0.0), 1),
        Finding::of_one_run("ΔT in a run", "ms", rule, &[160.0, 170.0, 190.0, 165.0]),
    ];
    Report {
        verdict: Verdict::Erratum,
        ..report(
            "003-dT",
            "Blocking time",
            "ΔT is 170 to 340 ms.",
            findings,
            Vec::new(),
        )
    }
}

/// The scoreboard with `text` in every text field.
pub(crate) fn with_text_everywhere(text: &str) -> Reproduction {
    let mut all = scoreboard();
    let set = |field: &mut String| *field = text.into();
    [
        &mut all.extent,
        &mut all.version,
        &mut all.commit,
        &mut all.command,
    ]
    .into_iter()
    .for_each(set);
    for report in &mut all.experiments {
        let farthest = report
            .kernel
            .iter_mut()
            .flat_map(|kernel| &mut kernel.farthest);
        farthest.for_each(|farthest| farthest.what = text.into());
        [
            &mut report.id,
            &mut report.title,
            &mut report.source,
            &mut report.claim,
            &mut report.reason,
        ]
        .into_iter()
        .chain([&mut report.cause])
        .chain(&mut report.reading)
        .chain(&mut report.set_up)
        .chain(&mut report.engines)
        .for_each(set);
        let second = report
            .kernel
            .iter_mut()
            .flat_map(|kernel| &mut kernel.findings);
        for finding in report.findings.iter_mut().chain(second) {
            [&mut finding.what, &mut finding.unit]
                .into_iter()
                .chain(&mut finding.best_at)
                .for_each(set);
        }
        for figure in &mut report.figures {
            [&mut figure.title, &mut figure.x, &mut figure.y]
                .into_iter()
                .for_each(set);
            let names: Vec<&mut String> = match &mut figure.plot {
                Plot::Lines { lines, .. } => lines.iter_mut().map(|line| &mut line.name).collect(),
                Plot::Bars { groups, bars } => groups
                    .iter_mut()
                    .chain(bars.iter_mut().map(|of| &mut of.name))
                    .collect(),
                Plot::Boxes { groups, boxes } => groups
                    .iter_mut()
                    .chain(boxes.iter_mut().map(|of| &mut of.name))
                    .collect(),
            };
            names.into_iter().for_each(set);
        }
    }
    all
}
