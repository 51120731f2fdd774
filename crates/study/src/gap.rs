//! How far simulator and kernel are apart, on the same scenarios under the same policies.

use std::num::NonZeroUsize;

use joulepath_control::Setup;
use joulepath_model::cancel::Cancel;
use joulepath_model::policy::Policy;
use joulepath_model::result::RunResult;
use joulepath_model::scenario::Scenario;
use joulepath_model::units::Nanos;
use joulepath_report::gap::{Case, Gap};

use crate::batch::{Batch, Outcome, Wanted};
use crate::engine::{Engine, Task};
use crate::error::{Kind, Result};
use crate::event::Watch;
use crate::policies;
use crate::seeds::seeds;
use crate::shipped;
use crate::source::{Overrides, Source};
use crate::stored::StoredRuns;

/// Scenarios of this folder are compared if none is named.
const FOLDER: &str = "fidelity/";
/// What [`Request::quick`] leaves of them.
const QUICK_SCENARIOS: [&str; 3] = ["fidelity/twins", "fidelity/loss", "fidelity/file"];
const QUICK_POLICIES: usize = 2;

/// What is compared, and how.
#[derive(Clone, Debug)]
pub struct Request {
    /// Scenario files, or names of shipped scenarios; without any, the shipped ones that are made for it.
    pub scenarios: Vec<String>,
    /// The policies; those of each scenario if none.
    pub policies: Option<Vec<Policy>>,
    /// Seeds, the same for both engines.
    pub seeds: u32,
    /// The first seed.
    pub first_seed: u64,
    /// How late the emulated links may be, if that was said: runs that were allowed to be late are stored
    /// apart.
    pub max_lateness: Option<Nanos>,
    /// Three scenarios under two policies, unless others are named.
    pub quick: bool,
    /// Simulated runs at a time; as many as there are cores if none. Runs of the kernel are done one at a
    /// time.
    pub jobs: Option<NonZeroUsize>,
}

/// What is ready to run.
pub struct Plan {
    scenarios: Vec<Planned>,
    seeds: Vec<u64>,
    jobs: Option<NonZeroUsize>,
    max_lateness: Option<Nanos>,
}

/// One scenario and what runs on it.
struct Planned {
    name: String,
    sha256: String,
    scenario: Scenario,
    /// What the kernel's runs are stored under besides the scenario.
    allowed: Overrides,
    policies: Vec<Policy>,
    kernel: Vec<Setup>,
    /// The same policies with the kernel's scheduler.
    packet: Vec<Setup>,
}

/// What came out.
pub struct Measured {
    /// The differences of all cases that both engines have run.
    pub gap: Gap,
    /// Whether some runs are missing.
    pub partial: bool,
}

impl Plan {
    /// Loads and checks everything.
    ///
    /// # Errors
    /// If a scenario or policy does not exist or does not fit, or `kernel` cannot run it here.
    pub fn of(request: &Request, kernel: &dyn Engine) -> Result<Self> {
        let sources = sources(request)?;
        let scenarios = sources.iter().map(|source| Planned::of(source, request, kernel));
        Ok(Plan {
            scenarios: scenarios.collect::<Result<_>>()?,
            seeds: seeds(request.first_seed, request.seeds)?,
            jobs: request.jobs,
            max_lateness: request.max_lateness,
        })
    }
}

/// What is named, a file before a shipped scenario; if nothing is, shipped ones whatever files there are.
fn sources(request: &Request) -> Result<Vec<Source>> {
    match request.scenarios.as_slice() {
        [] if request.quick => QUICK_SCENARIOS.iter().map(|name| Source::named(name)).collect(),
        [] => {
            let all = shipped::SCENARIOS.iter().filter(|(name, _)| name.starts_with(FOLDER));
            Ok(all.map(|&shipped| Source::shipped(shipped)).collect())
        }
        named => named.iter().map(|name| Source::open(name)).collect(),
    }
}

impl Planned {
    fn of(source: &Source, request: &Request, kernel: &dyn Engine) -> Result<Self> {
        let scenario = source.load(&[])?;
        let asked = request.policies.as_deref();
        let all = asked.unwrap_or(&scenario.compare.policies);
        let most = if request.quick && asked.is_none() { QUICK_POLICIES } else { all.len() };
        let policies = all[..most.min(all.len())].to_vec();
        let as_asked = policies::prepare(&policies, &scenario, Kind::Usage)?;
        kernel.check(&scenario, &as_asked)?;
        let simulated: Vec<Policy> = policies.iter().map(with_mainline).collect();
        let packet = policies::prepare(&simulated, &scenario, Kind::Usage)?;
        let file = source.name().rsplit('/').next().unwrap_or(source.name());
        let allowed = request.max_lateness.map(|bound| ("--max-lateness".to_owned(), bound.to_string()));
        Ok(Planned {
            name: file.trim_end_matches(".toml").to_owned(),
            sha256: source.sha256(&scenario),
            allowed: allowed.into_iter().collect(),
            scenario,
            policies,
            kernel: as_asked,
            packet,
        })
    }

    /// The runs of one policy.
    fn wanted<'a>(&'a self, setup: &'a Setup, seeds: &'a [u64]) -> impl Iterator<Item = Wanted<'a>> {
        seeds.iter().map(move |&seed| Wanted {
            name: &self.name,
            scenario: &self.scenario,
            setup,
            task: Task { seed, series: false },
            identity: (&self.sha256, &self.allowed),
        })
    }
}

/// The same policy with the only scheduler that the kernel has.
fn with_mainline(policy: &Policy) -> Policy {
    let mut policy = policy.clone();
    if policy.overrides.iter().all(|(key, _)| key != "scheduler") {
        policy.overrides.push(("scheduler".to_owned(), "mainline".to_owned()));
    }
    policy
}

/// Runs both engines; runs of the kernel that `stored` has are not done again. A run that fails is told, and
/// left out.
pub fn gap(
    plan: &Plan,
    packet: &dyn Engine,
    kernel: &dyn Engine,
    stored: Option<&mut StoredRuns>,
    watch: Watch<'_>,
    cancel: &Cancel,
) -> Measured {
    let wanted = |setups: fn(&Planned) -> &[Setup]| -> Vec<Wanted<'_>> {
        let of_scenario =
            |planned| setups(planned).iter().flat_map(|setup| Planned::wanted(planned, setup, &plan.seeds));
        plan.scenarios.iter().flat_map(of_scenario).collect()
    };
    let simulated = Batch { engine: packet, jobs: plan.jobs, cancel };
    let simulated = simulated.run(&wanted(|planned| &planned.packet), None, watch);
    let real = Batch { engine: kernel, jobs: plan.jobs, cancel };
    let real = real.run(&wanted(|planned| &planned.kernel), stored, watch);
    let partial = real.iter().any(|outcome| !matches!(outcome, Outcome::Run(_))) || cancel.is_set();
    let mut pairs = simulated.chunks(plan.seeds.len()).zip(real.chunks(plan.seeds.len()));
    let mut cases = vec![];
    for planned in &plan.scenarios {
        for (policy, (packet, kernel)) in planned.policies.iter().zip(pairs.by_ref()) {
            let policy = policy.to_string();
            cases.extend(Case::of(&planned.name, &policy, &runs(packet), &runs(kernel)));
        }
    }
    let gap = Gap::of(release(), cases, plan.seeds.len() as u32, plan.max_lateness);
    Measured { gap, partial }
}

fn runs(outcomes: &[Outcome]) -> Vec<RunResult> {
    outcomes.iter().cloned().filter_map(Outcome::run).collect()
}

/// Release of the running kernel; empty where it is not known.
fn release() -> String {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    release.trim().to_owned()
}
