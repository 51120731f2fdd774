//! What about this machine keeps endpoints from doing anything, or does the same work.

use std::fs;
use std::os::unix::fs::MetadataExt;

use joulepath_kernel::Error;
use joulepath_kernel::mptcp::path_manager;
use joulepath_kernel::probe::{Finding, Machine, Status, managers};
use joulepath_model::live::Manager;

/// Strict reverse-path filtering (`net.ipv4.conf.*.rp_filter`).
const STRICT: u32 = 1;

/// What makes the daemon useless here.
pub(crate) fn blockers(manager: Manager) -> Vec<Error> {
    let mut blockers = vec![];
    if number("net/mptcp/enabled") == Some(0) {
        blockers.push(Error::Unsupported {
            what: "managing MPTCP's paths".into(),
            why: "MPTCP is switched off in this network namespace".into(),
            remedy: "sysctl -w net.mptcp.enabled=1".into(),
        });
    }
    let chosen = path_manager::chosen().ok().filter(|name| name != path_manager::KERNEL);
    if let (Manager::Kernel, Some(name)) = (manager, chosen) {
        blockers.push(Error::Unsupported {
            what: "managing MPTCP's paths".into(),
            why: format!("new connections here have the path manager {name}, not the kernel's"),
            remedy: "sysctl -w net.mptcp.pm_type=0, or begin with --pm userspace".into(),
        });
    }
    blockers
}

/// What the user should know; `used` are the interfaces that have endpoints, `disputed` those whose endpoints
/// another program has set.
pub(crate) fn warnings(used: &[String], disputed: &[String]) -> Vec<String> {
    let [(_, network_manager), (_, mptcpd)] = managers(&Machine::default());
    let mut warnings = vec![];
    if !disputed.is_empty() {
        let what = format!(
            "another program has set the endpoints of {}: they are left as they are, and the daemon \
             steers nothing there until they are gone",
            disputed.join(", ")
        );
        warnings.push(match network_manager.status == Status::Limited {
            true => format!("{what}. NetworkManager {}", advice(&network_manager)),
            false => format!("{what} (`ip mptcp endpoint` lists them)"),
        });
    }
    if mptcpd.status == Status::Limited {
        warnings.push(format!("mptcpd {}", advice(&mptcpd)));
    }
    let filter = |name: &str| number(&format!("net/ipv4/conf/{name}/rp_filter")).unwrap_or(0);
    // The stricter of both counts, where 2 is looser than 1 but larger.
    let is_strict = |name: &&String| filter(name).max(filter("all")) == STRICT;
    warnings.extend(used.iter().filter(is_strict).map(|name| {
        format!(
            "{name} drops what comes in by another way than it would go out (rp_filter is 1): \
             sysctl -w net.ipv4.conf.{name}.rp_filter=2"
        )
    }));
    warnings
}

fn advice(finding: &Finding) -> String {
    match finding.mend.is_empty() {
        true => finding.detail.clone(),
        false => format!("{} ({})", finding.detail, finding.mend.join("; ")),
    }
}

/// The effective user: to whom the own folder in `/proc` belongs; root if that is not known.
pub(crate) fn own_uid() -> u32 {
    fs::metadata("/proc/self").map_or(0, |found| found.uid())
}

fn number(sysctl: &str) -> Option<u32> {
    fs::read_to_string(format!("/proc/sys/{sysctl}")).ok()?.trim().parse().ok()
}
