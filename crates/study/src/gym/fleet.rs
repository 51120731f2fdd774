//! Steps many environments on all cores.
//!
//! Each thread keeps its own environments and steps them in order; the calling thread has the first
//! part. A step costs two messages for each thread, and results do not depend on the number of
//! threads.
//!
//! An environment whose episode ended starts the next one at the following step, which ignores its
//! action and has reward 0 (`NEXT_STEP` of gymnasium).

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{self, JoinHandle};

use super::environment::{Environment, Past, Spec, Start, Step, Summary};
use crate::error::{Error, Result};
use crate::parallel::cores;

/// Result of a step of all environments, in their order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    /// Observations, environment after environment.
    pub seen: Vec<f32>,
    /// Rewards and ends of episodes.
    pub steps: Vec<Step>,
    /// Index and summary of episodes that ended in this step.
    pub ended: Vec<(usize, Summary)>,
    /// History of each environment, on request.
    pub pasts: Vec<Past>,
}

/// Environments of a thread.
struct Crew {
    environments: Vec<Environment>,
    seen_len: usize,
    action_len: usize,
}

/// Requests to a thread.
enum Order {
    /// Start of each environment; `None` leaves it unchanged.
    Reset(Vec<Option<Start>>),
    Step(Vec<f32>),
    Restore(Vec<Past>),
    /// Return the history of each environment.
    Tell,
}

struct Worker {
    orders: Option<Sender<Order>>,
    outcomes: Receiver<Result<Outcome>>,
    thread: Option<JoinHandle<()>>,
    count: usize,
}

/// Environments of one kind that step together.
pub struct Fleet {
    crew: Crew,
    workers: Vec<Worker>,
    spec: Arc<Spec>,
}

impl Crew {
    fn new(spec: &Arc<Spec>, count: usize) -> Self {
        Crew {
            environments: (0..count)
                .map(|_| Environment::new(Arc::clone(spec)))
                .collect(),
            seen_len: spec.observation_len(),
            action_len: spec.action_len(),
        }
    }

    fn obey(&mut self, order: Order) -> Result<Outcome> {
        match order {
            Order::Reset(starts) => self.reset(&starts),
            Order::Step(actions) => self.step(&actions),
            Order::Restore(pasts) => {
                self.environments
                    .iter_mut()
                    .zip(&pasts)
                    .try_for_each(|(one, past)| one.restore(past))?;
                Ok(self.blank())
            }
            Order::Tell => {
                let pasts = self.environments.iter().map(Environment::past).collect();
                Ok(Outcome {
                    pasts,
                    ..self.blank()
                })
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
            if let Some(summary) = environment
                .summary()
                .filter(|_| step.terminated || step.truncated)
            {
                outcome.ended.push((i, summary.clone()));
            }
        }
        Ok(outcome)
    }

    fn blank(&self) -> Outcome {
        let count = self.environments.len();
        let (seen, steps) = (
            vec![0.0; count * self.seen_len],
            vec![Step::default(); count],
        );
        Outcome {
            seen,
            steps,
            ..Outcome::default()
        }
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
        Worker {
            orders: Some(orders),
            outcomes,
            thread: Some(thread),
            count,
        }
    }

    fn ask(&self, order: Order) {
        // If the thread has ended, receiving its outcome reports that.
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
            // The thread ends when there are no more orders; its panics are reported already.
            let _ = thread.join();
        }
    }
}

impl Fleet {
    /// Creates `count` environments on `jobs` threads; default: the number of cores.
    ///
    /// # Errors
    /// If `count` is 0.
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

    /// Settings that the environments share.
    pub fn spec(&self) -> &Spec {
        &self.spec
    }

    /// Number of environments.
    pub fn count(&self) -> usize {
        self.crew.environments.len()
            + self
                .workers
                .iter()
                .map(|worker| worker.count)
                .sum::<usize>()
    }

    /// Starts the requested episodes. `None` leaves an environment unchanged, with 0 as its
    /// observation.
    ///
    /// # Errors
    /// The first error of [`Environment::reset`].
    pub fn reset(&mut self, starts: Vec<Option<Start>>) -> Result<Outcome> {
        if starts.len() != self.count() {
            return Err(Error::usage(format!(
                "{} seeds for {} environments",
                starts.len(),
                self.count()
            )));
        }
        self.all(|from, count| Order::Reset(starts[from..from + count].to_vec()))
    }

    /// Steps all environments with their concatenated actions.
    ///
    /// # Errors
    /// The first error of [`Environment::step`].
    pub fn step(&mut self, actions: &[f32]) -> Result<Outcome> {
        let len = self.spec.action_len();
        if actions.len() != len * self.count() {
            let (got, wanted) = (actions.len(), len * self.count());
            return Err(Error::usage(format!(
                "actions of {got} numbers instead of {wanted}"
            )));
        }
        self.all(|from, count| Order::Step(actions[from * len..(from + count) * len].to_vec()))
    }

    /// History of each environment.
    ///
    /// # Errors
    /// If a thread has ended.
    pub fn pasts(&mut self) -> Result<Vec<Past>> {
        Ok(self.all(|_, _| Order::Tell)?.pasts)
    }

    /// Restores the state of another fleet of this kind: see [`Environment::restore`].
    ///
    /// # Errors
    /// If the other fleet has a different number of environments; else the first error of an
    /// environment.
    pub fn restore(&mut self, pasts: &[Past]) -> Result<()> {
        if pasts.len() != self.count() {
            return Err(Error::usage(format!(
                "{} pasts for {} environments",
                pasts.len(),
                self.count()
            )));
        }
        self.all(|from, count| Order::Restore(pasts[from..from + count].to_vec()))
            .map(drop)
    }

    /// Sends every part its order, made from its first environment and their number.
    fn all(&mut self, order: impl Fn(usize, usize) -> Order) -> Result<Outcome> {
        let own = self.crew.environments.len();
        let mut from = own;
        for worker in &self.workers {
            worker.ask(order(from, worker.count));
            from += worker.count;
        }
        let first = self.crew.obey(order(0, own));
        // Receive every outcome, so that none is mistaken for the next one.
        let others: Vec<Result<Outcome>> = self.workers.iter().map(Worker::take).collect();
        let mut all = first?;
        let mut from = own;
        for (worker, outcome) in self.workers.iter().zip(others) {
            let Outcome {
                seen,
                steps,
                ended,
                pasts,
            } = outcome?;
            all.pasts.extend(pasts);
            all.seen.extend(seen);
            all.steps.extend(steps);
            all.ended
                .extend(ended.into_iter().map(|(i, summary)| (from + i, summary)));
            from += worker.count;
        }
        Ok(all)
    }
}
