//! What the daemon does with a path that has become slow, and what `handover` spends.

use std::time::Instant;

use super::paths::{MBPS, beside_download, download};
use super::*;

/// Bytes in the queue of a slow path.
const QUEUE: &str = "100000";

impl Host {
    /// Limits a path to this rate in both directions, with queues of `limit` bytes.
    pub(super) fn throttle(&self, path: usize, rate: &str, limit: &str) {
        for (namespace, device) in [
            (&self.net.server, format!("s{path}")),
            (&self.net.client, format!("c{path}")),
        ] {
            let shape = ["tbf", "rate", rate, "burst", "3000", "limit", limit];
            let words = [&["qdisc", "replace", "dev", &device, "root"][..], &shape].concat();
            let run = || Command::new("tc").args(&words).status().unwrap();
            assert!(namespace.enter_thread(run).unwrap().success());
        }
    }

    /// Bytes that an interface has carried since the daemon began.
    fn carried(&self, interface: usize) -> u64 {
        let total = &self.status().unwrap()["interfaces"];
        let name = format!("c{interface}");
        let one = total
            .as_array()
            .unwrap()
            .iter()
            .find(|one| one["name"] == name.as_str())
            .unwrap();
        ["received_bytes", "sent_bytes"]
            .map(|key| one["total"][key].as_u64().unwrap())
            .iter()
            .sum()
    }

    /// Bytes that the kernel has received on an interface, read now; the daemon's count is one
    /// poll old.
    fn received_on(&self, interface: usize) -> u64 {
        let read = || fs::read_to_string("/proc/thread-self/net/dev").unwrap();
        let all = self.net.client.enter_thread(read).unwrap();
        let name = format!("c{interface}:");
        let line = all
            .lines()
            .find_map(|line| line.trim().strip_prefix(&name))
            .unwrap();
        line.split_whitespace().next().unwrap().parse().unwrap()
    }

    /// True if a reason or note in the status matches.
    pub(super) fn says(&self, is: impl Fn(&Value) -> bool) -> bool {
        let status = self.status().unwrap();
        let interfaces = status["interfaces"].as_array().unwrap();
        let said =
            |one: &Value| is(&one["reason"]) || one["notes"].as_array().unwrap().iter().any(&is);
        interfaces.iter().any(said)
    }

    /// The server's packets to the first path are lost, which the client cannot see.
    pub(super) fn silence(&self) {
        let back = format!("{}/32", self.ip(0));
        let cut = || {
            Command::new("ip")
                .args(["route", "del", &back, "dev", "s0"])
                .status()
                .unwrap()
        };
        assert!(self.net.server.enter_thread(cut).unwrap().success());
    }
}

/// A stream of 4 Mbit/s whose path is throttled to 50 kbit/s continues on the other path.
fn leaves_the_throttled_path(intent: &str, manager: &str) {
    let soon = "open_after = { bytes = \"100 kB\", age = \"300 ms\" }";
    let manager = if manager == "userspace" {
        format!("pm = \"userspace\"\n{soon}")
    } else {
        String::new()
    };
    beside_download(
        &format!("intent = \"{intent}\"\nhandover_budget = \"100 MB\"\n{manager}"),
        |host, daemon, download| {
            wait_until("it flows", || download.received() > 2_000_000);
            host.throttle(0, "50kbit", QUEUE);
            let (before, received) = (host.carried(1), download.received());
            wait_until("the second carries the stream", || {
                host.carried(1) > before + 1_000_000
            });
            wait_until("the stream goes on", || {
                download.received() > received + 1_000_000
            });
            if intent != "aggregate" {
                // With this intent the stream may already avoid the slow path.
                wait_until("the trial was worth it", || {
                    host.says(|reason| reason["code"] == "slow" && reason["path"] == "c0")
                });
                assert_eq!(
                    (daemon.role("c0"), daemon.role("c1")),
                    ("backup".into(), "regular".into())
                );
            }
        },
    );
}

/// Tests all these intents at the same time, each on its own host.
fn leave_the_throttled_path(intents: &[&str], manager: &str) {
    std::thread::scope(|scope| {
        for intent in intents {
            scope.spawn(|| leaves_the_throttled_path(intent, manager));
        }
    });
}

#[test(needs(NET, tool("tc")))]
fn every_intent_leaves_a_throttled_path() {
    leave_the_throttled_path(
        &["frugal", "handover", "interactive", "overflow", "aggregate"],
        "kernel",
    );
}

#[test(needs(NET, tool("tc")))]
fn the_user_space_path_manager_leaves_a_throttled_path_under_every_intent() {
    leave_the_throttled_path(
        &["frugal", "handover", "interactive", "overflow", "aggregate"],
        "userspace",
    );
}

#[test(needs(NET, tool("tc")))]
fn a_second_path_that_is_also_slow_is_closed_again() {
    beside_download("intent = \"frugal\"", |host, daemon, download| {
        wait_until("it flows", || download.received() > 2_000_000);
        host.throttle(1, "50kbit", QUEUE);
        host.throttle(0, "50kbit", QUEUE);
        wait_until("the second path is tried", || {
            daemon.role("c1") == "regular"
        });
        wait_until("the second path is closed again", || {
            daemon.role("c0") == "regular" && daemon.role("c1") == "unused"
        });
        let received = download.received();
        wait_until("the slow path still carries data", || {
            download.received() > received + 10_000
        });
    });
}

#[test(needs(NET, tool("tc")))]
fn the_budget_of_handover_bounds_the_bytes_during_a_silence() {
    const BUDGET: u64 = 1_000_000;
    /// Bytes that the second path carries in a second: the daemon polls every 200 ms, later on a
    /// busy machine, and data that the server has sent still arrives.
    const LOOK: u64 = 4 * MBPS / 8;
    /// The daemon leaves the first path for 15 s and then tries it again.
    const TROUBLE: Duration = Duration::from_secs(20);
    beside_download(
        "intent = \"handover\"\nhandover_budget = \"1 MB\"",
        |host, daemon, download| {
            wait_until("it flows", || download.received() > 1_000_000);
            host.throttle(1, "4mbit", QUEUE);
            let before = host.carried(1);
            host.silence();
            wait_until("the budget is used up", || {
                host.says(|reason| reason["code"] == "budget-used")
            });
            wait_until("the second path is closed", || {
                host.kinds().iter().all(|&(path, _)| path == 0)
            });
            let used = host.carried(1) - before;
            assert!((BUDGET / 2..=BUDGET + LOOK).contains(&used), "{used}");
            std::thread::sleep(TROUBLE);
            let used = host.carried(1) - before;
            assert!(used <= BUDGET + LOOK, "{used}");
            assert_eq!(daemon.role("c1"), "unused");
        },
    );
}

#[test(needs(NET, QUIET_CLOCK))]
fn an_address_that_returns_carries_data_within_three_seconds() {
    /// Three seconds, and one poll of the daemon (200 ms), by which this test may notice it late.
    const BACK: Duration = Duration::from_millis(3200);
    /// More than acknowledgements: half a second of the stream.
    const CARRIES: u64 = 4 * MBPS / 8 / 2;
    beside_download("intent = \"interactive\"", |host, daemon, _| {
        let both = [(host.ip(0), false), (host.ip(1), true)];
        for _ in 0..3 {
            wait_until("a backup subflow joins", || {
                host.kinds() == [(0, false), (1, true)]
            });
            host.change_address(0, "del");
            host.wait_for("the second path takes over", &[(host.ip(1), false)]);
            let taken = host.carried(1);
            wait_until("the second carries the stream", || {
                host.carried(1) >= taken + CARRIES
            });
            host.change_address(0, "add");
            let (begun, before) = (Instant::now(), host.received_on(0));
            host.add_route_of(0);
            wait_until("the first carries the stream", || {
                host.received_on(0) >= before + CARRIES
            });
            host.wait_for("both are as before", &both);
            let took = begun.elapsed();
            assert!(took < BACK, "{took:?}: {}", daemon.said.lock().unwrap());
        }
    });
}

#[test(needs(NET))]
fn a_server_that_refuses_subflows_is_named_in_the_status() {
    for manager in ["kernel", "userspace"] {
        let (host, listener) = Host::with_server();
        let none = || {
            PathManager::open()?.set_limits(Limits {
                accepted_addresses: 0,
                extra_subflows: 0,
            })
        };
        host.net.server.enter_thread(none).unwrap().unwrap();
        let soon = "open_after = { bytes = \"100 kB\", age = \"300 ms\" }";
        let manager = if manager == "userspace" {
            format!("pm = \"userspace\"\n{soon}")
        } else {
            String::new()
        };
        host.configure(&format!("intent = \"aggregate\"\n{manager}"), "");
        let daemon = host.start();
        let connection = host.connect(&listener, 0);
        let download = download(&connection);
        download.beside(MBPS, || {
            let refused = |note: &Value| note["code"] == "refused" && note["connections"] == 1;
            wait_until("the status says so", || host.says(refused));
        });
        assert_eq!(daemon.stop(), Some(0));
    }
}
