//! Nothing is left when a process of a lab dies.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use joulepath_kernel::Namespace;
use joulepath_kernel::mptcp::diag;
use joulepath_kernel::mptcp::socket::Protocol;
use joulepath_lab::hosts::{Clean, clean};
use joulepath_testbed::in_role;
use joulepath_testbed::observe::{processes, wait_until};
use rustix::process::{Pid, Signal, kill_process};

use super::net::{TWO_PATHS, WORKER, connect, download, lab};

/// Role in which this program has a lab until it is killed.
pub(crate) const VICTIM: &str = "victim";
/// Role in which this program has a lab for a moment.
pub(crate) const PASSER_BY: &str = "passer-by";

/// Ways to detach from the starting process: a new session, an empty environment, an exited parent,
/// a process namespace below the lab's.
const GET_AWAY: &str = "env -i setsid sleep 7771 > /dev/null 2>&1 &
    (setsid sh -c 'sleep 7772 & sleep 7773' > /dev/null 2>&1 &)
    unshare --pid --fork sleep 7774 > /dev/null 2>&1 &
    sleep 7775 & wait";

/// The processes that [`GET_AWAY`] leaves.
fn sleepers() -> Vec<u32> {
    processes(|line| line.starts_with("sleep 777"))
}

/// Workers in a role. Workers of other copies of the source tree are other programs.
fn workers(role: &str) -> Vec<u32> {
    processes(|line| line.starts_with(&format!("{WORKER} --joulepath-worker {role}")))
}

#[test(needs(LAB, tool("unshare")))]
fn every_process_of_a_command_ends_with_the_lab_and_is_reported() {
    let mut lab = lab(TWO_PATHS, |_| {});
    let mut command = lab.launch(shell(GET_AWAY)).unwrap();
    wait_until("all five sleep", || sleepers().len() == 5);
    kill(command.id());
    command.wait().unwrap();
    assert_eq!(sleepers().len(), 5);
    let id = lab.id().to_owned();
    let remains = lab.end().unwrap();
    // Processes in a process namespace below the lab's are killed with it, but are not listed.
    for number in ["7771", "7772", "7773", "7775"] {
        assert!(
            remains
                .ended
                .iter()
                .any(|process| process.command.ends_with(number)),
            "{remains:?}"
        );
    }
    assert_eq!(
        (remains.holders.len(), remains.connections),
        (0, 0),
        "{remains:?}"
    );
    wait_until("nothing of it runs", || sleepers().is_empty());
    assert!(!is_listed(&id));
}

#[test(needs(LAB, ALONE))]
fn a_lab_without_its_emulator_reports_it_and_leaves_nothing() {
    let mut lab = lab(TWO_PATHS, |_| {});
    let mut command = lab.launch(shell("sleep 7776 & wait")).unwrap();
    kill(lab.emulator_pid());
    let error = lab.snapshot().unwrap_err().to_string();
    assert!(
        error.contains("emulator") && error.contains("signal 9"),
        "{error}"
    );
    assert!(!lab.is_alive());
    let id = lab.id().to_owned();
    drop(lab);
    wait_until("nothing of it runs", || sleepers().is_empty());
    assert!(!is_listed(&id));
    // It was killed with the lab. A late wait for it delays the init's end, but not the lab's.
    assert!(!command.wait().unwrap().success());
    wait_until("the init has ended", || workers("lab-init").is_empty());
}

#[test(needs(LAB))]
fn connections_that_are_still_closing_end_with_the_lab() {
    let mut lab = lab(TWO_PATHS, |_| {});
    lab.announce(1, false).unwrap();
    for protocol in [Protocol::Mptcp, Protocol::Tcp] {
        let mut pair = connect(&lab, 0, protocol);
        download(&mut pair, Duration::from_millis(200));
        // Closed with data in flight that no path carries: FIN-WAIT-1 for minutes.
        lab.set_tunnel(0, false).unwrap();
        lab.set_tunnel(1, false).unwrap();
        drop(pair);
        lab.set_tunnel(0, true).unwrap();
        lab.set_tunnel(1, true).unwrap();
    }
    let held =
        [lab.client(), lab.server()].map(|namespace| Namespace::at(&namespace.path()).unwrap());
    assert!(held.iter().map(connections).sum::<usize>() > 0);
    let remains = lab.end().unwrap();
    assert_eq!(remains.connections, 0);
    assert_eq!(held.iter().map(connections).sum::<usize>(), 0);
}

#[test(needs(LAB, ALONE, tool("unshare")))]
fn a_lab_with_a_killed_owner_leaves_nothing() {
    let mut victim = Victim::start();
    let held = Namespace::of_pid(victim.command).unwrap();
    assert!(connections(&held) > 0);
    victim.kill();
    wait_until("nothing of it runs", || {
        sleepers().is_empty() && workers("").is_empty()
    });
    wait_until("its entry is removed", || !is_listed(&victim.id));
    wait_until("its connections are reset", || connections(&held) == 0);
    let Clean { running, removed } = clean().unwrap();
    assert!(
        running.iter().all(|lab| lab.id != victim.id) && removed.is_empty(),
        "{removed:?}"
    );
}

#[test(needs(LAB, ALONE, tool("unshare")))]
fn the_next_start_removes_the_entry_of_a_killed_init() {
    let mut victim = Victim::start();
    // A running lab is left alone.
    assert!(
        clean()
            .unwrap()
            .running
            .iter()
            .any(|lab| lab.id == victim.id && lab.title == "two paths")
    );
    assert_eq!(sleepers().len(), 5);
    let held = Namespace::of_pid(victim.command).unwrap();
    // A foreign process is in the lab's network.
    let mut watcher = held
        .enter_thread(|| Command::new("sleep").arg("8881").spawn())
        .unwrap()
        .unwrap();
    // The owner is stopped, so that it does not see its init's end first.
    kill_process(Pid::from_child(&victim.process), Signal::STOP).unwrap();
    workers("lab-init").into_iter().for_each(kill);
    victim.kill();
    wait_until("nothing of it runs", || {
        sleepers().is_empty() && workers("").is_empty()
    });
    assert!(is_listed(&victim.id));
    let found = clean().unwrap();
    let removed = found
        .removed
        .iter()
        .find(|lab| lab.id == victim.id)
        .expect("the dead lab is found");
    // The watcher is not the lab's, so it is reported and left alone.
    let holders: Vec<&str> = removed
        .holders
        .iter()
        .map(|process| process.command.as_str())
        .collect();
    assert_eq!(
        (removed.title.as_str(), holders.as_slice()),
        ("two paths", &["sleep 8881"][..])
    );
    assert!(!is_listed(&victim.id) && watcher.try_wait().unwrap().is_none());
    watcher.kill().unwrap();
    watcher.wait().unwrap();
    assert!(clean().unwrap().removed.is_empty());
}

#[test(needs(LAB, ALONE, tool("unshare")))]
fn a_lab_in_another_process_namespace_is_left_alone() {
    // As in a container that shares /run, in which its processes have other ids.
    let mut container = Command::new("unshare");
    container.args(["--pid", "--fork", "--mount-proc", "--kill-child"]);
    let mut victim = Victim::start_in(container);
    let sleeping_before = sleepers();
    let found = clean().unwrap();
    assert!(
        found.running.iter().any(|lab| lab.id == victim.id),
        "{found:?}"
    );
    // Another lab starts and ends.
    let other = lab(TWO_PATHS, |_| {});
    assert_ne!(other.id(), victim.id);
    drop(other);
    assert_eq!(sleepers(), sleeping_before);
    assert!(is_listed(&victim.id) && victim.process.try_wait().unwrap().is_none());
    victim.kill();
    wait_until("nothing of it runs", || {
        sleepers().is_empty() && workers("").is_empty()
    });
    // The container's end has killed the init, so the entry is left for the next lab to remove.
    wait_until("its entry is unlocked", || {
        clean()
            .unwrap()
            .removed
            .iter()
            .any(|lab| lab.id == victim.id)
    });
    assert!(!is_listed(&victim.id));
}

/// A description, and a condition.
type Step = (&'static str, fn() -> bool);

/// What is visible of a lab from outside, in order of appearance.
const STEPS: [Step; 5] = [
    ("its init is there", || !workers("lab-init").is_empty()),
    ("its entry is there", || {
        !clean().unwrap().running.is_empty()
    }),
    ("its emulator is there", || !workers("emulator").is_empty()),
    ("its command is there", || !sleepers().is_empty()),
    ("its command has ended", || sleepers().is_empty()),
];

#[test(needs(LAB, ALONE, tool("unshare")))]
fn the_next_start_removes_all_of_a_lab_killed_at_any_step() {
    let mounts = mounts();
    for until in 1..=STEPS.len() {
        let mut passer_by = passer_by();
        for (what, is_so) in &STEPS[..until] {
            // No pause: the next step may follow at once.
            let deadline = Instant::now() + Duration::from_secs(60);
            while !is_so() {
                assert!(Instant::now() < deadline, "timeout: {what}");
            }
        }
        kill(passer_by.id());
        passer_by.wait().unwrap();
        nothing_is_left(STEPS[until - 1].0, &mounts);
    }
}

#[test(needs(LAB, ALONE, tool("unshare")))]
fn the_next_start_removes_all_of_a_lab_killed_at_any_time() {
    let mounts = mounts();
    let began = Instant::now();
    assert!(passer_by().wait().unwrap().success());
    let length = began.elapsed();
    nothing_is_left("it ended by itself", &mounts);
    for _ in 0..30 {
        let part = u64::from_ne_bytes(rand::<8>()) as f64 / u64::MAX as f64;
        let mut passer_by = passer_by();
        thread::sleep(length.mul_f64(part));
        // It may have just ended.
        let _ = kill_process(Pid::from_child(&passer_by), Signal::KILL);
        passer_by.wait().unwrap();
        nothing_is_left(
            &format!("killed {part:.3} of {length:?} after its start"),
            &mounts,
        );
    }
}

#[test(needs(LAB, ALONE, tool("unshare"), tool("strace")))]
fn a_lab_leaves_nothing_if_a_process_is_killed_in_a_system_call() {
    let mounts = mounts();
    // System calls that create and enter namespaces, in the owner and its children, and that lock
    // and remove the entry, in the init.
    for call in [
        "unshare",
        "setns",
        "mount",
        "move_mount",
        "flock",
        "unlinkat",
        "bind",
        "accept4",
    ] {
        let mut command = Command::new("strace");
        let injected = format!("inject={call}:signal=KILL:when=1");
        command.args([
            "-f",
            "-qq",
            "-o",
            "/dev/null",
            "-e",
            &format!("trace={call}"),
            "-e",
            &injected,
        ]);
        // strace ends with the last process that it traces.
        within(command, PASSER_BY)
            .stderr(Stdio::null())
            .status()
            .unwrap();
        nothing_is_left(&format!("killed in {call}"), &mounts);
    }
}

fn nothing_is_left(when: &str, mounts_before: &str) {
    wait_until(&format!("nothing runs: {when}"), || {
        sleepers().is_empty() && workers("").is_empty()
    });
    drop(lab(TWO_PATHS, |_| {}));
    let found = clean().unwrap();
    assert!(found.removed.is_empty(), "{when}: {found:?}");
    assert_eq!(mounts(), mounts_before, "{when}");
}

fn mounts() -> String {
    fs::read_to_string("/proc/self/mountinfo").unwrap()
}

fn rand<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    std::io::Read::read_exact(&mut fs::File::open("/dev/urandom").unwrap(), &mut bytes).unwrap();
    bytes
}

fn passer_by() -> Child {
    in_role(PASSER_BY)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// Another process with a lab in which a command runs.
struct Victim {
    process: Child,
    command: u32,
    id: String,
}

impl Victim {
    fn start() -> Self {
        Self::start_in(Command::new("env"))
    }

    fn start_in(container: Command) -> Self {
        let mut starter = within(container, VICTIM);
        // A process group of its own. If a process ends whose parent is in another group, and a
        // member of its group is stopped, the kernel sends SIGHUP to that group unless a shell
        // controls it. Without this, the group would be this test's.
        starter.process_group(0);
        let mut process = starter.stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let told = lines
            .map_while(Result::ok)
            .find_map(|line| line.strip_prefix("victim ").map(str::to_owned));
        let id = told.expect("the victim has a lab");
        wait_until("all five sleep", || sleepers().len() == 5);
        let command =
            processes(|line| line.starts_with("sh -c") && line.contains("sleep 7775 & wait"));
        Victim {
            process,
            command: command[0],
            id,
        }
    }

    fn kill(&mut self) {
        kill(self.process.id());
        self.process.wait().unwrap();
    }
}

/// Runs this program in a role through another program.
fn within(mut starter: Command, role: &str) -> Command {
    let program = in_role(role);
    starter.arg(program.get_program());
    for (name, value) in program.get_envs() {
        match value {
            Some(value) => starter.env(name, value),
            None => starter.env_remove(name),
        };
    }
    starter
}

/// The role of a process with a lab, to be killed.
pub(crate) fn victim() {
    let mut lab = lab(TWO_PATHS, |_| {});
    let mut child = lab.launch(shell(GET_AWAY)).unwrap();
    let mut pair = connect(&lab, 0, Protocol::Mptcp);
    download(&mut pair, Duration::from_millis(200));
    println!("victim {}", lab.id());
    child.wait().unwrap();
}

/// The role of a process that has a lab for a moment, in which a command leaves some processes.
pub(crate) fn passer() {
    let mut lab = lab(TWO_PATHS, |_| {});
    let mut child = lab.launch(shell(GET_AWAY)).unwrap();
    let mut pair = connect(&lab, 0, Protocol::Mptcp);
    download(&mut pair, Duration::from_millis(50));
    child.kill().unwrap();
    child.wait().unwrap();
    lab.end().unwrap();
}

/// Number of connections in this network namespace.
fn connections(namespace: &Namespace) -> usize {
    let listing = namespace.enter_thread(diag::list).unwrap().unwrap();
    listing.connections.len() + listing.plain.len() + listing.orphans.len()
}

fn shell(script: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", script]).stdout(Stdio::null());
    command
}

fn kill(pid: u32) {
    kill_process(Pid::from_raw(pid as i32).unwrap(), Signal::KILL).unwrap();
}

/// True if the ledger lists the lab, dead or alive.
fn is_listed(id: &str) -> bool {
    let Ok(files) = fs::read_dir("/run/joulepath/labs") else {
        return false;
    };
    let end = format!("-{id}.json");
    files
        .flatten()
        .any(|file| file.file_name().to_string_lossy().ends_with(&end))
}
