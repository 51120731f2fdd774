//! Many environments on all cores.
//!
//! Each thread keeps its own environments for good, and steps them in their order; the calling thread has
//! the first part. So a step costs two messages a thread, and nothing depends on the number of threads.
//!
//! An environment whose episode has ended begins the next one at the following step: that step takes no
//! action and earns nothing (`NEXT_STEP` of gymnasium).

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{self, JoinHandle};

use super::environment::{Environment, Past, Spec, Start, Step, Summary};
use crate::error::{Error, Result};
use crate::parallel::cores;

/// What a step of all environments yields, in their order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    /// What is seen, environment after environment.
    pub seen: Vec<f32>,
    /// Rewards and ends.
    pub steps: Vec<Step>,
    /// Episodes that have ended in this step: place and summary.
    pub ended: Vec<(usize, Summary)>,
    /// What made each environment what it is, where that was asked for.
    pub pasts: Vec<Past>,
}

/// Environments of one thread.
struct Crew {
    environments: Vec<Environment>,
    seen_len: usize,
    action_len: usize,
}

/// What a thread is asked for.
enum Order {
    /// How each begins; none goes on.
    Reset(Vec<Option<Start>>),
    Step(Vec<f32>),
    Restore(Vec<Past>),
    /// What made each what it is.
    Tell,
}

struct Worker {
    orders: Option<Sender<Order>>,
    outcomes: Receiver<Result<Outcome>>,
    thread: Option<JoinHandle<()>>,
    count: usize,
}

/// Environments of one kind that are stepped together.
pub struct Fleet {
    crew: Crew,
    workers: Vec<Worker>,
    spec: Arc<Spec>,
}

impl Crew {
    fn new(spec: &Arc<Spec>, count: usize) -> Self {
        Crew {
            environments: (0..count).map(|_| Environment::new(Arc::clone(spec))).collect(),
            seen_len: spec.observation_len(),
            action_len: spec.action_len(),
        }
    }

    fn obey(&mut self, order: Order) -> Result<Outcome> {
        match order {
            Order::Reset(starts) => self.reset(&starts),
            Order::Step(actions) => self.step(&actions),
            Order::Restore(pasts) => {
                self.environments.iter_mut().zip(&pasts).try_for_each(|(one, past)| one.restore(past))?;
                Ok(self.blank())
            }
            Order::Tell => {
                let pasts = self.environments.iter().map(Environment::past).collect();
                Ok(Outcome { pasts, ..self.blank() })
            }
        }
    }

    fn reset(&mut self, starts: &[Option<Start>]) -> Result<Outcome> {
        let mut outcome = self.blank();
        let seen = outcome.seen.chunks_exact_mut(self.seen_len);
        for ((environment, start), seen) in self.environments.iter_mut().zip(starts).zip(seen) {
            if let Some(start) = *start {
                environment.reset(start, seen)?;
            }
        }
        Ok(outcome)
    }

    fn step(&mut self, actions: &[f32]) -> Result<Outcome> {
        let mut outcome = self.blank();
        let seen = outcome.seen.chunks_exact_mut(self.seen_len);
        for (i, (environment, seen)) in self.environments.iter_mut().zip(seen).enumerate() {
            if environment.is_over() {
                environment.reset(Start::Next, seen)?;
                continue;
            }
            let action = &actions[i * self.action_len..(i + 1) * self.action_len];
            let step = environment.step(action, seen)?;
            outcome.steps[i] = step;
            if let Some(summary) = environment.summary().filter(|_| step.terminated || step.truncated) {
                outcome.ended.push((i, summary.clone()));
            }
        }
        Ok(outcome)
    }

    fn blank(&self) -> Outcome {
        let count = self.environments.len();
        let (seen, steps) = (vec![0.0; count * self.seen_len], vec![Step::default(); count]);
        Outcome { seen, steps, ..Outcome::default() }
    }
}

impl Worker {
    fn new(spec: &Arc<Spec>, count: usize) -> Self {
        let (orders, inbox) = mpsc::channel();
        let (outbox, outcomes) = mpsc::channel();
        let mut crew = Crew::new(spec, count);
        let thread = thread::spawn(move || {
            for order in inbox {
                if outbox.send(crew.obey(order)).is_err() {
                    return;
                }
            }
        });
        Worker { orders: Some(orders), outcomes, thread: Some(thread), count }
    }

    fn ask(&self, order: Order) {
        // A thread that has ended says so where its outcome is taken.
        let _ = self.orders.as_ref().map(|orders| orders.send(order));
    }

    fn take(&self) -> Result<Outcome> {
        let gone = |_| Error::Episode {
            doing: "a thread of environments".to_owned(),
            why: "it has ended: a defect of Joulepath".to_owned(),
        };
        self.outcomes.recv().map_err(gone)?
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.orders = None;
        if let Some(thread) = self.thread.take() {
            // It ends when there are no more orders; a panic of its has been told.
            let _ = thread.join();
        }
    }
}

impl Fleet {
    /// So many environments, on `jobs` threads; as many as there are cores if none.
    ///
    /// # Errors
    /// If there are none.
    pub fn new(spec: Arc<Spec>, count: usize, jobs: Option<NonZeroUsize>) -> Result<Self> {
        if count == 0 {
            return Err(Error::usage("there are no environments").with_help("ask for at least one"));
        }
        let threads = cores(jobs).get().min(count);
        let part = |t: usize| (t + 1) * count / threads - t * count / threads;
        Ok(Fleet {
            crew: Crew::new(&spec, part(0)),
            workers: (1..threads).map(|t| Worker::new(&spec, part(t))).collect(),
            spec,
        })
    }

    /// What they have in common.
    pub fn spec(&self) -> &Spec {
        &self.spec
    }

    /// Number of environments.
    pub fn count(&self) -> usize {
        self.crew.environments.len() + self.workers.iter().map(|worker| worker.count).sum::<usize>()
    }

    /// Begins episodes: of each environment the one that is asked for; where none is, all stays as it is, and
    /// what is seen is 0.
    ///
    /// # Errors
    /// As [`Environment::reset`]; the first one.
    pub fn reset(&mut self, starts: Vec<Option<Start>>) -> Result<Outcome> {
        if starts.len() != self.count() {
            return Err(Error::usage(format!("{} seeds for {} environments", starts.len(), self.count())));
        }
        self.all(|from, count| Order::Reset(starts[from..from + count].to_vec()))
    }

    /// Steps all environments with their actions, one after the other.
    ///
    /// # Errors
    /// As [`Environment::step`]; the first one.
    pub fn step(&mut self, actions: &[f32]) -> Result<Outcome> {
        let len = self.spec.action_len();
        if actions.len() != len * self.count() {
            let (got, wanted) = (actions.len(), len * self.count());
            return Err(Error::usage(format!("actions of {got} numbers instead of {wanted}")));
        }
        self.all(|from, count| Order::Step(actions[from * len..(from + count) * len].to_vec()))
    }

    /// What made each environment what it is.
    ///
    /// # Errors
    /// If a thread has ended.
    pub fn pasts(&mut self) -> Result<Vec<Past>> {
        Ok(self.all(|_, _| Order::Tell)?.pasts)
    }

    /// Becomes what another fleet of this kind was: see [`Environment::restore`].
    ///
    /// # Errors
    /// As there; the first one. If it had another number of environments.
    pub fn restore(&mut self, pasts: &[Past]) -> Result<()> {
        if pasts.len() != self.count() {
            return Err(Error::usage(format!("{} pasts for {} environments", pasts.len(), self.count())));
        }
        self.all(|from, count| Order::Restore(pasts[from..from + count].to_vec())).map(drop)
    }

    /// Has every part do its order, given its first environment and their number.
    fn all(&mut self, order: impl Fn(usize, usize) -> Order) -> Result<Outcome> {
        let own = self.crew.environments.len();
        let mut from = own;
        for worker in &self.workers {
            worker.ask(order(from, worker.count));
            from += worker.count;
        }
        let first = self.crew.obey(order(0, own));
        // Every outcome is taken, so that the next one is not mistaken for it.
        let others: Vec<Result<Outcome>> = self.workers.iter().map(Worker::take).collect();
        let mut all = first?;
        let mut from = own;
        for (worker, outcome) in self.workers.iter().zip(others) {
            let Outcome { seen, steps, ended, pasts } = outcome?;
            all.pasts.extend(pasts);
            all.seen.extend(seen);
            all.steps.extend(steps);
            all.ended.extend(ended.into_iter().map(|(i, summary)| (from + i, summary)));
            from += worker.count;
        }
        Ok(all)
    }
}
