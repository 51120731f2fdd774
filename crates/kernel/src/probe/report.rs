//! All facts, in their order, and what follows from them.

use serde::Serialize;

use super::finding::{Finding, Status};
use super::status::Process;
use super::system::System;
use super::{engine, interference, lab, meters};

/// What a fact is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Group {
    /// Controllers in the kernel.
    KernelEngine,
    /// Namespaces and emulated links.
    Lab,
    /// Measured joules.
    EnergyMeters,
    /// Others who steer MPTCP.
    Interference,
}

impl Group {
    /// All, in the order of the table.
    pub const ALL: [Group; 4] = [Group::KernelEngine, Group::Lab, Group::EnergyMeters, Group::Interference];
}

/// A fact about this machine.
#[derive(Clone, Debug, Serialize)]
pub struct Fact {
    /// Its name for programs; the same in every version.
    pub name: &'static str,
    /// Its name for people.
    pub title: &'static str,
    /// What it is about.
    pub group: Group,
    /// Commands that need it.
    pub needed_for: &'static [&'static str],
    /// Whether the kernel engine cannot run without it.
    pub essential: bool,
    /// How it stands.
    #[serde(flatten)]
    pub finding: Finding,
}

/// All that was found.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The running kernel, as it calls itself.
    pub release: String,
    /// Whether the user is root.
    pub root: bool,
    /// Whether the kernel engine can run.
    pub kernel_engine: Verdict,
    /// Whether controllers can be loaded to stay (`cc load`).
    pub cc: Verdict,
    /// In the order of the groups.
    pub facts: Vec<Fact>,
}

/// Whether something can be done here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// It can.
    Ready,
    /// All is there, but not for this user.
    Denied,
    /// Something is not there.
    Missing,
}

/// What `cc load` cannot do without.
const FOR_CC: [&str; 6] = ["kernel", "btf", "bpf_jit", "controllers", "bpffs", "states"];

/// Whether all facts hold that count; what is missing weighs more than what is denied.
fn verdict(facts: &[Fact], counts: impl Fn(&Fact) -> bool) -> Verdict {
    let some = |status| facts.iter().any(|fact| counts(fact) && fact.finding.status == status);
    match (some(Status::Missing), some(Status::Denied)) {
        (true, _) => Verdict::Missing,
        (false, true) => Verdict::Denied,
        (false, false) => Verdict::Ready,
    }
}

/// Where a fact comes from.
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
const MEASURED: &str = "measured energy";

/// Every fact, in the order of the table.
const CHECKS: [Check; 22] = {
    const fn engine(name: &'static str, title: &'static str, find: fn(&dyn System) -> Finding) -> Check {
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
        Check { name, title, group: Group::Lab, needed_for: &[COMPARE, LAB], essential, find }
    }
    const fn meter(name: &'static str, title: &'static str, find: fn(&dyn System) -> Finding) -> Check {
        Check { name, title, group: Group::EnergyMeters, needed_for: &[MEASURED], essential: false, find }
    }
    const fn other(name: &'static str, title: &'static str, find: fn(&dyn System) -> Finding) -> Check {
        Check { name, title, group: Group::Interference, needed_for: &[CC_DEFAULT], essential: false, find }
    }
    [
        engine("kernel", "kernel", engine::kernel),
        engine("mptcp", "MPTCP", engine::mptcp),
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
        lab("congestion_controls", "congestion control", false, lab::congestion_controls),
        lab("schedulers", "schedulers", false, lab::schedulers),
        lab("path_managers", "path managers", false, lab::path_managers),
        lab("clock", "clock", false, lab::clock),
        lab("lateness", "lateness", false, lab::lateness),
        lab("cores", "cores", false, lab::cores),
        meter("rapl", "RAPL", meters::rapl),
        meter("battery", "battery", meters::battery),
        meter("hwmon", "hwmon", meters::hwmon),
        other("networkmanager", "NetworkManager", interference::network_manager),
        other("mptcpd", "mptcpd", interference::mptcpd),
    ]
};

/// Looks at everything.
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
