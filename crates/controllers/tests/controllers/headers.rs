//! The headers of cc/ compile for the BPF target without library calls, pass every warning, and
//! stay short.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use joulepath_controllers::{Capability, Controller};
use object::{Object, ObjectSymbol};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("cc")
}

/// Runs a compiler; prints a line and returns `None` if it is not installed. Under CI that is a
/// failure.
fn run(compiler: &str, args: &[&str]) -> Option<Output> {
    match Command::new(compiler)
        .arg("-I")
        .arg(folder())
        .args(args)
        .output()
    {
        Ok(output) => Some(output),
        Err(error) => {
            assert!(
                env::var_os("CI").is_none(),
                "{compiler} is missing under CI: {error}"
            );
            println!("skipped: {compiler} not found");
            None
        }
    }
}

fn assert_clean(what: &str, output: &Output) {
    let messages = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success() && messages.is_empty(),
        "{what}:\n{messages}"
    );
}

fn temporary(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}

#[test]
fn all_controllers_compile_for_bpf_without_library_calls() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/bpf.c");
    for cpu in ["-mcpu=v2", "-mcpu=v3"] {
        let emitted = temporary(&format!("controllers{cpu}.o"));
        let args = [
            "-target",
            "bpf",
            "-O2",
            cpu,
            "-std=c11",
            "-ffreestanding",
            "-Wall",
            "-Wextra",
            "-Werror",
            "-g",
            "-c",
        ];
        let args: Vec<&str> = args
            .into_iter()
            .chain([source.to_str().unwrap(), "-o", emitted.to_str().unwrap()])
            .collect();
        let Some(output) = run("clang", &args) else {
            return;
        };
        assert_clean("clang -target bpf", &output);
        let bytes = fs::read(&emitted).unwrap();
        let file = object::File::parse(bytes.as_slice()).unwrap();
        let undefined: Vec<&str> = file
            .symbols()
            .filter(|symbol| symbol.is_undefined())
            .filter_map(|symbol| symbol.name().ok())
            .collect();
        assert!(
            undefined.iter().all(|name| name.is_empty()),
            "calls to {undefined:?}"
        );
        for controller in Controller::all() {
            let control = controller.has(Capability::OwnsWindow).then_some("control");
            for function in ["init", "ack", "loss", "restart"]
                .into_iter()
                .chain(control)
            {
                let name = format!("bpf_{}_{function}", controller.name());
                assert!(
                    file.symbol_by_name(&name).is_some(),
                    "{name} was not emitted"
                );
            }
        }
    }
}

/// Flags under which a freestanding source must compile without a warning.
const STRICT: [&str; 8] = [
    "-std=c11",
    "-ffreestanding",
    "-O2",
    "-fsyntax-only",
    "-Wall",
    "-Wextra",
    "-Wconversion",
    "-Werror",
];

#[test]
fn each_header_stands_alone_and_is_clean_under_every_warning() {
    for header in headers() {
        let source = temporary(&format!("{header}.c"));
        fs::write(
            &source,
            format!("#include \"{header}\"\nint stands_alone;\n"),
        )
        .unwrap();
        let source = source.to_str().unwrap();
        for (compiler, target) in [
            ("gcc", &[][..]),
            ("clang", &[][..]),
            ("clang", &["-target", "bpf"][..]),
        ] {
            let args: Vec<&str> = STRICT
                .iter()
                .chain(target)
                .copied()
                .chain([source])
                .collect();
            if let Some(output) = run(compiler, &args) {
                assert_clean(&format!("{compiler} {target:?} {header}"), &output);
            }
        }
    }
}

#[test]
fn the_native_glue_is_clean_under_every_warning() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("native/native.c");
    for compiler in ["gcc", "clang"] {
        let args: Vec<&str> = STRICT
            .into_iter()
            .chain([source.to_str().unwrap()])
            .collect();
        if let Some(output) = run(compiler, &args) {
            assert_clean(compiler, &output);
        }
    }
}

#[test]
fn a_controller_fits_in_one_header_of_its_name_and_two_hundred_lines() {
    // A controller that owns its window does the runner's work itself.
    let most = |controller: Controller| {
        if controller.has(Capability::OwnsWindow) {
            300
        } else {
            200
        }
    };
    for controller in Controller::all() {
        let text = fs::read_to_string(folder().join(format!("{}.h", controller.name()))).unwrap();
        let lines = text.lines().count();
        assert!(
            lines < most(controller),
            "{}.h has {lines} lines",
            controller.name()
        );
        assert!(
            text.contains("Deviations"),
            "{}.h lists no deviations",
            controller.name()
        );
        assert!(text.starts_with("/* SPDX-License-Identifier: MIT OR GPL-2.0 */\n"));
    }
    // A controller too long for one header has parts such as `joule_trust.h`.
    let is_part = |header: &String| {
        let (owner, _) = header.split_once('_').unwrap_or_default();
        Controller::by_name(owner).is_ok_and(|owner| {
            let lines = fs::read_to_string(folder().join(header))
                .unwrap()
                .lines()
                .count();
            lines < most(owner)
        })
    };
    let shared = [
        "all.h",
        "mpcc.h",
        "mpcc_hystart.h",
        "mpcc_math.h",
        "mpcc_model.h",
        "mpcc_run.h",
    ];
    let known = Controller::all().count() + shared.len();
    let headers = headers();
    let parts = headers.iter().filter(|header| is_part(header)).count();
    assert_eq!(headers.len(), known + parts, "a header is missing in all.h");
}

#[test]
fn every_controller_has_its_page() {
    let pages = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/models");
    if !pages.is_dir() {
        println!("skipped: docs/models is not part of the published crate");
        return;
    }
    for controller in Controller::all() {
        let page = fs::read_to_string(pages.join(format!("{}.md", controller.name())))
            .unwrap_or_else(|error| panic!("docs/models/{}.md: {error}", controller.name()));
        assert!(
            page.starts_with(&format!("# {}\n", controller.display_name())),
            "the page of {} has another title",
            controller.name()
        );
        for param in controller.params() {
            assert!(
                page.contains(&format!("`{}`", param.name())),
                "{}.md does not mention {}",
                controller.name(),
                param.name()
            );
        }
    }
}

fn headers() -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.ends_with(".h"))
        .collect();
    names.sort();
    names
}
