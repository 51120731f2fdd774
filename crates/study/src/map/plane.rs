//! All scenarios of the plane and their runs.

use std::collections::{BTreeMap, BTreeSet};

use joulepath_control::Setup;
use joulepath_model::cancel::Cancel;
use joulepath_model::metric::Metric;
use joulepath_model::policy::Policy;
use joulepath_model::result::RunResult;
use joulepath_model::scenario::Scenario;
use joulepath_report::map::Axis;

use super::axis::set;
use crate::batch::{Row, Wanted};
use crate::engine::{Engine, Task};
use crate::error::{Kind, Result};
use crate::policies;
use crate::source::{Overrides, Source};

/// A scenario of the plane.
struct Point {
    /// Title and place in the plane, for messages.
    name: String,
    scenario: Scenario,
    setups: Vec<Setup>,
    overrides: Overrides,
}

/// The points that are needed, by their number, row by row from the lowest y.
pub(super) struct Plane {
    /// The scenario without the values of the axes.
    pub(super) plain: Scenario,
    pub(super) sha256: String,
    points: BTreeMap<usize, Point>,
    /// Number of points of the whole plane.
    size: usize,
    /// Notes for users about the choice of policies.
    pub(super) notes: Vec<String>,
}

impl Plane {
    /// Loads and checks the chosen points, or all, before anything runs. The first point is always
    /// among them. `None` if cancelled.
    ///
    /// # Errors
    /// If a key or a value is wrong, or the engine cannot run the scenario at some point.
    pub(super) fn load(
        source: &Source,
        fixed: &Overrides,
        axes: &[Axis; 2],
        asked: Option<&[Policy]>,
        chosen: Option<&BTreeSet<usize>>,
        engine: &dyn Engine,
        cancel: &Cancel,
    ) -> Result<Option<Self>> {
        // Load the scenario itself first, so that its own mistakes are not reported as those of a
        // point.
        let plain = source.load(fixed)?;
        let kind = if asked.is_some() {
            Kind::Usage
        } else {
            Kind::Failed
        };
        let (mut asked_or_named, mut notes) = (asked.map(<[Policy]>::to_vec), vec![]);
        let [columns, rows] = [&axes[0], &axes[1]].map(|axis| axis.numbers.len());
        let mut points = BTreeMap::new();
        let is_needed =
            |point: &usize| *point == 0 || chosen.is_none_or(|chosen| chosen.contains(point));
        for point in (0..columns * rows).filter(is_needed) {
            let (x, y) = (point % columns, point / columns);
            if cancel.is_set() {
                return Ok(None);
            }
            let overrides: Overrides = fixed
                .iter()
                .cloned()
                .chain(set(&axes[0], x))
                .chain(set(&axes[1], y))
                .collect();
            let scenario = source.load(&overrides)?;
            let policies = match &asked_or_named {
                Some(policies) => policies,
                None => {
                    let named;
                    (named, notes) = policies::runnable(&scenario, &[engine])?;
                    asked_or_named.insert(named)
                }
            };
            let setups = policies::prepare(policies, &scenario, kind)?;
            engine.check(&scenario, &setups)?;
            let name = format!("{}, {}", axes[0].place(x), axes[1].place(y));
            points.insert(
                point,
                Point {
                    name,
                    scenario,
                    setups,
                    overrides,
                },
            );
        }
        Ok(Some(Plane {
            sha256: source.sha256(&plain),
            plain,
            points,
            size: columns * rows,
            notes,
        }))
    }

    /// Number of points of the whole plane.
    pub(super) fn len(&self) -> usize {
        self.size
    }

    /// Names and labels of the policies.
    pub(super) fn policies(&self) -> impl Iterator<Item = (&str, &str)> {
        self.points[&0]
            .setups
            .iter()
            .map(|setup| (setup.policy(), setup.label()))
    }

    /// Runs of all policies at the `chosen` points.
    pub(super) fn rows<'a>(
        &'a self,
        chosen: &'a [usize],
        engine: &'a dyn Engine,
        seeds: &'a [u64],
    ) -> Vec<Row<'a>> {
        let of_point = |point: &usize| {
            let point = &self.points[point];
            let row = move |setup| Row {
                run: Wanted {
                    engine,
                    name: &point.name,
                    scenario: &point.scenario,
                    setup,
                    task: Task {
                        seed: 0,
                        series: false,
                        settles: true,
                    },
                    identity: (&self.sha256, &point.overrides),
                },
                seeds,
                series: 0,
            };
            point.setups.iter().map(row)
        };
        chosen.iter().flat_map(of_point).collect()
    }

    /// The metric by policy, then by point, over the runs of each of [`Plane::rows`]; `None` where
    /// runs are missing.
    pub(super) fn values(
        &self,
        rows: impl IntoIterator<Item = Option<Vec<RunResult>>>,
        metric: &Metric,
    ) -> Vec<Vec<Option<f64>>> {
        let mut values = vec![vec![]; self.policies().count()];
        let policies = values.len();
        for (place, runs) in rows.into_iter().enumerate() {
            values[place % policies].push(runs.and_then(|runs| metric.mean(&runs)));
        }
        values
    }
}
