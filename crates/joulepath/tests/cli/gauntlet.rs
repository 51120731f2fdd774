//! `joulepath league --family …` on families of the gauntlet, cut short.

use std::fs;

use crate::run::{folder, joulepath_in};

const SHORT: [&str; 9] = [
    "league",
    "--family",
    "f2-file,f5-shared",
    "--draws",
    "1",
    "--policies",
    "uncoupled,overflow",
    "--runs",
    "runs.jsonl",
];

#[test]
fn the_gauntlet_is_the_same_however_often_and_on_however_many_cores_it_is_run() {
    let folder = folder();
    let json = |more: &[&str]| {
        let found = joulepath_in(folder.path(), &[&SHORT[..], &["--json"], more].concat()).json();
        found["contenders"].clone()
    };
    let first = json(&["--jobs", "1"]);
    let names: Vec<&str> =
        first.as_array().unwrap().iter().map(|row| row["policy"].as_str().unwrap()).collect();
    assert_eq!(names, ["uncoupled", "overflow", "single:PATH"]);
    let limit = |row: usize, draw: &str| first[row]["draws"][draw]["limit"].as_f64().unwrap();
    for draw in ["f2-file-train-0001", "f5-shared-train-0001"] {
        // Nobody is far above what one TCP on each path may reach, and somebody does anything at all.
        assert!((0.001..1.5).contains(&limit(0, draw)), "{draw}: {}", limit(0, draw));
        // The best path in hindsight is beside itself.
        assert_eq!(first[2]["draws"][draw]["single"], 1.0, "{draw}");
    }
    let kept = fs::read_to_string(folder.path().join("runs.jsonl")).unwrap();
    assert_eq!(json(&["--jobs", "2"]), first);
    assert_eq!(fs::read_to_string(folder.path().join("runs.jsonl")).unwrap(), kept, "nothing is run again");
    let half: String = kept.split_inclusive('\n').take(kept.lines().count() / 2).collect();
    fs::write(folder.path().join("runs.jsonl"), half).unwrap();
    assert_eq!(json(&[]), first, "the other half is run again");

    fs::write(
        folder.path().join("page.md"),
        "top\n<!-- gauntlet-train: begin -->\nold\n<!-- gauntlet-train: end -->\nbottom\n",
    )
    .unwrap();
    let more = ["--markdown", "page.md", "--csv", "cells.csv", "--report", "pages"];
    let text = joulepath_in(folder.path(), &[&SHORT[..], &more].concat()).ok();
    let table = text.strip_suffix("report: pages/gauntlet.html\n").unwrap();
    assert!(table.lines().all(|line| line.chars().count() <= 80), "{table}");
    assert!(table.starts_with("1 draw each of 2 families, range train"), "{table}");
    let read = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
    assert!(read("page.md").contains("**f5-shared**") && !read("page.md").contains("\nold\n"));
    // A head, and two draws of three contenders.
    assert_eq!(read("cells.csv").lines().count(), 7);
    assert!(read("pages/gauntlet.html").contains("<h2 id=\"f2-file-title\">"));
}

#[test]
fn draws_are_files_and_bring_their_traces() {
    let folder = folder();
    let write =
        ["league", "--family", "f6-mobility", "--range", "check", "--draws", "12", "--write", "drawn"];
    let said = joulepath_in(folder.path(), &write).ok();
    let files: Vec<&str> = said.lines().collect();
    assert_eq!((files.len(), files[0]), (12, "drawn/f6-mobility-check-0001.toml"));
    let text = |file: &&str| fs::read_to_string(folder.path().join(file)).unwrap();
    let by_trace = files.iter().find(|file| text(file).contains("by a trace")).unwrap();
    let show = joulepath_in(folder.path(), &["show", by_trace]).ok();
    assert!(show.contains(".trace"), "{show}");
}

#[test]
fn what_is_sealed_needs_a_log_and_is_not_for_reading() {
    let folder = folder();
    let refused = |arguments: &[&str], what: &str| {
        let said = joulepath_in(folder.path(), &[&["league"], arguments].concat());
        assert_eq!(said.code, Some(2), "{arguments:?}: {}", said.stderr);
        assert!(said.stderr.contains(what), "{arguments:?}: {}", said.stderr);
    };
    refused(&["--family", "f2-file", "--range", "sealed"], "--sealed-log");
    refused(&["--family", "f2-file", "--range", "sealed", "--write", "drawn"], "not for reading");
    refused(&["--family", "f2-file", "--sealed-log", "log.jsonl"], "for sealed draws");
    refused(&["--family", "f2-file", "--range", "seald"], "did you mean `sealed`?");
    refused(&["--family", "f2-file", "--quick"], "--quick");
    refused(&["--family", "f2-file", "--policies", "mptpc"], "did you mean `mptcp`?");
    refused(&["--family", "bulk,f2-file"], "judged in different ways");
    refused(&["--range", "check"], "families of the gauntlet");
    assert!(!folder.path().join("log.jsonl").exists());
}
