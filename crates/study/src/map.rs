//! Finds the winning policy at each point of a plane of two scenario keys.
//!
//! | module | what |
//! |---|---|
//! | `axis` | a key and its values |
//! | `plane` | all scenarios of the plane and their runs |
//!
//! [`joulepath_report::map`] has winners, ties, regions and the comparison with the packet engine.

mod axis;
mod plane;

use std::collections::BTreeSet;
use std::num::NonZeroUsize;

use joulepath_model::cancel::Cancel;
#[cfg(feature = "clap")]
use joulepath_model::metric::METRICS;
use joulepath_model::metric::{EFFICIENCY, Metric};
use joulepath_model::random::{Domain, Stream};
use joulepath_model::result::Provenance;
use joulepath_model::scenario::set_twice;
use joulepath_report::map::{self, Axis, Map, SpotCheck, Winners};
use serde::{Deserialize, Serialize};

use self::plane::Plane;
use crate::batch::{Batch, Outcome, Row, Wanted, is_complete};
use crate::engine::{Engine, EngineName, RunError};
use crate::error::{Error, Result};
use crate::event::{Event, Watch};
use crate::policies;
use crate::seeds::seeds;
use crate::source::{Overrides, Source};

pub use axis::parse_axis;

/// Seed of the choice of points for the spot check.
const DRAW_SEED: u64 = 1;

/// A map as users ask for it. The fields are the options of the command, with their help, the
/// arguments in Python, and what the browser sends.
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
    /// The horizontal axis.
    #[cfg_attr(feature = "clap", arg(long, value_name = "KEY=LO..HI[:N][log]"))]
    pub x: String,
    /// The vertical axis.
    #[cfg_attr(feature = "clap", arg(long, value_name = "KEY=LO..HI[:N][log]"))]
    pub y: String,
    /// Policies, separated by commas; those of the scenario if absent.
    #[cfg_attr(feature = "clap", arg(short, long, value_name = "LIST"))]
    pub policies: Option<String>,
    /// What decides the winner.
    #[cfg_attr(feature = "clap", arg(long, value_parser = metric(), default_value = EFFICIENCY.name))]
    pub metric: &'static Metric,
    /// Engine for all points: `fluid`, or `packet` for few points.
    #[cfg_attr(feature = "clap", arg(long, value_parser = crate::engine::parser(), default_value = "fluid"))]
    pub engine: EngineName,
    /// Repeat this many of the points in the packet engine.
    #[cfg_attr(feature = "clap", arg(long, value_name = "N", default_value_t = 0))]
    #[cfg_attr(feature = "clap", arg(value_parser = clap::value_parser!(u32).range(0..=1000)))]
    pub spot_check: u32,
    /// Seeds of each run of the packet engine.
    #[cfg_attr(
        feature = "clap",
        arg(short = 'n', long, value_name = "N", default_value_t = 3)
    )]
    #[cfg_attr(feature = "clap", arg(value_parser = crate::seeds::parser()))]
    pub seeds: u32,
    /// Number of cores; all if absent. The results do not depend on it.
    #[cfg_attr(feature = "clap", arg(short, long, value_name = "N"))]
    pub jobs: Option<NonZeroUsize>,
}

impl Default for Request {
    fn default() -> Self {
        Request {
            set: vec![],
            variant: None,
            x: String::new(),
            y: String::new(),
            policies: None,
            metric: &EFFICIENCY,
            engine: EngineName::Fluid,
            spot_check: 0,
            seeds: 3,
            jobs: None,
        }
    }
}

/// Parses the name of a metric.
#[cfg(feature = "clap")]
fn metric() -> impl clap::builder::TypedValueParser<Value = &'static Metric> {
    use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

    let names = METRICS
        .iter()
        .map(|metric| PossibleValue::new(metric.name).help(metric.title))
        .chain([PossibleValue::new("efficiency").hide(true)]);
    PossibleValuesParser::new(names).try_map(|name| Metric::asked(&name))
}

impl Request {
    /// The axes, horizontal and vertical: see [`parse_axis`].
    ///
    /// # Errors
    /// If one is malformed.
    pub fn axes(&self) -> Result<[Axis; 2]> {
        Ok([parse_axis("x", &self.x)?, parse_axis("y", &self.y)?])
    }

    /// Opens the engine of all points and that of the spot check by `open`.
    ///
    /// # Errors
    /// If no simulator is asked for, or this build lacks it.
    pub fn engines(
        &self,
        open: impl Fn(EngineName) -> Result<Box<dyn Engine>>,
    ) -> Result<[Box<dyn Engine>; 2]> {
        if self.engine == EngineName::Kernel {
            return Err(
                Error::usage("a map has hundreds of points: they are simulated")
                    .with_help("use `--engine fluid`, or `--engine packet` with few points"),
            );
        }
        Ok([open(self.engine)?, open(EngineName::Packet)?])
    }
}

/// A map whose points are all loaded and checked.
pub struct Plan<'a> {
    request: &'a Request,
    axes: [Axis; 2],
    scenario: String,
    set: Overrides,
    plane: Plane,
    engine: &'a dyn Engine,
    packet: &'a dyn Engine,
    seeds: Vec<u64>,
}

impl<'a> Plan<'a> {
    /// Loads and checks every point. `engine` runs all points, `packet` those of the spot check.
    ///
    /// # Errors
    /// If a key, a value or a policy is wrong, or `engine` cannot run the scenario at some point.
    pub fn of(
        source: &Source,
        request: &'a Request,
        engine: &'a dyn Engine,
        packet: &'a dyn Engine,
    ) -> Result<Self> {
        let plan = Self::unless(&Cancel::new(), source, request, engine, packet)?;
        Ok(plan.expect("the token is never set"))
    }

    /// Like [`Plan::of`], but `None` if cancelled: loading thousands of points takes seconds.
    ///
    /// # Errors
    /// Those of [`Plan::of`].
    pub fn unless(
        cancel: &Cancel,
        source: &Source,
        request: &'a Request,
        engine: &'a dyn Engine,
        packet: &'a dyn Engine,
    ) -> Result<Option<Self>> {
        Self::load(cancel, source, request, None, engine, packet)
    }

    /// A plan of the points that [`Plan::part`] is asked about only, for programs that divide the
    /// points themselves. Empty: what [`Plan::gathered`] needs.
    ///
    /// # Errors
    /// Those of [`Plan::of`], at these points.
    pub fn of_points(
        points: &BTreeSet<usize>,
        source: &Source,
        request: &'a Request,
        engine: &'a dyn Engine,
        packet: &'a dyn Engine,
    ) -> Result<Self> {
        let plan = Self::load(
            &Cancel::new(),
            source,
            request,
            Some(points),
            engine,
            packet,
        )?;
        Ok(plan.expect("the token is never set"))
    }

    fn load(
        cancel: &Cancel,
        source: &Source,
        request: &'a Request,
        points: Option<&BTreeSet<usize>>,
        engine: &'a dyn Engine,
        packet: &'a dyn Engine,
    ) -> Result<Option<Self>> {
        let policies = request
            .policies
            .as_deref()
            .map(policies::parse)
            .transpose()?;
        let axes = request.axes()?;
        let [x, y] = &axes;
        let keys = x.keys.iter().chain(&y.keys).map(String::as_str);
        if let Some(key) = set_twice(source.content(), keys) {
            return Err(Error::usage(format!("both axes set `{key}`"))
                .with_help("vary another key on one of them"));
        }
        let set = source.overrides(request.variant.as_deref(), &request.set)?;
        let asked = policies.as_deref();
        let of_axes = [(x, "--x"), (y, "--y")].map(|(axis, option)| {
            let keys = axis.keys.iter().cloned();
            keys.map(move |key| (key, option)).collect::<Vec<_>>()
        });
        let plane = Plane::load(source, &set, &axes, asked, points, engine, cancel)
            .map_err(|error| error.overridden_by("--set", of_axes.concat()))?;
        let scenario = source.name().to_owned();
        let drawn = seeds(1, request.seeds)?;
        Ok(plane.map(|plane| Plan {
            request,
            axes,
            scenario,
            set,
            plane,
            engine,
            packet,
            seeds: drawn,
        }))
    }

    /// Number of points of the plane.
    pub fn points(&self) -> usize {
        self.plane.len()
    }

    /// Number of policies.
    pub fn policies(&self) -> usize {
        self.plane.policies().count()
    }

    /// Notes for users about the choice of policies.
    pub fn notes(&self) -> &[String] {
        &self.plane.notes
    }

    /// The points that the packet engine runs too.
    pub fn checked(&self) -> Vec<usize> {
        draw(self.plane.len(), self.request.spot_check as usize)
    }

    /// Runs some points in this thread, with the packet engine if `is_check`. Values by policy,
    /// then in the order of `points`; `None` where a run failed. Also the error of the first run
    /// that failed.
    ///
    /// # Panics
    /// If the plan was made without one of the points.
    pub fn part(
        &self,
        points: &[usize],
        is_check: bool,
    ) -> (Vec<Vec<Option<f64>>>, Option<String>) {
        let (engine, cancel) = (self.engine_of(is_check), Cancel::new());
        let mut first = None;
        let mut one = |run: Wanted<'_>| {
            let alone = NonZeroUsize::MIN;
            match engine.run(run.scenario, run.setup, &run.task, alone, &cancel) {
                Ok(run) => Some(run),
                Err(RunError::Failed(error)) => {
                    let policy = run.setup.policy();
                    first.get_or_insert_with(|| format!("`{policy}` at {}: {error}", run.name));
                    None
                }
                Err(RunError::Cancelled) => None,
            }
        };
        let rows = self.plane.rows(points, engine, self.seeds_of(is_check));
        let mut row = |row: &Row<'_>| {
            let runs: Vec<_> = (0..).map_while(|nth| row.nth(nth)).map(&mut one).collect();
            runs.into_iter().collect::<Option<Vec<_>>>()
        };
        let rows: Vec<_> = rows.iter().map(&mut row).collect();
        (self.plane.values(rows, self.request.metric), first)
    }

    /// The map of values from [`Plan::part`]: of all points, and of [`Plan::checked`] if there are
    /// any.
    ///
    /// # Errors
    /// If they are not as many as the plane has policies and points.
    pub fn gathered(
        &self,
        by: &Provenance,
        values: Vec<Vec<Option<f64>>>,
        check: Option<&[Vec<Option<f64>>]>,
    ) -> Result<Map> {
        let is_whole = |values: &[Vec<Option<f64>>], points: usize| {
            values.len() == self.policies()
                && values.iter().all(|of_policy| of_policy.len() == points)
        };
        if !is_whole(&values, self.points())
            || check.is_some_and(|check| !is_whole(check, self.checked().len()))
        {
            return Err(Error::usage("the values are not those of this map"));
        }
        let complete = values
            .iter()
            .chain(check.unwrap_or_default())
            .flatten()
            .all(Option::is_some);
        Ok(self.drawn(by, values, check, !complete))
    }

    fn engine_of(&self, is_check: bool) -> &'a dyn Engine {
        if is_check { self.packet } else { self.engine }
    }

    fn seeds_of(&self, is_check: bool) -> &[u64] {
        if self.engine_of(is_check).draws() {
            &self.seeds
        } else {
            &self.seeds[..1]
        }
    }

    fn drawn(
        &self,
        by: &Provenance,
        values: Vec<Vec<Option<f64>>>,
        check: Option<&[Vec<Option<f64>>]>,
        partial: bool,
    ) -> Map {
        let Plan { request, plane, .. } = self;
        let policy = |(policy, label): (&str, &str)| map::Policy {
            policy: policy.into(),
            label: label.into(),
        };
        Map {
            provenance: by.clone(),
            title: plane.plain.title.clone(),
            scenario: self.scenario.clone(),
            sha256: plane.sha256.clone(),
            set: self.set.clone(),
            axes: self.axes.clone(),
            policies: plane.policies().map(policy).collect(),
            metric: request.metric,
            engine: self.engine.name().to_owned(),
            seeds: request.seeds,
            winners: Winners::of(&values, request.metric),
            spot: check.map(|check| SpotCheck::of(&self.checked(), &values, check, request.metric)),
            values,
            partial,
        }
    }
}

/// Runs every point. Reports failed runs; their policy has no value at that point.
pub fn map(plan: &Plan<'_>, by: &Provenance, watch: Watch<'_>, cancel: &Cancel) -> Map {
    let Plan { request, plane, .. } = plan;
    plane
        .notes
        .iter()
        .for_each(|note| watch(Event::Note(note.clone())));
    let mut complete = true;
    let batch = Batch {
        jobs: request.jobs,
        cancel,
    };
    let mut values = |points: &[usize], is_check: bool| {
        let rows = plane.rows(points, plan.engine_of(is_check), plan.seeds_of(is_check));
        let table = batch.table(&rows, None, &mut *watch);
        complete &= is_complete(&table);
        let whole = |row: Vec<Outcome>| row.into_iter().map(Outcome::run).collect();
        plane.values(table.into_iter().map(whole), request.metric)
    };
    let all: Vec<usize> = (0..plane.len()).collect();
    let of_all = values(&all, false);
    let check = (request.spot_check > 0).then(|| values(&plan.checked(), true));
    plan.drawn(by, of_all, check.as_deref(), !complete || cancel.is_set())
}

/// Chooses `count` of `points` without repetition, ascending; all if there are fewer.
fn draw(points: usize, count: usize) -> Vec<usize> {
    let mut stream = Stream::new(DRAW_SEED, Domain::Placement, 0);
    let mut all: Vec<usize> = (0..points).collect();
    let count = count.min(points);
    // The first `count` steps of a shuffle (Fisher and Yates).
    for i in 0..count {
        let other = i + stream.below((points - i) as u64) as usize;
        all.swap(i, other);
    }
    all.truncate(count);
    all.sort_unstable();
    all
}

#[cfg(test)]
mod tests {
    use joulepath_model::metric::GOODPUT;

    use super::*;

    /// Maps use the fluid engine by default, and scenarios name policies for all engines.
    #[cfg(all(feature = "fluid", feature = "packet"))]
    #[test]
    fn policies_that_the_engine_cannot_run_are_left_out_with_a_note() {
        use crate::engine::{EngineOptions, open};

        let source = Source::named("quick").unwrap();
        let request = |policies: Option<&str>| Request {
            x: "path.wifi.delay=10ms..20ms:2".to_owned(),
            y: "path.lte.delay=10ms..20ms:2".to_owned(),
            set: vec![(
                "compare.policies".to_owned(),
                "[\"mptcp\", \"joule\"]".to_owned(),
            )],
            policies: policies.map(str::to_owned),
            metric: &GOODPUT,
            seeds: 1,
            ..Request::default()
        };
        let [fluid, packet] = [EngineName::Fluid, EngineName::Packet]
            .map(|name| open(name, &EngineOptions::default()).unwrap());
        let (named, mut said) = (request(None), vec![]);
        let plan = Plan::of(&source, &named, &*fluid, &*packet).unwrap();
        let mut watch = |event: Event<'_>| {
            said.extend(if let Event::Note(note) = event {
                Some(note)
            } else {
                None
            })
        };
        let drawn = map(&plan, &Provenance::default(), &mut watch, &Cancel::new());
        let policies: Vec<&str> = drawn
            .policies
            .iter()
            .map(|policy| policy.policy.as_str())
            .collect();
        assert_eq!((policies, drawn.partial), (vec!["mptcp"], false));
        assert!(
            said.iter()
                .any(|note| note.starts_with("Left out: `joule` uses")),
            "{said:?}"
        );
        let asked = request(Some("mptcp,joule"));
        let refused = Plan::of(&source, &asked, &*fluid, &*packet).err().unwrap();
        assert!(refused.to_string().contains("fluid engine"), "{refused}");
    }

    /// A program that divides the points gets the map of [`map`], bit for bit.
    #[cfg(all(feature = "fluid", feature = "packet"))]
    #[test]
    fn parts_of_the_plane_make_the_same_map() {
        use crate::engine::{EngineOptions, open};

        let source = Source::named("quick").unwrap();
        let request = Request {
            x: "path.wifi.delay=10ms..20ms:3".to_owned(),
            y: "path.lte.loss=0.1 %..1 %:2log".to_owned(),
            set: vec![("duration".to_owned(), "\"2 s\"".to_owned())],
            policies: Some("mptcp,uncoupled".to_owned()),
            spot_check: 2,
            seeds: 2,
            ..Request::default()
        };
        let [fluid, packet] = [EngineName::Fluid, EngineName::Packet]
            .map(|name| open(name, &EngineOptions::default()).unwrap());
        let by = Provenance {
            command: "joulepath map quick".to_owned(),
            ..Provenance::default()
        };
        let plan = Plan::of(&source, &request, &*fluid, &*packet).unwrap();
        let whole = map(&plan, &by, &mut crate::event::unwatched, &Cancel::new());

        let of = |points: &[usize]| {
            let points = points.iter().copied().collect();
            Plan::of_points(&points, &source, &request, &*fluid, &*packet).unwrap()
        };
        let joined = |points: &[usize], is_check: bool| {
            let parts = points
                .iter()
                .map(|&point| of(&[point]).part(&[point], is_check));
            parts.fold(
                vec![vec![]; 2],
                |mut all: Vec<Vec<Option<f64>>>, (values, failure)| {
                    assert_eq!(failure, None);
                    all.iter_mut()
                        .zip(values)
                        .for_each(|(all, values)| all.extend(values));
                    all
                },
            )
        };
        let gatherer = of(&[]);
        assert_eq!(
            (
                gatherer.points(),
                gatherer.policies(),
                gatherer.checked().len()
            ),
            (6, 2, 2)
        );
        let (values, check) = (
            joined(&[0, 1, 2, 3, 4, 5], false),
            joined(&gatherer.checked(), true),
        );
        assert_eq!(
            gatherer
                .gathered(&by, values.clone(), Some(&check))
                .unwrap(),
            whole
        );
        assert!(gatherer.gathered(&by, values[..1].to_vec(), None).is_err());
        assert!(gatherer.gathered(&by, values, Some(&check[..1])).is_err());
    }

    #[test]
    fn chosen_points_are_distinct_and_reproducible() {
        let drawn = draw(576, 20);
        assert_eq!((drawn.len(), &drawn), (20, &draw(576, 20)));
        assert!(
            drawn.windows(2).all(|pair| pair[0] < pair[1]) && drawn[19] < 576,
            "{drawn:?}"
        );
        assert_eq!(draw(3, 5), [0, 1, 2]);
        // Not only from one end of the range.
        assert!(drawn[0] < 200 && drawn[19] > 376, "{drawn:?}");
    }
}
