//! Linux capabilities of this process, and the capabilities that each task needs.
//!
//! Only the effective capabilities of the calling thread count, not its user id: root in a
//! container may lack some, and an ordinary user may have some. Capabilities of a user namespace
//! apply to what belongs to that namespace (for example its network namespaces), but not to eBPF,
//! which belongs to the machine.

use std::fmt;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;

use rustix::thread::{CapabilitySet, capabilities};
use serde::{Deserialize, Serialize};

/// Inode of the machine's first user namespace (`PROC_USER_INIT_INO` in `include/linux/proc_ns.h`).
const INITIAL_USER_NAMESPACE: u64 = 0xefff_fffd;

/// A set of capabilities, displayed with the names of capabilities(7).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "u64", into = "u64")]
pub struct Capabilities(CapabilitySet);

impl Capabilities {
    /// The empty set.
    pub const NONE: Self = Capabilities(CapabilitySet::empty());

    /// The effective capabilities of the calling thread.
    ///
    /// # Errors
    /// An error on a kernel without capabilities, or if a seccomp rule forbids capget(2).
    pub fn effective() -> io::Result<Self> {
        Ok(Capabilities(capabilities(None)?.effective))
    }

    /// From a mask as `/proc/PID/status` shows it.
    pub fn from_mask(mask: u64) -> Self {
        Capabilities(CapabilitySet::from_bits_retain(mask))
    }

    /// True for the empty set.
    pub fn is_empty(self) -> bool {
        self.0.is_empty()
    }

    /// The capabilities in `self` that are not in `others`.
    pub fn without(self, others: Self) -> Self {
        Capabilities(self.0.difference(others.0))
    }

    /// The capabilities in both sets.
    pub fn and(self, others: Self) -> Self {
        Capabilities(self.0.union(others.0))
    }

    /// Their names, such as `CAP_BPF`.
    pub fn names(self) -> Vec<String> {
        self.0
            .iter_names()
            .map(|(name, _)| format!("CAP_{name}"))
            .collect()
    }
}

impl From<u64> for Capabilities {
    fn from(mask: u64) -> Self {
        Self::from_mask(mask)
    }
}

impl From<Capabilities> for u64 {
    fn from(capabilities: Capabilities) -> u64 {
        capabilities.0.bits()
    }
}

/// Writes `CAP_NET_ADMIN, CAP_BPF and CAP_PERFMON`.
impl fmt::Display for Capabilities {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.names();
        match names.split_last() {
            None => f.write_str("no capability"),
            Some((only, [])) => f.write_str(only),
            Some((last, others)) => write!(f, "{} and {last}", others.join(", ")),
        }
    }
}

/// A task for which the kernel requires a capability.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Task {
    /// Change devices, addresses, routes and MPTCP endpoints, and receive MPTCP events.
    Network,
    /// Create TUN devices.
    Tun,
    /// Create network namespaces, and enter those of other processes.
    Namespaces,
    /// Inspect the namespaces of all processes.
    Inspection,
    /// Set the default congestion controller of this namespace.
    DefaultController,
    /// Load congestion controllers, read their maps, and move open sockets between them.
    Controllers,
    /// Mount the BPF file system.
    MountBpffs,
    /// Measure the run times of eBPF programs.
    RunTimes,
}

impl Task {
    /// All tasks, in the order of doctor.md.
    pub const ALL: [Task; 8] = [
        Task::Network,
        Task::Tun,
        Task::Namespaces,
        Task::Inspection,
        Task::DefaultController,
        Task::Controllers,
        Task::MountBpffs,
        Task::RunTimes,
    ];

    /// What fails without it, in a few words.
    pub fn title(self) -> &'static str {
        match self {
            Task::Network => "devices, routes and MPTCP endpoints",
            Task::Tun => "TUN devices",
            Task::Namespaces => "network namespaces",
            Task::Inspection => "inspecting the namespaces of other processes",
            Task::DefaultController => "the default controller",
            Task::Controllers => "loading controllers",
            Task::MountBpffs => "mounting the BPF file system",
            Task::RunTimes => "counting run times",
        }
    }

    /// The capabilities that it requires.
    pub fn needs(self) -> Capabilities {
        Capabilities(match self {
            Task::Network | Task::Tun | Task::DefaultController => CapabilitySet::NET_ADMIN,
            Task::Namespaces | Task::MountBpffs | Task::RunTimes => CapabilitySet::SYS_ADMIN,
            Task::Inspection => CapabilitySet::SYS_ADMIN.union(CapabilitySet::SYS_PTRACE),
            Task::Controllers => CapabilitySet::BPF.union(CapabilitySet::PERFMON),
        })
    }

    /// True if capabilities of a user namespace suffice.
    pub fn is_namespaced(self) -> bool {
        match self {
            Task::Network
            | Task::Tun
            | Task::Namespaces
            | Task::Inspection
            | Task::DefaultController => true,
            Task::Controllers | Task::MountBpffs | Task::RunTimes => false,
        }
    }

    /// Why this thread may not do it; `None` if the kernel should allow it.
    pub fn denial(self) -> Option<Denial> {
        // If the query fails, the kernel reports the missing permission later.
        let lacking = self.needs().without(Capabilities::effective().ok()?);
        if !lacking.is_empty() {
            return Some(Denial::Lacks(lacking));
        }
        (!self.is_namespaced() && !in_initial_user_namespace()).then_some(Denial::UserNamespace)
    }
}

/// Why the kernel or a file's mode denies something.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Denial {
    /// These capabilities are missing.
    Lacks(Capabilities),
    /// The capabilities apply only in a user namespace.
    UserNamespace,
    /// The kernel refuses although the capabilities are present.
    Forbidden,
    /// A file's owner or mode does not permit it.
    File,
}

impl Denial {
    /// What the user can do about it.
    pub fn remedy(&self) -> String {
        match self {
            Denial::Lacks(lacking) => {
                format!("run it as root, for instance with sudo, or give this process {lacking}")
            }
            Denial::UserNamespace => {
                "run it as root outside this container, or in a privileged container".into()
            }
            Denial::Forbidden => {
                "a security module or a seccomp rule forbids it: see the kernel's log, or the container's \
                 rules"
                    .into()
            }
            Denial::File => "run it as root, for instance with sudo".into(),
        }
    }
}

/// The text in brackets after "not permitted".
impl fmt::Display for Denial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Denial::Lacks(lacking) => write!(f, "needs {lacking}"),
            Denial::UserNamespace => {
                f.write_str("capabilities of a user namespace do not count for it")
            }
            Denial::Forbidden => f.write_str("although no capability is missing"),
            Denial::File => f.write_str("the file's owner and mode forbid it"),
        }
    }
}

/// True if this process is in the machine's first user namespace, where capabilities apply to
/// everything.
pub fn in_initial_user_namespace() -> bool {
    // Without /proc the answer is unknown. Then the kernel refuses later if necessary.
    fs::metadata("/proc/self/ns/user").map_or(true, |file| file.ino() == INITIAL_USER_NAMESPACE)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// CapEff of root without CAP_BPF (39) and CAP_PERFMON (38): (1 << 41) − 1 − (1 << 39) − (1 <<
    /// 38).
    const ROOT_WITHOUT_BPF: u64 = 0x13f_ffff_ffff;

    #[test]
    fn capabilities_have_the_names_of_the_manual_page() {
        let lacking = Task::Controllers
            .needs()
            .without(Capabilities::from_mask(ROOT_WITHOUT_BPF));
        assert_eq!(lacking.names(), ["CAP_PERFMON", "CAP_BPF"]);
        assert_eq!(lacking.to_string(), "CAP_PERFMON and CAP_BPF");
        assert_eq!(Task::Network.needs().to_string(), "CAP_NET_ADMIN");
        assert!(
            Task::Network
                .needs()
                .without(Capabilities::from_mask(ROOT_WITHOUT_BPF))
                .is_empty()
        );
    }

    #[test]
    fn a_set_is_unchanged_after_json() {
        for task in Task::ALL {
            let text = serde_json::to_string(&Denial::Lacks(task.needs())).unwrap();
            assert_eq!(
                serde_json::from_str::<Denial>(&text).unwrap(),
                Denial::Lacks(task.needs())
            );
        }
    }

    #[test]
    fn the_threads_capabilities_count_and_its_user_does_not() {
        // A thread without capabilities, whatever user runs this test.
        let denials = std::thread::spawn(|| {
            let mut sets = capabilities(None).unwrap();
            sets.effective = CapabilitySet::empty();
            rustix::thread::set_capabilities(None, sets).unwrap();
            Task::ALL.map(Task::denial)
        });
        let expected = Task::ALL.map(|task| Some(Denial::Lacks(task.needs())));
        assert_eq!(denials.join().unwrap(), expected);
    }
}
