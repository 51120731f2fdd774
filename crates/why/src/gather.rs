//! Reads an observation from the running kernel.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::net::IpAddr;
use std::thread;
use std::time::{Duration, Instant};

use joulepath_kernel::mptcp::diag::{Diag, Listing};
use joulepath_kernel::mptcp::path_manager::{self, PathManager};
use joulepath_kernel::route::{Address, Flow, Routing, Scope};
use joulepath_kernel::{Result, counters};

use crate::observation::{Host, Lookup, Observation, Program, SCHEMA, Sample};

/// Time between two samples.
const INTERVAL: Duration = Duration::from_millis(250);
/// A listing that takes this part of the interval makes the interval longer: at most 5 % of a core.
const LISTING: u32 = 20;
/// Peers to which routes are looked up: more are not looked at.
const MOST_PEERS: usize = 256;
/// Settings that causes use.
const SYSCTLS: [&str; 11] = [
    "net.core.rmem_max",
    "net.core.wmem_max",
    "net.ipv4.conf.all.rp_filter",
    "net.ipv4.tcp_available_congestion_control",
    "net.ipv4.tcp_congestion_control",
    "net.ipv4.tcp_moderate_rcvbuf",
    "net.ipv4.tcp_mtu_probing",
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_wmem",
    "net.mptcp.enabled",
    "net.mptcp.scheduler",
];

/// Watches the network namespace of the calling thread for `length`.
///
/// # Errors
/// If the kernel cannot list connections or routes.
pub fn watch(length: Duration) -> Result<Observation<'static>> {
    let mut diag = Diag::open()?;
    let begin = Instant::now();
    let mut samples: Vec<Sample<'_>> = vec![];
    loop {
        let (at, is_last) = (
            begin.elapsed(),
            begin.elapsed() >= length && samples.len() > 1,
        );
        let listing = diag.list()?;
        let took = begin.elapsed().saturating_sub(at);
        let counters = if samples.is_empty() || is_last {
            counters::read()?
        } else {
            BTreeMap::new()
        };
        let (listing, counters) = (Cow::Owned(listing), Cow::Owned(counters));
        samples.push(Sample {
            at_s: at.as_secs_f64(),
            listing,
            counters,
        });
        if is_last {
            break;
        }
        let left = length.saturating_sub(begin.elapsed());
        thread::sleep(
            INTERVAL
                .max(took * LISTING)
                .min(left.max(Duration::from_millis(1))),
        );
    }
    let last = samples.last().map(|sample| &*sample.listing);
    let programs = last
        .map(|listing| programs(&inodes(listing)))
        .unwrap_or_default();
    let host = Host {
        programs,
        ..host(last, MOST_PEERS)?
    };
    Ok(Observation {
        schema: SCHEMA,
        samples,
        host,
    })
}

/// Configuration of the host, with routes to at most `most_peers` of the peers, without programs.
///
/// # Errors
/// If the kernel cannot list routes.
pub fn host(listing: Option<&Listing>, most_peers: usize) -> Result<Host> {
    let mut routing = Routing::open()?;
    let (links, addresses, routes) = (routing.links()?, routing.addresses()?, routing.routes()?);
    // A kernel without MPTCP has no path manager.
    let mut manager = PathManager::open().ok();
    let endpoints = manager
        .as_mut()
        .and_then(|manager| manager.endpoints().ok());
    let limits = manager.as_mut().and_then(|manager| manager.limits().ok());
    let mut sysctls: BTreeMap<String, String> = BTreeMap::new();
    let filters = links
        .iter()
        .map(|link| format!("net.ipv4.conf.{}.rp_filter", link.name));
    for name in SYSCTLS.into_iter().map(str::to_owned).chain(filters) {
        if let Some(value) = sysctl(&name) {
            sysctls.insert(name, value);
        }
    }
    let remotes = listing.map(remotes).unwrap_or_default();
    let mut lookups = vec![];
    for &destination in remotes.iter().take(most_peers) {
        for one in addresses.iter().filter(|one| reaches(one, destination)) {
            for bound in [None, Some(one.device)] {
                let through = routing.lookup(&Flow {
                    source: Some(one.address),
                    bound,
                    ..Flow::to(destination)
                })?;
                lookups.push(Lookup {
                    source: one.address,
                    bound,
                    destination,
                    through,
                });
            }
        }
    }
    let path_manager = path_manager::chosen().ok();
    Ok(Host {
        links,
        addresses,
        routes,
        endpoints,
        limits,
        path_manager,
        sysctls,
        lookups: lookups.into(),
        daemon: None,
        programs: BTreeMap::new(),
    })
}

fn reaches(one: &Address, destination: IpAddr) -> bool {
    one.scope == Scope::Universe && one.address.is_ipv4() == destination.is_ipv4()
}

/// The name's dots are separators, except in a device's name, as in `eth0.7`.
fn sysctl(name: &str) -> Option<String> {
    let path = match name
        .strip_prefix("net.ipv4.conf.")
        .and_then(|rest| rest.strip_suffix(".rp_filter"))
    {
        Some(device) => format!("/proc/sys/net/ipv4/conf/{device}/rp_filter"),
        None => format!("/proc/sys/{}", name.replace('.', "/")),
    };
    fs::read_to_string(path)
        .ok()
        .map(|text| text.trim().to_owned())
}

fn remotes(listing: &Listing) -> BTreeSet<IpAddr> {
    let connections = listing.connections.iter().map(|one| one.remote.ip());
    let plain = listing.plain.iter().map(|one| one.remote.ip());
    connections
        .chain(plain)
        .filter(|ip| !ip.is_loopback())
        .collect()
}

fn inodes(listing: &Listing) -> BTreeSet<u32> {
    let connections = listing.connections.iter().map(|one| one.inode);
    connections
        .chain(listing.plain.iter().map(|one| one.inode))
        .filter(|&inode| inode != 0)
        .collect()
}

/// The processes that hold these sockets and that this user may see.
fn programs(inodes: &BTreeSet<u32>) -> BTreeMap<u32, Program> {
    let mut found = BTreeMap::new();
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    for pid in processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok()) {
        let held: Vec<u32> = sockets(pid)
            .into_iter()
            .filter(|inode| inodes.contains(inode))
            .collect();
        if held.is_empty() {
            continue;
        }
        let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
        let program = Program {
            pid,
            name: name.trim_end().to_owned(),
        };
        for inode in held {
            found.entry(inode).or_insert_with(|| program.clone());
        }
    }
    found
}

/// Inodes of the sockets that a process holds; none if it is gone or belongs to another user.
pub fn sockets(pid: u32) -> Vec<u32> {
    let files = fs::read_dir(format!("/proc/{pid}/fd"))
        .into_iter()
        .flatten()
        .flatten();
    let targets = files.filter_map(|file| fs::read_link(file.path()).ok());
    let inode = |target: std::path::PathBuf| {
        target
            .to_str()?
            .strip_prefix("socket:[")?
            .strip_suffix(']')?
            .parse()
            .ok()
    };
    targets.filter_map(inode).collect()
}
