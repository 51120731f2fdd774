use std::path::Path;

use joulepath_model::cancel::Cancel;
use joulepath_model::result::Provenance;
use joulepath_report::{Field, Record, policy_records};

use super::*;
use crate::compare::{Plan, Request, compare};
use crate::engine::{EngineName, EngineOptions};
use crate::event::unwatched;
use crate::source::Source;

const TEXT: &str = r#"
scenario = "quick"
policies = ["mptcp", "single:wifi", "olia"]
seeds = 4
set = { duration = "500 ms" }

[[vary]]
key = ["path.wifi.loss", "path.lte.loss"]
values = ["0.5 %", "2 %"]
"#;

fn dataset(text: &str) -> (tempfile::TempDir, Dataset) {
    let sweep = Sweep::of_text("study.toml", text, Path::new("")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let by = Provenance::default();
    let mut writer = Writer::open(&sweep, folder.path(), Shard::default(), &by).unwrap();
    let runner = Runner::new(&sweep, None, "abc");
    runner
        .run(
            &mut writer,
            Shard::default(),
            &mut unwatched,
            &Cancel::new(),
        )
        .unwrap();
    let dataset = Dataset::open(folder.path()).unwrap();
    (folder, dataset)
}

fn of<'a>(record: &'a Record, name: &str) -> &'a Field {
    &record
        .fields
        .iter()
        .find(|(other, _)| other == name)
        .unwrap_or_else(|| panic!("no {name}"))
        .1
}

fn asked(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// `compare` has the same samples in the same order for one point, so the same bits.
#[test]
fn the_estimates_of_a_point_equal_those_of_compare() {
    let (_folder, dataset) = dataset(TEXT);
    let summary = summary(&dataset, None, None, &Cancel::new()).unwrap();
    assert_eq!(
        summary.by,
        ["path_wifi_loss", "path_lte_loss", "engine", "policy"]
    );
    let records = summary.records();
    assert_eq!(records.len(), 6);
    let set = [
        ("duration", "\"500 ms\""),
        ("path.wifi.loss", "\"2 %\""),
        ("path.lte.loss", "\"2 %\""),
    ];
    let request = Request {
        set: set
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .to_vec(),
        policies: Some("mptcp,single:wifi,olia".to_owned()),
        seeds: Some(4),
        ..Request::default()
    };
    let engine = crate::engine::open(EngineName::Packet, &EngineOptions::default()).unwrap();
    let source = Source::named("quick").unwrap();
    let plan = Plan::of(&source, &request, engine, &Provenance::default()).unwrap();
    let compared = compare(&plan, None, &mut unwatched, &Cancel::new())
        .pop()
        .unwrap();
    for (ours, theirs) in records[3..]
        .iter()
        .zip(policy_records(&compared.comparison))
    {
        assert_eq!(of(ours, "path_lte_loss"), &Field::Number(Some(0.02)));
        for name in ["policy", "n", "ratio", "ratio_lo", "ratio_hi"] {
            assert_eq!(of(ours, name), of(&theirs, name), "{name}");
        }
        for metric in [
            "goodput_bps",
            "power_w",
            "energy_j",
            "bits_per_joule",
            "retransmission_ratio",
        ] {
            for end in ["mean", "lo", "hi"] {
                let name = format!("{metric}_{end}");
                assert_eq!(of(ours, &name), of(&theirs, &name), "{name}");
            }
        }
    }
}

/// 2 points · 4 seeds a policy; with one invalid point, 4 of 8 runs a policy fail.
#[test]
fn any_columns_group_runs_and_failed_runs_are_counted_separately() {
    let (_folder, broken) = dataset(&TEXT.replace("\"2 %\"", "\"2 fish\""));
    let by_policy = summary(&broken, Some(&asked(&["policy"])), None, &Cancel::new()).unwrap();
    let counts: Vec<(u64, u64)> = by_policy
        .groups
        .iter()
        .map(|group| (group.runs, group.failed))
        .collect();
    assert_eq!(counts, [(4, 4); 3]);
    assert!(
        !by_policy.metrics.contains(&"completion_s".to_owned()),
        "no run has it"
    );
    let all = summary(
        &broken,
        Some(&[]),
        Some(&asked(&["energy_j"])),
        &Cancel::new(),
    )
    .unwrap();
    assert_eq!(
        (all.groups.len(), all.groups[0].runs, all.groups[0].ratio),
        (1, 12, None)
    );
    let by_point = summary(&broken, Some(&asked(&["point"])), None, &Cancel::new()).unwrap();
    let failed = &by_point.groups[1];
    assert_eq!((failed.runs, failed.failed), (0, 12));
    assert!(failed.estimates.iter().all(Option::is_none));
}

#[test]
fn unknown_columns_are_refused_with_the_nearest_name() {
    let (_folder, dataset) = dataset(TEXT);
    let refused = |by: &[&str], of: &[&str]| {
        let error = summary(&dataset, Some(&asked(by)), Some(&asked(of)), &Cancel::new())
            .err()
            .unwrap();
        format!("{error} {:?}", error.help())
    };
    assert!(refused(&["polcy"], &[]).contains("did you mean `policy`"));
    assert!(refused(&[], &["enregy_j"]).contains("did you mean `energy_j`"));
    assert!(refused(&[], &["policy"]).contains("texts"));
}

/// `path.a-b.loss` and `path.a_b.loss` are different keys; a key could also be named like a column.
#[test]
fn columns_of_different_keys_have_different_names() {
    let scenario = r#"
title = "Alike"
duration = "100 ms"
[[path]]
name = "a-b"
rate = "10 Mbit/s"
delay = "10 ms"
queue = "50 packets"
energy = "wifi-huang2012"
[[path]]
name = "a_b"
rate = "10 Mbit/s"
delay = "10 ms"
queue = "50 packets"
energy = "lte-huang2012"
[workload]
kind = "bulk"
"#;
    let text = r#"
scenario = "alike"
policies = ["mptcp"]
[[vary]]
key = "path.a-b.loss"
values = ["1 %", "2 %"]
[[vary]]
key = "path.a_b.loss"
values = ["3 %"]
"#;
    let source = Source::text("alike", scenario, None);
    let sweep = Sweep::with_source("study.toml", text, source)
        .unwrap_or_else(|e| panic!("{}", e.in_one_line()));
    assert_eq!(sweep.axis_columns(), ["path_a_b_loss", "path_a_b_loss_2"]);
    let names: std::collections::BTreeSet<&str> = sweep
        .columns()
        .iter()
        .map(|column| column.name.as_str())
        .collect();
    assert_eq!(names.len(), sweep.columns().len());
}
