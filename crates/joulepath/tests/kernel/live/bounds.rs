//! Quotas and budgets at 100 Mbit/s. The kernel holds them, so they do not depend on when the
//! daemon runs.

use std::cell::Cell;
use std::os::fd::OwnedFd;
use std::time::Instant;

use super::behaviour::Connection;
use super::paths::{Download, MBPS, download};
use super::*;

const RATE: u64 = 100 * MBPS;
const MB: u64 = 1_000_000;
/// 2 % of the quota or 0.5 MB, whichever is larger.
const BEYOND: u64 = MB / 2;
const QUOTA: u64 = 10 * MB;
const BUDGET: u64 = MB;

/// Runs `test` while all connections receive at the rate of the link, or send at it.
fn with_all(downloads: &[Download<'_>], test: &mut dyn FnMut()) {
    match downloads.split_first() {
        Some((first, rest)) => first.beside(RATE, || with_all(rest, test)),
        None => test(),
    }
}

impl Host {
    /// Bytes of both directions that the kernel has counted on the second device.
    fn counted(&self) -> u64 {
        use joulepath_kernel::route::Routing;
        let device = self.net.paths[1].device;
        let all = self
            .net
            .client
            .enter_thread(|| Routing::open()?.counters())
            .unwrap()
            .unwrap();
        let (_, one) = all.iter().find(|(index, _)| *index == device).unwrap();
        one.received_bytes + one.sent_bytes
    }

    /// Waits until the second device carries nothing more.
    fn wait_for_the_end(&self) {
        let last = Cell::new((self.counted(), Instant::now()));
        wait_until("the second path is quiet", || {
            let counted = self.counted();
            if counted > last.get().0 + 3000 {
                last.set((counted, Instant::now()));
            }
            last.get().1.elapsed() > Duration::from_secs(1)
        });
    }

    fn connections(&self, listener: &OwnedFd, count: usize, sends: bool) -> Vec<Connection> {
        let all = (0..count).map(|_| self.connect(listener, 0));
        let turned = |Connection { client, server }| Connection {
            client: server,
            server: client,
        };
        all.map(|one| if sends { turned(one) } else { one })
            .collect()
    }
}

/// The daemon stands still from before the first byte until the kernel has stopped the second path.
/// The first path is slow: on a busy machine a fast one would carry everything.
fn a_quota_holds(count: usize, sends: bool) {
    let (host, listener) = Host::with_server();
    host.throttle(0, "20mbit", "200000");
    host.throttle(1, "100mbit", "500000");
    host.configure(
        "intent = \"aggregate\"",
        "quota = { hard = \"10 MB\", period_day = 1 }",
    );
    let begun = host.counted();
    let daemon = host.start();
    let connections = host.connections(&listener, count, sends);
    wait_until("all have both paths", || host.subflows().len() == 2 * count);
    let all: Vec<Download<'_>> = connections.iter().map(download).collect();
    daemon.signal("STOP");
    with_all(&all, &mut || {
        wait_until("the second carries data", || {
            host.counted() - begun > QUOTA / 2
        });
        host.wait_for_the_end();
        let carried = host.counted() - begun;
        assert!(
            carried <= QUOTA + BEYOND,
            "{carried} bytes of {count} connections"
        );
        daemon.signal("CONT");
        wait_until("the quota is used up", || daemon.role("c1") == "unused");
        wait_until("its subflows are closed", || {
            host.kinds().iter().all(|&(path, _)| path == 0)
        });
        let before: Vec<u64> = all.iter().map(Download::received).collect();
        wait_until("all connections go on", || {
            all.iter()
                .zip(&before)
                .all(|(one, &before)| one.received() > before)
        });
    });
    let carried = host.counted() - begun;
    assert!(
        carried <= QUOTA + BEYOND,
        "{carried} bytes of {count} connections"
    );
    assert_eq!(daemon.stop(), Some(0));
}

#[test(needs(NET, ALONE, tool("tc")))]
fn the_kernel_holds_a_hard_quota_while_the_daemon_stands_still() {
    for (count, sends) in [(1, false), (12, false), (1, true), (12, true)] {
        a_quota_holds(count, sends);
    }
}

fn a_budget_holds(count: usize, sends: bool) {
    let (host, listener) = Host::with_server();
    host.throttle(0, "20mbit", "200000");
    host.throttle(1, "100mbit", "500000");
    host.configure("intent = \"handover\"\nhandover_budget = \"1 MB\"", "");
    let daemon = host.start();
    let connections = host.connections(&listener, count, sends);
    let all: Vec<Download<'_>> = connections.iter().map(download).collect();
    with_all(&all, &mut || {
        // Some polls must have seen that data arrives.
        wait_until("they flow", || {
            all.iter().map(Download::received).sum::<u64>() > 4 * MB
        });
        let begun = host.counted();
        host.silence();
        let case = format!("{count} connections, sending: {sends}");
        wait_until(&format!("the budget is used up: {case}"), || {
            host.says(|reason| reason["code"] == "budget-used")
        });
        host.wait_for_the_end();
        let carried = host.counted() - begun;
        assert!(
            (BUDGET / 5..=BUDGET + BEYOND).contains(&carried),
            "{carried} bytes: {case}"
        );
    });
    assert_eq!(daemon.stop(), Some(0));
}

#[test(needs(NET, ALONE, tool("tc")))]
fn the_kernel_holds_the_budget_of_handover() {
    for (count, sends) in [(1, false), (12, false), (1, true), (12, true), (100, false)] {
        a_budget_holds(count, sends);
    }
}
