//! Files of other people: every text gives a value or an error.

use std::fs;
use std::path::{Path, PathBuf};

use joulepath_link::trace;
use joulepath_model::history::Book;
use joulepath_model::scenario::{read_live, read_profile, read_study};
use joulepath_model::signal::SignalTrace;
use joulepath_study::shipped::SCENARIOS;
use joulepath_study::source::Source;
use joulepath_testbed::fuzz;
use joulepath_why::observation::Observation;
use joulepath_why::report::examine;

use crate::cases::root;

/// The files of a folder of the repository.
fn files(folder: &str) -> Vec<Vec<u8>> {
    let entries =
        fs::read_dir(root().join(folder)).unwrap_or_else(|error| panic!("{folder}: {error}"));
    let paths = entries
        .map(|entry| entry.expect("a readable folder").path())
        .filter(|path| path.is_file());
    let mut paths: Vec<PathBuf> = paths.collect();
    paths.sort();
    let is_short = |bytes: &Vec<u8>| bytes.len() < 1 << 15;
    paths
        .iter()
        .map(|path: &PathBuf| fs::read::<&Path>(path).expect("a readable file"))
        .filter(is_short)
        .collect()
}

/// `read` for inputs that are UTF-8, which the callers of these parsers check.
fn text(read: impl Fn(&str)) -> impl Fn(&[u8]) {
    move |bytes| {
        let _ = str::from_utf8(bytes).map(&read);
    }
}

#[test]
fn no_scenario_causes_a_panic() {
    let shipped = SCENARIOS.iter().map(|(_, text)| text.as_bytes().to_vec());
    fuzz(
        files("crates/model/tests/corpus")
            .into_iter()
            .chain(shipped),
        text(|text| {
            let source = Source::text("fuzz", text, None);
            let _ = source.load(&[]).map(|scenario| source.sha256(&scenario));
            let _ = source.variants().is_ok();
        }),
    );
}

#[test]
fn no_trace_causes_a_panic() {
    fuzz(files("crates/link/tests/corpus"), |bytes| {
        drop(trace::parse(bytes, "fuzz"))
    });
}

#[test]
fn no_trace_of_a_signal_causes_a_panic() {
    let seeds = [
        "0 -80\n4 -110\n",
        "0,-80.5\n1.5,-91\n",
        "# s dBm\n0 -80\r\n2e0 -1e2\r\n",
    ];
    fuzz(seeds, text(|text| drop(SignalTrace::parse(text, "fuzz"))));
}

#[test]
fn no_configuration_of_the_daemon_causes_a_panic() {
    fuzz(
        files("scenarios/live/daemon"),
        text(|text| drop(read_live(text))),
    );
}

#[test]
fn no_study_profile_or_history_causes_a_panic() {
    fuzz(
        files("crates/study/tests/corpus"),
        text(|text| {
            let _ = read_study(text).is_ok();
            let _ = read_profile(text).is_ok();
            let _ = Book::parse(text).is_ok();
        }),
    );
}

/// As `joulepath why --read` reads it; predictions are simulations, which no text causes to differ.
#[test]
fn no_record_of_connections_causes_a_panic() {
    fuzz(
        files("crates/study/tests/corpus/why"),
        text(|text| {
            let Ok(seen) = serde_json::from_str::<Observation<'_>>(text) else {
                return;
            };
            if seen.samples.len() > 1 {
                examine(&seen, |_| true, &mut |_, _| None);
            }
        }),
    );
}
