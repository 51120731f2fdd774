//! Every scenario of the plane, and its runs.

use std::sync::atomic::AtomicBool;

use joulepath_model::result::RunResult;
use joulepath_model::scenario::Scenario;

use super::axis::Axis;
use crate::cli::{MapMetric, MapOptions};
use crate::contenders::{self, Contender};
use crate::engine::Runner;
use crate::failure::{Exit, Failure};
use crate::progress::Progress;
use crate::source::{Overrides, Source};
use crate::study::{self, Task};
use crate::terminal;

/// One scenario of the plane.
pub(super) struct Point {
    scenario: Scenario,
    contenders: Vec<Contender>,
}

/// All of them: row by row from the lowest y.
pub(super) struct Plane {
    pub(super) title: String,
    pub(super) name: String,
    pub(super) sha256: String,
    pub(super) set: Overrides,
    pub(super) axes: [Axis; 2],
    pub(super) points: Vec<Point>,
    /// Name and label.
    pub(super) policies: Vec<(String, String)>,
}

/// One run at one point.
#[derive(Clone, Copy)]
struct Job {
    /// Index into the chosen points.
    place: usize,
    policy: usize,
    seed: u64,
}

impl MapMetric {
    fn of(self, run: &RunResult) -> Option<f64> {
        match self {
            MapMetric::BitsPerJoule => Some(run.bits_per_joule),
            MapMetric::Goodput => Some(run.goodput_bps),
            MapMetric::Energy => Some(run.energy_j),
            MapMetric::Completion => run.completion_s,
        }
    }
}

impl Plane {
    /// Loads every point and checks it: nothing runs before all are right.
    ///
    /// # Errors
    /// If a key or a value is wrong, or the engine cannot run what it makes.
    pub(super) fn load(
        source: &Source,
        set: Overrides,
        axes: [Axis; 2],
        policies: Option<&str>,
        engine: &dyn Runner,
    ) -> Result<Self, Failure> {
        // The scenario itself, so that its own mistakes are not told as those of a point.
        let plain = source.load(&set)?;
        let asked = match policies {
            Some(list) => contenders::parse(list)?,
            None => plain.compare.policies.clone(),
        };
        let wrong = if policies.is_some() { Exit::Usage } else { Exit::Failed };
        let [columns, rows] = [&axes[0], &axes[1]].map(|axis| axis.numbers.len());
        let mut points = Vec::with_capacity(columns * rows);
        for (y, x) in (0..rows).flat_map(|y| (0..columns).map(move |x| (y, x))) {
            let overrides: Overrides =
                set.iter().cloned().chain(axes[0].set(x)).chain(axes[1].set(y)).collect();
            let scenario = source.load(&overrides)?;
            let contenders = contenders::prepare(&asked, &scenario, wrong)?;
            engine.check(&scenario, &contenders)?;
            points.push(Point { scenario, contenders });
        }
        let policies = points[0].contenders.iter().map(|c| (c.policy.clone(), c.label.clone())).collect();
        Ok(Plane {
            title: plain.title.clone(),
            name: source.name.clone(),
            sha256: source.sha256(&plain),
            set,
            axes,
            points,
            policies,
        })
    }

    /// The metric at the `chosen` points, by policy: means over the seeds, none where runs are missing. And whether some failed,
    /// which is said.
    pub(super) fn values(
        &self,
        chosen: &[usize],
        seeds: u32,
        engine: &dyn Runner,
        options: &MapOptions,
        stop: &AtomicBool,
    ) -> (Vec<Vec<Option<f64>>>, bool) {
        let policies = 0..self.policies.len();
        let mut jobs = vec![];
        for seed in 1..=u64::from(seeds) {
            for place in 0..chosen.len() {
                jobs.extend(policies.clone().map(|policy| Job { place, policy, seed }));
            }
        }
        let mut progress = Progress::new(jobs.len(), None, options.quiet);
        let work = |job: &Job| {
            let Point { scenario, contenders } = &self.points[chosen[job.place]];
            let task = Task { policy: job.policy, seed: job.seed, series: false };
            engine.run(scenario, &contenders[job.policy], &task)
        };
        let done = study::run(&jobs, study::cores(options.jobs), stop, work, |_, _| progress.advance());
        progress.finish();
        let mut sums = vec![vec![(0.0, 0u32); chosen.len()]; policies.len()];
        let mut failed = vec![];
        for (job, outcome) in done {
            match outcome {
                Ok(run) => {
                    if let Some(value) = options.metric.of(&run) {
                        let (sum, count) = &mut sums[job.policy][job.place];
                        (*sum, *count) = (*sum + value, *count + 1);
                    }
                }
                Err(error) => failed.push((job, error)),
            }
        }
        if let Some((job, error)) = failed.first() {
            let more = if failed.len() > 1 {
                format!(" (and {} more runs)", failed.len() - 1)
            } else {
                String::new()
            };
            let (policy, place) = (&self.policies[job.policy].0, self.place(chosen[job.place]));
            terminal::tell(&format!("error: `{policy}` at {place}, {} engine: {error}{more}", engine.name()));
        }
        let mean = |(sum, count): (f64, u32)| (count == seeds).then(|| sum / f64::from(count));
        let means = sums.into_iter().map(|sums| sums.into_iter().map(mean).collect());
        (means.collect(), !failed.is_empty())
    }

    /// Column and row of a point.
    pub(super) fn column_and_row(&self, point: usize) -> (usize, usize) {
        let columns = self.axes[0].numbers.len();
        (point % columns, point / columns)
    }

    /// A point for humans.
    pub(super) fn place(&self, point: usize) -> String {
        let (x, y) = self.column_and_row(point);
        format!(
            "{} = {}, {} = {}",
            self.axes[0].keys.join(", "),
            self.axes[0].value(x),
            self.axes[1].keys.join(", "),
            self.axes[1].value(y)
        )
    }
}
