//! A join leaves through the wrong device, or the reverse-path filter drops its answers.

use std::net::IpAddr;

use joulepath_kernel::route::Address;

use super::joins::{add, failed, unrouted, unused_share};
use crate::finding::{Finding, Fix};
use crate::subject::{Alternative, Subject};

pub(super) const NAME: &str = "wrong-device";

/// The value of `rp_filter` that drops packets from a device to which no route leads back (RFC
/// 3704, 2.2).
const STRICT: u64 = 1;

pub(super) fn find(subject: &Subject<'_>) -> Option<Finding> {
    let remote = subject.remote.ip();
    let (mut evidence, mut commands, mut advice) = (vec![], vec![], None);
    let mut found: Vec<Alternative> = vec![];
    for join in failed(subject) {
        if join.leaves_correctly(subject) == Some(false) {
            let through = subject
                .host
                .route(join.source, join.bound, remote)
                .flatten();
            let device = through.map_or("nowhere".into(), |index| subject.host.device_name(index));
            evidence.push(format!(
                "packets from {} to {remote} leave through {device}, not through {}",
                join.source, join.one.name
            ));
            commands.extend(rules(&join.one, &gateway(subject, &join.one)));
        } else if is_filtered(subject, &join.one) {
            let (dropped, _) = subject.counter("TcpExtIPReversePathFilter");
            evidence.push(format!(
                "rp_filter = {STRICT} on {}, and the way back to {remote} is another device; packets dropped \
                 on this host: {dropped}",
                join.one.name
            ));
            commands.push(format!(
                "sysctl -w net.ipv4.conf.{}.rp_filter=2",
                join.one.name.replace('.', "/")
            ));
        } else {
            continue;
        }
        found.push(join.one);
    }
    for join in unrouted(subject) {
        let name = &join.one.name;
        evidence.push(format!("no table has a route to {remote} through {name}"));
        // A socket that is bound to no device needs a rule, too.
        let route = |gateway: &str| match join.bound {
            Some(_) => {
                vec![format!(
                    "{} route add default{gateway} dev {name} metric 20000",
                    ip(join.source)
                )]
            }
            None => rules(&join.one, gateway),
        };
        match is_point_to_point(subject, &join.one) {
            true => commands.extend(route("")),
            false => {
                advice = Some(format!(
                    "give {name} a default route through its gateway, with a larger metric than the others: \
                     connect it again, or `{}`",
                    route(" via GATEWAY").join("; ")
                ));
            }
        }
        found.push(join.one);
    }
    let names: Vec<&str> = found.iter().map(|one| one.name.as_str()).collect();
    evidence.extend(names.first().and_then(|_| shared_subnet(subject)));
    (!names.is_empty()).then(|| Finding {
        cause: NAME,
        verdict: format!(
            "subflows from {} do not leave through it, or cannot return",
            names.join(", ")
        ),
        evidence,
        cost: unused_share(subject, names.len()),
        fix: Fix { commands, advice },
        remedy: add(&found),
        gain: None,
    })
}

/// The command of an address family: without `-6`, `ip` means IPv4.
pub(super) fn ip(address: IpAddr) -> &'static str {
    if address.is_ipv6() { "ip -6" } else { "ip" }
}

fn is_point_to_point(subject: &Subject<'_>, one: &Alternative) -> bool {
    let mut links = subject.host.links.iter();
    links.any(|link| link.index == one.device && link.point_to_point)
}

/// The strict filter looks up the way back without the device that a socket is bound to.
pub(super) fn is_filtered(subject: &Subject<'_>, one: &Alternative) -> bool {
    // The larger of both settings counts (Documentation/networking/ip-sysctl.rst).
    let settings = ["all", one.name.as_str()].map(|name| format!("net.ipv4.conf.{name}.rp_filter"));
    let strictest = settings
        .iter()
        .filter_map(|name| subject.host.number(name, 0))
        .max();
    // IPv6 has no such filter.
    let back = subject.host.route(one.address, None, subject.remote.ip());
    let (dropped, _) = subject.counter("TcpExtIPReversePathFilter");
    strictest == Some(STRICT)
        && dropped > 0
        && back.is_some_and(|device| device != Some(one.device))
}

/// A rule and a table for an address: the way that the kernel's documentation of MPTCP recommends.
fn rules(one: &Alternative, gateway: &str) -> Vec<String> {
    let (ip, table) = (ip(one.address), 100 + one.device);
    vec![
        format!("{ip} rule add from {} lookup {table}", one.address),
        format!(
            "{ip} route add default{gateway} dev {} table {table}",
            one.name
        ),
    ]
}

/// ` via GATEWAY` of an interface's default route.
pub(super) fn gateway(subject: &Subject<'_>, one: &Alternative) -> String {
    let defaults = subject
        .host
        .routes
        .iter()
        .filter(|route| route.destination.is_all());
    let same =
        defaults.filter(|route| route.destination.address().is_ipv4() == one.address.is_ipv4());
    let mut hops = same
        .flat_map(|route| &route.hops)
        .filter(|hop| hop.device == Some(one.device));
    hops.find_map(|hop| hop.gateway)
        .map_or(String::new(), |gateway| format!(" via {gateway}"))
}

fn shared_subnet(subject: &Subject<'_>) -> Option<String> {
    let all: Vec<&Address> = subject
        .host
        .addresses
        .iter()
        .filter(|one| one.address.is_ipv4() && one.length < 32)
        .collect();
    let pairs = (0..all.len()).flat_map(|a| (a + 1..all.len()).map(move |b| (a, b)));
    let mut shared = pairs
        .filter(|&(a, b)| all[a].device != all[b].device && all[a].network() == all[b].network());
    let (a, b) = shared.next()?;
    let names = [a, b].map(|index| subject.host.device_name(all[index].device));
    Some(format!("{} and {} are in one subnet", names[0], names[1]))
}
