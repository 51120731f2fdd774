//! A join leaves through the wrong device, or the reverse-path filter drops its answers.

use joulepath_kernel::route::Address;

use super::joins::{failed, leaves_correctly, unused_share};
use crate::finding::{Finding, Fix};
use crate::subject::{Alternative, Subject};

pub(super) const NAME: &str = "wrong-device";

/// The value of `rp_filter` that drops packets from a device to which no route leads back (RFC 3704, 2.2).
const STRICT: u64 = 1;

pub(super) fn find(subject: &Subject<'_>) -> Option<Finding> {
    let remote = subject.remote.ip();
    let (mut evidence, mut commands, mut names) = (vec![], vec![], vec![]);
    for (one, endpoint) in failed(subject) {
        let bound = endpoint.interface;
        if leaves_correctly(subject, &one, endpoint) == Some(false) {
            let through = subject.host.route(endpoint.address, bound, remote).flatten();
            let device = through.map_or("nowhere".into(), |index| subject.host.device_name(index));
            evidence.push(format!(
                "packets from {} to {remote} leave through {device}, not through {}",
                endpoint.address, one.name
            ));
            commands.extend(rules(subject, &one));
        } else if is_filtered(subject, &one) {
            let (dropped, _) = subject.counter("TcpExtIPReversePathFilter");
            evidence.push(format!(
                "rp_filter = {STRICT} on {}, and the way back to {remote} is another device; packets dropped \
                 on this host: {dropped}",
                one.name
            ));
            commands.push(format!("sysctl -w net.ipv4.conf.{}.rp_filter=2", one.name));
        } else {
            continue;
        }
        names.push(one.name);
    }
    let shared = names.first().and_then(|_| shared_subnet(subject));
    evidence.extend(shared);
    (!names.is_empty()).then(|| Finding {
        cause: NAME,
        verdict: format!("subflows from {} do not leave through it, or cannot return", names.join(", ")),
        evidence,
        cost: unused_share(subject, names.len()),
        fix: Fix::commands(commands),
        remedy: None,
        gain: None,
    })
}

/// The strict filter looks up the way back without the device that a socket is bound to.
fn is_filtered(subject: &Subject<'_>, one: &Alternative) -> bool {
    // The larger of both settings counts (Documentation/networking/ip-sysctl.rst).
    let settings = ["all", one.name.as_str()].map(|name| format!("net.ipv4.conf.{name}.rp_filter"));
    let strictest = settings.iter().filter_map(|name| subject.host.number(name, 0)).max();
    let back = subject.host.route(one.address, None, subject.remote.ip());
    let (dropped, _) = subject.counter("TcpExtIPReversePathFilter");
    strictest == Some(STRICT) && dropped > 0 && back.is_some_and(|device| device != Some(one.device))
}

/// A rule and a table for an address: the way that the kernel's documentation of MPTCP recommends.
fn rules(subject: &Subject<'_>, one: &Alternative) -> Vec<String> {
    let table = 100 + one.device;
    let hops =
        subject.host.routes.iter().filter(|route| route.destination.is_all()).flat_map(|route| &route.hops);
    let mut hops = hops.filter(|hop| hop.device == Some(one.device));
    let via = hops.find_map(|hop| hop.gateway).map_or(String::new(), |gateway| format!(" via {gateway}"));
    vec![
        format!("ip rule add from {} lookup {table}", one.address),
        format!("ip route add default{via} dev {} table {table}", one.name),
    ]
}

fn shared_subnet(subject: &Subject<'_>) -> Option<String> {
    let all: Vec<&Address> =
        subject.host.addresses.iter().filter(|one| one.address.is_ipv4() && one.length < 32).collect();
    let pairs = (0..all.len()).flat_map(|a| (a + 1..all.len()).map(move |b| (a, b)));
    let mut shared =
        pairs.filter(|&(a, b)| all[a].device != all[b].device && all[a].network() == all[b].network());
    let (a, b) = shared.next()?;
    let names = [a, b].map(|index| subject.host.device_name(all[index].device));
    Some(format!("{} and {} are in one subnet", names[0], names[1]))
}
