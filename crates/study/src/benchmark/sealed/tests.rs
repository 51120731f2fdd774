use std::fs;

use super::*;
use crate::benchmark::Request;

fn plan(first: u32, scenarios: u32) -> Plan {
    let request = Request {
        random: Some("sealed".to_owned()),
        first: Some(first),
        scenarios: Some(scenarios),
        ..Request::default()
    };
    Plan::of(&request).ok().unwrap()
}

fn begin(path: &Path, scenarios: u32, commit: &str, is_again: bool) -> Result<SealedLog> {
    let again = is_again.then_some("a figure was missing");
    SealedLog::begin(
        path,
        &plan(1, scenarios),
        commit,
        "2026-01-02T03:04:05Z",
        again,
    )
}

#[test]
fn sealed_scenarios_run_once_at_a_commit_unless_again_is_given() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sealed.jsonl");
    let first = begin(&path, 4, "c0ffee", false).unwrap();
    assert_eq!(
        (first.sealed().earlier, first.sealed().earlier_here),
        (0, 0)
    );
    first.end("{}", "2026-01-02T04:00:00Z").unwrap();
    let refused = begin(&path, 4, "c0ffee", false).err().unwrap();
    assert!(refused.to_string().contains("already"), "{refused}");
    // Other scenarios of the same set count as the same run.
    assert!(begin(&path, 5, "c0ffee", false).is_err());
    let again = begin(&path, 4, "c0ffee", true).unwrap().sealed();
    assert_eq!((again.earlier, again.earlier_here), (1, 1));
    assert_eq!(
        (again.reason.as_deref(), again.without_result),
        (Some("a figure was missing"), 0)
    );
}

#[test]
fn an_interrupted_run_resumes_under_its_first_date() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sealed.jsonl");
    let first = begin(&path, 4, "c0ffee", false).unwrap().sealed();
    let next =
        SealedLog::begin(&path, &plan(1, 4), "c0ffee", "2027-01-01T00:00:00Z", None).unwrap();
    assert_eq!(next.sealed(), first);
    next.end("{}", "2027-01-01T00:00:01Z").unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap().lines().count(), 2);
}

#[test]
fn a_start_without_a_result_is_explained_by_the_next_run() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sealed.jsonl");
    let none = begin(&path, 4, "a1", false).unwrap().sealed();
    assert_eq!((none.without_result, none.reason), (0, None));
    // Neither another commit nor other scenarios may leave the start behind without a word.
    let refused = begin(&path, 5, "b2", false).err().unwrap().to_string();
    assert!(
        refused.contains("2026-01-02T03:04:05Z at commit a1 has no result"),
        "{refused}"
    );
    let next = begin(&path, 5, "b2", true).unwrap();
    assert_eq!(
        (next.sealed().without_result, next.sealed().earlier),
        (1, 0)
    );
    next.end("{}", "2026-01-02T04:00:00Z").unwrap();
    assert!(
        fs::read_to_string(&path)
            .unwrap()
            .contains("a figure was missing")
    );
    // Explained once, it stays counted.
    let third = begin(&path, 5, "c3", false).unwrap().sealed();
    assert_eq!(
        (third.without_result, third.earlier, third.reason),
        (1, 1, None)
    );
}

#[test]
fn a_run_with_the_oracle_is_another_run() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sealed.jsonl");
    begin(&path, 4, "a1", false).unwrap();
    let request = Request {
        random: Some("sealed".to_owned()),
        scenarios: Some(4),
        oracle: true,
        ..Request::default()
    };
    let with = Plan::of(&request).ok().unwrap();
    let begin = |again| SealedLog::begin(&path, &with, "a1", "2026-01-02T05:00:00Z", again);
    assert!(begin(None).is_err());
    assert_eq!(
        begin(Some("with the oracle"))
            .unwrap()
            .sealed()
            .without_result,
        1
    );
    assert!(
        fs::read_to_string(&path)
            .unwrap()
            .lines()
            .last()
            .unwrap()
            .contains("\"oracle\":true")
    );
}

#[test]
fn a_log_of_another_generation_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sealed.jsonl");
    begin(&path, 4, "a1", false).unwrap();
    // Logs of the first generation do not name it.
    let old = fs::read_to_string(&path)
        .unwrap()
        .replace(&format!("\"generation\":{GENERATION},"), "");
    fs::write(&path, &old).unwrap();
    let refused = begin(&path, 4, "b2", true).err().unwrap().to_string();
    assert!(refused.contains("the log of generation 1"), "{refused}");
    assert_eq!(
        fs::read_to_string(&path).unwrap(),
        old,
        "the log stays unchanged"
    );
}

#[test]
fn changed_deleted_and_inserted_lines_are_found() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sealed.jsonl");
    for commit in ["a1", "b2", "c3"] {
        begin(&path, 4, commit, false)
            .unwrap()
            .end("{}", "2026-01-02T04:00:00Z")
            .unwrap();
    }
    let text = fs::read_to_string(&path).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 6);
    let without = |left_out: usize| {
        let kept = lines
            .iter()
            .enumerate()
            .filter(|(index, _)| *index != left_out);
        kept.map(|(_, line)| format!("{line}\n"))
            .collect::<String>()
    };
    for (what, changed) in [
        ("changed", text.replacen("\"draws\":4", "\"draws\":8", 1)),
        ("left out", without(2)),
        ("put in", format!("{}\n{text}", lines[0])),
        ("no entry", format!("{text}{{}}\n")),
    ] {
        fs::write(&path, &changed).unwrap();
        let error = begin(&path, 4, "d4", false).err();
        assert!(
            error.is_some_and(|error| error.to_string().contains("line ")),
            "{what}"
        );
        assert_eq!(
            fs::read_to_string(&path).unwrap(),
            changed,
            "{what}: the log stays unchanged"
        );
    }
}

#[test]
fn the_log_names_the_scenarios() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sealed.jsonl");
    begin(&path, 4, "a1", false)
        .unwrap()
        .end("{}", "2026-01-02T04:00:00Z")
        .unwrap();
    let run = || SealedLog::begin(&path, &plan(5, 4), "b2", "2026-01-02T05:00:00Z", None);
    run().unwrap().end("{}", "2026-01-02T06:00:00Z").unwrap();
    let firsts = |(_, line): &(String, Line)| line.first;
    assert_eq!(
        read(&path).unwrap().iter().map(firsts).collect::<Vec<_>>(),
        [1, 1, 5, 5]
    );
    // Lines for the first scenarios have no field `first`.
    assert!(
        !fs::read_to_string(&path)
            .unwrap()
            .lines()
            .next()
            .unwrap()
            .contains("first")
    );
}

#[test]
fn a_program_without_a_commit_cannot_run_sealed_scenarios() {
    let folder = tempfile::tempdir().unwrap();
    for commit in ["c0ffee-dirty", "unknown"] {
        let error = begin(&folder.path().join("sealed.jsonl"), 4, commit, false)
            .err()
            .unwrap();
        assert_eq!(error.kind(), Kind::Usage, "{error}");
    }
}

/// 1 000 000 000 s after the epoch; a leap day; the last second of a century year that is not a
/// leap year.
#[test]
fn dates_follow_the_calendar() {
    for (seconds, date) in [
        (0, "1970-01-01T00:00:00Z"),
        (1_000_000_000, "2001-09-09T01:46:40Z"),
        (951_782_400, "2000-02-29T00:00:00Z"),
        (4_107_542_399, "2100-02-28T23:59:59Z"),
        (4_107_542_400, "2100-03-01T00:00:00Z"),
    ] {
        assert_eq!(
            day_and_time(UNIX_EPOCH + Duration::from_secs(seconds)),
            date
        );
    }
}
