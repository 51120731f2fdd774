//! Embeds the shipped scenarios, the papers' experiments with their stored results, and the cases
//! for controllers in the library.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

use serde_json::Value;

fn main() {
    let crate_root = PathBuf::from(env::var("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let out = PathBuf::from(env::var("OUT_DIR").expect("cargo sets it"));
    // In the repository these are links to folders at its top; a published package holds the files
    // themselves.
    let [scenarios, papers, cases] =
        ["scenarios", "papers", "cases"].map(|folder| crate_root.join(folder));
    for folder in [&scenarios, &papers, &cases] {
        println!("cargo:rerun-if-changed={}", folder.display());
    }
    fs::write(out.join("papers.rs"), shipped(&papers, is_scenario))
        .expect("OUT_DIR can be written");
    fs::write(out.join("cases.rs"), shipped(&cases, is_scenario)).expect("OUT_DIR can be written");
    fs::write(out.join("shipped.rs"), shipped(&scenarios, is_scenario))
        .expect("OUT_DIR can be written");
    fs::write(out.join("daemon.rs"), shipped(&scenarios, is_daemon))
        .expect("OUT_DIR can be written");
    fs::write(
        out.join("traces.rs"),
        shipped(&scenarios, |file| has_extension(file, "trace")),
    )
    .expect("OUT_DIR can be written");
    let file = crate_root.join("hashes.txt");
    println!("cargo:rerun-if-changed={}", file.display());
    fs::write(out.join("hashes.txt"), hashes(&file)).expect("OUT_DIR can be written");
    // Pages of a paper show verdicts and sentences, not points and figures.
    for (name, parts) in [
        ("claims.json", ["states", "findings", "compare"]),
        ("full.json", ["figures", "set_up", ""]),
    ] {
        let file = crate_root.join(name);
        println!("cargo:rerun-if-changed={}", file.display());
        fs::write(out.join(name), shortened(&file, parts)).expect("OUT_DIR can be written");
    }
}

/// Engine, scenario, policy and hash of each stored short run of the packet engine and of the
/// slotted system.
fn hashes(file: &Path) -> String {
    let text = fs::read_to_string(file)
        .unwrap_or_else(|error| panic!("cannot read {}: {error}", file.display()));
    let of_papers = |line: &&str| line.starts_with("packet ") || line.starts_with("slotted ");
    let short = |line: &str| {
        line.split_whitespace()
            .take(4)
            .collect::<Vec<_>>()
            .join(" ")
            + "\n"
    };
    text.lines().filter(of_papers).map(short).collect()
}

/// Stored results without boxes, and without `parts` of each claim or experiment.
fn shortened(file: &Path, parts: [&str; 3]) -> String {
    let text = fs::read_to_string(file)
        .unwrap_or_else(|error| panic!("cannot read {}: {error}", file.display()));
    let mut all: Value = serde_json::from_str(&text).expect("stored results are JSON");
    for (list, of) in all
        .as_object_mut()
        .expect("results are an object")
        .iter_mut()
    {
        match (list.as_str(), of) {
            ("boxes" | "fits", of) => *of = Value::Array(vec![]),
            ("claims" | "experiments", Value::Array(items)) => {
                let rows = items.iter_mut().filter_map(Value::as_object_mut);
                rows.for_each(|row| {
                    row.iter_mut()
                        .filter(|(key, _)| parts.contains(&key.as_str()))
                        .for_each(|(_, of)| *of = Value::Array(vec![]))
                });
            }
            _ => {}
        }
    }
    all.to_string()
}

fn has_extension(file: &Path, extension: &str) -> bool {
    file.extension().is_some_and(|found| found == extension)
}

/// Whether the file is a daemon configuration: `daemon/NAME.toml`, next to its scenario.
fn is_daemon(file: &Path) -> bool {
    has_extension(file, "toml")
        && file
            .parent()
            .is_some_and(|folder| folder.ends_with("daemon"))
}

fn is_scenario(file: &Path) -> bool {
    has_extension(file, "toml") && !is_daemon(file)
}

/// Rust source of a table of the wanted files: name and text, sorted by name.
fn shipped(root: &Path, is_wanted: fn(&Path) -> bool) -> String {
    let mut files = Vec::new();
    collect(root, &mut files);
    files.retain(|file| is_wanted(file));
    files.sort();
    let mut table = String::from("&[\n");
    for file in files {
        let name = file
            .strip_prefix(root)
            .expect("found below the root")
            .with_extension("");
        let name = name.to_str().expect("names of scenarios are ASCII");
        writeln!(table, "    ({name:?}, include_str!({file:?})),").expect("a String takes it");
    }
    table + "]\n"
}

/// Collects the files below `folder`, except benchmarks, which only the repository uses.
fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    let entries = fs::read_dir(folder)
        .unwrap_or_else(|error| panic!("cannot read {}: {error}", folder.display()));
    for entry in entries {
        let path = entry.expect("a readable folder").path();
        if path.is_dir() && !path.ends_with("bench") {
            collect(&path, files);
        } else if path.is_file() {
            files.push(path);
        }
    }
}
