//! Puts the shipped scenarios and the commit into the binary.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

fn main() {
    let crate_root = PathBuf::from(env::var("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let out = PathBuf::from(env::var("OUT_DIR").expect("cargo sets it"));
    // A link to the folder at the top of the repository; a package on the registry holds the files themselves.
    let scenarios = crate_root.join("scenarios");
    println!("cargo:rerun-if-changed={}", scenarios.display());
    fs::write(out.join("shipped.rs"), shipped(&scenarios, "toml")).expect("OUT_DIR can be written");
    fs::write(out.join("traces.rs"), shipped(&scenarios, "trace")).expect("OUT_DIR can be written");
    println!("cargo:rustc-env=JOULEPATH_COMMIT={}", commit(&crate_root));
}

/// The table of shipped files with this extension as Rust: name and text, sorted by name.
fn shipped(root: &Path, extension: &str) -> String {
    let mut files = Vec::new();
    collect(root, extension, &mut files);
    files.sort();
    let mut table = String::from("&[\n");
    for file in files {
        let name = file.strip_prefix(root).expect("found below the root").with_extension("");
        let name = name.to_str().expect("names of scenarios are ASCII");
        writeln!(table, "    ({name:?}, include_str!({file:?})),").expect("a String takes it");
    }
    table + "]\n"
}

/// The files below `folder`. Those of the benchmarks are of no use outside the repository.
fn collect(folder: &Path, extension: &str, files: &mut Vec<PathBuf>) {
    let entries =
        fs::read_dir(folder).unwrap_or_else(|error| panic!("cannot read {}: {error}", folder.display()));
    for entry in entries {
        let path = entry.expect("a readable folder").path();
        if path.is_dir() && !path.ends_with("bench") {
            collect(&path, extension, files);
        } else if path.extension().is_some_and(|found| found == extension) {
            files.push(path);
        }
    }
}

/// The commit, `-dirty` behind it if files differ from it; `unknown` outside the project's own repository.
fn commit(crate_root: &Path) -> String {
    let git = |arguments: &[&str]| {
        let output = Command::new("git").arg("-C").arg(crate_root).args(arguments).output().ok()?;
        let text = String::from_utf8(output.stdout).ok()?;
        output.status.success().then(|| text.trim().to_owned())
    };
    // Not the repository of someone who vendors this crate.
    let is_ours = git(&["rev-parse", "--show-prefix"]).is_some_and(|prefix| prefix == "crates/joulepath/");
    let Some(hash) = git(&["rev-parse", "--short=12", "HEAD"]).filter(|_| is_ours) else {
        return packaged_commit(crate_root).unwrap_or_else(|| "unknown".to_owned());
    };
    for moves_with_the_commit in ["HEAD", "logs/HEAD", "index"] {
        if let Some(path) = git(&["rev-parse", "--git-path", moves_with_the_commit]) {
            println!("cargo:rerun-if-changed={}", crate_root.join(path).display());
        }
    }
    for source in ["crates", "cc", "Cargo.toml", "Cargo.lock"] {
        println!("cargo:rerun-if-changed={}", crate_root.join("../..").join(source).display());
    }
    match git(&["--no-optional-locks", "status", "--porcelain", "--untracked-files=no"]) {
        Some(changes) if changes.is_empty() => hash,
        _ => hash + "-dirty",
    }
}

/// The commit that `cargo package` noted.
fn packaged_commit(crate_root: &Path) -> Option<String> {
    let note = fs::read_to_string(crate_root.join(".cargo_vcs_info.json")).ok()?;
    let (_, rest) = note.split_once("\"sha1\":")?;
    rest.split('"').nth(1).map(|hash| hash.chars().take(12).collect())
}
