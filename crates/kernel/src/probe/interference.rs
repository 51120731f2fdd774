//! Programs that steer MPTCP in this network namespace, as we do.

use super::finding::Finding;
use super::status::Process;
use super::system::System;
use super::version::Version;

/// The first NetworkManager that sets MPTCP endpoints.
const MPTCP_SINCE: Version = Version(1, 40);
/// Folders of libraries whose `NetworkManager` is a folder for each version.
const LIBRARIES: [&str; 2] = ["/usr/lib", "/usr/lib64"];

/// The programs that set MPTCP endpoints as well, by their names.
pub fn managers(system: &dyn System) -> [(&'static str, Finding); 2] {
    [("NetworkManager", network_manager(system)), ("mptcpd", mptcpd(system))]
}

pub(super) fn network_manager(system: &dyn System) -> Finding {
    if !runs(system, "NetworkManager") {
        return Finding::ok("does not run");
    }
    let version = installed(system);
    if let Some(old) = version.filter(|version| *version < MPTCP_SINCE) {
        return Finding::ok(format!("{old} runs; it leaves MPTCP alone"));
    }
    let version = version.map_or_else(|| "a version not known".to_owned(), |version| version.to_string());
    Finding::limited(format!("{version} runs; it sets MPTCP endpoints of its own"))
        .mend(Process::of(system).as_root("nmcli connection modify NAME connection.mptcp-flags disabled"))
        .mend(Process::of(system).as_root("nmcli connection up NAME"))
}

pub(super) fn mptcpd(system: &dyn System) -> Finding {
    match runs(system, "mptcpd") {
        true => Finding::limited("runs; it opens and closes subflows of its own")
            .mend(Process::of(system).as_root("systemctl stop mptcp.service")),
        false => Finding::ok("does not run"),
    }
}

/// Whether a process of that name runs in this network namespace. One whose namespace is not told, because it
/// is another user's, counts as in it.
fn runs(system: &dyn System, program: &str) -> bool {
    let names = system.list("/proc").unwrap_or_default();
    let mut processes = names.iter().filter(|name| name.bytes().all(|byte| byte.is_ascii_digit()));
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

/// NetworkManager keeps its plugins in a folder that is named after its version:
/// `/usr/lib/ARCH/NetworkManager/1.42.4`.
fn installed(system: &dyn System) -> Option<Version> {
    let newest = |folder: &str| {
        let names = system.list(&format!("{folder}/NetworkManager")).unwrap_or_default();
        names.iter().filter_map(|name| Version::parse(name)).max()
    };
    let below = |library: &&str| {
        let names = system.list(library).unwrap_or_default();
        names.iter().filter_map(|name| newest(&format!("{library}/{name}"))).max()
    };
    LIBRARIES.iter().filter_map(|library| newest(library).max(below(library))).max()
}
