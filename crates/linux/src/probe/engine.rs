//! What the controllers need of the kernel.

use std::io;

use super::Finding;
use super::status::Process;
use super::system::{Attempt, System};
use super::version::Version;
use crate::error::Error;

/// The oldest kernel with all that is used: `bpf_rdonly_cast` is of 6.2, links for `struct_ops`, which let the kernel
/// unload a controller when its owner dies, of 6.4, `MPTCP_FULL_INFO` of 6.5.
pub const OLDEST_KERNEL: Version = Version(6, 5);

/// Where the kernel's types are described.
const BTF_FOLDER: &str = "/sys/kernel/btf";
/// Where loaded controllers are kept.
const BPFFS: &str = "/sys/fs/bpf";

/// The running kernel, as it calls itself.
pub(super) fn release(system: &dyn System) -> String {
    system
        .read("/proc/sys/kernel/osrelease")
        .map_or_else(|_| "unknown".to_owned(), |text| text.trim().to_owned())
}

pub(super) fn kernel(system: &dyn System) -> Finding {
    let release = release(system);
    match Version::parse(&release) {
        Some(version) if version >= OLDEST_KERNEL => Finding::ok(release),
        Some(_) => Finding::missing(format!("{release} is older than {OLDEST_KERNEL}")).newer_kernel(system),
        None => Finding::limited(format!("{release:?} is no version; {OLDEST_KERNEL} or newer is needed")),
    }
}

impl Finding {
    /// With how this distribution gets a newer kernel.
    fn newer_kernel(self, system: &dyn System) -> Self {
        let text = system.read("/etc/os-release").unwrap_or_default();
        let field = |name: &str| {
            let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='));
            value.unwrap_or_default().trim_matches('"')
        };
        let command = match (field("ID"), field("VERSION_CODENAME"), field("VERSION_ID")) {
            ("debian", "bookworm", _) => "apt install -t bookworm-backports linux-image-amd64".to_owned(),
            ("ubuntu", _, version) => format!("apt install linux-generic-hwe-{version}"),
            ("fedora", ..) => "dnf upgrade --refresh kernel".to_owned(),
            ("arch", ..) => "pacman -Syu linux".to_owned(),
            _ => return self.advise(format!("boot Linux {OLDEST_KERNEL} or newer")),
        };
        self.mend(Process::of(system).as_root(&command))
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
            .mend(Process::of(system).as_root("sysctl -w net.mptcp.enabled=1"));
    }
    match system.attempt(Attempt::MptcpSocket) {
        Ok(()) => Finding::ok("a socket opens, net.mptcp.enabled = 1"),
        Err(error) => error.into(),
    }
}

pub(super) fn btf(system: &dyn System) -> Finding {
    match system.list(BTF_FOLDER) {
        Ok(names) if names.iter().any(|name| name == "vmlinux") => {
            Finding::ok(format!("{BTF_FOLDER}/vmlinux"))
        }
        _ => Finding::missing("this kernel does not describe its types: built without CONFIG_DEBUG_INFO_BTF")
            .advise("boot a distribution's kernel"),
    }
}

pub(super) fn jit(system: &dyn System) -> Finding {
    match system.read("/proc/sys/net/core/bpf_jit_enable") {
        Ok(text) if text.trim() == "0" => Finding::missing("off, and controllers are not interpreted")
            .mend(Process::of(system).as_root("sysctl -w net.core.bpf_jit_enable=1")),
        Ok(text) => Finding::ok(format!("net.core.bpf_jit_enable = {}", text.trim())),
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            Finding::limited("only root sees whether it is on").mend("sudo joulepath doctor")
        }
        Err(_) => Finding::missing("this kernel was built without CONFIG_BPF_JIT")
            .advise("boot a distribution's kernel"),
    }
}

pub(super) fn capabilities(system: &dyn System) -> Finding {
    let process = Process::of(system);
    let lacking = process.lacks();
    if lacking.is_empty() {
        let all: Vec<_> = super::status::NEEDED.iter().map(|capability| capability.name).collect();
        return Finding::ok(all.join(", "));
    }
    if !process.is_root() {
        return Finding::denied(format!("this user lacks {}", lacking.join(", ")))
            .mend("sudo joulepath doctor");
    }
    let options: String = lacking.iter().map(|name| format!(" --cap-add {name}")).collect();
    Finding::denied(format!("root, but without {}: a container", lacking.join(", ")))
        .advise(format!("start the container with{options} --device /dev/net/tun"))
}

pub(super) fn controllers(system: &dyn System) -> Finding {
    let error = match system.attempt(Attempt::Controller) {
        Ok(()) => return Finding::ok("the kernel took one by struct_ops"),
        Err(error) => error,
    };
    let old = Version::parse(&release(system)).is_some_and(|version| version < OLDEST_KERNEL);
    match error {
        Error::Unsupported { why, .. } if old => Finding::missing(why).newer_kernel(system),
        error => error.into(),
    }
}

pub(super) fn bpffs(system: &dyn System) -> Finding {
    let mounts = system.read("/proc/self/mounts").unwrap_or_default();
    let mounted = mounts.lines().any(|line| {
        let mut fields = line.split(' ').skip(1);
        (fields.next(), fields.next()) == (Some(BPFFS), Some("bpf"))
    });
    match mounted {
        true => Finding::ok(format!("mounted on {BPFFS}")),
        false => Finding::missing(format!("not mounted on {BPFFS}: controllers cannot outlive the command"))
            .mend(Process::of(system).as_root(&format!("mount -t bpf bpf {BPFFS}"))),
    }
}
