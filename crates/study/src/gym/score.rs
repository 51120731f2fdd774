//! Rewards of policies without an agent.

use std::num::NonZeroUsize;
use std::sync::Arc;

use joulepath_model::cancel::Cancel;

use super::environment::{Environment, Spec, Start, Summary};
use crate::error::{Error, Result};
use crate::event::{Event, Watch};
use crate::parallel::{self, News};

/// An episode to run.
#[derive(Clone, Debug)]
pub struct Task {
    /// Steers [`Nothing`](super::Steers::Nothing), so that the policy runs unchanged.
    pub spec: Arc<Spec>,
    /// Draw of a family, from 1.
    pub draw: Option<u32>,
    /// Seed of the run.
    pub seed: u64,
}

/// Runs every episode on all cores, or on `jobs`. Returns the summaries in the order of the tasks;
/// `None` for cancelled ones.
///
/// # Errors
/// The first error of an episode.
pub fn score(
    tasks: &[Task],
    jobs: Option<NonZeroUsize>,
    watch: Watch<'_>,
    cancel: &Cancel,
) -> Result<Vec<Option<Summary>>> {
    watch(Event::Begin {
        runs: tasks.len(),
        takes: None,
    });
    let work = |task: &Task, _: &dyn Fn(())| play(task, cancel);
    let done = parallel::run(tasks, parallel::cores(jobs), cancel, work, |_, news| {
        if matches!(news, News::Done(_)) {
            watch(Event::Step);
        }
    });
    let mut all = vec![None; tasks.len()];
    for (index, outcome) in done {
        let doing = || format!("episode {}", index + 1);
        all[index] = outcome.map_err(|why| Error::Episode {
            doing: doing(),
            why,
        })??;
    }
    Ok(all)
}

/// Runs one episode without an agent; `None` if it was cancelled.
fn play(task: &Task, cancel: &Cancel) -> Result<Option<Summary>> {
    let mut environment = Environment::new(Arc::clone(&task.spec));
    let mut seen = vec![0.0; task.spec.observation_len()];
    environment.reset(
        Start::Exact {
            draw: task.draw,
            seed: task.seed,
        },
        &mut seen,
    )?;
    while !environment.is_over() {
        if cancel.is_set() {
            return Ok(None);
        }
        environment.step(&[], &mut seen)?;
    }
    Ok(environment.summary().cloned())
}
