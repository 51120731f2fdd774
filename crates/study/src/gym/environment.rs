//! Episodes, one after the other.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use joulepath_control::Setup;
use joulepath_model::policy::Policy;
use joulepath_model::random::{Domain, Stream};
use joulepath_model::result::{Limit, RunResult};
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

/// A step of one RTT is no shorter and no longer than this, and this long before the first sample.
const LEAST_STEP: Nanos = Nanos::from_millis(10);
const MOST_STEP: Nanos = Nanos::from_secs(1);
const FIRST_STEP: Nanos = Nanos::from_millis(100);
/// Shortest step that can be asked for.
const SHORTEST: Nanos = Nanos::from_millis(1);
/// Most paths of a connection.
const MOST_PATHS: usize = joulepath_controllers::MAX_SUBFLOWS;

/// What all episodes of an environment have in common.
#[derive(Debug)]
pub struct Spec {
    world: World,
    steers: Steers,
    meaning: Meaning,
    policy: Policy,
    /// One RTT if none.
    interval: Option<Nanos>,
    reward: Reward,
}

impl Spec {
    /// Checks what can be checked without an episode. `policy` has what is not steered: the packet scheduler,
    /// and the controller where paths are steered. `interval` is the length of a step, the longest RTT of an
    /// open path if none.
    ///
    /// # Errors
    /// If something is wrong or does not go together.
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
            return Err(Error::usage(format!("the scenario has {} paths", world.paths()))
                .with_help("a connection has at most 8"));
        }
        let spec = Spec { world, steers, meaning, policy, interval, reward };
        if spec.world.draws().is_none() {
            let place = spec.world.place(None)?;
            spec.setup(&place.scenario)?;
        }
        Ok(spec)
    }

    /// Where episodes happen.
    pub fn world(&self) -> &World {
        &self.world
    }

    /// Numbers in an action.
    pub fn action_len(&self) -> usize {
        if self.steers == Steers::Nothing { 0 } else { self.world.paths() }
    }

    /// Numbers in an observation.
    pub fn observation_len(&self) -> usize {
        self.world.paths() * PATH_FEATURES.len() + CONNECTION_FEATURES.len()
    }

    /// The policy beneath what is steered.
    fn setup(&self, scenario: &Scenario) -> Result<Setup> {
        let setup = Setup::of(&self.policy, scenario)
            .map_err(|error| Error::Setup { error: Box::new(error), kind: Kind::Usage })?;
        let one = std::slice::from_ref(&setup);
        policies::refuse_hosted(one, "the steps of an environment have no place for it")?;
        let chooses = setup.selector().is_some() || setup.only_path().is_some();
        match self.steers {
            Steers::Nothing => Ok(setup),
            _ if chooses => Err(Error::usage(format!("`{}` chooses paths itself", setup.policy()))
                .with_help("take a policy that uses all of them, such as `mptcp`")),
            Steers::Paths => Ok(setup),
            Steers::Rates | Steers::Windows => Ok(setup.commanded()),
        }
    }
}

/// How an episode begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// A new sequence of episodes, and its first one.
    Seed(u64),
    /// The next one of the sequence.
    Next,
    /// This one: the draw of a family, from 1, and the seed that a run of the command line has.
    Exact {
        /// None of one scenario.
        draw: Option<u32>,
        /// Of the run.
        seed: u64,
    },
}

/// What a step yields, besides what is seen.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Step {
    /// J.
    pub reward: f64,
    /// The work is done.
    pub terminated: bool,
    /// The scenario is over, and the work is not done or has no end.
    pub truncated: bool,
}

/// What an episode has come to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Summary {
    /// Of the scenario or the draw.
    pub name: String,
    /// Of a family, from 1.
    pub draw: Option<u32>,
    /// Of the run.
    pub seed: u64,
    /// Simulated time, s.
    pub time_s: f64,
    /// Steps so far.
    pub steps: u64,
    /// Rewards so far, J.
    pub earned_j: f64,
    /// What the device has burnt, J.
    pub energy_j: f64,
    /// What has arrived, bits.
    pub bits: f64,
    /// Whether the work is done.
    pub done: bool,
    /// Best efficiency that the links' rates allow, bit/J; none without a bound.
    pub limit_bits_per_joule: Option<f64>,
}

impl Summary {
    /// bit/J; none before anything was burnt.
    pub fn bits_per_joule(&self) -> Option<f64> {
        (self.energy_j > 0.0).then(|| self.bits / self.energy_j)
    }

    /// The efficiency as a share of the limit.
    pub fn share_of_limit(&self) -> Option<f64> {
        Some(self.bits_per_joule()? / self.limit_bits_per_joule?)
    }
}

/// An episode in progress.
struct Episode {
    session: Session,
    helm: Helm,
    rates: Rates,
    work: Work,
    before: Status,
    now: Status,
    summary: Summary,
}

/// What made an environment what it is: the same again for another process.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Past {
    /// Seed of the sequence of episodes, and how many have begun since.
    sequence: (u64, u64),
    /// Draw and seed of the present episode, if there is one.
    episode: Option<(Option<u32>, u64)>,
    /// Its actions, one after the other.
    actions: Vec<f32>,
}

/// Episodes that an agent steers, one after the other.
pub struct Environment {
    spec: Arc<Spec>,
    /// Draws and seeds of the episodes that are not asked for exactly.
    random: Stream,
    episode: Option<Box<Episode>>,
    past: Past,
}

impl Environment {
    /// Before the first episode. Until it is told a seed, the sequence is that of seed 0.
    pub fn new(spec: Arc<Spec>) -> Self {
        let random = Stream::new(0, Domain::Episodes, 0);
        Environment { spec, random, episode: None, past: Past::default() }
    }

    /// What made it what it is.
    pub fn past(&self) -> Past {
        match self.episode {
            Some(_) => self.past.clone(),
            None => Past { sequence: self.past.sequence, ..Past::default() },
        }
    }

    /// Becomes what another environment of this kind was: its episode is simulated again with the same
    /// actions.
    ///
    /// # Errors
    /// As [`Environment::reset`] and [`Environment::step`].
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

    /// The next draw and seed of the sequence.
    fn drawn(&mut self) -> (Option<u32>, u64) {
        let draw = self.spec.world.draws().map(|draws| 1 + self.random.below(draws.into()) as u32);
        // The seed has 32 bits: it can be written on a command line without a slip.
        (draw, self.random.bits() >> 32)
    }

    /// Begins an episode and writes what is seen.
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
        self.past = Past { sequence: self.past.sequence, episode: Some((draw, seed)), actions: vec![] };
        let mut episode = Box::new(Episode::new(&self.spec, draw, seed)?);
        episode.see();
        episode.before.clone_from(&episode.now);
        episode.show(seen);
        self.episode = Some(episode);
        Ok(())
    }

    /// Lets the agent act, and the episode go on for one step; writes what is seen then.
    ///
    /// # Errors
    /// Without an episode, after its end, or if the action does not fit; a defect of the engine is told with
    /// the simulated time and the seed.
    pub fn step(&mut self, action: &[f32], seen: &mut [f32]) -> Result<Step> {
        let wanted = self.spec.action_len();
        if action.len() != wanted {
            return Err(Error::usage(format!("an action of {} numbers instead of {wanted}", action.len())));
        }
        let going = self.episode.as_mut().filter(|episode| !episode.now.over);
        let episode = going.ok_or_else(|| {
            Error::usage("there is no episode to step").with_help("call `reset` first, and after each end")
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
                // What a panic leaves behind is not looked at again; a wrong action leaves all as it was.
                if matches!(error, Error::Episode { .. }) {
                    self.episode = None;
                }
                Err(error)
            }
        }
    }

    /// Whether the present episode is over, or there is none.
    pub fn is_over(&self) -> bool {
        self.episode.as_ref().is_none_or(|episode| episode.now.over)
    }

    /// What the present episode has come to.
    pub fn summary(&self) -> Option<&Summary> {
        self.episode.as_ref().map(|episode| &episode.summary)
    }

    /// What the run of the present episode yields, as `compare` would tell it; the episode is gone then. What
    /// is left of it is simulated without further actions.
    ///
    /// # Errors
    /// Without an episode.
    pub fn result(&mut self) -> Result<RunResult> {
        let none = || Error::usage("there is no episode").with_help("call `reset` first");
        let episode = self.episode.take().ok_or_else(none)?;
        let name = episode.summary.name.clone();
        episode.session.finish().map_err(|error| Error::Episode { doing: name, why: error.to_string() })
    }
}

impl Episode {
    fn new(spec: &Spec, draw: Option<u32>, seed: u64) -> Result<Self> {
        let place = spec.world.place(draw)?;
        let setup = spec.setup(&place.scenario)?;
        let limit: Option<Limit> = spec.world.limit(&place, seed);
        let rates = spec.reward.rates(limit.as_ref(), &place.name)?;
        let session = Session::new(Arc::clone(&place.scenario), &setup, seed, RunOptions::default());
        let session = session.map_err(|error| {
            Error::usage(format!("`{}` is no place for an agent: {error}", place.name))
                .with_help("name a scenario with one connection over paths of its own")
        })?;
        let bytes = place.scenario.connections.first().and_then(|group| match group.workload {
            Workload::File { size } => Some(size.0),
            _ => None,
        });
        Ok(Episode {
            session,
            helm: Helm::new(spec.steers, spec.meaning, place.scenario.paths.len()),
            rates,
            work: Work { bytes, deadline: spec.reward.deadline },
            before: Status::default(),
            now: Status::default(),
            summary: Summary {
                name: place.name,
                draw,
                seed,
                limit_bits_per_joule: limit.map(|limit| limit.bits_per_joule),
                ..Summary::default()
            },
        })
    }

    /// Looks at the run.
    fn see(&mut self) {
        std::mem::swap(&mut self.before, &mut self.now);
        self.session.status(&mut self.now);
    }

    fn show(&self, seen: &mut [f32]) {
        observe(seen, &self.before, &self.now, &self.work);
    }

    fn step(&mut self, action: &[f32], interval: Option<Nanos>) -> Result<Step> {
        let told = self.helm.steer(&mut self.session, action);
        told.map_err(|(what, help)| Error::usage(format!("{}: {what}", self.place())).with_help(help))?;
        let length = interval.unwrap_or_else(|| {
            let rtt = self.session.longest_rtt();
            rtt.map_or(FIRST_STEP, |rtt| rtt.clamp(LEAST_STEP, MOST_STEP))
        });
        let until = self.session.now() + length;
        self.session.advance(until).map_err(|error| self.failed(&error.to_string()))?;
        self.see();
        let reward = self.rates.of(&self.before, &self.now, self.work.bytes);
        let (now, summary) = (&self.now, &mut self.summary);
        summary.time_s = now.now.as_secs_f64();
        summary.steps += 1;
        summary.earned_j += reward;
        summary.energy_j = now.energy_j;
        summary.bits = now.delivered_bytes as f64 * 8.0;
        summary.done = now.done;
        Ok(Step { reward, terminated: now.done, truncated: now.over && !now.done })
    }

    /// An error of the engine.
    fn failed(&self, why: &str) -> Error {
        Error::Episode { doing: self.place(), why: why.to_owned() }
    }

    /// Where and when this is, for messages.
    fn place(&self) -> String {
        let Summary { name, seed, .. } = &self.summary;
        format!("`{name}`, seed {seed}, at {} s", self.session.now().as_secs_f64())
    }
}
