//! Endpoints that should not exist: on a tunnel or a container's device, bypassing a tunnel, with a
//! removed address, or of another program while the daemon runs.

use std::net::IpAddr;
use std::path::Path;

use joulepath_kernel::Result;
use joulepath_kernel::mptcp::path_manager::{Endpoint, PathManager};
use joulepath_kernel::namespace::Cookie;
use joulepath_kernel::probe::{Fact, Finding, Group, Status};
use joulepath_kernel::route::{Link, Monitor, RouteKind, View};
use joulepath_kernel::state::State;

use crate::act::{FOLDER, Journal, OnDisk, Store};
use crate::client;
use crate::foreign;
use crate::server::Request;

/// Virtual devices that are links of this machine: neither tunnels nor parts of containers.
const LINKS: [&str; 8] = [
    "bond", "hsr", "macsec", "ppp", "rmnet", "team", "vlan", "wwan",
];
/// VPN clients split the default route into two halves, which are preferred to another default
/// route.
const HALF: u8 = 1;

/// An endpoint that should not exist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leak {
    /// The endpoint and the reason.
    pub what: String,
    /// The command that removes it, for root.
    pub fix: String,
}

/// The result of [`examine`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leaks {
    /// Number of endpoints.
    pub endpoints: usize,
    /// Endpoints of the daemon; `None` if no daemon runs in this network namespace.
    pub own: Option<usize>,
    /// Endpoints that should not exist.
    pub leaks: Vec<Leak>,
}

/// The daemon of this network namespace.
#[derive(Debug, Default)]
struct Daemon {
    journal: Journal,
    /// Devices that it may use or bypass: hardware, or named in its configuration. `None` if it
    /// does not answer.
    allowed: Option<Vec<String>>,
}

/// Examines the endpoints of this network namespace. Changes nothing.
///
/// # Errors
/// If the kernel or the daemon's journal cannot be read.
pub fn examine(socket: &Path) -> Result<Leaks> {
    let endpoints = PathManager::open()?.endpoints()?;
    let monitor = Monitor::open()?;
    Ok(found(&endpoints, monitor.view(), daemon(socket)?.as_ref()))
}

/// The result of [`examine`] for `joulepath doctor`. `root`: commands need no `sudo`.
pub fn fact(socket: &Path, root: bool) -> Fact {
    Fact {
        name: "endpoints",
        title: "MPTCP endpoints",
        group: Group::Interference,
        needed_for: &["live"],
        essential: false,
        finding: examine(socket).map_or_else(Finding::from, |leaks| finding(&leaks, root)),
    }
}

fn finding(leaks: &Leaks, root: bool) -> Finding {
    let Leaks {
        endpoints,
        own,
        leaks,
    } = leaks;
    let owners = own.map_or_else(
        || "no daemon runs here".into(),
        |own| format!("{own} of them the daemon's"),
    );
    let mut detail = vec![format!("{endpoints}, {owners}")];
    detail.extend(leaks.iter().map(|leak| leak.what.clone()));
    let as_user = |command: &String| {
        if root {
            command.clone()
        } else {
            format!("sudo {command}")
        }
    };
    let mut fix: Vec<String> = leaks.iter().map(|leak| as_user(&leak.fix)).collect();
    fix.dedup();
    Finding {
        status: if leaks.is_empty() {
            Status::Ok
        } else {
            Status::Limited
        },
        detail: detail.join("; "),
        fix,
        advice: None,
    }
}

/// `None` if no daemon runs here.
fn daemon(socket: &Path) -> Result<Option<Daemon>> {
    let Some(states) = State::existing()? else {
        return Ok(None);
    };
    let Some(state) = states.existing_folder(FOLDER)? else {
        return Ok(None);
    };
    let name = Cookie::own()?.to_string();
    let status = client::ask(socket, &Request::Status).ok();
    // Only root may open the lock. For other users, an answer means a running daemon.
    if !state.is_locked(&name).unwrap_or(status.is_some()) {
        return Ok(None);
    }
    let journal = OnDisk { state, name }.read()?.unwrap_or_default();
    let allowed = status.map(|status| {
        let bypassed = status
            .first
            .tunnels
            .into_iter()
            .filter(|one| one.bypass)
            .map(|one| one.name);
        let used = status
            .interfaces
            .into_iter()
            .filter(|one| one.allowed)
            .map(|one| one.name);
        used.chain(bypassed).collect()
    });
    Ok(Some(Daemon { journal, allowed }))
}

fn found(endpoints: &[Endpoint], view: &View, daemon: Option<&Daemon>) -> Leaks {
    // The kernel creates endpoints without flags with a connection and removes them with it.
    let endpoints: Vec<&Endpoint> = endpoints
        .iter()
        .filter(|one| one.subflow || one.signal)
        .collect();
    let is_own =
        |one: &Endpoint| daemon.is_some_and(|daemon| daemon.journal.owned_id(one).is_some());
    let leaks = endpoints.iter().filter_map(|one| {
        let why = wrong(one, view, daemon, is_own(one))?;
        let fix = match one.id.filter(|_| !is_own(one)) {
            Some(id) => format!("ip mptcp endpoint delete id {id}"),
            None => "joulepath live pause".to_owned(),
        };
        Some(Leak {
            what: format!("{} {why}", one.address),
            fix,
        })
    });
    Leaks {
        leaks: leaks.collect(),
        own: daemon.map(|_| endpoints.iter().filter(|one| is_own(one)).count()),
        endpoints: endpoints.len(),
    }
}

/// Why an endpoint should not exist; checks the worst case first.
fn wrong(endpoint: &Endpoint, view: &View, daemon: Option<&Daemon>, own: bool) -> Option<String> {
    let Some(device) = device_of(endpoint.address, view) else {
        return Some("is not an address of this machine".into());
    };
    let name = |index: u32| {
        view.links
            .get(&index)
            .map_or("?", |link| link.name.as_str())
    };
    let is_named = |device: u32| {
        let allowed = daemon.and_then(|daemon| daemon.allowed.as_ref());
        allowed.is_some_and(|allowed| allowed.iter().any(|allowed| allowed == name(device)))
    };
    if let Some(kind) = elsewhere(device, view).filter(|_| !is_named(device)) {
        return Some(format!(
            "is on {}, a device of kind {kind}: connections open subflows from it",
            name(device)
        ));
    }
    let knows = daemon.is_some_and(|daemon| daemon.allowed.is_some());
    let may = |link: &Link| match knows {
        true => is_named(link.index),
        false => elsewhere(link.index, view).is_none(),
    };
    let tunnels = foreign::taking(view, may);
    let mut others: Vec<&u32> = tunnels.keys().filter(|tunnel| **tunnel != device).collect();
    others.sort_by_key(|tunnel| !is_default(**tunnel, view));
    if let Some(tunnel) = others.first().filter(|_| endpoint.subflow) {
        let some = if is_default(**tunnel, view) {
            ""
        } else {
            " to some networks"
        };
        let (from, tunnel) = (name(device), name(**tunnel));
        return Some(format!(
            "on {from} lets connections{some} bypass the tunnel {tunnel}"
        ));
    }
    (daemon.is_some() && !own).then(|| {
        format!(
            "on {} belongs to another program, while the daemon runs",
            name(device)
        )
    })
}

fn device_of(address: IpAddr, view: &View) -> Option<u32> {
    view.addresses
        .iter()
        .find(|one| one.address == address)
        .map(|one| one.device)
}

/// Kind of a device that leads to a tunnel or a container.
fn elsewhere(device: u32, view: &View) -> Option<&str> {
    view.links
        .get(&device)?
        .kind
        .as_deref()
        .filter(|kind| !LINKS.contains(kind))
}

/// True if some table has a default route through the device, whole or in halves.
fn is_default(device: u32, view: &View) -> bool {
    view.routes.iter().any(|route| {
        route.kind == RouteKind::Unicast
            && route.destination.length() <= HALF
            && route.hops.iter().any(|hop| hop.device == Some(device))
    })
}

#[cfg(test)]
mod tests {
    use joulepath_kernel::mptcp::AddressId;
    use joulepath_kernel::route::{Prefix, Route};

    use super::*;
    use crate::samples;

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    /// wlan0 (2) with 192.0.2.7 and the default route; wg0 (3) with 10.8.0.2; docker0 (4) with
    /// 172.17.0.1.
    fn view() -> View {
        let mut view = View::default();
        for (index, name, kind, address) in [
            (2, "wlan0", None, "192.0.2.7"),
            (3, "wg0", Some("wireguard"), "10.8.0.2"),
            (4, "docker0", Some("bridge"), "172.17.0.1"),
        ] {
            let link = Link {
                kind: kind.map(str::to_owned),
                ..samples::link(index, name, true)
            };
            view.links.insert(index, link);
            view.addresses.insert(samples::address(index, address));
        }
        view.routes.insert(Route::via(
            Prefix::all_like(ip("192.0.2.1")),
            ip("192.0.2.1"),
            2,
        ));
        view
    }

    fn endpoint(id: u8, address: &str, device: u32) -> Endpoint {
        Endpoint {
            id: Some(AddressId(id)),
            ..Endpoint::subflow(ip(address), device)
        }
    }

    fn whats(leaks: &Leaks) -> Vec<&str> {
        leaks.leaks.iter().map(|leak| leak.what.as_str()).collect()
    }

    #[test]
    fn an_endpoint_with_an_address_of_hardware_is_no_leak() {
        let endpoints = [endpoint(1, "192.0.2.7", 2)];
        let expected = Leaks {
            endpoints: 1,
            own: None,
            leaks: vec![],
        };
        assert_eq!(found(&endpoints, &view(), None), expected);
    }

    #[test]
    fn endpoints_on_tunnels_containers_and_removed_addresses_are_leaks() {
        let endpoints = [
            endpoint(1, "10.8.0.2", 3),
            endpoint(2, "172.17.0.1", 4),
            endpoint(3, "198.51.100.9", 2),
        ];
        let leaks = found(&endpoints, &view(), None);
        let expected = [
            "10.8.0.2 is on wg0, a device of kind wireguard: connections open subflows from it",
            "172.17.0.1 is on docker0, a device of kind bridge: connections open subflows from it",
            "198.51.100.9 is not an address of this machine",
        ];
        assert_eq!(whats(&leaks), expected);
        assert_eq!(leaks.leaks[1].fix, "ip mptcp endpoint delete id 2");
        // A VLAN is a link of this machine.
        let mut vlan = view();
        vlan.links.get_mut(&4).unwrap().kind = Some("vlan".into());
        assert_eq!(found(&endpoints[1..2], &vlan, None).leaks, []);
        // Endpoints that the kernel creates with a connection belong to no program.
        let implicit = Endpoint {
            subflow: false,
            ..endpoint(1, "10.8.0.2", 3)
        };
        assert_eq!(
            found(&[implicit], &view(), None),
            Leaks {
                endpoints: 0,
                own: None,
                leaks: vec![]
            }
        );
    }

    #[test]
    fn endpoints_on_hardware_bypass_a_full_tunnel() {
        let endpoints = [endpoint(1, "192.0.2.7", 2)];
        let past = "192.0.2.7 on wlan0 lets connections bypass the tunnel wg0";
        // Like wg-quick, in its own table; like OpenVPN, in halves.
        let mut own_table = view();
        own_table.routes.insert(Route {
            table: 51820,
            ..Route::on_link(Prefix::all_like(ip("10.8.0.2")), 3)
        });
        assert_eq!(whats(&found(&endpoints, &own_table, None)), [past]);
        let mut halves = view();
        for half in ["0.0.0.0", "128.0.0.0"] {
            halves
                .routes
                .insert(Route::on_link(Prefix::new(ip(half), 1).unwrap(), 3));
        }
        assert_eq!(whats(&found(&endpoints, &halves, None)), [past]);
        let mut split = view();
        split
            .routes
            .insert(Route::on_link(Prefix::new(ip("10.0.0.0"), 8).unwrap(), 3));
        let past = "192.0.2.7 on wlan0 lets connections to some networks bypass the tunnel wg0";
        assert_eq!(whats(&found(&endpoints, &split, None)), [past]);
    }

    #[test]
    fn with_a_daemon_foreign_endpoints_are_leaks_and_configured_devices_are_not() {
        let journal: Journal = serde_json::from_value(serde_json::json!({
            "endpoints": [{
                "id": 1, "address": "192.0.2.7", "interface": 2, "signal": false, "fullmesh": false,
                "backup": false, "may_be_backup": null, "may_be_absent": false, "replaces": false,
            }],
            "limits": null,
        }))
        .unwrap();
        let daemon = Daemon {
            journal,
            allowed: Some(vec!["wlan0".into(), "wg0".into()]),
        };
        let endpoints = [endpoint(1, "192.0.2.7", 2), endpoint(7, "10.8.0.2", 3)];
        let leaks = found(&endpoints, &view(), Some(&daemon));
        assert_eq!((leaks.endpoints, leaks.own), (2, Some(1)));
        assert_eq!(
            whats(&leaks),
            ["10.8.0.2 on wg0 belongs to another program, while the daemon runs"]
        );
        // The daemon removes its own leaking endpoints.
        let mut tunnelled = view();
        tunnelled
            .routes
            .insert(Route::on_link(Prefix::all_like(ip("10.8.0.2")), 3));
        assert_eq!(found(&endpoints[..1], &tunnelled, Some(&daemon)).leaks, []);
        let daemon = Daemon {
            allowed: Some(vec!["wlan0".into()]),
            ..daemon
        };
        let leaks = found(&endpoints[..1], &tunnelled, Some(&daemon));
        assert_eq!(leaks.leaks[0].fix, "joulepath live pause");
    }

    #[test]
    fn leaks_are_reported_with_the_command_that_removes_them() {
        let fine = finding(
            &Leaks {
                endpoints: 2,
                own: Some(2),
                leaks: vec![],
            },
            false,
        );
        assert_eq!(
            (fine.status, fine.detail.as_str()),
            (Status::Ok, "2, 2 of them the daemon's")
        );
        let leak = Leak {
            what: "10.8.0.2 is of wg0".into(),
            fix: "ip mptcp endpoint delete id 1".into(),
        };
        let leaks = Leaks {
            endpoints: 1,
            own: None,
            leaks: vec![leak],
        };
        let told = finding(&leaks, false);
        assert_eq!(told.status, Status::Limited);
        assert_eq!(told.detail, "1, no daemon runs here; 10.8.0.2 is of wg0");
        assert_eq!(told.fix, ["sudo ip mptcp endpoint delete id 1"]);
        assert_eq!(finding(&leaks, true).fix, ["ip mptcp endpoint delete id 1"]);
    }
}
