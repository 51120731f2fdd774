//! Compares policies on a scenario.

use std::borrow::Cow;
use std::num::NonZeroUsize;
use std::path::PathBuf;
#[cfg(feature = "packet")]
use std::sync::Arc;
use std::time::Duration;

use joulepath_control::Setup;
use joulepath_control::limit::{limits, mean_limits, missing, telling};
use joulepath_controllers::Capability;
use joulepath_model::cancel::Cancel;
use joulepath_model::policy::Policy;
use joulepath_model::result::{
    Background, Comparison, Manifest, Provenance, Reference, RunResult, ScenarioRef,
};
use joulepath_model::scenario::{self, LinkIndex, Scenario, Workload};
#[cfg(feature = "packet")]
use joulepath_packet::{Trace, TraceLimits};
use joulepath_report::{PolicyRuns, estimate, leave_out_of_reach, summarise_on, tcp_share};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::batch::{Batch, Loaded, Outcome, Row, Wanted, by_seed, failures, is_complete, runs};
use crate::engine::{Engine, EngineName, RunError};
use crate::error::{Error, Kind, Result};
use crate::event::{Event, FailedRun, Watch};
use crate::parallel::cores;
use crate::policies;
use crate::seeds::seeds;
use crate::source::{Overrides, Source};
use crate::stored::{Finished, StoredRuns};

/// Number of seeds with time series. The series of a run take up to 130 kB until the study is done,
/// and the quantiles of a hundred runs are accurate enough.
const MOST_SERIES: usize = 100;

/// A comparison as users ask for it. The fields are the options of the command, with their help,
/// the arguments in Python, and what the browser sends.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[cfg_attr(feature = "clap", derive(clap::Args))]
#[serde(default, deny_unknown_fields)]
pub struct Request {
    /// Change one key of the scenario: a dotted key and its value. May be repeated.
    #[cfg_attr(feature = "clap", arg(long, value_name = "KEY=VALUE"))]
    #[cfg_attr(feature = "clap", arg(value_parser = crate::commands::key_value))]
    pub set: Vec<(String, String)>,
    /// Use this variant of the scenario (`joulepath list scenarios` names them).
    #[cfg_attr(feature = "clap", arg(long, value_name = "NAME"))]
    pub variant: Option<String>,
    /// Compare every variant of the scenario.
    #[cfg_attr(feature = "clap", arg(long, conflicts_with = "variant"))]
    pub all_variants: bool,
    /// Policies, separated by commas; those of the scenario if absent.
    #[cfg_attr(feature = "clap", arg(short, long, value_name = "LIST"))]
    pub policies: Option<String>,
    /// Compare with this policy, in place of the first: it becomes the first.
    #[cfg_attr(feature = "clap", arg(long, value_name = "POLICY"))]
    pub against: Option<String>,
    /// Number of seeds; the scenario's if absent, with the kernel engine at most 3.
    #[cfg_attr(feature = "clap", arg(short = 'n', long, value_name = "N"))]
    #[cfg_attr(feature = "clap", arg(value_parser = crate::seeds::parser()))]
    pub seeds: Option<u32>,
    /// The first seed.
    #[cfg_attr(feature = "clap", arg(long, value_name = "K", default_value_t = 1))]
    pub seed: u64,
    /// Simulated time, as in the scenario file: the same as --set duration=….
    #[cfg_attr(feature = "clap", arg(long, value_name = "TIME"))]
    pub duration: Option<String>,
    /// What runs the scenario.
    #[cfg_attr(feature = "clap", arg(long, value_parser = crate::engine::parser(), default_value = "packet"))]
    pub engine: EngineName,
    /// Store finished runs in this file, and run none of them again.
    #[cfg_attr(
        feature = "clap",
        arg(long, value_name = "FILE", conflicts_with = "cc")
    )]
    pub runs: Option<PathBuf>,
    /// Number of cores; all if absent. The results do not depend on it. The kernel engine does one
    /// run at a time.
    #[cfg_attr(feature = "clap", arg(short, long, value_name = "N"))]
    pub jobs: Option<NonZeroUsize>,
    /// Record time series.
    #[cfg_attr(feature = "clap", arg(skip))]
    pub series: bool,
    /// Policies after the scenario's; ignored if `policies` is given.
    #[cfg_attr(feature = "clap", arg(skip))]
    #[serde(skip)]
    pub also: Vec<Policy>,
}

impl Default for Request {
    fn default() -> Self {
        Request {
            set: vec![],
            variant: None,
            all_variants: false,
            policies: None,
            against: None,
            seeds: None,
            seed: 1,
            duration: None,
            engine: EngineName::Packet,
            runs: None,
            jobs: None,
            series: false,
            also: vec![],
        }
    }
}

impl Request {
    /// The keys to set.
    pub fn overrides(&self) -> Overrides {
        let duration = self
            .duration
            .iter()
            .map(|text| ("duration".to_owned(), json!(text).to_string()));
        duration.chain(self.set.iter().cloned()).collect()
    }
}

/// A comparison, loaded and checked.
pub struct Plan {
    engine: Box<dyn Engine>,
    cases: Vec<Case>,
    jobs: Option<NonZeroUsize>,
    series: bool,
}

/// A scenario, or one variant of it.
pub struct Case {
    variant: Option<String>,
    loaded: Loaded,
    setups: Vec<Setup>,
    reference: ScenarioRef,
    seeds: Vec<u64>,
    manifest: Manifest,
    notes: Vec<String>,
    question: Option<String>,
    /// The scenario with a light random background, if its shares rest on phase.
    background: Option<Scenario>,
}

/// Result of a case.
#[derive(Clone, Debug, Serialize)]
pub struct Compared {
    /// Comparison of the completed runs.
    pub comparison: Comparison,
    /// Failed runs with their reasons, by seed, then by policy.
    pub failures: Vec<FailedRun>,
}

/// Runs every case of a plan. Reports failed runs and leaves them out.
///
/// A cancellation starts no further case. The case in progress keeps its finished runs and is
/// marked as partial.
pub fn compare(
    plan: &Plan,
    mut stored: Option<&mut StoredRuns>,
    watch: Watch<'_>,
    cancel: &Cancel,
) -> Vec<Compared> {
    let mut done = vec![];
    let note = stored.as_deref().and_then(StoredRuns::note);
    note.into_iter().for_each(|note| watch(Event::Note(note)));
    for case in plan.cases() {
        if cancel.is_set() {
            break;
        }
        done.push(plan.run(case, stored.as_deref_mut(), watch, cancel));
    }
    done
}

impl Plan {
    /// Loads and checks every case of `request` on the scenario of `source`.
    ///
    /// # Errors
    /// If a variant, key, policy or seed does not exist or does not fit, or the engine cannot run a
    /// case.
    pub fn of(
        source: &Source,
        request: &Request,
        engine: Box<dyn Engine>,
        by: &Provenance,
    ) -> Result<Self> {
        let policies = request
            .policies
            .as_deref()
            .map(policies::parse)
            .transpose()?;
        let variants: Vec<Option<String>> = match request.all_variants {
            false => vec![request.variant.clone()],
            true => source
                .variants()?
                .into_iter()
                .map(|variant| Some(variant.name))
                .collect(),
        };
        if variants.is_empty() {
            return Err(Error::usage(format!("`{}` has no variants", source.name()))
                .with_help("leave --all-variants out"));
        }
        let asked = policies.as_deref();
        let case = |variant| Case::of(source, request, asked, &*engine, variant, by);
        let cases = variants.into_iter().map(case).collect::<Result<_>>()?;
        Ok(Plan {
            engine,
            cases,
            jobs: request.jobs,
            series: request.series,
        })
    }

    /// The cases, in the order of the variants.
    pub fn cases(&self) -> &[Case] {
        &self.cases
    }

    /// Does the runs of a case that `stored` lacks, and stores each as it finishes.
    pub fn run(
        &self,
        case: &Case,
        stored: Option<&mut StoredRuns>,
        watch: Watch<'_>,
        cancel: &Cancel,
    ) -> Compared {
        let batch = Batch {
            jobs: self.jobs,
            cancel,
        };
        let rows = case.rows(&*self.engine, self.series);
        let table = batch.table(&rows, stored, &mut *watch);
        let failures = failures(&rows, &table);
        let mut comparison = case.comparison(&*self.engine, cores(self.jobs), table);
        if let Some(scenario) = &case.background {
            watch(Event::Note(case.repeats()));
            let mut again = case.rows(&*self.engine, false);
            again.iter_mut().for_each(|row| row.run.scenario = scenario);
            let table = batch.table(&again, None, &mut |_| ());
            case.add_background(&mut comparison, table);
        }
        Compared {
            comparison,
            failures,
        }
    }

    /// Does the run number `index` of a case in this thread, for programs that divide the runs
    /// themselves. The order is that of [`Case::runs`]; `None` if there is no such run.
    pub fn one(
        &self,
        case: &Case,
        index: usize,
        cancel: &Cancel,
    ) -> Option<Result<RunResult, RunError>> {
        let runs = by_seed(&case.rows(&*self.engine, self.series));
        let (
            _,
            Wanted {
                scenario,
                setup,
                task,
                ..
            },
        ) = runs.get(index)?;
        Some(
            self.engine
                .run(scenario, setup, task, NonZeroUsize::MIN, cancel),
        )
    }

    /// The comparison of runs from [`Plan::one`], in the order of [`Case::runs`]. Missing runs make
    /// it partial.
    ///
    /// # Errors
    /// If a run is of another policy or seed.
    pub fn gathered(&self, case: &Case, runs: Vec<Option<RunResult>>) -> Result<Comparison> {
        let expected = case.runs();
        let is_foreign = |(at, run): (usize, &Option<RunResult>)| {
            let own = expected.get(at).map(|&(policy, seed)| (policy, seed));
            run.as_ref()
                .is_some_and(|run| own != Some((run.policy.as_str(), run.seed)))
        };
        if runs.iter().enumerate().any(is_foreign) {
            return Err(Error::usage("the runs are not those of this comparison"));
        }
        let finished = |run: RunResult| Finished {
            run,
            took: Duration::ZERO,
        };
        let outcome = |run: Option<RunResult>| {
            run.map_or(Outcome::Missing, |run| {
                Outcome::Run(Box::new(finished(run)))
            })
        };
        let mut table = vec![vec![]; case.setups.len()];
        let missing = std::iter::repeat_n(None, expected.len().saturating_sub(runs.len()));
        for (index, run) in runs.into_iter().chain(missing).enumerate() {
            table[index % case.setups.len()].push(outcome(run));
        }
        Ok(case.comparison(&*self.engine, NonZeroUsize::MIN, table))
    }
}

/// The comparison for a link to the playground, with the changes of `set` in its text.
fn question(
    source: &Source,
    scenario: &Scenario,
    set: &Overrides,
    setups: &[Setup],
    seeds: usize,
) -> Option<String> {
    let text = if set.is_empty() {
        source.quotable()?.to_owned()
    } else {
        scenario::show(scenario)
    };
    let is_whole = source.is_shipped() || !text.contains("trace = ") && !text.contains("\"file:");
    let original = source.is_shipped().then(|| source.name());
    let policies: Vec<&str> = setups.iter().map(Setup::policy).collect();
    let link = json!({
        "name": source.name(),
        "original": original,
        "toml": text,
        "policies": policies.join(","),
        "seeds": seeds,
    });
    is_whole.then(|| link.to_string())
}

impl Case {
    fn of(
        source: &Source,
        request: &Request,
        asked: Option<&[Policy]>,
        engine: &dyn Engine,
        variant: Option<String>,
        by: &Provenance,
    ) -> Result<Self> {
        let set = source.overrides(variant.as_deref(), &request.overrides())?;
        let mut loaded = Loaded::of(source, String::new(), set)?;
        let scenario = &loaded.scenario;
        let (named, left_out) = match asked {
            Some(_) => (vec![], vec![]),
            None => policies::runnable(scenario, &[engine])?,
        };
        let asked = asked.unwrap_or(&request.also);
        let mut asked = policies::prepare(asked, scenario, Kind::Usage)?;
        let against = request
            .against
            .as_deref()
            .map(policies::parse)
            .transpose()?;
        let against = against.unwrap_or_default();
        asked.extend(policies::prepare(&against, scenario, Kind::Usage)?);
        // Named policies are checked already.
        if !asked.is_empty() {
            engine.check(scenario, &asked)?;
        }
        let mut setups = policies::prepare(&named, scenario, Kind::Failed)?;
        setups.extend(asked);
        let others = setups.len() - against.len();
        let firsts = setups.split_off(others);
        setups.retain(|setup| firsts.iter().all(|first| first.policy() != setup.policy()));
        setups.splice(0..0, firsts);
        let seeds = match engine.draws() {
            true => {
                let unasked = scenario.compare.seeds.min(engine.most_seeds());
                seeds(request.seed, request.seeds.unwrap_or(unasked))?
            }
            false => vec![request.seed],
        };
        let manifest = Manifest {
            scenario_sha256: loaded.sha256.clone(),
            version: by.version.clone(),
            commit: by.commit.clone(),
            seeds: seeds.clone(),
            command: by.command.clone(),
        };
        let reference = reference(source, variant.as_deref(), scenario);
        let mut notes = engine.notes(scenario, &setups);
        notes.extend(left_out);
        notes.extend(scenario.energy_notes());
        // A page has no controllers of the user, and its link no traces.
        let question = request
            .also
            .is_empty()
            .then(|| question(source, scenario, &loaded.overrides, &setups, seeds.len()));
        let question = question.flatten();
        let part = scenario.compare.background;
        let background = engine
            .keeps_phase()
            .then(|| scenario.with_background(part))
            .flatten();
        loaded.name.clone_from(&reference.title);
        Ok(Case {
            variant,
            loaded,
            setups,
            reference,
            seeds,
            manifest,
            notes,
            question,
            background,
        })
    }

    /// The comparison as a link to the playground holds it, as JSON; `None` if the playground
    /// cannot do it.
    pub fn question(&self) -> Option<&str> {
        self.question.as_deref()
    }

    /// The scenario of the case.
    pub fn scenario(&self) -> &Scenario {
        &self.loaded.scenario
    }

    /// The first policy, as the user wrote it, with which the others are compared.
    pub fn first_policy(&self) -> &str {
        self.setups.first().map_or("", Setup::policy)
    }

    /// Name of its variant.
    pub fn variant(&self) -> Option<&str> {
        self.variant.as_deref()
    }

    /// Policy and seed of every run, in the order of work: all policies with the first seed, then
    /// all with the next.
    pub fn runs(&self) -> Vec<(&str, u64)> {
        let of_seed = |&seed: &u64| self.setups.iter().map(move |setup| (setup.policy(), seed));
        self.seeds.iter().flat_map(of_seed).collect()
    }

    /// The packets of run `index`, in the order of [`Case::runs`], on the packet engine; none
    /// without such a run.
    #[cfg(feature = "packet")]
    pub fn trace(
        &self,
        index: usize,
        limits: &TraceLimits,
        cancel: &Cancel,
    ) -> Option<std::result::Result<Trace, RunError>> {
        let setup = &self.setups[index % self.setups.len().max(1)..].first()?;
        let seed = *self.seeds.get(index / self.setups.len())?;
        let traced = joulepath_packet::trace(
            Arc::new(self.loaded.scenario.clone()),
            setup,
            seed,
            limits,
            cancel,
        );
        Some(traced.map_err(|error| {
            match error {
                joulepath_packet::RunError::Cancelled => RunError::Cancelled,
                joulepath_packet::RunError::NotOne { .. } => RunError::Failed(
                    "packets are recorded for one connection on the scenario's own paths; this scenario has \
                 more, or a [topology]"
                        .to_owned(),
                ),
                error => RunError::Failed(error.to_string()),
            }
        }))
    }

    /// A row for each policy. At most the first [`MOST_SERIES`] seeds record series.
    fn rows<'a>(&'a self, engine: &'a dyn Engine, series: bool) -> Vec<Row<'a>> {
        let row = |setup| {
            let mut row = self.loaded.row(engine, setup, &self.seeds);
            row.series = if series { MOST_SERIES } else { 0 };
            row
        };
        self.setups.iter().map(row).collect()
    }

    /// What the program does after the runs of the table.
    fn repeats(&self) -> String {
        let part = self.loaded.scenario.compare.background;
        format!(
            "shares may rest on phase: the runs are repeated with {part} of random cross traffic"
        )
    }

    /// Adds the shares of the runs with a random background. Without a run of each policy there are
    /// none.
    fn add_background(&self, comparison: &mut Comparison, table: Vec<Vec<Outcome>>) {
        let runs: Vec<Vec<RunResult>> = table.into_iter().map(runs).collect();
        if runs.iter().any(Vec::is_empty) || runs.len() != comparison.rows.len() {
            return;
        }
        for (row, runs) in comparison.rows.iter_mut().zip(runs) {
            row.tcp_share_background = tcp_share(self.reference.rivals, &runs);
            let competitors: Vec<f64> = runs.iter().map(|run| run.competitors_bps).collect();
            row.competitors_background_bps = estimate(&competitors);
        }
        let name = |link: LinkIndex| self.loaded.scenario.links[link].name.clone();
        comparison.background = Some(Background {
            links: self
                .loaded
                .scenario
                .phase_links()
                .into_iter()
                .map(name)
                .collect(),
            part: self.loaded.scenario.compare.background.get(),
        });
    }

    fn comparison(
        &self,
        engine: &dyn Engine,
        threads: NonZeroUsize,
        table: Vec<Vec<Outcome>>,
    ) -> Comparison {
        let partial = !is_complete(&table);
        let (mut limits, without_bound) =
            telling(limits_of(&self.loaded.scenario, &self.seeds, engine));
        let of_policy = |(setup, outcomes): (&Setup, Vec<Outcome>)| PolicyRuns {
            policy: setup.policy().to_owned(),
            label: setup.label().to_owned(),
            parts: setup.parts().to_string(),
            // A controller that owns its window is coupled only within a detected group.
            uncoupled: [Capability::Uncoupled, Capability::OwnsWindow]
                .into_iter()
                .any(|capability| setup.controller().has(capability)),
            runs: runs(outcomes),
        };
        let policies = self.setups.iter().zip(table).map(of_policy).collect();
        let mut rows = summarise_on(threads, &self.reference, &limits, policies);
        let out_of_reach = leave_out_of_reach(&mut limits, &mut rows);
        Comparison {
            rows,
            scenario: self.reference.clone(),
            engine: engine.name().to_owned(),
            // At most MAX_SEEDS.
            seeds: self.seeds.len() as u32,
            manifest: self.manifest.clone(),
            references: limits,
            background: None,
            notes: self
                .notes
                .iter()
                .cloned()
                .chain(without_bound)
                .chain(missing(&self.loaded.scenario))
                .chain(out_of_reach)
                .collect(),
            partial,
        }
    }
}

fn reference(source: &Source, variant: Option<&str>, scenario: &Scenario) -> ScenarioRef {
    let (mut title, mut file) = (scenario.title.clone(), source.name().to_owned());
    if let Some(variant) = variant {
        title = format!("{title} · {variant}");
        file = format!("{file}#{variant}");
    }
    ScenarioRef {
        title,
        file,
        source: scenario.source.clone(),
        duration_s: scenario.duration.as_secs_f64(),
        paths: scenario
            .paths
            .iter()
            .map(|path| path.name.clone())
            .collect(),
        workload: workload(scenario).to_owned(),
        rivals: scenario.rivals(),
    }
}

fn workload(scenario: &Scenario) -> &'static str {
    let name = |workload: &Workload| match workload {
        Workload::Bulk => "bulk",
        Workload::File { .. } => "file",
        Workload::Messages { .. } => "messages",
        Workload::Stream { .. } => "stream",
        Workload::Requests { .. } => "requests",
    };
    let mut names = scenario
        .connections
        .iter()
        .map(|group| name(&group.workload));
    let first = names.next().unwrap_or("mixed");
    if names.all(|other| other == first) {
        first
    } else {
        "mixed"
    }
}

/// The limits of the scenario; with random rates or signals, the mean over those of these seeds.
pub fn limits_of(scenario: &Scenario, seeds: &[u64], engine: &dyn Engine) -> Vec<Reference> {
    let met = |&seed: &u64| joulepath_link::realised(scenario, seed);
    let met: Option<Vec<Scenario>> = seeds.iter().map(met).collect();
    match met.filter(|_| engine.draws()) {
        Some(met) => mean_limits(&met),
        None => limits(&of_first(scenario, seeds)),
    }
}

/// The scenario of the only run of an engine that draws signals, but no rates.
pub(crate) fn of_first<'a>(scenario: &'a Scenario, seeds: &[u64]) -> Cow<'a, Scenario> {
    seeds
        .first()
        .map_or(Cow::Borrowed(scenario), |&seed| scenario.drawn(seed))
}

#[cfg(all(test, feature = "packet"))]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::engine::{EngineOptions, open};

    /// Two TCPs' worth of subflows whose RTT is 1.2 ms longer than the rival's.
    #[test]
    fn shares_that_rest_on_phase_are_shown_with_a_random_background() {
        let text = "title = \"phase\"\nduration = \"60 s\"\nwarm_up = \"10 s\"\n[[link]]\nname = \"core\"\n\
                    rate = \"20 Mbit/s\"\ndelay = \"29 ms\"\n[[path]]\nname = \"a\"\ndelay = \"0.6 ms\"\n\
                    via = [\"core\"]\nenergy = \"free\"\n[[path]]\nname = \"b\"\ndelay = \"0.6 ms\"\n\
                    via = [\"core\"]\nenergy = \"free\"\n[[competitor]]\nname = \"tcp\"\nvia = [\"core\"]\n\
                    [compare]\npolicies = [\"uncoupled\"]\nseeds = 2\n";
        let compared = |set: &[(&str, &str)]| {
            let source = Source::given("phase", text.to_owned(), BTreeMap::new(), None);
            let set = set
                .iter()
                .map(|&(key, value)| (key.to_owned(), value.to_owned()))
                .collect();
            let request = Request {
                set,
                ..Request::default()
            };
            let engine = open(EngineName::Packet, &EngineOptions::default()).unwrap();
            let plan = Plan::of(&source, &request, engine, &Provenance::default()).unwrap();
            compare(&plan, None, &mut |_| (), &Cancel::default())
                .remove(0)
                .comparison
        };
        let comparison = compared(&[]);
        let background = comparison.background.as_ref().unwrap();
        assert_eq!(
            (background.links.as_slice(), background.part),
            (&["core.down".to_owned()][..], 0.05)
        );
        let row = &comparison.rows[0];
        let (without, with) = (
            row.tcp_share.unwrap().mean,
            row.tcp_share_background.unwrap().mean,
        );
        assert!(without > 1.2 * with, "{without} against {with}");
        assert!(joulepath_report::table(&comparison, 200, false).contains("TCPs rest on phase"));
        for set in [("compare.background", "0 %"), ("link.core.loss", "0.1 %")] {
            assert_eq!(compared(&[set]).background, None, "{set:?}");
        }
    }

    /// The limits hold for the walk of each seed, also in an engine that draws signals but no
    /// rates.
    #[test]
    fn the_limits_of_a_walk_are_those_of_its_seeds() {
        let text = "title = \"walk\"\nduration = \"20 s\"\n[[path]]\nname = \"sa\"\nrate = \"30 Mbit/s\"\n\
                    delay = \"10 ms\"\nenergy = \"5g-sa-2021\"\nsignal = { distance_m = 50, speed_mps = 1, \
                    at_1m = \"-20 dBm\", sigma_db = 6.0, correlation_m = 1.0 }";
        let scenario = scenario::load(text, &|_| Err(String::new())).unwrap();
        let engine = |name| open(name, &EngineOptions::default()).unwrap();
        let of = |name, seeds: &[u64]| limits_of(&scenario, seeds, &*engine(name));
        let walked = [1, 2].map(|seed| limits(&scenario.drawn(seed)));
        assert_ne!(walked[0], walked[1]);
        assert_eq!([1, 2].map(|seed| of(EngineName::Packet, &[seed])), walked);
        #[cfg(feature = "fluid")]
        assert_eq!([1, 2].map(|seed| of(EngineName::Fluid, &[seed])), walked);
        let of_both = of(EngineName::Packet, &[1, 2])[1].bits_per_joule;
        let mean = (walked[0][1].bits_per_joule + walked[1][1].bits_per_joule) / 2.0;
        assert!(
            (of_both / mean - 1.0).abs() < 1e-12,
            "{of_both} is not {mean}"
        );
    }

    /// Case of the shipped scenario `quick` with two policies.
    fn plan(seeds: u32, first_seed: u64) -> Result<Plan> {
        let request = Request {
            policies: Some("mptcp,olia".to_owned()),
            seeds: Some(seeds),
            seed: first_seed,
            ..Request::default()
        };
        let engine = open(EngineName::Packet, &EngineOptions::default()).unwrap();
        Plan::of(
            &Source::named("quick").unwrap(),
            &request,
            engine,
            &Provenance::default(),
        )
    }

    fn tasks(seeds: u32, series: bool) -> Vec<(String, u64, bool)> {
        let plan = plan(seeds, 7).unwrap();
        let task = |(_, run): (usize, Wanted<'_>)| {
            (
                run.setup.policy().to_owned(),
                run.task.seed,
                run.task.series,
            )
        };
        let rows = plan.cases()[0].rows(&*plan.engine, series);
        by_seed(&rows).into_iter().map(task).collect()
    }

    #[test]
    fn every_policy_gets_the_same_seeds_and_the_first_hundred_record_series() {
        let task = |policy: &str, seed, series| (policy.to_owned(), seed, series);
        assert_eq!(
            tasks(2, true),
            [
                task("mptcp", 7, true),
                task("olia", 7, true),
                task("mptcp", 8, true),
                task("olia", 8, true)
            ]
        );
        let last = [
            task("olia", 106, true),
            task("mptcp", 107, false),
            task("olia", 107, false),
        ];
        assert_eq!(tasks(101, true)[199..], last);
        assert!(tasks(101, false).iter().all(|(.., series)| !series));
    }

    /// A scenario serves all engines. A policy that the user names runs or is refused.
    #[cfg(feature = "fluid")]
    #[test]
    fn policies_that_an_engine_cannot_run_are_left_out_with_a_note() {
        let plan = |set: &str, asked: Option<&str>| {
            let request = Request {
                policies: asked.map(str::to_owned),
                set: vec![("compare.policies".to_owned(), set.to_owned())],
                ..Request::default()
            };
            let engine = open(EngineName::Fluid, &EngineOptions::default()).unwrap();
            Plan::of(
                &Source::named("quick").unwrap(),
                &request,
                engine,
                &Provenance::default(),
            )
        };
        let some = plan("[\"mptcp\", \"joule\"]", None).unwrap();
        let case = &some.cases()[0];
        assert_eq!((case.setups.len(), case.first_policy()), (1, "mptcp"));
        assert!(
            case.notes
                .iter()
                .any(|note| note.starts_with("Left out: `joule` uses")),
            "{:?}",
            case.notes
        );
        let refused = |plan: Result<Plan>| plan.err().map(|error| error.to_string()).unwrap();
        assert!(refused(plan("[\"joule\"]", None)).contains("fluid engine"));
        assert!(refused(plan("[\"mptcp\"]", Some("mptcp,joule"))).contains("fluid engine"));
    }

    #[test]
    fn runs_done_one_by_one_make_the_same_comparison() {
        let plan = plan(2, 7).unwrap();
        let case = &plan.cases()[0];
        assert_eq!(
            case.runs(),
            [("mptcp", 7), ("olia", 7), ("mptcp", 8), ("olia", 8)]
        );
        let cancel = Cancel::new();
        let one = |index| plan.one(case, index, &cancel).map(|run| run.unwrap());
        let runs: Vec<Option<RunResult>> = (0..4).map(one).collect();
        assert!(one(4).is_none());
        let whole = compare(&plan, None, &mut crate::event::unwatched, &cancel)
            .remove(0)
            .comparison;
        assert_eq!(plan.gathered(case, runs.clone()).unwrap(), whole);
        assert!(plan.gathered(case, runs[..3].to_vec()).unwrap().partial);
        let swapped = runs.into_iter().rev().collect();
        assert!(plan.gathered(case, swapped).is_err());
    }

    #[test]
    fn seeds_that_do_not_fit_are_refused() {
        let refused = |seeds, first| {
            plan(seeds, first)
                .err()
                .map(|error| error.to_string())
                .unwrap()
        };
        assert!(refused(2, u64::MAX).contains("exceed 2^64"));
        assert!(refused(0, 1).contains("there is no seed"));
    }
}
