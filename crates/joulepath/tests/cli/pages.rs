//! The commands in console blocks of pages work, in their order, and print what the page shows.
#![cfg(unix)]

use std::path::Path;
use std::process::Command;
use std::{env, fs};

use crate::run::folder;

/// Pages whose commands need neither root nor other programs, each with the file that its first
/// block of TOML is, if its commands read one.
const PAGES: [(&str, Option<&str>); 8] = [
    ("advise.md", None),
    ("conformance.md", None),
    ("guide.md", Some("my.toml")),
    ("joule.md", None),
    ("map.md", None),
    ("report.md", None),
    ("reproduce.md", None),
    ("study.md", Some("sweep.toml")),
];

/// The fenced blocks of a kind.
fn blocks<'a>(text: &'a str, kind: &str) -> Vec<&'a str> {
    let open = format!("```{kind}\n");
    text.split(&open)
        .skip(1)
        .map(|rest| rest.split("```").next().unwrap_or(rest))
        .collect()
}

/// The commands of a block, each with the lines shown below it.
fn commands(block: &str) -> Vec<(String, Vec<&str>)> {
    let mut found: Vec<(String, Vec<&str>)> = Vec::new();
    for line in block.lines() {
        match (line.strip_prefix("$ "), found.last_mut()) {
            (Some(command), _) => found.push((command.to_owned(), Vec::new())),
            (None, Some((command, shown))) if shown.is_empty() && command.ends_with('\\') => {
                *command += &format!("\n{line}");
            }
            (None, Some((_, shown))) => shown.push(line),
            (None, None) => panic!("output without a command: {line}"),
        }
    }
    found
}

/// True if the lines are as shown; a line `…` is any number of lines.
fn is_as_shown(lines: &[&str], shown: &[&str]) -> bool {
    match shown.split_first() {
        None => lines.is_empty(),
        Some((&"…", rest)) => (0..=lines.len()).any(|k| is_as_shown(&lines[k..], rest)),
        Some((first, rest)) => lines
            .split_first()
            .is_some_and(|(line, lines)| line == first && is_as_shown(lines, rest)),
    }
}

#[test]
fn the_pages_commands_print_what_the_pages_show() {
    let binaries = Path::new(env!("CARGO_BIN_EXE_joulepath")).parent().unwrap();
    let path = format!("{}:{}", binaries.display(), env::var("PATH").unwrap());
    for (page, file) in PAGES {
        let text = fs::read_to_string(format!("{}/../../docs/{page}", env!("CARGO_MANIFEST_DIR")))
            .unwrap();
        let folder = folder();
        if let Some(file) = file {
            fs::write(folder.path().join(file), blocks(&text, "toml")[0]).unwrap();
        }
        let blocks = blocks(&text, "console");
        let calls: Vec<_> = blocks.iter().flat_map(|block| commands(block)).collect();
        assert!(!calls.is_empty(), "{page} has no commands");
        for (command, shown) in calls {
            let shell = Command::new("sh")
                .args(["-c", &command])
                .current_dir(folder.path())
                .env("PATH", &path)
                .output();
            let output = shell.unwrap();
            assert!(
                output.status.success(),
                "{page}: {command}: {}",
                String::from_utf8_lossy(&output.stderr)
            );
            let printed = String::from_utf8(output.stdout).unwrap();
            let lines: Vec<&str> = printed.trim_end().lines().collect();
            assert!(
                shown.is_empty() || is_as_shown(&lines, &shown),
                "{page} shows other output of `{command}`, which prints\n{printed}"
            );
        }
    }
}
