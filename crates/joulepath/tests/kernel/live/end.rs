//! Ways in which the daemon ends. No connection ends with it: data flows in both directions
//! throughout.

use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;

use joulepath_kernel::mptcp::path_manager::{KERNEL, chosen};
use joulepath_testbed::observe::processes;

use super::behaviour::Connection;
use super::faults::FOLDER;
use super::*;

/// Opens a second subflow when a connection is 300 ms old.
const USER_SPACE: &str =
    "\npm = \"userspace\"\nopen_after = { bytes = \"100 MB\", age = \"300 ms\" }";
/// Bytes that must arrive in each direction after each event.
const MORE: u64 = 60_000;

/// Number and checksum (FNV-1a, 64 bits) of the bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Sum(u64, u64);

impl Sum {
    const NONE: Sum = Sum(0, 0xcbf2_9ce4_8422_2325);

    fn with(self, bytes: &[u8]) -> Sum {
        let mixed = |sum: u64, byte: &u8| (sum ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        Sum(
            self.0 + bytes.len() as u64,
            bytes.iter().fold(self.1, mixed),
        )
    }
}

/// Sends data in both directions of some connections until stopped.
struct Traffic {
    ends: Arc<AtomicBool>,
    /// Bytes that have arrived, by direction.
    arrived: Vec<Arc<AtomicU64>>,
    /// Bytes sent, and bytes that have arrived.
    threads: Vec<[JoinHandle<Sum>; 2]>,
}

impl Traffic {
    fn begin(connections: Vec<Connection>) -> Self {
        let mut traffic = Traffic {
            ends: Arc::default(),
            arrived: vec![],
            threads: vec![],
        };
        for Connection { client, server } in connections {
            for stream in [&client, &server] {
                stream.set_read_timeout(Some(PATIENCE)).unwrap();
                stream.set_write_timeout(Some(PATIENCE)).unwrap();
            }
            let again = |stream: &TcpStream| stream.try_clone().unwrap();
            traffic.add(again(&client), again(&server));
            traffic.add(server, client);
        }
        traffic
    }

    /// Sends 1 MB/s from one end to the other.
    fn add(&mut self, mut from: TcpStream, mut to: TcpStream) {
        let (ends, arrived) = (self.ends.clone(), Arc::new(AtomicU64::new(0)));
        self.arrived.push(arrived.clone());
        let sends = move || {
            let mut sum = Sum::NONE;
            while !ends.load(Ordering::Relaxed) {
                let at = sum.0;
                let bytes: Vec<u8> = (at..at + 10_000)
                    .map(|k| (k.wrapping_mul(2_654_435_761) >> 13) as u8)
                    .collect();
                from.write_all(&bytes).unwrap();
                sum = sum.with(&bytes);
                std::thread::sleep(Duration::from_millis(10));
            }
            from.shutdown(Shutdown::Write).unwrap();
            sum
        };
        let receives = move || {
            let (mut sum, mut buffer) = (Sum::NONE, vec![0; 65_536]);
            loop {
                match to.read(&mut buffer).unwrap() {
                    0 => return sum,
                    count => sum = sum.with(&buffer[..count]),
                }
                arrived.store(sum.0, Ordering::Relaxed);
            }
        };
        self.threads
            .push([std::thread::spawn(sends), std::thread::spawn(receives)]);
    }

    /// Waits until further data has arrived in each direction.
    fn goes_on(&self, after: &str) {
        let now: Vec<u64> = self
            .arrived
            .iter()
            .map(|one| one.load(Ordering::Relaxed))
            .collect();
        let has_come = || {
            self.arrived
                .iter()
                .zip(&now)
                .all(|(one, &at)| one.load(Ordering::Relaxed) > at + MORE)
        };
        wait_until(
            &format!("data comes on every connection, both ways, {after}"),
            has_come,
        );
    }

    /// Stops, and compares the bytes sent with those that have arrived.
    fn end(self) {
        self.ends.store(true, Ordering::Relaxed);
        for [sent, arrived] in self.threads {
            assert_eq!(sent.join().unwrap(), arrived.join().unwrap());
        }
    }
}

/// Endpoints, limits and default controller before the daemon.
type Found = (Vec<Endpoint>, Limits, String);

impl Host {
    fn table(&self) -> Found {
        let mut manager = self.manager();
        let chosen = self.net.client.enter_thread(chosen).unwrap().unwrap();
        (
            manager.endpoints().unwrap(),
            manager.limits().unwrap(),
            chosen,
        )
    }

    /// True if connections that begin now keep no endpoint, by the journal.
    fn lists_no_more(&self) -> bool {
        let name = self
            .files()
            .into_iter()
            .find(|name| name.parse::<u64>().is_ok());
        let text = name.and_then(|name| fs::read_to_string(Path::new(FOLDER).join(name)).ok());
        let journal: Option<Value> = text.and_then(|text| serde_json::from_str(&text).ok());
        journal.is_some_and(|journal| journal["value"]["kept"]["complete"] == true)
    }

    /// Connections that began before the daemon and while it runs, on both paths, with a subflow on
    /// the other path; and one that uses only the second path.
    fn traffic(&self, listener: &OwnedFd, start: impl FnOnce()) -> Traffic {
        let mut connections = vec![self.connect(listener, 0)];
        start();
        let both = [(self.ip(0), false), (self.ip(1), false)];
        self.wait_for("endpoints appear", &both);
        connections.push(self.connect(listener, 0));
        connections.push(self.connect(listener, 1));
        wait_until("each has a second subflow", || self.kinds().len() == 6);
        let alone = self
            .subflows()
            .into_iter()
            .filter(|(path, ..)| *path == 0)
            .map(|(_, port, _)| port)
            .max();
        let traffic = Traffic::begin(connections);
        traffic.goes_on("before anything happens");
        // One of them loses path 0 for good: it is not reopened while another subflow works.
        self.reset(0, alone.unwrap());
        traffic
    }
}

/// A way to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Term,
    KillAndUndo,
    Pause,
    Off,
    Upgrade,
    Restart,
}

/// Data flows while the daemon ends in this way; then the connections end, and everything is
/// restored.
fn survives(host: &Host, listener: &OwnedFd, pm: &str, way: Way) {
    host.configure(&format!("intent = \"aggregate\"{pm}"), "");
    let found = host.table();
    let mut daemon = None;
    let keep: &[&str] = if way == Way::Upgrade {
        &["--keep"]
    } else {
        &[]
    };
    let traffic = host.traffic(listener, || daemon = Some(host.start_with(keep)));
    let daemon = daemon.unwrap();
    let still = match way {
        Way::Term => {
            assert_eq!(daemon.stop(), Some(0));
            None
        }
        Way::KillAndUndo => {
            daemon.kill();
            traffic.goes_on("after SIGKILL");
            let undone = host.run(&["live", "--undo"]);
            let is_whole = host.table().0 == found.0;
            assert_eq!(
                undone.code,
                Some(if is_whole { 0 } else { 5 }),
                "{}",
                undone.stderr
            );
            assert_eq!(
                undone.stderr.contains("no other working path"),
                !is_whole,
                "{}",
                undone.stderr
            );
            None
        }
        Way::Pause => {
            host.tell(&["pause"]);
            Some(daemon)
        }
        Way::Off => {
            host.tell(&["set-intent", "off"]);
            Some(daemon)
        }
        Way::Upgrade | Way::Restart => {
            let before = host.manager().endpoints().unwrap();
            assert_eq!(daemon.stop(), Some(0));
            if way == Way::Upgrade {
                assert_eq!(host.manager().endpoints().unwrap(), before);
            }
            traffic.goes_on("between two daemons");
            let daemon = host.start_with(keep);
            host.wait_for(
                "endpoints are there again",
                &[(host.ip(0), false), (host.ip(1), false)],
            );
            Some(daemon)
        }
    };
    traffic.goes_on(&format!("after {way:?}"));
    if still.is_none() || matches!(way, Way::Pause | Way::Off) {
        wait_until("new connections need no endpoint", || {
            host.table() == found || host.lists_no_more()
        });
    }
    // A connection that begins now neither keeps an endpoint nor ends with it.
    let late = Traffic::begin(vec![host.connect(listener, 0)]);
    late.goes_on("at its beginning");
    if way == Way::Upgrade {
        assert_eq!(still.unwrap().stop(), Some(0));
        traffic.goes_on("after the end of the second daemon");
        let undone = host.run(&["live", "--undo"]);
        assert!(matches!(undone.code, Some(0 | 5)), "{}", undone.stderr);
        traffic.end();
        late.end();
    } else if way == Way::Restart {
        assert_eq!(still.unwrap().stop(), Some(0));
        traffic.goes_on("after the end of the second daemon");
        traffic.end();
        late.end();
    } else {
        traffic.end();
        late.goes_on("after the others have ended");
        wait_until("everything is restored", || host.table() == found);
        late.goes_on("after that");
        late.end();
        if let Some(daemon) = still {
            assert_eq!(daemon.stop(), Some(0));
        }
    }
    wait_until("everything is restored at the end", || {
        host.table() == found
    });
    wait_until("no file is left", || host.files() == [""; 0]);
}

fn each_survives(ways: &[Way], pm: &str) {
    for &way in ways {
        let (host, listener) = Host::with_server();
        host.manager().set_limits(FOUND).unwrap();
        survives(&host, &listener, pm, way);
    }
}

#[test(needs(NET, tool("ss")))]
fn no_connection_ends_with_the_daemon_or_with_an_undo() {
    each_survives(&[Way::Term, Way::KillAndUndo], "");
}

#[test(needs(NET, tool("ss")))]
fn no_connection_ends_with_a_pause_or_with_off() {
    each_survives(&[Way::Pause, Way::Off], "");
}

#[test(needs(NET, tool("ss")))]
fn no_connection_ends_with_an_upgrade_or_a_restart() {
    each_survives(&[Way::Upgrade, Way::Restart], "");
}

#[test(needs(NET, tool("ss")))]
fn no_connection_of_the_user_space_path_manager_ends_with_the_daemon() {
    each_survives(
        &[Way::Term, Way::KillAndUndo, Way::Pause, Way::Upgrade],
        USER_SPACE,
    );
}

#[test(needs(NET, IPV6, tool("ss")))]
fn no_connection_over_ipv6_ends_with_the_daemon() {
    let (host, listener) = Host::with_server_at(Net::v6(2));
    survives(&host, &listener, "", Way::Term);
    assert_eq!(host.table().2, KERNEL);
}

#[test(needs(NET))]
fn no_connection_ends_when_its_interface_is_set_to_off() {
    for pm in ["", USER_SPACE] {
        let (host, listener) = Host::with_server();
        host.configure(&format!("intent = \"handover\"{pm}"), "");
        let found = host.table();
        let daemon = host.start();
        host.wait_for("the first has an endpoint", &[(host.ip(0), false)]);
        let traffic = Traffic::begin(vec![host.connect(&listener, 0), host.connect(&listener, 0)]);
        traffic.goes_on("before");
        host.tell(&["set-intent", "off", "--interface", "c0"]);
        host.wait_for("the second has it", &[(host.ip(1), false)]);
        wait_until("connections are on it", || {
            host.kinds() == [(1, false), (1, false)]
        });
        traffic.goes_on("over the second");
        assert_eq!(daemon.stop(), Some(0));
        traffic.goes_on("after the end");
        traffic.end();
        wait_until("everything is restored", || host.table() == found);
    }
}

#[test(needs(NET))]
fn a_connection_whose_first_subflow_was_closed_outlives_the_daemon() {
    let (host, listener) = Host::with_server();
    host.prefer(1);
    host.configure("intent = \"frugal\"", "");
    let found = host.table();
    let daemon = host.start();
    host.wait_for("the cheap one has an endpoint", &[(host.ip(0), false)]);
    let connection = host.connect(&listener, 1);
    wait_until("it is on the cheap path only", || {
        host.kinds() == [(0, false)]
    });
    let traffic = Traffic::begin(vec![connection]);
    traffic.goes_on("before the end");
    assert_eq!(daemon.stop(), Some(0));
    traffic.goes_on("after it");
    assert_eq!(host.endpoints(), [(host.ip(0), false)]);
    traffic.end();
    wait_until("everything is restored", || host.table() == found);
}

/// Another process checks the lock of the waiting process when that one starts.
#[test(needs(NET))]
fn a_waiting_process_outlasts_a_check_of_its_lock() {
    let (host, listener) = Host::with_server();
    host.configure("intent = \"aggregate\"", "");
    let found = host.table();
    let daemon = host.start();
    host.wait_for(
        "endpoints appear",
        &[(host.ip(0), false), (host.ip(1), false)],
    );
    let connection = host.connect(&listener, 1);
    wait_until("it is on both paths", || host.kinds().len() == 2);
    let cookie = host
        .files()
        .iter()
        .find_map(|name| name.parse::<u64>().ok());
    let path = Path::new(FOLDER).join(format!("{}-wait.lock", cookie.unwrap()));
    let lock = fs::File::create(&path).unwrap();
    lock.lock().unwrap();
    assert_eq!(daemon.stop(), Some(0));
    let has_it_open = |pid: &u32| {
        let files = fs::read_dir(format!("/proc/{pid}/fd")).into_iter();
        let mut files = files.flatten().flatten();
        files.any(|file| fs::read_link(file.path()).is_ok_and(|open| open == path))
    };
    wait_until("the process waits for the lock", || {
        let all = processes(|words| words.ends_with("live --undo --wait"));
        all.iter().any(has_it_open)
    });
    drop(lock);
    drop(connection);
    wait_until("everything is restored", || host.table() == found);
    wait_until("no file is left", || host.files() == [""; 0]);
}

/// A container, a lab or a judged daemon sees only its own processes.
#[test(needs(NET, tool("unshare")))]
fn a_process_that_does_not_see_all_processes_leaves_the_journals_of_others() {
    let (host, other) = (Host::new(), Host::new());
    host.configure("intent = \"handover\"", "");
    let found = host.table();
    let daemon = host.start_with(&["--keep"]);
    host.wait_for("the first has an endpoint", &[(host.ip(0), false)]);
    assert_eq!(daemon.stop(), Some(0));
    let journal = host.files();
    assert_ne!(journal, [""; 0]);
    let undo = || {
        let mut command = Command::new("unshare");
        command
            .args(["--pid", "--fork", "--mount-proc"])
            .arg(env!("CARGO_BIN_EXE_joulepath"))
            .args(["live", "--undo"]);
        command.output().unwrap()
    };
    let said = Said::of(other.net.client.enter_thread(undo).unwrap());
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    assert_eq!(host.files(), journal);
    host.run(&["live", "--undo"]).ok();
    assert_eq!(host.table(), found);
    assert_eq!(host.files(), [""; 0]);
}
