//! What is left when something dies: nothing.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use joulepath_linux::lab::{self, Lab};
use rustix::process::{Pid, Signal, kill_process};

use crate::common::machine;
use crate::net::{TWO_PATHS, lab};

/// By which a copy of this test program knows that it is to be killed.
const VICTIM: &str = "JOULEPATH_TEST_VICTIM";

#[test]
fn without_its_emulator_a_lab_says_so_and_leaves_nothing() {
    let Some(_machine) = machine() else { return };
    let mut lab = lab(TWO_PATHS, |_| {});
    let background = lab.launch(shell("sleep 600 & wait")).unwrap();
    kill(lab.emulator_pid());
    let error = lab.snapshot().unwrap_err().to_string();
    assert!(error.contains("emulator") && error.contains("signal 9"), "{error}");
    assert!(!lab.is_alive());
    let id = lab.id().to_owned();
    drop(lab);
    // A process that was killed goes in its own time.
    wait_until("nothing carries the lab's mark", || with_mark(&id).is_empty());
    assert!(!fs::exists(ledger(&id)).unwrap());
    end(background);
}

#[test]
fn a_lab_whose_owner_is_killed_leaves_nothing_that_clean_does_not_find() {
    let Some(_machine) = machine() else { return };
    let exe = std::env::current_exe().unwrap();
    let mut victim = Command::new(exe)
        .args(["--exact", "crash::victim", "--ignored", "--nocapture"])
        .env(VICTIM, "1")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(victim.stdout.take().unwrap()).lines();
    let told = lines.map_while(Result::ok).find_map(|line| line.strip_prefix("victim ").map(str::to_owned));
    let told = told.expect("the victim has a lab");
    let (emulator, id) = told.split_once(' ').unwrap();
    let emulator: u32 = emulator.parse().unwrap();
    // While it lives it is left alone.
    assert!(lab::clean().unwrap().iter().all(|remains| remains.id != id));
    assert!(!with_mark(id).is_empty());
    kill(victim.id());
    victim.wait().unwrap();
    wait_until("the emulator goes with its parent", || !is_running(emulator));
    // What the command has put into the background lives on, until somebody cleans.
    let background = with_mark(id);
    assert_eq!(background.len(), 1);
    let remains = lab::clean().unwrap();
    let remains = remains.iter().find(|remains| remains.id == id).expect("the dead lab is found");
    assert_eq!((remains.ended.as_slice(), remains.title.as_str()), (background.as_slice(), "two paths"));
    wait_until("the background process ends", || with_mark(id).is_empty());
    assert!(!fs::exists(ledger(id)).unwrap());
    assert!(lab::clean().unwrap().is_empty());
}

/// Not a test of its own: a process with a lab, to be killed.
#[test]
#[ignore = "started by another test"]
fn victim() {
    if std::env::var_os(VICTIM).is_none() {
        return;
    }
    let mut lab = lab(TWO_PATHS, |_| {});
    // setsid: as a daemon, it does not hear of its parent's end.
    let mut child = lab.launch(shell("setsid sleep 600 > /dev/null 2>&1 &")).unwrap();
    child.wait().unwrap();
    wait_until("the background process starts", || !with_mark(lab.id()).is_empty());
    println!("victim {} {}", lab.emulator_pid(), lab.id());
    std::thread::sleep(Duration::from_secs(60));
}

fn shell(script: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", script]);
    command
}

fn kill(pid: u32) {
    kill_process(Pid::from_raw(pid as i32).unwrap(), Signal::KILL).unwrap();
}

fn end(mut child: std::process::Child) {
    // It was killed with the lab.
    assert!(!child.wait().unwrap().success());
}

/// A zombie that nobody has waited for yet does not run.
fn is_running(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with('Z'))
}

/// Processes that carry the lab's id.
fn with_mark(id: &str) -> Vec<u32> {
    let mark = format!("{}={id}", Lab::VARIABLE);
    let pids =
        fs::read_dir("/proc").unwrap().flatten().filter_map(|file| file.file_name().to_str()?.parse().ok());
    let carries = |pid: &u32| {
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environment.split(|&byte| byte == 0).any(|entry| entry == mark.as_bytes())
    };
    pids.filter(carries).collect()
}

fn ledger(id: &str) -> String {
    format!("/run/joulepath/labs/{id}.json")
}

fn wait_until(what: &str, mut done: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !done() {
        assert!(Instant::now() < deadline, "in vain: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}
