//! The files under `papers/` are complete and consistent, and can be judged with and without runs.

use joulepath_model::result::{BlockStats, NetworkResult, PathResult, RunResult, Series, Spread};
use joulepath_report::{Rule, Verdict};
use joulepath_slotted::SlottedResult;

use super::evidence::Evidence;
use super::metrics::Run;
use super::paper::{FILES, Papers, papers};
use super::*;

fn experiments() -> &'static [Arc<Experiment>] {
    &papers()
        .unwrap_or_else(|error| panic!("{error}: {:?}", error.help()))
        .experiments
}

/// The files with one of them changed.
fn changed(file: &str, from: &str, to: &str) -> Vec<(&'static str, String)> {
    let (_, text) = FILES
        .iter()
        .find(|(name, _)| *name == file)
        .expect("a file of that name");
    assert_eq!(text.matches(from).count(), 1, "`{from}` in {file}");
    let change = |&(name, text): &(&'static str, &str)| {
        (
            name,
            if name == file {
                text.replace(from, to)
            } else {
                text.to_owned()
            },
        )
    };
    FILES.iter().map(change).collect()
}

fn read(files: &[(&str, String)]) -> Result<Papers> {
    let files: Vec<(&str, &str)> = files
        .iter()
        .map(|(name, text)| (*name, text.as_str()))
        .collect();
    Papers::read(&files).map_err(Into::into)
}

#[test]
fn every_row_has_a_claim_a_source_and_a_cause() {
    for experiment in experiments() {
        for text in [
            &experiment.title,
            &experiment.source,
            &experiment.claim,
            &experiment.cause,
        ] {
            assert!(text.len() > 8, "{}: `{text}`", experiment.id);
            assert!(!text.contains("  "), "{}: `{text}`", experiment.id);
        }
    }
}

#[test]
fn scenarios_variants_keys_and_policies_exist() {
    for extent in [Extent::Quick, Extent::Full] {
        runs::Plan::of(experiments(), extent, None)
            .map(|plan| plan.len())
            .unwrap_or_else(|error| {
                panic!("an experiment cannot be planned: {error}");
            });
    }
}

#[test]
fn experiments_tolerate_missing_runs() {
    for experiment in experiments()
        .iter()
        .filter(|experiment| !experiment.studies.is_empty())
    {
        let nothing = experiment
            .studies
            .iter()
            .map(|study| vec![vec![]; study.policies.len()])
            .collect();
        let evidence = Evidence::new(&experiment.studies, nothing);
        let measured = experiment
            .findings(&evidence)
            .iter()
            .any(|finding| finding.measured.is_some());
        assert!(!measured, "{} has measurements without runs", experiment.id);
        experiment.figures(&evidence);
    }
}

#[test]
fn mistakes_in_a_file_are_reported_with_their_line_and_a_fix() {
    let cases = [
        (
            "000/fig4",
            "cause = ",
            "cuase = ",
            "papers/000/fig4.toml:5 | unknown field `cuase` | `cause`",
        ),
        (
            "002/fig8",
            r#""goodput, bit/s""#,
            r#""goodput, bits""#,
            ":9 | there is no metric | did you mean `goodput, bit/s`",
        ),
        (
            "002/fig8",
            r#"of = "DTS", over"#,
            r#"of = "DST", over"#,
            ":9 | no policy `DST` | did you mean `DTS`",
        ),
        (
            "002/fig8",
            r#"of = "DTS", over = "LIA", "#,
            "",
            ":9 | names a policy | of = ",
        ),
        (
            "002/fig8",
            "above = 0.95",
            "above = 0.95, below = 2",
            ":9 | one of `stated`",
        ),
        (
            "002/fig8",
            "above = 0.95",
            r#"above = "a/b""#,
            ":9 | not a quotient of two numbers",
        ),
        (
            "002/fig8",
            "above = 0.95",
            r#"above = 0.95, best = "most""#,
            ":9 | unknown variant `most` | `smallest`",
        ),
        (
            "002/fig8",
            "above = 0.95",
            r#"studies = ["burst"]"#,
            ":9 | no study `burst` | did you mean `bursts`",
        ),
        (
            "002/fig8",
            "above = 0.95",
            r#"when = { shape = "x" }"#,
            ":9 | no reading `shape`",
        ),
        (
            "002/fig8",
            r#""002, bursts""#,
            r#""002, burst""#,
            ":6 | no set-up `002, burst` | did you mean `002, bursts`",
        ),
        (
            "002/fig8",
            r#"id = "002-fig8""#,
            r#"id = "002-fig9""#,
            "another row has this id",
        ),
        (
            "002/fig8",
            r#"id = "002-fig8""#,
            r#"id = "002-fig8b""#,
            "papers/002/paper.toml | no row `002-fig8` | did you mean `002-fig8b`",
        ),
        (
            "002/paper",
            r#"    "002-fig8","#,
            "",
            "papers/002/fig8.toml:1 | no paper.toml lists this row | `rows`",
        ),
        (
            "003/fig2c",
            r#"bars = { metric = "slotted throughput, Mbit/s""#,
            r#"bars = { metric = "power, W""#,
            "no such number",
        ),
        (
            "004/dT",
            "ms(1)",
            "ms(x)",
            ":9 | wrong arguments | a number",
        ),
        (
            "004/set-ups/wires",
            r#"studies = ["100 segments"]"#,
            r#"studies = ["100"]"#,
            "wires.toml: | no study `100`",
        ),
        (
            "004/set-ups/wires",
            r#"policies = ["CWA + proactive"]"#,
            r#"policies = ["CWA+"]"#,
            "no policy `CWA+`",
        ),
        (
            "001/set-ups/two-wlans",
            r#"studies = ["256kB""#,
            r#"studies = ["255kB""#,
            "no study `255kB`",
        ),
        (
            "004/paper",
            "    \"004, wires\",",
            "",
            "wires.toml: | no paper.toml lists this set-up | `set_ups`",
        ),
        (
            "002/set-ups/fattree",
            "to = 100000",
            "to = 1000",
            "fattree.toml: | lacks 100000, which the paper prints",
        ),
        (
            "000/set-ups/three-radios",
            "from = 10\n",
            "from = 60\n",
            "three-radios.toml: | lacks its `usual` value",
        ),
        (
            "000/set-ups/three-radios",
            "papers/000-table1",
            "papers/000-table2",
            "no scenario `papers/000-table2`",
        ),
        (
            "000/set-ups/three-radios",
            "from = 200",
            "from = 2000",
            "three-radios.toml: | `from` a lower number",
        ),
        (
            "000/set-ups/three-radios",
            r#""both ways" = ["#,
            r#""all ways" = ["#,
            "three-radios.toml: | not one of its values",
        ),
    ];
    for (file, from, to, parts) in cases {
        let error = read(&changed(file, from, to)).err();
        let error = error.unwrap_or_else(|| panic!("{file} with `{to}` is accepted"));
        let said = format!("{error}; {}", error.help().unwrap_or_default());
        for part in parts.split(" | ") {
            assert!(
                said.contains(part),
                "{file} with `{to}` lacks `{part}`: {said}"
            );
        }
    }
}

/// A run with every number that a metric reads. All are proportional to `scale`, and so are their
/// quotients.
fn engine_run(seed: u64, scale: f64) -> RunResult {
    let path = |share: f64| PathResult {
        share: share * scale,
        goodput_bps: 1e6 * scale,
        segments: 100,
        loss_event_rate: 0.01 * scale,
        ..PathResult::default()
    };
    let spread = |of: f64| {
        Spread::of(vec![(0.9 * of * scale, 1.0), (1.1 * of * scale, 1.0)]).expect("it has weights")
    };
    let (blocks, price) = (
        BlockStats {
            goodput_bps: spread(5e6),
            buffer: spread(90.0),
            segments: 100,
            count: 1,
        },
        3.0,
    );
    let network = NetworkResult {
        idle_j: 5.0 * scale * scale,
        price_packets: price * scale,
        ..NetworkResult::default()
    };
    let series = Series {
        time_s: vec![1.0, 2.0, 3.0, 4.0],
        // The second path leads the third one from 2 s on.
        goodput_bps: vec![vec![1e6; 4], vec![1.0, 1.0, 1e7, 1e7], vec![2e6; 4]],
        power_w: vec![vec![scale; 4]],
        ..Series::default()
    };
    RunResult {
        seed,
        measured_s: 1.0,
        goodput_bps: 4e6 * scale,
        competitors_bps: 1e6,
        energy_j: 7.0 * scale,
        power_w: 2.0 * scale,
        bits_per_joule: 1e5 * scale,
        retransmission_ratio: 0.01 * scale,
        completion_s: Some(3.0 * scale),
        paths: vec![path(0.2), path(0.3), path(0.5)],
        blocks: Some(blocks),
        network: Some(network),
        series: Some(series),
        ..RunResult::default()
    }
}

/// The same for the slotted system.
fn slotted_run(seed: u64, scale: f64) -> SlottedResult {
    let mut run = SlottedResult {
        seed,
        v: Some(10.0),
        ..SlottedResult::default()
    };
    run.means.throughput_mbps = 30.0 * scale;
    run.means.delay_s = Some(0.5 * scale);
    run.means.power_w = 600.0 * scale;
    run.means.backlog_packets = 50.0 * scale;
    run.means.drift = 200.0;
    run.means.virtual_queue_packets = vec![3.0 * scale, 4.0 * scale, 5.0 * scale];
    run.series.time_s = (1..=40).map(f64::from).collect();
    run.series.throughput_mbps = (1..=40).map(|second| scale * f64::from(second)).collect();
    run.series.power_w = (1..=40).map(|second| scale * f64::from(second)).collect();
    run
}

/// Result of `see` on an experiment whose policies differ by some per cent each, with equal seeds.
fn on_known_runs<T>(experiment: &Experiment, see: impl Fn(&Evidence<'_>) -> T) -> T {
    let scale = |study: usize, policy: usize| 1.0 + 0.03 * policy as f64 + 0.001 * study as f64;
    let (mut engine, mut slotted) = (vec![], vec![]);
    for (at, study) in experiment.studies.iter().enumerate() {
        for policy in 0..study.policies.len() {
            let runs = |seed| {
                (
                    engine_run(seed, scale(at, policy)),
                    slotted_run(seed, scale(at, policy)),
                )
            };
            let (of_engine, of_system): (Vec<_>, Vec<_>) = (1..=3).map(runs).unzip();
            engine.push(of_engine);
            slotted.push(of_system);
        }
    }
    let mut next = engine.iter().zip(&slotted);
    let of_study = |study: &study::Study| {
        let is_slotted = study.scenario().is_none();
        let mut of_policy = || {
            let (engine, slotted) = next.next().expect("one for each policy");
            match is_slotted {
                true => slotted.iter().map(Run::Slotted).collect(),
                false => engine.iter().map(Run::Engine).collect(),
            }
        };
        study.policies.iter().map(|_| of_policy()).collect()
    };
    let runs: Vec<Vec<Vec<Run<'_>>>> = experiment.studies.iter().map(of_study).collect();
    see(&Evidence::new(&experiment.studies, runs))
}

/// The text of a row with other numbers in the rules of its findings: `number` gets the rule's key
/// and the measured number.
fn with_numbers(text: &str, measured: &[Option<f64>], number: fn(&str, f64) -> f64) -> String {
    let mut findings = measured.iter();
    let mut line = |line: &str| {
        if !line.starts_with("    { what = ") {
            return line.to_owned() + "\n";
        }
        let Some(ours) = findings.next().expect("one for each finding") else {
            return line.to_owned() + "\n";
        };
        let mut line = line.to_owned();
        for key in ["stated", "up_to", "above", "below"] {
            let Some(start) = line.find(&format!(", {key} = ")) else {
                continue;
            };
            let start = start + key.len() + 5;
            let end = start
                + line[start..]
                    .find([',', ' '])
                    .expect("a finding ends with a bracket");
            line.replace_range(start..end, &format!("{:?}", number(key, *ours)));
        }
        if let Some(start) = line.find("within = [") {
            let end = start + line[start..].find(']').expect("a list ends");
            let low = number("within", *ours);
            line.replace_range(
                start..end,
                &format!("within = [{:?}, {:?}", low - 1e-3, low + 1e-3),
            );
        }
        line + "\n"
    };
    text.lines().map(&mut line).collect()
}

/// Student's t of 0, 4 and 4 s reaches from −3.1 to 8.4 s, one more value from −8.8 to 14.1 s.
#[test]
fn a_lead_lies_between_the_start_and_the_end_of_its_runs() {
    let of_seed = |(seed, second): (u64, [f64; 4])| {
        let series = Series {
            time_s: vec![1.0, 2.0, 3.0, 4.0],
            goodput_bps: vec![vec![0.0; 4], second.to_vec(), vec![1.0; 4]],
            ..Series::default()
        };
        RunResult {
            series: Some(series),
            ..engine_run(seed, 1.0)
        }
    };
    // Leads always, leads from the last second on, does not lead at the end.
    let runs: Vec<RunResult> = [(1, [2.0; 4]), (2, [1.0, 1.0, 1.0, 2.0]), (3, [0.0; 4])]
        .map(of_seed)
        .into();
    let experiments = experiments();
    let fig7 = experiments
        .iter()
        .find(|of| of.id == "000-fig7")
        .expect("it is shipped");
    let of_study = |study: &study::Study| {
        let of_policy = |_| runs.iter().map(Run::Engine).collect();
        study.policies.iter().map(of_policy).collect()
    };
    let evidence = Evidence::new(&fig7.studies, fig7.studies.iter().map(of_study).collect());
    let lead = fig7.findings(&evidence).pop().expect("its last finding");
    let measured = lead.measured.expect("three runs");
    assert_eq!((measured.lo, measured.hi, lead.n), (0.0, 4.0, 3));
    assert_eq!(lead.run, Some((0.0, 4.0)));
}

/// For any measurement, some numbers of a row make each finding hold and others make it fail.
#[test]
fn every_claim_can_hold_and_can_fail() {
    let file_of = |id: &str| {
        let has_id = |(_, text): &&(&str, &str)| text.starts_with(&format!("id = \"{id}\"\n"));
        FILES
            .iter()
            .find(has_id)
            .map(|(name, _)| *name)
            .expect("a file has this id")
    };
    let mut judged = 0;
    for (holds, number) in [
        (
            true,
            (|key, ours| match key {
                "above" => ours - 1.0 - ours.abs(),
                "below" => ours + 1.0 + ours.abs(),
                _ => ours,
            }) as fn(&str, f64) -> f64,
        ),
        (false, |key, ours| match key {
            "below" => ours - 1.0 - ours.abs(),
            "up_to" if ours < 1.0 => ours / 10.0,
            "up_to" => ours * 10.0,
            _ => 3.0 * ours + 1.0,
        }),
    ] {
        let mut files: Vec<(&str, String)> = FILES
            .iter()
            .map(|(name, text)| (*name, (*text).to_owned()))
            .collect();
        for experiment in experiments() {
            let measured: Vec<Option<f64>> = on_known_runs(experiment, |evidence| {
                let mean = |row: &super::finding::Row| {
                    row.finding(evidence).measured.map(|ours| ours.mean)
                };
                experiment.findings.iter().map(mean).collect()
            });
            let name = file_of(&experiment.id);
            let file = files
                .iter_mut()
                .find(|(known, _)| *known == name)
                .expect("it is there");
            file.1 = with_numbers(&file.1, &measured, number);
        }
        for experiment in &read(&files).unwrap().experiments {
            on_known_runs(experiment, |evidence| {
                for row in &experiment.findings {
                    let finding = row.finding(evidence);
                    if finding.rule != Rule::Shown {
                        let is_reproduced = finding.verdict == Some(Verdict::Reproduced);
                        assert_eq!(is_reproduced, holds, "{}: {finding:?}", experiment.id);
                    }
                }
            });
            judged += experiment.findings.len();
        }
    }
    assert!(judged > 400, "{judged}");
}

/// The set-up `000, three radios` with other values in its file.
fn values_of(text: &str) -> Result<joulepath_report::SetUp> {
    let values: values::Values = toml::from_str(text).unwrap();
    let all = papers().unwrap();
    values.of_set_up("000, three radios", &all.experiments, &all.boxes)
}

#[test]
fn every_value_that_a_shipped_set_up_uses_has_an_origin() {
    let all = papers().unwrap();
    for experiment in experiments() {
        if let Some(name) = experiment.set_up_of_its_paper() {
            assert!(all.values.contains_key(name), "{name} has no [values]");
        }
    }
    let wrong = all
        .values
        .iter()
        .filter_map(|(name, of)| of.of_set_up(name, &all.experiments, &all.boxes).err());
    let wrong: Vec<String> = wrong.map(|error| error.to_string()).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn stored_results_have_the_present_values() {
    let (mut stored, _) = stored_results().unwrap();
    stored.set_ups = vec![joulepath_report::SetUp {
        name: "000, three radios".to_owned(),
        values: vec![],
    }];
    with_values(&mut stored).unwrap();
    assert!(stored.set_ups.len() > 10);
    assert!(stored.set_ups.iter().all(|of| !of.values.is_empty()));
}

#[test]
fn each_value_of_a_key_has_its_own_origin() {
    let all = papers().unwrap();
    let origins = |set_up: &str, key: &str| {
        let of = all.values[set_up].of_set_up(set_up, &all.experiments, &all.boxes);
        let values = of.unwrap().values.into_iter().filter(|of| of.key == key);
        values
            .map(|of| format!("{} {}", of.origin.name(), of.value))
            .collect::<Vec<_>>()
    };
    assert_eq!(
        origins("002, two radios", "receiver.buffer"),
        ["printed 64 KiB", "chosen 4 MiB"]
    );
    assert_eq!(
        origins("004, radios", "receiver.buffer"),
        ["chosen 144800 B, 4 MiB"],
        "named once, although the box varies it"
    );
    assert_eq!(origins("001, WLAN and 3G", "cc"), ["printed lia"]);
    assert_eq!(
        origins("003, three radios", "V"),
        ["printed 100"],
        "a parameter of the box"
    );
    assert_eq!(origins("003, three radios", "slot"), ["chosen 10 ms"]);
    assert_eq!(
        origins("003, three radios", "lte.rate"),
        ["printed 600 Mbit/s"]
    );
    assert_eq!(
        origins("004, radios", "CWA[theta_max]"),
        ["printed 3"],
        "a default of the controller"
    );
}

#[test]
fn a_value_without_an_origin_or_with_another_value_is_refused() {
    let (_, text) = FILES
        .iter()
        .find(|(name, _)| *name == "000/set-ups/three-radios")
        .unwrap();
    let whole: toml::Table = text.parse().unwrap();
    let written = toml::to_string(&whole["values"]).unwrap();
    assert!(values_of(&written).is_ok());
    let refused = |text: &str| values_of(text).unwrap_err().to_string();
    let other = written.replace("\"10 %\"", "\"11 %\"");
    assert!(
        refused(&other).contains("`path.wifi.loss` is 10 %, but [values] has 11 %"),
        "{}",
        refused(&other)
    );
    let less: String = written
        .lines()
        .filter(|line| !line.contains("path.wifi.rate"))
        .map(|line| format!("{line}\n"))
        .collect();
    assert!(
        refused(&less).contains("neither [values] nor the box names\n\"path.wifi.rate\""),
        "{}",
        refused(&less)
    );
    let more = format!("{written}\n[extra]\n");
    assert!(toml::from_str::<values::Values>(&more).is_err());
    let unknown = written.replace("path.wifi.rate", "path.wifi.speed");
    assert!(
        refused(&unknown).contains("which no study uses"),
        "{}",
        refused(&unknown)
    );
}
