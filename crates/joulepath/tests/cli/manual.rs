//! `joulepath man` and `joulepath completions`, which packages call.

use std::collections::BTreeSet;
use std::fs;

use crate::run::joulepath;

/// The commands that `--help` lists, but `help`.
fn commands(arguments: &[&str]) -> BTreeSet<String> {
    let help = joulepath(&[arguments, &["--help"]].concat()).stdout;
    let is_after = |line: &&str| line.ends_with(':') && !line.starts_with("Usage:");
    // A command is indented by two columns; its further lines by more. Options begin with a hyphen.
    let lines = help
        .lines()
        .skip_while(|line| !is_after(line))
        .take_while(|line| *line != "Options:");
    lines
        .filter_map(|line| {
            line.strip_prefix("  ")
                .filter(|rest| !rest.starts_with(' '))
        })
        .filter_map(|line| line.split(' ').next().map(str::to_owned))
        .filter(|name| name != "help" && name.chars().all(|c| c.is_ascii_lowercase() || c == '-'))
        .collect()
}

#[test]
fn each_command_has_a_page_that_tells_its_options_and_its_examples() {
    let folder = tempfile::tempdir().unwrap();
    let pages = folder.path().join("pages");
    let said = joulepath(&["man", pages.to_str().unwrap()]);
    assert_eq!(
        (said.code, said.stdout.as_str()),
        (Some(0), ""),
        "{}",
        said.stderr
    );
    let there: BTreeSet<String> = fs::read_dir(&pages)
        .unwrap()
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .collect();
    let all = commands(&[]);
    assert!(
        all.contains("compare") && all.contains("live") && !all.contains("man"),
        "{all:?}"
    );
    let mut expected = BTreeSet::from(["joulepath.1".to_owned()]);
    for command in &all {
        expected.insert(format!("joulepath-{command}.1"));
        let below = commands(&[command]);
        expected.extend(
            below
                .iter()
                .map(|below| format!("joulepath-{command}-{below}.1")),
        );
    }
    assert!(
        expected.contains("joulepath-live-set-intent.1"),
        "{expected:?}"
    );
    assert_eq!(there, expected);

    // In roff a hyphen that is to be copied has a backslash before it.
    let live = fs::read_to_string(pages.join("joulepath-live.1")).unwrap();
    for part in [
        ".TH joulepath-live 1 ",
        "\\-\\-dry\\-run",
        ".SH NOTES",
        "joulepath live \\-\\-undo",
    ] {
        assert!(live.contains(part), "{part}\n{live}");
    }
}

#[test]
fn pages_that_cannot_be_written_say_where() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    let said = joulepath(&["man", file.to_str().unwrap()]);
    assert_eq!(said.code, Some(2), "{}", said.stderr);
    assert!(
        said.stderr.contains("cannot write manual pages into"),
        "{}",
        said.stderr
    );
}

#[test]
fn the_shells_that_packages_serve_have_completions() {
    for (shell, sign) in [
        ("bash", "complete -o"),
        ("zsh", "#compdef joulepath"),
        ("fish", "complete --keep-order"),
    ] {
        let said = joulepath(&["completions", shell]);
        assert_eq!(said.code, Some(0), "{}", said.stderr);
        assert!(
            said.stdout.contains(sign) && said.stdout.contains("joulepath --"),
            "{shell}"
        );
    }
}

/// What bash offers for a line with the cursor at its end.
#[cfg(unix)]
fn offered(line: &str) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let script = joulepath(&["completions", "bash"]).ok();
    // Words as readline splits them: at blanks, and around `:` and `=`.
    let mut words = vec![];
    for word in line.split(' ') {
        let mut rest = word;
        while let Some(at) = rest.find([':', '=']) {
            words.extend([&rest[..at], &rest[at..=at]]);
            rest = &rest[at + 1..];
        }
        if rest.len() == word.len() || !rest.is_empty() {
            words.push(rest);
        }
    }
    let quoted = |word: &&str| format!("'{word}'");
    let words: Vec<String> = words
        .iter()
        .filter(|word| !word.is_empty() || line.ends_with(' '))
        .map(quoted)
        .collect();
    let asks = format!(
        "compopt() {{ :; }}\n{script}\nCOMP_WORDS=({words}) COMP_CWORD={last} COMP_LINE='{line}'\n\
         _joulepath\nprintf '%s\\n' \"${{COMPREPLY[@]}}\"",
        words = words.join(" "),
        last = words.len() - 1,
    );
    let program = std::path::Path::new(env!("CARGO_BIN_EXE_joulepath"))
        .parent()
        .unwrap();
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap());
    let shell = std::process::Command::new("bash")
        .args(["--norc", "-c", &asks])
        .current_dir(folder.path())
        .env("PATH", path)
        .output()
        .unwrap();
    assert!(
        shell.status.success() && shell.stderr.is_empty(),
        "{}",
        String::from_utf8_lossy(&shell.stderr)
    );
    String::from_utf8(shell.stdout)
        .unwrap()
        .lines()
        .map(str::to_owned)
        .collect()
}

#[cfg(unix)]
#[test]
fn bash_completes_scenarios_policies_and_energy_profiles() {
    assert_eq!(offered("joulepath comp"), ["compare", "completions"]);
    assert_eq!(offered("joulepath compare home-wifi-l"), ["home-wifi-lte"]);
    assert_eq!(
        offered("joulepath compare quick --policies eemp"),
        ["eemptcp"]
    );
    assert_eq!(
        offered("joulepath compare quick --policies olia,single:"),
        ["wifi", "lte"]
    );
    assert_eq!(
        offered("joulepath compare quick --policies single:w"),
        ["wifi"]
    );
    assert_eq!(offered("joulepath explain oli"), ["olia"]);
    assert_eq!(
        offered("joulepath show quick --set path.wifi.energy=wifi-h"),
        ["wifi-huang2012", "wifi-huang2012-linear"]
    );
    let advise = "joulepath advise --size 1MB --path wifi:rate=20Mbit/s,rtt=30ms,energy=lte-2";
    assert_eq!(offered(advise), ["lte-2021"]);
    assert_eq!(
        offered("joulepath compare papers/001-3g-wlan --variant 64"),
        ["64kB"]
    );
    for command in [
        "joulepath live set-intent ",
        "joulepath on ",
        "joulepath run --intent ",
    ] {
        let words = offered(command);
        assert!(
            words.starts_with(&[
                "frugal".to_owned(),
                "balanced".to_owned(),
                "fast".to_owned()
            ]),
            "{words:?}"
        );
    }
    assert_eq!(offered("joulepath advise --preset b"), ["balanced"]);
}
