//! Files that `compare` writes.

use std::fs;
use std::path::Path;

use crate::run::{command, folder, joulepath_in};

/// Names of the files in a folder.
fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn every_form_can_be_had_in_one_go() {
    let folder = folder();
    let said = joulepath_in(
        folder.path(),
        &[
            "compare",
            "quick",
            "--report",
            "--json",
            "out/quick.json",
            "--csv",
            "out/quick.csv",
            "--runs-csv",
            "out/runs.csv",
        ],
    );
    let written = &said.stderr;
    assert!(
        written.ends_with(
            "report: joulepath-report/quick.html\njson: out/quick.json\ncsv: out/quick.csv\n\
             runs-csv: out/runs.csv\nruns: joulepath-report/quick.runs.jsonl\n"
        ),
        "{written}"
    );
    assert!(!said.ok().contains("report:"));
    let read = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
    let page = read("joulepath-report/quick.html");
    assert!(
        page.starts_with("<!doctype html>") || page.starts_with("<!DOCTYPE html>"),
        "{page:.100}"
    );
    let json: serde_json::Value = serde_json::from_str(&read("out/quick.json")).unwrap();
    assert_eq!(json["rows"].as_array().unwrap().len(), 2);
    // A header, and a line for each of 2 policies, and of 2 policies times 2 seeds.
    assert_eq!(
        (
            read("out/quick.csv").lines().count(),
            read("out/runs.csv").lines().count()
        ),
        (3, 5)
    );
    // Every run was kept as it finished, with what identifies it.
    let stored = read("joulepath-report/quick.runs.jsonl");
    let lines: Vec<serde_json::Value> = stored
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let seeds: Vec<u64> = lines
        .iter()
        .map(|line| line["run"]["seed"].as_u64().unwrap())
        .collect();
    assert_eq!((lines.len(), seeds.iter().sum::<u64>()), (4, 2 * (1 + 2)));
    assert!(lines.iter().all(|line| {
        let run = &line["run"];
        line["scenario_sha256"] == json["manifest"]["scenario_sha256"]
            && run["goodput_bps"].as_f64().unwrap() > 0.0
            && run["series"].is_null()
    }));
    assert_eq!(
        names(&folder.path().join("joulepath-report")),
        ["quick.html", "quick.runs.jsonl"]
    );
}

#[test]
fn each_variant_has_its_page_and_the_runs_of_all_are_kept() {
    let folder = folder();
    let arguments = [
        "compare",
        "home-wifi-lte",
        "--all-variants",
        "--policies",
        "mptcp,olia",
        "--seeds",
        "2",
    ];
    let said = joulepath_in(
        folder.path(),
        &[&arguments[..], &["--duration", "2 s", "--report"]].concat(),
    );
    assert_eq!(
        said.stderr,
        "report: joulepath-report/home-wifi-lte-1MB.html\nreport: \
         joulepath-report/home-wifi-lte-200MB.html\nreport: \
         joulepath-report/home-wifi-lte-radios2012.html\nruns: \
         joulepath-report/home-wifi-lte.runs.jsonl\n"
    );
    let reports = folder.path().join("joulepath-report");
    assert_eq!(
        names(&reports),
        [
            "home-wifi-lte-1MB.html",
            "home-wifi-lte-200MB.html",
            "home-wifi-lte-radios2012.html",
            "home-wifi-lte.runs.jsonl"
        ]
    );
    let stored = fs::read_to_string(reports.join("home-wifi-lte.runs.jsonl")).unwrap();
    // 2 policies times 2 seeds of each variant.
    assert_eq!(stored.lines().count(), 3 * 2 * 2);
    let scenario = |line: &'_ str| line.split(r#""engine""#).next().map(str::to_owned);
    let variants: std::collections::BTreeSet<_> = stored.lines().map(scenario).collect();
    assert_eq!(variants.len(), 3);
}

#[test]
fn a_page_goes_where_it_is_wanted() {
    for (place, page) in [("pages", "pages/quick.html"), ("a/my.html", "a/my.html")] {
        let folder = folder();
        let said = joulepath_in(
            folder.path(),
            &["compare", "quick", "--seeds", "1", "--report", place],
        );
        assert!(said.stderr.starts_with(&format!("report: {page}\n")));
        assert!(folder.path().join(page).is_file());
    }
}

#[test]
fn a_file_in_place_of_a_folder_is_refused_before_anything_runs() {
    let folder = folder();
    fs::write(folder.path().join("pages"), "mine").unwrap();
    let said = joulepath_in(folder.path(), &["compare", "quick", "--report", "pages"]);
    assert_eq!((said.code, said.stdout.as_str()), (Some(2), ""));
    assert!(
        said.stderr.contains("a file is in the way"),
        "{}",
        said.stderr
    );
    assert_eq!(names(folder.path()), ["pages"]);
}

#[test]
fn a_dash_is_stdout() {
    let folder = folder();
    joulepath_in(
        folder.path(),
        &["compare", "quick", "--seeds", "1", "--json", "-"],
    )
    .json();
    assert!(names(folder.path()).is_empty());
}

#[cfg(target_os = "linux")]
#[test]
fn on_a_full_disk_the_table_is_still_printed() {
    let said = joulepath_in(
        folder().path(),
        &["compare", "quick", "--seeds", "1", "--json", "/dev/full"],
    );
    assert_eq!(said.code, Some(1));
    assert!(
        said.stdout.contains("uncoupled") && said.stdout.contains("Mbit/s"),
        "{}",
        said.stdout
    );
    assert_eq!(
        said.stderr,
        "error: cannot write /dev/full: No space left on device (os error 28)\n\
         help: free some space, or write to another place\n"
    );
    use std::os::unix::fs::FileTypeExt;
    assert!(
        fs::metadata("/dev/full")
            .unwrap()
            .file_type()
            .is_char_device(),
        "the device is still one"
    );
}

#[cfg(target_os = "linux")]
#[test]
fn a_file_system_that_fills_up_leaves_the_old_page_and_no_debris() {
    use std::process::Command;
    let folder = folder();
    let disk = folder.path().join("disk");
    fs::create_dir(&disk).unwrap();
    let mount = Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=64k", "tmpfs"])
        .arg(&disk)
        .output();
    if !mount.is_ok_and(|output| output.status.success()) {
        eprintln!("skipped: this user may not mount a small file system");
        return;
    }
    let disk = Mounted(disk);
    fs::write(disk.0.join("quick.html"), "old").unwrap();
    let said = joulepath_in(
        folder.path(),
        &["compare", "quick", "--seeds", "1", "--report", "disk"],
    );
    assert_eq!(said.code, Some(1), "{}", said.stderr);
    assert!(said.stdout.contains("uncoupled"), "{}", said.stdout);
    assert!(
        said.stderr
            .contains("cannot write disk/quick.html: No space left on device"),
        "{}",
        said.stderr
    );
    assert_eq!(
        fs::read_to_string(disk.0.join("quick.html")).unwrap(),
        "old"
    );
    assert_eq!(names(&disk.0), ["quick.html", "quick.runs.jsonl"]);

    /// Unmounts, also if the test fails.
    struct Mounted(std::path::PathBuf);
    impl Drop for Mounted {
        fn drop(&mut self) {
            let status = Command::new("umount").arg("--lazy").arg(&self.0).status();
            assert!(
                status.is_ok_and(|status| status.success()),
                "{} stays mounted",
                self.0.display()
            );
        }
    }
}

#[cfg(unix)]
#[test]
fn a_read_only_file_is_not_replaced() {
    let folder = folder();
    let file = folder.path().join("kept.json");
    fs::write(&file, "mine").unwrap();
    let mut permissions = fs::metadata(&file).unwrap().permissions();
    permissions.set_readonly(true);
    fs::set_permissions(&file, permissions).unwrap();
    let said = joulepath_in(
        folder.path(),
        &["compare", "quick", "--seeds", "1", "--json", "kept.json"],
    );
    assert_eq!(said.code, Some(4), "{}", said.stderr);
    assert!(
        said.stderr
            .contains("cannot write kept.json: the file is read-only"),
        "{}",
        said.stderr
    );
    assert_eq!(fs::read_to_string(&file).unwrap(), "mine");
}

#[cfg(unix)]
#[test]
fn nothing_is_written_through_a_symbolic_link() {
    use std::os::unix::fs::symlink;
    let folder = folder();
    fs::create_dir(folder.path().join("far")).unwrap();
    let far = |name: &str| folder.path().join("far").join(name);
    for name in ["json", "csv", "runs.csv", "page", "quick.runs.jsonl"] {
        fs::write(far(name), "theirs").unwrap();
    }
    let link = |name: &str, to: &str| symlink(far(to), folder.path().join(name)).unwrap();
    link("link.json", "json");
    link("link.csv", "csv");
    link("link.runs.csv", "runs.csv");
    link("link.html", "page");
    link("reports", "");
    // The journal stands beside the first output.
    link("quick.runs.jsonl", "quick.runs.jsonl");
    for output in [
        ["--json", "link.json"],
        ["--csv", "link.csv"],
        ["--runs-csv", "link.runs.csv"],
        ["--report", "link.html"],
        ["--report", "reports"],
        ["--json", "quick.json"],
    ] {
        let said = joulepath_in(
            folder.path(),
            &[&["compare", "quick", "--seeds", "1"][..], &output].concat(),
        );
        assert_eq!(
            (said.code, said.stdout.as_str()),
            (Some(2), ""),
            "{output:?}: {}",
            said.stderr
        );
        assert!(
            said.stderr.contains("is a symbolic link"),
            "{output:?}: {}",
            said.stderr
        );
        assert!(
            said.stderr.contains("help: name what it points to"),
            "{output:?}: {}",
            said.stderr
        );
    }
    for name in ["json", "csv", "runs.csv", "page", "quick.runs.jsonl"] {
        assert_eq!(fs::read_to_string(far(name)).unwrap(), "theirs", "{name}");
    }
    assert_eq!(
        names(&folder.path().join("far")).len(),
        5,
        "nothing new is there"
    );
}

#[cfg(unix)]
#[test]
fn runs_are_not_added_to_the_target_of_a_link_nor_to_a_file_that_another_session_uses() {
    use std::os::unix::fs::symlink;
    let folder = folder();
    fs::write(folder.path().join("theirs"), "").unwrap();
    symlink("theirs", folder.path().join("runs.jsonl")).unwrap();
    let said = joulepath_in(
        folder.path(),
        &["benchmark", "--quick", "--runs", "runs.jsonl"],
    );
    assert_eq!(said.code, Some(2), "{}", said.stderr);
    assert!(
        said.stderr.contains("runs.jsonl is a symbolic link"),
        "{}",
        said.stderr
    );
    assert_eq!(
        fs::read_to_string(folder.path().join("theirs")).unwrap(),
        ""
    );
    fs::remove_file(folder.path().join("runs.jsonl")).unwrap();
    let ours = fs::File::create(folder.path().join("runs.jsonl")).unwrap();
    rustix::fs::flock(&ours, rustix::fs::FlockOperation::LockExclusive).unwrap();
    let said = joulepath_in(
        folder.path(),
        &["benchmark", "--quick", "--runs", "runs.jsonl"],
    );
    assert_eq!(said.code, Some(2), "{}", said.stderr);
    assert!(
        said.stderr.contains("another process adds runs to it"),
        "{}",
        said.stderr
    );
}

#[test]
fn a_reader_that_has_seen_enough_is_no_error() {
    let mut child = command(folder().path(), &["list", "controllers"])
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    assert!(child.wait().unwrap().success());
}

/// What a terminal would obey: a title of its own, an erased screen, another direction of writing.
#[test]
fn control_characters_of_a_scenario_are_shown_to_people_and_kept_for_programs() {
    let folder = folder();
    let title = r"t\u001b]0;owned\u0007\u001b[2J\u009b31m\u202Ex";
    let text = crate::QUICK.replacen("title = \"", &format!("title = \"{title}"), 1);
    assert_ne!(text, crate::QUICK);
    fs::write(folder.path().join("quick\u{1b}[2J.toml"), &text).unwrap();
    let is_obeyed = |c: char| (c.is_control() && c != '\n' && c != '\t') || c == '\u{202e}';
    let run = |arguments: &[&str]| joulepath_in(folder.path(), arguments);
    let name = "quick\u{1b}[2J.toml";
    let shown = run(&["compare", name, "-n", "1"]);
    assert!(
        shown.stdout.contains("t␛]0;owned␇␛[2J<U+009B>31m<U+202E>x"),
        "{}",
        shown.stdout
    );
    // With colours only these stay.
    let colored = command(folder.path(), &["compare", name, "-n", "1"])
        .env_remove("NO_COLOR")
        .env("CLICOLOR_FORCE", "1")
        .output()
        .unwrap();
    let colored = String::from_utf8(colored.stdout).unwrap();
    assert!(
        colored.contains("\u{1b}[")
            && !colored.contains("\u{1b}]")
            && !colored.contains("\u{1b}[2J")
    );
    for arguments in [
        &["compare", name, "-n", "1", "--policies", "no\u{1b}[2Jthing"][..],
        &["compare", "no\u{1b}]0;x\u{7}.toml"],
        &["compare", name, "--no\u{1b}[2J"],
        &["no\u{1b}[2J"],
        &["show", name, "--set", "path.\u{1b}[2J=1"],
        &["explain", "ol\u{1b}[2J", "--state", "x"],
    ] {
        let said = run(arguments);
        assert_ne!(said.code, Some(0), "{arguments:?}");
        for text in [&said.stdout, &said.stderr] {
            assert!(!text.contains(is_obeyed), "{arguments:?}: {text:?}");
        }
    }
    for text in [&shown.stdout, &shown.stderr] {
        assert!(!text.contains(is_obeyed), "{text:?}");
    }
    // Programs get the title as it is.
    let json = run(&["compare", name, "-n", "1", "--json"]).json();
    assert!(
        json.to_string().contains("owned")
            && json["scenario"]["title"]
                .as_str()
                .unwrap()
                .contains('\u{202e}')
    );
}
