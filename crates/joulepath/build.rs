//! Embeds the commit in the binary.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    let crate_root = PathBuf::from(env::var("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    println!("cargo:rustc-env=JOULEPATH_COMMIT={}", commit(&crate_root));
}

/// The commit, with `-dirty` appended if files differ from it; `unknown` outside the project's own
/// repository.
fn commit(crate_root: &Path) -> String {
    let git = |arguments: &[&str]| {
        let output = Command::new("git")
            .arg("-C")
            .arg(crate_root)
            .args(arguments)
            .output()
            .ok()?;
        let text = String::from_utf8(output.stdout).ok()?;
        output.status.success().then(|| text.trim().to_owned())
    };
    // Excludes the repository of a project that vendors this crate. The crate `python` has the same
    // script.
    let folder = crate_root
        .file_name()
        .expect("a crate has a folder")
        .to_string_lossy();
    let is_ours = git(&["rev-parse", "--show-prefix"])
        .is_some_and(|prefix| prefix == format!("crates/{folder}/"));
    let Some(hash) = git(&["rev-parse", "--short=12", "HEAD"]).filter(|_| is_ours) else {
        return packaged_commit(crate_root).unwrap_or_else(|| "unknown".to_owned());
    };
    for moves_with_the_commit in ["HEAD", "logs/HEAD", "index"] {
        if let Some(path) = git(&["rev-parse", "--git-path", moves_with_the_commit]) {
            println!("cargo:rerun-if-changed={}", crate_root.join(path).display());
        }
    }
    for source in ["crates", "cc", "Cargo.toml", "Cargo.lock"] {
        println!(
            "cargo:rerun-if-changed={}",
            crate_root.join("../..").join(source).display()
        );
    }
    match git(&[
        "--no-optional-locks",
        "status",
        "--porcelain",
        "--untracked-files=no",
    ]) {
        Some(changes) if changes.is_empty() => hash,
        _ => hash + "-dirty",
    }
}

/// The commit recorded by `cargo package`.
fn packaged_commit(crate_root: &Path) -> Option<String> {
    let note = std::fs::read_to_string(crate_root.join(".cargo_vcs_info.json")).ok()?;
    let (_, rest) = note.split_once("\"sha1\":")?;
    rest.split('"')
        .nth(1)
        .map(|hash| hash.chars().take(12).collect())
}
