//! Runs scenarios on an engine, on all cores: reuses stored runs, retries failed runs and reports
//! each run as it ends.

use std::num::NonZeroUsize;
use std::time::{Duration, Instant};

use joulepath_control::Setup;
use joulepath_model::cancel::Cancel;
use joulepath_model::result::RunResult;
use joulepath_model::scenario::Scenario;

use crate::engine::{Engine, RunError, Task};
use crate::error;
use crate::event::{Event, FailedRun, Watch};
use crate::parallel::{self, News};
use crate::source::{Overrides, Source};
use crate::stored::{Finished, Key, StoredRuns};

/// A loaded scenario, with what identifies it in the store.
pub(crate) struct Loaded {
    /// Name in messages.
    pub(crate) name: String,
    pub(crate) scenario: Scenario,
    pub(crate) sha256: String,
    pub(crate) overrides: Overrides,
}

impl Loaded {
    /// Loads the scenario of `source` with `overrides`.
    ///
    /// # Errors
    /// If it does not fit.
    pub(crate) fn of(source: &Source, name: String, overrides: Overrides) -> error::Result<Self> {
        let scenario = source.load(&overrides)?;
        Ok(Loaded {
            name,
            sha256: source.sha256(&scenario),
            scenario,
            overrides,
        })
    }

    /// Runs of a policy, one with each seed.
    pub(crate) fn row<'a>(
        &'a self,
        engine: &'a dyn Engine,
        setup: &'a Setup,
        seeds: &'a [u64],
    ) -> Row<'a> {
        let run = Wanted {
            engine,
            name: &self.name,
            scenario: &self.scenario,
            setup,
            task: Task {
                seed: 0,
                series: false,
                settles: false,
            },
            identity: (&self.sha256, &self.overrides),
        };
        Row {
            run,
            seeds,
            series: 0,
        }
    }
}

/// A run to do.
#[derive(Clone, Copy)]
pub(crate) struct Wanted<'a> {
    pub(crate) engine: &'a dyn Engine,
    /// Name of the scenario in messages.
    pub(crate) name: &'a str,
    pub(crate) scenario: &'a Scenario,
    pub(crate) setup: &'a Setup,
    pub(crate) task: Task,
    /// Key of the scenario in the store: its SHA-256 and its overrides.
    pub(crate) identity: (&'a str, &'a Overrides),
}

/// A row of a run table: a policy on a scenario in an engine.
#[derive(Clone, Copy)]
pub(crate) struct Row<'a> {
    /// Its runs, except for seed and series.
    pub(crate) run: Wanted<'a>,
    pub(crate) seeds: &'a [u64],
    /// Number of seeds, from the first, that record time series.
    pub(crate) series: usize,
}

impl<'a> Row<'a> {
    /// The run with the `nth` seed.
    pub(crate) fn nth(&self, nth: usize) -> Option<Wanted<'a>> {
        let mut run = self.run;
        run.task.seed = *self.seeds.get(nth)?;
        run.task.series = nth < self.series;
        Some(run)
    }
}

/// Runs of all rows, each with its row: the rows' with their first seed, then with the next, so that
/// an interrupted batch compares equal seeds.
pub(crate) fn by_seed<'a>(rows: &[Row<'a>]) -> Vec<(usize, Wanted<'a>)> {
    let most = rows.iter().map(|row| row.seeds.len()).max().unwrap_or(0);
    let run = |nth, place: usize| Some((place, rows[place].nth(nth)?));
    (0..most)
        .flat_map(|nth| (0..rows.len()).filter_map(move |place| run(nth, place)))
        .collect()
}

/// Outcome of a run.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Outcome {
    /// The run succeeded.
    Run(Box<Finished>),
    /// It failed, with this message.
    Failed(String),
    /// It was cancelled before it started or finished.
    Missing,
}

impl Outcome {
    /// The run, if it succeeded.
    pub(crate) fn run(self) -> Option<RunResult> {
        match self {
            Outcome::Run(finished) => Some(finished.run),
            Outcome::Failed(_) | Outcome::Missing => None,
        }
    }
}

/// Runs of a row that succeeded.
pub(crate) fn runs(outcomes: Vec<Outcome>) -> Vec<RunResult> {
    outcomes.into_iter().filter_map(Outcome::run).collect()
}

/// Whether every run of a table succeeded.
pub(crate) fn is_complete(table: &[Vec<Outcome>]) -> bool {
    let mut outcomes = table.iter().flatten();
    outcomes.all(|outcome| matches!(outcome, Outcome::Run(_)))
}

/// Settings that all runs of a batch share.
pub(crate) struct Batch<'a> {
    /// Runs at a time; `None`: as many as there are cores.
    pub(crate) jobs: Option<NonZeroUsize>,
    pub(crate) cancel: &'a Cancel,
}

impl Batch<'_> {
    /// Does every run of the rows that `stored` lacks and stores it: one engine after the other, in
    /// the order of [`by_seed`]. Returns the outcomes by row, in the order of its seeds.
    pub(crate) fn table(
        &self,
        rows: &[Row<'_>],
        mut stored: Option<&mut StoredRuns>,
        watch: Watch<'_>,
    ) -> Vec<Vec<Outcome>> {
        let mut table = vec![vec![]; rows.len()];
        let mut left = by_seed(rows);
        while let Some(&(_, Wanted { engine, .. })) = left.first() {
            let is_own = |(_, run): &(usize, Wanted<'_>)| run.engine.name() == engine.name();
            let (own, others): (Vec<_>, Vec<_>) = left.into_iter().partition(is_own);
            let (places, wanted): (Vec<usize>, Vec<Wanted<'_>>) = own.into_iter().unzip();
            let outcomes = self.run(engine, &wanted, stored.as_deref_mut(), &mut *watch);
            for (place, outcome) in places.into_iter().zip(outcomes) {
                table[place].push(outcome);
            }
            left = others;
        }
        table
    }

    fn run(
        &self,
        engine: &dyn Engine,
        wanted: &[Wanted<'_>],
        mut stored: Option<&mut StoredRuns>,
        watch: Watch<'_>,
    ) -> Vec<Outcome> {
        let takes = wanted
            .first()
            .and_then(|first| engine.takes(first.scenario));
        watch(Event::Begin {
            runs: wanted.len(),
            takes,
        });
        let mut outcomes = vec![Outcome::Missing; wanted.len()];
        let mut left = vec![];
        for (place, wanted) in wanted.iter().enumerate() {
            let found = stored
                .as_deref()
                .and_then(|stored| stored.find(&key(wanted)));
            match found.filter(|found| found.run.series.is_some() || !wanted.task.series) {
                None => left.push(place),
                Some(found) => {
                    watch(Event::Finished(&found.run));
                    outcomes[place] = Outcome::Run(Box::new(found.clone()));
                }
            }
        }
        let scenarios: Vec<&Scenario> = left.iter().map(|&place| wanted[place].scenario).collect();
        if let Some(doubt) = engine.doubt(&scenarios) {
            watch(Event::Note(doubt));
        }
        let cores = parallel::cores(self.jobs);
        let threads = engine
            .most_at_a_time()
            .map_or(cores, |most| most.min(cores));
        let each = cores_of_each(cores, threads.get().min(left.len()));
        let work = |place: &usize, say: &dyn Fn(String)| self.attempt(&wanted[*place], each, say);
        let done = parallel::run(&left, threads, self.cancel, work, |index, news| {
            let wanted = &wanted[left[index]];
            match news {
                News::Message(error) => watch(Event::Again(&failed(wanted, error))),
                News::Done(Ok(Ok(finished))) => {
                    let note = stored
                        .as_deref_mut()
                        .and_then(|stored| stored.add(&key(wanted), finished));
                    note.into_iter().for_each(|note| watch(Event::Note(note)));
                    watch(Event::Finished(&finished.run));
                }
                News::Done(Ok(Err(RunError::Cancelled))) => {}
                News::Done(Ok(Err(RunError::Failed(error))) | Err(error)) => {
                    watch(Event::Failed(&failed(wanted, error)));
                }
            }
        });
        for (index, outcome) in done {
            outcomes[left[index]] = match outcome {
                Ok(Ok(finished)) => Outcome::Run(Box::new(finished)),
                Ok(Err(RunError::Cancelled)) => Outcome::Missing,
                Ok(Err(RunError::Failed(error))) | Err(error) => Outcome::Failed(error),
            };
        }
        outcomes
    }

    /// Does one run and measures its time. Retries a failed run as often as the engine allows, and
    /// reports every failure but the last to `say`.
    fn attempt(
        &self,
        wanted: &Wanted<'_>,
        cores: NonZeroUsize,
        say: &dyn Fn(String),
    ) -> Result<Finished, RunError> {
        let mut left = wanted.engine.attempts();
        loop {
            let since = Instant::now();
            let outcome = wanted.engine.run(
                wanted.scenario,
                wanted.setup,
                &wanted.task,
                cores,
                self.cancel,
            );
            left -= 1;
            match outcome {
                Err(RunError::Failed(error)) if left > 0 && !self.cancel.is_set() => say(error),
                outcome => {
                    return outcome.map(|run| Finished {
                        run,
                        took: since.elapsed(),
                    });
                }
            }
        }
    }
}

/// The failed runs of a table, in the order of [`by_seed`].
pub(crate) fn failures(rows: &[Row<'_>], table: &[Vec<Outcome>]) -> Vec<FailedRun> {
    let mut left: Vec<_> = table.iter().map(|row| row.iter()).collect();
    let failure = |(place, wanted): (usize, Wanted<'_>)| match left[place].next()? {
        Outcome::Failed(error) => Some(failed(&wanted, error)),
        Outcome::Run(_) | Outcome::Missing => None,
    };
    by_seed(rows).into_iter().filter_map(failure).collect()
}

fn key<'w>(wanted: &Wanted<'w>) -> Key<'w> {
    let (scenario, overrides) = wanted.identity;
    Key {
        scenario,
        overrides,
        engine: wanted.engine.name(),
        policy: wanted.setup.policy(),
        seed: wanted.task.seed,
    }
}

fn failed(wanted: &Wanted<'_>, error: &str) -> FailedRun {
    FailedRun {
        scenario: wanted.name.to_owned(),
        policy: wanted.setup.policy().to_owned(),
        engine: wanted.engine.name(),
        seed: wanted.task.seed,
        error: error.to_owned(),
    }
}

/// Cores for each of `runs` concurrent runs. Many runs are faster side by side than in sequence, so
/// a run gets several cores only if there are fewer runs than cores.
pub(crate) fn cores_of_each(cores: NonZeroUsize, runs: usize) -> NonZeroUsize {
    NonZeroUsize::new(cores.get() / runs.max(1)).unwrap_or(NonZeroUsize::MIN)
}

/// Total time of all runs.
pub(crate) fn took(table: &[Vec<Outcome>]) -> Duration {
    let of = |outcome: &Outcome| match outcome {
        Outcome::Run(finished) => finished.took,
        Outcome::Failed(_) | Outcome::Missing => Duration::ZERO,
    };
    table.iter().flatten().map(of).sum()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::Mutex;
    use std::thread;

    use joulepath_model::scenario::load;

    use super::*;

    /// Number of failures of each seed before it succeeds; a seed without an entry succeeds at
    /// once. Seed 0 runs until it is cancelled.
    #[derive(Default)]
    struct Fake {
        name: &'static str,
        failures: Mutex<BTreeMap<u64, usize>>,
        attempts: usize,
        /// Whether it reports a doubt before the first run.
        doubts: bool,
    }

    impl Fake {
        fn failing(attempts: usize, failures: &[(u64, usize)]) -> Self {
            Fake {
                name: "fake",
                failures: Mutex::new(failures.iter().copied().collect()),
                attempts,
                doubts: false,
            }
        }
    }

    impl Engine for Fake {
        fn name(&self) -> &'static str {
            self.name
        }

        fn attempts(&self) -> usize {
            self.attempts
        }

        fn doubt(&self, scenarios: &[&Scenario]) -> Option<String> {
            (self.doubts && !scenarios.is_empty())
                .then(|| format!("doubt about {}", scenarios.len()))
        }

        fn run(
            &self,
            _: &Scenario,
            setup: &Setup,
            task: &Task,
            _: NonZeroUsize,
            cancel: &Cancel,
        ) -> Result<RunResult, RunError> {
            if task.seed == 0 {
                while !cancel.is_set() {
                    thread::yield_now();
                }
                return Err(RunError::Cancelled);
            }
            let mut failures = self.failures.lock().unwrap();
            match failures.get_mut(&task.seed) {
                Some(left @ 1..) => {
                    *left -= 1;
                    Err(RunError::Failed(format!("{left} more to come")))
                }
                _ => {
                    let policy = setup.policy().to_owned();
                    Ok(RunResult {
                        policy,
                        seed: task.seed,
                        ..RunResult::default()
                    })
                }
            }
        }
    }

    fn quick() -> (Scenario, Setup) {
        let text = crate::shipped::find("quick").unwrap().1;
        let scenario = load(text, &|_| Err(String::new())).unwrap();
        let setup = Setup::of(&"mptcp".parse().unwrap(), &scenario).unwrap();
        (scenario, setup)
    }

    /// Outcome of each seed as text, and the events heard.
    fn batch(
        engine: &Fake,
        seeds: &[u64],
        stored: Option<&mut StoredRuns>,
    ) -> (Vec<String>, Vec<String>) {
        let (scenario, setup) = quick();
        let loaded = Loaded {
            name: "quick".to_owned(),
            scenario,
            sha256: "abc".to_owned(),
            overrides: vec![],
        };
        let rows = [loaded.row(engine, &setup, seeds)];
        let (cancel, mut heard) = (Cancel::new(), vec![]);
        let mut watch = |event: Event<'_>| {
            heard.push(match event {
                Event::Begin { runs, .. } => format!("begin {runs}"),
                Event::Finished(run) => format!("finished {}", run.seed),
                Event::Again(failed) => format!("again {}: {}", failed.seed, failed.error),
                Event::Failed(failed) => format!("failed {}: {}", failed.seed, failed.error),
                Event::Note(note) => note,
                Event::Step => "step".to_owned(),
            });
            // A run of seed 0 never ends: cancel it after the first run of another seed.
            if seeds.contains(&0) && heard.iter().any(|event| event.starts_with("finished")) {
                cancel.set();
            }
        };
        let two = NonZeroUsize::new(2);
        let outcomes = Batch {
            jobs: two,
            cancel: &cancel,
        }
        .table(&rows, stored, &mut watch)
        .remove(0);
        let text = |outcome: Outcome| match outcome {
            Outcome::Run(finished) => format!("run {}", finished.run.seed),
            Outcome::Failed(error) => error,
            Outcome::Missing => "missing".to_owned(),
        };
        (outcomes.into_iter().map(text).collect(), heard)
    }

    /// Uses all cores with 30 runs on 2 cores, 3 on 8, and 1 on 8.
    #[test]
    fn runs_share_the_cores_and_a_single_run_uses_all() {
        let each = |cores, runs| cores_of_each(NonZeroUsize::new(cores).unwrap(), runs).get();
        assert_eq!(
            (each(2, 30), each(8, 3), each(8, 1), each(2, 0)),
            (1, 2, 8, 2)
        );
    }

    #[test]
    fn a_run_is_retried_as_often_as_the_engine_allows_and_each_failure_is_reported() {
        let (outcomes, heard) = batch(&Fake::failing(3, &[(1, 2), (2, 3)]), &[1, 2], None);
        assert_eq!(outcomes, ["run 1", "0 more to come"]);
        for event in [
            "begin 2",
            "again 1: 1 more to come",
            "again 1: 0 more to come",
            "finished 1",
        ] {
            assert!(heard.contains(&event.to_owned()), "{event}: {heard:?}");
        }
        let of_second: Vec<&str> = heard
            .iter()
            .filter(|event| event.contains(" 2: "))
            .map(String::as_str)
            .collect();
        assert_eq!(
            of_second,
            [
                "again 2: 2 more to come",
                "again 2: 1 more to come",
                "failed 2: 0 more to come"
            ]
        );
    }

    #[test]
    fn an_engine_without_retries_runs_once() {
        let (outcomes, heard) = batch(&Fake::failing(1, &[(1, 1)]), &[1], None);
        assert_eq!((outcomes.len(), heard.len()), (1, 2), "{heard:?}");
        assert_eq!(outcomes, ["0 more to come"]);
    }

    #[test]
    fn stored_runs_are_reused_and_new_runs_are_stored() {
        let mut stored = StoredRuns::default();
        let (outcomes, _) = batch(&Fake::failing(1, &[(2, 1)]), &[1, 2], Some(&mut stored));
        assert_eq!(outcomes, ["run 1", "0 more to come"]);
        // The engine would fail on the first seed, which is stored; the second one succeeds.
        let (outcomes, heard) = batch(&Fake::failing(1, &[(1, 1)]), &[1, 2], Some(&mut stored));
        assert_eq!(
            (outcomes, heard.len()),
            (vec!["run 1".to_owned(), "run 2".to_owned()], 3)
        );
    }

    #[test]
    fn an_engine_reports_doubts_before_the_first_run_and_none_about_stored_runs() {
        let (mut engine, mut stored) = (Fake::failing(1, &[]), StoredRuns::default());
        engine.doubts = true;
        let (_, heard) = batch(&engine, &[1], Some(&mut stored));
        assert_eq!(heard, ["begin 1", "doubt about 1", "finished 1"]);
        let (_, heard) = batch(&engine, &[1], Some(&mut stored));
        assert_eq!(heard, ["begin 1", "finished 1"]);
    }

    #[test]
    fn a_table_runs_seed_by_seed_and_engine_after_engine() {
        let (scenario, setup) = quick();
        let loaded = Loaded {
            name: "quick".to_owned(),
            scenario,
            sha256: "abc".to_owned(),
            overrides: vec![],
        };
        let (one, mut other) = (Fake::failing(1, &[]), Fake::failing(1, &[]));
        other.name = "other";
        let rows = [
            loaded.row(&one, &setup, &[1, 2]),
            loaded.row(&other, &setup, &[3]),
            loaded.row(&one, &setup, &[4]),
        ];
        let mut heard = vec![];
        let mut watch = |event: Event<'_>| {
            if let Event::Finished(run) = event {
                heard.push(run.seed);
            }
        };
        let batch = Batch {
            jobs: NonZeroUsize::new(1),
            cancel: &Cancel::new(),
        };
        let table = batch.table(&rows, None, &mut watch);
        assert!(is_complete(&table));
        let seeds = |row| runs(row).iter().map(|run| run.seed).collect::<Vec<_>>();
        let seeds: Vec<Vec<u64>> = table.into_iter().map(seeds).collect();
        assert_eq!(seeds, [vec![1, 2], vec![3], vec![4]]);
        assert_eq!(heard, [1, 4, 2, 3]);
    }

    #[test]
    fn a_cancelled_run_is_missing_not_failed() {
        let (outcomes, heard) = batch(&Fake::failing(1, &[]), &[0, 1, 2], None);
        assert_eq!(
            (outcomes[0].as_str(), outcomes[1].as_str()),
            ("missing", "run 1")
        );
        assert!(
            heard.iter().all(|event| !event.starts_with("failed")),
            "{heard:?}"
        );
    }
}
