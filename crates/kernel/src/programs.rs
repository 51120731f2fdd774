//! Programs whose TCP sockets the kernel makes MPTCP sockets, by eBPF (`bpf/programs.bpf.c`): also
//! static, setuid and Go programs, from their next socket on. Requires Linux 6.6 with function
//! tracing.

use std::os::fd::{AsFd, BorrowedFd};

use crate::capability::Task;
use crate::error::{Error, Result, require};

/// The control group that contains all others.
pub const ALL_GROUPS: u64 = 1;
/// Longest name of a unit in bytes, including the terminating zero. As `JP_UNIT_BYTES` in the
/// program.
const NAME_BYTES: usize = 128;
/// Most names of units, `JP_MOST_UNITS` in the program. Each has an entry of its own, and an
/// escaped one.
const MOST_UNITS: usize = 4096 / 2;
const WHAT: &str = "MPTCP for programs by BPF";

/// A selection of programs by their control groups.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scope {
    groups: Vec<u64>,
    units: Vec<Vec<u8>>,
}

impl Scope {
    /// The programs in a control group and in those below it.
    pub fn group(id: u64) -> Self {
        Scope {
            groups: vec![id],
            units: vec![],
        }
    }

    /// Adds all programs of the machine.
    pub fn add_all(&mut self) {
        self.groups = vec![ALL_GROUPS];
    }

    /// Adds a unit of the system, whose control group is below slices only: `ssh.service`,
    /// `user-7.slice`, or `tty@.service` for all instances of a template. Other units that start
    /// alike are included only for a template.
    ///
    /// # Errors
    /// If the name is too long, or there are too many.
    pub fn add_unit(&mut self, name: &str) -> std::result::Result<(), String> {
        if name.len() >= NAME_BYTES - 1 {
            return Err(format!(
                "its name has more than {} characters",
                NAME_BYTES - 2
            ));
        }
        if self.units.len() == MOST_UNITS {
            return Err(format!("there are more than {MOST_UNITS} units"));
        }
        let key = match name.split_once("@.") {
            Some((template, _)) => format!("{template}@").into_bytes(),
            None => [name.as_bytes(), &[0]].concat(),
        };
        self.units.push(key);
        Ok(())
    }

    /// Keys of the map of units. systemd escapes a name that could be a file of a control group by
    /// `_` (`cg_escape`).
    fn keys(&self) -> impl Iterator<Item = Vec<u8>> {
        let escaped = |name: &Vec<u8>| [&b"_"[..], name].concat();
        self.units
            .iter()
            .flat_map(move |name| [name.clone(), escaped(name)])
            .map(|name| {
                let bits = 8 * u32::try_from(name.len()).expect("a name is short");
                let mut key = bits.to_ne_bytes().to_vec();
                key.extend(&name);
                key.resize(size_of::<u32>() + NAME_BYTES, 0);
                key
            })
    }
}

/// The selected programs get MPTCP sockets while this value, or a copy of its descriptor, exists.
/// Open sockets stay as they are.
pub struct Held {
    #[cfg(feature = "bpf")]
    link: libbpf_rs::Link,
    #[cfg(not(feature = "bpf"))]
    never: std::convert::Infallible,
}

impl AsFd for Held {
    fn as_fd(&self) -> BorrowedFd<'_> {
        #[cfg(feature = "bpf")]
        return self.link.as_fd();
        #[cfg(not(feature = "bpf"))]
        match self.never {}
    }
}

/// Checks the rights of this process for [`hold`].
///
/// # Errors
/// [`Error::Permission`] without `CAP_BPF` and `CAP_PERFMON`.
pub fn may_hold() -> Result<()> {
    require(&[Task::Controllers], WHAT)
}

/// Loads the program for `scope` and attaches it.
///
/// # Errors
/// [`Error::Permission`] without `CAP_BPF` and `CAP_PERFMON`; [`Error::Unsupported`] with the
/// reason if this kernel cannot do it.
pub fn hold(scope: &Scope) -> Result<Held> {
    may_hold()?;
    loaded::hold(&scope.groups, scope.keys())
}

/// Tests whether this process can put programs on MPTCP: attaches the program for no program, and
/// detaches it.
///
/// # Errors
/// As [`hold`].
pub fn probe() -> Result<()> {
    hold(&Scope::default()).map(drop)
}

/// Checks the program with the kernel's verifier, without attaching it.
///
/// # Errors
/// As [`hold`].
#[cfg(feature = "bpf")]
pub fn verify() -> Result<()> {
    loaded::load(0).map(drop)
}

fn unsupported(why: impl Into<String>, remedy: &str) -> Error {
    Error::Unsupported {
        what: WHAT.into(),
        why: why.into(),
        remedy: remedy.into(),
    }
}

#[cfg(not(feature = "bpf"))]
mod loaded {
    use super::{Held, Result, unsupported};

    pub(super) fn hold(_: &[u64], _: impl Iterator<Item = Vec<u8>>) -> Result<Held> {
        let remedy = "`make build` installs what it needs and builds it in";
        Err(unsupported(
            "this build is without the eBPF programs",
            remedy,
        ))
    }
}

#[cfg(feature = "bpf")]
mod loaded {
    use std::fs;
    use std::net::Ipv6Addr;
    use std::path::Path;

    use libbpf_rs::{ErrorKind, MapCore, MapFlags, Object};

    use super::{Held, WHAT, unsupported};
    use crate::capability::Task;
    use crate::cc::{PROGRAMS, open, quiet, set_words};
    use crate::error::{Doing, Error, Result};
    use crate::mptcp::socket::{self, Protocol};
    use crate::probe::Version;
    use crate::state::{State, boot_id};

    /// The first kernel with `update_socket_protocol`.
    const OLDEST: Version = Version(6, 6);
    const GROUPS: &str = "jp_groups";
    const UNITS: &str = "jp_units";
    const SYMBOLS: &str = "/proc/kallsyms";
    /// Folder of the kept addresses, one file for each symbol.
    const KNOWN: &str = "symbols";
    /// Kept in place of an address that this kernel does not list.
    const ABSENT: &str = "absent";
    /// Number of MPTCP's state among those of a network namespace.
    const PERNET_ID: &str = "mptcp_pernet_id";
    /// Kernels with function tracing have this setting.
    const TRACING: &str = "/proc/sys/kernel/ftrace_enabled";
    const ANOTHER: &str = "boot a distribution's kernel";

    pub(super) fn hold(groups: &[u64], units: impl Iterator<Item = Vec<u8>>) -> Result<Held> {
        let object = load(symbol(PERNET_ID)?)?;
        for group in groups {
            insert(&object, GROUPS, &group.to_ne_bytes())?;
        }
        for key in units {
            insert(&object, UNITS, &key)?;
        }
        let program = object
            .progs_mut()
            .next()
            .expect("the object has one program");
        let link = program.attach().map_err(|error| refused(&error))?;
        Ok(Held { link })
    }

    /// Loads the program; `pernet_id` is the address of [`PERNET_ID`].
    pub(super) fn load(pernet_id: u64) -> Result<Object> {
        quiet();
        let mut open = open(WHAT, PROGRAMS)?;
        set_words(&mut open, ".rodata.pernet", pernet_id.to_ne_bytes());
        // Without CONFIG_MPTCP_IPV6 the protocol does not exist for IPv6.
        let has_ipv6 = socket::open(Protocol::Mptcp, Ipv6Addr::LOCALHOST.into()).is_ok();
        set_words(&mut open, ".rodata.ipv6", u64::from(has_ipv6).to_ne_bytes());
        open.load().map_err(|error| refused(&error))
    }

    fn insert(object: &Object, map: &str, key: &[u8]) -> Result<()> {
        let found = object
            .maps()
            .find(|found| found.name() == map)
            .expect("the object has its maps");
        found
            .update(key, &[1], MapFlags::ANY)
            .map_err(|error| refused(&error))
    }

    /// The address of a symbol of the kernel. The kernel takes 50 ms to list its symbols, so the
    /// answer is kept for this boot, in a file that only its owner reads: it tells where the kernel
    /// is in memory.
    fn symbol(name: &str) -> Result<u64> {
        let folder = State::open().and_then(|state| state.folder(KNOWN)).ok();
        let boot = boot_id()?;
        let kept = folder
            .as_ref()
            .and_then(|folder| folder.read_private(name).ok().flatten());
        let kept = kept
            .as_deref()
            .and_then(|text| text.strip_prefix(&boot))
            .map(str::trim);
        let address = match kept {
            Some(ABSENT) => None,
            Some(text) if text.parse::<u64>().is_ok() => text.parse().ok(),
            _ => {
                let text = fs::read_to_string(SYMBOLS).doing(format!("reading {SYMBOLS}"))?;
                address(&text, name)
            }
        };
        let missing = || {
            unsupported(
                format!("{SYMBOLS} lacks {name}: no CONFIG_KALLSYMS_ALL"),
                ANOTHER,
            )
        };
        if address == Some(0) {
            let why = "the kernel hides its symbols (kernel.kptr_restrict)";
            return Err(unsupported(why, "give it CAP_SYSLOG"));
        }
        if let (Some(folder), None) = (folder, kept) {
            let said = address.map_or_else(|| ABSENT.into(), |address| address.to_string());
            // Without the file the next start takes longer.
            let _ = folder.write_private(name, &format!("{boot} {said}\n"));
        }
        address.ok_or_else(|| lacking().unwrap_or_else(missing))
    }

    /// In lines of `ADDRESS TYPE NAME`; a module follows the name of its own symbol.
    fn address(text: &str, name: &str) -> Option<u64> {
        let end = text.find(&format!(" {name}\n"))?;
        let begin = text[..end].rfind('\n').map_or(0, |before| before + 1);
        u64::from_str_radix(text[begin..end].split(' ').next()?, 16).ok()
    }

    fn refused(error: &libbpf_rs::Error) -> Error {
        if error.kind() == ErrorKind::PermissionDenied {
            return Error::task(
                Task::Controllers,
                WHAT,
                std::io::Error::from_raw_os_error(libc::EPERM),
            );
        }
        lacking().unwrap_or_else(|| unsupported(format!("the kernel refuses: {error}"), ANOTHER))
    }

    /// What the kernel is known to lack.
    fn lacking() -> Option<Error> {
        let release = rustix::system::uname()
            .release()
            .to_string_lossy()
            .into_owned();
        if Version::parse(&release).is_some_and(|version| version < OLDEST) {
            return Some(unsupported(
                format!("Linux {release} is older than {OLDEST}"),
                ANOTHER,
            ));
        }
        let traces = Path::new(TRACING).exists();
        (!traces).then(|| unsupported("this kernel has no function tracing", ANOTHER))
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn symbols_are_found_by_their_whole_name() {
            let text = "ffffffffb081cca0 d mptcp_pernet_ops\nffffffffb12c78e8 b mptcp_pernet_id\n\
                        ffffffffc0000000 t a_mptcp\t[module]\n0000000000000000 b hidden\n";
            assert_eq!(address(text, PERNET_ID), Some(0xffff_ffff_b12c_78e8));
            assert_eq!(
                address(text, "mptcp_pernet_ops"),
                Some(0xffff_ffff_b081_cca0)
            );
            assert_eq!(
                (address(text, "hidden"), address(text, "pernet_id")),
                (Some(0), None)
            );
        }

        #[test]
        fn the_program_has_the_sizes_of_this_file() {
            let text = fs::read_to_string("bpf/programs.bpf.c").unwrap();
            let sizes = [
                ("JP_UNIT_BYTES", crate::programs::NAME_BYTES),
                ("JP_MOST_UNITS", 2 * crate::programs::MOST_UNITS),
            ];
            for (name, value) in sizes {
                let has = |line: &str| {
                    line.split_whitespace()
                        .eq(["#define", name, &value.to_string()])
                };
                assert!(text.lines().any(has), "{name}");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unit_is_a_whole_name_and_a_template_the_start_of_one() {
        let mut scope = Scope::default();
        scope.add_unit("a.service").unwrap();
        scope.add_unit("tty@.service").unwrap();
        scope.add_unit("tty@1.service").unwrap();
        let names: Vec<Vec<u8>> = scope
            .keys()
            .map(|key| {
                let bits = u32::from_ne_bytes(key[..4].try_into().unwrap());
                key[4..][..bits as usize / 8].to_vec()
            })
            .collect();
        let expected: [&[u8]; 6] = [
            b"a.service\0",
            b"_a.service\0",
            b"tty@",
            b"_tty@",
            b"tty@1.service\0",
            b"_tty@1.service\0",
        ];
        assert_eq!(names, expected);
        assert!(scope.keys().all(|key| key.len() == 4 + NAME_BYTES));
        // 126 bytes, a `_` and the zero fill the key.
        assert!(scope.add_unit(&"x".repeat(126)).is_ok());
        assert!(scope.add_unit(&"x".repeat(127)).is_err());
    }
}
