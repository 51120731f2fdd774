//! Wrong input is refused with its place, a fix and the right exit code.

use std::fs;
use std::path::Path;

use crate::QUICK;
use crate::run::{folder, joulepath_in};

/// Runs each command and writes down what it says.
fn transcript(folder: &Path, cases: &[(i32, &[&str])]) -> String {
    let mut transcript = String::new();
    for (code, arguments) in cases {
        let said = joulepath_in(folder, arguments);
        assert_eq!(said.code, Some(*code), "{arguments:?}: {}", said.stderr);
        assert_eq!(said.stdout, "", "{arguments:?} has no data to show");
        let command = shlex::try_join(arguments.iter().copied()).unwrap();
        transcript += &format!("$ joulepath {command}\n{}exit {code}\n\n", said.stderr);
    }
    transcript
}

/// The quick scenario with one text replaced everywhere.
fn changed(from: &str, to: &str) -> String {
    assert!(QUICK.contains(from), "{from}");
    QUICK.replace(from, to)
}

#[test]
fn a_scenario_that_cannot_be_is_shown_with_its_line_underlined() {
    let folder = folder();
    let rate = "rate = \"10 Mbit/s\"";
    let files = [
        ("malformed.toml", changed("[[path]]", "[[path]")),
        ("no-unit.toml", changed(rate, "rate = 10")),
        (
            "loss.toml",
            changed(rate, "rate = \"10 Mbit/s\"\nloss = \"1.2\""),
        ),
        (
            "loss-percent.toml",
            changed(rate, "rate = \"10 Mbit/s\"\nloss = \"120 %\""),
        ),
        ("rate-zero.toml", changed(rate, "rate = \"0 Mbit/s\"")),
        ("unknown-key.toml", changed("queue =", "qeue =")),
        ("unknown-energy.toml", changed("wifi6-2021", "wifi-2021")),
        (
            "unknown-path.toml",
            format!("{QUICK}\n[[connection]]\nname = \"phone\"\npaths = [\"wifi\", \"umts\"]\n"),
        ),
        (
            "unused.toml",
            format!("{QUICK}\n[[connection]]\nname = \"own\"\nworkload = {{ kind = \"bulk\" }}\n"),
        ),
        (
            "no-subflow.toml",
            "title = \"nothing\"\nduration = \"1 s\"\npath = []\n".to_owned(),
        ),
        (
            "no-path.toml",
            "title = \"nothing\"\nduration = \"1 s\"\n".to_owned(),
        ),
        ("empty.toml", String::new()),
    ];
    for (name, text) in &files {
        fs::write(folder.path().join(name), text).unwrap();
    }
    fs::write(folder.path().join("not-text.toml"), [b't', 0xFF, 0xFE]).unwrap();
    let mut transcripts = String::new();
    for name in files.iter().map(|(name, _)| *name).chain(["not-text.toml"]) {
        transcripts += &transcript(folder.path(), &[(2, &["compare", name])]);
    }
    insta::assert_snapshot!(transcripts);
}

#[cfg(unix)]
#[test]
fn a_trace_is_read_from_beside_the_scenario_and_from_nowhere_else() {
    use std::os::unix::fs::symlink;
    let outside = folder();
    let secret = outside.path().join("secret");
    fs::write(&secret, "root:$6$salt\n").unwrap();
    let folder = folder();
    symlink(&secret, folder.path().join("link.down")).unwrap();
    symlink(outside.path(), folder.path().join("far")).unwrap();
    fs::create_dir(folder.path().join("folder.down")).unwrap();
    // Reading a pipe without a writer, or /dev/zero, would never end.
    let made = std::process::Command::new("mkfifo")
        .arg(folder.path().join("pipe.down"))
        .status()
        .unwrap();
    assert!(made.success());
    let up = format!(
        "../{}/secret",
        outside.path().file_name().unwrap().to_str().unwrap()
    );
    for (trace, why) in [
        (
            secret.to_str().unwrap(),
            "it is not below the scenario's folder",
        ),
        ("/dev/zero", "it is not below the scenario's folder"),
        (&up, "it is not below the scenario's folder"),
        ("link.down", "link.down is a symbolic link"),
        ("far/secret", "far is a symbolic link"),
        ("folder.down", "it is not a regular file"),
        ("pipe.down", "it is not a regular file"),
    ] {
        let text = changed(
            "rate = \"10 Mbit/s\"",
            &format!("rate = {{ trace = \"{trace}\" }}"),
        );
        fs::write(folder.path().join("theirs.toml"), text).unwrap();
        let said = joulepath_in(folder.path(), &["compare", "theirs.toml"]);
        // Lines are wrapped.
        let words = said
            .stderr
            .replace('│', " ")
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ");
        assert_eq!(said.code, Some(2), "{trace}: {words}");
        assert!(words.contains(why), "{trace}: {words}");
        assert!(!words.contains("root:"), "{trace}: {words}");
    }
}

#[test]
fn an_impossible_trace_is_refused_with_its_line() {
    let folder = folder();
    for (name, trace) in [("empty", ""), ("backwards", "5\n3\n"), ("word", "5\nsix\n")] {
        let text = changed(
            "rate = \"10 Mbit/s\"",
            &format!("rate = {{ trace = \"{name}.down\" }}"),
        );
        fs::write(folder.path().join(format!("{name}.toml")), text).unwrap();
        fs::write(folder.path().join(format!("{name}.down")), trace).unwrap();
    }
    fs::rename(
        folder.path().join("word.toml"),
        folder.path().join("words.toml"),
    )
    .unwrap();
    fs::write(
        folder.path().join("missing.toml"),
        changed(
            "rate = \"10 Mbit/s\"",
            "rate = { trace = \"nowhere.down\" }",
        ),
    )
    .unwrap();
    insta::assert_snapshot!(transcript(
        folder.path(),
        &[
            (2, &["compare", "empty.toml"]),
            (2, &["compare", "backwards.toml"]),
            (2, &["compare", "words.toml"]),
            (2, &["compare", "missing.toml"]),
        ]
    ));
}

#[test]
fn a_wrong_command_line_gets_a_suggestion() {
    let folder = folder();
    fs::create_dir(folder.path().join("results")).unwrap();
    insta::assert_snapshot!(transcript(
        folder.path(),
        &[
            (2, &["compare"]),
            (2, &["compare", "nowhere.toml"]),
            (2, &["compare", "quikc"]),
            (2, &["compare", "000-table1"]),
            (2, &["compare", "results"]),
            (2, &["compare", "quick", "--policies", "mtpcp"]),
            (2, &["compare", "quick", "--policies", "oila"]),
            (2, &["compare", "quick", "--policies", "mptcp[cc=ollia]"]),
            (
                2,
                &[
                    "compare",
                    "quick",
                    "--policies",
                    "mptcp[cc=dts,shpe=intended]"
                ]
            ),
            (2, &["compare", "quick", "--policies", "dts[shape=round]"]),
            (
                2,
                &["compare", "quick", "--policies", "mptcp[scheduler=min-rtt]"]
            ),
            (
                2,
                &["compare", "quick", "--policies", "linux[penalise=off]"]
            ),
            (2, &["compare", "quick", "--policies", "eemptcp[reading=Z]"]),
            (2, &["compare", "quick", "--policies", "mptcp[cc=olia"]),
            (2, &["compare", "quick", "--policies", "single:wfi"]),
            (2, &["compare", "quick", "--policies", "single"]),
            (2, &["compare", "quick", "--policies", ""]),
            (2, &["compare", "quick", "--policies", "mptcp,lia,mptcp"]),
            (2, &["compare", "quick", "--set", "duration=2"]),
            (2, &["compare", "quick", "--set", "path.wfi.loss=2 %"]),
            (2, &["compare", "quick", "--set", "duration"]),
            (2, &["compare", "quick", "--duration", "soon"]),
            (2, &["compare", "quick", "--variant", "large"]),
            (2, &["compare", "papers/001-3g-wlan", "--variant", "64KB"]),
            (2, &["compare", "quick", "--all-variants"]),
            (2, &["compare", "quick", "--seeds", "0"]),
            (2, &["compare", "quick", "--seeds", "1000000"]),
            (2, &["compare", "quick", "--seed", "18446744073709551615"]),
            (2, &["compare", "quick", "--jobs", "0"]),
            (2, &["compare", "quick", "--engine", "packets"]),
            (2, &["compare", "quick", "--max-lateness", "5 ms"]),
            (
                2,
                &[
                    "compare",
                    "quick",
                    "--engine",
                    "kernel",
                    "--max-lateness",
                    "soon"
                ]
            ),
            (2, &["compare", "quick", "--json", "--csv", "-"]),
            (2, &["compare", "quick", "--json", "other.toml"]),
            (
                2,
                &["compare", "quick", "--json", "a.txt", "--csv", "a.txt"]
            ),
            (2, &["compare", "quick", "--set", "path.wifi.rate=40 Mb/s"]),
            (2, &["compare", "quick", "--set", "path.wifi.rate=40 MB"]),
            (2, &["compare", "quick", "--set", "path.wifi.loss=0.01"]),
            (2, &["compare", "quick", "--policies", "single:wifi mptcp"]),
            (
                2,
                &["compare", "quick", "--policies", "mptcp[schedular=blest]"]
            ),
            (2, &["explain", "mptcp", "--state", "state.json"]),
            (
                2,
                &[
                    "map",
                    "quick",
                    "--x",
                    "path.wifi.los=1..2 %",
                    "--y",
                    "path.lte.loss=1..2 %"
                ]
            ),
            (2, &["start"]),
            (2, &["live", "status"]),
            (2, &["live", "stop"]),
            (2, &["live", "--undo", "--dry-run"]),
            (2, &["on", "off"]),
            (2, &["on", "--config", "live.toml"]),
            (2, &["off", "--dry-run"]),
            (2, &["status", "--serve", "7077"]),
            (2, &["list", "controler"]),
            (2, &["explain", "oila", "--state", "state.json"]),
            (2, &["show", "quick", "--set", "path.lte.rate=fast"]),
        ]
    ));
}

#[test]
fn the_engine_live_is_refused_with_the_command_of_that_name() {
    let said = joulepath_in(folder().path(), &["compare", "quick", "--engine", "live"]);
    assert_eq!(said.code, Some(2));
    assert!(
        said.stderr
            .contains("`joulepath live` manages real interfaces"),
        "{}",
        said.stderr
    );
}

#[test]
fn a_policy_of_the_scenario_that_does_not_fit_is_named() {
    let folder = folder();
    fs::write(
        folder.path().join("policy.toml"),
        changed("\"mptcp\"", "\"mtpcp\""),
    )
    .unwrap();
    let rival = "\n[[competitor]]\nname = \"rival\"\npath = \"lte\"\ncc = \"renno\"\n";
    fs::write(
        folder.path().join("competitor.toml"),
        format!("{QUICK}{rival}"),
    )
    .unwrap();
    insta::assert_snapshot!(transcript(
        folder.path(),
        &[
            (2, &["compare", "policy.toml"]),
            (2, &["compare", "competitor.toml"]),
        ]
    ));
}

#[test]
fn nothing_runs_before_every_policy_of_every_variant_is_right() {
    let folder = folder();
    let said = joulepath_in(
        folder.path(),
        &[
            "compare",
            "papers/001-3g-wlan",
            "--all-variants",
            "--policies",
            "mptcp,single:lte",
            "--json",
            "all.json",
        ],
    );
    assert_eq!(said.code, Some(2), "{}", said.stderr);
    assert_eq!(
        fs::read_dir(folder.path()).unwrap().count(),
        0,
        "nothing was written either"
    );
}

#[cfg(unix)]
#[test]
fn an_unreadable_file_is_a_permission_error() {
    use std::os::unix::fs::PermissionsExt;
    let folder = folder();
    let secret = folder.path().join("secret.toml");
    fs::write(&secret, QUICK).unwrap();
    fs::set_permissions(&secret, fs::Permissions::from_mode(0o000)).unwrap();
    if fs::read(&secret).is_ok() {
        eprintln!("skipped: this user may read everything (root)");
        return;
    }
    insta::assert_snapshot!(transcript(
        folder.path(),
        &[(4, &["compare", "secret.toml"])]
    ));
}

#[test]
fn a_scenario_that_is_too_long_is_not_read_to_its_end() {
    let folder = folder();
    // A file with a hole takes no space.
    fs::File::create(folder.path().join("huge.toml"))
        .unwrap()
        .set_len(1 << 30)
        .unwrap();
    for (name, says) in [
        (
            "huge.toml",
            "it has more than 16 MiB, so it is something else",
        ),
        ("/dev/zero", "it is not a regular file"),
    ] {
        let said = joulepath_in(folder.path(), &["show", name]);
        assert_eq!(said.code, Some(2), "{name}");
        assert!(said.stderr.contains(says), "{name}: {}", said.stderr);
    }
}

/// Whatever a command reads, a file that is not there is wrong usage.
#[test]
fn a_missing_file_is_wrong_usage_for_every_command() {
    let cases = [
        "compare none.toml",
        "compare quick --cc none.h",
        "compare quick --history none.toml",
        "map none.toml --x path.wifi.delay=1ms..9ms --y path.lte.delay=1ms..9ms",
        "study none.toml",
        "study report none",
        "benchmark --quick --markdown none.md",
        "advise --size 1MB --path a:rate=1Mbit/s,rtt=9ms,energy=file:none.toml",
        "reproduce --from none.json",
        "show none.toml",
        "explain lia --state none.json",
        "cc check none.h",
        #[cfg(feature = "kernel")]
        "cc load ./none.h",
        #[cfg(feature = "kernel")]
        "cc load --config none.toml",
        #[cfg(feature = "kernel")]
        "lab none.toml -- true",
        #[cfg(feature = "kernel")]
        "gap none.toml",
        #[cfg(feature = "kernel")]
        "live judge none.toml",
        #[cfg(feature = "live")]
        "live --config none.toml --dry-run",
        #[cfg(feature = "live")]
        "live --replay none.jsonl",
        #[cfg(feature = "live")]
        "why --read none.json",
        #[cfg(feature = "live")]
        "relay serve none.toml",
        #[cfg(feature = "live")]
        "relay connect none.toml",
    ];
    let folder = folder();
    for case in cases {
        let said = joulepath_in(folder.path(), &case.split(' ').collect::<Vec<_>>());
        assert_eq!(
            (said.code, said.stdout.as_str()),
            (Some(2), ""),
            "{case}: {}",
            said.stderr
        );
        assert!(
            said.stderr.contains("none") && said.stderr.contains("help:"),
            "{case}: {}",
            said.stderr
        );
    }
}
