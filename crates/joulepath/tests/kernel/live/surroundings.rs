//! Changes by others while the daemon runs: endpoints, MPTCP itself, routes, the clock.

use joulepath_kernel::mptcp::AddressId;

use super::paths::beside_download;
use super::*;

impl Host {
    fn warnings(&self) -> String {
        self.status()
            .map(|status| status["warnings"].to_string())
            .unwrap_or_default()
    }

    fn shell(&self, command: &str) {
        let run = || Command::new("sh").args(["-ec", command]).status().unwrap();
        assert!(
            self.net.client.enter_thread(run).unwrap().success(),
            "{command}"
        );
    }
}

#[test(needs(NET))]
fn endpoints_of_another_program_stay_and_are_reported_until_they_are_removed() {
    let host = Host::new();
    host.configure("intent = \"interactive\"", "");
    let device = host.net.paths[0].device;
    let theirs = Endpoint {
        id: Some(AddressId(77)),
        ..Endpoint::subflow(host.ip(0), device)
    };
    host.manager().add(&theirs).unwrap();
    let dry = host
        .run(&["live", "--config", "live.toml", "--dry-run"])
        .ok();
    assert!(
        dry.contains("another program has set the endpoints of c0"),
        "{dry}"
    );
    let daemon = host.start();
    let told = "another program has set the endpoints of c0 (198.18.0.2): the daemon leaves them unchanged";
    wait_until("the warning appears", || host.warnings().contains(told));
    assert!(
        host.manager()
            .endpoints()
            .unwrap()
            .iter()
            .any(|one| one.id == Some(AddressId(77)))
    );
    host.manager().delete(AddressId(77)).unwrap();
    host.wait_for(
        "it is taken over",
        &[(host.ip(0), false), (host.ip(1), true)],
    );
    wait_until("the warning goes", || {
        !host.warnings().contains("another program")
    });
    assert_eq!(daemon.stop(), Some(0));
    assert_eq!(host.endpoints(), []);
}

#[test(needs(NET))]
fn mptcp_that_is_switched_off_is_reported_and_so_is_a_changed_path_manager() {
    let host = Host::new();
    host.configure("intent = \"interactive\"", "");
    let daemon = host.start();
    assert_eq!(host.warnings(), "[]");
    host.shell("echo 0 > /proc/sys/net/mptcp/enabled");
    wait_until("the warning appears", || {
        host.warnings()
            .contains("MPTCP is switched off in this network namespace")
    });
    assert!(
        host.warnings().contains("sysctl -w net.mptcp.enabled=1"),
        "{}",
        host.warnings()
    );
    host.shell("echo 1 > /proc/sys/net/mptcp/enabled");
    wait_until("the warning disappears", || host.warnings() == "[]");
    host.shell("echo 1 > /proc/sys/net/mptcp/pm_type");
    wait_until("the warning appears", || {
        host.warnings()
            .contains("new connections use the path manager")
    });
    host.shell("echo 0 > /proc/sys/net/mptcp/pm_type");
    wait_until("the warning disappears", || host.warnings() == "[]");
    assert_eq!(daemon.stop(), Some(0));
}

#[test(needs(NET))]
fn both_interfaces_of_a_route_with_nexthop_objects_count_as_routed() {
    let host = Host::new();
    host.configure("intent = \"aggregate\"", "");
    // Removes the test's own tables.
    host.shell(
        "ip route flush table 100; ip route flush table 101
         echo 0 > /proc/sys/net/ipv4/nexthop_compat_mode
         ip nexthop add id 1 dev c0; ip nexthop add id 2 dev c1; ip nexthop add id 3 group 1/2
         ip route add default nhid 3",
    );
    let daemon = host.start();
    host.wait_for(
        "both get endpoints",
        &[(host.ip(0), false), (host.ip(1), false)],
    );
    host.shell("ip nexthop replace id 3 group 1");
    host.wait_for("the second interface has no route", &[(host.ip(0), false)]);
    host.shell("ip nexthop replace id 3 group 1/2");
    host.wait_for(
        "the second interface has a route again",
        &[(host.ip(0), false), (host.ip(1), false)],
    );
    assert_eq!(daemon.stop(), Some(0));
}

/// The state of a stopped daemon is set back by a hundred days: for the next daemon the clock has
/// jumped.
#[test(needs(NET))]
fn a_clock_that_jumps_while_no_daemon_runs_does_not_reset_a_quota() {
    const DAYS: i64 = 100;
    let host = Host::new();
    host.configure("intent = \"interactive\"", "quota = { hard = \"5 kB\" }");
    let daemon = host.start();
    host.wait_for(
        "both have endpoints",
        &[(host.ip(0), false), (host.ip(1), true)],
    );
    let (from, to) = (host.net.client_at(1), host.net.server_at(PORT));
    let send = || {
        let socket = std::net::UdpSocket::bind(from).unwrap();
        (0..6).for_each(|_| assert_eq!(socket.send_to(&[0; 1000], to).unwrap(), 1000));
    };
    host.net.client.enter_thread(send).unwrap();
    host.wait_for("the quota is used up", &[(host.ip(0), false)]);
    let used = || {
        host.status().unwrap()["interfaces"][1]["quota"]["used_bytes"]
            .as_u64()
            .unwrap()
    };
    let before = used();
    assert_eq!(host.warnings(), "[]");
    assert_eq!(daemon.stop(), Some(0));

    let file = host.folder.path().join("state/ledger");
    let mut record: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    let value = &mut record["value"];
    for key in ["booted_s", "unix_s"] {
        value["clock"][key] = (value["clock"][key].as_i64().unwrap() - DAYS * 86_400 - 60).into();
    }
    for account in value["accounts"].as_object_mut().unwrap().values_mut() {
        let days = account["recent"].as_object().unwrap().clone();
        let earlier = days
            .into_iter()
            .map(|(day, sum)| ((day.parse::<i64>().unwrap() - DAYS).to_string(), sum));
        account["recent"] = Value::Object(earlier.collect());
    }
    fs::write(&file, record.to_string()).unwrap();
    let daemon = host.start();
    assert!(
        host.warnings().contains("100 days after the expected time"),
        "{}",
        host.warnings()
    );
    assert!(used() >= before, "{} of {before}", used());
    assert_eq!(host.endpoints(), [(host.ip(0), false)]);
    assert_eq!(daemon.stop(), Some(0));
}

/// Under `frugal`, the second radio is spared on purpose.
#[test(needs(NET))]
fn the_command_of_why_makes_the_daemon_use_a_path_that_it_spares() {
    beside_download("intent = \"frugal\"", |host, _, download| {
        wait_until("it flows", || download.received() > 1_000_000);
        let said = host
            .run(&["why", "--json", "--all", "--seconds", "2"])
            .json();
        let finding = &said["connections"][0]["findings"][0];
        assert_eq!(
            (&finding["cause"], &finding["gain"]),
            (&"by-intent".into(), &Value::Null),
            "{said}"
        );
        let printed = finding["fix"]["commands"][0].as_str().unwrap();
        assert_eq!(host.kinds(), [(0, false)]);
        host.run(&printed.split(' ').skip(1).collect::<Vec<_>>())
            .ok();
        wait_until("both paths are used", || {
            host.kinds() == [(0, false), (1, false)]
        });
    });
}
