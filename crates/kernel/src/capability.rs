//! What this process may do: Linux capabilities, and which task needs which.
//!
//! Only the effective capabilities of the calling thread count, never its user id: root in a container may
//! lack some, and an ordinary user may have been given some. Those of a user namespace hold for what belongs
//! to that namespace (its network namespaces, for instance), and not for eBPF, which belongs to the machine.

use std::fmt;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;

use rustix::thread::{CapabilitySet, capabilities};
use serde::{Deserialize, Serialize};

/// Inode of the machine's first user namespace (`PROC_USER_INIT_INO` in `include/linux/proc_ns.h`).
const INITIAL_USER_NAMESPACE: u64 = 0xefff_fffd;

/// A set of capabilities. It is written as capabilities(7) names them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "u64", into = "u64")]
pub struct Capabilities(CapabilitySet);

impl Capabilities {
    /// None.
    pub const NONE: Self = Capabilities(CapabilitySet::empty());

    /// The effective ones of the calling thread.
    ///
    /// # Errors
    /// On a kernel without capabilities, and where a seccomp rule forbids the question.
    pub fn effective() -> io::Result<Self> {
        Ok(Capabilities(capabilities(None)?.effective))
    }

    /// From a mask as `/proc/PID/status` shows it.
    pub fn from_mask(mask: u64) -> Self {
        Capabilities(CapabilitySet::from_bits_retain(mask))
    }

    /// Whether there are none.
    pub fn is_empty(self) -> bool {
        self.0.is_empty()
    }

    /// Those that are not in `others`.
    pub fn without(self, others: Self) -> Self {
        Capabilities(self.0.difference(others.0))
    }

    /// Those of both.
    pub fn and(self, others: Self) -> Self {
        Capabilities(self.0.union(others.0))
    }

    /// Their names: `CAP_BPF`.
    pub fn names(self) -> Vec<String> {
        self.0.iter_names().map(|(name, _)| format!("CAP_{name}")).collect()
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

/// `CAP_NET_ADMIN, CAP_BPF and CAP_PERFMON`.
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

/// What the kernel asks a capability for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Task {
    /// To change devices, addresses, routes and MPTCP endpoints, and to hear of MPTCP's events.
    Network,
    /// To make TUN devices.
    Tun,
    /// To make network namespaces, and to enter those of others.
    Namespaces,
    /// To look into the namespaces of all processes.
    Inspection,
    /// To set the default congestion controller of the own namespace.
    DefaultController,
    /// To load congestion controllers, to read their maps, and to move sockets in use from one to another.
    Controllers,
    /// To mount the BPF file system.
    MountBpffs,
    /// To count the run times of eBPF programs.
    RunTimes,
}

impl Task {
    /// All, as doctor.md lists them.
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

    /// What cannot be done without it, in a few words.
    pub fn title(self) -> &'static str {
        match self {
            Task::Network => "devices, routes and MPTCP endpoints",
            Task::Tun => "TUN devices",
            Task::Namespaces => "network namespaces",
            Task::Inspection => "a look into the namespaces of others",
            Task::DefaultController => "the default controller",
            Task::Controllers => "loading controllers",
            Task::MountBpffs => "mounting the BPF file system",
            Task::RunTimes => "counting run times",
        }
    }

    /// The capabilities without which it is refused.
    pub fn needs(self) -> Capabilities {
        Capabilities(match self {
            Task::Network | Task::Tun | Task::DefaultController => CapabilitySet::NET_ADMIN,
            Task::Namespaces | Task::MountBpffs | Task::RunTimes => CapabilitySet::SYS_ADMIN,
            Task::Inspection => CapabilitySet::SYS_ADMIN.union(CapabilitySet::SYS_PTRACE),
            Task::Controllers => CapabilitySet::BPF.union(CapabilitySet::PERFMON),
        })
    }

    /// Whether capabilities count that hold in a user namespace only.
    pub fn is_namespaced(self) -> bool {
        match self {
            Task::Network | Task::Tun | Task::Namespaces | Task::Inspection | Task::DefaultController => true,
            Task::Controllers | Task::MountBpffs | Task::RunTimes => false,
        }
    }

    /// Why this thread may not do it; none if the kernel should let it.
    pub fn denial(self) -> Option<Denial> {
        // Who cannot ask is told by the kernel.
        let lacking = self.needs().without(Capabilities::effective().ok()?);
        if !lacking.is_empty() {
            return Some(Denial::Lacks(lacking));
        }
        (!self.is_namespaced() && !in_initial_user_namespace()).then_some(Denial::UserNamespace)
    }
}

/// Why something is not permitted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Denial {
    /// Capabilities are missing.
    Lacks(Capabilities),
    /// The capabilities are there, but only in a user namespace.
    UserNamespace,
    /// The capabilities are there, and the kernel refuses all the same.
    Forbidden,
    /// A file's owner and mode do not permit it.
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
                "run it as root of the machine: outside of this container, or in a privileged one".into()
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

/// What is said in brackets after "not permitted".
impl fmt::Display for Denial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Denial::Lacks(lacking) => write!(f, "needs {lacking}"),
            Denial::UserNamespace => f.write_str("capabilities of a user namespace do not count for it"),
            Denial::Forbidden => f.write_str("although no capability is missing"),
            Denial::File => f.write_str("by the owner and the mode of the file"),
        }
    }
}

/// Whether this process is in the machine's first user namespace, where capabilities count for everything.
pub fn in_initial_user_namespace() -> bool {
    // Without /proc nothing is known, and the kernel will tell.
    fs::metadata("/proc/self/ns/user").map_or(true, |file| file.ino() == INITIAL_USER_NAMESPACE)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// CapEff of root without CAP_BPF (39) and CAP_PERFMON (38): (1 << 41) − 1 − (1 << 39) − (1 << 38).
    const ROOT_WITHOUT_BPF: u64 = 0x13f_ffff_ffff;

    #[test]
    fn what_is_missing_is_named_as_the_manual_names_it() {
        let lacking = Task::Controllers.needs().without(Capabilities::from_mask(ROOT_WITHOUT_BPF));
        assert_eq!(lacking.names(), ["CAP_PERFMON", "CAP_BPF"]);
        assert_eq!(lacking.to_string(), "CAP_PERFMON and CAP_BPF");
        assert_eq!(Task::Network.needs().to_string(), "CAP_NET_ADMIN");
        assert!(Task::Network.needs().without(Capabilities::from_mask(ROOT_WITHOUT_BPF)).is_empty());
    }

    #[test]
    fn a_set_survives_json() {
        for task in Task::ALL {
            let text = serde_json::to_string(&Denial::Lacks(task.needs())).unwrap();
            assert_eq!(serde_json::from_str::<Denial>(&text).unwrap(), Denial::Lacks(task.needs()));
        }
    }

    #[test]
    fn capabilities_of_the_calling_thread_count_and_not_its_user() {
        // A thread without any, whoever runs this test.
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
