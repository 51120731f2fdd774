//! The runs whose results are stored: every scenario of the repository with several policies on
//! each engine, and the slotted system.

use std::collections::BTreeSet;
use std::fs;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use joulepath_control::Setup;
use joulepath_control::allocate::{ALLOCATORS, EnergyShape};
use joulepath_control::policy::POLICIES;
use joulepath_control::schedule::SCHEDULERS;
use joulepath_control::select::SELECTORS;
use joulepath_controllers::Controller;
use joulepath_model::cancel::Cancel;
use joulepath_model::scenario::{Scenario, Workload};
use joulepath_model::units::Nanos;
use joulepath_slotted::{Feasible, Params, Policy};
use joulepath_study::engine::{self, Engine, EngineName, EngineOptions, Task};
use joulepath_study::error::{Kind, Result};
use joulepath_study::policies;
use joulepath_study::source::{Overrides, Source};
use serde::Serialize;
use sha2::{Digest, Sha256};

/// Policies that run on every scenario.
const EVERYWHERE: [&str; 3] = ["uncoupled", "mptcp", "joule"];
/// Scenarios of each other policy.
const SCENARIOS_EACH: usize = 4;
/// Bytes of the stored part of a hash.
const HASH_BYTES: usize = 8;

/// A run, or the attempt of one.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    engine: &'static str,
    scenario: String,
    policy: String,
    work: Work,
}

#[derive(Clone, Debug)]
enum Work {
    Engine {
        name: EngineName,
        file: PathBuf,
        changes: Overrides,
    },
    Slotted(Box<Params>, Policy),
}

/// What came of a case.
pub(crate) struct Outcome {
    /// Hash and a few numbers of the result, or the reason for which there is none.
    pub(crate) summary: String,
    /// The registered parts that have run: `cc lia`, `scheduler minrtt`, ….
    pub(crate) parts: Vec<String>,
}

/// All cases.
pub(crate) fn all() -> Vec<Case> {
    let files: Vec<(String, PathBuf)> = files()
        .into_iter()
        .map(|file| (name_of(&file), file))
        .collect();
    let further: Vec<(String, Vec<&str>)> = others()
        .into_iter()
        .map(|policy| (policy.clone(), scenarios_of(&policy, &files)))
        .collect();
    let mut cases = slotted();
    for (scenario, file) in &files {
        let plain = Source::open(file).and_then(|source| source.load(&[]));
        let plain = plain.unwrap_or_else(|error| panic!("{scenario}: {error:?}"));
        let changes = changes(scenario, &plain);
        let chosen = further
            .iter()
            .filter(|(_, scenarios)| scenarios.contains(&scenario.as_str()));
        let policies = EVERYWHERE
            .into_iter()
            .chain(chosen.map(|(policy, _)| policy.as_str()));
        for policy in policies.map(|policy| on_paths_of(policy, &plain)) {
            for (engine, name) in [("packet", EngineName::Packet), ("fluid", EngineName::Fluid)] {
                let work = Work::Engine {
                    name,
                    file: file.clone(),
                    changes: changes.clone(),
                };
                cases.push(Case {
                    engine,
                    scenario: scenario.clone(),
                    policy: policy.clone(),
                    work,
                });
            }
        }
    }
    cases
}

/// The scenarios of a policy outside [`EVERYWHERE`]. A new policy or scenario changes few of the
/// other choices.
fn scenarios_of<'a>(policy: &str, files: &'a [(String, PathBuf)]) -> Vec<&'a str> {
    let mut names: Vec<&str> = files.iter().map(|(name, _)| name.as_str()).collect();
    names.sort_by_key(|name| Sha256::digest(format!("{policy} {name}")));
    names.truncate(SCENARIOS_EACH);
    names
}

/// Parts that the registries contain, in the form of [`Outcome::parts`].
pub(crate) fn registered() -> BTreeSet<String> {
    let controllers = Controller::all().map(|controller| format!("cc {}", controller.name()));
    let schedulers = SCHEDULERS
        .iter()
        .map(|info| format!("scheduler {}", info.name));
    let selectors = SELECTORS
        .iter()
        .map(|info| format!("selector {}", info.name));
    let allocators = ALLOCATORS.iter().map(|name| format!("allocator {name}"));
    controllers
        .chain(schedulers)
        .chain(selectors)
        .chain(allocators)
        .collect()
}

/// Every bundle, controller, scheduler and selector as a policy, without [`EVERYWHERE`]. `PATH` and
/// `OTHER` stand for the scenario's first and last path.
fn others() -> Vec<String> {
    let bundles = POLICIES.iter().map(|info| match info.name {
        "single" => "single:PATH".to_owned(),
        name => name.to_owned(),
    });
    let controllers = Controller::all().map(|controller| match controller.name() {
        // The policy of this name has another controller.
        "joule" => "mptcp[cc=joule]".to_owned(),
        name => name.to_owned(),
    });
    let schedulers = SCHEDULERS.iter().map(|info| match info.name {
        "allotted" => "so-mptcp[V=10]".to_owned(),
        name => format!("mptcp[scheduler={name}]"),
    });
    let selectors = SELECTORS.iter().map(|info| match info.name {
        "only" => "mptcp[selector=only,paths=PATH]".to_owned(),
        "schedule" => "linux[selector=schedule,plan=0:PATH;2:OTHER+~PATH]".to_owned(),
        name => format!("olia[selector={name}]"),
    });
    let mut seen = BTreeSet::from(EVERYWHERE.map(str::to_owned));
    bundles
        .chain(controllers)
        .chain(schedulers)
        .chain(selectors)
        .filter(|policy| seen.insert(policy.clone()))
        .collect()
}

fn on_paths_of(policy: &str, scenario: &Scenario) -> String {
    let name = |path: Option<&joulepath_model::scenario::PathSpec>| {
        path.map_or("PATH", |path| &path.name).to_owned()
    };
    let [first, last] = [scenario.paths.first(), scenario.paths.last()].map(name);
    policy.replace("OTHER", &last).replace("PATH", &first)
}

/// The scenarios of the repository, sorted. Folders `daemon` hold configurations of the daemon.
fn files() -> Vec<PathBuf> {
    let mut found = vec![];
    let mut folders = vec![root().join("scenarios")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("the repository is readable") {
            let path = entry.expect("a readable folder").path();
            match path.extension() {
                _ if path.is_dir() && !path.ends_with("daemon") => folders.push(path),
                Some(extension) if extension == "toml" => found.push(path),
                _ => {}
            }
        }
    }
    found.sort();
    found
}

fn name_of(file: &Path) -> String {
    let inside = file
        .strip_prefix(root().join("scenarios"))
        .expect("found there");
    inside.with_extension("").to_string_lossy().into_owned()
}

pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Makes the scenario short.
fn changes(name: &str, scenario: &Scenario) -> Overrides {
    let (duration, warm_up) = match &scenario.topology {
        // Hundreds of connections with round trips of 2 ms, which begin within 100 ms.
        Some(_) => ("300 ms", "100 ms"),
        // Its messages wait for two minutes.
        None if name == "telemetry" => ("300 s", "0 s"),
        // A file may end within a second.
        None if scenario
            .connections
            .iter()
            .any(|group| matches!(group.workload, Workload::File { .. })) =>
        {
            ("10 s", "0 s")
        }
        None => ("10 s", "1 s"),
    };
    let quoted = |key: &str, value: &str| (key.to_owned(), format!("\"{value}\""));
    match scenario.duration <= Nanos::from_secs(10) && scenario.topology.is_none() {
        true => vec![],
        false => vec![quoted("duration", duration), quoted("warm_up", warm_up)],
    }
}

fn slotted() -> Vec<Case> {
    let short = |params: Params| Params {
        duration: params.slot * 1500,
        warm_up: params.slot * 100,
        ..params
    };
    let systems = [
        ("three-radios-35", short(Params::three_radios(35))),
        ("three-radios-45", short(Params::three_radios(45))),
        (
            "three-radios-lossy-35",
            short(Params::three_radios_lossy(35)),
        ),
        ("fixed-windows", short(Params::fixed_windows(1500))),
    ];
    let convex = Policy::SoMptcp {
        v: 10.0,
        shape: EnergyShape::Convex,
        feasible: Feasible::Window,
        place_holder: true,
    };
    let policies = [
        ("so-mptcp", Policy::SO_MPTCP),
        ("so-mptcp[v=10,x=link]", Policy::so_mptcp_within_links(10.0)),
        ("so-mptcp[v=10,convex,place-holder]", convex),
        ("emptcp", Policy::Emptcp),
        ("mptcp", Policy::Mptcp),
    ];
    let case = |(scenario, params): &(&str, Params), (policy, kind): (&str, Policy)| Case {
        engine: "slotted",
        scenario: (*scenario).to_owned(),
        policy: policy.to_owned(),
        work: Work::Slotted(Box::new(params.clone()), kind),
    };
    systems
        .iter()
        .flat_map(|system| policies.map(|policy| case(system, policy)))
        .collect()
}

impl Case {
    pub(crate) fn key(&self) -> [String; 3] {
        [
            self.engine.to_owned(),
            self.scenario.clone(),
            self.policy.clone(),
        ]
    }

    pub(crate) fn run(&self) -> Outcome {
        match &self.work {
            Work::Slotted(params, policy) => {
                let summary = match joulepath_slotted::run(params, *policy, 1, &Cancel::new()) {
                    Ok(result) => summary(
                        &result,
                        result.means.throughput_mbps,
                        result.means.power_w,
                        "W",
                    ),
                    Err(error) => format!("failed: {error}"),
                };
                Outcome {
                    summary,
                    parts: vec![],
                }
            }
            Work::Engine {
                name,
                file,
                changes,
            } => {
                let engine = engine::open(*name, &EngineOptions::default())
                    .expect("built with every simulator");
                self.on(&*engine, file, changes)
                    .unwrap_or_else(|error| Outcome {
                        summary: format!(
                            "refused: {}",
                            error.to_string().lines().next().unwrap_or_default()
                        ),
                        parts: vec![],
                    })
            }
        }
    }

    /// # Errors
    /// If the policy does not fit the scenario, or the engine refuses the run.
    fn on(&self, engine: &dyn Engine, file: &Path, changes: &Overrides) -> Result<Outcome> {
        let scenario = Source::open(file).and_then(|source| source.load(changes));
        let scenario = scenario
            .unwrap_or_else(|error| panic!("{} with {changes:?}: {error:?}", self.scenario));
        let [policy] = &policies::parse(&self.policy)?[..] else {
            panic!("{} is one policy", self.policy)
        };
        let setup = policies::setup(policy, &scenario, Kind::Usage)?;
        engine.check(&scenario, std::slice::from_ref(&setup))?;
        let task = Task {
            seed: 1,
            series: true,
            settles: false,
        };
        Ok(
            match engine.run(&scenario, &setup, &task, NonZeroUsize::MIN, &Cancel::new()) {
                Ok(result) => Outcome {
                    summary: summary(&result, result.goodput_bps / 1e6, result.energy_j, "J"),
                    parts: parts(&setup),
                },
                Err(error) => Outcome {
                    summary: format!("failed: {error}"),
                    parts: vec![],
                },
            },
        )
    }
}

/// The hash of every digit, and two numbers that show how far a changed result is from the stored
/// one.
fn summary(result: &impl Serialize, mbps: f64, energy: f64, unit: &str) -> String {
    let json = serde_json::to_vec(result).expect("made of texts and numbers");
    let hash: String = Sha256::digest(json)[..HASH_BYTES]
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    format!("{hash} {mbps:.4} Mbit/s {energy:.4} {unit}")
}

fn parts(setup: &Setup) -> Vec<String> {
    let parts = setup.parts();
    let selector = setup
        .selector()
        .map(|selector| format!("selector {}", selector.info().name));
    let allocator = parts
        .allocator
        .as_ref()
        .map(|allocator| format!("allocator {}", allocator.name()));
    let always = [
        format!("cc {}", parts.controller.name()),
        format!("scheduler {}", parts.scheduler),
    ];
    always
        .into_iter()
        .chain(selector)
        .chain(allocator)
        .collect()
}
