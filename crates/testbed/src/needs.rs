//! A test's requirements on the machine. The facts are determined here, independently of `joulepath
//! doctor`: a bug there must not disable the tests that would find it.

use std::fs::{self, OpenOptions};
use std::io::ErrorKind;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use rustix::net::{AddressFamily, Protocol, SocketType};

/// Something that a machine has or lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// User id 0 with the capabilities to create namespaces and to configure networks.
    Root,
    /// `/dev/net/tun` can be opened.
    Tun,
    /// A kernel with MPTCP enabled.
    Mptcp,
    /// A kernel that accepts congestion controllers as eBPF: BTF, a version, the capabilities to
    /// load programs.
    Bpf,
    /// A kernel that lets eBPF change the protocol of sockets: Linux 6.6 with function tracing and
    /// the symbols of variables.
    FmodRet,
    /// An IPv6 loopback address.
    Ipv6,
    /// Punctual timers: see [`crate::clock`].
    QuietClock,
    /// The right to change what all namespaces share.
    MachineState,
    /// No other test that measures rates beside it.
    Rates,
    /// No other test of the running kernel beside it.
    Alone,
    /// A program in `PATH`.
    Tool(&'static str),
    /// Several needs.
    All(&'static [Need]),
}

/// [`Need::Root`].
pub const ROOT: Need = Need::Root;
/// [`Need::Tun`].
pub const TUN: Need = Need::Tun;
/// [`Need::Mptcp`].
pub const MPTCP: Need = Need::Mptcp;
/// [`Need::Bpf`].
pub const BPF: Need = Need::Bpf;
/// Putting programs on MPTCP by eBPF.
pub const FMOD_RET: Need = Need::All(&[ROOT, MPTCP, BPF, Need::FmodRet]);
/// [`Need::Ipv6`].
pub const IPV6: Need = Need::Ipv6;
/// [`Need::QuietClock`]: for measurements to the millisecond. On a machine with late timers the
/// test is ignored, with the lateness; otherwise it runs up to three times, so that an error
/// persists and a hiccup does not.
pub const QUIET_CLOCK: Need = Need::QuietClock;
/// [`Need::MachineState`]: for [`crate::machine_wide_state`]. Tests that need it run one after
/// another, beside others.
pub const MACHINE_STATE: Need = Need::MachineState;
/// [`Need::Rates`]: for a test that compares rates. These tests run one after another, beside
/// others.
pub const RATES: Need = Need::Rates;
/// [`Need::Alone`]: for a test that looks at every process, controller or lab of the machine, or
/// that measures the limits of processors and memory.
pub const ALONE: Need = Need::Alone;
/// Namespaces joined by cables: [`crate::net::Net`].
pub const NET: Need = Need::All(&[ROOT, MPTCP, tool("ip")]);
/// A lab: namespaces joined by emulated radios.
pub const LAB: Need = Need::All(&[ROOT, TUN, MPTCP]);
/// The kernel engine: a lab and our controllers. Its tests compare rates and times.
pub const ENGINE: Need = Need::All(&[LAB, BPF, RATES]);

/// [`Need::Tool`].
#[must_use]
pub const fn tool(name: &'static str) -> Need {
    Need::Tool(name)
}

impl Need {
    /// The need's name after "needs".
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Need::Root => "root",
            Need::Tun => "/dev/net/tun",
            Need::Mptcp => "a kernel with MPTCP",
            Need::Bpf => "a kernel that accepts eBPF controllers",
            Need::FmodRet => "a kernel that lets eBPF change the protocol of sockets",
            Need::Ipv6 => "IPv6",
            Need::QuietClock => "a quiet clock",
            Need::MachineState => "the machine's shared state",
            Need::Rates => "a share of the processors",
            Need::Alone => "to run alone",
            Need::Tool(name) => name,
            Need::All(_) => "several things",
        }
    }
}

/// `needs` with every [`Need::All`] replaced by its members, in order, each once.
#[must_use]
pub fn flat(needs: &[Need]) -> Vec<Need> {
    let mut found = vec![];
    for need in needs {
        let members = match need {
            Need::All(members) => flat(members),
            single => vec![*single],
        };
        for member in members {
            if !found.contains(&member) {
                found.push(member);
            }
        }
    }
    found
}

/// Why a need is not met.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lack {
    /// What was observed, in a few words.
    pub detail: String,
    /// How to provide it on this machine; `None` if that takes other rights, hardware or another
    /// kernel.
    pub remedy: Option<String>,
}

impl Lack {
    fn for_good(detail: impl Into<String>) -> Self {
        Lack {
            detail: detail.into(),
            remedy: None,
        }
    }

    fn until(detail: impl Into<String>, remedy: impl Into<String>) -> Self {
        Lack {
            detail: detail.into(),
            remedy: Some(remedy.into()),
        }
    }
}

/// Facts about a machine.
pub trait Facts {
    /// Why the need is not met; `None` if it is. [`Need::QuietClock`] is measured when the test's
    /// turn comes. Never called for [`Need::All`].
    fn lacks(&self, need: Need) -> Option<Lack>;
}

/// This machine and this process's rights.
#[derive(Clone, Copy, Debug)]
pub struct ThisMachine;

impl Facts for ThisMachine {
    fn lacks(&self, need: Need) -> Option<Lack> {
        match need {
            Need::Root => lacks_root().map(Lack::for_good),
            Need::Tun => lacks_tun(),
            Need::Mptcp => lacks_mptcp(),
            Need::Bpf => lacks_bpf().map(Lack::for_good),
            Need::FmodRet => lacks_fmod_ret().map(Lack::for_good),
            Need::Ipv6 => lacks_ipv6(),
            Need::Tool(name) => lacks_tool(name),
            Need::QuietClock | Need::MachineState | Need::Rates | Need::Alone | Need::All(_) => {
                None
            }
        }
    }
}

// Numbers from linux/capability.h.
const CAP_NET_ADMIN: u32 = 12;
const CAP_SYS_ADMIN: u32 = 21;
const CAP_PERFMON: u32 = 38;
const CAP_BPF: u32 = 39;

/// `IPPROTO_MPTCP` of linux/in.h.
const MPTCP_PROTOCOL: u32 = 262;
const MPTCP_SWITCH: &str = "/proc/sys/net/mptcp/enabled";

/// struct_ops that read a socket's MPTCP connection require Linux 6.5.
const OLDEST_FOR_BPF: (u32, u32) = (6, 5);

fn lacks_root() -> Option<String> {
    let user = rustix::process::geteuid();
    if !user.is_root() {
        return Some(format!("user id {}", user.as_raw()));
    }
    let missing = [
        ("CAP_SYS_ADMIN", CAP_SYS_ADMIN),
        ("CAP_NET_ADMIN", CAP_NET_ADMIN),
    ]
    .into_iter()
    .filter(|&(_, number)| !has_capability(number));
    let missing: Vec<&str> = missing.map(|(name, _)| name).collect();
    (!missing.is_empty()).then(|| format!("root lacks {}", missing.join(" and ")))
}

fn has_capability(number: u32) -> bool {
    let status = fs::read_to_string("/proc/thread-self/status").unwrap_or_default();
    let effective = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let effective = effective.and_then(|text| u64::from_str_radix(text.trim(), 16).ok());
    effective.unwrap_or(0) >> number & 1 == 1
}

fn lacks_tun() -> Option<Lack> {
    // Opening it creates no device.
    let error = OpenOptions::new()
        .read(true)
        .write(true)
        .open("/dev/net/tun")
        .err()?;
    let has_driver = Path::new("/sys/class/misc/tun").exists();
    Some(match error.kind() {
        ErrorKind::NotFound if has_driver => Lack::until(
            error.to_string(),
            "mkdir -p /dev/net && mknod /dev/net/tun c 10 200",
        ),
        _ => Lack::for_good(error.to_string()),
    })
}

fn lacks_mptcp() -> Option<Lack> {
    let protocol = std::num::NonZeroU32::new(MPTCP_PROTOCOL).map(Protocol::from_raw);
    match rustix::net::socket(AddressFamily::INET, SocketType::STREAM, protocol) {
        // A kernel with MPTCP refuses the socket while MPTCP is disabled.
        Err(error) if !Path::new(MPTCP_SWITCH).exists() => Some(Lack::for_good(error.to_string())),
        Ok(_) if read(MPTCP_SWITCH) == "1" => None,
        _ => Some(Lack::until(
            "net.mptcp.enabled is not 1",
            "sysctl -w net.mptcp.enabled=1",
        )),
    }
}

fn lacks_ipv6() -> Option<Lack> {
    let error = TcpListener::bind("[::1]:0").err()?;
    let has_ipv6 = Path::new("/proc/sys/net/ipv6").exists();
    let remedy = has_ipv6.then(|| "sysctl -w net.ipv6.conf.lo.disable_ipv6=0".to_owned());
    Some(Lack {
        detail: error.to_string(),
        remedy,
    })
}

/// `update_socket_protocol` exists since Linux 6.6.
const OLDEST_FOR_PROGRAMS: (u32, u32) = (6, 6);

fn lacks_fmod_ret() -> Option<String> {
    let traces = Path::new("/proc/sys/kernel/ftrace_enabled").exists();
    let shows = || {
        read("/proc/kallsyms")
            .lines()
            .any(|line| line.ends_with(" mptcp_pernet_id"))
    };
    lacks_version(OLDEST_FOR_PROGRAMS)
        .or_else(|| (!traces).then(|| "no function tracing".into()))
        .or_else(|| {
            (!shows())
                .then(|| "no CONFIG_KALLSYMS_ALL: /proc/kallsyms lacks mptcp_pernet_id".into())
        })
}

fn lacks_version(oldest @ (major, minor): (u32, u32)) -> Option<String> {
    let release = rustix::system::uname()
        .release()
        .to_string_lossy()
        .into_owned();
    let is_old = version(&release).is_none_or(|version| version < oldest);
    is_old.then(|| format!("Linux {release}; {major}.{minor} or later is required"))
}

fn lacks_bpf() -> Option<String> {
    if let Some(old) = lacks_version(OLDEST_FOR_BPF) {
        return Some(old);
    }
    if fs::File::open("/sys/kernel/btf/vmlinux").is_err() {
        return Some("no /sys/kernel/btf/vmlinux".into());
    }
    let may =
        has_capability(CAP_SYS_ADMIN) || has_capability(CAP_BPF) && has_capability(CAP_PERFMON);
    (!may).then(|| "neither CAP_SYS_ADMIN nor CAP_BPF and CAP_PERFMON".into())
}

/// Major and minor number of a kernel release: 6.12 of `6.12.48+deb13-amd64`.
fn version(release: &str) -> Option<(u32, u32)> {
    let (major, rest) = release.split_once('.')?;
    let minor = rest.split(|digit: char| !digit.is_ascii_digit()).next()?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

fn lacks_tool(name: &str) -> Option<Lack> {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&folders).any(|folder| is_program(&folder.join(name)));
    (!found).then(|| {
        Lack::until(
            "not in PATH",
            format!("install {name}: scripts/setup.sh test"),
        )
    })
}

fn is_program(file: &Path) -> bool {
    fs::metadata(file).is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
}

fn read(file: &str) -> String {
    fs::read_to_string(file)
        .unwrap_or_default()
        .trim()
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flat_lists_each_need_of_a_group_once() {
        let all = [
            Need::Root,
            Need::Tun,
            Need::Mptcp,
            Need::Bpf,
            Need::Rates,
            Need::Tool("ip"),
        ];
        assert_eq!(flat(&[ENGINE, NET, ROOT]), all);
    }

    #[test]
    fn releases_are_compared_as_numbers() {
        assert_eq!(version("6.12.48+deb13-amd64"), Some((6, 12)));
        assert_eq!(version("7.0-rc1"), Some((7, 0)));
        // As text, 6.12 would come before 6.5.
        assert!(version("6.12") > Some(OLDEST_FOR_BPF) && version("6.1.0") < Some(OLDEST_FOR_BPF));
        assert_eq!(version("unknown"), None);
    }

    #[test]
    fn a_tool_is_a_program_in_the_path() {
        assert_eq!(lacks_tool("sh"), None);
        assert!(lacks_tool("no-such-tool").is_some());
        // A folder is not a program.
        assert!(!is_program(Path::new("/usr")));
    }
}
