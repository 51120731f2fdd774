//! `joulepath live` and `joulepath status` as their users see them. Two veth cables act as radios.

mod adoption;
mod behaviour;
mod bounds;
mod controllers;
mod datagrams;
mod end;
mod families;
mod faults;
mod first;
mod judge;
mod meter;
mod paths;
mod quota;
mod record;
mod shares;
mod silent;
mod slow;
mod socket;
mod surroundings;
mod switch;
mod tunnel;
mod uninterrupted;
mod user_space;

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::{IpAddr, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use joulepath_kernel::mptcp::diag;
use joulepath_kernel::mptcp::path_manager::{Endpoint, Limits, PathManager};
use joulepath_kernel::mptcp::socket::{Options, Protocol, accept_within, connect_within, listen};
use joulepath_testbed::net::Net;
use joulepath_testbed::observe::wait_until;
use serde_json::Value;
use tempfile::TempDir;

use crate::machine::Unprivileged;
use crate::run::{Said, command, folder};

const PATIENCE: Duration = Duration::from_secs(20);
const PORT: u16 = 5001;

/// A client host with two radios, and a folder for its files.
struct Host {
    net: Net,
    folder: TempDir,
}

impl Host {
    fn new() -> Self {
        Host::of(Net::v4(2))
    }

    fn of(net: Net) -> Self {
        let host = Host {
            net,
            folder: folder(),
        };
        fs::set_permissions(
            host.folder.path(),
            std::os::unix::fs::PermissionsExt::from_mode(0o755),
        )
        .unwrap();
        host
    }

    fn socket(&self) -> PathBuf {
        self.folder.path().join("live.sock")
    }

    /// Writes the configuration: an intent, and further keys of the second radio.
    fn configure(&self, machine: &str, second: &str) {
        let (socket, state) = (self.socket(), self.folder.path().join("state"));
        let text = format!(
            "{machine}\nsample = \"200 ms\"\nstate = \"{}\"\n[control]\nsocket = \"{}\"\n\
             [[interface]]\nname = \"c0\"\ncost = 1\nenergy = \"wifi-huang2012\"\n\
             [[interface]]\nname = \"c1\"\ncost = 2\nenergy = \"lte-huang2012\"\n{second}\n",
            state.display(),
            socket.display()
        );
        fs::write(self.folder.path().join("live.toml"), text).unwrap();
    }

    /// Runs the binary on this host.
    fn run(&self, arguments: &[&str]) -> Said {
        let run = || command(self.folder.path(), arguments).output().unwrap();
        Said::of(self.net.client.enter_thread(run).unwrap())
    }

    fn status(&self) -> Option<Value> {
        let said = self.run(&[
            "status",
            "--json",
            "--socket",
            self.socket().to_str().unwrap(),
        ]);
        (said.code == Some(0)).then(|| serde_json::from_str(&said.stdout).unwrap())
    }

    fn tell(&self, words: &[&str]) {
        let socket = self.socket();
        self.run(&[&["live"], words, &["--socket", socket.to_str().unwrap()]].concat())
            .ok();
    }

    /// Starts the daemon and waits for its first poll.
    fn start(&self) -> Daemon<'_> {
        self.start_with(&[])
    }

    fn start_with(&self, options: &[&str]) -> Daemon<'_> {
        let start = || {
            let arguments = [&["live", "--config", "live.toml"], options].concat();
            command(self.folder.path(), &arguments)
                .stderr(Stdio::piped())
                .spawn()
                .unwrap()
        };
        let mut child = self.net.client.enter_thread(start).unwrap();
        let said = Arc::new(Mutex::new(String::new()));
        let (lines, stderr) = (said.clone(), child.stderr.take().unwrap());
        std::thread::spawn(move || {
            for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                *lines.lock().unwrap() += &(line + "\n");
            }
        });
        let daemon = Daemon {
            child,
            host: self,
            said,
        };
        wait_until("the daemon answers", || self.status().is_some());
        daemon
    }

    fn manager(&self) -> PathManager {
        self.net
            .client
            .enter_thread(PathManager::open)
            .unwrap()
            .unwrap()
    }

    /// Addresses of endpoints, and whether they are backups.
    fn endpoints(&self) -> Vec<(IpAddr, bool)> {
        let mut all: Vec<_> = self
            .manager()
            .endpoints()
            .unwrap()
            .iter()
            .map(|one| (one.address, one.backup))
            .collect();
        all.sort_unstable();
        all
    }

    fn ip(&self, path: usize) -> IpAddr {
        self.net.paths[path].ip
    }

    fn wait_for(&self, what: &str, endpoints: &[(IpAddr, bool)]) {
        wait_until(what, || self.endpoints() == endpoints);
    }

    /// Adds the route that the kernel removed with an address, in the table of its path.
    fn add_route_of(&self, path: usize) {
        use joulepath_kernel::route::{Prefix, Route, Routing};
        let (source, device) = (self.ip(path), self.net.paths[path].device);
        let route = || {
            let all = Prefix::all_like(source);
            Routing::open()?.add_route(&Route {
                source: Some(source),
                table: 100 + path as u32,
                ..Route::on_link(all, device)
            })
        };
        self.net.client.enter_thread(route).unwrap().unwrap();
    }

    fn change_address(&self, path: usize, verb: &str) {
        let address = format!("{}/32", self.ip(path));
        let device = format!("c{path}");
        let run = || {
            Command::new("ip")
                .args(["addr", verb, &address, "dev", &device])
                .status()
                .unwrap()
        };
        assert!(self.net.client.enter_thread(run).unwrap().success());
    }
}

/// The running daemon; killed when the test ends.
struct Daemon<'a> {
    child: Child,
    host: &'a Host,
    said: Arc<Mutex<String>>,
}

impl Daemon<'_> {
    /// With the shell's `kill`: a bare Debian has no such program.
    fn signal(&self, name: &str) {
        let pid = self.child.id().to_string();
        assert!(
            Command::new("sh")
                .args(["-c", r#"kill -s "$0" "$1""#, name, &pid])
                .status()
                .unwrap()
                .success()
        );
    }

    /// Sends SIGTERM and returns how the daemon ended.
    fn stop(mut self) -> Option<i32> {
        self.signal("TERM");
        self.child.wait().unwrap().code()
    }

    fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    fn has_said(&self, text: &str) -> bool {
        self.said.lock().unwrap().contains(text)
    }

    fn role(&self, interface: &str) -> String {
        let status = self.host.status().unwrap();
        let all = status["interfaces"].as_array().unwrap();
        let one = all.iter().find(|one| one["name"] == interface).unwrap();
        one["role"].as_str().unwrap().to_owned()
    }
}

impl Drop for Daemon<'_> {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

const FOUND: Limits = Limits {
    accepted_addresses: 1,
    extra_subflows: 0,
};

#[test(needs(NET))]
fn endpoints_appear_follow_their_addresses_and_end_with_the_daemon() {
    let host = Host::new();
    host.configure("intent = \"interactive\"", "");
    host.manager().set_limits(FOUND).unwrap();
    let daemon = host.start();
    let both = [(host.ip(0), false), (host.ip(1), true)];
    host.wait_for("endpoints appear", &both);
    assert_eq!(
        host.manager().limits().unwrap(),
        Limits {
            extra_subflows: 2,
            ..FOUND
        }
    );
    let status = host.status().unwrap();
    assert_eq!(status["interfaces"][0]["name"], "c0");
    assert_eq!(status["interfaces"][0]["energy_quality"], "modelled");
    let page = host
        .run(&["status", "--socket", host.socket().to_str().unwrap()])
        .ok();
    assert!(page.starts_with("MPTCP: "), "{page}");
    assert!(
        page.contains(" · interactive · 1 of 2 interfaces used, 1 backup"),
        "{page}"
    );
    let metrics = host
        .run(&[
            "status",
            "--metrics",
            "--socket",
            host.socket().to_str().unwrap(),
        ])
        .ok();
    assert!(
        metrics.contains("joulepath_path_role{path=\"c1\",role=\"backup\"} 1\n"),
        "{metrics}"
    );

    host.change_address(1, "del");
    host.wait_for("the endpoint is removed with its address", &both[..1]);
    host.change_address(1, "add");
    host.add_route_of(1);
    host.wait_for("the endpoint is added again", &both);

    assert_eq!(daemon.stop(), Some(0));
    assert_eq!(
        (host.endpoints(), host.manager().limits().unwrap()),
        (vec![], FOUND)
    );
    assert!(!host.socket().exists() && host.status().is_none());
}

#[test(needs(NET))]
fn connections_get_a_second_subflow_that_is_a_backup_and_lose_it_under_handover() {
    let host = Host::new();
    host.configure("intent = \"interactive\"", "");
    let server = || {
        PathManager::open()?.set_limits(Limits {
            accepted_addresses: 0,
            extra_subflows: 2,
        })
    };
    host.net.server.enter_thread(server).unwrap().unwrap();
    let daemon = host.start();
    let reno = Options {
        congestion: Some("reno".into()),
        ..Options::default()
    };
    let (from, to) = (host.net.client_at(0), host.net.server_at(PORT));
    let listener = host
        .net
        .server
        .enter_thread(|| listen(Protocol::Mptcp, to, &reno, 4))
        .unwrap()
        .unwrap();
    let connect = || connect_within(Protocol::Mptcp, from, to, &reno, PATIENCE);
    let client = TcpStream::from(host.net.client.enter_thread(connect).unwrap().unwrap());
    let server = TcpStream::from(accept_within(&listener, PATIENCE).unwrap().0);
    // Further subflows need the first data.
    for mut stream in [&client, &server] {
        stream.set_nonblocking(false).unwrap();
        std::io::Write::write_all(&mut stream, b"x").unwrap();
    }
    let backups = || {
        let listing = host.net.client.enter_thread(diag::list).unwrap().unwrap();
        let subflows = listing
            .connections
            .iter()
            .flat_map(|connection| connection.subflows.clone());
        let of = |one: diag::TcpSocket| {
            (
                one.local.ip(),
                one.membership.is_some_and(|m| m.backup_locally),
            )
        };
        let mut all: Vec<_> = subflows.map(of).collect();
        all.sort_unstable();
        all
    };
    wait_until("a backup subflow joins", || {
        backups() == [(host.ip(0), false), (host.ip(1), true)]
    });
    let seen = |status: &Value| status["interfaces"][1]["backup_subflows"] == 1;
    wait_until("the status shows it", || {
        host.status().is_some_and(|status| seen(&status))
    });
    host.tell(&["set-intent", "handover"]);
    wait_until("the backup is closed", || {
        backups() == [(host.ip(0), false)]
    });
    assert_eq!(daemon.role("c1"), "unused");
    // The radio loses its carrier: the other one takes over.
    let peer = "s0";
    let cut = || {
        Command::new("ip")
            .args(["link", "set", peer, "down"])
            .status()
            .unwrap()
    };
    assert!(host.net.server.enter_thread(cut).unwrap().success());
    wait_until("the second takes over", || {
        host.endpoints() == [(host.ip(1), false)]
    });
    assert_eq!(daemon.stop(), Some(0));
    drop((client, server));
    host.wait_for("no endpoint stays when the connection has ended", &[]);
}

#[test(needs(NET))]
fn undo_after_a_kill_restores_all_except_what_others_have_changed() {
    let host = Host::new();
    host.configure("intent = \"aggregate\"", "");
    host.manager().set_limits(FOUND).unwrap();
    let daemon = host.start();
    host.wait_for(
        "endpoints appear",
        &[(host.ip(0), false), (host.ip(1), false)],
    );
    let refused = host.run(&["live", "--config", "live.toml"]);
    assert_eq!(refused.code, Some(1));
    assert!(
        refused
            .stderr
            .contains("a daemon runs in this network namespace"),
        "{}",
        refused.stderr
    );
    let refused = host.run(&["live", "--undo"]);
    assert_eq!(refused.code, Some(1), "{}", refused.stderr);
    daemon.kill();
    assert_eq!(host.endpoints().len(), 2);

    // Another program takes over one of the endpoints, and adds its own.
    let mut manager = host.manager();
    let all = manager.endpoints().unwrap();
    let second = all.iter().find(|one| one.address == host.ip(1)).unwrap();
    manager
        .set_endpoint_backup(second.id.unwrap(), true)
        .unwrap();
    let theirs: IpAddr = "198.18.0.99".parse().unwrap();
    manager
        .add(&Endpoint::subflow(theirs, host.net.paths[0].device))
        .unwrap();
    let said = host.run(&["live", "--undo"]);
    assert!(
        said.code == Some(0) && said.stderr.contains("2 changes were undone"),
        "{}",
        said.stderr
    );
    assert_eq!(host.endpoints(), [(host.ip(1), true), (theirs, false)]);
    assert_eq!(host.manager().limits().unwrap(), FOUND);
    assert!(
        host.run(&["live", "--undo"])
            .stderr
            .contains("nothing to undo")
    );
}

#[test(needs(NET))]
fn the_next_daemon_takes_over_the_endpoints_of_a_killed_one() {
    let host = Host::new();
    host.configure("intent = \"aggregate\"", "");
    host.manager().set_limits(FOUND).unwrap();
    let theirs: IpAddr = "198.18.0.99".parse().unwrap();
    host.manager()
        .add(&Endpoint::subflow(theirs, host.net.paths[0].device))
        .unwrap();
    let daemon = host.start();
    host.wait_for(
        "endpoints appear",
        &[(host.ip(0), false), (host.ip(1), false), (theirs, false)],
    );
    daemon.kill();
    host.configure("intent = \"handover\"", "");
    let daemon = host.start();
    assert!(daemon.has_said("taking over the changes of an earlier daemon"));
    host.wait_for(
        "the second endpoint is removed",
        &[(host.ip(0), false), (theirs, false)],
    );
    assert_eq!(daemon.stop(), Some(0));
    assert_eq!(
        (host.endpoints(), host.manager().limits().unwrap()),
        (vec![(theirs, false)], FOUND)
    );
}

#[test(needs(NET))]
fn a_bad_file_changes_nothing_and_a_good_one_does() {
    let host = Host::new();
    host.configure("intent = \"interactive\"", "");
    let daemon = host.start();
    let both = [(host.ip(0), false), (host.ip(1), true)];
    host.wait_for("endpoints appear", &both);
    host.configure("intent = \"cheap\"", "");
    daemon.signal("HUP");
    wait_until("the daemon logs it", || {
        daemon.has_said("the configuration was not reloaded")
    });
    assert!(daemon.has_said("live.toml:1:10: `cheap` is not an intent"));
    let warnings = host.status().unwrap()["warnings"].to_string();
    assert!(warnings.contains("was not reloaded"), "{warnings}");
    assert_eq!(host.endpoints(), both);
    host.configure("intent = \"interactive\"", "intent = \"off\"");
    daemon.signal("HUP");
    host.wait_for("the second endpoint is removed", &both[..1]);
    assert_eq!(daemon.stop(), Some(0));
}

#[test(needs(NET))]
fn everybody_may_read_and_only_root_or_a_configured_group_may_command() {
    let host = Host::new();
    host.configure("intent = \"interactive\"", "");
    let daemon = host.start();
    let (nobody, socket) = (Unprivileged::new(), host.socket());
    let ask = |arguments: &[&str]| {
        let arguments = [arguments, &["--socket", socket.to_str().unwrap()]].concat();
        Said::of(nobody.command(&arguments).output().unwrap())
    };
    assert!(ask(&["status", "--json"]).json()["interfaces"].is_array());
    let refused = ask(&["live", "pause"]);
    assert_eq!(refused.code, Some(1));
    assert!(
        refused
            .stderr
            .contains("you have no permission to send commands"),
        "{}",
        refused.stderr
    );
    assert_eq!(host.endpoints().len(), 2);
    host.tell(&["pause"]);
    host.wait_for("everything is restored", &[]);
    assert_eq!(host.status().unwrap()["paused"], true);
    host.tell(&["resume"]);
    host.wait_for(
        "the daemon continues",
        &[(host.ip(0), false), (host.ip(1), true)],
    );
    assert_eq!(daemon.stop(), Some(0));
}

#[test(needs(NET))]
fn a_dry_run_prints_its_plan_and_changes_nothing() {
    let host = Host::new();
    host.configure("intent = \"frugal\"", "quota = { hard = \"1 GB\" }");
    let said = host
        .run(&["live", "--config", "live.toml", "--dry-run"])
        .ok();
    assert!(
        said.contains(&format!("- add the endpoint {} dev c0 subflow", host.ip(0))),
        "{said}"
    );
    assert!(said.contains("c0: least energy for"), "{said}");
    assert_eq!(host.endpoints(), []);
    let mut names: Vec<_> = fs::read_dir(host.folder.path())
        .unwrap()
        .map(|one| one.unwrap().file_name())
        .collect();
    names.sort();
    assert_eq!(names, ["live.toml"]);
    host.configure("intent = \"cheap\"", "");
    let said = host.run(&["live", "--config", "live.toml", "--dry-run"]);
    assert_eq!(said.code, Some(2));
    assert!(
        said.stderr.contains("`cheap` is not an intent") && said.stderr.contains("live.toml:1:10")
    );
    assert!(
        host.run(&["live", "--config", "none.toml", "--dry-run"])
            .stderr
            .contains("none.toml")
    );
}
