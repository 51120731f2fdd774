//! `joulepath lab` as its users see it: what a command cost, how it ends, what is left of it.

use std::fs;
use std::io::Write;
use std::net::TcpListener;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Stdio};
use std::thread;

use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use serde_json::Value;
use tempfile::TempDir;

use crate::machine::{Unprivileged, is_running, machine, wait_until, workers_of};
use crate::run::{Said, command, folder, joulepath};

/// What the server of the outside sends to whoever connects, bytes.
const BYTES: usize = 300_000;
/// The file by which a command of the tests says that it runs; in it the lab's id.
const READY: &str = "echo $JOULEPATH_LAB > ready.new; mv ready.new ready";

/// A server of this machine, shared into labs; it goes with the test.
fn server() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for mut connection in listener.incoming().flatten() {
            // Whoever leaves early is not served.
            thread::spawn(move || drop(connection.write_all(&[7; BYTES])));
        }
    });
    port
}

/// A lab in a process group of its own, as a shell starts it, whose command has begun.
struct Running {
    child: Child,
    folder: TempDir,
    /// The lab's id.
    id: String,
}

impl Running {
    fn start(script: &str) -> Self {
        let folder = folder();
        // As from a terminal: a shell cannot trap what whoever started the tests has told them to ignore.
        let script = ["env", "--default-signal=INT", "sh", "-c", script];
        let mut command = command(folder.path(), &[&["lab", "quick", "--json", "--"], &script[..]].concat());
        let command = command.stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
        let child = command.spawn().unwrap();
        let ready = folder.path().join("ready");
        wait_until("the command starts", || ready.exists());
        let id = fs::read_to_string(ready).unwrap().trim().to_owned();
        Running { child, folder, id }
    }

    fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    /// The number that the command has written to a file.
    fn number_in(&self, file: &str) -> u32 {
        fs::read_to_string(self.folder.path().join(file)).unwrap().trim().parse().unwrap()
    }

    fn end(self) -> Said {
        Said::of(self.child.wait_with_output().unwrap())
    }
}

fn ledger(id: &str) -> bool {
    Path::new("/run/joulepath/labs").join(format!("{id}.json")).exists()
}

fn bill(said: &Said) -> Value {
    serde_json::from_str(&said.stdout).unwrap_or_else(|error| panic!("{error}: {said:?}"))
}

#[test]
fn a_command_is_told_what_it_cost_in_joules_and_bytes_by_path() {
    let Some(_machine) = machine() else { return };
    let port = server().to_string();
    let fetch = format!("cat < /dev/tcp/{{server}}/{port} | wc -c");
    let said = joulepath(&["lab", "quick", "--serve", &port, "--", "bash", "-c", &fetch]);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    // stdout is the command's alone.
    assert_eq!(said.stdout.trim(), BYTES.to_string());
    // Warnings come before the bill, and are not wrapped for programs.
    let table = &said.stderr[said.stderr.find("WiFi + LTE").expect("the bill's title")..];
    assert!(table.starts_with("WiFi + LTE, one second · lab · MPTCP"), "{table}");
    for (way, columns) in [("wifi  down", "energy"), ("lte   down", "delivered")] {
        assert!(table.contains(way) && table.contains(columns), "{table}");
    }
    assert!(table.contains("modelled, tails included") && table.contains("kbit/J"), "{table}");
    assert!(table.lines().all(|line| line.chars().count() <= 80), "{table}");
}

#[test]
fn the_bill_as_json_has_the_commands_exit_code_and_so_has_the_program() {
    let Some(_machine) = machine() else { return };
    let port = server().to_string();
    let fetch = format!("cat < /dev/tcp/$JOULEPATH_SERVER/{port} | wc -c; exit 7");
    let arguments = ["lab", "quick", "--ipv6", "--serve", &port, "--json", "--", "bash", "-c", &fetch];
    let said = joulepath(&arguments);
    assert_eq!(said.code, Some(7), "{}", said.stderr);
    // What the command says is kept from the bill.
    assert!(said.stderr.contains(&BYTES.to_string()), "{}", said.stderr);
    let bill = bill(&said);
    assert_eq!((&bill["exit_code"], &bill["policy"]), (&7.into(), &"mptcp".into()));
    let paths = bill["paths"].as_array().unwrap();
    let payload: u64 = paths.iter().map(|path| path["down"]["delivered_payload"].as_u64().unwrap()).sum();
    assert!(payload >= BYTES as u64, "{bill}");
    let joules = |value: &Value| value.as_f64().unwrap();
    let total_j = joules(&bill["energy"]["total_j"]);
    let of_paths_j: f64 = paths.iter().map(|path| joules(&path["energy_j"])).sum();
    // Neither the host nor what the interfaces share costs anything in this scenario.
    assert!(total_j > 0.0 && (of_paths_j / total_j - 1.0).abs() < 1e-9, "{bill}");
}

#[test]
fn ctrl_c_is_the_commands_business() {
    let Some(_machine) = machine() else { return };
    let lab = Running::start(&format!("trap 'exit 9' INT; {READY}; while :; do sleep 0.1; done"));
    let (id, workers) = (lab.id.clone(), workers_of(lab.child.id(), 1));
    // As a terminal does: to the whole group.
    kill_process_group(lab.pid(), Signal::INT).unwrap();
    let said = lab.end();
    assert_eq!(said.code, Some(9), "{}", said.stderr);
    assert_eq!(bill(&said)["exit_code"], 9);
    assert!(workers.iter().all(|&pid| !is_running(pid)) && !ledger(&id));
}

#[test]
fn sigterm_ends_the_command_and_what_it_put_into_the_background() {
    let Some(_machine) = machine() else { return };
    let lab = Running::start(&format!("setsid sleep 600 & echo $! > background; {READY}; exec sleep 600"));
    let (id, workers) = (lab.id.clone(), workers_of(lab.child.id(), 1));
    let background = lab.number_in("background");
    assert!(ledger(&id) && is_running(background));
    kill_process(lab.pid(), Signal::TERM).unwrap();
    // Nobody holds its output any more, or this would wait for ten minutes.
    let said = lab.end();
    assert_eq!(said.code, Some(128 + 15), "{}", said.stderr);
    assert_eq!(bill(&said)["exit_code"], Value::Null);
    assert!(workers.iter().all(|&pid| !is_running(pid)) && !ledger(&id));
    wait_until("the background ends with the lab", || !is_running(background));
}

#[test]
fn what_a_killed_lab_leaves_is_cleaned() {
    let Some(_machine) = machine() else { return };
    let lab = Running::start(&format!("setsid sleep 600 & echo $! > background; {READY}; exec sleep 600"));
    let (id, background) = (lab.id.clone(), lab.number_in("background"));
    let cleaned = || joulepath(&["lab", "clean", "--json"]).json();
    let holds = |remains: &Value| remains.as_array().unwrap().iter().any(|lab| lab["id"] == id.as_str());
    // While it runs it is nobody's remains.
    assert!(!holds(&cleaned()) && is_running(background));
    let workers = workers_of(lab.child.id(), 1);
    kill_process(lab.pid(), Signal::KILL).unwrap();
    // Not its output: the background still has that.
    let mut killed = lab.child;
    killed.wait().unwrap();
    wait_until("the workers end with it", || workers.iter().all(|&pid| !is_running(pid)));
    assert!(is_running(background) && ledger(&id));
    assert!(holds(&cleaned()));
    wait_until("the background is ended", || !is_running(background));
    assert!(!ledger(&id) && !holds(&cleaned()));
    assert!(joulepath(&["lab", "clean"]).ok().ends_with('\n'));
}

#[test]
fn two_labs_at_once_do_not_meet() {
    let Some(_machine) = machine() else { return };
    let idle = Running::start(&format!("{READY}; exec sleep 600"));
    let port = server().to_string();
    let fetch = format!("cat < /dev/tcp/{{server}}/{port} | wc -c");
    let busy = joulepath(&["lab", "quick", "--serve", &port, "--json", "--", "bash", "-c", &fetch]);
    kill_process(idle.pid(), Signal::TERM).unwrap();
    let delivered = |said: &Said| -> u64 {
        let bill = bill(said);
        let flows = bill["paths"].as_array().unwrap().iter().flat_map(|path| [&path["down"], &path["up"]]);
        flows.map(|flow| flow["delivered_bytes"].as_u64().unwrap()).sum()
    };
    assert!(delivered(&busy) > BYTES as u64, "{busy:?}");
    assert_eq!(delivered(&idle.end()), 0);
}

#[test]
fn a_lab_without_a_scenario_or_a_command_says_how_it_is_used() {
    for arguments in [&["lab", "quick"][..], &["lab"], &["lab", "quick", "-p", "mptcp,olia", "--", "true"]] {
        let said = joulepath(arguments);
        assert_eq!(said.code, Some(2), "{}", said.stderr);
        assert!(said.stderr.contains("help: ") && said.stderr.contains("joulepath"), "{}", said.stderr);
    }
    let said = joulepath(&["lab", "quikc", "--", "true"]);
    assert_eq!(said.code, Some(2), "{}", said.stderr);
    assert!(said.stderr.contains("quikc") && said.stderr.contains("quick"), "{}", said.stderr);
}

#[test]
fn a_command_that_is_not_there_is_named() {
    let Some(_machine) = machine() else { return };
    let said = joulepath(&["lab", "quick", "--", "no-such-program"]);
    assert!(said.code.is_some_and(|code| code != 0), "{}", said.stderr);
    assert!(said.stderr.contains("no-such-program"), "{}", said.stderr);
}

#[test]
fn a_lab_without_root_has_exit_code_4_and_the_remedy() {
    let Some(nobody) = Unprivileged::new() else { return };
    let said = Said::of(nobody.command(&["lab", "quick", "--", "true"]).output().unwrap());
    assert_eq!(said.code, Some(4), "{}", said.stderr);
    assert!(said.stderr.contains("sudo"), "{}", said.stderr);
}
