//! Compiles shim/mptcp.c to a shared library, which the crate embeds.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

const SOURCE: &str = "shim/mptcp.c";
const FLAGS: [&str; 10] = [
    "-std=c11",
    "-O2",
    "-g0",
    "-Wall",
    "-Wextra",
    "-ffreestanding",
    "-fno-stack-protector",
    "-fvisibility=hidden",
    "-fPIC",
    "-Werror",
];
/// Without libc: the library finds what it needs in the program that loads it.
const LINK: [&str; 6] = [
    "-shared",
    "-nostdlib",
    "-s",
    "-Wl,--build-id=none",
    "-Wl,-z,now",
    "-Wl,-soname,libjoulepath-mptcp.so",
];

fn main() {
    println!("cargo::rerun-if-changed={SOURCE}");
    if variable("CARGO_CFG_TARGET_OS") != "linux" {
        return;
    }
    let library = PathBuf::from(variable("OUT_DIR")).join("libjoulepath-mptcp.so");
    let compiler = cc::Build::new().cargo_warnings(false).get_compiler();
    let mut command = compiler.to_command();
    command.args(FLAGS).args(LINK);
    if !variable("HOST").starts_with(&(variable("CARGO_CFG_TARGET_ARCH") + "-")) {
        // The system's linker knows only its own architecture; Rust's knows all.
        command
            .arg("-fuse-ld=lld")
            .arg(format!("-B{}", rust_linker().display()));
    }
    let status = command.arg(SOURCE).arg("-o").arg(&library).status();
    match status {
        Ok(status) if status.success() => {}
        Ok(status) => panic!("{command:?} failed: {status}"),
        Err(error) => panic!("{command:?} compiles {SOURCE}: {error}"),
    }
}

/// The folder of Rust's `ld.lld`.
fn rust_linker() -> PathBuf {
    let output = Command::new(variable("RUSTC"))
        .args(["--print", "sysroot"])
        .output();
    let output = output.expect("the compiler that cargo runs");
    let root = String::from_utf8(output.stdout).expect("a path in UTF-8");
    Path::new(root.trim())
        .join("lib/rustlib")
        .join(variable("HOST"))
        .join("bin/gcc-ld")
}

fn variable(name: &str) -> String {
    env::var(name).unwrap_or_else(|error| panic!("cargo sets {name}: {error}"))
}
