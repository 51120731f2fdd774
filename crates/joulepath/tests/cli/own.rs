//! Controllers of users: `cc new`, `cc check`, `compare --cc`.

use std::fs;

use serde_json::Value;

use crate::run::{folder, joulepath_in};

/// From nothing to a table, as a new user would go.
#[test]
fn a_new_controller_is_written_checked_and_compared() {
    let folder = folder();
    let run = |arguments: &[&str]| joulepath_in(folder.path(), arguments);
    assert!(run(&["cc", "new", "mine"]).ok().starts_with("mine.h\n"));
    let checked = run(&["cc", "check", "mine.h"]).ok();
    let asked = checked.matches("ok    the kernel's verifier").count();
    assert_eq!(
        (
            checked.matches("\nok ").count() - asked,
            checked.contains("WRONG")
        ),
        (7, false),
        "{checked}"
    );
    assert_eq!(
        asked + checked.matches("–     the kernel's verifier").count(),
        1,
        "{checked}"
    );
    assert_eq!(
        run(&["cc", "check", "mine.h", "--json"]).json()["passes"],
        true
    );
    let compared = run(&["compare", "quick", "--cc", "mine.h", "--json"]).json();
    let policies: Vec<&str> = compared["rows"]
        .as_array()
        .unwrap()
        .iter()
        .map(policy)
        .collect();
    assert_eq!(policies, ["uncoupled", "mptcp", "mine"]);
    // With all of NewReno's increase it is NewReno.
    let words = [
        "compare",
        "quick",
        "--cc",
        "mine.h",
        "-p",
        "uncoupled,mine[weight=1]",
        "--json",
    ];
    let same = run(&words).json();
    assert_eq!(
        same["rows"][0]["goodput_bps"],
        same["rows"][1]["goodput_bps"]
    );
}

/// The preset of the playground: with Reno's rules `mine` is the policy `mptcp[cc=reno]` to the
/// last bit.
#[test]
fn rules_are_compared_like_a_header() {
    let folder = folder();
    let run = |arguments: &[&str]| joulepath_in(folder.path(), arguments);
    let write = |text: &str| fs::write(folder.path().join("mine.rules"), text).unwrap();
    write("on_ack: cwnd += acked / cwnd\non_loss: cwnd /= 2\n");
    let words = [
        "compare",
        "quick",
        "--cc",
        "mine.rules",
        "-p",
        "mptcp[cc=reno],mine",
        "-n",
        "3",
        "--json",
    ];
    let same = run(&words).json();
    for number in [
        "goodput_bps",
        "energy_j",
        "bits_per_joule",
        "retransmission_ratio",
    ] {
        let [reno, mine] = [0, 1].map(|row| &same["rows"][row][number]);
        assert!(
            reno["mean"].as_f64() > Some(0.0) && reno == mine,
            "{number}: {reno} {mine}"
        );
    }
    write("on_ack: cwnd += 1 / cwdn\n");
    let said = run(&["compare", "quick", "--cc", "mine.rules"]);
    assert_eq!(said.code, Some(2), "{}", said.stderr);
    assert!(
        said.stderr.contains("1:21") && said.stderr.contains("did you mean `cwnd`?"),
        "{}",
        said.stderr
    );
}

fn policy(row: &Value) -> &str {
    row["policy"].as_str().unwrap()
}

#[test]
fn a_wrong_controller_is_refused_with_its_line() {
    let folder = folder();
    let run = |arguments: &[&str]| joulepath_in(folder.path(), arguments);
    run(&["cc", "new", "mine"]).ok();
    let file = folder.path().join("mine.h");
    let good = fs::read_to_string(&file).unwrap();
    let line = good
        .lines()
        .position(|line| line.contains("return mpcc_scale"))
        .unwrap()
        + 1;
    fs::write(
        &file,
        good.replace("return mpcc_scale", "retrun mpcc_scale"),
    )
    .unwrap();
    for arguments in [
        &["compare", "quick", "--cc", "mine.h"][..],
        &["cc", "check", "mine.h"],
    ] {
        let said = run(arguments);
        assert_eq!(said.code, Some(2), "{}", said.stderr);
        assert!(
            said.stderr.contains(&format!("mine.h:{line}:")),
            "{}",
            said.stderr
        );
    }
    fs::write(
        &file,
        good.replace(
            "return mpcc_scale(",
            "return 1 / (s64)(conn->n & 1) + mpcc_scale(",
        ),
    )
    .unwrap();
    let said = run(&["cc", "check", "mine.h"]);
    assert_eq!(said.code, Some(1));
    assert!(
        said.stdout.contains("WRONG every state")
            && said.stdout.contains(&format!("mine.h:{line}:"))
    );
}

#[test]
fn a_float_in_a_header_is_refused_with_its_line() {
    let folder = folder();
    let run = |arguments: &[&str]| joulepath_in(folder.path(), arguments);
    run(&["cc", "new", "mine"]).ok();
    let file = folder.path().join("mine.h");
    let good = fs::read_to_string(&file).unwrap();
    let line = good
        .lines()
        .position(|line| line.contains("return mpcc_scale"))
        .unwrap()
        + 1;
    fs::write(
        &file,
        good.replace(
            "return mpcc_scale",
            "return (s64)(1.5 * conn->n) + mpcc_scale",
        ),
    )
    .unwrap();
    let said = run(&["cc", "check", "mine.h"]);
    assert_eq!(said.code, Some(2), "{}", said.stderr);
    let place = format!("mine.h:{line}:");
    assert!(
        said.stderr.contains(&place) && said.stderr.contains("no floating point"),
        "{}",
        said.stderr
    );
}

#[test]
fn an_invalid_controller_is_refused_with_a_fix() {
    let folder = folder();
    let run = |arguments: &[&str]| joulepath_in(folder.path(), arguments);
    run(&["cc", "new", "mine"]).ok();
    for (arguments, code, says) in [
        (&["cc", "new", "mine"][..], 2, "mine.h exists"),
        (&["cc", "new", "Mine"], 2, "not a controller name"),
        (
            &["cc", "new", "olia"],
            2,
            "the name of a controller of Joulepath",
        ),
        (
            &["compare", "quick", "--cc", "nowhere.h"],
            2,
            "cannot read the controller nowhere.h",
        ),
        (
            &["compare", "quick", "--cc", "mine.h", "--engine", "fluid"],
            3,
            "a controller of your own",
        ),
        (
            &["compare", "quick", "-p", "mine"],
            2,
            "there is no policy `mine`",
        ),
    ] {
        let said = run(arguments);
        assert_eq!(said.code, Some(code), "{arguments:?}: {}", said.stderr);
        assert!(said.stderr.contains(says), "{arguments:?}: {}", said.stderr);
    }
}

const SUITE: &str = r#"
title = "my cases"
source = "none"
[scenario]
title = "one path"
duration = "2 s"
path = [{ name = "p", rate = "10 Mbit/s", delay = "10 ms", queue = "50 packets", energy = "free" }]
workload = { kind = "bulk" }
[[case]]
name = "full"
title = "The path is full"
check = [{ value = "goodput_mbps", stat = "result", at-least = 9, at-most = 10 }]
[[case]]
name = "calm"
title = "Nothing is lost"
check = [{ never = "RECOVERY" }]
"#;

#[test]
fn cases_are_run_on_a_controller_of_ones_own_and_the_exit_code_says_whether_they_hold() {
    let folder = folder();
    let run = |arguments: &[&str]| joulepath_in(folder.path(), arguments);
    fs::write(
        folder.path().join("mine.rules"),
        "on_ack: cwnd += acked / cwnd\n",
    )
    .unwrap();
    fs::write(folder.path().join("mine.toml"), SUITE).unwrap();
    let all = ["cc", "test", "mine.rules", "--cases", "mine.toml"];
    let said = run(&all);
    assert_eq!(said.code, Some(1), "{}", said.stderr);
    assert!(
        said.stdout.contains("2 cases: 1 did not hold"),
        "{}",
        said.stdout
    );
    assert!(
        said.stdout.lines().all(|line| line.chars().count() <= 80),
        "{}",
        said.stdout
    );
    let held = run(&[&all[..], &["--case", "full", "--json"]].concat()).json();
    assert_eq!(
        (&held["holds"], &held["cases"][0]["case"]),
        (&true.into(), &"full".into()),
        "{held}"
    );
    for (arguments, message) in [
        (&["cc", "test", "ren"][..], "did you mean `reno`?"),
        (
            &["cc", "test", "reno", "--cases", "none.toml"],
            "no suite of cases `none.toml`",
        ),
        (
            &[
                "cc",
                "test",
                "reno",
                "--cases",
                "mine.toml",
                "--case",
                "ful",
            ],
            "did you mean `full`?",
        ),
        (
            &["cc", "test", "reno", "--cases", "bbr3"],
            "which `reno` does not show",
        ),
    ] {
        let said = run(arguments);
        assert_eq!(said.code, Some(2), "{}", said.stderr);
        assert!(said.stderr.contains(message), "{}", said.stderr);
    }
}
