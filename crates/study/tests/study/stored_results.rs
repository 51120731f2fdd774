//! Compares the results of short runs with those in `results/hashes.txt`, to the last digit.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use joulepath_study::parallel;

use crate::cases::{self, Outcome};

const STORED: &str = "results/hashes.txt";
/// Set by `scripts/stored-results.sh --accept`: store the results instead of comparing them.
const ACCEPT: &str = "JOULEPATH_ACCEPT_RESULTS";
/// Maximum number of differences in the message.
const SHOWN: usize = 40;

const HEADER: &str = "\
# Results of short runs with seed 1: engine, scenario, policy, and the SHA-256 of the result (8 bytes) with
# goodput and energy, or the reason for which there is none. Written by `scripts/stored-results.sh --accept`.
";

/// Results by engine, scenario and policy.
type Table = BTreeMap<[String; 3], String>;

#[test]
fn no_result_of_a_shipped_scenario_has_changed() {
    let outcomes = run();
    every_registered_part_has_run(&outcomes);
    let found: Table = outcomes
        .into_iter()
        .map(|(key, outcome)| (key, outcome.summary))
        .collect();
    let file = cases::root().join(STORED);
    if std::env::var_os(ACCEPT).is_some() {
        return fs::write(&file, written(&found)).expect("the repository is writable");
    }
    let stored = read(&fs::read_to_string(&file).unwrap_or_default());
    let differences = differences(&stored, &found);
    assert!(
        differences.is_empty(),
        "{} of {} results differ from {STORED}:\n{}\nIf they should: scripts/stored-results.sh --accept, and \
         an entry under *Changed results* in CHANGELOG.md that says what differs, by how much, and why",
        differences.len(),
        found.len(),
        differences[..differences.len().min(SHOWN)].join("\n"),
    );
}

fn run() -> Vec<([String; 3], Outcome)> {
    let all = cases::all();
    let next = AtomicUsize::new(0);
    let take = || {
        let cases = std::iter::from_fn(|| all.get(next.fetch_add(1, Ordering::Relaxed)));
        cases
            .map(|case| (case.key(), case.run()))
            .collect::<Vec<_>>()
    };
    thread::scope(|scope| {
        let threads: Vec<_> = (0..parallel::cores(None).get())
            .map(|_| scope.spawn(take))
            .collect();
        threads
            .into_iter()
            .flat_map(|thread| thread.join().expect("no run panics"))
            .collect()
    })
}

fn every_registered_part_has_run(outcomes: &[([String; 3], Outcome)]) {
    let packet = outcomes
        .iter()
        .filter(|([engine, ..], _)| engine == "packet");
    let ran: BTreeSet<String> = packet
        .flat_map(|(_, outcome)| outcome.parts.iter().cloned())
        .collect();
    let missing: Vec<String> = cases::registered().difference(&ran).cloned().collect();
    assert!(
        missing.is_empty(),
        "no stored result uses {missing:?}: add policies to `cases::others`"
    );
}

fn written(table: &Table) -> String {
    let line = |([engine, scenario, policy], summary): (&[String; 3], &String)| {
        format!("{engine:<7} {scenario:<27} {policy:<43} {summary}\n")
    };
    HEADER.to_owned() + &table.iter().map(line).collect::<String>()
}

fn read(text: &str) -> Table {
    let line = |line: &str| {
        let mut words = line.split_whitespace().map(str::to_owned);
        let key = std::array::from_fn(|_| words.next().unwrap_or_default());
        (key, words.collect::<Vec<_>>().join(" "))
    };
    text.lines()
        .filter(|line| !line.starts_with('#'))
        .map(line)
        .collect()
}

fn differences(stored: &Table, found: &Table) -> Vec<String> {
    let none = "nothing".to_owned();
    let keys: BTreeSet<_> = stored.keys().chain(found.keys()).collect();
    let differs = |key: &&&[String; 3]| stored.get(**key) != found.get(**key);
    let told = |key: &[String; 3]| {
        let [before, now] = [stored, found].map(|table| table.get(key).unwrap_or(&none));
        format!("  {}: {before} → {now}", key.join(" "))
    };
    keys.iter().filter(differs).map(|key| told(key)).collect()
}
