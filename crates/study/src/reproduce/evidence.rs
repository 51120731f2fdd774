//! The runs of an experiment, as its examination sees them.

use joulepath_model::result::{Estimate, RunResult, Series};
use joulepath_report::{
    Bars, Boxes, Figure, Finding, FiveNumbers, Line, Plot, Rule, interval, prediction, ratio_interval,
};

use super::slotted::SlottedRuns;
use super::study::Study;

/// A number of a run.
pub(super) type Metric = fn(&RunResult) -> f64;

/// Most points of a line: more than a figure has pixels.
pub(super) const MOST_POINTS: usize = 400;

/// What has run. What is missing is missing in every estimate.
pub(super) struct Evidence<'a> {
    studies: &'a [Study],
    /// By study and policy, in the order of the seeds.
    runs: Vec<Vec<Vec<&'a RunResult>>>,
    slotted: &'a SlottedRuns,
    /// How the examination itself reads the paper, by what it leaves open: `metric` and `absolute energy`.
    readings: &'a [(&'static str, String)],
    /// Whether an experiment's other studies and policies are left out on purpose.
    is_part: bool,
}

impl<'a> Evidence<'a> {
    /// `runs` by study and policy, in the studies' order.
    pub(super) fn new(
        studies: &'a [Study],
        runs: Vec<Vec<Vec<&'a RunResult>>>,
        slotted: &'a SlottedRuns,
    ) -> Self {
        Evidence { studies, runs, slotted, readings: &[], is_part: false }
    }

    /// Under readings that differ from the usual ones.
    pub(super) fn under(self, readings: &'a [(&'static str, String)]) -> Self {
        Evidence { readings, ..self }
    }

    /// Of some of the experiment's studies and policies: those that are left out have no runs.
    pub(super) fn in_part(self) -> Self {
        Evidence { is_part: true, ..self }
    }

    /// How `what` is read; none if as usual.
    pub(super) fn reading(&self, what: &str) -> Option<&'a str> {
        self.readings.iter().find(|(known, _)| *known == what).map(|(_, reading)| reading.as_str())
    }

    /// Names of the studies, in their order.
    pub(super) fn studies(&self) -> Vec<&'a str> {
        self.studies.iter().map(|study| study.name.as_str()).collect()
    }

    /// The runs of 003's slotted system.
    pub(super) fn slotted(&self) -> &'a SlottedRuns {
        self.slotted
    }

    /// The runs of a policy on a study.
    ///
    /// # Panics
    /// If the experiment has no such study or policy: a slip in its description, found by its test.
    pub(super) fn of(&self, study: &str, policy: &str) -> &[&'a RunResult] {
        let index = self.studies.iter().position(|known| known.name == study);
        let policies = |index: usize| &self.studies[index].policies;
        let place = index.and_then(|index| policies(index).iter().position(|known| known == policy));
        match (index, place) {
            (Some(index), Some(place)) => &self.runs[index][place],
            _ if self.is_part => &[],
            (None, _) => panic!("the experiment has no study `{study}`"),
            (_, None) => panic!("study `{study}` has no policy `{policy}`"),
        }
    }

    /// Mean of a metric over the seeds.
    pub(super) fn mean(&self, study: &str, policy: &str, metric: Metric) -> Option<Estimate> {
        interval(&self.values(study, policy, metric))
    }

    /// A metric by seed; what is not finite is left out.
    pub(super) fn values(&self, study: &str, policy: &str, metric: Metric) -> Vec<f64> {
        self.of(study, policy).iter().map(|run| metric(run)).filter(|value| value.is_finite()).collect()
    }

    /// Metric of `above` and of `below` for every seed that both have, summed over those of `studies` that
    /// ran: small effects on many sizes add up.
    pub(super) fn pairs(
        &self,
        studies: &[&str],
        above: &str,
        below: &str,
        metric: Metric,
    ) -> Vec<(f64, f64)> {
        let ran = |study: &&str| !self.of(study, above).is_empty() && !self.of(study, below).is_empty();
        let studies: Vec<&str> = studies.iter().copied().filter(ran).collect();
        let of_seed = |seed: u64| {
            let sum = |policy: &str| -> Option<f64> {
                let of_study = |study: &&str| {
                    let run = self.of(study, policy).iter().find(|run| run.seed == seed)?;
                    Some(metric(run)).filter(|value| value.is_finite())
                };
                studies.iter().map(of_study).sum()
            };
            Some((sum(above)?, sum(below)?))
        };
        let first = studies.first().map_or(&[][..], |study| self.of(study, above));
        first.iter().filter_map(|run| of_seed(run.seed)).collect()
    }

    /// A finding on the mean of a metric.
    pub(super) fn finding(
        &self,
        what: &str,
        unit: &str,
        rule: Rule,
        (study, policy): (&str, &str),
        metric: Metric,
    ) -> Finding {
        let values = self.values(study, policy, metric);
        Finding::new(what, unit, rule, interval(&values), values.len())
    }

    /// A finding on a number that the paper has from a single run.
    pub(super) fn one_run(
        &self,
        what: &str,
        unit: &str,
        rule: Rule,
        (study, policy): (&str, &str),
        metric: Metric,
    ) -> Finding {
        Finding::of_one_run(what, unit, rule, &self.values(study, policy, metric))
    }

    /// A finding on the ratio of two policies that the paper has from a single run of each, seeds paired.
    pub(super) fn one_ratio(
        &self,
        what: &str,
        rule: Rule,
        study: &str,
        pair: (&str, &str),
        metric: Metric,
    ) -> Finding {
        let pairs = self.pairs(&[study], pair.0, pair.1, metric);
        let ratios: Vec<f64> = pairs.iter().map(|(above, below)| above / below).collect();
        self.ratio(what, rule, &[study], pair, metric).with_run(prediction(&ratios))
    }

    /// A finding on the ratio of two policies, seeds paired.
    pub(super) fn ratio(
        &self,
        what: &str,
        rule: Rule,
        studies: &[&str],
        (above, below): (&str, &str),
        metric: Metric,
    ) -> Finding {
        let pairs = self.pairs(studies, above, below, metric);
        Finding::new(what, "", rule, ratio_interval(&pairs), pairs.len())
    }

    /// A finding on the ratio of two policies on two studies, seeds paired.
    pub(super) fn between(
        &self,
        what: &str,
        rule: Rule,
        above: (&str, &str),
        below: (&str, &str),
        metric: Metric,
    ) -> Finding {
        let of = |run: &&&RunResult| Some((run.seed, metric(run))).filter(|(_, value)| value.is_finite());
        let rivals: Vec<(u64, f64)> = self.of(below.0, below.1).iter().filter_map(|run| of(&run)).collect();
        let pairs: Vec<(f64, f64)> = self
            .of(above.0, above.1)
            .iter()
            .filter_map(|run| of(&run))
            .filter_map(|(seed, ours)| Some((ours, rivals.iter().find(|(other, _)| *other == seed)?.1)))
            .collect();
        Finding::new(what, "", rule, ratio_interval(&pairs), pairs.len())
    }

    /// A finding on the study at which the ratio of two policies is largest, if `up`, or smallest.
    pub(super) fn best(
        &self,
        what: &str,
        rule: Rule,
        up: bool,
        studies: &[&str],
        pair: (&str, &str),
        metric: Metric,
    ) -> Finding {
        let best = studies
            .iter()
            .filter_map(|study| {
                let finding = self.ratio("", rule, &[study], pair, metric);
                Some((*study, finding.measured?, finding.n))
            })
            .max_by(|a, b| {
                let order = a.1.mean.total_cmp(&b.1.mean);
                if up { order } else { order.reverse() }
            });
        match best {
            None => Finding::new(what, "", rule, None, 0),
            Some((study, measured, n)) => Finding {
                best_at: Some(study.to_owned()),
                ..Finding::new(what, "", rule, Some(measured), n as usize)
            },
        }
    }

    /// Bars of a metric: one colour for each policy, groups by study.
    pub(super) fn bars(
        &self,
        (title, y): (&str, &str),
        studies: &[&str],
        policies: &[(&str, &str)],
        metric: Metric,
    ) -> Figure {
        let bars = |&(policy, name): &(&str, &str)| Bars {
            name: name.to_owned(),
            values: studies.iter().map(|study| self.mean(study, policy, metric)).collect(),
            stated: vec![],
        };
        let groups = studies.iter().map(|&study| study.to_owned()).collect();
        let plot = Plot::Bars { groups, bars: policies.iter().map(bars).collect() };
        Figure { title: title.to_owned(), x: String::new(), y: y.to_owned(), plot }
    }

    /// Box plots of a metric over the seeds.
    pub(super) fn boxes(
        &self,
        (title, y): (&str, &str),
        studies: &[&str],
        policies: &[(&str, &str)],
        metric: Metric,
    ) -> Figure {
        let boxes = |&(policy, name): &(&str, &str)| Boxes {
            name: name.to_owned(),
            values: studies.iter().map(|study| FiveNumbers::of(self.values(study, policy, metric))).collect(),
        };
        let groups = studies.iter().map(|&study| study.to_owned()).collect();
        let plot = Plot::Boxes { groups, boxes: policies.iter().map(boxes).collect() };
        Figure { title: title.to_owned(), x: String::new(), y: y.to_owned(), plot }
    }

    /// A line of a metric over a swept quantity: `points` are its values and the studies that have them.
    pub(super) fn sweep(&self, name: &str, points: &[(f64, &str)], policy: &str, metric: Metric) -> Line {
        Line::with_band(name, points.iter().map(|&(x, study)| (x, self.mean(study, policy, metric))))
    }

    /// A line over time: the mean, over the seeds that have series, of what `value` makes of one.
    pub(super) fn over_time(
        &self,
        name: &str,
        (study, policy): (&str, &str),
        value: impl Fn(&Series) -> Vec<f64>,
    ) -> Line {
        let series: Vec<&Series> =
            self.of(study, policy).iter().filter_map(|run| run.series.as_ref()).collect();
        let values: Vec<Vec<f64>> = series.iter().map(|series| value(series)).collect();
        // Runs of one scenario are sampled at the same instants; one that ended early has fewer.
        let length = values.iter().map(Vec::len).min().unwrap_or(0);
        let step = length.div_ceil(MOST_POINTS).max(1);
        let at = |i: usize| {
            let finite: Vec<f64> = values.iter().map(|v| v[i]).filter(|v| v.is_finite()).collect();
            (!finite.is_empty()).then(|| finite.iter().sum::<f64>() / finite.len() as f64)
        };
        let chosen = (0..length).skip(step - 1).step_by(step);
        Line::new(name, chosen.map(|i| (series[0].time_s[i], at(i))))
    }
}

/// A number without chance: its own interval.
pub(super) fn exactly(value: f64) -> Option<Estimate> {
    Some(Estimate { mean: value, lo: value, hi: value })
}

/// A figure of lines.
pub(super) fn lines(title: &str, x: &str, y: &str, lines: Vec<Line>) -> Figure {
    Figure {
        title: title.to_owned(),
        x: x.to_owned(),
        y: y.to_owned(),
        plot: Plot::Lines { lines, log_x: false },
    }
}

/// What the paper states, as a level line beside ours.
pub(super) fn level(name: &str, from: f64, until: f64, value: f64) -> Line {
    Line { stated: true, ..Line::new(name, [from, until].map(|x| (x, Some(value)))) }
}

/// Sum over the paths, by instant.
pub(super) fn total(by_path: &[Vec<f64>]) -> Vec<f64> {
    let instants = by_path.first().map_or(0, Vec::len);
    (0..instants).map(|i| by_path.iter().map(|path| path[i]).sum()).collect()
}

/// Mean of a rate from the start to each instant.
pub(super) fn running_mean(time_s: &[f64], rate: &[f64]) -> Vec<f64> {
    let (mut before_s, mut sum) = (0.0, 0.0);
    let mean = |(&at_s, &rate): (&f64, &f64)| {
        sum += rate * (at_s - before_s);
        before_s = at_s;
        sum / at_s
    };
    time_s.iter().zip(rate).map(mean).collect()
}

/// The last instant at which `a` comes to lie above `b` for good; the start if it does all the time, none if
/// it does not at the end.
pub(super) fn leads_from(time_s: &[f64], a: &[f64], b: &[f64]) -> Option<f64> {
    let last_not_above = a.iter().zip(b).rposition(|(a, b)| a <= b);
    match last_not_above {
        None => Some(0.0),
        Some(last) => time_s.get(last + 1).copied(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(policy: &str, seed: u64, goodput_bps: f64) -> RunResult {
        RunResult { policy: policy.into(), seed, goodput_bps, ..RunResult::default() }
    }

    #[test]
    fn ratios_pair_the_seeds_that_both_policies_have() {
        let nothing = SlottedRuns::default();
        let studies = [Study::of("quick", &["mptcp", "dts"]).named("a")];
        let runs = [run("mptcp", 1, 2.0), run("mptcp", 2, 4.0), run("dts", 2, 6.0), run("dts", 3, 100.0)];
        let by_policy = vec![runs[..2].iter().collect(), runs[2..].iter().collect()];
        let evidence = Evidence::new(&studies, vec![by_policy], &nothing);
        assert_eq!(evidence.pairs(&["a"], "dts", "mptcp", |run| run.goodput_bps), [(6.0, 4.0)]);
        let finding = evidence.ratio("x", Rule::Shown, &["a"], ("dts", "mptcp"), |run| run.goodput_bps);
        assert_eq!((finding.measured.unwrap().mean, finding.n), (1.5, 1));
    }

    #[test]
    fn the_best_of_a_sweep_is_on_the_stated_side() {
        let nothing = SlottedRuns::default();
        let studies =
            ["small", "large"].map(|name| Study::of("quick", &["mptcp", "dts"]).named(name)).to_vec();
        let runs = [run("mptcp", 1, 2.0), run("dts", 1, 1.0), run("dts", 1, 3.0)];
        let evidence = Evidence::new(
            &studies,
            vec![vec![vec![&runs[0]], vec![&runs[1]]], vec![vec![&runs[0]], vec![&runs[2]]]],
            &nothing,
        );
        let best = |stated: f64| {
            let rule = Rule::UpTo { stated, tolerance: 0.2 };
            let (studies, pair) = (["small", "large"], ("dts", "mptcp"));
            let finding = evidence.best("x", rule, stated > 1.0, &studies, pair, |r| r.goodput_bps);
            assert_eq!(finding.what, "x", "the other engine's finding is found by it");
            (finding.best_at.unwrap(), finding.measured.unwrap().mean)
        };
        assert_eq!(best(0.8), ("small".to_owned(), 0.5));
        assert_eq!(best(1.2), ("large".to_owned(), 1.5));
    }

    #[test]
    fn a_running_mean_weighs_by_time() {
        // 2 for one second, then 5 for two: (2 + 10) / 3.
        assert_eq!(running_mean(&[1.0, 3.0], &[2.0, 5.0]), [2.0, 4.0]);
    }

    #[test]
    fn a_lead_counts_from_where_it_is_not_lost_again() {
        let time = [1.0, 2.0, 3.0, 4.0];
        assert_eq!(leads_from(&time, &[2.0, 0.0, 2.0, 2.0], &[1.0; 4]), Some(3.0));
        assert_eq!(leads_from(&time, &[2.0; 4], &[1.0; 4]), Some(0.0));
        assert_eq!(leads_from(&time, &[2.0, 2.0, 2.0, 0.0], &[1.0; 4]), None);
    }
}
