//! `joulepath league`, cut short.

use std::fs;

use serde_json::Value;

use crate::run::{folder, joulepath_in};

const QUICK: [&str; 6] = ["league", "--quick", "--seeds", "1", "--runs", "runs.jsonl"];

fn json(folder: &std::path::Path) -> Value {
    joulepath_in(folder, &[&QUICK[..], &["--json"]].concat()).json()
}

#[test]
fn the_league_orders_policies_keeps_its_runs_and_fills_a_page() {
    let folder = folder();
    let league = json(folder.path());
    let policies = league["policies"].as_array().unwrap();
    // In the order of the ranks, by the median share of the limit.
    let medians: Vec<f64> = policies
        .iter()
        .filter(|policy| policy["rank"].is_u64())
        .map(|policy| policy["of_limit"]["median"]["mean"].as_f64().unwrap())
        .collect();
    assert!(medians.len() >= 6 && medians.windows(2).all(|pair| pair[0] >= pair[1]), "{medians:?}");
    let named = |name: &str| policies.iter().find(|policy| policy["policy"] == name).unwrap();
    // Two uncoupled subflows at one bottleneck take two TCPs' rates, LIA one.
    let share = |name: &str| named(name)["scenarios"]["000-fairness"]["tcp_share"]["mean"].as_f64().unwrap();
    assert!(share("uncoupled") > 1.5 && share("mptcp") < 1.5, "{} {}", share("uncoupled"), share("mptcp"));
    assert_eq!(named("uncoupled")["takes_too_much"], true);
    // The fastest single path is as fast as itself.
    let fastest = policies.iter().find(|policy| policy["baseline"] == "fastest").unwrap();
    assert_eq!(
        (&fastest["goodput"]["median"]["mean"], &fastest["goodput"]["worst"]),
        (&1.0.into(), &1.0.into())
    );
    let left_out: Vec<&str> = league["left_out"]
        .as_array()
        .unwrap()
        .iter()
        .map(|left| left["scenario"].as_str().unwrap())
        .collect();
    assert!(left_out.contains(&"000-table1-mss1460") && left_out.contains(&"002-fig5b"), "{left_out:?}");

    // A second time nothing is run: the file stays as it was, and so do the numbers, to the last digit.
    let kept = fs::read_to_string(folder.path().join("runs.jsonl")).unwrap();
    let again = json(folder.path());
    assert_eq!(fs::read_to_string(folder.path().join("runs.jsonl")).unwrap(), kept);
    assert_eq!(again["policies"], league["policies"]);
    // A half that is missing is run again, with the same result.
    let half: String = kept.split_inclusive('\n').take(kept.lines().count() / 2).collect();
    fs::write(folder.path().join("runs.jsonl"), half).unwrap();
    assert_eq!(json(folder.path())["policies"], league["policies"]);

    let page = folder.path().join("page.md");
    fs::write(&page, "top\n<!-- league: begin -->\nold\n<!-- league: end -->\nbottom\n").unwrap();
    let text = joulepath_in(folder.path(), &[&QUICK[..], &["--markdown", "page.md"]].concat()).ok();
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    assert!(text.contains("Left out:") && text.contains("†"), "{text}");
    let page = fs::read_to_string(page).unwrap();
    assert!(
        page.starts_with("top\n<!-- league: begin -->\n| | policy |") && page.ends_with("-->\nbottom\n"),
        "{page}"
    );
    assert!(!page.contains("old") && page.contains("| 1 | "), "{page}");
}

#[test]
fn a_page_without_marks_is_told_what_to_write() {
    let folder = folder();
    fs::write(folder.path().join("page.md"), "nothing\n").unwrap();
    let said = joulepath_in(folder.path(), &["league", "--quick", "--seeds", "1", "--markdown", "page.md"]);
    assert_eq!(said.code, Some(2), "{}", said.stderr);
    assert!(said.stderr.contains("<!-- league: begin -->"), "{}", said.stderr);
}

#[test]
fn a_file_of_something_else_is_not_taken_for_stored_runs() {
    let folder = folder();
    fs::write(folder.path().join("runs.jsonl"), "{\"title\": 1}\n").unwrap();
    let said = joulepath_in(folder.path(), &QUICK);
    assert_eq!(said.code, Some(1), "{}", said.stderr);
    assert!(said.stderr.contains("line 1 of runs.jsonl is no run: missing field"), "{}", said.stderr);
    assert!(said.stderr.contains("help: name another file"), "{}", said.stderr);
}
