//! Radios with addresses of different families.

use joulepath_kernel::probe::Version;

use super::behaviour::{Connection, reno};
use super::*;

/// A host whose second radio has only addresses of the other family, and a server with addresses of
/// both, which announces that of the second.
fn mixed(net: Net) -> (Host, std::os::fd::OwnedFd) {
    let mut host = Host::of(net);
    let (own, server) = match host.net.server_ip.is_ipv4() {
        true => ("fd00::3", "fd00::1"),
        false => ("198.18.0.3", "198.18.0.1"),
    };
    host.net.paths[1].ip = own.parse().unwrap();
    let (family, at_once) = if host.net.server_ip.is_ipv4() {
        ("-6", " nodad")
    } else {
        ("-4", "")
    };
    let run = |namespace: &joulepath_kernel::Namespace, commands: &[String]| {
        for command in commands {
            let run = || {
                Command::new("ip")
                    .args(command.split(' '))
                    .status()
                    .unwrap()
            };
            assert!(
                namespace.enter_thread(run).unwrap().success(),
                "ip {command}"
            );
        }
    };
    run(
        &host.net.client,
        &[
            "addr flush dev c1 scope global".into(),
            format!("{family} addr add {own}{at_once} dev c1"),
            format!("{family} rule add from {own} table 101"),
            format!("{family} route add default dev c1 src {own} table 101"),
        ],
    );
    run(
        &host.net.server,
        &[
            format!("{family} addr add {server}{at_once} dev lo"),
            format!("{family} route add {own} dev s1 src {server}"),
            "mptcp limits set subflows 4".into(),
            format!("mptcp endpoint add {server} signal"),
        ],
    );
    let any = (std::net::Ipv6Addr::UNSPECIFIED, PORT).into();
    let open = || listen(Protocol::Mptcp, any, &reno(), 4);
    let listener = host.net.server.enter_thread(open).unwrap().unwrap();
    (host, listener)
}

/// The reason of the second radio, and the codes of its notes.
fn second(host: &Host) -> (String, Vec<String>) {
    let status = host.status().unwrap();
    let one = &status["interfaces"]
        .as_array()
        .unwrap()
        .iter()
        .find(|one| one["name"] == "c1")
        .unwrap();
    let notes = one["notes"].as_array().unwrap().iter();
    (
        one["reason"]["text"].to_string(),
        notes
            .map(|note| note["code"].as_str().unwrap().into())
            .collect(),
    )
}

#[test(needs(NET))]
fn an_ipv6_connection_gets_an_ipv4_subflow_to_an_address_that_the_server_announces() {
    for pm in ["kernel", "userspace"] {
        // The flag `laminar` is of Linux 6.18.
        if pm == "kernel" && Version::running() < Some(Endpoint::LAMINAR_SINCE) {
            continue;
        }
        let (host, listener) = mixed(Net::v6(2));
        host.manager()
            .set_limits(Limits {
                accepted_addresses: 0,
                extra_subflows: 0,
            })
            .unwrap();
        for (intent, backup) in [("aggregate", false), ("interactive", true)] {
            host.configure(&format!("intent = \"{intent}\"\npm = \"{pm}\""), "");
            let daemon = host.start();
            let mut endpoints = [(host.ip(0), false), (host.ip(1), backup)];
            endpoints.sort_unstable();
            host.wait_for("both have endpoints", &endpoints);
            let connection: Connection = host.connect(&listener, 0);
            wait_until("the second subflow opens", || {
                host.kinds() == [(0, false), (1, backup)]
            });
            let is_told = || second(&host).1.contains(&"other-family".into());
            wait_until("status counts it", || !is_told());
            drop(connection);
            wait_until("it ends", || host.kinds().is_empty());
            assert_eq!(daemon.stop(), Some(0));
            let limits = host.manager().limits().unwrap();
            assert_eq!(
                limits,
                Limits {
                    accepted_addresses: 0,
                    extra_subflows: 0
                }
            );
        }
    }
}

/// The kernel's path manager forgets an address that the server announced before the endpoint came.
#[test(needs(NET))]
fn status_names_the_path_manager_that_opens_a_subflow_of_the_other_family_later() {
    let (host, listener) = mixed(Net::v6(2));
    let _connection = host.connect(&listener, 0);
    host.configure("intent = \"aggregate\"", "");
    let _daemon = host.start();
    wait_until("status names the reason", || {
        second(&host).1 == ["other-family"]
    });
    let notes = host.status().unwrap()["interfaces"].to_string();
    assert!(
        notes.contains("`pm = \\\"userspace\\\"` opens one"),
        "{notes}"
    );
}

/// Linux opens no IPv6 subflow for an IPv4 socket.
#[test(needs(NET))]
fn status_says_which_radio_has_no_address_of_the_connection_s_family() {
    for pm in ["kernel", "userspace"] {
        let (host, listener) = mixed(Net::v4(2));
        host.configure(&format!("intent = \"aggregate\"\npm = \"{pm}\""), "");
        let _daemon = host.start();
        let _connection = host.connect(&listener, 0);
        wait_until("status names the reason", || {
            second(&host).1 == ["other-family"]
        });
        let (reason, _) = second(&host);
        assert!(reason.contains("1 of 2 paths"), "{reason}");
        assert_eq!(host.kinds(), [(0, false)]);
    }
}
