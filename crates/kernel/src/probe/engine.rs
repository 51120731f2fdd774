//! What the controllers need from the kernel.

use std::io;

use super::finding::Finding;
use super::status::Process;
use super::system::{Attempt, System};
use super::version::Version;
use crate::capability::{Capabilities, Denial, Task};
use crate::error::Error;

/// The oldest kernel with all features in use: `bpf_rdonly_cast` exists since 6.2, `struct_ops`
/// links, which let the kernel unload a controller when its owner dies, since 6.4, and
/// `MPTCP_FULL_INFO` since 6.5.
pub const OLDEST_KERNEL: Version = Version(6, 5);

/// Descriptions of the kernel's types.
const BTF_FOLDER: &str = "/sys/kernel/btf";
/// Tasks of the kernel engine.
const ENGINE: [Task; 4] = [
    Task::Network,
    Task::Tun,
    Task::Namespaces,
    Task::Controllers,
];
/// The file system in which loaded controllers are pinned.
const BPFFS: &str = "/sys/fs/bpf";

/// The running kernel's release.
pub(super) fn release(system: &dyn System) -> String {
    system
        .read("/proc/sys/kernel/osrelease")
        .map_or_else(|_| "unknown".to_owned(), |text| text.trim().to_owned())
}

pub(super) fn kernel(system: &dyn System) -> Finding {
    let release = release(system);
    match Version::parse(&release) {
        Some(version) if version >= OLDEST_KERNEL => Finding::ok(release),
        Some(_) => Finding::missing(format!("{release} is older than {OLDEST_KERNEL}"))
            .newer_kernel(system),
        None => Finding::limited(format!(
            "{release:?} is not a version; {OLDEST_KERNEL} or newer is needed"
        )),
    }
}

impl Finding {
    /// Adds how this distribution installs a newer kernel.
    fn newer_kernel(self, system: &dyn System) -> Self {
        let text = system.read("/etc/os-release").unwrap_or_default();
        let field = |name: &str| {
            let value = text
                .lines()
                .find_map(|line| line.strip_prefix(name)?.strip_prefix('='));
            value.unwrap_or_default().trim_matches('"')
        };
        let command = match (field("ID"), field("VERSION_CODENAME"), field("VERSION_ID")) {
            ("debian", "bookworm", _) => {
                "apt install -t bookworm-backports linux-image-amd64".to_owned()
            }
            ("ubuntu", _, version) => format!("apt install linux-generic-hwe-{version}"),
            ("fedora", ..) => "dnf upgrade --refresh kernel".to_owned(),
            ("arch", ..) => "pacman -Syu linux".to_owned(),
            _ => return self.advise(format!("boot Linux {OLDEST_KERNEL} or newer")),
        };
        self.fix(Process::of(system).as_root(&command))
    }
}

pub(super) fn mptcp(system: &dyn System) -> Finding {
    let enabled = match system.read("/proc/sys/net/mptcp/enabled") {
        Ok(text) => text.trim() != "0",
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Finding::missing("this kernel was built without CONFIG_MPTCP")
                .advise("boot a distribution's kernel");
        }
        Err(error) => return Error::io("reading net.mptcp.enabled", error).into(),
    };
    if !enabled {
        return Finding::limited("off for programs outside a lab: net.mptcp.enabled = 0")
            .fix(Process::of(system).as_root("sysctl -w net.mptcp.enabled=1"));
    }
    match system.attempt(Attempt::MptcpSocket) {
        Ok(()) => Finding::ok("a socket opens, net.mptcp.enabled = 1"),
        Err(error) => error.into(),
    }
}

/// How programs that do not ask for MPTCP get it.
pub(super) fn programs(system: &dyn System) -> Finding {
    Finding::ok(match system.attempt(Attempt::Programs) {
        Ok(()) => "by BPF, also static and setuid ones".to_owned(),
        Err(error) => {
            format!(
                "by a preloaded library or Go's switch; static and setuid ones stay TCP. {error}"
            )
        }
    })
}

pub(super) fn btf(system: &dyn System) -> Finding {
    match system.list(BTF_FOLDER) {
        Ok(names) if names.iter().any(|name| name == "vmlinux") => {
            Finding::ok(format!("{BTF_FOLDER}/vmlinux"))
        }
        _ => Finding::missing(
            "this kernel does not describe its types: built without CONFIG_DEBUG_INFO_BTF",
        )
        .advise("boot a distribution's kernel"),
    }
}

/// A setting that every kernel has, but only the machine's first network namespace shows.
const FIRST_NAMESPACE_ONLY: &str = "/proc/sys/net/core/netdev_max_backlog";

pub(super) fn jit(system: &dyn System) -> Finding {
    match system.read("/proc/sys/net/core/bpf_jit_enable") {
        Ok(text) if text.trim() == "0" => Finding::missing("off, but controllers require it")
            .fix(Process::of(system).as_root("sysctl -w net.core.bpf_jit_enable=1")),
        Ok(text) => Finding::ok(format!("net.core.bpf_jit_enable = {}", text.trim())),
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            Finding::limited("only root sees whether it is on").fix("sudo joulepath doctor")
        }
        // Only the machine's first network namespace shows the setting. If a controller can be
        // loaded, the JIT is on or eBPF is never interpreted.
        Err(_) if system.attempt(Attempt::Controller).is_ok() => {
            Finding::ok("on, since a controller loads")
        }
        Err(_) if system.read(FIRST_NAMESPACE_ONLY).is_err() => {
            Finding::limited("only the machine's first network namespace shows whether it is on")
        }
        Err(_) => Finding::missing("this kernel was built without CONFIG_BPF_JIT")
            .advise("boot a distribution's kernel"),
    }
}

pub(super) fn capabilities(system: &dyn System) -> Finding {
    let process = Process::of(system);
    let all = |tasks: &[Task]| {
        tasks
            .iter()
            .fold(Capabilities::NONE, |all, task| all.and(task.needs()))
    };
    let lacking = all(&Task::ALL).without(process.capabilities());
    let detail = lacking
        .names()
        .iter()
        .map(|name| missing_capability(name))
        .collect::<Vec<_>>()
        .join("; ");
    let essential = all(&ENGINE).without(process.capabilities());
    if essential.is_empty() && !system.in_initial_user_namespace() {
        return Finding::denied("those of a user namespace, which do not count for eBPF")
            .advise(Denial::UserNamespace.remedy());
    }
    if lacking.is_empty() {
        return Finding::ok(all(&Task::ALL).names().join(", "));
    }
    if essential.is_empty() {
        return Finding::limited(detail);
    }
    if !process.is_root() {
        return Finding::denied(detail).fix("sudo joulepath doctor");
    }
    // Docker and similar tools omit the prefix.
    let option = |name: &String| format!(" --cap-add {}", name.trim_start_matches("CAP_"));
    let options: String = essential.names().iter().map(option).collect();
    Finding::denied(format!("root in a container: {detail}")).advise(format!(
        "start the container with{options} --device /dev/net/tun"
    ))
}

/// Describes what fails without a capability: `CAP_NET_ADMIN is missing for TUN devices`.
fn missing_capability(name: &str) -> String {
    let needs = |task: &&Task| task.needs().names().iter().any(|needed| needed == name);
    let titles: Vec<&str> = Task::ALL
        .iter()
        .filter(needs)
        .map(|task| task.title())
        .collect();
    format!("{name} is missing for {}", titles.join(", "))
}

pub(super) fn controllers(system: &dyn System) -> Finding {
    let error = match system.attempt(Attempt::Controller) {
        Ok(()) => return Finding::ok("the kernel accepts one by struct_ops"),
        Err(error) => error,
    };
    let old = Version::parse(&release(system)).is_some_and(|version| version < OLDEST_KERNEL);
    match error {
        Error::Unsupported { why, .. } if old => Finding::missing(why).newer_kernel(system),
        error => error.into(),
    }
}

pub(super) fn bpffs(system: &dyn System) -> Finding {
    let process = Process::of(system);
    let may_mount = Task::MountBpffs
        .needs()
        .without(process.capabilities())
        .is_empty();
    match system.attempt(Attempt::BpfFileSystem) {
        Ok(()) => {}
        Err(_) if may_mount => return Finding::ok("not mounted: `cc load` mounts it"),
        Err(error) => {
            let finding = Finding::missing(format!(
                "not mounted on {BPFFS}: controllers cannot outlive the command"
            ));
            return match error {
                Error::Unsupported { remedy, .. } => finding.fix(process.as_root(&remedy)),
                error => Finding::from(error),
            };
        }
    }
    match system.attempt(Attempt::Pins) {
        Ok(()) => Finding::ok(format!("{BPFFS}/joulepath is writable")),
        Err(error) => Finding::denied(error.to_string())
            .fix(process.as_root(&format!("chmod a+x {BPFFS}")))
            .fix(process.as_root(&format!("install -d -o $(id -un) {BPFFS}/joulepath"))),
    }
}

pub(super) fn states(system: &dyn System) -> Finding {
    match system.attempt(Attempt::States) {
        Ok(()) => Finding::ok("/run/joulepath is writable"),
        Err(error) => Finding::denied(error.to_string())
            .fix(Process::of(system).as_root("install -d -o $(id -un) /run/joulepath")),
    }
}
