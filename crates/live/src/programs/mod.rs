//! Starts programs whose TCP sockets become MPTCP.
//!
//! | means | for | how |
//! |---|---|---|
//! | [`Means::Bpf`] | all, for root on kernels with `fmod_ret` | `bpf.rs` |
//! | [`Means::Preload`] | dynamically linked programs | `LD_PRELOAD` of `shim/mptcp.c` |
//! | [`Means::Go`] | Go 1.21 and later, which opens sockets without libc | `GODEBUG` |
//!
//! The last two are environment variables, so that children inherit them: a child may need the
//! other one.

mod bpf;
mod elf;
mod environment;
mod intent;
mod library;

use std::env;
use std::ffi::{OsStr, OsString};
use std::io;
use std::net::Ipv4Addr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use joulepath_kernel::Error as KernelError;
use joulepath_kernel::mptcp::socket::{self, Protocol};
use rustix::fs::{Access, access, getxattr};
use rustix::process::{getegid, geteuid};
use serde::Serialize;

use elf::{Elf, Executable, Go};
pub(crate) use environment::{GODEBUG, LD_PRELOAD, go_debug, preload};
pub(crate) use library::{installed, place};

pub use bpf::{join, keep};
pub use intent::scope;
pub use library::LIBRARY;

/// The kernel follows this many interpreters of interpreters (`BINPRM_MAX_RECURSION`, fs/exec.c).
const MOST_INTERPRETERS: usize = 5;
/// The oldest Go with the switch: N of 1.N.
const OLDEST_GO: u32 = 21;
const SHELL: &str = "/bin/sh";

/// How a program's TCP sockets become MPTCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Means {
    /// The kernel changes the protocol of the program's sockets.
    Bpf,
    /// A preloaded library changes the program's calls of `socket`.
    Preload,
    /// Go's runtime asks for MPTCP itself.
    Go,
}

/// A program and how it is started.
#[derive(Clone, Debug, Serialize)]
pub struct Launch {
    /// Its file.
    pub program: PathBuf,
    /// The interpreters of a script: the last one is a program.
    pub interpreters: Vec<PathBuf>,
    /// `None` if the program's own sockets stay TCP.
    pub means: Option<Means>,
    /// Why they stay TCP, or a limit of the means.
    pub note: Option<String>,
    /// Why no program gets MPTCP sockets from the kernel, and the remedy; `None` if the kernel
    /// grants them.
    pub kernel: Option<String>,
    /// Why the kernel does not change the protocol of its sockets; `None` if it does, or was not
    /// asked.
    pub bpf: Option<String>,
    /// Variables to set.
    #[serde(serialize_with = "as_texts")]
    pub environment: Vec<(&'static str, OsString)>,
}

/// Finds the program that `word` starts, and how to put it on MPTCP. `None` if there is no such
/// program.
pub fn launch(word: &OsStr) -> Option<Launch> {
    let program = find(word)?;
    let mut launch = Launch {
        program: program.clone(),
        interpreters: vec![],
        means: None,
        note: None,
        kernel: refusal_of_kernel(),
        bpf: None,
        environment: vec![(
            GODEBUG,
            environment::go_debug(env::var_os(GODEBUG).as_deref()),
        )],
    };
    let fate = follow(program, &mut launch.interpreters);
    (launch.means, launch.note) = (fate.means, fate.note);
    if fate.loads_library {
        match library::place() {
            Ok(library) => {
                let value = environment::preload(env::var_os(LD_PRELOAD).as_deref(), &library);
                launch.environment.push((LD_PRELOAD, value));
            }
            Err(error) if fate.means == Some(Means::Preload) => {
                (launch.means, launch.note) = (None, Some(error));
            }
            // Only children need it.
            Err(_) => {}
        }
    }
    Some(launch)
}

impl Launch {
    /// Prefers BPF to the other means if `attempt` succeeds: [`join`], or a test of the machine.
    #[must_use]
    pub fn by_bpf(mut self, attempt: impl FnOnce() -> joulepath_kernel::Result<()>) -> Self {
        if self.kernel.is_some() {
            return self;
        }
        match attempt() {
            Ok(()) => Launch {
                means: Some(Means::Bpf),
                note: None,
                environment: vec![],
                ..self
            },
            Err(error) => {
                self.bpf = Some(error.to_string());
                self
            }
        }
    }
}

/// For a service: whether its program loads the library, and why its own sockets stay TCP.
pub(crate) fn limits(program: PathBuf) -> (bool, Option<String>) {
    if !program.exists() {
        return (true, None);
    }
    let fate = follow(program, &mut vec![]);
    (fate.loads_library, fate.note)
}

/// The file that `execvp` would start.
fn find(word: &OsStr) -> Option<PathBuf> {
    let is_program = |file: &PathBuf| file.is_file() && access(file, Access::EXEC_OK).is_ok();
    if word.as_bytes().contains(&b'/') {
        return Some(PathBuf::from(word)).filter(|file| file.exists());
    }
    let path = env::var_os("PATH").unwrap_or_else(|| "/bin:/usr/bin".into());
    env::split_paths(&path)
        .map(|folder| folder.join(word))
        .find(is_program)
}

/// What becomes of a program's sockets.
#[derive(Debug, PartialEq, Eq)]
struct Fate {
    means: Option<Means>,
    note: Option<String>,
    /// False if the library would only produce an error message of the dynamic linker.
    loads_library: bool,
}

impl Fate {
    fn works(means: Means) -> Self {
        Fate {
            means: Some(means),
            note: None,
            loads_library: true,
        }
    }

    fn stays(note: String) -> Self {
        Fate {
            means: None,
            note: Some(note),
            loads_library: true,
        }
    }
}

/// Follows a script to its interpreter.
fn follow(program: PathBuf, interpreters: &mut Vec<PathBuf>) -> Fate {
    let mut file = program;
    while interpreters.len() < MOST_INTERPRETERS {
        let name = file.display().to_string();
        let next = match elf::read(&file) {
            Err(error) => return unreadable(&name, &error),
            Ok(Executable::Elf(elf)) => return fate(&name, &elf, gains_rights(&file)),
            Ok(Executable::Foreign) => {
                let note = format!(
                    "{name} is for another architecture, for which this joulepath has no library"
                );
                return Fate {
                    loads_library: false,
                    ..Fate::stays(note)
                };
            }
            Ok(Executable::Script {
                interpreter,
                argument,
            }) => through_env(&interpreter, argument.as_deref()),
            Ok(Executable::Text) => SHELL.into(),
        };
        interpreters.push(next.clone());
        file = next;
    }
    Fate::stays("too many interpreters of interpreters".into())
}

fn unreadable(name: &str, error: &io::Error) -> Fate {
    let note = format!(
        "{name} cannot be read ({error}), so it is unknown whether the library works for it"
    );
    Fate {
        note: Some(note),
        ..Fate::works(Means::Preload)
    }
}

/// `/usr/bin/env PROGRAM` and `/usr/bin/env -S PROGRAM …` start the program in `PATH`.
fn through_env(interpreter: &Path, argument: Option<&OsStr>) -> PathBuf {
    if interpreter.file_name() != Some(OsStr::new("env")) {
        return interpreter.to_owned();
    }
    let words = argument
        .unwrap_or_default()
        .as_bytes()
        .split(u8::is_ascii_whitespace);
    let mut words =
        words.filter(|word| !word.is_empty() && !word.starts_with(b"-") && !word.contains(&b'='));
    let found = words.next().and_then(|word| find(OsStr::from_bytes(word)));
    found.unwrap_or_else(|| interpreter.to_owned())
}

fn fate(name: &str, elf: &Elf, rights: Option<&str>) -> Fate {
    if let Some(rights) = rights {
        return Fate::stays(format!(
            "{name} {rights}, so the dynamic linker ignores LD_PRELOAD"
        ));
    }
    match elf {
        Elf {
            go: Some(Go(Some(minor))),
            ..
        } if *minor >= OLDEST_GO => Fate::works(Means::Go),
        Elf {
            go: Some(Go(minor)),
            ..
        } => {
            let version = minor.map_or("before 1.18".into(), |minor| format!("1.{minor}"));
            Fate::stays(format!(
                "{name} is built with Go {version}; MPTCP needs Go 1.{OLDEST_GO}"
            ))
        }
        Elf {
            is_dynamic: true, ..
        } => Fate::works(Means::Preload),
        Elf {
            is_dynamic: false, ..
        } => Fate::stays(format!(
            "{name} is statically linked, so no library can be preloaded"
        )),
    }
}

/// Why the kernel starts the program in secure mode (`AT_SECURE`, security/commoncap.c); `None` if
/// it does not.
fn gains_rights(file: &Path) -> Option<&'static str> {
    const SET_USER: u32 = 0o4000;
    const SET_GROUP: u32 = 0o2010;
    let found = file.metadata().ok()?;
    let is_root = geteuid().is_root();
    if found.mode() & SET_USER != 0 && found.uid() != geteuid().as_raw() {
        Some("is setuid")
    } else if found.mode() & SET_GROUP == SET_GROUP && found.gid() != getegid().as_raw() {
        Some("is setgid")
    } else if !is_root && getxattr(file, "security.capability", &mut [0u8; 64]).is_ok() {
        Some("has file capabilities")
    } else {
        None
    }
}

fn refusal_of_kernel() -> Option<String> {
    match socket::open(Protocol::Mptcp, Ipv4Addr::LOCALHOST.into()) {
        Ok(_) => None,
        Err(KernelError::Unsupported { why, remedy, .. }) => Some(format!("{why} ({remedy})")),
        Err(error) => Some(format!("MPTCP sockets are refused ({error})")),
    }
}

fn as_texts<S: serde::Serializer>(
    variables: &[(&'static str, OsString)],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_map(
        variables
            .iter()
            .map(|(name, value)| (name, value.to_string_lossy())),
    )
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    const DYNAMIC: Elf = Elf {
        is_dynamic: true,
        go: None,
    };

    #[test]
    fn each_kind_of_program_has_its_means() {
        let stays = |elf: &Elf, rights| fate("/bin/x", elf, rights).note.unwrap();
        assert_eq!(fate("/bin/x", &DYNAMIC, None), Fate::works(Means::Preload));
        // A cgo program is linked dynamically, but its runtime calls the kernel directly.
        for is_dynamic in [true, false] {
            let go = |minor| Elf {
                is_dynamic,
                go: Some(Go(minor)),
            };
            assert_eq!(fate("/bin/x", &go(Some(21)), None), Fate::works(Means::Go));
            assert!(stays(&go(Some(20)), None).contains("Go 1.20; MPTCP needs Go 1.21"));
            assert!(stays(&go(None), None).contains("before 1.18"));
        }
        assert!(
            stays(
                &Elf {
                    is_dynamic: false,
                    go: None
                },
                None
            )
            .contains("statically linked")
        );
        assert!(stays(&DYNAMIC, Some("is setuid")).starts_with("/bin/x is setuid"));
    }

    #[test]
    fn bpf_replaces_the_other_means_where_the_kernel_can() {
        let launch = |kernel: Option<&str>| Launch {
            program: "/bin/x".into(),
            interpreters: vec![],
            means: None,
            note: Some("x is static".into()),
            kernel: kernel.map(str::to_owned),
            bpf: None,
            environment: vec![(GODEBUG, "multipathtcp=1".into())],
        };
        let able = launch(None).by_bpf(|| Ok(()));
        assert_eq!(
            (able.means, able.note, able.environment),
            (Some(Means::Bpf), None, vec![])
        );
        let unable = launch(None).by_bpf(|| Err(KernelError::Run("too old".into())));
        assert_eq!(
            (unable.means, unable.note.as_deref()),
            (None, Some("x is static"))
        );
        assert_eq!(
            (unable.bpf.as_deref(), unable.environment.len()),
            (Some("too old"), 1)
        );
        // Where no socket can be MPTCP, nothing is attached.
        let off = launch(Some("MPTCP is off")).by_bpf(|| unreachable!());
        assert_eq!((off.means, off.environment.len()), (None, 1));
    }

    #[test]
    fn scripts_have_the_means_of_their_interpreter() {
        let folder = tempfile::tempdir().unwrap();
        let script = |name: &str, text: &str| {
            let file = folder.path().join(name);
            fs::write(&file, text).unwrap();
            fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
            file
        };
        let shell = script("shell", "#!/bin/sh\n");
        let through = script("through", &format!("#!{}\n", shell.display()));
        for (file, interpreters) in [
            (script("bare", "echo\n"), vec![PathBuf::from(SHELL)]),
            (
                script("env", "#!/usr/bin/env -S A=b sh -e\n"),
                vec![find(OsStr::new("sh")).unwrap()],
            ),
            (through, vec![shell, SHELL.into()]),
        ] {
            let mut found = vec![];
            let fate = follow(file, &mut found);
            assert_eq!((fate.means, found), (Some(Means::Preload), interpreters));
        }
        // It interprets itself.
        let circle = folder.path().join("circle");
        let circle = script("circle", &format!("#!{}\n", circle.display()));
        assert_eq!(follow(circle, &mut vec![]).means, None);
    }

    #[test]
    fn programs_that_gain_rights_are_recognised() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("program");
        fs::write(&file, "").unwrap();
        for mode in [0o755, 0o4755] {
            fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
            // Setuid to its own user changes nothing.
            assert_eq!(gains_rights(&file), None);
        }
    }
}
