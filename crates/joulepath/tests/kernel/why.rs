//! `joulepath why` names causes that this machine's kernel shows. Two veth cables act as radios.

mod fixes;

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use joulepath_kernel::mptcp::path_manager::{Endpoint, Limits, PathManager};
use joulepath_kernel::mptcp::socket::{Options, Protocol, accept_within, connect_within, listen};
use joulepath_testbed::net::Net;
use joulepath_testbed::observe::wait_until;
use serde_json::Value;
use tempfile::TempDir;

use crate::run::{Said, command, folder};

const PATIENCE: Duration = Duration::from_secs(20);
const PORT: u16 = 5001;
/// The application writes this much each turn, bytes: 16 Mbit/s.
const CHUNK: usize = 20_000;
const TURN: Duration = Duration::from_millis(10);
/// After so much data all subflows have joined: half a second of it, bytes.
const SETTLED: usize = 50 * CHUNK;

/// A client with two radios, a server, and what each allows.
struct World {
    net: Net,
    folder: TempDir,
    client: Protocol,
    server: Protocol,
    server_limits: Limits,
}

impl World {
    fn new() -> Self {
        let server_limits = Limits {
            accepted_addresses: 0,
            extra_subflows: 2,
        };
        let world = World {
            net: Net::v4(2),
            folder: folder(),
            client: Protocol::Mptcp,
            server: Protocol::Mptcp,
            server_limits,
        };
        world.limit(2);
        world
    }

    fn manager(&self) -> PathManager {
        self.net
            .client
            .enter_thread(PathManager::open)
            .unwrap()
            .unwrap()
    }

    fn limit(&self, extra_subflows: u32) {
        self.manager()
            .set_limits(Limits {
                accepted_addresses: 0,
                extra_subflows,
            })
            .unwrap();
    }

    fn with_endpoint(self) -> Self {
        let second = self.net.paths[1];
        self.manager()
            .add(&Endpoint::subflow(second.ip, second.device))
            .unwrap();
        self
    }

    /// Sends data while the command watches; `cut` cuts the first cable meanwhile.
    fn causes(&self, cut: bool) -> (Option<i32>, Vec<String>) {
        let limits = || PathManager::open()?.set_limits(self.server_limits);
        self.net.server.enter_thread(limits).unwrap().unwrap();
        let (options, to) = (Options::default(), self.net.server_at(PORT));
        let listener = || listen(self.server, to, &options, 4);
        let listener = self.net.server.enter_thread(listener).unwrap().unwrap();
        let connect = || connect_within(self.client, self.net.client_at(0), to, &options, PATIENCE);
        let client = TcpStream::from(self.net.client.enter_thread(connect).unwrap().unwrap());
        let server = TcpStream::from(accept_within(&listener, PATIENCE).unwrap().0);
        for stream in [&client, &server] {
            stream.set_nonblocking(false).unwrap();
        }
        let end = server.try_clone().unwrap();
        let received = Arc::new(AtomicUsize::new(0));
        let (arrives, watched) = (received.clone(), Arc::new(AtomicBool::new(false)));
        let reader = thread::spawn(move || {
            let mut bytes = [0; 65_536];
            while let Ok(read @ 1..) = (&server).read(&mut bytes) {
                arrives.fetch_add(read, Ordering::Relaxed);
            }
        });
        let is_watched = watched.clone();
        let writer = thread::spawn(move || {
            client.set_write_timeout(Some(TURN)).unwrap();
            while !is_watched.load(Ordering::Relaxed) {
                // A full buffer is not an error: the cable may be cut.
                let _ = (&client).write(&[7; CHUNK]);
                thread::sleep(TURN);
            }
        });
        wait_until("data flows", || received.load(Ordering::Relaxed) > SETTLED);
        if cut {
            self.net.set_cable(0, false);
        }
        let run = || {
            command(
                self.folder.path(),
                &["why", "--json", "--all", "--seconds", "4"],
            )
            .output()
            .unwrap()
        };
        let said = Said::of(self.net.client.enter_thread(run).unwrap());
        watched.store(true, Ordering::Relaxed);
        let all: Value = serde_json::from_str(&said.stdout).unwrap();
        let connections = all["connections"].as_array().unwrap();
        assert_eq!(connections.len(), 1, "{all}");
        let findings = connections[0]["findings"].as_array().unwrap();
        let causes = findings
            .iter()
            .map(|one| one["cause"].as_str().unwrap().to_owned())
            .collect();
        if cut {
            self.net.set_cable(0, true);
        }
        writer.join().unwrap();
        drop(listener);
        // A cut path brings no end of the data.
        end.shutdown(Shutdown::Both).unwrap();
        reader.join().unwrap();
        (said.code, causes)
    }
}

#[track_caller]
fn names(world: &World, cause: &str) {
    let (code, causes) = world.causes(false);
    assert_eq!(
        (code, causes.first().map(String::as_str)),
        (Some(10), Some(cause)),
        "{causes:?}"
    );
}

#[test(needs(NET))]
fn a_connection_on_both_radios_is_healthy() {
    let (code, causes) = World::new().with_endpoint().causes(false);
    assert_eq!((code, causes), (Some(0), vec!["application".to_owned()]));
}

#[test(needs(NET))]
fn programs_and_servers_without_mptcp_are_told_apart() {
    names(
        &World {
            client: Protocol::Tcp,
            ..World::new()
        },
        "plain-tcp",
    );
    names(
        &World {
            server: Protocol::Tcp,
            ..World::new()
        },
        "fallback",
    );
}

#[test(needs(NET))]
fn missing_subflows_have_their_reason() {
    names(&World::new(), "no-endpoint");
    let world = World::new().with_endpoint();
    world.limit(0);
    names(&world, "limits");
    let none = Limits {
        accepted_addresses: 0,
        extra_subflows: 0,
    };
    names(
        &World {
            server_limits: none,
            ..World::new().with_endpoint()
        },
        "peer-refuses",
    );
}

#[test(needs(NET))]
fn a_cut_cable_is_a_dead_path() {
    let (code, causes) = World::new().causes(true);
    assert_eq!(
        (code, causes.first().map(String::as_str)),
        (Some(10), Some("dead-path")),
        "{causes:?}"
    );
}
