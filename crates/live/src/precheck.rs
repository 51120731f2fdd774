//! Settings and programs on this machine that disable endpoints or compete with the daemon.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use joulepath_kernel::mptcp::path_manager;
use joulepath_kernel::probe::{Finding, Machine, Status, managers};
use joulepath_kernel::{Error, congestion};
use joulepath_model::live::{Intent, LiveConfig, Manager};

use crate::snapshot::Interface;

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

/// Warnings about names in the configuration `path` that nothing on this machine has, about the
/// interfaces that it forgets, and about those that `intent` does not use.
pub(crate) fn names(config: &LiveConfig, path: &Path, interfaces: &[Interface]) -> Vec<String> {
    let path = path.display();
    let is_listed = |one: &&Interface| one.kind.is_none() || config.allows(&one.name);
    let present = interfaces.iter().filter(is_listed);
    let present: Vec<&str> = present.map(|one| one.name.as_str()).collect();
    // A pattern is for interfaces that may come.
    let exact = |name: &&str| !name.contains('*');
    let written = || config.interfaces.iter().map(|one| one.name.as_str());
    let absent = written()
        .filter(exact)
        .filter(|name| !present.contains(name))
        .map(|name| {
            let present = present.join(", ");
            format!("{path}: no interface matches [[interface]] `{name}`; present: {present}")
        });
    let forgotten = interfaces
        .iter()
        .filter(|one| one.routed && one.kind.is_none() && !config.allows(&one.name))
        .filter(|one| !config.may_bypass(&one.name) && written().any(|name| exact(&name)))
        .map(|one| {
            let name = &one.name;
            format!(
                "{path}: no [[interface]] names {name}, which has a default route: it is used without \
                 quota, cost and energy model"
            )
        });
    let idle = interfaces.iter().filter_map(|one| {
        let known = config.interface(&one.name)?;
        let spends = matches!(config.intent, Intent::Aggregate | Intent::Overflow);
        let (name, intent) = (&one.name, config.intent.word());
        (spends && known.metered && known.intent.is_none()).then(|| {
            format!(
                "{name} is metered, so it stays a backup under `{intent}`: to use it, delete `metered` in \
                 {path}"
            )
        })
    });
    let controllers = config.controllers.iter().filter_map(|(intent, name)| {
        let fix = congestion::misspelt(name)?;
        let intent = intent.word();
        Some(format!(
            "{path}: [controllers] {intent}: there is no congestion controller `{name}`; {fix}"
        ))
    });
    absent
        .chain(forgotten)
        .chain(idle)
        .chain(controllers)
        .collect()
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

#[cfg(test)]
mod tests {
    use joulepath_model::scenario::read_live;

    use super::*;
    use crate::samples::seen;

    #[test]
    fn names_that_nothing_has_are_reported_once_with_what_there_is() {
        let interfaces = [seen(2, "wlan0"), seen(3, "wwan0")];
        for (text, expected) in [
            (
                "intent = \"frugal\"\n[[interface]]\nname = \"wl*\"\n[[interface]]\nname = \"eth*\"",
                &[][..],
            ),
            (
                "intent = \"frugal\"\n[[interface]]\nname = \"wlan0\"\n[[interface]]\nname = \"wwan1\"",
                &[
                    "live.toml: no interface matches [[interface]] `wwan1`; present: wlan0, wwan0",
                    "live.toml: no [[interface]] names wwan0, which has a default route",
                ],
            ),
            (
                "intent = \"aggregate\"\n[[interface]]\nname = \"ww*\"\nmetered = true",
                &["wwan0 is metered, so it stays a backup under `aggregate`: to use it, delete"],
            ),
            (
                "intent = \"frugal\"\n[controllers]\nfrugal = \"jp_hybird\"",
                &["there is no congestion controller `jp_hybird`; did you mean `jp_hybrid`?"],
            ),
        ] {
            let found = names(
                &read_live(text).unwrap(),
                Path::new("live.toml"),
                &interfaces,
            );
            assert_eq!(found.len(), expected.len(), "{found:?}");
            for (found, expected) in found.iter().zip(expected) {
                assert!(found.contains(expected), "{found}");
            }
        }
    }
}
