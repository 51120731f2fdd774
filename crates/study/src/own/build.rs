//! Compiles a header and loads the library.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use joulepath_controllers::{AdoptError, Controller, HEADERS, Table};

use crate::error::{Error, Kind, Result};
use crate::files::{self, By};

/// Maximum size of a header, bytes. Shipped ones have a few kilobytes.
const MAX_HEADER_BYTES: u64 = 1 << 20;
/// Maximum length of a controller's name: `jp_NAME` fits the kernel's 16 bytes.
const MAX_NAME: usize = 12;
/// Maximum number of compiler lines to show.
const MAX_LINES: usize = 12;

/// Rules of the contract that a compiler can check. General registers hold no floating point.
const FLAGS: [&str; 10] = [
    "-std=c11",
    "-ffreestanding",
    "-fPIC",
    "-Wall",
    "-Wextra",
    "-Wconversion",
    "-Werror=implicit-function-declaration",
    "-Werror=incompatible-pointer-types",
    "-Werror=vla",
    "-Werror=float-conversion",
];
/// Undefined behaviour that a check detects. The handlers are in sandbox.h.
const SANITIZERS: &str = "-fsanitize=signed-integer-overflow,integer-divide-by-zero,shift,bounds";

const BOUNDS_OF_GCC: &str = "-fsanitize=bounds-strict";

/// Purpose of a library.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Build {
    /// For running.
    Fast,
    /// For checking: undefined behaviour ends the call and reports its place.
    Checked,
}

/// A library that stays loaded until the process ends, because controllers are copied freely.
pub(super) struct Library {
    library: &'static libloading::Library,
    /// Name of the controller.
    pub(super) name: String,
    /// Text of the header.
    pub(super) text: String,
    /// Warnings of the compiler, each with its line.
    pub(super) warnings: Vec<String>,
}

impl Library {
    /// Compiles `file` and loads the library.
    ///
    /// # Errors
    /// If it cannot be read, compiled or loaded.
    pub(super) fn build(file: &Path, build: Build) -> Result<Self> {
        let doing = format!("cannot compile {}", file.display());
        // Open included files with the rights of the user who asks.
        let made = joulepath_files::as_invoker(|| Made::of(file, build));
        let Made {
            name,
            text,
            warnings,
            folder,
        } = made.map_err(|error| Error::file(&doing, error))??;
        // SAFETY: the user has compiled the library and is responsible for what it runs when it is
        // loaded.
        let library = unsafe { libloading::Library::new(folder.path().join("own.so")) };
        let library = library.map_err(|error| Error::Refused {
            doing: format!("cannot load {}", file.display()),
            why: error.to_string(),
            help: "define every function that the header calls".to_owned(),
            kind: Kind::Failed,
        })?;
        Ok(Library {
            library: Box::leak(Box::new(library)),
            name,
            text,
            warnings,
        })
    }

    /// The table that the library exports as `symbol`.
    ///
    /// # Panics
    /// If it is not exported; the glue in every controller exports it.
    fn table(&self, symbol: &str) -> Table {
        // SAFETY: the glue declares it with this type.
        unsafe {
            **self
                .library
                .get::<*const Table>(symbol)
                .expect("the glue exports it")
        }
    }

    /// The function that the library exports as `symbol`, which stays loaded.
    ///
    /// # Panics
    /// If it is not exported; the glue in every controller exports it.
    ///
    /// # Safety
    /// `F` must be the pointer type of that function.
    pub(super) unsafe fn function<F: Copy>(&self, symbol: &str) -> F {
        // SAFETY: the caller guarantees the type.
        let found = unsafe { self.library.get::<F>(symbol) };
        *found.expect("the glue exports it")
    }
}

/// The controller of `library`, which was built from `file`.
///
/// # Errors
/// If its tables violate the contract.
pub(super) fn controller(file: &Path, library: &Library) -> Result<Controller> {
    let (rows, layout) = (
        library.table("jp_controllers_table"),
        library.table("jp_layout_table"),
    );
    // SAFETY: both are tables of native/glue.h in a library that stays loaded. Its author is
    // responsible for the functions; `joulepath cc check` helps.
    let inspected = unsafe { Controller::inspect(rows, layout) };
    let controller = inspected.map_err(|error| refused(file, &error))?;
    if controller.name() != library.name {
        return Err(Error::Refused {
            doing: format!("cannot use {}", file.display()),
            why: format!(
                "`.name` is `{}`, and the file {}.h",
                controller.name(),
                library.name
            ),
            help: "a controller has the name of its file".to_owned(),
            kind: Kind::Failed,
        });
    }
    Ok(controller)
}

/// The error for a controller of `file` that violates the contract.
pub(super) fn refused(file: &Path, error: &AdoptError) -> Error {
    let help = match error {
        AdoptError::Taken(_) => "rename the file and the names derived from it",
        AdoptError::Confidence(_) => {
            "V is verified, N recomputed, L from the literature, R a reconstruction: write \"R\" for your own"
        }
        _ => "`joulepath cc new NAME` writes a complete header",
    };
    Error::Refused {
        doing: format!("cannot use {}", file.display()),
        why: error.to_string(),
        help: help.to_owned(),
        kind: Kind::Failed,
    }
}

/// Name of the controller in the header `file`: the file's name.
///
/// # Errors
/// If the name is not valid for a controller.
pub fn name_of(file: &Path) -> Result<String> {
    let stem = file
        .file_stem()
        .map(|stem| stem.to_string_lossy().into_owned())
        .unwrap_or_default();
    check_name(&stem).map_err(|why| Error::Refused {
        doing: format!("cannot use {}", file.display()),
        why,
        help: "name it for example `mine.h`".to_owned(),
        kind: Kind::Failed,
    })?;
    Ok(stem)
}

/// Name and text of the controller in `file`.
fn read(file: &Path) -> Result<(String, String)> {
    let doing = format!("cannot read the controller {}", file.display());
    let bytes = files::read_named(file, By::File, MAX_HEADER_BYTES, &doing)?.bytes;
    let refused = |why: String, help: String| Error::Refused {
        doing: format!("cannot use {}", file.display()),
        why,
        help,
        kind: Kind::Failed,
    };
    let not_text = |_| {
        refused(
            "it is not UTF-8 text".to_owned(),
            "name a C header".to_owned(),
        )
    };
    let text = String::from_utf8(bytes).map_err(not_text)?;
    let stem = name_of(file)?;
    let ops = format!("mpcc_ops_{stem}");
    if !text.contains(&ops) {
        return Err(refused(
            format!("it does not define `{ops}`"),
            format!("a file {stem}.h has {ops}"),
        ));
    }
    Ok((stem, text))
}

/// Checks that `name` is a C identifier in lower case, short enough for a controller.
///
/// # Errors
/// The reason if it is not.
pub(super) fn check_name(name: &str) -> Result<(), String> {
    let is_word = name
        .chars()
        .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
    let starts = name.starts_with(|c: char| c.is_ascii_lowercase());
    if Controller::all().any(|shipped| shipped.name() == name) {
        return Err(format!("`{name}` is the name of a controller of Joulepath"));
    }
    match is_word && starts && name.len() <= MAX_NAME {
        true => Ok(()),
        false => Err(format!(
            "`{name}` is not a controller name: use at most {MAX_NAME} lower-case letters, digits and _, \
             beginning with a letter"
        )),
    }
}

/// A compiled header.
struct Made {
    name: String,
    text: String,
    warnings: Vec<String>,
    /// Contains the library, `own.so`.
    folder: tempfile::TempDir,
}

impl Made {
    fn of(file: &Path, build: Build) -> Result<Self> {
        let (name, text) = read(file)?;
        let folder = folder().map_err(|error| Error::file("cannot compile a controller", error))?;
        let warnings = compile(file, &name, build, folder.path())?;
        Ok(Made {
            name,
            text,
            warnings,
            folder,
        })
    }
}

/// A folder of this user that is deleted when it is dropped.
fn folder() -> std::io::Result<tempfile::TempDir> {
    tempfile::Builder::new().prefix("joulepath-cc-").tempdir()
}

/// Compiles `file` in `folder` to `own.o` and `own.so`. Returns the compiler's warnings.
fn compile(file: &Path, name: &str, build: Build, folder: &Path) -> Result<Vec<String>> {
    let doing = format!("cannot compile {}", file.display());
    let headers = folder.join("joulepath");
    let write = |place: PathBuf, text: &str| fs::write(place, text);
    let written = fs::create_dir(&headers)
        .and_then(|()| {
            HEADERS
                .iter()
                .try_for_each(|(header, text)| write(headers.join(header), text))
        })
        .and_then(|()| write(headers.join("sandbox.h"), include_str!("sandbox.h")))
        .and_then(|()| write(folder.join("own.c"), &unit(file, name)?));
    written.map_err(|error| Error::file(&doing, error))?;
    let beside = file
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    let object = folder.join("own.o");
    let mut compiler = Command::new(compiler());
    compiler
        .args(FLAGS)
        .arg("-c")
        .arg(folder.join("own.c"))
        .arg("-o")
        .arg(&object);
    compiler
        .arg("-I")
        .arg(beside)
        .arg("-I")
        .arg(&headers)
        .env("LC_ALL", "C");
    match build {
        Build::Fast => compiler.arg("-O2"),
        Build::Checked => compiler.args(["-O1", "-DJP_SANDBOX", SANITIZERS, strict_bounds(folder)]),
    };
    if !is_gcc(folder) {
        // Of literals, which gcc does not treat separately.
        compiler.arg("-Werror=literal-conversion");
    }
    if cfg!(any(target_arch = "x86_64", target_arch = "aarch64")) {
        // The kernel has no floating point: the compiler reports it as an error with its line.
        compiler.arg("-mgeneral-regs-only");
    }
    let said = run(&mut compiler, &doing)?;
    // Links without the sanitizer's library: the handlers are in sandbox.h.
    let mut linker = Command::new(self::compiler());
    linker
        .args(["-shared", "-nostartfiles"])
        .arg(&object)
        .arg("-o")
        .arg(folder.join("own.so"));
    run(&mut linker, &doing)?;
    Ok(said
        .into_iter()
        .filter(|line| line.contains("warning:"))
        .collect())
}

/// Option that checks the bounds of `conn->sub[]`: by default an array at the end of a struct has
/// none. GCC and clang have different options.
fn strict_bounds(folder: &Path) -> &'static str {
    if is_gcc(folder) {
        BOUNDS_OF_GCC
    } else {
        "-fstrict-flex-arrays=3"
    }
}

/// True if the compiler has gcc's options.
fn is_gcc(folder: &Path) -> bool {
    let mut probe = Command::new(compiler());
    probe
        .args([BOUNDS_OF_GCC, "-E", "-x", "c", "/dev/null", "-o"])
        .arg(folder.join("probe"));
    probe.output().is_ok_and(|output| output.status.success())
}

/// The C compiler: from the environment, else the system's.
fn compiler() -> String {
    std::env::var("CC")
        .ok()
        .filter(|cc| !cc.is_empty())
        .unwrap_or_else(|| "cc".to_owned())
}

/// What gcc and clang print for `double` and `float`, which have no registers in the kernel.
const NO_FLOAT: [&str; 4] = [
    "SSE register",
    "SSE disabled",
    "floating-point type when",
    "-mgeneral-regs-only",
];

/// Runs a compiler and returns its output.
fn run(command: &mut Command, doing: &str) -> Result<Vec<String>> {
    let output = command
        .stdin(Stdio::null())
        .output()
        .map_err(|error| Error::Refused {
            doing: doing.to_owned(),
            why: format!("cannot run `{}`: {error}", command.get_program().display()),
            help: "install a C compiler (`apt install gcc`), or name one in CC".to_owned(),
            kind: Kind::Unsupported,
        })?;
    let said: Vec<String> = String::from_utf8_lossy(&output.stderr)
        .lines()
        .map(str::to_owned)
        .collect();
    if output.status.success() {
        return Ok(said);
    }
    let mut errors: Vec<String> = said
        .iter()
        .filter(|line| line.contains("error:"))
        .cloned()
        .collect();
    if let Some(float) = errors
        .iter()
        .find(|line| NO_FLOAT.iter().any(|words| line.contains(words)))
    {
        let place = float.split(" error:").next().unwrap_or_default();
        errors = vec![format!(
            "{place} the kernel has no floating point: use mpcc_scale() and integers"
        )];
    }
    errors.truncate(MAX_LINES);
    Err(Error::Refused {
        doing: doing.to_owned(),
        why: if errors.is_empty() {
            said.join("\n")
        } else {
            errors.join("\n")
        },
        help: "cc/mpcc.h is the contract; `joulepath cc new NAME` writes a header to begin with"
            .to_owned(),
        kind: Kind::Failed,
    })
}

/// C source: includes the header by its own path, so that messages name it, and the glue.
fn unit(file: &Path, name: &str) -> std::io::Result<String> {
    let path = fs::canonicalize(file)?;
    let quoted = path
        .display()
        .to_string()
        .replace('\\', "\\\\")
        .replace('"', "\\\"");
    let prefix = name.to_uppercase();
    Ok(format!(
        "#include \"mpcc_run.h\"\n#include \"{quoted}\"\n#include \"glue.h\"\n\
         #ifndef {prefix}_PARAMS\n#error {name}.h defines no {prefix}_PARAMS(X), which may be empty\n#endif\n\
         #define JP_OWN(X) X({name}, {prefix})\nJP_EXPORT(JP_OWN)\n\
         #ifdef JP_SANDBOX\n#include \"sandbox.h\"\nJP_SANDBOXED({name})\n#endif\n",
    ))
}
