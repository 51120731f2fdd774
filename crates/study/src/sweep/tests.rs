use std::collections::BTreeSet;
use std::fs::{self, File};
use std::num::NonZeroUsize;
use std::path::Path;

use joulepath_model::cancel::Cancel;
use joulepath_model::metric::{METRICS, Metric};
use joulepath_model::result::Provenance;
use joulepath_report::Field;

use super::*;
use crate::event::Event;

const TEXT: &str = r#"
scenario = "quick"
policies = ["mptcp", "single:wifi"]
engines = ["packet", "fluid"]
seeds = 2
set = { duration = "100 ms" }

[[vary]]
key = "path.wifi.loss"
from = "0.1 %"
to = "10 %"
scale = "log"
points = 3

[[vary]]
key = "path.lte.delay"
values = ["10 ms", "20 ms"]
"#;

fn sweep(text: &str) -> Sweep {
    Sweep::of_text("study.toml", text, Path::new(""))
        .unwrap_or_else(|error| panic!("{}", error.in_one_line()))
}

fn run(sweep: &Sweep, folder: &Path, shard: &str, stop_after: u64) -> Outcome {
    let shard: Shard = shard.parse().unwrap();
    let mut writer = Writer::open(sweep, folder, shard, &Provenance::default()).unwrap();
    let cancel = Cancel::new();
    let mut done = 0;
    let mut watch = |event: Event<'_>| {
        done += u64::from(matches!(event, Event::Finished(_) | Event::Failed(_)));
        if done == stop_after {
            cancel.set();
        }
    };
    // Few threads, so that the first event arrives before the runs are finished.
    Runner::new(sweep, NonZeroUsize::new(2), "abc")
        .run(&mut writer, shard, &mut watch, &cancel)
        .unwrap()
}

#[test]
fn every_metric_of_the_table_is_a_column_and_decides_a_map() {
    let sweep = sweep(TEXT);
    let columns: BTreeSet<&str> = sweep.columns.iter().map(|one| one.name.as_str()).collect();
    for metric in METRICS {
        assert!(columns.contains(metric.name), "{}", metric.name);
        assert_eq!(Metric::asked(metric.name), Ok(*metric));
    }
}

/// All rows as text, by run.
fn rows(folder: &Path) -> Vec<String> {
    let dataset = Dataset::open(folder).unwrap();
    let names: Vec<&str> = dataset
        .header()
        .columns
        .iter()
        .map(|column| column.name.as_str())
        .collect();
    let mut rows = vec![];
    for part in dataset.parts() {
        let columns = super::parquet::decode(File::open(part).unwrap(), &names).unwrap();
        for row in 0..columns[0].len() {
            let Field::Count(Some(index)) = columns[0][row] else {
                panic!("a run without an index")
            };
            let cells: Vec<String> = columns
                .iter()
                .map(|column| column[row].to_string())
                .collect();
            rows.push((index, cells.join(" | ")));
        }
    }
    rows.sort();
    rows.into_iter().map(|(_, row)| row).collect()
}

/// 3 · 2 points, each with 2 policies: 2 seeds in the packet engine, one run in the fluid engine: 6
/// · (4 + 2).
#[test]
fn an_interrupted_study_has_the_same_rows_as_an_uninterrupted_one() {
    let study = sweep(TEXT);
    assert_eq!((study.points(), study.runs()), (6, 36));
    let (whole, parts) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let outcome = run(&study, whole.path(), "1/1", u64::MAX);
    assert_eq!(
        (outcome.runs, outcome.before, outcome.done, outcome.failed),
        (36, 0, 36, 0)
    );
    assert!(!outcome.partial);
    let first = run(&study, parts.path(), "1/1", 7);
    assert!(first.partial && (7..36).contains(&first.done), "{first:?}");
    let second = run(&study, parts.path(), "1/1", 5);
    assert_eq!(second.before, first.done, "nothing runs twice");
    let third = run(&study, parts.path(), "1/1", u64::MAX);
    assert_eq!(first.done + second.done + third.done, 36);
    assert_eq!(rows(whole.path()), rows(parts.path()));
    assert_eq!(rows(whole.path()).len(), 36);
}

#[test]
fn the_parts_of_a_study_cover_all_runs() {
    let study = sweep(TEXT);
    let (whole, parts) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    run(&study, whole.path(), "1/1", u64::MAX);
    let done: u64 = ["3/4", "1/4", "4/4", "2/4"]
        .map(|part| run(&study, parts.path(), part, u64::MAX).done)
        .iter()
        .sum();
    assert_eq!((done, rows(whole.path())), (36, rows(parts.path())));
    // Another division finds nothing left.
    assert_eq!(run(&study, parts.path(), "1/2", u64::MAX).done, 0);
}

#[test]
fn temporary_files_are_ignored_and_broken_ones_reported() {
    let study = sweep(TEXT);
    let folder = tempfile::tempdir().unwrap();
    run(&study, folder.path(), "1/1", 9);
    fs::write(folder.path().join(".joulepath-1f-0-2a"), b"PAR1 half a fi").unwrap();
    run(&study, folder.path(), "1/1", u64::MAX);
    assert_eq!(rows(folder.path()).len(), 36);
    fs::write(
        folder.path().join("part-000000000099-00.parquet"),
        b"PAR1 half a fi",
    )
    .unwrap();
    let error = Dataset::open(folder.path()).err().unwrap();
    assert!(error.help().unwrap().contains("move it away"), "{error}");
}

#[test]
fn two_processes_on_equal_or_overlapping_parts_are_refused() {
    let study = sweep(TEXT);
    let folder = tempfile::tempdir().unwrap();
    let open = |part: &str| {
        Writer::open(
            &study,
            folder.path(),
            part.parse().unwrap(),
            &Provenance::default(),
        )
        .map_err(|error| error.to_string())
    };
    let first = open("1/2").unwrap();
    assert!(open("1/2").err().unwrap().contains("the same part"));
    assert!(open("1/1").err().unwrap().contains("parts of 2"));
    drop(open("2/2").unwrap());
    drop(first);
    open("1/1").unwrap();
}

#[test]
fn the_dataset_of_another_study_is_refused_with_a_fix() {
    let folder = tempfile::tempdir().unwrap();
    run(&sweep(TEXT), folder.path(), "1/1", 1);
    for (from, to) in [
        ("\"quick\"", "\"home-wifi-lte\""),
        ("\"single:wifi\"", "\"single:lte\""),
        ("seeds = 2", "seeds = 3"),
        ("20 ms", "30 ms"),
        ("100 ms", "200 ms"),
        ("scale = \"log\"", "scale = \"linear\""),
    ] {
        let other = sweep(&TEXT.replace(from, to));
        let error = Writer::open(
            &other,
            folder.path(),
            Shard::default(),
            &Provenance::default(),
        );
        let error = error
            .err()
            .unwrap_or_else(|| panic!("{from} became {to} unseen"));
        assert!(error.help().unwrap().contains("--out"), "{error}");
    }
    let titled = sweep(&format!("title = \"mine\"\n{TEXT}"));
    assert!(
        Writer::open(
            &titled,
            folder.path(),
            Shard::default(),
            &Provenance::default()
        )
        .is_ok()
    );
    let full = tempfile::tempdir().unwrap();
    fs::write(full.path().join("thesis.tex"), "").unwrap();
    let error = Writer::open(
        &sweep(TEXT),
        full.path(),
        Shard::default(),
        &Provenance::default(),
    );
    assert!(
        error
            .err()
            .unwrap()
            .to_string()
            .contains("thesis.tex is in it")
    );
}

#[test]
fn a_point_without_a_valid_scenario_is_a_row_with_the_error() {
    let text = TEXT.replace("\"10 ms\", \"20 ms\"", "\"10 ms\", \"1 fish\", \"20 ms\"");
    let study = sweep(&text);
    let folder = tempfile::tempdir().unwrap();
    let outcome = run(&study, folder.path(), "1/1", u64::MAX);
    assert_eq!((outcome.done, outcome.failed), (54, 18));
    let failure = outcome.first_failure.unwrap();
    assert!(
        failure.scenario.contains("path.lte.delay = 1 fish"),
        "{failure:?}"
    );
    let rows = rows(folder.path());
    assert_eq!(
        rows.iter()
            .filter(|row| row.contains("fish` is not a unit"))
            .count(),
        18
    );
    let runs: BTreeSet<&str> = rows
        .iter()
        .filter_map(|row| row.split(" | ").next())
        .collect();
    assert_eq!(runs.len(), 54);
    assert_eq!(
        run(&study, folder.path(), "1/1", u64::MAX).done,
        0,
        "a failed run is not repeated"
    );
}

#[test]
fn a_study_without_a_valid_point_is_refused_before_it_starts() {
    for (from, to, what) in [
        ("path.lte.delay", "path.lte.dely", "did you mean `delay`?"),
        ("path.lte.delay", "path.ltee.delay", "did you mean `lte`?"),
        ("\"single:wifi\"", "\"single:wfi\"", ""),
        ("\"quick\"", "\"quikc\"", "quick"),
    ] {
        let refused = Sweep::of_text("study.toml", &TEXT.replace(from, to), Path::new(""));
        let error = refused.err().unwrap_or_else(|| panic!("{to}"));
        let helps = error.scenario().map(|errors| format!("{errors}"));
        let said = format!("{} {:?} {:?}", error, error.help(), helps);
        assert!(said.contains(what), "{to}: {said}");
    }
    assert!(Sweep::of_text("study.toml", TEXT, Path::new("")).is_ok());
}

#[test]
fn run_indices_follow_the_documentation() {
    let study = sweep(TEXT);
    let place = |run| {
        let Place {
            point,
            engine,
            policy,
            seed,
        } = study.place(run);
        (point, engine, policy, seed)
    };
    let first: Vec<_> = (0..7).map(place).collect();
    assert_eq!(
        first,
        [
            (0, 0, 0, 1),
            (0, 0, 1, 1),
            (0, 0, 0, 2),
            (0, 0, 1, 2),
            (0, 1, 0, 1),
            (0, 1, 1, 1),
            (1, 0, 0, 1)
        ]
    );
    let names: Vec<&str> = study.columns()[..4]
        .iter()
        .map(|column| column.name.as_str())
        .collect();
    assert_eq!(
        names,
        ["run", "point", "path_wifi_loss", "path_lte_delay_s"]
    );
}

/// A scenario serves all engines: a study takes those of its policies that all engines of the study
/// can run.
#[test]
fn policies_that_an_engine_of_the_study_cannot_run_are_left_out_with_a_note() {
    let set = r#"set = { duration = "100 ms", compare = { policies = ["mptcp", "joule"] } }"#;
    let text = TEXT
        .replace("policies = [\"mptcp\", \"single:wifi\"]\n", "")
        .replace("set = { duration = \"100 ms\" }", set);
    let sweep = sweep(&text);
    let names: Vec<String> = sweep.policies().iter().map(ToString::to_string).collect();
    assert_eq!(names, ["mptcp"]);
    let (folder, mut said) = (tempfile::tempdir().unwrap(), vec![]);
    let mut writer = Writer::open(
        &sweep,
        folder.path(),
        Shard::default(),
        &Provenance::default(),
    )
    .unwrap();
    let mut watch = |event: Event<'_>| {
        said.extend(if let Event::Note(note) = event {
            Some(note)
        } else {
            None
        })
    };
    let runner = Runner::new(&sweep, None, "abc");
    let outcome = runner
        .run(&mut writer, Shard::default(), &mut watch, &Cancel::new())
        .unwrap();
    assert_eq!((outcome.failed, outcome.done), (0, outcome.runs));
    assert!(
        said.iter()
            .any(|note| note.starts_with("Left out: `joule` uses")),
        "{said:?}"
    );
    let asked = TEXT.replace("\"single:wifi\"", "\"joule\"");
    let refused = Sweep::of_text("study.toml", &asked, Path::new(""))
        .err()
        .unwrap();
    assert!(refused.to_string().contains("fluid engine"), "{refused}");
}
