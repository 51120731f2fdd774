//! Figures as stated under `papers/`.

use joulepath_report::{Bars, Boxes, Figure, FiveNumbers, Line, Plot};
use serde::Deserialize;
use toml::Spanned;

use super::computed::Computed;
use super::evidence::{Cell, Evidence};
use super::metrics::{Metric, Run, Sampled, SeriesMetric};
use super::names::Names;
use super::wrong::Wrong;

/// Maximum number of points of a line, more than a figure's width in pixels.
const MOST_POINTS: usize = 400;

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Drawing {
    title: Spanned<String>,
    /// Quantity and unit of the horizontal axis.
    #[serde(default)]
    x: String,
    /// Quantity and unit of the vertical axis.
    #[serde(default)]
    y: String,
    #[serde(default)]
    log_x: bool,
    #[serde(default)]
    lines: Vec<DrawnLine>,
    bars: Option<Groups>,
    /// Box plots over the seeds.
    boxes: Option<Groups>,
}

/// Bars side by side: a group for each study, a colour for each policy.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Groups {
    metric: Option<Spanned<Metric>>,
    /// Studies; default: all of the experiment.
    #[serde(default)]
    studies: Vec<Spanned<String>>,
    #[serde(default)]
    policies: Vec<Spanned<String>>,
    /// The paper's number for each policy. If given, the groups are the policies, in one colour.
    #[serde(default)]
    stated: Vec<f64>,
    /// Names of the groups of `computed`.
    #[serde(default)]
    groups: Vec<String>,
    #[serde(default)]
    computed: Vec<ComputedBars>,
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct ComputedBars {
    name: String,
    /// One value for each group.
    values: Vec<Computed>,
}

/// A line. Its keys select its horizontal axis: `series`: time; `x`: policies; `from` and `to`: the
/// argument of a computed number; else the studies.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct DrawnLine {
    /// Name in the legend; default: the policy's name.
    name: Option<String>,
    of: Option<Spanned<String>>,
    /// Studies; default: all of the experiment.
    #[serde(default)]
    studies: Vec<Spanned<String>>,
    metric: Option<Spanned<Metric>>,
    series: Option<Spanned<SeriesMetric>>,
    /// Policies, one for each `x`.
    #[serde(default)]
    policies: Vec<Spanned<String>>,
    #[serde(default)]
    x: Vec<f64>,
    /// Policy in the denominator.
    over: Option<Spanned<String>>,
    computed: Option<Computed>,
    /// A number that the paper states, drawn from `from` to `to`.
    level: Option<f64>,
    #[serde(default)]
    from: u32,
    #[serde(default)]
    to: u32,
    /// Points of a computed line per unit of its argument.
    #[serde(default)]
    per_unit: u32,
    /// Whether the line is the paper's.
    #[serde(default)]
    stated: bool,
}

impl Drawing {
    /// Checks the names and fills in the default studies.
    ///
    /// # Errors
    /// If a name does not exist, or keys contradict each other.
    pub(super) fn check(&mut self, names: &Names<'_>) -> Result<(), Wrong> {
        let here = self.title.span();
        let kinds = [
            !self.lines.is_empty(),
            self.bars.is_some(),
            self.boxes.is_some(),
        ];
        if kinds.iter().filter(|is_there| **is_there).count() != 1 {
            return Err(Wrong::at(
                &here,
                "a figure has one of `lines`, `bars` and `boxes`",
            ));
        }
        for groups in self.bars.iter_mut().chain(&mut self.boxes) {
            let Some(metric) = &groups.metric else {
                let fits = |bars: &ComputedBars| bars.values.len() == groups.groups.len();
                return match groups.computed.iter().all(fits) && !groups.computed.is_empty() {
                    true => Ok(()),
                    false => Err(Wrong::at(
                        &here,
                        "it needs `metric`, or `computed` with a value for each group",
                    )),
                };
            };
            names.fill_studies(&mut groups.studies, &here)?;
            for study in &groups.studies {
                names.measures(
                    metric.get_ref().is_slotted(),
                    study.get_ref(),
                    &metric.span(),
                )?;
                groups
                    .policies
                    .iter()
                    .try_for_each(|policy| names.policy(policy, study.get_ref()))?;
            }
            if !groups.stated.is_empty() && groups.studies.len() > 1 {
                return Err(Wrong::at(&here, "`stated` needs policies of one study"));
            }
        }
        self.lines
            .iter_mut()
            .try_for_each(|line| line.check(names, &here))
    }

    pub(super) fn figure(&self, evidence: &Evidence<'_>) -> Figure {
        let plot = match (&self.bars, &self.boxes) {
            (Some(groups), _) => groups.bars(evidence),
            (_, Some(groups)) => groups.boxes(evidence),
            _ => {
                let lines = self.lines.iter().map(|line| line.line(evidence)).collect();
                Plot::Lines {
                    lines,
                    log_x: self.log_x,
                }
            }
        };
        Figure {
            title: self.title.get_ref().clone(),
            x: self.x.clone(),
            y: self.y.clone(),
            plot,
        }
    }
}

impl Groups {
    fn cell<'a>(&'a self, study: &'a Spanned<String>, policy: &'a Spanned<String>) -> Cell<'a> {
        let metric = *self.metric.as_ref().expect("`check` has seen it").get_ref();
        Cell {
            study: study.get_ref(),
            policy: policy.get_ref(),
            metric,
        }
    }

    fn studies(&self) -> Vec<String> {
        self.studies
            .iter()
            .map(|study| study.get_ref().clone())
            .collect()
    }

    fn bars(&self, evidence: &Evidence<'_>) -> Plot {
        if !self.computed.is_empty() {
            let bars = self.computed.iter().map(|of| Bars {
                name: of.name.clone(),
                values: of.values.iter().map(|number| number.sample().0).collect(),
                stated: vec![],
            });
            return Plot::Bars {
                groups: self.groups.clone(),
                bars: bars.collect(),
            };
        }
        let mean = |study, policy| evidence.mean(self.cell(study, policy));
        if !self.stated.is_empty() {
            let study = &self.studies[0];
            let stated = (0..self.policies.len()).map(|at| self.stated.get(at).copied());
            let values = self
                .policies
                .iter()
                .map(|policy| mean(study, policy))
                .collect();
            let bars = vec![Bars {
                name: "measured".to_owned(),
                values,
                stated: stated.collect(),
            }];
            let groups = self
                .policies
                .iter()
                .map(|policy| policy.get_ref().clone())
                .collect();
            return Plot::Bars { groups, bars };
        }
        let bars = self.policies.iter().map(|policy| Bars {
            name: policy.get_ref().clone(),
            values: self
                .studies
                .iter()
                .map(|study| mean(study, policy))
                .collect(),
            stated: vec![],
        });
        Plot::Bars {
            groups: self.studies(),
            bars: bars.collect(),
        }
    }

    fn boxes(&self, evidence: &Evidence<'_>) -> Plot {
        let five = |study, policy| FiveNumbers::of(evidence.values(self.cell(study, policy)));
        let boxes = self.policies.iter().map(|policy| Boxes {
            name: policy.get_ref().clone(),
            values: self
                .studies
                .iter()
                .map(|study| five(study, policy))
                .collect(),
        });
        Plot::Boxes {
            groups: self.studies(),
            boxes: boxes.collect(),
        }
    }
}

impl DrawnLine {
    fn check(&mut self, names: &Names<'_>, here: &std::ops::Range<usize>) -> Result<(), Wrong> {
        let wrong = |message: &str| Err(Wrong::at(here, message));
        if self.name.is_none() && self.of.is_none() {
            return wrong("a line without `of` needs a `name`");
        }
        if self.level.is_some() || self.computed.is_some() {
            return match self.computed.is_some() && self.per_unit == 0 {
                true => wrong("a computed line needs `per_unit`, its points per unit"),
                false => Ok(()),
            };
        }
        names.fill_studies(&mut self.studies, here)?;
        let (is_slotted, span) = match (&self.metric, &self.series) {
            (Some(metric), None) => (metric.get_ref().is_slotted(), metric.span()),
            (None, Some(series)) => (series.get_ref().is_slotted(), series.span()),
            _ => return wrong("a line has one of `metric`, `series`, `computed` and `level`"),
        };
        if self.of.is_none() && (self.policies.is_empty() || self.policies.len() != self.x.len()) {
            return wrong("a line needs `of` with a policy, or `policies` with an `x` for each");
        }
        for study in &self.studies {
            names.measures(is_slotted, study.get_ref(), &span)?;
            let policies = self.policies.iter().chain(&self.of).chain(&self.over);
            policies
                .into_iter()
                .try_for_each(|policy| names.policy(policy, study.get_ref()))?;
        }
        Ok(())
    }

    fn line(&self, evidence: &Evidence<'_>) -> Line {
        let policy = self.of.as_ref().map(|of| of.get_ref().as_str());
        let name = self.name.as_deref().or(policy).unwrap_or_default();
        let (from, to) = (f64::from(self.from), f64::from(self.to));
        if let Some(level) = self.level {
            return Line {
                stated: true,
                ..Line::new(name, [from, to].map(|x| (x, Some(level))))
            };
        }
        if let Some(computed) = self.computed {
            let per_unit = f64::from(self.per_unit);
            let at = (self.from * self.per_unit..=self.to * self.per_unit)
                .map(|at| f64::from(at) / per_unit);
            let line = Line::new(name, at.map(|x| (x, Some(computed.at(x).value()))));
            return Line {
                stated: self.stated,
                ..line
            };
        }
        let study = self.studies[0].get_ref().as_str();
        if let Some(series) = &self.series {
            let (name, points) = (
                name,
                over_time(
                    evidence.of(study, policy.unwrap_or_default()),
                    *series.get_ref(),
                ),
            );
            return Line::new(name, points);
        }
        let metric = *self.metric.as_ref().expect("`check` has seen it").get_ref();
        let Some(policy) = policy else {
            return self.over_policies(evidence, name, study, metric);
        };
        let point = |study: &Spanned<String>| {
            let study = study.get_ref().as_str();
            Some((
                evidence.x(study)?,
                evidence.mean(Cell {
                    study,
                    policy,
                    metric,
                }),
            ))
        };
        Line::with_band(name, self.studies.iter().filter_map(point))
    }

    fn over_policies(
        &self,
        evidence: &Evidence<'_>,
        name: &str,
        study: &str,
        metric: Metric,
    ) -> Line {
        let cells = self.policies.iter().map(|policy| Cell {
            study,
            policy: policy.get_ref(),
            metric,
        });
        let points = self.x.iter().copied().zip(cells);
        match &self.over {
            None => Line::with_band(name, points.map(|(x, cell)| (x, evidence.mean(cell)))),
            Some(over) => {
                let ratio = |cell: Cell<'_>| {
                    let pairs = evidence.pairs(&[(
                        cell,
                        Cell {
                            policy: over.get_ref(),
                            ..cell
                        },
                    )]);
                    joulepath_report::ratio_interval(&pairs).map(|ours| ours.mean)
                };
                Line::new(name, points.map(|(x, cell)| (x, ratio(cell))))
            }
        }
    }
}

/// Points of a line over time: mean over the seeds, or the first seed's blocks.
fn over_time(runs: &[Run<'_>], metric: SeriesMetric) -> Vec<(f64, Option<f64>)> {
    let engine = runs.iter().filter_map(|run| {
        if let Run::Engine(run) = run {
            run.series.as_ref()
        } else {
            None
        }
    });
    match metric.sampled {
        Sampled::Engine(value) => {
            let values: Vec<Vec<f64>> = engine
                .clone()
                .map(|series| value(series, metric.path))
                .collect();
            // Runs of a scenario are sampled at the same times; a run that ended early has fewer
            // samples.
            let length = values.iter().map(Vec::len).min().unwrap_or(0);
            let step = length.div_ceil(MOST_POINTS).max(1);
            let at = |i: usize| mean(values.iter().map(|v| v[i]).filter(|v| v.is_finite()));
            let Some(first) = engine.into_iter().next() else {
                return vec![];
            };
            (0..length)
                .skip(step - 1)
                .step_by(step)
                .map(|i| (first.time_s[i], at(i)))
                .collect()
        }
        Sampled::Blocks(value) => {
            let Some(blocks) = engine.filter_map(|series| series.blocks.as_ref()).next() else {
                return vec![];
            };
            let step = blocks.time_s.len().div_ceil(MOST_POINTS).max(1);
            let values = value(blocks).into_iter().map(Some);
            blocks
                .time_s
                .iter()
                .copied()
                .zip(values)
                .step_by(step)
                .collect()
        }
        Sampled::Slotted(value) => {
            let slotted: Vec<_> = runs
                .iter()
                .filter_map(|run| {
                    if let Run::Slotted(run) = run {
                        Some(*run)
                    } else {
                        None
                    }
                })
                .collect();
            let values: Vec<Vec<Option<f64>>> =
                slotted.iter().map(|run| value(run, metric.path)).collect();
            let Some(first) = slotted.first() else {
                return vec![];
            };
            let at = |i: usize| {
                mean(
                    values
                        .iter()
                        .filter_map(|of_run| of_run.get(i).copied().flatten()),
                )
            };
            // Every second point: a figure has no more pixels.
            (0..first.series.time_s.len())
                .step_by(2)
                .map(|i| (first.series.time_s[i], at(i)))
                .collect()
        }
    }
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let values: Vec<f64> = values.collect();
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}
