use crate::common::Fake;
use joulepath_model::metric::{EFFICIENCY, GOODPUT, METRICS};
use joulepath_model::result::{Comparison, RunResult};
use joulepath_report::{PolicyRuns, runs_to_csv, summarise, to_csv, to_json};
use serde_json::Value;

#[test]
fn every_metric_of_the_table_is_in_json_and_csv() {
    let comparison = Fake::default().comparison();
    let json: Value = serde_json::from_str(&to_json(&comparison).unwrap()).unwrap();
    let header = |csv: String| -> Vec<String> {
        let first = csv.lines().next().unwrap();
        first.split(',').map(str::to_owned).collect()
    };
    let policies = header(to_csv(&comparison).unwrap());
    let runs = header(runs_to_csv(&comparison).unwrap());
    for metric in METRICS {
        let name = metric.name;
        assert!(json["rows"][0].get(name).is_some(), "{name}");
        assert!(runs.iter().any(|column| column == name), "{name}");
        for end in ["mean", "lo", "hi"] {
            let column = format!("{name}_{end}");
            assert!(policies.contains(&column), "{column}");
        }
    }
}

#[test]
fn json_has_the_documented_shape() {
    let comparison = Fake {
        policies: 2,
        samples: 10,
        workload: "file",
        ..Fake::default()
    }
    .comparison();
    let json: Value = serde_json::from_str(&to_json(&comparison).unwrap()).unwrap();
    let keys = |value: &Value| {
        value
            .as_object()
            .unwrap()
            .keys()
            .cloned()
            .collect::<Vec<_>>()
    };
    assert_eq!(
        keys(&json),
        [
            "engine",
            "manifest",
            "partial",
            "references",
            "rows",
            "scenario",
            "seeds"
        ]
    );
    let row = &json["rows"][1];
    for metric in [
        "goodput_bps",
        "power_w",
        "energy_j",
        "bits_per_joule",
        "completion_s",
    ] {
        assert_eq!(keys(&row[metric]), ["hi", "lo", "mean"], "{metric}");
    }
    for name in [
        "policy",
        "tcp_reference_share",
        "ratio",
        "completed",
        "paths",
    ] {
        assert!(!row[name].is_null(), "{name}");
    }
    assert!(
        row["delay_s"].is_null() && row.as_object().unwrap().contains_key("delay_s"),
        "unknown is null"
    );
    assert!(row.get("series").is_none(), "series are for the report");
    let path = &row["paths"][0];
    assert!(path["name"] == "wifi" && path["share"].is_f64() && path["energy_j"].is_f64());
    assert_eq!(json["manifest"]["seeds"].as_array().unwrap().len(), 30);
}

#[test]
fn json_can_be_read_back() {
    let mut comparison = Fake::default().comparison();
    let read: Comparison = serde_json::from_str(&to_json(&comparison).unwrap()).unwrap();
    comparison.rows.iter_mut().for_each(|row| row.runs.clear());
    assert_eq!(read.rows.len(), comparison.rows.len());
    for (read, row) in read.rows.iter().zip(&comparison.rows) {
        // serde_json's shortest decimal may be parsed as a neighbouring number.
        assert!((read.mean(&GOODPUT) / row.mean(&GOODPUT) - 1.0).abs() < 1e-15);
    }
}

#[test]
fn rows_without_energy_have_no_efficiency_and_no_ratio() {
    let free = RunResult {
        policy: "a".into(),
        goodput_bps: 1e6,
        ..RunResult::default()
    };
    let runs = |policy: &str| PolicyRuns {
        policy: policy.into(),
        label: policy.into(),
        parts: String::new(),
        uncoupled: false,
        runs: (1..4)
            .map(|seed| RunResult {
                seed,
                ..free.clone()
            })
            .collect(),
    };
    let scenario = Fake::default().comparison().scenario;
    for row in summarise(&scenario, &[], vec![runs("a"), runs("b")]) {
        assert_eq!(
            (row.estimate(&EFFICIENCY), row.ratio_interval),
            (None, None)
        );
        assert!(serde_json::to_value(&row).unwrap()["ratio"].is_null());
    }
}

#[test]
fn runs_without_energy_have_no_bits_per_joule() {
    let mut comparison = Fake {
        policies: 1,
        ..Fake::default()
    }
    .comparison();
    let run = &mut comparison.rows[0].runs[0];
    (run.energy_j, run.bits_per_joule) = (0.0, 0.0);
    let (header, lines) = parse(&runs_to_csv(&comparison).unwrap());
    let column = header
        .iter()
        .position(|name| name == "bits_per_joule")
        .unwrap();
    assert_eq!(lines[0][column], "");
    assert_ne!(lines[1][column], "");
}

/// Header and lines.
fn parse(text: &str) -> (Vec<String>, Vec<Vec<String>>) {
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let header = reader.headers().unwrap().iter().map(String::from).collect();
    let lines = reader
        .records()
        .map(|record| record.unwrap().iter().map(String::from).collect())
        .collect();
    (header, lines)
}

#[test]
fn csv_has_a_line_per_policy_and_the_numbers_of_the_rows() {
    let mut comparison = Fake::default().comparison();
    comparison.rows[2].label = "a \"quoted\", label".into();
    let (header, lines) = parse(&to_csv(&comparison).unwrap());
    let column = |name: &str| {
        header
            .iter()
            .position(|h| h == name)
            .unwrap_or_else(|| panic!("{name} in {header:?}"))
    };
    assert_eq!(lines.len(), comparison.rows.len());
    for (line, row) in lines.iter().zip(&comparison.rows) {
        assert_eq!(line[column("policy")], row.policy);
        assert_eq!(line[column("label")], row.label);
        assert_eq!(
            line[column("bits_per_joule_lo")].parse(),
            Ok(row.estimate(&EFFICIENCY).unwrap().lo)
        );
        assert_eq!(
            line[column("lte_goodput_bps")].parse(),
            Ok(row.paths[1].goodput_bps)
        );
        assert_eq!(line[column("completion_s_mean")], "", "there is no file");
    }
}

#[test]
fn csv_of_runs_has_a_line_per_policy_and_seed() {
    let comparison = Fake {
        policies: 2,
        seeds: 5,
        ..Fake::default()
    }
    .comparison();
    let (header, lines) = parse(&runs_to_csv(&comparison).unwrap());
    let column = |name: &str| header.iter().position(|h| h == name).unwrap();
    let keys: Vec<_> = lines
        .iter()
        .map(|line| {
            (
                line[column("policy")].as_str(),
                line[column("seed")].as_str(),
            )
        })
        .collect();
    assert_eq!(keys.len(), 10);
    assert_eq!((keys[0], keys[9]), (("uncoupled", "1"), ("mptcp", "5")));
    let run = &comparison.rows[1].runs[4];
    assert_eq!(lines[9][column("energy_j")].parse(), Ok(run.energy_j));
    assert_eq!(
        lines[9][column("umts_segments")].parse(),
        Ok(run.paths[2].segments)
    );
}
