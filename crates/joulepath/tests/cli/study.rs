//! Studies: killed at any moment, they go on; two signals, two endings.
#![cfg(unix)]

use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};
use std::{fs, thread};

use joulepath_study::sweep::Dataset;
use rustix::process::{Pid, Signal, kill_process};

use crate::run::{Said, command, folder, joulepath_in};

/// Longest time that anything here may take.
const PATIENCE: Duration = Duration::from_secs(120);

/// 15000 points, some seconds of work in all.
const STUDY: &str = r#"
title = "Loss and delay"
scenario = "quick"
policies = ["mptcp"]
seeds = 1
design = "latin-hypercube"
points = 15000

[[vary]]
key = "path.wifi.loss"
from = "0.1 %"
to = "10 %"
scale = "log"

[[vary]]
key = ["path.wifi.delay", "path.lte.delay"]
from = "5 ms"
to = "50 ms"
"#;

fn runs_in(folder: &Path) -> u64 {
    Dataset::open(folder).map_or(0, |dataset| dataset.done().count())
}

/// Starts the study, and sends it a signal once it has stored more runs than before.
fn stopped_by(signal: Signal, folder: &Path) -> (Said, u64) {
    let before = runs_in(&folder.join("sweep"));
    let child = command(folder, &["study", "sweep.toml", "--jobs", "1"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let since = Instant::now();
    while runs_in(&folder.join("sweep")) <= before {
        assert!(since.elapsed() < PATIENCE, "no run was stored");
        thread::sleep(Duration::from_millis(10));
    }
    kill_process(
        Pid::from_raw(child.id() as i32).expect("it has an id"),
        signal,
    )
    .expect("it runs");
    (
        Said::of(child.wait_with_output().expect("it ends")),
        runs_in(&folder.join("sweep")),
    )
}

#[test]
fn a_study_that_was_killed_goes_on_and_runs_nothing_twice() {
    let folder = folder();
    fs::write(folder.path().join("sweep.toml"), STUDY).unwrap();
    let (said, first) = stopped_by(Signal::KILL, folder.path());
    assert!(
        said.code.is_none() && (1..15000).contains(&first),
        "{first}: {}",
        said.stderr
    );
    let (said, second) = stopped_by(Signal::TERM, folder.path());
    assert_eq!(said.code, Some(130), "{}", said.stderr);
    assert!(
        said.stdout.contains("the same command goes on"),
        "{}",
        said.stdout
    );
    assert!(
        (first + 1..15000).contains(&second),
        "{first}, then {second}"
    );
    let end = joulepath_in(folder.path(), &["study", "sweep.toml"]).ok();
    assert_eq!(
        end,
        format!(
            "sweep: 15000 of 15000 runs, {} of them now\n",
            15000 - second
        )
    );
    let dataset = Dataset::open(&folder.path().join("sweep")).unwrap();
    assert_eq!(dataset.done().to_string(), "0-14999");
    // No run is in two files.
    assert_eq!(dataset.rows().unwrap(), 15000);
    let again = joulepath_in(folder.path(), &["study", "sweep.toml"]).ok();
    assert_eq!(again, "sweep: 15000 of 15000 runs, 0 of them now\n");
}

#[test]
fn a_study_with_mistakes_is_refused_with_place_and_fix() {
    let folder = folder();
    for (from, to, what) in [
        ("points = 15000", "pionts = 15000", "did you mean `points`?"),
        ("points = 15000", "", "needs the key `points`"),
        ("\"latin-hypercube\"", "\"latin\"", "is not a design"),
        (
            "seeds = 1",
            "engines = [\"kernel\"]",
            "one at a time in real time",
        ),
        (
            "to = \"10 %\"",
            "to = \"10 ms\"",
            "write both ends in one unit",
        ),
        (
            "to = \"10 %\"",
            "to = \"0.01 %\"",
            "write the lower end first",
        ),
        (
            "from = \"0.1 %\"",
            "from = \"0 %\"",
            "start the log scale above 0",
        ),
        (
            "from = \"0.1 %\"",
            "values = [\"1 %\"]",
            "needs either `values`, or `from` and `to`",
        ),
        (
            "[\"path.wifi.delay\", \"path.lte.delay\"]",
            "\"path.wifi.loss\"",
            "varies twice",
        ),
        (
            "[\"path.wifi.delay\", \"path.lte.delay\"]",
            "\"path.0.loss\"",
            "varies twice",
        ),
    ] {
        fs::write(folder.path().join("sweep.toml"), STUDY.replace(from, to)).unwrap();
        let said = joulepath_in(folder.path(), &["study", "sweep.toml"]);
        assert!(
            said.code.is_some_and(|code| code == 1 || code == 2),
            "{to}: {said:?}"
        );
        // Messages are wrapped.
        let words: Vec<&str> = said
            .stderr
            .split_whitespace()
            .filter(|word| *word != "│")
            .collect();
        assert!(
            words.join(" ").contains(what) && said.stderr.contains("sweep.toml"),
            "{to}: {}",
            said.stderr
        );
        assert!(
            !folder.path().join("sweep").exists(),
            "{to}: nothing is begun"
        );
    }
}

#[test]
fn all_mistakes_of_a_study_are_reported_at_once() {
    let folder = folder();
    let study = "scenario = \"quick\"\npolicies = [\"mtpcp\", \"oila\"]\ndesign = \"grid\"\n\
                 [[vary]]\nkey = \"path.wifi.loos\"\nvalues = [1, 2]\n";
    fs::write(folder.path().join("sweep.toml"), study).unwrap();
    let said = joulepath_in(folder.path(), &["study", "sweep.toml"]);
    assert_eq!(said.code, Some(2), "{said:?}");
    for part in [
        "`loos` is not a key",
        "there is no policy `mtpcp`",
        "there is no policy `oila`",
    ] {
        assert!(said.stderr.contains(part), "{part}: {}", said.stderr);
    }
}

#[test]
fn the_schema_of_a_study_takes_what_the_command_takes() {
    let schema = joulepath_in(folder().path(), &["schema", "study"]).json();
    let text: toml::Table = STUDY.parse().unwrap();
    let document = serde_json::to_value(text).unwrap();
    assert_eq!(
        crate::schema::errors(&schema, &document),
        Vec::<String>::new()
    );
    let mut wrong = document;
    wrong["design"] = "latin".into();
    assert!(!crate::schema::errors(&schema, &wrong).is_empty());
}

#[test]
fn a_page_of_a_dataset_is_written_beside_it() {
    let folder = folder();
    let study = STUDY
        .replace("points = 15000", "points = 20")
        .replace("seeds = 1", "seeds = 2");
    fs::write(folder.path().join("sweep.toml"), study).unwrap();
    joulepath_in(folder.path(), &["study", "sweep.toml", "--quiet"]).ok();
    assert_eq!(
        joulepath_in(folder.path(), &["study", "report", "sweep"]).stderr,
        "report: sweep.html\n"
    );
    let page = fs::read_to_string(folder.path().join("sweep.html")).unwrap();
    for text in [
        "Loss and delay",
        "latin-hypercube, 20 points",
        "40 runs",
        "path.wifi.delay, path.lte.delay, ms",
    ] {
        assert!(page.contains(text), "{text}");
    }
    assert!(!page.contains("are not there yet"));
    let named = joulepath_in(
        folder.path(),
        &["study", "report", "sweep", "--report", "pages/of.html"],
    )
    .stderr;
    assert_eq!(named, "report: pages/of.html\n");
    let none = joulepath_in(folder.path(), &["study", "report", "pages"]);
    assert_eq!(none.code, Some(2), "{none:?}");
    assert!(
        none.stderr.contains("there is no study in pages"),
        "{}",
        none.stderr
    );
    assert_eq!(joulepath_in(folder.path(), &["study"]).code, Some(2));
}
