//! `joulepath benchmark` on random families, cut short.

use std::fs;

use crate::run::{folder, joulepath_in};

const SHORT: [&str; 9] = [
    "benchmark",
    "--family",
    "f2-file,f5-shared",
    "--scenarios",
    "1",
    "--policies",
    "uncoupled,overflow",
    "--runs",
    "runs.jsonl",
];

#[test]
fn random_families_are_the_same_however_often_and_on_however_many_cores_they_are_run() {
    let folder = folder();
    let json = |more: &[&str]| {
        let found = joulepath_in(folder.path(), &[&SHORT[..], &["--json"], more].concat()).json();
        found["policies"].clone()
    };
    let first = json(&["--jobs", "1"]);
    let names: Vec<&str> = first
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["policy"].as_str().unwrap())
        .collect();
    let baselines = [
        "single:FIRST[cc=cubic]",
        "single-best[cc=cubic]",
        "linux",
        "single:PATH",
    ];
    assert_eq!(names, [&["uncoupled", "overflow"][..], &baselines].concat());
    // Several seeds have an interval.
    let value = |row: usize, draw: &str, metric: &str| {
        let found = &first[row]["scenarios"][draw][metric];
        found.as_f64().or(found["mean"].as_f64()).unwrap()
    };
    for draw in ["f2-file-train-0001", "f5-shared-train-0001"] {
        // No policy is far above the TCP-rate reference, and at least one carries data.
        let share = value(0, draw, "tcp_reference");
        assert!((0.001..1.5).contains(&share), "{draw}: {share}");
        // Relative to itself, the best path is 1.
        assert_eq!(value(5, draw, "single"), 1.0, "{draw}");
    }
    let kept = fs::read_to_string(folder.path().join("runs.jsonl")).unwrap();
    assert_eq!(json(&["--jobs", "2"]), first);
    assert_eq!(
        fs::read_to_string(folder.path().join("runs.jsonl")).unwrap(),
        kept,
        "nothing is run again"
    );
    let half: String = kept
        .split_inclusive('\n')
        .take(kept.lines().count() / 2)
        .collect();
    fs::write(folder.path().join("runs.jsonl"), half).unwrap();
    assert_eq!(json(&[]), first, "the other half is run again");

    fs::write(
        folder.path().join("page.md"),
        "top\n<!-- benchmark-train: begin -->\nold\n<!-- benchmark-train: end -->\nbottom\n",
    )
    .unwrap();
    let more = [
        "--markdown",
        "page.md",
        "--csv",
        "cells.csv",
        "--report",
        "pages",
    ];
    let said = joulepath_in(folder.path(), &[&SHORT[..], &more].concat());
    let names = "report: pages/benchmark.html\n";
    assert!(said.stderr.ends_with(names), "{}", said.stderr);
    let table = said.ok();
    assert!(
        table.lines().all(|line| line.chars().count() <= 80),
        "{table}"
    );
    assert!(
        table.starts_with("1 scenario of each of 2 families, set train"),
        "{table}"
    );
    let read = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
    assert!(read("page.md").contains("**f5-shared**") && !read("page.md").contains("\nold\n"));
    // A head, and two scenarios with two policies and four baselines.
    assert_eq!(read("cells.csv").lines().count(), 13);
    assert!(read("pages/benchmark.html").contains("<h2 id=\"f2-file-title\">"));
}

#[test]
fn random_scenarios_of_sets_are_files_and_bring_their_traces() {
    let folder = folder();
    let write = [
        "benchmark",
        "--family",
        "f6-mobility",
        "--random",
        "check",
        "--scenarios",
        "12",
        "--write",
        "drawn",
    ];
    let said = joulepath_in(folder.path(), &write).ok();
    let files: Vec<&str> = said.lines().collect();
    assert_eq!(
        (files.len(), files[0]),
        (12, "drawn/f6-mobility-check-0001.toml")
    );
    let text = |file: &&str| fs::read_to_string(folder.path().join(file)).unwrap();
    let by_trace = files
        .iter()
        .find(|file| text(file).contains("by a trace"))
        .unwrap();
    let show = joulepath_in(folder.path(), &["show", by_trace]).ok();
    assert!(show.contains(".trace"), "{show}");
}

#[test]
fn sealed_scenarios_need_a_log_and_are_never_written_out() {
    let folder = folder();
    let refused = |arguments: &[&str], what: &str| {
        let said = joulepath_in(folder.path(), &[&["benchmark"], arguments].concat());
        assert_eq!(said.code, Some(2), "{arguments:?}: {}", said.stderr);
        assert!(said.stderr.contains(what), "{arguments:?}: {}", said.stderr);
    };
    refused(&["--random", "sealed"], "--sealed-log");
    refused(
        &["--family", "f2-file", "--random", "sealed"],
        "--sealed-log",
    );
    refused(
        &[
            "--family", "f2-file", "--random", "sealed", "--write", "drawn",
        ],
        "not for reading",
    );
    refused(
        &["--family", "f2-file", "--sealed-log", "log.jsonl"],
        "for sealed scenarios",
    );
    refused(
        &["--family", "f2-file", "--random", "seald"],
        "did you mean `sealed`?",
    );
    refused(
        &["--family", "f2-file", "--quick"],
        "quick is for ranked families",
    );
    refused(
        &["--family", "f2-file", "--seed", "3"],
        "is for ranked families",
    );
    refused(
        &["--family", "f2-file", "--front", "front.svg"],
        "--front is for ranked families",
    );
    refused(
        &["--family", "f2-file", "--policies", "mptpc"],
        "did you mean `mptcp`?",
    );
    refused(&["--family", "bulk,f2-file"], "measured in different ways");
    refused(
        &["--family", "bulk", "--random", "check"],
        "a set is for random families",
    );
    refused(
        &["--quick", "--warm", "mptcp"],
        "warm is for random families",
    );
    assert!(!folder.path().join("log.jsonl").exists());
}

#[test]
fn the_oracle_adds_columns_and_names_its_policy() {
    let folder = folder();
    let of_file = [
        "benchmark",
        "--family",
        "f2-file",
        "--scenarios",
        "1",
        "--policies",
        "joule",
    ];
    let oracle = [
        &of_file[..],
        &["--oracle", "--search", "16", "--runs", "runs.jsonl"],
    ]
    .concat();
    let text = joulepath_in(
        folder.path(),
        &[&oracle[..], &["--wide", "--csv", "cells.csv"]].concat(),
    )
    .ok();
    assert!(
        text.contains("oracle %") && text.contains("searched %"),
        "{text}"
    );
    let cells = fs::read_to_string(folder.path().join("cells.csv")).unwrap();
    assert!(
        cells.lines().next().unwrap().ends_with(",oracle,searched"),
        "{cells}"
    );
    let found = joulepath_in(folder.path(), &[&oracle[..], &["--json"]].concat()).json();
    assert_eq!(found["oracle"]["search_runs"], 16);
    let policies = found["policies"].as_array().unwrap();
    assert_eq!(policies.len(), 5, "members of the portfolio have no rows");
    let of_scenario = &found["scenarios"][0]["oracle"];
    assert!(
        of_scenario["best"]["policy"].is_string() && of_scenario["searched"]["policy"].is_string()
    );
    let said = joulepath_in(folder.path(), &[&of_file[..], &["--search", "16"]].concat());
    assert_eq!(said.code, Some(2), "{}", said.stderr);
    assert!(said.stderr.contains("--oracle"), "{}", said.stderr);
}
