//! What policies reach by the reward that an agent learns from.

use std::num::NonZeroUsize;
use std::sync::Arc;

use joulepath_model::cancel::Cancel;

use super::environment::{Environment, Spec, Start, Summary};
use crate::error::{Error, Result};
use crate::event::{Event, Watch};
use crate::parallel::{self, News};

/// One episode that is wanted.
#[derive(Clone, Debug)]
pub struct Task {
    /// It steers [`Nothing`](super::Steers::Nothing): its policy runs as it is.
    pub spec: Arc<Spec>,
    /// Of a family, from 1.
    pub draw: Option<u32>,
    /// Of the run.
    pub seed: u64,
}

/// Runs every episode on all cores, or on `jobs`: summaries in the order of the tasks; none where `cancel`
/// was set before.
///
/// # Errors
/// The first one of an episode.
pub fn score(
    tasks: &[Task],
    jobs: Option<NonZeroUsize>,
    watch: Watch<'_>,
    cancel: &Cancel,
) -> Result<Vec<Option<Summary>>> {
    watch(Event::Begin { runs: tasks.len(), takes: None });
    let work = |task: &Task, _: &dyn Fn(())| play(task, cancel);
    let done = parallel::run(tasks, parallel::cores(jobs), cancel, work, |_, news| {
        if matches!(news, News::Done(_)) {
            watch(Event::Step);
        }
    });
    let mut all = vec![None; tasks.len()];
    for (index, outcome) in done {
        let doing = || format!("episode {}", index + 1);
        all[index] = outcome.map_err(|why| Error::Episode { doing: doing(), why })??;
    }
    Ok(all)
}

/// One episode without an agent; none if it was cancelled.
fn play(task: &Task, cancel: &Cancel) -> Result<Option<Summary>> {
    let mut environment = Environment::new(Arc::clone(&task.spec));
    let mut seen = vec![0.0; task.spec.observation_len()];
    environment.reset(Start::Exact { draw: task.draw, seed: task.seed }, &mut seen)?;
    while !environment.is_over() {
        if cancel.is_set() {
            return Ok(None);
        }
        environment.step(&[], &mut seen)?;
    }
    Ok(environment.summary().cloned())
}
