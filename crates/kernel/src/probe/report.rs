//! All facts in order, and the verdicts.

use serde::Serialize;

use super::finding::{Finding, Status};
use super::status::Process;
use super::system::System;
use super::{engine, interference, lab, meters};

/// Subject of a fact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Group {
    /// Controllers in the kernel.
    KernelEngine,
    /// Namespaces and emulated links.
    Lab,
    /// Energy meters.
    EnergyMeters,
    /// Other programs that configure MPTCP.
    Interference,
}

impl Group {
    /// All groups, in the order of the table.
    pub const ALL: [Group; 4] = [
        Group::KernelEngine,
        Group::Lab,
        Group::EnergyMeters,
        Group::Interference,
    ];
}

/// A fact about this machine.
#[derive(Clone, Debug, Serialize)]
pub struct Fact {
    /// Its identifier for programs; stable across versions.
    pub name: &'static str,
    /// Its name for users.
    pub title: &'static str,
    /// Its subject.
    pub group: Group,
    /// Commands that need it.
    pub needed_for: &'static [&'static str],
    /// True if the kernel engine cannot run without it.
    pub essential: bool,
    /// Its status.
    #[serde(flatten)]
    pub finding: Finding,
}

/// Result of all checks.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The running kernel's release.
    pub release: String,
    /// True if the user is root.
    pub root: bool,
    /// Verdict on running the kernel engine.
    pub kernel_engine: Verdict,
    /// Verdict on loading controllers permanently (`cc load`).
    pub cc: Verdict,
    /// The facts, sorted by group.
    pub facts: Vec<Fact>,
}

/// Whether this machine can do a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// Everything is in place.
    Ready,
    /// Everything exists, but this user may not use it.
    Denied,
    /// Something is missing.
    Missing,
}

/// Facts that `cc load` requires.
const FOR_CC: [&str; 6] = ["kernel", "btf", "bpf_jit", "controllers", "bpffs", "states"];

/// Combines the facts that count; missing outweighs denied.
fn verdict(facts: &[Fact], counts: impl Fn(&Fact) -> bool) -> Verdict {
    let some = |status| {
        facts
            .iter()
            .any(|fact| counts(fact) && fact.finding.status == status)
    };
    match (some(Status::Missing), some(Status::Denied)) {
        (true, _) => Verdict::Missing,
        (false, true) => Verdict::Denied,
        (false, false) => Verdict::Ready,
    }
}

/// How to check a fact.
struct Check {
    name: &'static str,
    title: &'static str,
    group: Group,
    needed_for: &'static [&'static str],
    essential: bool,
    find: fn(&dyn System) -> Finding,
}

const COMPARE: &str = "compare --engine kernel";
const CC: &str = "cc";
const CC_LOAD: &str = "cc load";
const CC_DEFAULT: &str = "cc default";
const LAB: &str = "lab";
const RUN: &str = "run";
const MEASURED: &str = "measured energy";

/// All checks, in the order of the table.
const CHECKS: [Check; 23] = {
    const fn engine(
        name: &'static str,
        title: &'static str,
        find: fn(&dyn System) -> Finding,
    ) -> Check {
        Check {
            name,
            title,
            group: Group::KernelEngine,
            needed_for: &[COMPARE, CC, LAB],
            essential: true,
            find,
        }
    }
    const fn lab(
        name: &'static str,
        title: &'static str,
        essential: bool,
        find: fn(&dyn System) -> Finding,
    ) -> Check {
        Check {
            name,
            title,
            group: Group::Lab,
            needed_for: &[COMPARE, LAB],
            essential,
            find,
        }
    }
    const fn meter(
        name: &'static str,
        title: &'static str,
        find: fn(&dyn System) -> Finding,
    ) -> Check {
        Check {
            name,
            title,
            group: Group::EnergyMeters,
            needed_for: &[MEASURED],
            essential: false,
            find,
        }
    }
    const fn other(
        name: &'static str,
        title: &'static str,
        find: fn(&dyn System) -> Finding,
    ) -> Check {
        Check {
            name,
            title,
            group: Group::Interference,
            needed_for: &[CC_DEFAULT],
            essential: false,
            find,
        }
    }
    [
        engine("kernel", "kernel", engine::kernel),
        engine("mptcp", "MPTCP", engine::mptcp),
        Check {
            name: "programs",
            title: "programs on MPTCP",
            group: Group::KernelEngine,
            needed_for: &[RUN],
            essential: false,
            find: engine::programs,
        },
        engine("btf", "BTF", engine::btf),
        engine("bpf_jit", "BPF JIT", engine::jit),
        engine("capabilities", "capabilities", engine::capabilities),
        engine("controllers", "controllers load", engine::controllers),
        Check {
            name: "bpffs",
            title: "BPF file system",
            group: Group::KernelEngine,
            needed_for: &[CC_LOAD],
            essential: false,
            find: engine::bpffs,
        },
        Check {
            name: "states",
            title: "state folder",
            group: Group::KernelEngine,
            needed_for: &[CC_LOAD, CC_DEFAULT, LAB],
            essential: false,
            find: engine::states,
        },
        lab("namespaces", "namespaces", true, lab::namespaces),
        lab("tun", "TUN", true, lab::tun),
        lab("ipv6", "IPv6", false, lab::ipv6),
        lab(
            "congestion_controls",
            "congestion control",
            false,
            lab::congestion_controls,
        ),
        lab("schedulers", "schedulers", false, lab::schedulers),
        lab("path_managers", "path managers", false, lab::path_managers),
        lab("clock", "clock", false, lab::clock),
        lab("lateness", "lateness", false, lab::lateness),
        lab("cores", "cores", false, lab::cores),
        meter("rapl", "RAPL", meters::rapl),
        meter("battery", "battery", meters::battery),
        meter("hwmon", "hwmon", meters::hwmon),
        other(
            "networkmanager",
            "NetworkManager",
            interference::network_manager,
        ),
        other("mptcpd", "mptcpd", interference::mptcpd),
    ]
};

/// Runs all checks.
pub fn examine(system: &dyn System) -> Report {
    let facts: Vec<Fact> = CHECKS
        .iter()
        .map(|check| Fact {
            name: check.name,
            title: check.title,
            group: check.group,
            needed_for: check.needed_for,
            essential: check.essential,
            finding: (check.find)(system),
        })
        .collect();
    Report {
        release: engine::release(system),
        root: Process::of(system).is_root(),
        kernel_engine: verdict(&facts, |fact| fact.essential),
        cc: verdict(&facts, |fact| FOR_CC.contains(&fact.name)),
        facts,
    }
}
