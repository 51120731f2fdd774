//! Compiles native/native.c, which includes every header of cc/, and embeds the headers' texts in
//! the crate.
//!
//! `cc` in this folder is a symbolic link to the workspace's `cc/`, so a published package carries
//! the headers. Debug builds (tests) trap on undefined behaviour such as signed overflow.

use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() {
    let headers = Path::new("cc");
    println!("cargo::rerun-if-changed=native");
    println!("cargo::rerun-if-changed={}", headers.display());
    let folder = headers
        .canonicalize()
        .expect("the link `cc` leads to the workspace's cc/");
    println!("cargo::rerun-if-changed={}", folder.display());
    let entries = folder.read_dir().expect("cc/ can be listed");
    let mut files: Vec<PathBuf> = entries
        .map(|entry| entry.expect("cc/ can be listed").path())
        .collect();
    files.push(
        Path::new("native/glue.h")
            .canonicalize()
            .expect("native/glue.h is there"),
    );
    files.retain(|file| file.extension().is_some_and(|extension| extension == "h"));
    files.sort();
    files
        .iter()
        .for_each(|file| println!("cargo::rerun-if-changed={}", file.display()));
    write_texts(&files);

    let mut build = cc::Build::new();
    build
        .file("native/native.c")
        .include(headers)
        .std("c11")
        .opt_level(3)
        .warnings(true)
        .extra_warnings(true);
    build
        .flag("-ffreestanding")
        .flag_if_supported("-Wconversion");
    if env::var("PROFILE").is_ok_and(|profile| profile == "debug") {
        build.flag_if_supported("-fsanitize=undefined");
        let trap = if build.get_compiler().is_like_clang() {
            "-fsanitize-trap=undefined"
        } else {
            "-fsanitize-undefined-trap-on-error"
        };
        build.flag(trap);
    }
    build.compile("joulepath_cc");
}

/// Name and text of each header, for src/lib.rs.
fn write_texts(files: &[PathBuf]) {
    let row = |file: &PathBuf| {
        let name = file
            .file_name()
            .expect("a file has a name")
            .to_string_lossy();
        format!(
            "({name:?}, include_str!({:?})),\n",
            file.display().to_string()
        )
    };
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    let table: String = files.iter().map(row).collect();
    fs::write(out.join("headers.rs"), format!("&[\n{table}]")).expect("OUT_DIR can be written");
}
