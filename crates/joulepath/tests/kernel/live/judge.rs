//! `joulepath live judge` as its users see it.

use std::fs;

use serde_json::Value;

use crate::run::{folder, joulepath_in};

/// Two radios and a file, in less than two seconds.
const SCENARIO: &str = r#"
title = "A small file"
duration = "4 s"
[[path]]
name = "wifi"
rate = "8 Mbit/s"
delay = "10 ms"
energy = "wifi-huang2012"
[[path]]
name = "lte"
rate = "6 Mbit/s"
delay = "15 ms"
energy = "lte-huang2012"
[workload]
kind = "file"
size = "1 MB"
[compare]
policies = ["linux", "single:wifi[cc=cubic]"]
"#;
const HOWEVER_LATE: [&str; 3] = ["--max-lateness", "10 s", "-q"];

#[test(needs(ENGINE))]
fn judge_runs_the_daemon_and_its_alternatives_on_emulated_radios() {
    let folder = folder();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("small.toml"), SCENARIO).unwrap();
    let missing = joulepath_in(folder.path(), &["live", "judge", "small.toml"]);
    assert_eq!(missing.code, Some(2));
    assert!(
        missing
            .stderr
            .contains("no configuration `daemon/small.toml`"),
        "{}",
        missing.stderr
    );
    fs::create_dir(at("daemon")).unwrap();
    fs::write(
        at("daemon/small.toml"),
        "intent = \"frugal\"\n[[interface]]\nname = \"wifi\"\ncost = 1\n",
    )
    .unwrap();
    let missing = joulepath_in(folder.path(), &["live", "judge", "small.toml"]);
    assert!(
        missing.stderr.contains("has no [[interface]] `lte`"),
        "{}",
        missing.stderr
    );
    let both = "intent = \"frugal\"\n[[interface]]\nname = \"wifi\"\ncost = \
        1\n[[interface]]\nname = \"lte\"\n";
    fs::write(at("daemon/small.toml"), both).unwrap();
    fs::write(
        at("page.md"),
        "before\n<!-- live: begin -->\n<!-- live: end -->\nafter\n",
    )
    .unwrap();
    let options = [
        "--json",
        "judged.json",
        "--markdown",
        "page.md",
        "--runs",
        "runs.jsonl",
        "--logs",
        "said",
    ];
    let arguments = [
        &["live", "judge", "small.toml"],
        &options[..],
        &HOWEVER_LATE,
    ]
    .concat();
    joulepath_in(folder.path(), &arguments).ok();

    let judged: Value =
        serde_json::from_str(&fs::read_to_string(at("judged.json")).unwrap()).unwrap();
    let case = &judged["cases"][0];
    let names: Vec<&str> = case["contenders"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["name"].as_str().unwrap())
        .collect();
    assert_eq!(names.len(), 4, "{names:?}");
    assert_eq!(
        (names[0], names[1], names[3]),
        ("live:frugal", "linux", "single:wifi[cc=cubic]")
    );
    // The daemon leaves LTE asleep; plain MPTCP uses both.
    let bytes = |contender: usize, path: usize| {
        case["contenders"][contender]["bytes"][path]
            .as_f64()
            .unwrap()
    };
    assert!(bytes(0, 1) == 0.0 && bytes(1, 1) > 0.1e6, "{case}");
    for contender in 0..4 {
        let sum = bytes(contender, 0) + bytes(contender, 1);
        assert!((sum - 1e6).abs() < 2.0, "{contender}: {sum}");
    }
    assert!(case["verdict"]["energy_of_plain"].as_f64().unwrap() > 0.0);
    assert!(
        fs::read_to_string(at("said/small-1.log"))
            .unwrap()
            .contains("undone")
    );
    let page = fs::read_to_string(at("page.md")).unwrap();
    assert!(
        page.starts_with("before\n") && page.contains("| small.toml | `live:frugal` |"),
        "{page}"
    );
    // Finished runs are not repeated.
    let runs = fs::read_to_string(at("runs.jsonl")).unwrap();
    fs::remove_dir_all(at("said")).unwrap();
    joulepath_in(folder.path(), &arguments).ok();
    assert_eq!(fs::read_to_string(at("runs.jsonl")).unwrap(), runs);
    assert!(!at("said/small-1.log").exists(), "a daemon has run again");
}
