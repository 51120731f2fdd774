//! The guide's commands work, in their order.
#![cfg(unix)]

use std::path::Path;
use std::process::Command;
use std::{env, fs};

use crate::run::folder;

/// The fenced blocks of a kind.
fn blocks<'a>(text: &'a str, kind: &str) -> Vec<&'a str> {
    let open = format!("```{kind}\n");
    text.split(&open)
        .skip(1)
        .map(|rest| rest.split("```").next().unwrap_or(rest))
        .collect()
}

#[test]
fn every_command_of_the_guide_works() {
    let guide =
        fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/guide.md")).unwrap();
    let folder = folder();
    fs::write(folder.path().join("my.toml"), blocks(&guide, "toml")[0]).unwrap();
    let binaries = Path::new(env!("CARGO_BIN_EXE_joulepath")).parent().unwrap();
    let path = format!("{}:{}", binaries.display(), env::var("PATH").unwrap());
    let blocks = blocks(&guide, "console");
    let commands: Vec<&str> = blocks
        .iter()
        .flat_map(|block| block.lines())
        .filter_map(|line| line.strip_prefix("$ "))
        .collect();
    assert!(commands.len() >= 10, "{commands:?}");
    for command in commands {
        let shell = Command::new("sh")
            .args(["-c", command])
            .current_dir(folder.path())
            .env("PATH", &path)
            .output();
        let output = shell.unwrap();
        assert!(
            output.status.success(),
            "{command}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
}
