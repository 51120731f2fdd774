//! `joulepath lab` as its users see it: the cost of a command, its end, and what remains.

use std::fs;
use std::io::Write;
use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use joulepath_testbed::observe::{is_running, processes, wait_until};
use rustix::process::{Pid, Signal, ioctl_tiocsctty, kill_process, setsid};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use serde_json::Value;
use tempfile::TempDir;

use crate::machine::{Unprivileged, workers_of};
use crate::run::{Said, command, folder, joulepath};

/// Bytes that the server outside the lab sends to each client.
const BYTES: usize = 300_000;
/// The file that a test's command creates once it runs. It contains the lab's id.
const READY: &str = "echo $JOULEPATH_LAB > ready.new; mv ready.new ready";

/// A server of this machine that labs can reach; it ends with the test.
fn server() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for mut connection in listener.incoming().flatten() {
            // A client that closes early gets less.
            thread::spawn(move || drop(connection.write_all(&[7; BYTES])));
        }
    });
    port
}

/// A lab whose command runs.
struct Running {
    child: Child,
    _folder: TempDir,
    /// The lab's id.
    id: String,
}

impl Running {
    fn start(script: &str) -> Self {
        Self::start_as(script, |_| {})
    }

    fn start_as(script: &str, change: impl FnOnce(&mut Command)) -> Self {
        let folder = folder();
        // As from a terminal: a shell cannot trap signals that were ignored when it started.
        let script = ["env", "--default-signal=INT", "sh", "-c", script];
        let mut command = command(
            folder.path(),
            &[&["lab", "quick", "--json", "--"], &script[..]].concat(),
        );
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        change(&mut command);
        let child = command.spawn().unwrap();
        let ready = folder.path().join("ready");
        wait_until("the command starts", || ready.exists());
        let id = fs::read_to_string(ready).unwrap().trim().to_owned();
        Running {
            child,
            _folder: folder,
            id,
        }
    }

    fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    fn end(self) -> Said {
        Said::of(self.child.wait_with_output().unwrap())
    }
}

/// The output of `lab clean`: running labs, and labs whose remains it has removed.
fn clean() -> Value {
    joulepath(&["lab", "clean", "--json"]).json()
}

fn has(labs: &Value, id: &str) -> bool {
    labs.as_array().unwrap().iter().any(|lab| lab["id"] == id)
}

/// A terminal: bytes written to the first descriptor are typed on the second.
fn terminal() -> [OwnedFd; 2] {
    let keyboard = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&keyboard).unwrap();
    unlockpt(&keyboard).unwrap();
    let name = ptsname(&keyboard, vec![]).unwrap();
    let flags = rustix::fs::OFlags::RDWR | rustix::fs::OFlags::NOCTTY;
    let screen = rustix::fs::open(name.as_c_str(), flags, rustix::fs::Mode::empty()).unwrap();
    [keyboard, screen]
}

fn bill(said: &Said) -> Value {
    serde_json::from_str(&said.stdout).unwrap_or_else(|error| panic!("{error}: {said:?}"))
}

#[test(needs(LAB))]
fn the_bill_of_a_command_has_joules_and_bytes_by_path() {
    let port = server().to_string();
    let fetch = format!("cat < /dev/tcp/{{server}}/{port} | wc -c");
    let said = joulepath(&["lab", "quick", "--serve", &port, "--", "bash", "-c", &fetch]);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    // stdout belongs to the command.
    assert_eq!(said.stdout.trim(), BYTES.to_string());
    // Warnings precede the bill, and are not wrapped in output for programs.
    let table = &said.stderr[said.stderr.find("WiFi + LTE").expect("the bill's title")..];
    assert!(
        table.starts_with("WiFi + LTE, one second · lab · MPTCP"),
        "{table}"
    );
    for (way, columns) in [("wifi  down", "energy"), ("lte   down", "delivered")] {
        assert!(table.contains(way) && table.contains(columns), "{table}");
    }
    assert!(
        table.contains("modelled, tails included") && table.contains("kbit/J"),
        "{table}"
    );
    // Only the warning of a busy machine may be longer.
    let mut lines = table
        .lines()
        .filter(|line| !line.starts_with("warning: the emulator was too late"));
    assert!(lines.all(|line| line.chars().count() <= 80), "{table}");
}

#[test(needs(LAB))]
fn the_bill_as_json_and_the_program_have_the_commands_exit_code() {
    let port = server().to_string();
    let fetch = format!("cat < /dev/tcp/$JOULEPATH_SERVER/{port} | wc -c; exit 7");
    let arguments = [
        "lab", "quick", "--ipv6", "--serve", &port, "--json", "--", "bash", "-c", &fetch,
    ];
    let said = joulepath(&arguments);
    assert_eq!(said.code, Some(7), "{}", said.stderr);
    // The command's output is not in the bill.
    assert!(said.stderr.contains(&BYTES.to_string()), "{}", said.stderr);
    let bill = bill(&said);
    assert_eq!(
        (&bill["exit_code"], &bill["policy"]),
        (&7.into(), &"mptcp".into())
    );
    let paths = bill["paths"].as_array().unwrap();
    let payload: u64 = paths
        .iter()
        .map(|path| path["down"]["delivered_payload"].as_u64().unwrap())
        .sum();
    assert!(payload >= BYTES as u64, "{bill}");
    let joules = |value: &Value| value.as_f64().unwrap();
    let total_j = joules(&bill["energy"]["total_j"]);
    let of_paths_j: f64 = paths.iter().map(|path| joules(&path["energy_j"])).sum();
    // Host and shared base cost nothing in this scenario.
    assert!(
        total_j > 0.0 && (of_paths_j / total_j - 1.0).abs() < 1e-9,
        "{bill}"
    );
}

/// Packets have no air time in a capture, and the lab counts no MPTCP options.
#[test(needs(LAB, RATES, tool("dumpcap")))]
fn the_bill_of_a_labs_capture_is_the_labs_own() {
    let port = server().to_string();
    let folder = folder();
    let script = format!(
        "dumpcap -q -i wifi -i lte -w lab.pcapng & dumpcap=$!
         until [ -s lab.pcapng ]; do sleep 0.1; done
         sleep 0.5 # until it captures on both
         for fetch in 1 2 3 4 5 6 7 8 9 10; do cat < /dev/tcp/$JOULEPATH_SERVER/{port}; done | wc -c
         sleep 0.2 # until the last packets have passed
         kill -INT $dumpcap; wait $dumpcap"
    );
    let lab = [
        "lab",
        "home-wifi-lte",
        "--serve",
        &port,
        "--json",
        "--",
        "bash",
        "-c",
        &script,
    ];
    let said = Said::of(command(folder.path(), &lab).output().unwrap());
    assert!(
        said.stderr.contains(&(10 * BYTES).to_string()),
        "{}",
        said.stderr
    );
    let own = bill(&said);
    let billed = [
        "bill",
        "lab.pcapng",
        "--radio",
        "wifi=wifi6-2021",
        "--radio",
        "lte=lte-2021",
        "--json",
    ];
    let billed = bill(&Said::of(command(folder.path(), &billed).output().unwrap()));
    let joules = |value: &Value| value.as_f64().unwrap();
    let own_j: f64 = own["paths"]
        .as_array()
        .unwrap()
        .iter()
        .map(|path| joules(&path["energy_j"]))
        .sum();
    let billed_j = joules(&billed["energy_j"]) + joules(&billed["idle_j"]);
    assert!(
        (billed_j / own_j - 1.0).abs() < 0.02,
        "{billed_j} J, the lab's own {own_j}: {billed}"
    );
}

#[test(needs(LAB, tool("tshark")))]
fn the_packets_of_a_lab_are_captured_at_both_ends() {
    let port = server().to_string();
    let folder = folder();
    let fetch = format!("cat < /dev/tcp/$JOULEPATH_SERVER/{port} | wc -c");
    let lab = [
        "lab",
        "home-wifi-lte",
        "--json",
        "--packets",
        "packets",
        "--serve",
        &port,
    ];
    let lab = [&lab[..], &["--", "bash", "-c", &fetch]].concat();
    let said = Said::of(command(folder.path(), &lab).output().unwrap());
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let own = bill(&said);
    let frames = |end: &str, filter: &str| {
        let mut tshark = Command::new("tshark");
        tshark
            .args([
                "-r",
                end,
                "-Y",
                filter,
                "-T",
                "fields",
                "-e",
                "frame.comment",
            ])
            .current_dir(folder.path().join("packets"));
        let said = Said::of(tshark.output().unwrap());
        let lines: Vec<String> = said.ok().lines().map(str::to_owned).collect();
        lines
    };
    let count = |way: &str, what: &str| -> u64 {
        let paths = own["paths"].as_array().unwrap().iter();
        paths.map(|path| path[way][what].as_u64().unwrap()).sum()
    };
    for (end, expected) in [
        (
            "client.pcapng",
            count("up", "packets") + count("down", "delivered_packets"),
        ),
        (
            "server.pcapng",
            count("down", "packets") + count("up", "delivered_packets"),
        ),
    ] {
        assert_eq!(frames(end, "ip").len() as u64, expected, "{end}: {own}");
        assert_eq!(frames(end, "_ws.malformed"), Vec::<String>::new());
        assert!(
            frames(end, "tcp.options.mptcp.subtype == 0").len() >= 2,
            "{end}"
        );
    }
    let phases = frames("client.pcapng", "frame.comment").concat();
    for phase in ["in promotion", "active"] {
        assert!(
            phases.contains(&format!("wifi: radio {phase} from")),
            "{phases}"
        );
    }
}

/// Answers each datagram with the same bytes; prints nothing.
const ECHO: &str = "import socket
server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
server.bind(('0.0.0.0', 4433))
while True:
    server.sendto(*server.recvfrom(2000))";
/// Datagrams of a game: 25 of 100 bytes, a pause of 0.6 s, 25 more. Counts the answers.
const GAME: &str = "import os, socket, time
client = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
client.settimeout(5)
client.connect((os.environ['JOULEPATH_SERVER'], 4433))
answers = 0
for turn in range(50):
    client.send(b'x' * 100)
    answers += len(client.recv(2000)) == 100
    time.sleep(0.6 if turn == 24 else 0.01)
print(answers)";

fn service<'a>(bill: &'a Value, name: &str) -> &'a Value {
    let services = bill["services"].as_array().unwrap();
    let found = services.iter().find(|one| one["service"] == name);
    found.unwrap_or_else(|| panic!("{name}: {bill}"))
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value}"))
}

/// The joules of services are those of the interfaces and the base.
fn services_add_up(bill: &Value) {
    let services = bill["services"].as_array().unwrap();
    let parts = ["promotion_j", "transfer_j", "tail_j", "base_j"];
    let of_services: f64 = services.iter().map(|one| number(&one["energy_j"])).sum();
    let of_parts = services
        .iter()
        .flat_map(|one| parts.map(|part| number(&one[part])));
    assert!((of_parts.sum::<f64>() / of_services - 1.0).abs() < 1e-9);
    let energy = &bill["energy"];
    let total_j = number(&energy["total_j"]) - number(&energy["host"]["transfer_j"]);
    assert!(
        of_services > 0.0 && of_services <= total_j * (1.0 + 1e-9),
        "{bill}"
    );
}

#[test(needs(LAB, tool("python3")))]
fn a_server_in_the_lab_answers_datagrams_and_each_service_has_a_bill() {
    let folder = folder();
    fs::write(folder.path().join("echo.py"), ECHO).unwrap();
    fs::write(folder.path().join("game.py"), GAME).unwrap();
    let port = server().to_string();
    let script =
        format!("cat < /dev/tcp/$JOULEPATH_SERVER/{port} | wc -c & python3 game.py && wait");
    let lab = [
        "lab",
        "quick",
        "--json",
        "--serve-run",
        "python3 echo.py",
        "--serve",
        &port,
    ];
    let lab = [&lab[..], &["--", "bash", "-c", &script]].concat();
    let said = Said::of(command(folder.path(), &lab).output().unwrap());
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    for counted in [BYTES.to_string(), "50".into()] {
        assert!(
            said.stderr.lines().any(|line| line.trim() == counted),
            "{}",
            said.stderr
        );
    }
    let bill = bill(&said);
    let game = service(&bill, "udp 4433");
    assert_eq!(game["program"], "python3 echo.py");
    // With the headers of IP and UDP.
    for way in ["down_bytes", "up_bytes"] {
        assert_eq!(game[way], 50 * (100 + 28), "{bill}");
    }
    assert!(
        (0.6..5.0).contains(&number(&game["longest_pause_s"])),
        "{bill}"
    );
    let file = service(&bill, &format!("tcp {port}"));
    assert_eq!(file["program"], Value::Null);
    assert!(number(&file["down_bytes"]) >= BYTES as f64);
    services_add_up(&bill);
    // The lab has ended the server: nothing else is left.
    assert_eq!(
        bill["remains"]["ended"].as_array().map(Vec::len),
        Some(0),
        "{bill}"
    );
}

#[test(needs(LAB, tool("python3")))]
fn a_server_of_this_machine_gets_datagrams() {
    let outside = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let port = outside.local_addr().unwrap().port();
    thread::spawn(move || {
        let mut buffer = [0; 2000];
        while let Ok((length, from)) = outside.recv_from(&mut buffer) {
            let _ = outside.send_to(&buffer[..length], from);
        }
    });
    let shared = format!("{port}/udp");
    let game = GAME.replace("4433", &port.to_string());
    let said = joulepath(&[
        "lab",
        "quick",
        "--ipv6",
        "--serve",
        &shared,
        "--",
        "python3",
        "-c",
        &game.replace("AF_INET", "AF_INET6"),
    ]);
    assert_eq!(
        (said.code, said.stdout.trim()),
        (Some(0), "50"),
        "{}",
        said.stderr
    );
}

/// ngtcp2's client and server.
#[test(needs(LAB, tool("gtlsserver"), tool("gtlsclient"), tool("openssl")))]
fn quic_runs_over_the_radios() {
    const FILE: usize = 300_000;
    let folder = folder();
    let key =
        "openssl req -x509 -newkey rsa:2048 -nodes -keyout key -out certificate -subj /CN=lab";
    let made = Command::new("sh")
        .args(["-c", key])
        .current_dir(folder.path())
        .output()
        .unwrap();
    assert!(made.status.success(), "{made:?}");
    fs::create_dir(folder.path().join("files")).unwrap();
    fs::write(folder.path().join("files/file"), vec![7; FILE]).unwrap();
    fs::create_dir(folder.path().join("got")).unwrap();
    let lab = [
        "lab",
        "quick",
        "--json",
        "--serve-run",
        "exec gtlsserver -q -d files {server} 4433 key certificate",
        "--",
        "sh",
        "-c",
        "gtlsclient -q --exit-on-all-streams-close --download got $JOULEPATH_SERVER 4433 https://lab/file",
    ];
    let said = Said::of(command(folder.path(), &lab).output().unwrap());
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let got = fs::read(folder.path().join("got/file")).unwrap();
    assert!(got == vec![7; FILE], "{} bytes: {}", got.len(), said.stderr);
    let bill = bill(&said);
    let quic = service(&bill, "udp 4433");
    assert!(
        quic["program"]
            .as_str()
            .unwrap()
            .starts_with("exec gtlsserver")
    );
    let down = number(&quic["down_bytes"]);
    assert!((FILE as f64..1.3 * FILE as f64).contains(&down), "{bill}");
    services_add_up(&bill);
}

#[test(needs(LAB))]
fn a_server_that_ends_at_once_is_an_error() {
    let said = joulepath(&["lab", "quick", "--serve-run", "exit 3", "--", "true"]);
    assert_eq!(said.code, Some(1));
    assert!(
        said.stderr
            .contains("the server `exit 3` has opened no port")
            && said.stderr.contains('3'),
        "{}",
        said.stderr
    );
}

#[test(needs(LAB))]
fn ctrl_c_goes_to_the_command() {
    let [keyboard, screen] = terminal();
    let stdin = screen.try_clone().unwrap();
    let script = format!("trap 'exit 9' INT; {READY}; while :; do sleep 0.1; done");
    let lab = Running::start_as(&script, |command| {
        let lead = move || {
            setsid()?;
            Ok(ioctl_tiocsctty(&screen)?)
        };
        command.stdin(Stdio::from(stdin));
        // SAFETY: two system calls.
        unsafe { command.pre_exec(lead) };
    });
    let (id, workers) = (lab.id.clone(), workers_of(lab.child.id(), 2));
    rustix::io::write(&keyboard, b"\x03").unwrap();
    let said = lab.end();
    assert_eq!(said.code, Some(9), "{}", said.stderr);
    assert_eq!(bill(&said)["exit_code"], 9);
    wait_until("the workers end", || {
        workers.iter().all(|&pid| !is_running(pid))
    });
    let found = clean();
    assert!(
        !has(&found["running"], &id) && !has(&found["removed"], &id),
        "{found}"
    );
}

#[test(needs(LAB))]
fn sigterm_ends_the_command_and_its_background_processes() {
    let lab = Running::start(&format!("setsid sleep 7781 & {READY}; exec sleep 7782"));
    let (id, workers) = (lab.id.clone(), workers_of(lab.child.id(), 2));
    assert!(has(&clean()["running"], &id));
    kill_process(lab.pid(), Signal::TERM).unwrap();
    // No process holds the output open; otherwise this would wait for two hours.
    let said = lab.end();
    assert_eq!(said.code, Some(128 + 15), "{}", said.stderr);
    let bill = bill(&said);
    assert_eq!(bill["exit_code"], Value::Null);
    // The message names the processes that ended with it.
    assert_eq!(
        bill["remains"]["ended"][0]["command"], "sleep 7781",
        "{bill}"
    );
    assert!(
        said.stderr.contains("ended with the lab: ") && said.stderr.contains("(sleep 7781)"),
        "{}",
        said.stderr
    );
    wait_until("no process of the lab runs", || {
        processes(|line| line.starts_with("sleep 778")).is_empty()
            && workers.iter().all(|&pid| !is_running(pid))
    });
    assert!(!has(&clean()["running"], &id));
}

/// Time that a lab may take to end after a signal.
const AT_ONCE: Duration = Duration::from_secs(1);

#[test(needs(LAB, QUIET_CLOCK))]
fn a_command_that_ignores_signals_is_killed_within_a_second() {
    for signal in [Signal::TERM, Signal::INT, Signal::HUP] {
        let lab = Running::start(&format!(
            "trap '' TERM INT HUP; {READY}; while :; do sleep 0.1; done"
        ));
        kill_process(lab.pid(), signal).unwrap();
        let since = Instant::now();
        let said = lab.end();
        assert_eq!(said.code, Some(128 + 9), "{signal:?}: {}", said.stderr);
        assert!(
            since.elapsed() < AT_ONCE,
            "{signal:?}: {:?}",
            since.elapsed()
        );
    }
}

#[test(needs(LAB))]
fn a_lab_that_is_killed_leaves_nothing() {
    let script =
        format!("env -i setsid sleep 7791 & (setsid sleep 7792 &); {READY}; exec sleep 7793");
    let lab = Running::start(&script);
    let (id, workers) = (lab.id.clone(), workers_of(lab.child.id(), 2));
    let sleepers = || processes(|line| line.starts_with("sleep 779"));
    wait_until("all three processes sleep", || sleepers().len() == 3);
    // `lab clean` leaves running labs alone.
    let found = clean();
    assert!(
        has(&found["running"], &id) && !has(&found["removed"], &id),
        "{found}"
    );
    assert_eq!(sleepers().len(), 3);
    kill_process(lab.pid(), Signal::KILL).unwrap();
    lab.end();
    // No `lab clean` is needed.
    wait_until("no process of the lab runs", || {
        sleepers().is_empty() && workers.iter().all(|&pid| !is_running(pid))
    });
    let found = clean();
    assert!(
        !has(&found["running"], &id) && !has(&found["removed"], &id),
        "{found}"
    );
    assert!(
        joulepath(&["lab", "clean"])
            .ok()
            .contains("nothing was left behind")
    );
}

#[test(needs(LAB, BPF, tool("unshare")))]
fn labs_of_two_containers_can_have_the_same_process_number() {
    // In its own process namespace each of them is process 1, and all namespaces share the kernel's
    // list of controllers.
    let start = || {
        let folder = folder();
        let script = format!("{READY}; while ! [ -e go ]; do sleep 0.1; done");
        let arguments = ["lab", "quick", "-p", "olia", "--", "sh", "-c", &script];
        let lab = command(folder.path(), &arguments);
        let mut container = Command::new("unshare");
        container
            .args(["--pid", "--fork", "--mount-proc"])
            .arg(lab.get_program())
            .args(lab.get_args());
        container
            .current_dir(folder.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        (container.spawn().unwrap(), folder)
    };
    let labs = [start(), start()];
    for (_, folder) in &labs {
        wait_until("both labs run", || folder.path().join("ready").exists());
    }
    for (child, folder) in labs {
        fs::write(folder.path().join("go"), "").unwrap();
        let said = Said::of(child.wait_with_output().unwrap());
        assert_eq!(said.code, Some(0), "{}", said.stderr);
    }
}

#[test(needs(LAB))]
fn a_command_sees_the_labs_devices_and_its_own_processes() {
    let folder = folder();
    let script = "ls /sys/class/net; echo $$; cat /proc/self/stat; pwd; ls /sys/fs/bpf \
        /sys/fs/cgroup > /dev/null";
    let mounts = || fs::read_to_string("/proc/self/mountinfo").unwrap();
    let before = mounts();
    let said = Said::of(
        command(folder.path(), &["lab", "quick", "--", "sh", "-c", script])
            .output()
            .unwrap(),
    );
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let lines: Vec<&str> = said.stdout.lines().collect();
    let [lo, lte, wifi, own, cat, place] = lines[..] else {
        panic!("{said:?}")
    };
    let mut devices = [lo, lte, wifi];
    devices.sort_unstable();
    assert_eq!(devices, ["lo", "lte", "wifi"]);
    // Process ids in /proc are those of the lab: cat's parent is the shell.
    let parent = cat.rsplit_once(") ").unwrap().1.split(' ').nth(1).unwrap();
    assert_eq!(parent, own);
    assert_eq!(
        fs::canonicalize(place).unwrap(),
        fs::canonicalize(folder.path()).unwrap()
    );
    // Mounts of the lab exist only in the lab.
    assert_eq!(mounts(), before);
}

#[test(needs(LAB))]
fn two_labs_at_once_are_separate() {
    let idle = Running::start(&format!("{READY}; exec sleep 600"));
    let port = server().to_string();
    let fetch = format!("cat < /dev/tcp/{{server}}/{port} | wc -c");
    let busy = joulepath(&[
        "lab", "quick", "--serve", &port, "--json", "--", "bash", "-c", &fetch,
    ]);
    kill_process(idle.pid(), Signal::TERM).unwrap();
    let delivered = |said: &Said| -> u64 {
        let bill = bill(said);
        let flows = bill["paths"]
            .as_array()
            .unwrap()
            .iter()
            .flat_map(|path| [&path["down"], &path["up"]]);
        flows
            .map(|flow| flow["delivered_bytes"].as_u64().unwrap())
            .sum()
    };
    assert!(delivered(&busy) > BYTES as u64, "{busy:?}");
    assert_eq!(delivered(&idle.end()), 0);
}

#[test]
fn a_lab_without_a_scenario_or_a_command_prints_its_usage() {
    for arguments in [
        &["lab", "quick"][..],
        &["lab"],
        &["lab", "quick", "-p", "mptcp,olia", "--", "true"],
    ] {
        let said = joulepath(arguments);
        assert_eq!(said.code, Some(2), "{}", said.stderr);
        assert!(
            said.stderr.contains("help: ") && said.stderr.contains("joulepath"),
            "{}",
            said.stderr
        );
    }
    let said = joulepath(&["lab", "quikc", "--", "true"]);
    assert_eq!(said.code, Some(2), "{}", said.stderr);
    assert!(
        said.stderr.contains("quikc") && said.stderr.contains("quick"),
        "{}",
        said.stderr
    );
}

#[test(needs(LAB))]
fn a_missing_command_is_named() {
    let said = joulepath(&["lab", "quick", "--", "no-such-program"]);
    assert_eq!(said.code, Some(127), "{}", said.stderr);
    assert!(said.stderr.contains("no-such-program"), "{}", said.stderr);
    let folder = folder();
    fs::write(folder.path().join("text"), "no program").unwrap();
    let said = Said::of(
        command(folder.path(), &["lab", "quick", "--", "./text"])
            .output()
            .unwrap(),
    );
    assert_eq!(said.code, Some(126), "{}", said.stderr);
}

/// Where the kernel's default is another one, only the first namespace may have CUBIC as its
/// default.
#[test(needs(LAB))]
fn the_kernels_own_controllers_run_in_a_lab() {
    let server = server().to_string();
    for policy in ["linux", "cubic", "reno"] {
        let name = if policy == "linux" { "cubic" } else { policy };
        let script = format!(
            "curl -s -m 20 -o /dev/null --limit-rate 100k http://$JOULEPATH_SERVER:{server}/ & \
             for i in $(seq 100); do ss -tinH | grep -q -w {name} && exit; sleep 0.1; done; exit 1"
        );
        let said = joulepath(&[
            "lab", "quick", "-p", policy, "--serve", &server, "--", "sh", "-c", &script,
        ]);
        assert_eq!(said.code, Some(0), "{policy}: {}", said.stderr);
    }
}

#[test(needs(ROOT))]
fn a_lab_without_root_has_exit_code_4_and_the_fix() {
    let nobody = Unprivileged::new();
    let said = Said::of(
        nobody
            .command(&["lab", "quick", "--", "true"])
            .output()
            .unwrap(),
    );
    assert_eq!(said.code, Some(4), "{}", said.stderr);
    assert!(said.stderr.contains("sudo"), "{}", said.stderr);
}
