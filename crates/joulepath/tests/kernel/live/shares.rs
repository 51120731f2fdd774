//! Clients of the control socket: their cost, and that root always gets an answer.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::time::Instant;

use rustix::process::{Pid, Resource, Rlimit, getrlimit, prlimit};

use super::behaviour::processor_time;
use super::*;

/// Python that connects this often, prints `READY`, and then sends endless newlines on the last
/// connection.
const CLIENTS: &str = "
import socket, sys, time
path, count, sends = sys.argv[1], int(sys.argv[2]), sys.argv[3] == 'sends'
all = []
for _ in range(count):
    one = socket.socket(socket.AF_UNIX)
    one.connect(path)
    all.append(one)
print('READY', flush=True)
while sends:
    try:
        all[-1].sendall(b'\\n' * 65536)
    except OSError:
        all[-1] = socket.socket(socket.AF_UNIX)
        all[-1].connect(path)
time.sleep(600)
";

/// Clients of another user; they end with the test.
struct Clients(Child);

impl Clients {
    fn start(host: &Host, uid: u32, count: usize, what: &str) -> Self {
        let mut command = Command::new("python3");
        command.args([
            "-c",
            CLIENTS,
            host.socket().to_str().unwrap(),
            &count.to_string(),
            what,
        ]);
        let mut child = command.uid(uid).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = [0; 6];
        child
            .stdout
            .as_mut()
            .unwrap()
            .read_exact(&mut line)
            .unwrap();
        Clients(child)
    }
}

impl Drop for Clients {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test(needs(NET, tool("python3")))]
fn root_gets_an_answer_despite_idle_clients() {
    let host = Host::new();
    host.configure("intent = \"interactive\"", "");
    let daemon = host.start();
    let _others: Vec<Clients> = (60_001..60_006)
        .map(|uid| Clients::start(&host, uid, 32, "waits"))
        .collect();
    assert!(host.status().is_some());
    let _own = Clients::start(&host, 0, 32, "waits");
    // Root's idle clients are closed after a second, and root asks again.
    assert!(host.status().is_some());
    assert_eq!(daemon.stop(), Some(0));
}

#[test(needs(NET, QUIET_CLOCK, tool("python3")))]
fn clients_that_send_endlessly_cost_little_and_root_gets_its_answer() {
    /// Two users may use 2 % each, and 100 ms more at first: 7 % of this window. Unbounded, it is
    /// 60 %. These are parts of the time, so other work lowers them: it hides a fault, and a quiet
    /// clock shows it.
    const MOST: f64 = 0.2;
    const WINDOW: Duration = Duration::from_secs(8);
    let host = Host::new();
    host.configure("intent = \"interactive\"", "");
    let daemon = host.start();
    let pid = daemon.child.id();
    let share = || {
        let (begun, before) = (Instant::now(), processor_time(pid));
        std::thread::sleep(WINDOW);
        (processor_time(pid) - before).as_secs_f64() / begun.elapsed().as_secs_f64()
    };
    let idle = share();
    let _senders = [60_001, 60_002].map(|uid| Clients::start(&host, uid, 1, "sends"));
    let busy = share();
    eprintln!(
        "{:.1} % of a processor, and {:.1} % without them",
        100.0 * busy,
        100.0 * idle
    );
    assert!(busy < idle + MOST, "{busy} and {idle}");
    assert!(host.status().is_some());
    assert_eq!(daemon.stop(), Some(0));
}

#[test(needs(NET))]
fn a_daemon_without_descriptors_says_that_it_is_busy_and_does_not_spin() {
    let host = Host::new();
    host.configure("intent = \"interactive\"", "");
    let daemon = host.start();
    let pid = daemon.child.id();
    // The minimum of many readings: a poll opens files for a while.
    let count = |_| {
        std::thread::sleep(Duration::from_millis(20));
        fs::read_dir(format!("/proc/{pid}/fd")).unwrap().count() as u64
    };
    let open = (0..30).map(count).min().unwrap();
    let limit = |current| Rlimit {
        current: Some(current),
        ..getrlimit(Resource::Nofile)
    };
    let process = Pid::from_child(&daemon.child);
    let before = prlimit(Some(process), Resource::Nofile, limit(open)).unwrap();
    let (begun, used) = (Instant::now(), processor_time(pid));
    let clients: Vec<UnixStream> = (0..8)
        .map(|_| UnixStream::connect(host.socket()).unwrap())
        .collect();
    let answer = |mut stream: &UnixStream| {
        // The daemon may have closed a refused client already.
        let _ = stream.write_all(b"{\"method\":\"status\"}\n");
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut line = String::new();
        BufReader::new(stream).read_line(&mut line).unwrap();
        serde_json::from_str::<Value>(&line).unwrap()
    };
    // Some may be accepted: the limit is approximate, and idle clients are closed.
    let answers: Vec<Value> = clients.iter().map(answer).collect();
    assert!(
        answers.iter().any(|answer| answer["error"] == "busy"),
        "{answers:?}"
    );
    assert!(
        answers
            .iter()
            .all(|answer| answer["error"] == "busy" || answer["error"].is_null())
    );
    let said = host.run(&["status", "--socket", host.socket().to_str().unwrap()]);
    assert!(
        said.code == Some(0) || said.stderr.contains("too many clients"),
        "{}",
        said.stderr
    );
    // A daemon that spins uses all the time; one that polls, a tenth of a second at most for its
    // answers.
    let (used, took) = (processor_time(pid) - used, begun.elapsed());
    assert!(
        used < took.mul_f64(0.3) + Duration::from_millis(100),
        "{used:?} of {took:?}"
    );
    prlimit(Some(process), Resource::Nofile, before).unwrap();
    wait_until("it answers again", || host.status().is_some());
    assert_eq!(daemon.stop(), Some(0));
}

#[test(needs(NET))]
fn an_idle_client_is_closed() {
    let host = Host::new();
    host.configure("intent = \"interactive\"", "");
    let daemon = host.start();
    let mut idle = UnixStream::connect(host.socket()).unwrap();
    idle.write_all(b"\n{\"method\"").unwrap();
    idle.set_read_timeout(Some(Duration::from_secs(90)))
        .unwrap();
    assert_eq!(idle.read(&mut [0]).unwrap(), 0);
    assert_eq!(daemon.stop(), Some(0));
}
