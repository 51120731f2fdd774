//! The daemon as path manager of single connections.

use joulepath_kernel::mptcp::path_manager::{KERNEL, USER_SPACE, chosen};

use super::behaviour::Connection;
use super::*;

/// Opens a second subflow when a connection is 300 ms old.
const SOON: &str = "pm = \"userspace\"\nopen_after = { bytes = \"100 MB\", age = \"300 ms\" }";

impl Host {
    fn path_manager(&self) -> String {
        self.net.client.enter_thread(chosen).unwrap().unwrap()
    }

    fn steering(&self, key: &str) -> Value {
        self.status().unwrap()["steering"][key].clone()
    }
}

/// Sends this many bytes to the other end of a connection and reads them there.
fn send(connection: &mut Connection, bytes: usize) {
    use std::io::{Read, Write};
    let Connection { client, server } = connection;
    std::thread::scope(|scope| {
        scope.spawn(|| client.write_all(&vec![7; bytes]).unwrap());
        server.read_exact(&mut vec![0; bytes]).unwrap();
    });
}

#[test(needs(NET, tool("ss")))]
fn a_lost_subflow_is_reopened_although_another_connection_uses_the_interface() {
    let (host, listener) = Host::with_server();
    host.configure(&format!("intent = \"interactive\"\n{SOON}"), "");
    let daemon = host.start();
    assert_eq!(host.path_manager(), USER_SPACE);
    let _first = host.connect(&listener, 0);
    wait_until("a backup subflow joins", || {
        host.kinds() == [(0, false), (1, true)]
    });
    let _second = host.connect(&listener, 0);
    let both = [(0, false), (0, false), (1, true), (1, true)];
    wait_until("another subflow joins", || host.kinds() == both);
    let before = host.subflows();
    host.reset(1, before[2].1);
    wait_until("the subflow is reopened", || {
        host.kinds() == both && host.subflows() != before
    });
    let after = host.subflows();
    let kept = before.iter().filter(|one| after.contains(one)).count();
    assert_eq!(kept, 3, "{before:?} {after:?}");
    wait_until("the daemon logs the reason", || {
        daemon.has_said("its subflow was lost: reopened on the same addresses")
    });
    wait_until("it is counted", || {
        host.steering("connections") == 2 && host.steering("opened") == 3
    });
    assert_eq!(
        (host.steering("refused"), host.steering("of_kernel")),
        (0.into(), 0.into())
    );
    assert_eq!(daemon.stop(), Some(0));
    assert_eq!(
        (host.path_manager().as_str(), host.endpoints()),
        (KERNEL, vec![])
    );
}

#[test(needs(NET))]
fn the_other_end_learns_of_a_removed_address_and_closes_its_subflow() {
    let (host, listener) = Host::with_server();
    host.configure(&format!("intent = \"interactive\"\n{SOON}"), "");
    let daemon = host.start();
    let _connection = host.connect(&listener, 0);
    wait_until("a backup subflow joins", || {
        host.kinds() == [(0, false), (1, true)]
    });
    let there = || {
        let listing = host.net.server.enter_thread(diag::list).unwrap().unwrap();
        let subflows = listing
            .connections
            .iter()
            .flat_map(|connection| connection.subflows.clone());
        let open =
            subflows.filter(|one| one.state == joulepath_kernel::mptcp::TcpState::Established);
        open.map(|one| one.remote.ip())
            .collect::<std::collections::BTreeSet<_>>()
    };
    assert_eq!(there(), [host.ip(0), host.ip(1)].into());
    host.change_address(1, "del");
    wait_until("the server has the other subflow only", || {
        there() == [host.ip(0)].into()
    });
    wait_until("the daemon logs the reason", || {
        daemon.has_said(&format!("its address {} was removed", host.ip(1)))
    });
    assert_eq!(daemon.stop(), Some(0));
}

#[test(needs(NET))]
fn a_small_transfer_wakes_no_second_radio_and_a_large_one_does() {
    let (host, listener) = Host::with_server();
    let late = "pm = \"userspace\"\nopen_after = { bytes = \"1 MB\", age = \"1 h\" }";
    host.configure(&format!("intent = \"aggregate\"\n{late}"), "");
    let daemon = host.start();
    let mut small = host.connect(&listener, 0);
    let mut large = host.connect(&listener, 0);
    send(&mut small, 100_000);
    send(&mut large, 2_000_000);
    wait_until("the large one gets the second path", || {
        host.kinds() == [(0, false), (0, false), (1, false)]
    });
    wait_until("the daemon logs the reason", || {
        daemon.has_said("c1: a subflow is opened: the connection has carried ")
    });
    // After some polls the small one still has one subflow.
    let looks =
        || host.steering("opened") == 1 && host.status().unwrap()["up_s"].as_f64().unwrap() > 2.0;
    wait_until("it looks again", looks);
    assert_eq!(host.kinds(), [(0, false), (0, false), (1, false)]);
    assert_eq!(daemon.stop(), Some(0));
}

#[test(needs(NET))]
fn a_connection_that_begins_on_the_expensive_path_moves_to_the_cheap_one_at_once() {
    let (host, listener) = Host::with_server();
    host.prefer(1);
    host.configure(&format!("intent = \"frugal\"\n{SOON}"), "");
    let daemon = host.start();
    let mut connection = host.connect(&listener, 1);
    wait_until("it is on the cheap path only", || {
        host.kinds() == [(0, false)]
    });
    send(&mut connection, 1000);
    wait_until("the daemon logs the reason", || {
        daemon.has_said("no other subflow works on a permitted interface")
    });
    host.tell(&["set-intent", "interactive"]);
    wait_until("the expensive path is a backup", || {
        host.kinds() == [(0, false), (1, true)]
    });
    host.tell(&["set-intent", "aggregate"]);
    wait_until("the expensive path is regular", || {
        host.kinds() == [(0, false), (1, false)]
    });
    host.tell(&["pause"]);
    wait_until("nothing of the daemon is left", || {
        host.path_manager() == KERNEL && host.endpoints().is_empty()
    });
    assert_eq!(daemon.stop(), Some(0));
}

#[test(needs(NET))]
fn a_connection_from_before_stays_with_the_kernels_path_manager_and_a_killed_daemon_is_undone() {
    let (host, listener) = Host::with_server();
    host.configure("intent = \"interactive\"", "");
    let before = host.connect(&listener, 0);
    // The flag overrides the file, which does not set it.
    let daemon = host.start_with(&["--pm", "userspace"]);
    wait_until("it gets its backup by an endpoint", || {
        host.kinds() == [(0, false), (1, true)]
    });
    let _since = host.connect(&listener, 0);
    let both = [(0, false), (0, false), (1, true), (1, true)];
    wait_until("a new one gets its own", || host.kinds() == both);
    wait_until("the status distinguishes both", || {
        host.steering("of_kernel") == 1 && host.steering("connections") == 1
    });
    daemon.kill();
    assert_eq!(host.path_manager(), USER_SPACE);
    // The next daemon takes over the connection of the user-space path manager.
    let daemon = host.start_with(&["--pm", "userspace"]);
    wait_until("it is taken over", || {
        host.steering("of_kernel") == 1 && host.steering("connections") == 1
    });
    host.tell(&["set-intent", "handover"]);
    wait_until("both lose their backups", || {
        host.kinds() == [(0, false), (0, false)]
    });
    daemon.kill();
    // One backup belongs to the kernel's path manager, so it depends on its endpoint.
    let undone = host.run(&["live", "--undo"]);
    assert_eq!(undone.code, Some(5), "{}", undone.stderr);
    assert!(
        undone
            .stderr
            .contains("1 connection has no other working path"),
        "{}",
        undone.stderr
    );
    assert_eq!(
        (host.path_manager().as_str(), host.endpoints()),
        (KERNEL, vec![(host.ip(0), false)])
    );
    drop(before);
    host.wait_for("the endpoint is removed with the connection", &[]);
}

#[test(needs(NET))]
fn connections_of_a_program_follow_the_intent_of_its_rule() {
    let (host, listener) = Host::with_server();
    let own = fs::read_to_string("/proc/self/comm").unwrap();
    let own = own.trim_end();
    let rules = format!(
        "[[rule]]\nprogram = \"no-such-program\"\nintent = \"off\"\n\
         [[rule]]\nprogram = \"{own}\"\nuser = \"root\"\nport = {PORT}\nintent = \"aggregate\"\n"
    );
    host.configure(&format!("intent = \"handover\"\n{SOON}"), &rules);
    let daemon = host.start();
    let _connection = host.connect(&listener, 0);
    wait_until("the rule's paths are used", || {
        host.kinds() == [(0, false), (1, false)]
    });
    let rules = || host.steering("rules");
    wait_until("the rule lists the connection", || {
        rules()[1]["connections"] == 1
    });
    let rule = &rules()[1];
    assert_eq!(
        (&rule["intent"], &rule["interfaces"]["c1"]),
        (&"aggregate".into(), &"regular".into())
    );
    let last = rule["last"].as_str().unwrap();
    assert!(
        last.starts_with(&format!("{own} of user 0")) && last.contains(&PORT.to_string()),
        "{last}"
    );
    // Another user sees that the rule matches, but not the program.
    let socket = host.socket();
    let asked = Unprivileged::new()
        .command(&["status", "--json", "--socket", socket.to_str().unwrap()])
        .output();
    let seen = Said::of(asked.unwrap()).json();
    let rule = &seen["steering"]["rules"][1];
    assert_eq!(
        (&rule["connections"], &rule["last"]),
        (&1.into(), &Value::Null)
    );
    assert_eq!(daemon.role("c1"), "unused");
    // Without the rule the connection follows the machine's intent.
    host.configure(&format!("intent = \"handover\"\n{SOON}"), "");
    daemon.signal("HUP");
    wait_until("the second path is left", || host.kinds() == [(0, false)]);
    assert_eq!(daemon.stop(), Some(0));
}

#[test(needs(NET))]
fn rules_without_the_user_space_path_manager_are_refused_with_the_fix() {
    let host = Host::new();
    host.configure(
        "intent = \"handover\"",
        "[[rule]]\nport = 443\nintent = \"aggregate\"\n",
    );
    let said = host.run(&["live", "--config", "live.toml", "--dry-run"]);
    assert_eq!(said.code, Some(2));
    for part in [
        "live.toml:14:1",
        "treats all connections alike",
        "pm = \"userspace\"",
    ] {
        assert!(said.stderr.contains(part), "{part}: {}", said.stderr);
    }
    let said = host
        .run(&[
            "live",
            "--config",
            "live.toml",
            "--dry-run",
            "--pm",
            "userspace",
        ])
        .ok();
    assert!(
        said.contains("set net.mptcp.path_manager from kernel to userspace"),
        "{said}"
    );
    assert_eq!(host.path_manager(), KERNEL);
}
