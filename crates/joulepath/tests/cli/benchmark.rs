//! `joulepath benchmark` on ranked families, cut short.

use std::fs;

use serde_json::Value;

use crate::run::{folder, joulepath_in};

const QUICK: [&str; 8] = [
    "benchmark",
    "--quick",
    "--family",
    "papers,shared,messages",
    "--seeds",
    "1",
    "--runs",
    "runs.jsonl",
];

fn json(folder: &std::path::Path) -> Value {
    joulepath_in(folder, &[&QUICK[..], &["--json"]].concat()).json()
}

#[test]
fn ranked_families_make_tiers_keep_their_runs_and_fill_pages() {
    let folder = folder();
    let found = json(folder.path());
    let policies = found["policies"].as_array().unwrap();
    // By score, and tiers ascend with it.
    let ranked = || policies.iter().filter(|policy| policy["tier"].is_u64());
    let scores: Vec<f64> = ranked()
        .map(|policy| policy["overall"]["score"]["mean"]["mean"].as_f64().unwrap())
        .collect();
    assert!(
        scores.len() >= 6 && scores.windows(2).all(|pair| pair[0] >= pair[1]),
        "{scores:?}"
    );
    let tiers: Vec<u64> = ranked()
        .map(|policy| policy["tier"].as_u64().unwrap())
        .collect();
    assert!(
        tiers[0] == 1 && tiers.windows(2).all(|pair| pair[0] <= pair[1]),
        "{tiers:?}"
    );
    let named = |name: &str| {
        policies
            .iter()
            .find(|policy| policy["policy"] == name)
            .unwrap()
    };
    // Two uncoupled subflows at one bottleneck take two TCPs' rates, LIA one.
    let share = |name: &str| {
        named(name)["scenarios"]["000-fairness"]["share"]
            .as_f64()
            .unwrap()
    };
    assert!(
        share("uncoupled") > 1.4 && share("mptcp") < 1.5,
        "{} {}",
        share("uncoupled"),
        share("mptcp")
    );
    let scenario = |name: &str| {
        found["scenarios"]
            .as_array()
            .unwrap()
            .iter()
            .find(|row| row["name"] == name)
            .unwrap()
            .clone()
    };
    assert_eq!(scenario("messages-1-01")["work"], "deadline");
    assert!(scenario("messages-1-01")["deadline_s"].is_f64());
    let left_out: Vec<&str> = found["left_out"]
        .as_array()
        .unwrap()
        .iter()
        .map(|left| left["scenario"].as_str().unwrap())
        .collect();
    assert!(
        left_out.contains(&"000-table1-mss1460") && left_out.contains(&"002-fig5b"),
        "{left_out:?}"
    );

    // A second time nothing is run: the file stays as it was, and so do the numbers, to the last
    // digit.
    let kept = fs::read_to_string(folder.path().join("runs.jsonl")).unwrap();
    let again = json(folder.path());
    assert_eq!(
        fs::read_to_string(folder.path().join("runs.jsonl")).unwrap(),
        kept
    );
    assert_eq!(again["policies"], found["policies"]);
    // A half that is missing is run again, with the same result.
    let half: String = kept
        .split_inclusive('\n')
        .take(kept.lines().count() / 2)
        .collect();
    fs::write(folder.path().join("runs.jsonl"), half).unwrap();
    assert_eq!(json(folder.path())["policies"], found["policies"]);

    let marked =
        |name: &str| format!("top\n<!-- {name}: begin -->\nold\n<!-- {name}: end -->\nbottom\n");
    fs::write(folder.path().join("short.md"), marked("benchmark")).unwrap();
    fs::write(folder.path().join("full.md"), marked("benchmark-full")).unwrap();
    let more = [
        "--markdown",
        "short.md,full.md",
        "--front",
        "img/front.svg",
        "--report",
        "pages",
    ];
    let said = joulepath_in(folder.path(), &[&QUICK[..], &more].concat());
    let names = "report: pages/benchmark.html\n";
    assert!(said.stderr.ends_with(names), "{}", said.stderr);
    let table = said.ok();
    assert!(
        table.lines().all(|line| line.chars().count() <= 80),
        "{table}"
    );
    assert!(
        table.contains("Left out:") && table.contains("†"),
        "{table}"
    );
    let read = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
    let short = read("short.md");
    assert!(
        short.starts_with("top\n<!-- benchmark: begin -->\n| tier | policies |"),
        "{short}"
    );
    assert!(
        short.ends_with("-->\nbottom\n") && !short.contains("old") && short.contains("| 1 | "),
        "{short}"
    );
    assert!(
        read("full.md").contains("messages (1): "),
        "{}",
        read("full.md")
    );
    assert!(read("img/front.svg").starts_with("<svg"));
    assert!(read("pages/benchmark.html").contains("<div class=\"plot tall\""));
}

/// Another seed makes other scenarios, which any command takes as files.
#[test]
fn random_scenarios_are_files_that_can_be_compared() {
    let folder = folder();
    let write = [
        "benchmark",
        "--family",
        "mobility",
        "--seed",
        "9",
        "--write",
        "drawn",
    ];
    let said = joulepath_in(folder.path(), &write).ok();
    let files: Vec<&str> = said.lines().collect();
    assert_eq!((files.len(), files[0]), (12, "drawn/mobility-9-01.toml"));
    let text = fs::read_to_string(folder.path().join(files[0])).unwrap();
    assert!(text.starts_with(
        "# Scenario 1 of the family `mobility`: `joulepath benchmark --family mobility --seed 9`"
    ));
    for file in files {
        joulepath_in(folder.path(), &["show", file]).ok();
    }
    let compare = [
        "compare",
        "drawn/mobility-9-01.toml",
        "--seeds",
        "1",
        "--policies",
        "mptcp",
        "--duration",
        "8 s",
    ];
    joulepath_in(folder.path(), &compare).ok();
    // What is run is what was written.
    let quick = [
        "benchmark",
        "--quick",
        "--family",
        "mobility",
        "--seed",
        "9",
        "--seeds",
        "1",
        "--json",
    ];
    let found = joulepath_in(folder.path(), &quick).json();
    let sum = std::process::Command::new("sha256sum")
        .arg(folder.path().join("drawn/mobility-9-01.toml"))
        .output();
    if let Ok(sum) = sum {
        let sum = String::from_utf8(sum.stdout).unwrap();
        assert_eq!(
            found["scenarios"][0]["sha256"].as_str(),
            sum.split(' ').next()
        );
    }
}

#[test]
fn a_family_that_does_not_exist_and_papers_that_are_not_random_are_reported() {
    let folder = folder();
    let unknown = joulepath_in(folder.path(), &["benchmark", "--family", "mobilty"]);
    assert_eq!(unknown.code, Some(2), "{}", unknown.stderr);
    assert!(
        unknown.stderr.contains("did you mean `mobility`?"),
        "{}",
        unknown.stderr
    );
    let papers = joulepath_in(
        folder.path(),
        &["benchmark", "--family", "papers", "--write", "drawn"],
    );
    assert_eq!(papers.code, Some(2), "{}", papers.stderr);
    assert!(
        papers.stderr.contains("are not random"),
        "{}",
        papers.stderr
    );
}

#[test]
fn a_page_without_marks_is_refused_with_the_marks_to_write() {
    let folder = folder();
    fs::write(folder.path().join("page.md"), "nothing\n").unwrap();
    let said = joulepath_in(
        folder.path(),
        &[
            "benchmark",
            "--quick",
            "--seeds",
            "1",
            "--markdown",
            "page.md",
        ],
    );
    assert_eq!(said.code, Some(2), "{}", said.stderr);
    assert!(
        said.stderr.contains("<!-- benchmark: begin -->"),
        "{}",
        said.stderr
    );
}

#[test]
fn a_file_of_something_else_is_not_taken_for_stored_runs() {
    let folder = folder();
    fs::write(folder.path().join("runs.jsonl"), "{\"title\": 1}\n").unwrap();
    let said = joulepath_in(folder.path(), &QUICK);
    assert_eq!(said.code, Some(2), "{}", said.stderr);
    assert!(
        said.stderr
            .contains("line 1 of runs.jsonl is not a run: missing field"),
        "{}",
        said.stderr
    );
    assert!(
        said.stderr.contains("help: name another file"),
        "{}",
        said.stderr
    );
}
