//! Compiles native/native.c, which includes every header of cc/.
//!
//! `cc` in this folder is a symbolic link to the workspace's `cc/`, so that a published package carries the
//! headers. Debug builds (tests) trap on undefined behaviour such as signed overflow.

use std::{env, path::Path};

fn main() {
    let headers = Path::new("cc");
    println!("cargo::rerun-if-changed=native/native.c");
    println!("cargo::rerun-if-changed={}", headers.display());
    let folder = headers.canonicalize().expect("cc/ lies beside this crate, reached by the link `cc`");
    println!("cargo::rerun-if-changed={}", folder.display());
    for entry in folder.read_dir().expect("cc/ can be listed") {
        println!("cargo::rerun-if-changed={}", entry.expect("cc/ can be listed").path().display());
    }

    let mut build = cc::Build::new();
    build
        .file("native/native.c")
        .include(headers)
        .std("c11")
        .opt_level(3)
        .warnings(true)
        .extra_warnings(true);
    build.flag("-ffreestanding").flag_if_supported("-Wconversion");
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
