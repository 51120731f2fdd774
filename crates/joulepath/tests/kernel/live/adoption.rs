//! Endpoints of NetworkManager, mptcpd and others that the daemon takes over (`--adopt`), in
//! namespaces.

use joulepath_kernel::mptcp::AddressId;

use super::behaviour::Connection;
use super::*;

/// Endpoints as NetworkManager and mptcpd set them, and one as a user may: each a regular subflow.
fn theirs(host: &Host) -> Vec<Endpoint> {
    let endpoint = |path: usize, id: u8| Endpoint {
        id: Some(AddressId(id)),
        ..Endpoint::subflow(host.ip(path), host.net.paths[path].device)
    };
    vec![
        endpoint(0, 77),
        Endpoint {
            fullmesh: true,
            ..endpoint(1, 5)
        },
    ]
}

impl Host {
    /// A host on which another program has set `theirs`, and the second radio is expensive.
    fn with_theirs(&self, machine: &str, theirs: &[Endpoint]) {
        self.configure(machine, "metered = true");
        self.manager().set_limits(FOUND).unwrap();
        theirs
            .iter()
            .for_each(|one| self.manager().add(one).unwrap());
    }

    fn is_as_found(&self, theirs: &[Endpoint]) -> bool {
        let mut manager = self.manager();
        let mut there = manager.endpoints().unwrap();
        there.sort_by_key(|one| one.id);
        let mut theirs = theirs.to_vec();
        theirs.sort_by_key(|one| one.id);
        there == theirs && manager.limits().unwrap() == FOUND
    }
}

const USER_SPACE: &str = "\npm = \"userspace\"";

#[test(needs(NET, IPV6))]
fn adopted_endpoints_get_their_roles_and_are_given_back_when_the_daemon_ends() {
    for (net, pm) in [(Net::v4(2), ""), (Net::v6(2), ""), (Net::v4(2), USER_SPACE)] {
        let host = Host::of(net);
        let theirs = theirs(&host);
        host.with_theirs(&format!("intent = \"frugal\"{pm}"), &theirs);
        let daemon = host.start_with(&["--adopt"]);
        host.wait_for("the expensive endpoint is removed", &[(host.ip(0), false)]);
        host.tell(&["set-intent", "interactive"]);
        host.wait_for(
            "it returns as a backup",
            &[(host.ip(0), false), (host.ip(1), true)],
        );
        let there = host.manager().endpoints().unwrap();
        assert!(
            there
                .iter()
                .all(|one| theirs.iter().any(|their| their.id == one.id)),
            "{there:?}"
        );
        assert!(daemon.has_said("the endpoint of another program is taken over"));
        host.tell(&["pause"]);
        wait_until("a pause gives them back", || host.is_as_found(&theirs));
        host.tell(&["resume"]);
        host.wait_for(
            "they are taken over again",
            &[(host.ip(0), false), (host.ip(1), true)],
        );
        assert_eq!(daemon.stop(), Some(0));
        assert!(
            host.is_as_found(&theirs),
            "{:?}",
            host.manager().endpoints()
        );
    }
}

#[test(needs(NET))]
fn adopted_endpoints_are_given_back_after_a_kill() {
    let host = Host::new();
    // The second without a device, as `ip mptcp endpoint add ADDRESS subflow` sets it.
    let mut theirs = theirs(&host);
    theirs[1] = Endpoint {
        interface: None,
        fullmesh: false,
        ..theirs[1].clone()
    };
    host.with_theirs("intent = \"frugal\"\nadopt = true", &theirs);
    for is_undone in [true, false] {
        let daemon = host.start();
        host.wait_for("the expensive endpoint is removed", &[(host.ip(0), false)]);
        daemon.kill();
        if is_undone {
            host.run(&["live", "--undo"]).ok();
            assert!(
                host.is_as_found(&theirs),
                "{:?}",
                host.manager().endpoints()
            );
        }
    }
    host.with_theirs("intent = \"frugal\"", &[]);
    let daemon = host.start();
    let both = [(host.ip(0), false), (host.ip(1), false)];
    host.wait_for("a daemon that takes nothing over gives them back", &both);
    assert_eq!(daemon.stop(), Some(0));
    assert!(
        host.is_as_found(&theirs),
        "{:?}",
        host.manager().endpoints()
    );
}

#[test(needs(NET))]
fn a_change_by_another_program_during_the_adoption_is_respected() {
    let host = Host::new();
    let mut theirs = theirs(&host);
    host.with_theirs("intent = \"aggregate\"", &theirs);
    let daemon = host.start_with(&["--adopt"]);
    wait_until("they are taken over", || daemon.has_said("is taken over"));
    host.wait_for(
        "the expensive one is a backup",
        &[(host.ip(0), false), (host.ip(1), true)],
    );
    host.manager()
        .set_endpoint_backup(AddressId(77), true)
        .unwrap();
    let told = |status: &Value| {
        status["warnings"]
            .to_string()
            .contains("another program has set")
    };
    wait_until("the warning appears", || {
        host.status().is_some_and(|status| told(&status))
    });
    host.tell(&["set-intent", "interactive"]);
    host.tell(&["set-intent", "frugal"]);
    theirs[0].backup = true;
    wait_until("the intent is in force", || {
        host.status().is_some_and(|one| one["intent"] == "frugal")
    });
    host.wait_for("only the other one is removed", &[(host.ip(0), true)]);
    assert_eq!(daemon.stop(), Some(0));
    assert!(
        host.is_as_found(&theirs),
        "{:?}",
        host.manager().endpoints()
    );
}

#[test(needs(NET))]
fn no_connection_ends_when_endpoints_are_taken_over_and_given_back() {
    let (host, listener) = Host::with_server();
    let theirs = theirs(&host);
    host.with_theirs("intent = \"frugal\"", &theirs);
    host.manager()
        .set_limits(Limits {
            extra_subflows: 2,
            ..FOUND
        })
        .unwrap();
    // One begins on the path that the daemon leaves.
    let connections = [0, 1].map(|path| host.connect(&listener, path));
    wait_until("both have two subflows", || host.kinds().len() == 4);
    let daemon = host.start_with(&["--adopt"]);
    wait_until("the expensive subflows are closed", || {
        host.kinds() == [(0, false), (0, false)]
    });
    assert_eq!(daemon.stop(), Some(0));
    let endpoints = [(host.ip(0), false), (host.ip(1), false)];
    host.wait_for("both endpoints are there", &endpoints);
    wait_until("the kernel opens a second subflow again", || {
        host.kinds().len() > 2
    });
    for Connection { client, server } in &connections {
        for (mut from, mut to) in [(client, server), (server, client)] {
            std::io::Write::write_all(&mut from, b"still here").unwrap();
            std::io::Read::read_exact(&mut to, &mut [0; 10]).unwrap();
        }
    }
}

#[test(needs(NET))]
fn without_adopt_status_names_the_endpoints_of_others_and_the_command_that_takes_them_over() {
    let host = Host::new();
    let theirs = theirs(&host);
    host.with_theirs("intent = \"frugal\"", &theirs);
    let told = format!("endpoints of c0 ({}), c1 ({})", host.ip(0), host.ip(1));
    let said = host
        .run(&["live", "--config", "live.toml", "--dry-run", "--json"])
        .ok();
    assert!(
        said.contains(&told) && said.contains("`sudo joulepath on --adopt` takes them over"),
        "{said}"
    );
    let said = host
        .run(&["live", "--config", "live.toml", "--dry-run", "--adopt"])
        .ok();
    assert!(
        said.contains(&format!("take over the endpoint {}\n", host.ip(0))),
        "{said}"
    );
    let removed = format!(
        "take over the endpoint {} dev c1 and remove it until the end",
        host.ip(1)
    );
    assert!(said.contains(&removed), "{said}");
    let daemon = host.start();
    let status = host.status().unwrap()["warnings"].to_string();
    assert!(
        status.contains(&told) && status.contains("joulepath on --adopt"),
        "{status}"
    );
    assert_eq!(host.manager().endpoints().unwrap().len(), 2);
    assert_eq!(daemon.stop(), Some(0));
    assert!(host.is_as_found(&theirs));
}
