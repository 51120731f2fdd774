//! Users' controllers: compiles a C header at run time, with the same wrappers as our own.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, PoisonError, RwLock};

use joulepath_controllers::{Capability, Controller, HEADERS};
use joulepath_files::{By, as_invoker, read};

use crate::error::{Doing, Error, Result};

/// Path and contents of each wrapper in bpf/ and of libbpf's headers.
pub(super) const WRAPPERS: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/wrappers.rs"));

/// As in build.rs, but a user's header may have warnings.
const FLAGS: [&str; 12] = [
    "-target",
    "bpf",
    "-mcpu=v3",
    "-O2",
    "-g",
    "-std=gnu11",
    "-Wall",
    "-Werror=implicit-function-declaration",
    "-Werror=float-conversion",
    "-Werror=literal-conversion",
    "-fno-color-diagnostics",
    "-fno-crash-diagnostics",
];
/// The name of the architecture in libbpf's bpf_tracing.h.
const ARCHITECTURE: &str = if cfg!(target_arch = "x86_64") {
    "-D__TARGET_ARCH_x86"
} else if cfg!(target_arch = "aarch64") {
    "-D__TARGET_ARCH_arm64"
} else {
    "-D__TARGET_ARCH_riscv"
};
/// Size limit of an object, bytes. Our own have some hundred kilobytes.
const MAX_OBJECT_BYTES: u64 = 16 << 20;
/// Number of the compiler's lines that are shown.
const MAX_LINES: usize = 12;

/// Result of compiling a header.
#[derive(Debug)]
pub(super) struct Compiled {
    /// Path with all links resolved, as the verifier's log names it.
    pub(super) header: PathBuf,
    /// An eBPF object.
    pub(super) object: Vec<u8>,
}

/// A controller that is loaded again is a different key.
static COMPILED: RwLock<Vec<(Controller, Arc<Compiled>)>> = RwLock::new(vec![]);

/// The object of a user's controller.
pub(super) fn compiled(controller: Controller) -> Option<Arc<Compiled>> {
    let all = COMPILED.read().unwrap_or_else(PoisonError::into_inner);
    all.iter()
        .find(|(known, _)| *known == controller)
        .map(|(_, compiled)| compiled.clone())
}

/// True if [`compile`] has succeeded for this controller.
pub fn is_compiled(controller: Controller) -> bool {
    compiled(controller).is_some()
}

/// Compiles the header of a user's controller for the kernel, with the machine's clang or the one
/// in `CLANG`. Afterwards this process can load it like our own.
///
/// # Errors
/// [`Error::Unsupported`] without clang; [`Error::Refused`] with the compiler's errors;
/// [`Error::Io`] or [`Error::Permission`] if the header cannot be read.
pub fn compile(controller: Controller, header: &Path) -> Result<()> {
    let doing = format!("compiling {} for the kernel", header.display());
    // Files that the header includes are opened with the rights of the invoking user.
    let compiled = as_invoker(|| in_a_folder(controller, header, &doing)).doing(&doing)??;
    let mut all = COMPILED.write().unwrap_or_else(PoisonError::into_inner);
    all.retain(|(known, _)| *known != controller);
    all.push((controller, Arc::new(compiled)));
    Ok(())
}

fn in_a_folder(controller: Controller, header: &Path, doing: &str) -> Result<Compiled> {
    let header = fs::canonicalize(header).doing(doing)?;
    let folder = tempfile::Builder::new()
        .prefix("joulepath-bpf-")
        .tempdir()
        .doing(doing)?;
    lay_out(folder.path()).doing(doing)?;
    let object = folder.path().join("own.bpf.o");
    run(
        &mut command(controller, &header, folder.path(), &object),
        folder.path(),
        doing,
    )?;
    let made = read(&object, By::File, MAX_OBJECT_BYTES).map_err(std::io::Error::from);
    Ok(Compiled {
        header,
        object: made.doing(doing)?.bytes,
    })
}

/// Writes wrappers and headers into the folder.
fn lay_out(folder: &Path) -> std::io::Result<()> {
    fs::create_dir(folder.join("bpf"))?;
    WRAPPERS
        .iter()
        .chain(HEADERS)
        .try_for_each(|(place, text)| fs::write(folder.join(place), text))
}

fn command(controller: Controller, header: &Path, folder: &Path, object: &Path) -> Command {
    let wrapper = match controller.has(Capability::OwnsWindow) {
        true => "owner.bpf.c",
        false => "controller.bpf.c",
    };
    let quoted = header
        .display()
        .to_string()
        .replace('\\', "\\\\")
        .replace('"', "\\\"");
    let mut command = Command::new(clang());
    command
        .args(FLAGS)
        .arg(ARCHITECTURE)
        .arg("-DJP_OF_USER")
        .arg(format!("-DJP_NAME={}", controller.name()));
    command
        .arg(format!("-DJP_HEADER=\"{quoted}\""))
        .arg("-I")
        .arg(folder);
    if let Some(beside) = header.parent() {
        command.arg("-I").arg(beside);
    }
    command
        .arg("-c")
        .arg(folder.join(wrapper))
        .arg("-o")
        .arg(object)
        .env("LC_ALL", "C");
    command
}

/// The compiler in the environment, or the system's.
fn clang() -> String {
    std::env::var("CLANG")
        .ok()
        .filter(|clang| !clang.is_empty())
        .unwrap_or_else(|| "clang".to_owned())
}

fn run(command: &mut Command, folder: &Path, doing: &str) -> Result<()> {
    let output = match command.stdin(Stdio::null()).output() {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return Err(Error::Unsupported {
                what: doing.to_owned(),
                why: format!("there is no `{}`", command.get_program().display()),
                remedy: "install it (`apt install clang`), or set CLANG to another compiler".into(),
            });
        }
        output => output.doing(format!("running {}", command.get_program().display()))?,
    };
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    Err(Error::Refused {
        what: doing.to_owned(),
        why: errors_of(&said, folder),
        remedy: "docs/own-controller.md lists the kernel's requirements; `joulepath cc check` tests them"
            .into(),
    })
}

/// The errors in the compiler's output; the wrappers are named without the temporary folder.
fn errors_of(said: &str, folder: &Path) -> String {
    let is_error = |line: &&str| line.contains("error:") && !line.starts_with("clang: error:");
    let mut errors: Vec<String> = said
        .lines()
        .filter(is_error)
        .take(MAX_LINES)
        .map(plain)
        .collect();
    if errors.is_empty() {
        errors = said.lines().take(MAX_LINES).map(str::to_owned).collect();
    }
    errors
        .join("\n")
        .replace(&format!("{}/", folder.display()), "")
}

/// Simplifies one error. Older compilers fail on an instruction that the target lacks: `… Cannot
/// select: 0x1a: i64 = sdiv 0x1b, 0x1c, mine.h:40:27 @[ controller.bpf.c:36:26 ]`.
fn plain(error: &str) -> String {
    // Prefix if the compiler knows no line.
    let whole = error.replace("<unknown>:0:0: ", "");
    let Some((_, node)) = error.split_once("Cannot select: ") else {
        return whole;
    };
    let instruction = node
        .split_once(" = ")
        .and_then(|(_, rest)| rest.split_whitespace().next());
    let what = match instruction {
        Some("sdiv" | "srem") => "no signed division".to_owned(),
        Some(instruction) => format!("no instruction `{instruction}`"),
        None => return whole,
    };
    let place = node
        .split(" @[")
        .next()
        .and_then(|node| node.rsplit_once(", "))
        .map(|(_, place)| place);
    match place.filter(|place| place.contains(':')) {
        Some(place) => format!("{place}: error: the BPF target has {what}"),
        None => format!("error: the BPF target has {what}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_that_the_wrappers_include_is_embedded() {
        let known: Vec<&str> = WRAPPERS
            .iter()
            .chain(HEADERS)
            .map(|(place, _)| *place)
            .collect();
        for (place, text) in WRAPPERS {
            let folder = place
                .rsplit_once('/')
                .map_or(String::new(), |(folder, _)| format!("{folder}/"));
            for included in text
                .lines()
                .filter_map(|line| line.trim().strip_prefix("#include "))
            {
                let wanted = match included.as_bytes()[0] {
                    b'"' => format!("{folder}{}", included.split('"').nth(1).unwrap()),
                    b'<' => included[1..].split('>').next().unwrap().to_owned(),
                    // JP_HEADER, which is the controller.
                    _ => continue,
                };
                assert!(
                    known.contains(&wanted.as_str()),
                    "{place} includes {wanted}"
                );
            }
        }
    }

    #[test]
    fn the_compilers_errors_name_the_header_and_no_temporary_folder() {
        let said = "In file included from /tmp/x/controller.bpf.c:15:\n\
                    /home/me/mine.h:9:2: error: use of undeclared identifier 'retrun'\n\
                    \tretrun 1;\n/tmp/x/controller.bpf.c:31:8: error: no such field\n1 error generated.\n";
        let errors = errors_of(said, Path::new("/tmp/x"));
        assert_eq!(
            errors,
            "/home/me/mine.h:9:2: error: use of undeclared identifier 'retrun'\n\
             controller.bpf.c:31:8: error: no such field"
        );
        assert_eq!(
            errors_of("clang: crashed\n", Path::new("/tmp/x")),
            "clang: crashed"
        );
        let said = "fatal error: error in backend: Cannot select: 0x39: i64 = sdiv 0x3a, 0x3b, \
                    mine.h:40:27 @[ x/controller.bpf.c:36:26 ]\nclang: error: it failed\n";
        let errors = errors_of(said, Path::new("/tmp/x"));
        assert_eq!(
            errors,
            "mine.h:40:27: error: the BPF target has no signed division"
        );
    }
}
