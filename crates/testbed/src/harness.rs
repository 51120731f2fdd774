//! Arguments, the list of tests, the closing lines. Options of libtest work alike: filters,
//! `--exact`, `--list`, `--ignored`, `--nocapture`, `--format`.

use std::collections::BTreeMap;
use std::num::NonZero;
use std::process::ExitCode;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use libtest_mimic::{Arguments, Completion, Failed, FormatSetting, Trial};

use crate::clock;
use crate::jobs::{Class, Jobs};
use crate::needs::{Need, ThisMachine, flat};
use crate::process::{self, End, Stop};
use crate::registry::Test;
use crate::turn::turn;
use crate::verdict::{MAY_BE_BUSY, Reason, Strict, Verdict, too_many, verdict};

/// Exit code for an invalid argument or environment variable.
const USAGE: u8 = 2;

/// Exit code of a run with a failure, as libtest's.
const FAILED: u8 = 101;

/// How often a test that needs a quiet clock runs if timers were late during each failure. A
/// failure with punctual timers counts at once.
const TRIES: usize = 3;

/// The environment variable that selects a part of the tests: see [`Part`].
const PART: &str = "JOULEPATH_TESTS";

/// Which tests run. Tests that need a quiet clock are unreliable on a busy machine, so
/// `scripts/test.sh` runs them last, alone, and the others in parallel with other work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    All,
    /// `quiet-clock`: tests that need a quiet clock.
    QuietClock,
    /// `any-clock`: all other tests.
    AnyClock,
}

impl Part {
    fn of(name: Option<&str>) -> Result<Self, String> {
        match name {
            None | Some("") => Ok(Part::All),
            Some("quiet-clock") => Ok(Part::QuietClock),
            Some("any-clock") => Ok(Part::AnyClock),
            Some(other) => Err(format!(
                "{PART}={other}: use quiet-clock or any-clock, or leave it unset"
            )),
        }
    }

    fn has(self, needs: &[Need]) -> bool {
        let keeps_time = flat(needs).contains(&Need::QuietClock);
        match self {
            Part::All => true,
            Part::QuietClock => keeps_time,
            Part::AnyClock => !keeps_time,
        }
    }
}

/// What the closing lines report.
#[derive(Debug, Default)]
struct Count {
    /// Number of ignored tests by reason.
    reasons: BTreeMap<String, usize>,
    /// Ignored tests for which the machine was too busy.
    busy: usize,
    /// Why tests or parts of them ran again, by test.
    repeats: BTreeMap<String, Vec<String>>,
    /// How long tests ran.
    times: Vec<Time>,
}

/// How long a test ran.
#[derive(Debug)]
struct Time {
    wall: Duration,
    cpu: Duration,
    test: String,
}

type Counted = Arc<Mutex<Count>>;

/// Runs the binary's tests, or the role for which a test has started it again: see
/// [`crate::in_role`].
pub fn main(roles: &[(&str, fn())]) -> ExitCode {
    if let Ok(wanted) = std::env::var(process::ROLE) {
        let (_, role) = roles
            .iter()
            .find(|(name, _)| *name == wanted)
            .expect("main() has every role");
        role();
        return ExitCode::SUCCESS;
    }
    let mut tests: Vec<&'static Test> = inventory::iter::<Test>.into_iter().collect();
    tests.sort_by_key(|test| test.path);
    if let Ok(one) = std::env::var(process::ONE) {
        let test = tests.into_iter().find(|test| test.name() == one);
        return process::be(test.expect("the harness names a test of this binary"));
    }
    let arguments = Arguments::from_args();
    match Part::of(variable(PART).as_deref()) {
        Ok(part) => tests.retain(|test| part.has(test.needs)),
        Err(message) => {
            eprintln!("{message}");
            return ExitCode::from(USAGE);
        }
    }
    let allowed = match variable(MAY_BE_BUSY).map(|text| text.parse()).transpose() {
        Ok(allowed) => allowed,
        Err(error) => {
            eprintln!("{MAY_BE_BUSY}: {error}; use a number of tests, or leave it unset");
            return ExitCode::from(USAGE);
        }
    };
    let strict = Strict::of(
        variable("JOULEPATH_REQUIRE_KERNEL").as_deref(),
        variable("CI").as_deref(),
    );
    let counted = Counted::default();
    let run = Run {
        strict,
        shown: arguments.nocapture || arguments.show_output,
        // `--ignored` runs tests even if their needs are missing.
        forced: arguments.ignored || arguments.include_ignored,
    };
    let limit = match jobs(&arguments) {
        Ok(limit) => limit,
        Err(message) => {
            eprintln!("{message}");
            return ExitCode::from(USAGE);
        }
    };
    let jobs = Arc::new(Jobs::new(limit));
    let trials: Vec<Trial> = (0..)
        .zip(tests)
        .map(|(number, test)| {
            let place = Place {
                jobs: jobs.clone(),
                number,
            };
            trial(test, run, place, counted.clone())
        })
        .collect();
    let is_json = arguments.format == Some(FormatSetting::Json);
    let threads = if limit == 1 { 1 } else { trials.len().max(1) };
    let conclusion = libtest_mimic::run(&with_threads(arguments, threads), trials);
    let count = counted.lock().expect("no test panics while it counts");
    if !is_json {
        print!("{}", closing_lines(&count));
    }
    if let Some(message) = too_many(count.busy, strict, allowed) {
        eprintln!("{message}");
        return ExitCode::from(FAILED);
    }
    conclusion.exit_code()
}

/// The library decides about ignored tests before they begin, without a reason. So it runs all of
/// them, and each test reports itself as ignored, with the reason. It also starts tests in order,
/// so each gets a thread in which it waits until [`Jobs`] admits it.
fn with_threads(arguments: Arguments, threads: usize) -> Arguments {
    let include_ignored = arguments.include_ignored || !arguments.ignored;
    Arguments {
        include_ignored,
        test_threads: Some(threads),
        ..arguments
    }
}

/// The number of tests at the same time: `--test-threads`, `RUST_TEST_THREADS`, or
/// [`PER_PROCESSOR`].
fn jobs(arguments: &Arguments) -> Result<usize, String> {
    if let Some(threads) = arguments.test_threads {
        return Ok(threads);
    }
    match variable(THREADS) {
        Some(text) => text
            .parse::<NonZero<usize>>()
            .map(NonZero::get)
            .map_err(|error| format!("{THREADS}={text}: {error}")),
        None => {
            let processors = std::thread::available_parallelism().map_or(1, NonZero::get);
            Ok(PER_PROCESSOR * processors)
        }
    }
}

/// libtest's environment variable.
const THREADS: &str = "RUST_TEST_THREADS";

/// Tests at the same time per processor. Most of the time they wait.
const PER_PROCESSOR: usize = 2;

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

#[derive(Clone, Copy)]
struct Run {
    strict: Option<Strict>,
    shown: bool,
    forced: bool,
}

/// Where a test waits.
struct Place {
    jobs: Arc<Jobs>,
    number: usize,
}

fn trial(test: &'static Test, run: Run, place: Place, counted: Counted) -> Trial {
    let verdict = verdict(test.needs, run.strict, &ThisMachine);
    let is_missing = verdict != Verdict::Run;
    let counts = counted.clone();
    let count = move |reason: Reason| {
        let mut count = counts.lock().expect("no test panics while it counts");
        count.busy += usize::from(reason.is_busy());
        *count.reasons.entry(reason.what.clone()).or_default() += 1;
        Ok(Completion::ignored_with(reason))
    };
    let runner = move || match verdict {
        Verdict::Fail(reason, remedy) if !run.forced => {
            let strict = run.strict.expect("only strict needs make it an error");
            let remedy = remedy.map_or_else(String::new, |remedy| format!("\nto fix it: {remedy}"));
            Err(format!("{reason}\n{strict}{remedy}").into())
        }
        Verdict::Ignore(reason) if !run.forced => count(reason),
        _ => {
            let class = Class::of(test.needs);
            let _job = place.jobs.admit(class, place.number);
            // A test without needs shares nothing.
            let _turn = (!test.needs.is_empty()).then(|| turn(class.mode()));
            let since = Instant::now();
            let mut log = Log::default();
            let ran = one(test, run, &mut log);
            let time = Time {
                wall: since.elapsed(),
                cpu: log.cpu,
                test: test.name(),
            };
            let mut counted = counted.lock().expect("no test panics while it counts");
            counted.times.push(time);
            if !log.repeats.is_empty() {
                counted.repeats.insert(test.name(), log.repeats);
            }
            drop(counted);
            match ran? {
                None => Ok(Completion::Completed),
                Some(reason) => count(reason),
            }
        }
    };
    Trial::ignorable_test(test.name(), runner).with_ignored_flag(is_missing)
}

/// What the runs of one test add up to.
#[derive(Default)]
struct Log {
    /// Why it or a part of it ran again.
    repeats: Vec<String>,
    cpu: Duration,
}

/// Runs a test; returns why it was ignored, if it was. A test that has failed once passes in a
/// later run or fails; it is never ignored.
fn one(test: &Test, run: Run, log: &mut Log) -> Result<Option<Reason>, Failed> {
    let keeps_time = flat(test.needs).contains(&Need::QuietClock) && !run.forced;
    if keeps_time && let Err(lateness) = clock::quiet() {
        return Ok(Some(Reason::missing(
            Need::QuietClock,
            lateness.to_string(),
        )));
    }
    let mut left = if keeps_time { TRIES } else { 1 };
    loop {
        left -= 1;
        let watch = keeps_time.then(clock::Watch::start);
        let ran = process::run(test, run.shown)?;
        let disturbed = watch
            .map(clock::Watch::stop)
            .filter(|worst| !worst.is_quiet());
        log.repeats.extend(ran.repeats);
        log.cpu += ran.cpu.unwrap_or_default();
        let said = match ran.end {
            End::Passed => return Ok(None),
            End::Ignored(stop) if log.repeats.iter().any(|why| why.starts_with(FAILED_ONCE)) => {
                format!("it failed first, and now it stops: {stop:?}\n")
            }
            End::Ignored(Stop::TooBusy(measured)) => {
                return Ok(Some(Reason::missing(Need::QuietClock, measured)));
            }
            End::Ignored(Stop::Skip(reason)) => {
                let reason = Reason {
                    what: reason,
                    detail: String::new(),
                };
                return match run.strict {
                    Some(strict) => Err(format!("{reason}\n{strict}").into()),
                    None => Ok(Some(reason)),
                };
            }
            End::Failed(said) => said,
        };
        match disturbed {
            // Late timers may be the reason: with punctual ones it may pass.
            Some(worst) if left > 0 => {
                log.repeats.push(format!("{FAILED_ONCE}{worst}"));
                // Waits for a quiet moment, and runs again in any case: only a run without failure
                // passes.
                let _ = clock::quiet();
            }
            Some(worst) => return Err(format!("{said}while it ran, {worst}\n").into()),
            None => return Err(said.into()),
        }
    }
}

/// How the reason for running a whole test again begins.
const FAILED_ONCE: &str = "failed while ";

/// `12 ignored: needs root (9), needs /dev/net/tun (3)`; empty if none was. Tests ignored on a busy
/// machine are counted again, because only they may run next time. Then each test that ran again,
/// wholly or in part.
fn closing_lines(count: &Count) -> String {
    let mut lines = ignored_line(count);
    if !count.repeats.is_empty() {
        lines.push_str(&format!("{} with repetitions:\n", count.repeats.len()));
    }
    for (test, whys) in &count.repeats {
        lines.push_str(&format!(
            "    {test}, repeated {}×: {}\n",
            whys.len(),
            whys.join("; ")
        ));
    }
    lines.push_str(&slowest_lines(&count.times));
    if !lines.is_empty() {
        lines.push('\n');
    }
    lines
}

/// The slowest tests; empty if all were fast.
fn slowest_lines(times: &[Time]) -> String {
    let mut slow: Vec<&Time> = times.iter().filter(|time| time.wall >= SLOW).collect();
    slow.sort_by_key(|time| std::cmp::Reverse(time.wall));
    slow.truncate(SLOWEST);
    if slow.is_empty() {
        return String::new();
    }
    let lines = slow.into_iter().map(|Time { wall, cpu, test }| {
        let [wall, cpu] = [wall, cpu].map(Duration::as_secs_f64);
        format!("    {wall:6.1} s, CPU {cpu:5.1} s: {test}\n")
    });
    format!("slowest tests:\n{}", lines.collect::<String>())
}

/// How long a test takes at least to be listed, and how many are listed.
const SLOW: Duration = Duration::from_secs(3);
const SLOWEST: usize = 20;

fn ignored_line(count: &Count) -> String {
    let total: usize = count.reasons.values().sum();
    if total == 0 {
        return String::new();
    }
    let mut reasons: Vec<(&String, &usize)> = count.reasons.iter().collect();
    reasons.sort_by_key(|&(what, count)| (std::cmp::Reverse(count), what));
    let reasons: Vec<String> = reasons
        .into_iter()
        .map(|(what, count)| format!("{what} ({count})"))
        .collect();
    let busy = match count.busy {
        0 => String::new(),
        busy => format!("; {busy} because the machine was too busy"),
    };
    format!("{total} ignored: {}{busy}\n", reasons.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::needs::{LAB, QUIET_CLOCK};

    #[test]
    fn the_two_parts_cover_every_test_once() {
        let [quiet, any] =
            ["quiet-clock", "any-clock"].map(|name| Part::of(Some(name)).expect("both are parts"));
        for needs in [&[LAB, QUIET_CLOCK][..], &[LAB], &[]] {
            assert_ne!(quiet.has(needs), any.has(needs), "{needs:?}");
        }
        assert!(quiet.has(&[LAB, QUIET_CLOCK]));
        assert_eq!(Part::of(None), Ok(Part::All));
    }

    #[test]
    fn an_unknown_part_is_refused_and_the_message_lists_the_parts() {
        let message = Part::of(Some("quiet")).expect_err("no such part");
        assert_eq!(
            message,
            "JOULEPATH_TESTS=quiet: use quiet-clock or any-clock, or leave it unset"
        );
    }
}
