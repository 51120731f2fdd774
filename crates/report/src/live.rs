//! Cost of the daemon's choice of paths, compared with alternatives: data, and texts.

mod table;

use joulepath_model::live::Intent;
use joulepath_model::metric::{COMPLETION, EFFICIENCY, ENERGY, GOODPUT, Metric};
use joulepath_model::result::{Means, RunResult};
use serde::Serialize;

pub use table::{markdown, table};

/// Prefix of policies of one path.
const SINGLE: &str = "single:";
/// Minimum fraction of the highest goodput for a contender to count, if the application sets the
/// rate.
const CARRIES: f64 = 0.95;
/// Smallest relevant relative difference of measured joules per bit.
pub const TOLERANCE: f64 = 0.02;
/// Fraction of the best contender's bits per joule that `frugal` must reach.
pub const OF_BEST: f64 = 0.9;

/// Method of choosing the paths.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Chooser {
    /// The daemon.
    Daemon,
    /// None: all paths from the start.
    Plain,
    /// A fixed table of endpoints.
    Endpoints,
    /// A policy.
    Policy,
}

/// A contender: means over its runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Contender {
    /// Name for readers.
    pub name: String,
    /// Its method.
    pub chooser: Chooser,
    /// Number of runs.
    pub runs: usize,
    /// Metrics. The efficiency is that of all runs together.
    #[serde(flatten)]
    pub metrics: Means,
    /// Delivered payload by path, bytes.
    pub bytes: Vec<f64>,
}

impl Contender {
    /// Means over its runs; `None` without runs.
    pub fn of(name: &str, chooser: Chooser, runs: &[RunResult]) -> Option<Self> {
        let first = runs.first()?;
        let mean =
            |of: &dyn Fn(&RunResult) -> f64| runs.iter().map(of).sum::<f64>() / runs.len() as f64;
        let bits = mean(&|run| run.goodput_bps * run.measured_s);
        let bytes = |path: usize| mean(&|run| run.paths[path].goodput_bps * run.measured_s / 8.0);
        let mut metrics = Means::over(runs);
        let energy_j = metrics.of(&ENERGY).filter(|energy_j| *energy_j > 0.0);
        metrics.set(&EFFICIENCY, energy_j.map(|energy_j| bits / energy_j));
        Some(Contender {
            name: name.to_owned(),
            chooser,
            runs: runs.len(),
            metrics,
            bytes: (0..first.paths.len()).map(bytes).collect(),
        })
    }

    /// Of a metric; 0 if it is unknown.
    fn mean(&self, metric: &Metric) -> f64 {
        self.metrics.of(metric).unwrap_or(0.0)
    }

    fn is_single(&self) -> bool {
        self.chooser == Chooser::Policy && self.name.starts_with(SINGLE)
    }
}

/// Kind of traffic, as far as it affects the comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Work {
    /// Unlimited data.
    Bulk,
    /// Files.
    Files,
    /// Traffic at the application's rate.
    Given,
}

/// One scenario.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Case {
    /// Its name.
    pub scenario: String,
    /// Title of the scenario.
    pub title: String,
    /// The daemon's intent.
    pub intent: Intent,
    /// Kind of traffic.
    pub work: Work,
    /// Names of the paths.
    pub paths: Vec<String>,
    /// Contenders, the daemon first.
    pub contenders: Vec<Contender>,
    /// Maximum bits per joule of any rates; `None` without a bound.
    pub link_bound_bits_per_joule: Option<f64>,
    /// Verdict on the daemon; `None` if runs are missing.
    pub verdict: Option<Verdict>,
}

/// The daemon compared with the alternatives.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Verdict {
    /// Its joules per bit relative to all paths from the start.
    pub energy_of_plain: f64,
    /// Whether that is at most 1, within [`TOLERANCE`].
    pub saves: bool,
    /// The contender with the most bits per joule that does the work.
    pub best: String,
    /// The daemon's bits per joule relative to the best contender's.
    pub efficiency_of_best: f64,
    /// For `frugal`: whether that is at least [`OF_BEST`].
    pub near_best: Option<bool>,
    /// Goodput relative to the best single path's; `None` if no single path ran.
    pub goodput_of_single: Option<f64>,
    /// For `interactive` and `aggregate`: whether that is at least 1, within [`TOLERANCE`].
    pub as_fast: Option<bool>,
}

impl Case {
    /// Compares the contenders.
    #[must_use]
    pub fn judged(mut self) -> Self {
        self.verdict = self.verdict();
        self
    }

    fn verdict(&self) -> Option<Verdict> {
        let of = |chooser| self.contenders.iter().find(|one| one.chooser == chooser);
        let (daemon, plain) = (of(Chooser::Daemon)?, of(Chooser::Plain)?);
        let others = || {
            self.contenders
                .iter()
                .filter(|one| one.chooser != Chooser::Daemon)
        };
        let goodput_bps = |one: &Contender| one.mean(&GOODPUT);
        let efficiency = |one: &Contender| one.mean(&EFFICIENCY);
        let most_bps = others()
            .map(goodput_bps)
            .fold(goodput_bps(daemon), f64::max);
        let does_the_work = |one: &&Contender| match self.work {
            Work::Bulk => true,
            Work::Files => one.metrics.of(&COMPLETION).is_some(),
            Work::Given => goodput_bps(one) >= CARRIES * most_bps,
        };
        let by_efficiency =
            |a: &&Contender, b: &&Contender| efficiency(a).total_cmp(&efficiency(b));
        let best = others().filter(does_the_work).max_by(by_efficiency)?;
        let single = others()
            .filter(|one| one.is_single())
            .map(goodput_bps)
            .reduce(f64::max);
        let energy_of_plain = efficiency(plain) / efficiency(daemon);
        let efficiency_of_best = efficiency(daemon) / efficiency(best);
        let goodput_of_single = single.map(|single| goodput_bps(daemon) / single);
        let is_fast = matches!(self.intent, Intent::Interactive | Intent::Aggregate);
        Some(Verdict {
            energy_of_plain,
            saves: energy_of_plain <= 1.0 + TOLERANCE,
            best: best.name.clone(),
            efficiency_of_best,
            near_best: (self.intent == Intent::Frugal).then_some(efficiency_of_best >= OF_BEST),
            goodput_of_single,
            as_fast: goodput_of_single
                .filter(|_| is_fast)
                .map(|part| part >= 1.0 - TOLERANCE),
        })
    }
}

/// The whole measurement.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Judged {
    /// Release of the kernel.
    pub release: String,
    /// Seeds of each contender.
    pub seeds: u32,
    /// Cases in the order of their runs.
    pub cases: Vec<Case>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contender(name: &str, chooser: Chooser, energy_j: f64, goodput_bps: f64) -> Contender {
        Contender {
            name: name.into(),
            chooser,
            runs: 1,
            metrics: [
                (&ENERGY, Some(energy_j)),
                // In 10 s.
                (&EFFICIENCY, Some(goodput_bps * 10.0 / energy_j)),
                (&GOODPUT, Some(goodput_bps)),
            ]
            .into_iter()
            .collect(),
            bytes: vec![goodput_bps * 10.0 / 8.0, 0.0],
        }
    }

    fn case(intent: Intent, work: Work, daemon: (f64, f64)) -> Case {
        let contenders = vec![
            contender("live:any", Chooser::Daemon, daemon.0, daemon.1),
            contender("linux", Chooser::Plain, 40.0, 20e6),
            contender("single:wifi", Chooser::Policy, 10.0, 12e6),
            contender("single:lte", Chooser::Policy, 30.0, 8e6),
        ];
        let (scenario, title) = ("live/one".to_owned(), "One".to_owned());
        let paths = vec!["wifi".to_owned(), "lte".to_owned()];
        Case {
            scenario,
            title,
            intent,
            work,
            paths,
            contenders,
            link_bound_bits_per_joule: None,
            verdict: None,
        }
        .judged()
    }

    #[test]
    fn frugal_is_compared_with_the_best_contender_and_plain() {
        // Plain: 5 Mbit/J; WiFi alone: 12 Mbit/J; the daemon: 120 Mbit for 11 J, 10.9 Mbit/J.
        let verdict = case(Intent::Frugal, Work::Bulk, (11.0, 12e6))
            .verdict
            .unwrap();
        assert!((verdict.energy_of_plain - 5.0 / (120.0 / 11.0)).abs() < 1e-12 && verdict.saves);
        assert!((verdict.efficiency_of_best - 10.0 / 11.0).abs() < 1e-12);
        assert_eq!(
            (verdict.best.as_str(), verdict.near_best, verdict.as_fast),
            ("single:wifi", Some(true), None)
        );
        let verdict = case(Intent::Frugal, Work::Bulk, (20.0, 12e6))
            .verdict
            .unwrap();
        assert_eq!((verdict.saves, verdict.near_best), (true, Some(false)));
        assert!(
            !case(Intent::Frugal, Work::Bulk, (26.0, 12e6))
                .verdict
                .unwrap()
                .saves
        );
    }

    #[test]
    fn contenders_below_the_given_load_do_not_count() {
        // Only plain carries 20 Mbit/s.
        let verdict = case(Intent::Frugal, Work::Given, (40.0, 20e6))
            .verdict
            .unwrap();
        assert_eq!(
            (verdict.best.as_str(), verdict.efficiency_of_best),
            ("linux", 1.0)
        );
    }

    #[test]
    fn interactive_is_compared_with_the_fastest_single_path() {
        assert_eq!(
            case(Intent::Interactive, Work::Bulk, (20.0, 12e6))
                .verdict
                .unwrap()
                .as_fast,
            Some(true)
        );
        let slow = case(Intent::Interactive, Work::Bulk, (20.0, 11e6))
            .verdict
            .unwrap();
        assert_eq!(
            (slow.as_fast, slow.goodput_of_single),
            (Some(false), Some(11.0 / 12.0))
        );
    }
}
