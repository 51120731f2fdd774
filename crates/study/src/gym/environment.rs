//! Environments: sequences of episodes.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use joulepath_control::Setup;
use joulepath_model::policy::Policy;
use joulepath_model::random::{Domain, Stream};
use joulepath_model::result::{Reference, RunResult};
use joulepath_model::scenario::{Scenario, Workload};
use joulepath_model::units::Nanos;
use joulepath_packet::{RunOptions, Session, Status};
use serde::{Deserialize, Serialize};

use super::action::{Helm, Meaning, Steers};
use super::observation::{CONNECTION_FEATURES, PATH_FEATURES, Work, observe};
use super::reward::{Rates, Reward};
use super::world::World;
use crate::error::{Error, Kind, Result};
use crate::policies;

/// Bounds on a step of one RTT, and its length before the first RTT sample.
const LEAST_STEP: Nanos = Nanos::from_millis(10);
const MOST_STEP: Nanos = Nanos::from_secs(1);
const FIRST_STEP: Nanos = Nanos::from_millis(100);
/// Minimum length of a step.
const SHORTEST: Nanos = Nanos::from_millis(1);
/// Maximum number of paths of a connection.
const MOST_PATHS: usize = joulepath_controllers::MAX_SUBFLOWS;

/// Settings that all episodes of an environment share.
#[derive(Debug)]
pub struct Spec {
    world: World,
    steers: Steers,
    meaning: Meaning,
    policy: Policy,
    /// Length of a step; `None`: one RTT.
    interval: Option<Nanos>,
    reward: Reward,
}

impl Spec {
    /// Checks the settings as far as possible without an episode. `policy` supplies the parts that
    /// the agent does not steer: the packet scheduler, and the controller if the agent steers
    /// paths. `interval` is the length of a step; `None`: the longest RTT of the open paths.
    ///
    /// # Errors
    /// If a setting is wrong, or settings contradict each other.
    pub fn of(
        world: World,
        steers: Steers,
        meaning: Meaning,
        policy: Policy,
        interval: Option<Nanos>,
        reward: Reward,
    ) -> Result<Self> {
        reward.check()?;
        if let Some(interval) = interval.filter(|&interval| interval < SHORTEST) {
            return Err(Error::usage(format!("steps of {interval}"))
                .with_help("a step lasts 1 ms at least; interval=None makes it an RTT"));
        }
        if world.paths() > MOST_PATHS {
            return Err(
                Error::usage(format!("the scenario has {} paths", world.paths()))
                    .with_help("a connection has at most 8"),
            );
        }
        let spec = Spec {
            world,
            steers,
            meaning,
            policy,
            interval,
            reward,
        };
        if spec.world.draws().is_none() {
            let place = spec.world.place(None)?;
            spec.setup(&place.scenario)?;
        }
        Ok(spec)
    }

    /// Scenarios of the episodes.
    pub fn world(&self) -> &World {
        &self.world
    }

    /// Length of an action.
    pub fn action_len(&self) -> usize {
        if self.steers == Steers::Nothing {
            0
        } else {
            self.world.paths()
        }
    }

    /// Length of an observation.
    pub fn observation_len(&self) -> usize {
        self.world.paths() * PATH_FEATURES.len() + CONNECTION_FEATURES.len()
    }

    /// The policy beneath the agent.
    fn setup(&self, scenario: &Scenario) -> Result<Setup> {
        let setup = Setup::of(&self.policy, scenario).map_err(|error| Error::Setup {
            error: Box::new(error),
            kind: Kind::Usage,
        })?;
        let one = std::slice::from_ref(&setup);
        policies::refuse_hosted(one, "the steps of an environment have no place for it")?;
        let chooses = setup.selector().is_some() || setup.only_path().is_some();
        match self.steers {
            Steers::Nothing => Ok(setup),
            _ if chooses => Err(
                Error::usage(format!("`{}` chooses paths itself", setup.policy()))
                    .with_help("take a policy that uses all of them, such as `mptcp`"),
            ),
            Steers::Paths => Ok(setup),
            Steers::Rates | Steers::Windows => Ok(setup.commanded()),
        }
    }
}

/// Choice of an episode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// The first episode of a new sequence.
    Seed(u64),
    /// The next episode of the sequence.
    Next,
    /// This episode: the draw of a family, from 1, and the seed as on the command line.
    Exact {
        /// `None` for a single scenario.
        draw: Option<u32>,
        /// Seed of the run.
        seed: u64,
    },
}

/// Result of a step, besides the observation.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Step {
    /// J.
    pub reward: f64,
    /// Whether the work is complete.
    pub terminated: bool,
    /// Whether the scenario ended before the work was complete.
    pub truncated: bool,
}

/// Totals of an episode.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Summary {
    /// Name of the scenario or the draw.
    pub name: String,
    /// Draw of a family, from 1.
    pub draw: Option<u32>,
    /// Seed of the run.
    pub seed: u64,
    /// Simulated time, s.
    pub time_s: f64,
    /// Steps so far.
    pub steps: u64,
    /// Sum of the rewards, J.
    pub earned_j: f64,
    /// Energy of the device, J.
    pub energy_j: f64,
    /// Delivered data, bits.
    pub bits: f64,
    /// Whether the work is complete.
    pub done: bool,
    /// Highest efficiency that the links' rates allow, bit/J; `None` without a bound.
    pub link_bound_bits_per_joule: Option<f64>,
}

impl Summary {
    /// bit/J; `None` before any energy is used.
    pub fn bits_per_joule(&self) -> Option<f64> {
        (self.energy_j > 0.0).then(|| self.bits / self.energy_j)
    }

    /// Efficiency as a fraction of the limit.
    pub fn link_bound_share(&self) -> Option<f64> {
        Some(self.bits_per_joule()? / self.link_bound_bits_per_joule?)
    }
}

struct Episode {
    session: Session,
    helm: Helm,
    rates: Rates,
    work: Work,
    before: Status,
    now: Status,
    summary: Summary,
}

/// History of an environment, from which another process can restore it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Past {
    /// Seed of the sequence, and the number of episodes started since.
    sequence: (u64, u64),
    /// Draw and seed of the current episode, if there is one.
    episode: Option<(Option<u32>, u64)>,
    /// Its actions in order.
    actions: Vec<f32>,
}

/// A sequence of episodes that an agent steers.
pub struct Environment {
    spec: Arc<Spec>,
    /// Draws and seeds of episodes without [`Start::Exact`].
    random: Stream,
    episode: Option<Box<Episode>>,
    past: Past,
}

impl Environment {
    /// Environment before its first episode. Its sequence has seed 0 until a reset sets another
    /// one.
    pub fn new(spec: Arc<Spec>) -> Self {
        let random = Stream::new(0, Domain::Episodes, 0);
        Environment {
            spec,
            random,
            episode: None,
            past: Past::default(),
        }
    }

    /// History of the environment.
    pub fn past(&self) -> Past {
        match self.episode {
            Some(_) => self.past.clone(),
            None => Past {
                sequence: self.past.sequence,
                ..Past::default()
            },
        }
    }

    /// Restores the state of another environment of this kind: simulates its episode again with the
    /// same actions. Fails like [`Environment::reset`] and [`Environment::step`].
    ///
    /// # Errors
    /// If the episode cannot be simulated.
    pub fn restore(&mut self, past: &Past) -> Result<()> {
        let (seed, begun) = past.sequence;
        self.random = Stream::new(seed, Domain::Episodes, 0);
        for _ in 0..begun {
            self.drawn();
        }
        let mut seen = vec![0.0; self.spec.observation_len()];
        self.episode = None;
        if let Some((draw, seed)) = past.episode {
            self.reset(Start::Exact { draw, seed }, &mut seen)?;
        }
        for action in past.actions.chunks_exact(self.spec.action_len().max(1)) {
            self.step(action, &mut seen)?;
        }
        self.past = past.clone();
        Ok(())
    }

    /// Next draw and seed of the sequence.
    fn drawn(&mut self) -> (Option<u32>, u64) {
        let draw = self
            .spec
            .world
            .draws()
            .map(|draws| 1 + self.random.below(draws.into()) as u32);
        // 32 bits, so that people can type the seed on a command line.
        (draw, self.random.bits() >> 32)
    }

    /// Starts an episode and writes the first observation.
    ///
    /// # Errors
    /// If a draw or a policy does not fit, or the engine cannot run the scenario.
    pub fn reset(&mut self, start: Start, seen: &mut [f32]) -> Result<()> {
        self.episode = None;
        if let Start::Seed(seed) = start {
            self.random = Stream::new(seed, Domain::Episodes, 0);
            self.past.sequence = (seed, 0);
        }
        let (draw, seed) = match start {
            Start::Exact { draw, seed } => (draw, seed),
            Start::Seed(_) | Start::Next => {
                self.past.sequence.1 += 1;
                self.drawn()
            }
        };
        self.past = Past {
            sequence: self.past.sequence,
            episode: Some((draw, seed)),
            actions: vec![],
        };
        let mut episode = Box::new(Episode::new(&self.spec, draw, seed)?);
        episode.see();
        episode.before.clone_from(&episode.now);
        episode.show(seen);
        self.episode = Some(episode);
        Ok(())
    }

    /// Applies the action, simulates one step and writes the observation.
    ///
    /// # Errors
    /// Without an episode, after its end, or if the action does not fit. A defect of the engine is
    /// reported with the simulated time and the seed.
    pub fn step(&mut self, action: &[f32], seen: &mut [f32]) -> Result<Step> {
        let wanted = self.spec.action_len();
        if action.len() != wanted {
            return Err(Error::usage(format!(
                "an action of {} numbers instead of {wanted}",
                action.len()
            )));
        }
        let going = self.episode.as_mut().filter(|episode| !episode.now.over);
        let episode = going.ok_or_else(|| {
            Error::usage("there is no episode to step")
                .with_help("call `reset` first, and after each end")
        })?;
        let interval = self.spec.interval;
        let stepped = catch_unwind(AssertUnwindSafe(|| episode.step(action, interval)));
        let outcome = match stepped {
            Ok(outcome) => outcome,
            Err(panic) => Err(episode.failed(&crate::parallel::said(&*panic))),
        };
        match outcome {
            Ok(step) => {
                episode.show(seen);
                self.past.actions.extend_from_slice(action);
                Ok(step)
            }
            Err(error) => {
                // The state after a panic is discarded; a wrong action changes nothing.
                if matches!(error, Error::Episode { .. }) {
                    self.episode = None;
                }
                Err(error)
            }
        }
    }

    /// Whether the current episode has ended or there is none.
    pub fn is_over(&self) -> bool {
        self.episode.as_ref().is_none_or(|episode| episode.now.over)
    }

    /// Totals of the current episode.
    pub fn summary(&self) -> Option<&Summary> {
        self.episode.as_ref().map(|episode| &episode.summary)
    }

    /// Result of the current episode's run, as `compare` reports it. Simulates the rest without
    /// further actions and ends the episode.
    ///
    /// # Errors
    /// Without an episode.
    pub fn result(&mut self) -> Result<RunResult> {
        let none = || Error::usage("there is no episode").with_help("call `reset` first");
        let episode = self.episode.take().ok_or_else(none)?;
        let name = episode.summary.name.clone();
        episode.session.finish().map_err(|error| Error::Episode {
            doing: name,
            why: error.to_string(),
        })
    }
}

impl Episode {
    fn new(spec: &Spec, draw: Option<u32>, seed: u64) -> Result<Self> {
        let place = spec.world.place(draw)?;
        let setup = spec.setup(&place.scenario)?;
        let limit: Option<Reference> = spec.world.limit(&place, seed);
        let rates = spec.reward.rates(limit.as_ref(), &place.name)?;
        let session = Session::new(
            Arc::clone(&place.scenario),
            &setup,
            seed,
            RunOptions::default(),
        );
        let session = session.map_err(|error| {
            Error::usage(format!("`{}` does not suit an agent: {error}", place.name))
                .with_help("name a scenario with one connection over separate paths")
        })?;
        let bytes = place
            .scenario
            .connections
            .first()
            .and_then(|group| match group.workload {
                Workload::File { size } => Some(size.0),
                _ => None,
            });
        Ok(Episode {
            session,
            helm: Helm::new(spec.steers, spec.meaning, place.scenario.paths.len()),
            rates,
            work: Work {
                bytes,
                deadline: spec.reward.deadline,
            },
            before: Status::default(),
            now: Status::default(),
            summary: Summary {
                name: place.name,
                draw,
                seed,
                link_bound_bits_per_joule: limit.map(|limit| limit.bits_per_joule),
                ..Summary::default()
            },
        })
    }

    /// Updates the status.
    fn see(&mut self) {
        std::mem::swap(&mut self.before, &mut self.now);
        self.session.status(&mut self.now);
    }

    fn show(&self, seen: &mut [f32]) {
        observe(seen, &self.before, &self.now, &self.work);
    }

    fn step(&mut self, action: &[f32], interval: Option<Nanos>) -> Result<Step> {
        let told = self.helm.steer(&mut self.session, action);
        told.map_err(|(what, help)| {
            Error::usage(format!("{}: {what}", self.place())).with_help(help)
        })?;
        let length = interval.unwrap_or_else(|| {
            let rtt = self.session.longest_rtt();
            rtt.map_or(FIRST_STEP, |rtt| rtt.clamp(LEAST_STEP, MOST_STEP))
        });
        let until = self.session.now() + length;
        self.session
            .advance(until)
            .map_err(|error| self.failed(&error.to_string()))?;
        self.see();
        let reward = self.rates.of(&self.before, &self.now, self.work.bytes);
        let (now, summary) = (&self.now, &mut self.summary);
        summary.time_s = now.now.as_secs_f64();
        summary.steps += 1;
        summary.earned_j += reward;
        summary.energy_j = now.energy_j;
        summary.bits = now.delivered_bytes as f64 * 8.0;
        summary.done = now.done;
        Ok(Step {
            reward,
            terminated: now.done,
            truncated: now.over && !now.done,
        })
    }

    /// An error of the engine.
    fn failed(&self, why: &str) -> Error {
        Error::Episode {
            doing: self.place(),
            why: why.to_owned(),
        }
    }

    /// Scenario, seed and time, for messages.
    fn place(&self) -> String {
        let Summary { name, seed, .. } = &self.summary;
        format!(
            "`{name}`, seed {seed}, at {} s",
            self.session.now().as_secs_f64()
        )
    }
}
