//! Other programs that configure MPTCP in this network namespace.

use super::finding::Finding;
use super::status::Process;
use super::system::System;
use super::version::Version;

/// The first version of NetworkManager that sets MPTCP endpoints.
const MPTCP_SINCE: Version = Version(1, 40);
/// Folders with libraries, whose subfolder `NetworkManager` contains a folder per version.
const LIBRARIES: [&str; 2] = ["/usr/lib", "/usr/lib64"];

/// Programs that set MPTCP endpoints, by name.
pub fn managers(system: &dyn System) -> [(&'static str, Finding); 2] {
    [
        ("NetworkManager", network_manager(system)),
        ("mptcpd", mptcpd(system)),
    ]
}

pub(super) fn network_manager(system: &dyn System) -> Finding {
    if !runs(system, "NetworkManager") {
        return Finding::ok("does not run");
    }
    let version = installed(system);
    if let Some(old) = version.filter(|version| *version < MPTCP_SINCE) {
        return Finding::ok(format!("{old} runs; it leaves MPTCP alone"));
    }
    let version = version.map_or_else(
        || "an unknown version".to_owned(),
        |version| version.to_string(),
    );
    Finding::limited(format!(
        "{version} runs; it sets MPTCP endpoints of its own"
    ))
    .fix(
        Process::of(system).as_root("nmcli connection modify NAME connection.mptcp-flags disabled"),
    )
    .fix(Process::of(system).as_root("nmcli connection up NAME"))
}

pub(super) fn mptcpd(system: &dyn System) -> Finding {
    match runs(system, "mptcpd") {
        true => Finding::limited("runs; it opens and closes subflows")
            .fix(Process::of(system).as_root("systemctl stop mptcp.service")),
        false => Finding::ok("does not run"),
    }
}

/// True if a process of that name runs in this network namespace. A process counts if its namespace
/// is unknown because it belongs to another user.
fn runs(system: &dyn System, program: &str) -> bool {
    let names = system.list("/proc").unwrap_or_default();
    let mut processes = names
        .iter()
        .filter(|name| name.bytes().all(|byte| byte.is_ascii_digit()));
    processes.any(|pid| {
        let name = system.read(&format!("/proc/{pid}/comm"));
        name.is_ok_and(|name| name.trim() == program) && is_here(system, pid)
    })
}

fn is_here(system: &dyn System, pid: &str) -> bool {
    let namespace = |pid: &str| system.link(&format!("/proc/{pid}/ns/net"));
    match (namespace("self"), namespace(pid)) {
        (Ok(own), Ok(other)) => own == other,
        _ => true,
    }
}

/// NetworkManager keeps its plugins in a folder with its version:
/// `/usr/lib/ARCH/NetworkManager/1.42.4`.
fn installed(system: &dyn System) -> Option<Version> {
    let newest = |folder: &str| {
        let names = system
            .list(&format!("{folder}/NetworkManager"))
            .unwrap_or_default();
        names.iter().filter_map(|name| Version::parse(name)).max()
    };
    let below = |library: &&str| {
        let names = system.list(library).unwrap_or_default();
        names
            .iter()
            .filter_map(|name| newest(&format!("{library}/{name}")))
            .max()
    };
    LIBRARIES
        .iter()
        .filter_map(|library| newest(library).max(below(library)))
        .max()
}
