//! `compare --engine kernel` and `gap` as their users see them.

use std::fs;
use std::process::Stdio;

use joulepath_testbed::observe::{is_running, wait_until};
use rustix::process::{Pid, Signal, kill_process};

use crate::machine::{Unprivileged, workers_of};
use crate::run::{Said, command, folder, joulepath, joulepath_in};

/// Allows any lateness, for tests whose checks do not depend on it.
const HOWEVER_LATE: [&str; 2] = ["--max-lateness", "10 s"];

#[test(needs(ENGINE))]
fn a_comparison_has_the_table_and_the_notes_of_its_engine() {
    let folder = folder();
    let arguments = [
        "compare",
        "quick",
        "--engine",
        "kernel",
        "-p",
        "mptcp,olia",
        "-n",
        "1",
        "--json",
        "k.json",
    ];
    let table = joulepath_in(folder.path(), &[&arguments[..], &HOWEVER_LATE].concat()).ok();
    assert!(table.contains("kernel engine · 1 seed"), "{table}");
    assert!(
        table.contains("kernel's own (`mainline`)") && table.contains("modelled"),
        "{table}"
    );
    let json: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(folder.path().join("k.json")).unwrap()).unwrap();
    assert_eq!(json["engine"], "kernel");
    let notes: Vec<&str> = json["notes"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|note| note.as_str())
        .collect();
    assert!(
        notes.iter().any(|note| note.contains("up to 10 s late")),
        "{notes:?}"
    );
    // 15 Mbit/s of links for a second, slow start included.
    let goodput = json["rows"][0]["goodput_bps"]["mean"].as_f64().unwrap();
    assert!((6e6..15e6).contains(&goodput), "{goodput}");
}

/// One header in both engines. With NewReno's full increase it equals `uncoupled`.
#[test(needs(ENGINE))]
fn a_user_s_controller_runs_in_both_engines() {
    let folder = folder();
    joulepath_in(folder.path(), &["cc", "new", "mine"]).ok();
    let arguments = [
        "compare",
        "quick",
        "--cc",
        "mine.h",
        "-p",
        "uncoupled,mine[weight=1]",
        "-n",
        "1",
        "--json",
    ];
    let goodputs = |engine: &[&str]| {
        let compared = joulepath_in(folder.path(), &[&arguments[..], engine].concat()).json();
        let rows = compared["rows"].as_array().unwrap().clone();
        assert_eq!(rows[1]["policy"], "mine[weight=1]", "{compared}");
        [0, 1].map(|row: usize| rows[row]["goodput_bps"]["mean"].as_f64().unwrap())
    };
    let [uncoupled, mine] = goodputs(&["--engine", "packet"]);
    assert!(uncoupled == mine, "{uncoupled} {mine}");
    // As in the test above; slow start fills the links in both.
    let both = goodputs(&[&["--engine", "kernel"][..], &HOWEVER_LATE].concat());
    assert!(
        both.iter().all(|goodput| (6e6..15e6).contains(goodput)),
        "{both:?}"
    );
}

/// The controller is verified before any run.
#[test(needs(ENGINE))]
fn the_error_of_a_controller_that_the_verifier_refuses_names_its_line() {
    let folder = folder();
    joulepath_in(folder.path(), &["cc", "new", "mine"]).ok();
    let file = folder.path().join("mine.h");
    let text = fs::read_to_string(&file).unwrap();
    let (from, to) = (
        "(u32)MPCC_PARAM(conn, MINE_WEIGHT)",
        "conn->sub[conn->sub[self].cwnd].cwnd",
    );
    let line = text.lines().position(|line| line.contains(from)).unwrap() + 1;
    fs::write(&file, text.replace(from, to)).unwrap();
    let said = joulepath_in(
        folder.path(),
        &["compare", "quick", "--cc", "mine.h", "--engine", "kernel"],
    );
    assert_eq!(said.code, Some(1), "{}", said.stderr);
    assert!(
        said.stderr.contains(&format!("mine.h:{line}: ")),
        "{}",
        said.stderr
    );
    assert!(said.stdout.is_empty(), "{}", said.stdout);
}

#[test(needs(ENGINE))]
fn after_ctrl_c_finished_runs_are_reported_and_nothing_is_left() {
    let folder = folder();
    let arguments = [
        "compare",
        "quick",
        "--engine",
        "kernel",
        "--duration",
        "2 s",
        "-n",
        "100",
    ];
    let arguments = [&arguments[..], &["--csv", "k.csv"], &HOWEVER_LATE].concat();
    let child = command(folder.path(), &arguments)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let child = child.unwrap();
    let stored = folder.path().join("k.runs.jsonl");
    let runs = || {
        fs::read_to_string(&stored)
            .unwrap_or_default()
            .lines()
            .count()
    };
    wait_until("a run is finished", || runs() > 0);
    let workers = workers_of(child.id(), 3);
    kill_process(Pid::from_raw(child.id() as i32).unwrap(), Signal::INT).unwrap();
    let said = Said::of(child.wait_with_output().unwrap());
    assert_eq!(said.code, Some(130), "{}", said.stderr);
    let reported = fs::read_to_string(folder.path().join("k.csv")).unwrap();
    assert!(reported.contains("uncoupled"), "{reported}{}", said.stderr);
    // It ends long before the hundred runs of each policy.
    assert!(runs() < 50, "{}", runs());
    wait_until("the workers end", || {
        workers.iter().all(|&pid| !is_running(pid))
    });
}

#[test(needs(ENGINE))]
fn a_run_that_came_too_late_does_not_count() {
    let said = joulepath(&[
        "compare",
        "quick",
        "--engine",
        "kernel",
        "-p",
        "mptcp",
        "-n",
        "1",
        "--max-lateness",
        "1 ns",
    ]);
    assert_eq!(said.code, Some(1), "{}", said.stderr);
    assert!(
        said.stderr
            .contains("(99th percentile), and 0.000001 ms are allowed"),
        "{}",
        said.stderr
    );
}

#[test]
fn a_feature_that_mainline_linux_lacks_has_exit_code_3() {
    for (policy, name) in [
        ("mptcp[scheduler=round-robin]", "round-robin"),
        ("redundant", "redundant"),
    ] {
        let said = joulepath(&["compare", "quick", "--engine", "kernel", "-p", policy]);
        assert_eq!(said.code, Some(3), "{}", said.stderr);
        assert!(
            said.stderr.contains(name) && said.stderr.contains("--engine packet"),
            "{}",
            said.stderr
        );
    }
}

#[test(needs(ROOT))]
fn without_root_the_exit_code_is_4_and_the_message_has_the_fix() {
    let nobody = Unprivileged::new();
    for arguments in [
        &["compare", "quick", "--engine", "kernel"][..],
        &["gap", "quick", "-p", "mptcp"],
    ] {
        let said = Said::of(nobody.command(arguments).output().unwrap());
        assert_eq!(said.code, Some(4), "{}", said.stderr);
        assert!(said.stderr.contains("sudo"), "{}", said.stderr);
    }
}

#[test(needs(ENGINE))]
fn the_gap_is_shown_stored_and_written_into_a_page() {
    let folder = folder();
    fs::write(
        folder.path().join("page.md"),
        "# A\n<!-- gap: begin -->\n<!-- gap: end -->\nZ\n",
    )
    .unwrap();
    let arguments = [
        "gap",
        "quick",
        "-p",
        "mptcp",
        "--runs",
        "runs.jsonl",
        "--markdown",
        "page.md",
    ];
    let gap = || joulepath_in(folder.path(), &[&arguments[..], &HOWEVER_LATE].concat());
    let first = gap().ok();
    assert!(first.contains("allowed to be 10 s late"), "{first}");
    assert!(
        first.contains("of hard ones") && first.lines().all(|line| line.chars().count() <= 80),
        "{first}"
    );
    let page = fs::read_to_string(folder.path().join("page.md")).unwrap();
    assert!(
        page.starts_with("# A\n") && page.ends_with("Z\n") && page.contains("| quick | `mptcp` |"),
        "{page}"
    );
    // The second call runs nothing.
    let runs = fs::read(folder.path().join("runs.jsonl")).unwrap();
    assert_eq!(first, gap().ok());
    assert_eq!(runs, fs::read(folder.path().join("runs.jsonl")).unwrap());
}
