//! Findings as stated under `papers/`: a measured number and the number or relation to check.

use std::collections::BTreeMap;

use joulepath_model::result::Estimate;
use joulepath_report::{Finding, Rule, interval, prediction, ratio_interval};
use serde::Deserialize;
use toml::Spanned;

use super::boxes::ClaimBox;
use super::computed::Computed;
use super::evidence::{Cell, Evidence};
use super::metrics::{Metric, Run, Sampled, SeriesMetric, leads_from};
use super::names::Names;
use super::number::Number;
use super::wrong::{Wrong, known_name};

/// Tolerance of a stated number, relative. All experiments share it.
const OF_A_NUMBER: f64 = 0.1;
/// Tolerance of a stated effect, relative to its distance from 1.
const OF_AN_EFFECT: f64 = 0.2;

/// A number or relation. Without a rule it is shown and not judged.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Row {
    what: Spanned<String>,
    /// Replaces the metric's unit.
    unit: Option<String>,
    /// Reading of the paper for this measurement, for readers.
    reading: Option<String>,
    /// The finding exists only for these values of parameters of the box.
    #[serde(default)]
    when: BTreeMap<String, Spanned<String>>,

    metric: Option<Spanned<Metric>>,
    /// Name of the policy.
    of: Option<Spanned<String>>,
    /// Studies, summed seed by seed; default: all of the experiment.
    #[serde(default)]
    studies: Vec<Spanned<String>>,
    /// Policy in the denominator, if it differs from the numerator's.
    over: Option<Spanned<String>>,
    over_study: Option<Spanned<String>>,
    over_metric: Option<Spanned<Metric>>,
    /// Measures the time from which a series of `of` stays above a series of `over`.
    leads: Option<Spanned<SeriesMetric>>,
    over_series: Option<SeriesMetric>,
    /// A number that needs no run.
    computed: Option<Computed>,
    over_computed: Option<Computed>,

    /// Whether the paper has a single run.
    #[serde(default)]
    one_run: bool,
    /// Whether the claim includes it although it cannot be judged. The reason names it.
    #[serde(default)]
    rival: bool,
    /// The study with this ratio represents all.
    best: Option<Best>,
    /// Among findings with the same word, only the lowest is judged.
    pub(super) candidate: Option<String>,

    stated: Option<Number>,
    /// Replaces the default tolerance of `stated` and `up_to`.
    tolerance: Option<Number>,
    up_to: Option<Number>,
    above: Option<Number>,
    below: Option<Number>,
    within: Option<(Number, Number)>,
}

/// Ratio that represents a sweep.
#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Best {
    Largest,
    Smallest,
}

impl Row {
    /// Checks the names and fills in the default studies.
    ///
    /// # Errors
    /// If a name does not exist, or keys contradict each other.
    pub(super) fn check(
        &mut self,
        names: &Names<'_>,
        in_box: Option<&ClaimBox>,
    ) -> Result<(), Wrong> {
        let here = self.what.span();
        let wrong = |message: &str| Err(Wrong::at(&here, message));
        let sources = [
            self.metric.is_some(),
            self.leads.is_some(),
            self.computed.is_some(),
        ];
        if sources.iter().filter(|is_there| **is_there).count() != 1 {
            return wrong("a finding has one of `metric`, `leads` and `computed`");
        }
        let rules = [&self.stated, &self.up_to, &self.above, &self.below]
            .iter()
            .filter(|rule| rule.is_some())
            .count();
        if rules + usize::from(self.within.is_some()) > 1 {
            return wrong("a finding has one of `stated`, `up_to`, `above`, `below` and `within`");
        }
        if self.rival && (rules > 0 || self.within.is_some()) {
            return wrong("`rival` is for a finding without a rule");
        }
        if self.tolerance.is_some() && self.stated.is_none() && self.up_to.is_none() {
            return wrong("`tolerance` belongs to `stated` or `up_to`");
        }
        for (key, value) in &self.when {
            let values = in_box.and_then(|in_box| in_box.reading(key));
            let Some(values) = values else {
                return Err(Wrong::at(
                    &value.span(),
                    &format!("the box has no reading `{key}`"),
                ));
            };
            known_name("reading", value, values.iter().map(String::as_str))?;
        }
        if self.computed.is_some() {
            return Ok(());
        }
        let Some(of) = &self.of else {
            return wrong("a finding names a policy; write for example of = \"LIA\"");
        };
        names.fill_studies(&mut self.studies, &here)?;
        for study in &self.studies {
            names.policy(of, study.get_ref())?;
            let other = self.over_study.as_ref().unwrap_or(study);
            names.study(other)?;
            names.policy(self.over.as_ref().unwrap_or(of), other.get_ref())?;
            if let Some(metric) = &self.metric {
                names.measures(
                    metric.get_ref().is_slotted(),
                    study.get_ref(),
                    &metric.span(),
                )?;
            }
            if let Some(metric) = &self.over_metric {
                names.measures(
                    metric.get_ref().is_slotted(),
                    other.get_ref(),
                    &metric.span(),
                )?;
            }
            if let Some(series) = &self.leads {
                names.measures(
                    series.get_ref().is_slotted(),
                    study.get_ref(),
                    &series.span(),
                )?;
            }
        }
        match self.is_ratio() {
            true if self.leads.is_none() => Ok(()),
            _ if self.best.is_some() => {
                wrong("the best of a sweep is a ratio; write for example over = \"LIA\"")
            }
            _ if self.studies.len() > 1 => {
                wrong("a mean is of one study; name it, as in studies = [\"…\"]")
            }
            _ => Ok(()),
        }
    }

    fn is_ratio(&self) -> bool {
        self.over.is_some() || self.over_study.is_some() || self.over_metric.is_some()
    }

    /// Name of the measured quantity.
    pub(super) fn what(&self) -> &str {
        self.what.get_ref()
    }

    /// Whether it is judged by time series.
    pub(super) fn needs_series(&self) -> bool {
        self.leads.is_some() && self.rule() != Rule::Shown
    }

    /// True if `when` matches the evidence's readings.
    pub(super) fn applies(&self, evidence: &Evidence<'_>, in_box: Option<&ClaimBox>) -> bool {
        self.when.iter().all(|(key, wanted)| {
            let usual = in_box.and_then(|in_box| in_box.reading(key)?.first());
            evidence.reading(key).or(usual.map(String::as_str)) == Some(wanted.get_ref().as_str())
        })
    }

    /// The rule. The tolerance of a ratio is relative to its distance from 1.
    fn rule(&self) -> Rule {
        let tolerance = |usual: f64| self.tolerance.map_or(usual, |tolerance| tolerance.0);
        let effect = tolerance(OF_AN_EFFECT);
        match (self.stated, self.up_to, self.above, self.below, self.within) {
            (Some(Number(stated)), ..) if self.is_ratio() && self.leads.is_none() => Rule::Ratio {
                stated,
                tolerance: effect,
            },
            (Some(Number(stated)), ..) => Rule::Value {
                stated,
                tolerance: tolerance(OF_A_NUMBER),
            },
            (_, Some(Number(stated)), ..) => Rule::UpTo {
                stated,
                tolerance: effect,
            },
            (_, _, Some(Number(than)), ..) => Rule::Above { than },
            (.., Some(Number(than)), _) => Rule::Below { than },
            (.., Some((Number(low), Number(high)))) => Rule::Within { low, high },
            _ => Rule::Shown,
        }
    }

    /// Whether the verdict depends on a policy's runs in a study.
    pub(super) fn decides(&self, study: &str, policy: &str) -> bool {
        let is_judged = self.metric.is_some() && !matches!(self.rule(), Rule::Shown);
        let cells = |of| [self.cell(of), self.below(of)];
        let is_it = |cell: Cell<'_>| cell.study == study && cell.policy == policy;
        is_judged && self.studies.iter().flat_map(cells).any(is_it)
    }

    /// Measures the number and judges it.
    pub(super) fn finding(&self, evidence: &Evidence<'_>) -> Finding {
        let mut finding = match (&self.computed, &self.leads) {
            (Some(computed), _) => self.computed(*computed),
            (None, Some(series)) => self.lead(evidence, *series.get_ref()),
            (None, None) if self.best.is_some() => self.best_of_sweep(evidence),
            (None, None) if self.is_ratio() => self.ratio(evidence, &self.studies),
            (None, None) => self.mean(evidence),
        };
        finding.rival = self.rival;
        match &self.reading {
            Some(reading) => finding.under(reading),
            None => finding,
        }
    }

    fn computed(&self, number: Computed) -> Finding {
        let unit = self.unit.as_deref().unwrap_or_default();
        let (measured, n) = match self.over_computed {
            Some(below) => number.over(below),
            None => number.sample(),
        };
        Finding::new(self.what.get_ref(), unit, self.rule(), measured, n)
    }

    fn mean(&self, evidence: &Evidence<'_>) -> Finding {
        let cell = self.cell(&self.studies[0]);
        let values = evidence.values(cell);
        let unit = self.unit.as_deref().unwrap_or(cell.metric.unit());
        match self.one_run {
            true => Finding::of_one_run(self.what.get_ref(), unit, self.rule(), &values),
            false => Finding::new(
                self.what.get_ref(),
                unit,
                self.rule(),
                interval(&values),
                values.len(),
            ),
        }
    }

    fn ratio(&self, evidence: &Evidence<'_>, studies: &[Spanned<String>]) -> Finding {
        let cells: Vec<_> = studies
            .iter()
            .map(|study| (self.cell(study), self.below(study)))
            .collect();
        let pairs = evidence.pairs(&cells);
        let finding = Finding::new(
            self.what.get_ref(),
            "",
            self.rule(),
            ratio_interval(&pairs),
            pairs.len(),
        );
        if !self.one_run {
            return finding;
        }
        let ratios: Vec<f64> = pairs.iter().map(|(above, below)| above / below).collect();
        finding.with_run(prediction(&ratios))
    }

    fn best_of_sweep(&self, evidence: &Evidence<'_>) -> Finding {
        let of_study = |at: usize| {
            let finding = self.ratio(evidence, &self.studies[at..=at]);
            let best_at = Some(self.studies[at].get_ref().clone());
            Some((finding.measured?.mean, Finding { best_at, ..finding }))
        };
        let best = (0..self.studies.len()).filter_map(of_study).max_by(|a, b| {
            let order = a.0.total_cmp(&b.0);
            if self.best == Some(Best::Largest) {
                order
            } else {
                order.reverse()
            }
        });
        best.map_or_else(
            || Finding::new(self.what.get_ref(), "", self.rule(), None, 0),
            |best| best.1,
        )
    }

    fn lead(&self, evidence: &Evidence<'_>, series: SeriesMetric) -> Finding {
        let study = self.studies[0].get_ref();
        let (of, over) = (self.of.as_ref(), self.over.as_ref().or(self.of.as_ref()));
        let runs = |policy: Option<&Spanned<String>>| {
            policy.map_or(&[][..], |policy| evidence.of(study, policy.get_ref()))
        };
        let below = self.over_series.unwrap_or(series);
        let of_run = |run: &Run<'_>| {
            let other = runs(over).iter().find(|other| other.seed() == run.seed())?;
            let (Run::Engine(ours), Run::Engine(theirs)) = (run, other) else {
                return None;
            };
            let (ours, theirs) = (ours.series.as_ref()?, theirs.series.as_ref()?);
            let (Sampled::Engine(above), Sampled::Engine(lower)) = (series.sampled, below.sampled)
            else {
                return None;
            };
            let lead = leads_from(
                &theirs.time_s,
                &above(ours, series.path),
                &lower(theirs, below.path),
            )?;
            Some((lead, *theirs.time_s.last()?))
        };
        let (leads, ends): (Vec<f64>, Vec<f64>) = runs(of).iter().filter_map(of_run).unzip();
        // Student's t does not know that the time lies between the run's start and its end.
        let end = ends.into_iter().fold(0.0, f64::max);
        let inside = |time: f64| time.clamp(0.0, end);
        let measured = interval(&leads).map(|ours| Estimate {
            lo: inside(ours.lo),
            hi: inside(ours.hi),
            ..ours
        });
        let run = prediction(&leads).map(|(low, high)| (inside(low), inside(high)));
        Finding::new(self.what.get_ref(), "s", self.rule(), measured, leads.len()).with_run(run)
    }

    fn cell<'a>(&'a self, study: &'a Spanned<String>) -> Cell<'a> {
        let metric = self.metric.as_ref().expect("`check` has seen it");
        let policy = self.of.as_ref().expect("`check` has seen it");
        Cell {
            study: study.get_ref(),
            policy: policy.get_ref(),
            metric: *metric.get_ref(),
        }
    }

    fn below<'a>(&'a self, study: &'a Spanned<String>) -> Cell<'a> {
        let above = self.cell(study);
        Cell {
            study: self
                .over_study
                .as_ref()
                .map_or(above.study, |study| study.get_ref()),
            policy: self
                .over
                .as_ref()
                .map_or(above.policy, |policy| policy.get_ref()),
            metric: self
                .over_metric
                .as_ref()
                .map_or(above.metric, |metric| *metric.get_ref()),
        }
    }
}
