//! A study, ready to run, and the meaning of run indices.

use std::path::Path;

use joulepath_control::policy::{self, PolicyError};
use joulepath_model::policy::Policy;
use joulepath_model::result::{PathResult, RunResult};
use joulepath_model::scenario::{read_study, set_twice};
use joulepath_model::study::{Level, StudyEngine, StudySpec};
use joulepath_report::{Field, run_record};
use sha2::{Digest, Sha256};

use crate::digest::hex;
use crate::engine::{self, Engine, EngineName, EngineOptions};
use crate::error::{Error, Kind as ErrorKind, Result};
use crate::policies;
use crate::source::{Overrides, Source, Text, not_shown};

use super::parquet::{Column, Kind};
use super::points::Points;

/// Version of the columns and their meaning.
pub(super) const FORMAT: u32 = 2;
/// Columns before the axes, and between the axes and the engine's results.
pub(super) const RUN: &str = "run";
pub(super) const POINT: &str = "point";
pub(super) const ENGINE: &str = "engine";
pub(super) const POLICY: &str = "policy";
pub(super) const SEED: &str = "seed";
pub(super) const ERROR: &str = "error";
/// Column after the engine's results.
const COMMIT: &str = "commit";

/// A study with everything checked that does not need all points.
pub struct Sweep {
    spec: StudySpec,
    text: String,
    name: String,
    pub(super) source: Source,
    /// Overrides of every point: the variant's keys, then the study's.
    set: Overrides,
    pub(super) engines: Vec<Box<dyn Engine>>,
    pub(super) policies: Vec<Policy>,
    /// Notes for users about the choice of policies.
    pub(super) notes: Vec<String>,
    seeds: u64,
    points: Points,
    /// Paths of the scenario, which have columns.
    pub(super) paths: Vec<String>,
    title: String,
    pub(super) scenario_sha256: String,
    pub(super) columns: Vec<Column>,
    id: String,
}

/// Identity of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Index of the point in the design.
    pub point: u64,
    /// Index of the engine in the study.
    pub engine: usize,
    /// Index of the policy in the study.
    pub policy: usize,
    /// Seed of all random numbers.
    pub seed: u64,
}

impl Sweep {
    /// Opens a study file. Its scenario is a file next to it, or else a shipped one.
    ///
    /// # Errors
    /// If the file cannot be read or has mistakes, or none of its runs can succeed.
    pub fn open(file: &Path) -> Result<Self> {
        let name = file.to_string_lossy().into_owned();
        let study = Text::named(file, "study")?;
        let folder = file.parent().map(Path::to_path_buf).unwrap_or_default();
        let spec = read(&name, &study.text);
        let spec = if study.may_be_quoted {
            spec?
        } else {
            spec.map_err(|_| not_shown(&name))?
        };
        Self::beside(&name, &study.text, spec, &folder)
    }

    /// The study of `text`, with its scenario from `folder` or else the shipped ones. Fails like
    /// [`Sweep::open`].
    ///
    /// # Errors
    /// Those of [`Sweep::open`].
    pub fn of_text(name: &str, text: &str, folder: &Path) -> Result<Self> {
        Self::beside(name, text, read(name, text)?, folder)
    }

    fn beside(name: &str, text: &str, spec: StudySpec, folder: &Path) -> Result<Self> {
        let quoted = format!("\"{}\"", spec.scenario);
        let source = Source::open_beside(folder, &spec.scenario)
            .map_err(|error| in_line(name, text, &quoted, error))?;
        Self::of(name, text, spec, source)
    }

    /// The study of `text` on a given scenario.
    ///
    /// # Errors
    /// Those of [`Sweep::open`].
    pub fn with_source(name: &str, text: &str, source: Source) -> Result<Self> {
        Self::of(name, text, read(name, text)?, source)
    }

    fn of(name: &str, text: &str, spec: StudySpec, source: Source) -> Result<Self> {
        let set = source.overrides(spec.variant.as_deref(), &spec.set)?;
        let keys = spec.axes.iter().flat_map(|axis| &axis.keys);
        if let Some(key) = set_twice(source.content(), keys.map(String::as_str)) {
            return Err(Error::usage(format!("{name}: `{key}` varies twice"))
                .with_help("name it in one [[vary]], once"));
        }
        let engines = spec
            .engines
            .iter()
            .map(|engine| {
                let name = match engine {
                    StudyEngine::Packet => EngineName::Packet,
                    StudyEngine::Fluid => EngineName::Fluid,
                };
                engine::open(name, &EngineOptions::default())
            })
            .collect::<Result<Vec<_>>>()?;
        let points = Points::of(spec.design, &spec.axes);
        let mut sweep = Sweep {
            text: text.to_owned(),
            name: name.to_owned(),
            source,
            set,
            engines,
            policies: vec![],
            notes: vec![],
            seeds: 0,
            points,
            paths: vec![],
            title: String::new(),
            scenario_sha256: String::new(),
            columns: vec![],
            id: String::new(),
            spec,
        };
        sweep.look()?;
        sweep.columns = sweep.all_columns();
        sweep.id = sweep.identity();
        if sweep
            .points()
            .checked_mul(sweep.of_point())
            .is_none_or(|runs| runs > 1 << 53)
        {
            return Err(
                Error::usage("the study has more than 2^53 runs").with_help("use fewer points")
            );
        }
        Ok(sweep)
    }

    /// Checks some points, to refuse a study with wrong keys or policies at once. A few wrong
    /// points only become rows with errors.
    fn look(&mut self) -> Result<()> {
        let last = self.points.count() - 1;
        let mut wrong = self.unknown_policies();
        let mut refused = None;
        for point in [0, last, last / 2] {
            let scenario = match self.source.load(&self.set_at(point)) {
                Ok(scenario) => scenario,
                Err(error) => {
                    refused = refused.or(Some(self.of_study(error)));
                    continue;
                }
            };
            if !wrong.is_empty() {
                return Err(Error::of_all(wrong));
            }
            let engines: Vec<&dyn Engine> = self.engines.iter().map(|engine| &**engine).collect();
            let found = match &self.spec.policies {
                Some(asked) => {
                    let setups = policies::prepare(asked, &scenario, ErrorKind::Usage)?;
                    policies::refuse_hosted(&setups, "a study identifies policies by name")?;
                    let checked = engines
                        .iter()
                        .try_for_each(|engine| engine.check(&scenario, &setups));
                    checked.map(|()| (asked.clone(), vec![]))
                }
                None => policies::runnable(&scenario, &engines),
            };
            (self.policies, self.notes) = match found {
                Ok(found) => found,
                Err(error) => {
                    refused = refused.or(Some(error));
                    continue;
                }
            };
            self.seeds = u64::from(self.spec.seeds.unwrap_or(scenario.compare.seeds));
            self.paths = scenario
                .paths
                .iter()
                .map(|path| path.name.clone())
                .collect();
            self.title = scenario.title.clone();
            self.scenario_sha256 = self.source.sha256(&scenario);
            return Ok(());
        }
        wrong.insert(0, refused.expect("no point was accepted"));
        Err(Error::of_all(wrong))
    }

    /// The same error, whose overrides are the keys that the study changes.
    fn of_study(&self, error: Error) -> Error {
        let keys = self.spec.axes.iter().flat_map(|axis| &axis.keys);
        error.overridden_by("set", keys.map(|key| (key.clone(), "vary")).collect())
    }

    /// An error for each policy of the study that does not exist.
    fn unknown_policies(&self) -> Vec<Error> {
        let asked = self.spec.policies.iter().flatten();
        let unknown = |policy: &Policy| policy::resolve(policy).err();
        let placed = |(policy, error): (&Policy, PolicyError)| {
            let error = Error::Setup {
                error: Box::new(error.into()),
                kind: ErrorKind::Usage,
            };
            in_line(&self.name, &self.text, &format!("\"{policy}\""), error)
        };
        asked
            .filter_map(|policy| Some((policy, unknown(policy)?)))
            .map(placed)
            .collect()
    }

    fn all_columns(&self) -> Vec<Column> {
        let column = |name: &str, kind: Kind| Column {
            name: name.to_owned(),
            kind,
        };
        let mut columns = vec![column(RUN, Kind::Count), column(POINT, Kind::Count)];
        let mut others = vec![
            column(ENGINE, Kind::Text),
            column(POLICY, Kind::Text),
            column(SEED, Kind::Count),
            column(ERROR, Kind::Text),
        ];
        let path = |name: &String| PathResult {
            name: name.clone(),
            ..PathResult::default()
        };
        let run = RunResult {
            paths: self.paths.iter().map(path).collect(),
            ..RunResult::default()
        };
        others.extend(said(&run).into_iter().map(|(name, field)| {
            let kind = match field {
                Field::Text(_) | Field::Flag(_) => Kind::Text,
                Field::Count(_) => Kind::Count,
                Field::Number(_) => Kind::Number,
            };
            Column { name, kind }
        }));
        others.push(column(COMMIT, Kind::Text));
        for axis in &self.spec.axes {
            let kind = if axis.levels.quantity().is_some() {
                Kind::Number
            } else {
                Kind::Text
            };
            for name in axis.columns() {
                let name = free(name, columns.iter().chain(&others));
                columns.push(Column { name, kind });
            }
        }
        columns.extend(others);
        columns
    }

    /// Column names of the varied keys, in the order of the axes and their keys.
    pub fn axis_columns(&self) -> Vec<String> {
        let keys = self.spec.axes.iter().map(|axis| axis.keys.len()).sum();
        // After the columns of run and point.
        self.columns
            .iter()
            .skip(2)
            .take(keys)
            .map(|column| column.name.clone())
            .collect()
    }

    /// SHA-256 of everything that defines the runs.
    fn identity(&self) -> String {
        let mut hash = Sha256::new();
        let mut add = |text: &str| {
            hash.update((text.len() as u64).to_le_bytes());
            hash.update(text);
        };
        add(&format!(
            "{FORMAT} {} {:?} {}",
            self.scenario_sha256, self.spec.design, self.spec.first_seed
        ));
        add(&self.seeds.to_string());
        self.set
            .iter()
            .for_each(|(key, value)| add(&format!("{key} = {value}")));
        self.spec
            .axes
            .iter()
            .for_each(|axis| add(&format!("{axis:?}")));
        self.engines.iter().for_each(|engine| add(engine.name()));
        self.policies
            .iter()
            .for_each(|policy| add(&policy.to_string()));
        hex(&hash.finalize())
    }

    /// Overrides of a point.
    pub(super) fn set_at(&self, point: u64) -> Overrides {
        let mut set = self.set.clone();
        for (axis, level) in self.spec.axes.iter().zip(self.points.at(point)) {
            set.extend(
                axis.keys
                    .iter()
                    .map(|key| (key.clone(), level.toml.clone())),
            );
        }
        set
    }

    /// Level of each axis at a point.
    pub fn levels(&self, point: u64) -> Vec<Level> {
        self.points.at(point)
    }

    /// Number of points.
    pub fn points(&self) -> u64 {
        self.points.count()
    }

    /// Number of runs.
    pub fn runs(&self) -> u64 {
        self.points() * self.of_point()
    }

    /// Number of runs at a point.
    pub(super) fn of_point(&self) -> u64 {
        (0..self.engines.len())
            .map(|engine| self.of_engine(engine))
            .sum()
    }

    /// Number of runs of an engine at a point: one of each policy if the engine is deterministic.
    fn of_engine(&self, engine: usize) -> u64 {
        let seeds = if self.engines[engine].draws() {
            self.seeds
        } else {
            1
        };
        self.policies.len() as u64 * seeds
    }

    /// The run with this index.
    ///
    /// # Panics
    /// If `run` is not below [`Sweep::runs`].
    pub fn place(&self, run: u64) -> Place {
        let (point, mut left) = (run / self.of_point(), run % self.of_point());
        for engine in 0..self.engines.len() {
            let runs = self.of_engine(engine);
            if left < runs {
                let policies = self.policies.len() as u64;
                let seed = self.spec.first_seed + left / policies;
                return Place {
                    point,
                    engine,
                    policy: (left % policies) as usize,
                    seed,
                };
            }
            left -= runs;
        }
        unreachable!("the rest is less than the runs of all engines")
    }

    /// Content of the study file.
    pub fn spec(&self) -> &StudySpec {
        &self.spec
    }

    /// Title of the study, or else of the scenario.
    pub fn title(&self) -> &str {
        self.spec.title.as_deref().unwrap_or(&self.title)
    }

    /// File name as given, or a substitute.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The text of the file.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Scenario of all points.
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// The policies.
    pub fn policies(&self) -> &[Policy] {
        &self.policies
    }

    /// Names of the engines.
    pub fn engines(&self) -> Vec<&'static str> {
        self.engines.iter().map(|engine| engine.name()).collect()
    }

    /// Seeds of each policy at each point.
    pub fn seeds(&self) -> u64 {
        self.seeds
    }

    /// Identity of this study in the header of its dataset.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The columns of a dataset.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }
}

/// A column name that differs from all others: `path.a-b.loss` and `path.a_b.loss` become
/// `path_a_b_loss` and `path_a_b_loss_2`.
fn free<'a>(name: String, others: impl Iterator<Item = &'a Column>) -> String {
    let taken: Vec<&str> = others.map(|column| column.name.as_str()).collect();
    let mut free = name.clone();
    let mut number = 2;
    while taken.contains(&free.as_str()) {
        free = format!("{name}_{number}");
        number += 1;
    }
    free
}

/// An engine's result by column, without the columns that identify the run.
pub(super) fn said(run: &RunResult) -> Vec<(String, Field)> {
    run_record(run)
        .fields
        .into_iter()
        .filter(|(name, _)| name != POLICY && name != SEED)
        .collect()
}

/// An error of wrong usage with its file and the line there that has `text`.
fn in_line(name: &str, content: &str, text: &str, error: Error) -> Error {
    if error.kind() == ErrorKind::Permission {
        return error;
    }
    let line = content.lines().position(|line| line.contains(text));
    let place = line.map_or(name.to_owned(), |line| format!("{name}:{}", line + 1));
    let told = Error::usage(format!("{place}: {}", error.in_one_line()));
    match error.help() {
        Some(help) => told.with_help(help),
        None => told,
    }
}

fn read(name: &str, text: &str) -> Result<StudySpec> {
    read_study(text).map_err(|errors| Error::Scenario {
        errors: Box::new(errors.in_file(name)),
        kind: ErrorKind::Failed,
    })
}
