//! Does the missing runs of a study on all cores.

use std::collections::VecDeque;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use joulepath_model::cancel::Cancel;
use joulepath_model::result::{Provenance, RunResult};

use super::case::{Case, row};
use super::dataset::{
    Files, Header, Writer, another, first_run, header, mark_batch, parts, runs_of,
};
use super::parquet::Row;
use super::plan::{Place, Sweep};
use super::ranges::Ranges;
use super::shard::Shard;
use crate::batch::cores_of_each;
use crate::engine::{RunError, Task};
use crate::error::{Error, Kind as ErrorKind, Result};
use crate::event::{Event, FailedRun, Watch};
use crate::parallel::{self, News};

/// Runs that are handed out at a time; bounds the memory for their indices.
const AT_A_TIME: usize = 4096;

/// Result of running a part of a study.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Runs of the part.
    pub runs: u64,
    /// Runs that were finished before.
    pub before: u64,
    /// Runs done by this call, including failed ones.
    pub done: u64,
    /// Runs of this call that failed.
    pub failed: u64,
    /// The first failure.
    pub first_failure: Option<FailedRun>,
    /// Whether a cancellation stopped it.
    pub partial: bool,
}

/// Does runs of a study.
pub struct Runner<'a> {
    sweep: &'a Sweep,
    jobs: Option<NonZeroUsize>,
    commit: &'a str,
}

/// A finished run, or its error.
type Done = Result<RunResult, String>;

impl<'a> Runner<'a> {
    /// Uses `jobs` cores; default: all. Rows store `commit`.
    pub fn new(sweep: &'a Sweep, jobs: Option<NonZeroUsize>, commit: &'a str) -> Self {
        Runner {
            sweep,
            jobs,
            commit,
        }
    }

    /// Does all runs of a part that the dataset lacks. After a cancellation the dataset has the
    /// finished runs.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub fn run(
        &self,
        writer: &mut Writer,
        shard: Shard,
        watch: Watch<'_>,
        cancel: &Cancel,
    ) -> Result<Outcome> {
        let sweep = self.sweep;
        let runs = shard.points(sweep.points()) * sweep.of_point();
        let missing = Missing::of(sweep, shard, 0).count(writer.done());
        let mut outcome = Outcome {
            runs,
            before: runs - missing,
            ..Outcome::default()
        };
        sweep
            .notes
            .iter()
            .for_each(|note| watch(Event::Note(note.clone())));
        watch(Event::Begin {
            runs: usize::try_from(missing).unwrap_or(usize::MAX),
            takes: None,
        });
        let mut left = Missing::of(sweep, shard, 0);
        while !cancel.is_set() {
            let next = left.next(writer.done(), AT_A_TIME);
            if next.is_empty() {
                break;
            }
            self.some(&next, watch, cancel, &mut |index, place, done| {
                let row = self.noted(index, place, done, &mut outcome);
                writer.add(index, row)
            })?;
        }
        writer.flush()?;
        outcome.partial = outcome.before + outcome.done < outcome.runs;
        Ok(outcome)
    }

    /// Does missing runs one after another until `least` has passed, to measure the time of a run
    /// and detect failures early.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub fn probe(
        &self,
        writer: &mut Writer,
        shard: Shard,
        least: Duration,
        watch: Watch<'_>,
        cancel: &Cancel,
    ) -> Result<Outcome> {
        let (began, mut outcome) = (Instant::now(), Outcome::default());
        let mut left = Missing::of(self.sweep, shard, 0);
        while began.elapsed() < least && !cancel.is_set() {
            let next = left.next(writer.done(), 1);
            if next.is_empty() {
                break;
            }
            self.some(&next, watch, cancel, &mut |index, place, done| {
                let row = self.noted(index, place, done, &mut outcome);
                writer.add(index, row)
            })?;
        }
        writer.flush()?;
        Ok(outcome)
    }

    /// Does a batch, `runs` of a part, and writes it to one file; skips runs in files that start
    /// within the batch. For workers of a cluster's scheduler, which repeats the batches of workers
    /// that die. The scheduler's client must have created the dataset and locked the part. After a
    /// cancellation the file has the finished runs.
    ///
    /// # Errors
    /// If the folder has no dataset of this study, or a file cannot be read or written.
    pub fn batch(
        &self,
        folder: &Path,
        shard: Shard,
        runs: &Ranges,
        by: &Provenance,
        watch: Watch<'_>,
        cancel: &Cancel,
    ) -> Result<Outcome> {
        let wanted = Header::of(self.sweep, by);
        let there = header(folder)?.ok_or_else(|| Error::Refused {
            doing: format!("cannot write rows into {}", folder.display()),
            why: "this process finds no study in it".to_owned(),
            help: "name a folder on a file system that all workers of the cluster share".to_owned(),
            kind: ErrorKind::Failed,
        })?;
        if !wanted.is_of(&there) {
            return Err(another(folder, &there, &wanted));
        }
        let _mark = mark_batch(folder, shard)?;
        let mut done = Ranges::default();
        for part in parts(folder)?
            .iter()
            .filter(|part| first_run(part).is_some_and(|run| runs.contains(run)))
        {
            done.extend(&runs_of(part)?);
        }
        let missing: Vec<u64> = runs.iter().filter(|run| !done.contains(*run)).collect();
        let before = runs.count() - missing.len() as u64;
        let mut outcome = Outcome {
            runs: runs.count(),
            before,
            ..Outcome::default()
        };
        let mut rows = vec![];
        self.some(&missing, watch, cancel, &mut |index, place, done| {
            rows.push((index, self.noted(index, place, done, &mut outcome)));
            Ok(())
        })?;
        if !rows.is_empty() {
            Files::of(self.sweep, folder, wanted, by).write(&mut rows)?;
        }
        outcome.partial = outcome.before + outcome.done < outcome.runs;
        Ok(outcome)
    }

    /// Makes the row of a run and updates the counts.
    fn noted(&self, index: u64, place: Place, done: &Done, outcome: &mut Outcome) -> Row {
        outcome.done += 1;
        if let Err(error) = done {
            outcome.failed += 1;
            outcome
                .first_failure
                .get_or_insert_with(|| self.failed(place, error));
        }
        row(
            self.sweep,
            index,
            place,
            done.as_ref().map_err(String::as_str),
            self.commit,
        )
    }

    /// Does these runs; `each` receives their results in this thread as they arrive.
    fn some(
        &self,
        runs: &[u64],
        watch: Watch<'_>,
        cancel: &Cancel,
        each: &mut dyn FnMut(u64, Place, &Done) -> Result<()>,
    ) -> Result<()> {
        let threads = parallel::cores(self.jobs);
        let cores = cores_of_each(threads, threads.get().min(runs.len()));
        let cases = Cases::new(2 * threads.get());
        // Also set if a file cannot be written: further runs would be lost.
        let stop = Cancel::new();
        let work = |&index: &u64, _: &dyn Fn(())| {
            if cancel.is_set() {
                return Err(RunError::Cancelled);
            }
            let place = self.sweep.place(index);
            let case = cases.of(self.sweep, place.point);
            let engine = &*self.sweep.engines[place.engine];
            let (scenario, setup) = case.task(self.sweep, place).map_err(RunError::Failed)?;
            engine.run(
                scenario,
                setup,
                &Task {
                    seed: place.seed,
                    series: false,
                    settles: false,
                },
                cores,
                cancel,
            )
        };
        let mut outcome = Ok(());
        parallel::run(runs, threads, &stop, work, |number, news| {
            let News::Done(done) = news else { return };
            let index = runs[number];
            let place = self.sweep.place(index);
            let done: Done = match done {
                Ok(Ok(run)) => Ok(run.clone()),
                Ok(Err(RunError::Cancelled)) => return,
                Ok(Err(RunError::Failed(error))) | Err(error) => Err(error.clone()),
            };
            if outcome.is_ok() {
                outcome = each(index, place, &done);
                if outcome.is_err() {
                    stop.set();
                }
            }
            match &done {
                Ok(run) => watch(Event::Finished(run)),
                Err(error) => watch(Event::Failed(&self.failed(place, error))),
            }
            if cancel.is_set() {
                stop.set();
            }
        });
        outcome
    }

    fn failed(&self, place: Place, error: &str) -> FailedRun {
        let axes = self
            .sweep
            .spec()
            .axes
            .iter()
            .zip(self.sweep.levels(place.point));
        let levels: Vec<String> = axes
            .map(|(axis, level)| format!("{} = {level}", axis.keys[0]))
            .collect();
        FailedRun {
            scenario: format!("point {} ({})", place.point, levels.join(", ")),
            policy: self.sweep.policies[place.policy].to_string(),
            engine: self.sweep.engines[place.engine].name(),
            seed: place.seed,
            error: error.to_owned(),
        }
    }
}

/// Runs of a part that are missing, ascending.
pub struct Missing<'a> {
    sweep: &'a Sweep,
    shard: Shard,
    at: u64,
}

impl<'a> Missing<'a> {
    /// Missing runs of a part from run `at` on.
    pub fn of(sweep: &'a Sweep, shard: Shard, at: u64) -> Self {
        Missing { sweep, shard, at }
    }

    /// The next `most` runs; empty at the end.
    pub fn next(&mut self, done: &Ranges, most: usize) -> Vec<u64> {
        let mut next = vec![];
        while next.len() < most
            && let Some((first, end)) = self.stretch(done)
        {
            let end = end.min(first + (most - next.len()) as u64);
            next.extend(first..end);
            self.at = end;
        }
        next
    }

    /// Number of the remaining runs.
    pub fn count(mut self, done: &Ranges) -> u64 {
        let mut count = 0;
        while let Some((first, end)) = self.stretch(done) {
            count += end - first;
            self.at = end;
        }
        count
    }

    /// The next stretch of consecutive missing runs of the part: first run and exclusive end.
    fn stretch(&mut self, done: &Ranges) -> Option<(u64, u64)> {
        let (points, of_point) = (self.sweep.points(), self.sweep.of_point());
        while self.at < self.sweep.runs() {
            let point = self.at / of_point;
            if !self.shard.has(point, points) {
                self.at = self.shard.next_block(point, points) * of_point;
            } else if let Some(end) = done.end_of(self.at) {
                self.at = end;
            } else {
                let block =
                    (self.shard.next_block(point, points) * of_point).min(self.sweep.runs());
                return Some((
                    self.at,
                    done.next_after(self.at)
                        .map_or(block, |next| next.min(block)),
                ));
            }
        }
        None
    }
}

/// Recently loaded points: all threads work on consecutive runs, which share points.
struct Cases {
    last: Mutex<VecDeque<(u64, Arc<OnceLock<Case>>)>>,
    most: usize,
}

impl Cases {
    fn new(most: usize) -> Self {
        Cases {
            last: Mutex::default(),
            most,
        }
    }

    fn of(&self, sweep: &Sweep, point: u64) -> Loaded {
        let place = {
            let mut last = self
                .last
                .lock()
                .unwrap_or_else(std::sync::PoisonError::into_inner);
            let found = last
                .iter()
                .find(|(other, _)| *other == point)
                .map(|(_, case)| Arc::clone(case));
            found.unwrap_or_else(|| {
                let case = Arc::new(OnceLock::new());
                last.push_back((point, Arc::clone(&case)));
                if last.len() > self.most {
                    last.pop_front();
                }
                case
            })
        };
        place.get_or_init(|| Case::of(sweep, point));
        Loaded(place)
    }
}

/// A loaded point.
struct Loaded(Arc<OnceLock<Case>>);

impl std::ops::Deref for Loaded {
    type Target = Case;

    fn deref(&self) -> &Case {
        self.0
            .get()
            .expect("points are loaded before they are handed out")
    }
}
