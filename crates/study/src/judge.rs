//! Measures what the daemon's choice of paths costs: runs the daemon on the emulated radios of a
//! scenario, and the alternatives.
//!
//! ```text
//!   NAME.toml ────────► emulated radios, kernel ──┬── policies of the scenario: all paths, one, selectors
//!   daemon/NAME.toml ─► configuration ──► daemon ─┤
//!                        endpoints that stay ─────┘
//! ```

mod engine;
mod management;

use std::path::{Path, PathBuf};

use joulepath_control::Setup;
use joulepath_model::cancel::Cancel;
use joulepath_model::live::LiveConfig;
use joulepath_model::policy::Policy;
use joulepath_model::scenario::{Scenario, Workload, read_live};
use joulepath_report::LINK_BOUND;
use joulepath_report::live::{Case, Chooser, Contender, Judged, Work};

use self::engine::Managed;
use self::management::{Daemon, FixedEndpoints, Means};
use crate::batch::{Batch, Loaded, Row, is_complete, runs};
use crate::compare::limits_of;
use crate::engine::{Engine, EngineName, EngineOptions, open};
use crate::error::{Error, Kind, Result};
use crate::event::Watch;
use crate::files::By;
use crate::policies;
use crate::seeds::seeds;
use crate::shipped;
use crate::source::{Overrides, Source, Text, not_shown};
use crate::stored::StoredRuns;

/// Folder of the shipped scenarios for this measurement.
const FOLDER: &str = "live/";
/// Folder next to scenarios with the daemon's configuration for each of them.
const DAEMON: &str = "daemon";
/// All paths from the start, with the kernel's own congestion control and scheduler.
const PLAIN: &str = "linux";
/// The endpoints that NetworkManager and mptcpd set by default: one `subflow` endpoint for each
/// address.
const SUBFLOWS: &str = "all endpoints, kernel's limits";

/// Work and options of the measurement.
#[derive(Clone, Debug)]
pub struct Request {
    /// Scenario files, each with a configuration of the same name in the folder `daemon` next to
    /// it, or names of shipped scenarios; default: all shipped ones.
    pub scenarios: Vec<String>,
    /// Seeds of each contender.
    pub seeds: u32,
    /// The first seed.
    pub first_seed: u64,
    /// Options of the runs.
    pub engine: EngineOptions,
    /// Program whose `live --config FILE` is the daemon.
    pub program: PathBuf,
    /// Folder for the daemons' output; `None`: it is not kept.
    pub logs: Option<PathBuf>,
}

/// A checked measurement, ready to run.
pub struct Plan {
    cases: Vec<Planned>,
    seeds: u32,
    kernel: Box<dyn Engine>,
}

/// A scenario with its contenders.
struct Planned {
    loaded: Loaded,
    config: LiveConfig,
    seeds: Vec<u64>,
    /// The policies, the plain one first.
    policies: Vec<Setup>,
    endpoints: Managed,
    daemon: Managed,
    /// Part of the store's key of the daemon's runs besides the scenario.
    told: Overrides,
}

/// Result of the measurement.
pub struct Done {
    /// The cases.
    pub judged: Judged,
    /// Whether some runs are missing.
    pub partial: bool,
}

impl Plan {
    /// Loads and checks everything.
    ///
    /// # Errors
    /// If a scenario or its configuration does not exist or does not fit, or the kernel cannot run
    /// it here.
    pub fn of(request: &Request) -> Result<Self> {
        let kernel = open(EngineName::Kernel, &request.engine)?;
        let all: Vec<String> = match request.scenarios.as_slice() {
            [] => {
                let names = shipped::SCENARIOS
                    .iter()
                    .map(|(name, _)| (*name).to_owned());
                names.filter(|name| name.starts_with(FOLDER)).collect()
            }
            named => named.to_vec(),
        };
        let cases = all
            .iter()
            .map(|name| Planned::of(name, request, &*kernel))
            .collect::<Result<_>>()?;
        Ok(Plan {
            cases,
            seeds: request.seeds,
            kernel,
        })
    }
}

impl Planned {
    fn of(argument: &str, request: &Request, kernel: &dyn Engine) -> Result<Self> {
        let source = Source::open(argument)?;
        let loaded = Loaded::of(&source, source.name().to_owned(), vec![])?;
        let scenario = &loaded.scenario;
        let config = config(&source, argument, scenario)?;
        let plain: Policy = PLAIN.parse()?;
        let others = scenario
            .compare
            .policies
            .iter()
            .filter(|policy| **policy != plain)
            .cloned();
        let policies: Vec<Policy> = [plain.clone()].into_iter().chain(others).collect();
        let policies = policies::prepare(&policies, scenario, Kind::Failed)?;
        kernel.check(scenario, &policies)?;
        let managed = |name, means| Managed::new(name, means, &request.engine);
        let daemon = Daemon {
            program: request.program.clone(),
            config: config.clone(),
            logs: request
                .logs
                .as_ref()
                .map(|folder| folder.join(source.stem())),
        };
        let told = vec![(
            "live".to_owned(),
            joulepath_model::scenario::show_live(&config),
        )];
        Ok(Planned {
            seeds: seeds(request.first_seed, request.seeds)?,
            policies,
            endpoints: managed("kernel, endpoints", Means::Endpoints(FixedEndpoints)),
            daemon: managed("kernel, live", Means::Daemon(Box::new(daemon))),
            loaded,
            config,
            told,
        })
    }

    /// The contenders, the daemon first.
    fn contenders<'a>(&'a self, kernel: &'a dyn Engine) -> Vec<(String, Chooser, Row<'a>)> {
        let row = |engine, setup| self.loaded.row(engine, setup, &self.seeds);
        let (plain, others) = self.policies.split_first().expect("plain is among them");
        let mut daemon = row(&self.daemon, plain);
        daemon.run.identity.1 = &self.told;
        let live = format!("live:{}", self.config.intent.word());
        let mut contenders = vec![
            (live, Chooser::Daemon, daemon),
            (
                plain.policy().to_owned(),
                Chooser::Plain,
                row(kernel, plain),
            ),
            (
                SUBFLOWS.to_owned(),
                Chooser::Endpoints,
                row(&self.endpoints, plain),
            ),
        ];
        let policy = |setup| {
            (
                Setup::policy(setup).to_owned(),
                Chooser::Policy,
                row(kernel, setup),
            )
        };
        contenders.extend(others.iter().map(policy));
        contenders
    }

    fn work(&self) -> Work {
        let all = |is: fn(&Workload) -> bool| {
            self.loaded
                .scenario
                .connections
                .iter()
                .all(|group| is(&group.workload))
        };
        match () {
            () if all(|workload| matches!(workload, Workload::File { .. })) => Work::Files,
            () if all(|workload| matches!(workload, Workload::Bulk)) => Work::Bulk,
            () => Work::Given,
        }
    }
}

/// Path of the daemon's configuration for a scenario: `daemon/home.toml` for `home.toml`.
fn beside(scenario: &Path) -> PathBuf {
    let name = scenario.file_name().unwrap_or_default();
    scenario
        .with_file_name(DAEMON)
        .join(name)
        .with_extension("toml")
}

/// The configuration of a scenario, with the costs of traffic from the scenario.
fn config(source: &Source, argument: &str, scenario: &Scenario) -> Result<LiveConfig> {
    let name = beside(Path::new(argument));
    let missing = || {
        Error::usage(format!(
            "there is no configuration `{}` for the daemon",
            name.display()
        ))
        .with_help("create this file: docs/live-toml.md explains its keys")
    };
    let shipped = |text: &str| Text {
        text: text.to_owned(),
        may_be_quoted: true,
    };
    let text = match source.is_shipped() {
        true => {
            let found = beside(Path::new(source.name())).with_extension("");
            shipped(
                found
                    .to_str()
                    .and_then(shipped::daemon)
                    .ok_or_else(missing)?,
            )
        }
        false => Text::read(&name, "configuration", By::File)?.ok_or_else(missing)?,
    };
    let mut config = read_live(&text.text).map_err(|errors| {
        if !text.may_be_quoted {
            return not_shown(&name.display().to_string());
        }
        let errors = Box::new(errors.in_file(&name.display().to_string()));
        Error::Scenario {
            errors,
            kind: Kind::Failed,
        }
    })?;
    if let Some(unknown) = config
        .interfaces
        .iter()
        .find(|one| !scenario.paths.iter().any(|path| path.name == one.name))
    {
        return Err(Error::usage(format!(
            "{}: the scenario has no path `{}`",
            name.display(),
            unknown.name
        ))
        .with_help("give each interface the name of its path"));
    }
    if let Some(path) = scenario
        .paths
        .iter()
        .find(|path| config.interface(&path.name).is_none())
    {
        return Err(Error::usage(format!(
            "{} has no [[interface]] `{}`",
            name.display(),
            path.name
        ))
        .with_help(
            "the daemon uses virtual interfaces, such as emulated ones, only if they are named",
        ));
    }
    for interface in &mut config.interfaces {
        let path = scenario
            .paths
            .iter()
            .find(|path| path.name == interface.name);
        interface.energy = path.map(|path| path.energy.clone());
    }
    config.device = scenario.device.clone();
    Ok(config)
}

/// Runs all contenders; reuses stored runs. Reports failed runs and leaves them out.
pub fn judge(
    plan: &Plan,
    mut stored: Option<&mut StoredRuns>,
    watch: Watch<'_>,
    cancel: &Cancel,
) -> Done {
    let mut partial = false;
    let mut cases = vec![];
    let batch = Batch { jobs: None, cancel };
    for planned in plan.cases.iter().take_while(|_| !cancel.is_set()) {
        let scenario = &planned.loaded.scenario;
        let contenders = planned.contenders(&*plan.kernel);
        let rows: Vec<Row<'_>> = contenders.iter().map(|(.., row)| *row).collect();
        let table = batch.table(&rows, stored.as_deref_mut(), &mut *watch);
        partial |= !is_complete(&table);
        let contender = |((name, chooser, _), outcomes): (&(String, Chooser, _), _)| {
            Contender::of(name, *chooser, &runs(outcomes))
        };
        let contenders = contenders.iter().zip(table).filter_map(contender).collect();
        let limits = limits_of(scenario, &planned.seeds, &*plan.kernel);
        let limit = limits.iter().find(|limit| limit.kind == LINK_BOUND);
        let case = Case {
            scenario: planned.loaded.name.clone(),
            title: scenario.title.clone(),
            intent: planned.config.intent,
            work: planned.work(),
            paths: scenario
                .paths
                .iter()
                .map(|path| path.name.clone())
                .collect(),
            contenders,
            link_bound_bits_per_joule: limit.map(|limit| limit.bits_per_joule),
            verdict: None,
        };
        cases.push(case.judged());
    }
    let partial = partial || cases.len() < plan.cases.len();
    Done {
        judged: Judged {
            release: crate::gap::release(),
            seeds: plan.seeds,
            cases,
        },
        partial,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shipped_configuration_fits_its_scenario() {
        let mut intents = std::collections::BTreeSet::new();
        for (name, _) in shipped::SCENARIOS
            .iter()
            .filter(|(name, _)| name.starts_with(FOLDER))
        {
            let source = Source::named(name).unwrap();
            let scenario = source.load(&[]).unwrap();
            let config =
                config(&source, name, &scenario).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert!(
                config
                    .interfaces
                    .iter()
                    .all(|interface| interface.energy.is_some())
            );
            assert!(scenario.duration.as_secs_f64() <= 30.0, "{name}");
            intents.insert(config.intent);
        }
        assert!(intents.len() >= 5, "{intents:?}");
    }
}
