//! The harness as seen by a user of `cargo test`.
#![cfg(target_os = "linux")]

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::thread;

const SAMPLE: &str = env!("CARGO_BIN_EXE_testbed-sample");
/// `nobody`, a user without rights.
const NOBODY: u32 = 65_534;

struct Said {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

impl Said {
    fn of(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
        Said {
            code: output.status.code(),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
        }
    }

    /// The outcome in a test's line.
    #[track_caller]
    fn outcome(&self, test: &str) -> &str {
        let line = self
            .stdout
            .lines()
            .find_map(|line| line.strip_prefix(&format!("test {test} ")));
        let line = line.unwrap_or_else(|| panic!("no line of {test}: {}", self.stdout));
        line.trim_start()
            .strip_prefix("... ")
            .expect("dots before the outcome")
    }
}

/// The sample without `CI`.
fn sample(arguments: &[&str]) -> Command {
    program(Path::new(SAMPLE), arguments)
}

fn program(program: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(program);
    command
        .args(arguments)
        .env_remove("CI")
        .env_remove("JOULEPATH_REQUIRE_KERNEL")
        .current_dir("/");
    command.env(
        "JOULEPATH_TESTBED_TURN",
        concat!(env!("CARGO_TARGET_TMPDIR"), "/turn"),
    );
    command
}

fn run(command: &mut Command) -> Said {
    loop {
        match command.output() {
            // The copy of the sample was just written. A process forked meanwhile by another thread
            // holds the descriptor until it executes its own program.
            Err(error) if error.kind() == ErrorKind::ExecutableFileBusy => thread::yield_now(),
            output => return Said::of(output.expect("the sample starts")),
        }
    }
}

#[test]
fn every_outcome_is_named_and_counted() {
    let said = run(&mut sample(&["outcomes"]));
    assert_eq!(said.code, Some(101), "{}", said.stdout);
    for (test, outcome) in [
        ("outcomes::passes", "ok"),
        ("outcomes::fails", "FAILED"),
        ("outcomes::is_killed", "FAILED"),
        ("outcomes::repeats_a_part_and_fails", "FAILED"),
        ("outcomes::repeats_a_part_and_passes", "ok"),
        ("outcomes::is_skipped", "ignored (it is Sunday)"),
        (
            "outcomes::is_too_busy",
            "ignored (needs a quiet clock: links were 7.5 ms late)",
        ),
    ] {
        assert_eq!(said.outcome(test), outcome);
    }
    assert!(
        said.stdout
            .contains("test result: FAILED. 4 passed; 3 failed; 2 ignored; "),
        "{}",
        said.stdout
    );
    assert!(
        said.stdout.ends_with(
            "2 ignored: it is Sunday (1), needs a quiet clock (1); 1 because the machine was too busy\n\
             2 with repetitions:\n    \
             outcomes::repeats_a_part_and_fails, repeated 1×: it was late\n    \
             outcomes::repeats_a_part_and_passes, repeated 1×: a link was 7.5 ms late\n\n"
        ),
        "{}",
        said.stdout
    );
}

#[test]
fn the_output_of_a_test_is_shown_only_if_it_fails() {
    let said = run(&mut sample(&["outcomes"]));
    let failures = &said.stdout[said.stdout.find("failures:").expect("they are listed")..];
    let (_, fails) = failures
        .split_once("---- outcomes::fails ----\n")
        .expect("its words");
    // In the original order, with the panic and its place.
    assert!(
        fails.starts_with("first to stdout\nthen to stderr\n"),
        "{fails}"
    );
    assert!(
        fails.contains("thread 'outcomes::fails'") && fails.contains("sample/main.rs"),
        "{fails}"
    );
    assert!(
        fails.contains("arithmetic") && fails.contains("left: 2"),
        "{fails}"
    );
    let killed = "the last output\nthe test's process was killed by signal 6";
    assert!(failures.contains(killed), "{failures}");
    assert!(
        !said.stdout.contains("output of a passing test"),
        "{}",
        said.stdout
    );
    assert!(
        !said.stdout.contains("output of a skipped test"),
        "{}",
        said.stdout
    );
    assert_eq!(said.stderr, "");
    for shown in ["--nocapture", "--show-output"] {
        let said = run(&mut sample(&["outcomes::passes", shown]));
        assert!(
            said.stdout.contains("output of a passing test"),
            "{}",
            said.stdout
        );
    }
}

#[test]
fn names_are_listed_and_filtered_as_in_libtest() {
    let listed = run(&mut sample(&["--list"])).stdout;
    assert!(
        listed.starts_with("needs::a_missing_tool: test\nneeds::root: test\n"),
        "{listed}"
    );
    let said = run(&mut sample(&["one"]));
    // `leaves_a_thread…` and others do not contain it.
    assert!(
        said.stdout.contains("1 passed; 0 failed; 0 ignored;"),
        "{}",
        said.stdout
    );
    let said = run(&mut sample(&["--exact", "turns"]));
    assert!(
        said.stdout.contains("0 passed; 0 failed; 0 ignored;"),
        "{}",
        said.stdout
    );
    let said = run(&mut sample(&["--exact", "turns::one"]));
    assert!(
        said.stdout.contains("1 passed; 0 failed; 0 ignored;"),
        "{}",
        said.stdout
    );
    let said = run(&mut sample(&["turns", "--skip", "other"]));
    assert!(
        said.stdout.contains("1 passed; 0 failed; 0 ignored;"),
        "{}",
        said.stdout
    );
}

#[test]
fn a_test_with_a_missing_need_is_ignored_but_can_be_forced() {
    let tool = "needs::a_missing_tool";
    let said = run(&mut sample(&[tool]));
    assert_eq!(said.code, Some(0));
    assert_eq!(
        said.outcome(tool),
        "ignored (needs no-such-tool: not in PATH)"
    );
    assert!(
        said.stdout
            .ends_with("1 ignored: needs no-such-tool (1)\n\n"),
        "{}",
        said.stdout
    );
    let listed = run(&mut sample(&["--list", "--ignored"])).stdout;
    assert!(
        listed.contains(tool) && !listed.contains("outcomes::passes"),
        "{listed}"
    );
    let said = run(sample(&[tool, "--ignored"]).env("CI", "true"));
    assert_eq!((said.code, said.outcome(tool)), (Some(101), "FAILED"));
    assert!(
        said.stdout.contains("run despite a missing need"),
        "{}",
        said.stdout
    );
}

#[test]
fn a_missing_need_is_an_error_if_required() {
    let tool = "needs::a_missing_tool";
    let said = run(sample(&[tool]).env("JOULEPATH_REQUIRE_KERNEL", "1"));
    assert_eq!((said.code, said.outcome(tool)), (Some(101), "FAILED"));
    let why = "needs no-such-tool: not in PATH\nnot run, which JOULEPATH_REQUIRE_KERNEL makes an error\n\
               to fix it: install no-such-tool";
    assert!(said.stdout.contains(why), "{}", said.stdout);
    let said = run(sample(&["outcomes::is_skipped"]).env("JOULEPATH_REQUIRE_KERNEL", "1"));
    assert_eq!(said.outcome("outcomes::is_skipped"), "FAILED");
    assert!(said.stdout.contains("it is Sunday"), "{}", said.stdout);
}

#[test]
fn required_tests_may_be_ignored_on_a_busy_machine_up_to_a_limit() {
    for variable in ["JOULEPATH_REQUIRE_KERNEL", "CI"] {
        let busy = |allowed: &str| {
            let mut command = sample(&["outcomes::is_too_busy"]);
            run(command
                .env(variable, "1")
                .env("JOULEPATH_TOO_BUSY", allowed))
        };
        let said = busy("1");
        assert_eq!(said.code, Some(0), "{}", said.stdout);
        let said = busy("0");
        assert_eq!(said.code, Some(101), "{}", said.stdout);
        assert!(
            said.stderr
                .contains("too busy for 1 tests; at most 0 are allowed"),
            "{}",
            said.stderr
        );
    }
    let said = run(sample(&["outcomes::is_too_busy"]).env("JOULEPATH_TOO_BUSY", "0"));
    assert_eq!(
        said.code,
        Some(0),
        "without strict needs the run passes: {}",
        said.stdout
    );
    let said = run(sample(&[]).env("JOULEPATH_TOO_BUSY", "some"));
    assert_eq!(said.code, Some(2));
    assert!(
        said.stderr.contains("JOULEPATH_TOO_BUSY: invalid digit"),
        "{}",
        said.stderr
    );
}

#[test]
fn without_root_ci_ignores_tests_that_need_root_and_only_these() {
    if !rustix::process::geteuid().is_root() {
        // The user already has no rights.
        let said = run(sample(&["needs::root"]).env("CI", "true"));
        assert!(
            said.stdout.contains("1 ignored: needs root (1)"),
            "{}",
            said.stdout
        );
        return;
    }
    // A copy that `nobody` may run.
    let folder = tempfile::tempdir().expect("a temporary folder");
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let copy = folder.path().join("sample");
    fs::copy(SAMPLE, &copy).unwrap();
    let as_nobody = |arguments: &[&str]| {
        let mut command = program(&copy, arguments);
        command
            .uid(NOBODY)
            .gid(NOBODY)
            .env("CI", "true")
            .env_remove("XDG_RUNTIME_DIR");
        command
    };
    let said = run(&mut as_nobody(&["needs"]));
    assert_eq!(
        said.outcome("needs::root"),
        "ignored (needs root: user id 65534)"
    );
    assert_eq!(
        said.outcome("needs::several"),
        "ignored (needs root: user id 65534)"
    );
    assert!(
        said.stdout.ends_with("2 ignored: needs root (2)\n\n"),
        "{}",
        said.stdout
    );
    // A program can be installed by any user.
    assert_eq!(
        (said.code, said.outcome("needs::a_missing_tool")),
        (Some(101), "FAILED")
    );
    let said = run(as_nobody(&["needs::root"]).env("JOULEPATH_REQUIRE_KERNEL", "1"));
    assert_eq!(
        (said.code, said.outcome("needs::root")),
        (Some(101), "FAILED")
    );
}

#[test]
fn tests_run_at_the_same_time_and_each_has_its_own_output_and_end() {
    for threads in ["argument", "variable"] {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mut command = sample(&["together"]);
        command.env("SAMPLE_FOLDER", folder.path());
        match threads {
            "argument" => command.args(["--test-threads", "2"]),
            _ => command.env("RUST_TEST_THREADS", "2"),
        };
        let said = run(&mut command);
        assert_eq!(said.outcome("together::left"), "FAILED");
        assert_eq!(said.outcome("together::right"), "ok");
        let failures = &said.stdout[said.stdout.find("failures:").expect("they are listed")..];
        assert!(
            failures.contains("---- together::left ----\nsaid by the left one\n")
                && failures.contains("the left one ends")
                && !failures.contains("together::right"),
            "{failures}"
        );
    }
    let said = run(sample(&["together"]).env("RUST_TEST_THREADS", "0"));
    assert_eq!(said.code, Some(2));
    assert!(
        said.stderr.contains("RUST_TEST_THREADS=0"),
        "{}",
        said.stderr
    );
}

#[test]
fn a_test_that_must_be_alone_waits_for_the_others_even_of_another_binary() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let start = |_| {
        let mut command = sample(&["turns"]);
        command
            .env("SAMPLE_FOLDER", folder.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command.spawn().expect("the sample starts")
    };
    let running: Vec<_> = (0..3).map(start).collect();
    for child in running {
        let said = Said::of(child.wait_with_output().unwrap());
        assert!(
            said.stdout.contains("2 passed; 0 failed"),
            "{}",
            said.stdout
        );
    }
}
