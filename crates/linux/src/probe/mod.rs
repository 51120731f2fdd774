//! What this machine can do: one function for each fact, on a [`System`] that tests replace.
//!
//! | module | facts |
//! |---|---|
//! | `engine` | kernel, MPTCP, BTF, JIT, capabilities, controllers that load, where they stay |
//! | `lab` | namespaces, TUN, IPv6, what MPTCP offers in them, clock and cores |
//! | `meters` | energy that the machine measures itself |
//! | `interference` | programs that steer MPTCP as well |
//!
//! Nothing is changed by looking: what an attempt makes is gone when it returns.

mod engine;
mod interference;
mod lab;
mod meters;
mod status;
mod system;
mod version;

use serde::Serialize;

pub use engine::OLDEST_KERNEL;
pub use meters::RAPL_RULE;
pub use system::{Attempt, Machine, System};
pub use version::Version;

use crate::error::Error;

/// How a fact stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// It works.
    Ok,
    /// It works less well than it could, or in part.
    Limited,
    /// It is there, but not for this user.
    Denied,
    /// It is not there.
    Missing,
}

impl Status {
    /// As it is written, in the table and in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Status::Ok => "ok",
            Status::Limited => "limited",
            Status::Denied => "denied",
            Status::Missing => "missing",
        }
    }
}

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

/// What was found.
#[derive(Clone, Debug, Serialize)]
pub struct Finding {
    /// How it stands.
    pub status: Status,
    /// What is there, or why it is not.
    pub detail: String,
    /// The commands that mend it, one after the other.
    pub mend: Vec<String>,
    /// What to do about it where no command does.
    pub advice: Option<String>,
}

impl Finding {
    fn ok(detail: impl Into<String>) -> Self {
        Self::new(Status::Ok, detail)
    }

    fn limited(detail: impl Into<String>) -> Self {
        Self::new(Status::Limited, detail)
    }

    fn denied(detail: impl Into<String>) -> Self {
        Self::new(Status::Denied, detail)
    }

    fn missing(detail: impl Into<String>) -> Self {
        Self::new(Status::Missing, detail)
    }

    fn new(status: Status, detail: impl Into<String>) -> Self {
        Finding { status, detail: detail.into(), mend: Vec::new(), advice: None }
    }

    /// With the next command that mends it.
    fn mend(mut self, command: impl Into<String>) -> Self {
        self.mend.push(command.into());
        self
    }

    /// With what to do about it.
    fn advise(mut self, sentence: impl Into<String>) -> Self {
        self.advice = Some(sentence.into());
        self
    }
}

impl From<Error> for Finding {
    fn from(error: Error) -> Self {
        let (status, detail) = match &error {
            Error::Permission { .. } => (Status::Denied, error.to_string()),
            Error::Unsupported { why, .. } => (Status::Missing, why.clone()),
            Error::Io { .. } | Error::Run(_) => (Status::Missing, error.to_string()),
        };
        Finding { advice: error.remedy().map(str::to_owned), ..Finding::new(status, detail) }
    }
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
    /// In the order of the groups.
    pub facts: Vec<Fact>,
}

/// Whether the kernel engine can run.
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

/// Whether all essential facts hold; what is missing weighs more than what is denied.
fn verdict(facts: &[Fact]) -> Verdict {
    let some = |status| facts.iter().any(|fact| fact.essential && fact.finding.status == status);
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
const CHECKS: [Check; 20] = {
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
        lab("namespaces", "namespaces", true, lab::namespaces),
        lab("tun", "TUN", true, lab::tun),
        lab("ipv6", "IPv6", false, lab::ipv6),
        lab("congestion_controls", "congestion control", false, lab::congestion_controls),
        lab("schedulers", "schedulers", false, lab::schedulers),
        lab("path_managers", "path managers", false, lab::path_managers),
        lab("clock", "clock", false, lab::clock),
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
        root: status::Process::of(system).is_root(),
        kernel_engine: verdict(&facts),
        facts,
    }
}
