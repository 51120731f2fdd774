//! Settings and programs on this machine that disable endpoints or compete with the daemon.

use std::fs;
use std::os::unix::fs::MetadataExt;

use joulepath_kernel::Error;
use joulepath_kernel::mptcp::path_manager;
use joulepath_kernel::probe::{Finding, Machine, Status, managers};
use joulepath_model::live::Manager;

/// Strict reverse-path filtering (`net.ipv4.conf.*.rp_filter`).
const STRICT: u32 = 1;

/// Errors that make the daemon useless here.
pub(crate) fn blockers(manager: Manager) -> Vec<Error> {
    let mut blockers = vec![];
    if number("net/mptcp/enabled") == Some(0) {
        blockers.push(Error::Unsupported {
            what: "managing MPTCP's paths".into(),
            why: "MPTCP is switched off in this network namespace".into(),
            remedy: "sysctl -w net.mptcp.enabled=1".into(),
        });
    }
    let chosen = path_manager::chosen()
        .ok()
        .filter(|name| name != path_manager::KERNEL);
    if let (Manager::Kernel, Some(name)) = (manager, chosen) {
        blockers.push(Error::Unsupported {
            what: "managing MPTCP's paths".into(),
            why: format!("new connections use the path manager {name}, not the kernel's"),
            remedy: "sysctl -w net.mptcp.pm_type=0, or start with --pm userspace".into(),
        });
    }
    blockers
}

/// Warnings for the user. `used`: interfaces with endpoints; `disputed`: interfaces whose endpoints
/// another program has set, with addresses; `adopts`: true if they are taken over until that
/// program changes them.
pub(crate) fn warnings(used: &[String], disputed: &[String], adopts: bool) -> Vec<String> {
    let [(_, network_manager), (_, mptcpd)] = managers(&Machine::default());
    let mut warnings = vec![];
    if !disputed.is_empty() {
        let remedy = if adopts {
            ""
        } else {
            "; `sudo joulepath on --adopt` takes them over until `off`"
        };
        let what = format!(
            "another program has set the endpoints of {}: the daemon leaves them unchanged and does not \
             manage these interfaces until they are removed{remedy}",
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
    // The kernel applies the larger of both values, although 2 (loose) is weaker than 1 (strict).
    let is_strict = |name: &&String| filter(name).max(filter("all")) == STRICT;
    warnings.extend(used.iter().filter(is_strict).map(|name| {
        format!(
            "{name} drops packets whose replies would leave through another interface (rp_filter is 1): \
             sysctl -w net.ipv4.conf.{name}.rp_filter=2"
        )
    }));
    warnings
}

fn advice(finding: &Finding) -> String {
    match finding.fix.is_empty() {
        true => finding.detail.clone(),
        false => format!("{} ({})", finding.detail, finding.fix.join("; ")),
    }
}

/// The effective user: the owner of `/proc/self`; root if that is unknown.
pub(crate) fn own_uid() -> u32 {
    fs::metadata("/proc/self").map_or(0, |found| found.uid())
}

fn number(sysctl: &str) -> Option<u32> {
    fs::read_to_string(format!("/proc/sys/{sysctl}"))
        .ok()?
        .trim()
        .parse()
        .ok()
}
