//! Ctrl-C in a study: what has finished is kept, and shown.
#![cfg(unix)]

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};
use std::{fs, thread};

use rustix::process::{Pid, Signal, kill_process};

use crate::run::{Said, command, folder};

/// Longest time that anything here may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// A study that takes minutes, once `runs` runs have finished.
fn study(folder: &Path, runs: usize) -> Child {
    let arguments = [
        "compare",
        "papers/000-table1",
        "--seeds",
        "5000",
        "--jobs",
        "2",
        "--json",
        "all.json",
        "--report",
    ];
    started(folder, &arguments, "000-table1", runs)
}

/// A study with a report called `name`, once `runs` runs have finished.
fn started(folder: &Path, arguments: &[&str], name: &str, runs: usize) -> Child {
    let child = command(folder, arguments)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let stored = folder.join(format!("joulepath-report/{name}.runs.jsonl"));
    let have_finished = |text: String| text.lines().count() >= runs;
    let since = Instant::now();
    while !fs::read_to_string(&stored).is_ok_and(have_finished) {
        assert!(since.elapsed() < PATIENCE, "no run has finished");
        thread::sleep(Duration::from_millis(20));
    }
    child
}

fn send(signal: Signal, child: &Child) {
    let id = Pid::from_raw(child.id() as i32).expect("a process has an id");
    kill_process(id, signal).expect("it runs");
}

#[test]
fn after_ctrl_c_the_finished_runs_are_reported() {
    let folder = folder();
    // Three seeds of eight policies.
    let child = study(folder.path(), 24);
    send(Signal::INT, &child);
    let said = Said::of(child.wait_with_output().unwrap());
    assert_eq!(said.code, Some(130), "{}", said.stderr);
    assert!(
        said.stderr
            .contains("stopping: what has finished is reported"),
        "{}",
        said.stderr
    );
    assert!(
        said.stdout.contains("Interrupted") && said.stdout.contains("EEMPTCP"),
        "{}",
        said.stdout
    );
    let json: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(folder.path().join("all.json")).unwrap()).unwrap();
    assert_eq!(
        (&json["partial"], &json["seeds"]),
        (&true.into(), &5000.into())
    );
    let counts: Vec<u64> = json["rows"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["n"].as_u64().unwrap())
        .collect();
    // All policies take turns on each seed: none is ahead by more than one run and what two threads
    // have in hand.
    let (fewest, most) = (counts.iter().min().unwrap(), counts.iter().max().unwrap());
    assert!(*fewest >= 2 && most - fewest <= 2, "{counts:?}");
    // Nothing that had finished is missing.
    let stored =
        fs::read_to_string(folder.path().join("joulepath-report/000-table1.runs.jsonl")).unwrap();
    assert_eq!(counts.iter().sum::<u64>(), stored.lines().count() as u64);
    assert!(
        folder
            .path()
            .join("joulepath-report/000-table1.html")
            .is_file()
    );
}

/// Waits until the study has used processor time: 100 ms in ticks of 10 ms, `utime` of
/// proc_pid_stat(5).
#[cfg(target_os = "linux")]
fn computes(child: &Child) {
    let used = || {
        let stat = fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap();
        let (_, fields) = stat.rsplit_once(") ").unwrap();
        fields.split(' ').nth(11).unwrap().parse::<u64>().unwrap()
    };
    let before = used();
    joulepath_testbed::observe::wait_until("a slotted run goes on", || used() >= before + 10);
}

#[test]
fn after_ctrl_c_slotted_runs_do_not_go_on_and_a_system_that_lacks_some_is_not_measured() {
    let folder = folder();
    let page = "# 003\n<!-- results: begin -->\nof a whole session\n<!-- results: end -->\n";
    fs::write(folder.path().join("003.md"), page).unwrap();
    let mut child = command(
        folder.path(),
        &["reproduce", "003", "--full", "--jobs", "1", "--docs", "."],
    )
    .stdout(Stdio::piped())
    .stderr(Stdio::piped())
    .spawn()
    .expect("it starts");
    // From here on Ctrl-C is caught; the slotted runs begin.
    let mut said = String::new();
    BufReader::new(child.stderr.as_mut().expect("piped"))
        .read_line(&mut said)
        .unwrap();
    assert!(said.contains("runs for 12 experiments"), "{said}");
    #[cfg(target_os = "linux")]
    computes(&child);
    send(Signal::INT, &child);
    let said = Said::of(child.wait_with_output().unwrap());
    assert_eq!(said.code, Some(130), "{}", said.stderr);
    // All of them: the one that ran did not go on to its end.
    assert!(
        said.stdout.contains("PARTIAL") && said.stdout.contains("20 missing"),
        "{}",
        said.stdout
    );
    assert!(
        said.stderr.contains("pages are left as they are"),
        "{}",
        said.stderr
    );
    assert_eq!(
        fs::read_to_string(folder.path().join("003.md")).unwrap(),
        page
    );
    let text = fs::read_to_string(folder.path().join("joulepath-reproduction/full.json")).unwrap();
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(json["partial"], true);
    for experiment in json["experiments"].as_array().unwrap() {
        assert!(
            experiment["missing"].as_u64().unwrap() > 0,
            "{}",
            experiment["id"]
        );
        assert_eq!(experiment["verdict"], "not-run", "{}", experiment["id"]);
        for finding in experiment["findings"].as_array().unwrap() {
            let n = finding["n"].as_u64().unwrap();
            assert!(
                n == 0 && finding["measured"].is_null() || n == 10,
                "{finding}"
            );
        }
    }
}

#[test]
fn ctrl_c_or_sigterm_ends_a_run_of_hours() {
    for signal in [Signal::INT, Signal::TERM] {
        let folder = folder();
        let arguments = [
            "compare",
            "papers/002-fig5b",
            "--seeds",
            "1",
            "--duration",
            "10 h",
            "--policies",
            "mptcp",
            "--report",
        ];
        let child = started(folder.path(), &arguments, "002-fig5b", 0);
        send(signal, &child);
        // A run that went on to its end would not be missing.
        let said = Said::of(child.wait_with_output().unwrap());
        assert_eq!(said.code, Some(130), "{}", said.stderr);
        assert!(
            said.stdout.contains("some runs are missing"),
            "{}",
            said.stdout
        );
    }
}

#[test]
fn a_second_ctrl_c_stops_at_once() {
    let folder = folder();
    // The results do not fit into a pipe (64 KiB) whose reader stops early.
    let arguments = [
        "compare",
        "papers/001-3g-wlan",
        "--all-variants",
        "--seeds",
        "2",
        "--json",
    ];
    let mut child = command(folder.path(), &arguments)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdout
        .as_mut()
        .expect("piped")
        .read_exact(&mut [0])
        .unwrap();
    send(Signal::INT, &child);
    let mut stderr = BufReader::new(child.stderr.take().expect("piped")).lines();
    assert!(
        stderr.any(|line| line.unwrap().contains("Ctrl-C again stops at once")),
        "the first is not heard"
    );
    send(Signal::INT, &child);
    // Waiting closes no pipe, so that this ends only if the process does.
    let since = Instant::now();
    let code = loop {
        match child.try_wait().unwrap() {
            Some(status) => break status.code(),
            None if since.elapsed() > PATIENCE => {
                child.kill().unwrap();
                panic!("it goes on after a second Ctrl-C");
            }
            None => thread::sleep(Duration::from_millis(20)),
        }
    };
    assert_eq!(code, Some(130));
}
