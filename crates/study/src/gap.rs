//! Measures the difference between simulator and kernel on the same scenarios with the same
//! policies.

mod suite;

use std::ffi::OsString;
use std::num::NonZeroUsize;

use joulepath_control::Setup;
use joulepath_control::limit::most_bps;
use joulepath_model::cancel::Cancel;
use joulepath_model::network::LinkSpec;
use joulepath_model::policy::Policy;
use joulepath_model::scenario::Scenario;
use joulepath_model::units::Nanos;
use joulepath_report::gap::{Case, Gap};

use crate::batch::{Batch, Loaded, Row, is_complete, runs};
use crate::engine::Engine;
use crate::error::{Kind, Result};
use crate::event::Watch;
use crate::policies;
use crate::seeds::seeds;
use crate::stored::StoredRuns;
use suite::Entry;

/// Number of policies of [`Request::quick`].
const QUICK_POLICIES: usize = 2;
/// Factor on the seeds for links with random loss, where runs differ more.
const SEEDS_IF_LOSSY: u32 = 4;
/// Default number of concurrent kernel runs.
const KERNEL_JOBS: NonZeroUsize = NonZeroUsize::MIN;

/// Work and options of the measurement.
#[derive(Clone, Debug)]
pub struct Request {
    /// Scenario files or names of shipped scenarios; default: the shipped suite.
    pub scenarios: Vec<OsString>,
    /// The policies; default: those of each scenario.
    pub policies: Option<Vec<Policy>>,
    /// Seeds, the same for both engines; four times as many for links with random loss.
    pub seeds: u32,
    /// The first seed.
    pub first_seed: u64,
    /// Maximum lateness of the emulated links, if the user sets it. Such runs are stored
    /// separately.
    pub max_lateness: Option<Nanos>,
    /// Three scenarios with two policies, unless the request names others.
    pub quick: bool,
    /// Concurrent simulated runs; default: the number of cores.
    pub jobs: Option<NonZeroUsize>,
    /// Concurrent kernel runs, default one; limited by the engine.
    pub kernel_jobs: Option<NonZeroUsize>,
}

/// A checked measurement, ready to run.
pub struct Plan {
    scenarios: Vec<Planned>,
    seeds: u32,
    jobs: Option<NonZeroUsize>,
    kernel_jobs: NonZeroUsize,
    max_lateness: Option<Nanos>,
}

/// A scenario with its runs.
struct Planned {
    loaded: Loaded,
    seeds: Vec<u64>,
    /// Throughput that links and application allow, bit/s, where it serves as a measure.
    most_bps: Option<f64>,
    policies: Vec<Policy>,
    kernel: Vec<Setup>,
    /// The same policies with the kernel's scheduler.
    packet: Vec<Setup>,
}

/// Result of the measurement.
pub struct Measured {
    /// Differences of all cases that both engines ran.
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
        let entries = entries(request)?;
        let scenarios = entries
            .iter()
            .map(|entry| Planned::of(entry, request, kernel));
        Ok(Plan {
            scenarios: scenarios.collect::<Result<_>>()?,
            seeds: request.seeds,
            jobs: request.jobs,
            kernel_jobs: request.kernel_jobs.unwrap_or(KERNEL_JOBS),
            max_lateness: request.max_lateness,
        })
    }
}

/// The requested scenarios; default: the suite.
fn entries(request: &Request) -> Result<Vec<Entry>> {
    match request.scenarios.as_slice() {
        [] => suite::all(request.quick),
        named => {
            let entries: Result<Vec<Vec<Entry>>> = named.iter().map(suite::named).collect();
            Ok(entries?.into_iter().flatten().collect())
        }
    }
}

impl Planned {
    fn of(entry: &Entry, request: &Request, kernel: &dyn Engine) -> Result<Self> {
        let mut loaded = Loaded::of(&entry.source, entry.name.clone(), entry.set.clone())?;
        let scenario = &loaded.scenario;
        let own = match entry.policies {
            Some(policies) => policies::parse(&policies.join(","))?,
            None => scenario.compare.policies.clone(),
        };
        let asked = request.policies.as_deref();
        let all = asked.unwrap_or(&own);
        let most = if request.quick && asked.is_none() {
            QUICK_POLICIES
        } else {
            all.len()
        };
        let policies = all[..most.min(all.len())].to_vec();
        let as_asked = policies::prepare(&policies, scenario, Kind::Usage)?;
        kernel.check(scenario, &as_asked)?;
        let simulated: Vec<Policy> = policies.iter().map(with_mainline).collect();
        let packet = policies::prepare(&simulated, scenario, Kind::Usage)?;
        let factor = if loses_at_random(scenario) {
            SEEDS_IF_LOSSY
        } else {
            1
        };
        let most_bps = most_bps(scenario);
        // Runs with another bound are other runs.
        let bound = request.max_lateness.map(|bound| bound.to_string());
        let bound = bound.map(|bound| ("--max-lateness".to_owned(), bound));
        loaded.overrides.extend(bound);
        Ok(Planned {
            loaded,
            seeds: seeds(request.first_seed, request.seeds.saturating_mul(factor))?,
            most_bps,
            policies,
            kernel: as_asked,
            packet,
        })
    }

    /// Runs of each policy.
    fn rows<'a>(&'a self, engine: &'a dyn Engine, setups: &'a [Setup]) -> Vec<Row<'a>> {
        let row = |setup| self.loaded.row(engine, setup, &self.seeds);
        setups.iter().map(row).collect()
    }
}

/// Whether a link loses packets by chance, not only in a full queue.
fn loses_at_random(scenario: &Scenario) -> bool {
    scenario.links.iter().any(LinkSpec::draws_fates)
}

/// The policy with the kernel's only scheduler.
fn with_mainline(policy: &Policy) -> Policy {
    let mut policy = policy.clone();
    if policy.overrides.iter().all(|(key, _)| key != "scheduler") {
        policy
            .overrides
            .push(("scheduler".to_owned(), "mainline".to_owned()));
    }
    policy
}

/// Runs both engines; reuses stored kernel runs. Reports failed runs and leaves them out.
pub fn gap(
    plan: &Plan,
    packet: &dyn Engine,
    kernel: &dyn Engine,
    stored: Option<&mut StoredRuns>,
    watch: Watch<'_>,
    cancel: &Cancel,
) -> Measured {
    let planned = || plan.scenarios.iter();
    let batch = |jobs| Batch { jobs, cancel };
    let rows: Vec<Row<'_>> = planned()
        .flat_map(|one| one.rows(packet, &one.packet))
        .collect();
    let simulated = batch(plan.jobs).table(&rows, None, watch);
    let rows: Vec<Row<'_>> = planned()
        .flat_map(|one| one.rows(kernel, &one.kernel))
        .collect();
    let real = batch(Some(plan.kernel_jobs)).table(&rows, stored, watch);
    let partial = !is_complete(&real) || cancel.is_set();
    let policies = planned().flat_map(|one| one.policies.iter().map(move |policy| (one, policy)));
    let of_policy = |((planned, policy), (packet, kernel)): ((&Planned, &Policy), _)| {
        let (name, policy) = (&planned.loaded.name, policy.to_string());
        Case::of(
            name,
            &policy,
            &runs(packet),
            &runs(kernel),
            planned.most_bps,
        )
    };
    let both = simulated.into_iter().zip(real);
    let cases = policies.zip(both).filter_map(of_policy).collect();
    let gap = Gap::of(release(), cases, plan.seeds, plan.max_lateness);
    Measured { gap, partial }
}

/// Release of the running kernel; empty if unknown.
pub(crate) fn release() -> String {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    release.trim().to_owned()
}
