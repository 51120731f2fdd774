//! The file of a suite.

use std::collections::BTreeMap;

use joulepath_controllers::Controller;
use joulepath_model::metric::METRICS;
use joulepath_model::names::suggest;
use serde::Deserialize;

use super::names::{At, PHASES, SERIES, SHARE, Words, metric};
use crate::error::{Error, Result};

/// A suite: a scenario, and cases that change it and check what a controller does.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Suite {
    /// Name in this library, or the file.
    #[serde(skip)]
    pub name: String,
    /// One line.
    pub title: String,
    /// The document that the cases come from.
    pub source: String,
    /// The controllers that it is for; empty: all.
    #[serde(default)]
    pub controllers: Vec<String>,
    /// The scenario, in the language of scenario files.
    pub scenario: toml::Table,
    /// The cases.
    #[serde(rename = "case")]
    pub cases: Vec<Case>,
}

/// A case.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Case {
    /// Unique in the suite.
    pub name: String,
    /// What it shows, in one line.
    pub title: String,
    /// Section of the suite's document; absent: the name.
    pub section: Option<String>,
    /// Policy; `{cc}` is the controller.
    #[serde(default = "controller")]
    pub policy: String,
    /// Keys of the scenario and their values, as with `--set`.
    #[serde(default)]
    pub set: BTreeMap<String, String>,
    /// Seed of the run.
    #[serde(default = "one")]
    pub seed: u64,
    /// Time between two samples, ms.
    #[serde(default = "step")]
    pub step_ms: f64,
    /// Changes during the run, in this order.
    #[serde(default)]
    pub then: Vec<Then>,
    /// All must hold.
    #[serde(rename = "check")]
    pub checks: Vec<Check>,
}

/// A change when something happens.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Then {
    /// When: `5 s`, `enter UP`, `enter UP 2` (the second time), `leave DRAIN`, `enter UP + 0.5 s`.
    pub at: String,
    /// Keys of the scenario; in the values `@` is that instant, and `@+20 ms` is later.
    #[serde(default)]
    pub set: BTreeMap<String, String>,
    /// The application of bulk data from then on: `pause`, `resume`, or a rate in Mbit/s.
    pub application: Option<Application>,
}

/// What the application does.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(untagged)]
pub enum Application {
    /// `pause` or `resume`.
    Word(Word),
    /// Mbit/s of payload.
    Rate(f64),
}

/// A word for an application.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Word {
    /// It writes nothing.
    Pause,
    /// It always has data.
    Resume,
}

/// An assertion about states, or about a value.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Check {
    /// What it asserts, for the table; absent: made from the other keys.
    pub says: Option<String>,
    /// Begin of the interval, as [`Then::at`]; absent: the start.
    pub from: Option<String>,
    /// Its end, the first such instant after `from`; absent: the end of the run.
    pub until: Option<String>,
    /// The states from `from` on begin with these; `A|B`: one of them.
    #[serde(default)]
    pub states: Vec<String>,
    /// This state does not occur in the interval.
    pub never: Option<String>,
    /// A series: `cwnd`, `cwnd / bdp`, `bw - max_bw`; or with `stat = "result"` a number of the
    /// whole run.
    pub value: Option<String>,
    /// Statistic of the series in the interval.
    #[serde(default)]
    pub stat: Stat,
    /// The value is divided by that of a run with this controller instead.
    pub against: Option<String>,
    /// Bounds of the value.
    pub at_least: Option<f64>,
    /// Bounds of the value.
    pub at_most: Option<f64>,
}

/// Statistic of a series.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Stat {
    /// Least.
    Min,
    /// Greatest.
    Max,
    /// Mean over time.
    #[default]
    Mean,
    /// At the begin.
    First,
    /// Just before the end.
    Last,
    /// Last less first.
    Rise,
    /// Rise per second.
    Rate,
    /// Last, divided by the sample before the begin.
    Ratio,
    /// A number of the whole run instead of a series.
    Result,
}

fn controller() -> String {
    "{cc}".to_owned()
}

fn one() -> u64 {
    1
}

fn step() -> f64 {
    1.0
}

impl Suite {
    /// Parses a suite.
    ///
    /// # Errors
    /// The first mistake with its line.
    pub fn parse(name: &str, text: &str) -> Result<Self> {
        let wrong = |why: &str| {
            Error::usage(format!("cannot use the suite {name}: {}", why.trim_end()))
                .with_help("docs/conformance.md lists the keys")
        };
        let mut suite: Suite = toml::from_str(text).map_err(|error| wrong(&error.to_string()))?;
        suite.name = name.to_owned();
        if suite.cases.is_empty() {
            return Err(wrong("it has no [[case]]"));
        }
        for (k, case) in suite.cases.iter().enumerate() {
            if suite.cases[..k].iter().any(|other| other.name == case.name) {
                return Err(wrong(&format!("two cases have the name `{}`", case.name)));
            }
            case.mistake().map_or(Ok(()), |why| {
                Err(wrong(&format!("case `{}`: {why}", case.name)))
            })?;
        }
        Ok(suite)
    }

    /// Whether it is for this controller.
    pub fn is_for(&self, controller: Controller) -> bool {
        self.controllers.is_empty()
            || self
                .controllers
                .iter()
                .any(|name| name == controller.name())
    }

    pub(super) fn source_of(&self, case: &Case) -> String {
        format!(
            "{}, {}",
            self.source,
            case.section.as_ref().unwrap_or(&case.name)
        )
    }

    /// Refuses a case with states or values that the controller does not show.
    pub(super) fn check(&self, case: &Case, controller: Controller) -> Result<()> {
        let states: Vec<&str> = controller.state_names().chain(PHASES).collect();
        let values: Vec<&str> = controller.value_names().chain(SERIES).collect();
        let metrics = METRICS.iter().map(|metric| metric.name);
        let results: Vec<&str> = metrics.chain([SHARE]).collect();
        let refuse = |what: &str, name: &str, known: &[&str]| {
            Err(Error::usage(format!(
                "case `{}` of {} checks the {what} `{name}`, which `{}` does not show",
                case.name,
                self.name,
                controller.name()
            ))
            .with_help(format!(
                "{}; a controller of your own shows more by mpcc_ops.show",
                suggest(name, known)
            )))
        };
        for state in case.states() {
            if !states.contains(&state.as_str()) {
                return refuse("state", &state, &states);
            }
        }
        for check in &case.checks {
            let is_result = check.stat == Stat::Result;
            let known = if is_result { &results } else { &values };
            let words = check.value.as_deref().map(Words::of).into_iter().flatten();
            for name in words.flat_map(Words::names) {
                let is_metric = is_result && metric(&name).is_some();
                if !is_metric && !known.contains(&name.as_str()) {
                    return refuse("value", &name, known);
                }
            }
            if let Some(other) = &check.against {
                Controller::by_name(other).map_err(|error| Error::usage(error.to_string()))?;
            }
        }
        Ok(())
    }
}

impl Case {
    /// The names of all states that it mentions.
    fn states(&self) -> Vec<String> {
        let mut all: Vec<String> = vec![];
        let instants = self.then.iter().map(|then| &then.at);
        let bounds = self
            .checks
            .iter()
            .flat_map(|check| check.from.iter().chain(&check.until));
        all.extend(
            instants
                .chain(bounds)
                .filter_map(|at| At::parse(at).ok()?.state()),
        );
        let sequences = self
            .checks
            .iter()
            .flat_map(|check| check.states.iter().chain(&check.never));
        all.extend(sequences.flat_map(|names| names.split('|').map(str::to_owned)));
        all
    }

    /// What is wrong with it, apart from names.
    fn mistake(&self) -> Option<String> {
        if self.checks.is_empty() {
            return Some("it has no [[case.check]]".to_owned());
        }
        if !(0.01..=1000.0).contains(&self.step_ms) {
            return Some(format!(
                "step-ms = {} is not between 0.01 and 1000",
                self.step_ms
            ));
        }
        let instants = self.then.iter().map(|then| &then.at);
        let bounds = self
            .checks
            .iter()
            .flat_map(|check| check.from.iter().chain(&check.until));
        if let Some(why) = instants.chain(bounds).find_map(|at| At::parse(at).err()) {
            return Some(why);
        }
        let idle = |then: &&Then| then.set.is_empty() && then.application.is_none();
        if let Some(then) = self.then.iter().find(idle) {
            return Some(format!(
                "`at = \"{}\"` changes nothing: give `set` or `application`",
                then.at
            ));
        }
        self.checks.iter().find_map(Check::mistake)
    }
}

impl Check {
    fn mistake(&self) -> Option<String> {
        let kinds = [
            !self.states.is_empty(),
            self.never.is_some(),
            self.value.is_some(),
        ];
        if kinds.into_iter().filter(|&has| has).count() != 1 {
            return Some("a check has exactly one of `states`, `never`, `value`".to_owned());
        }
        let bounded = self.at_least.is_some() || self.at_most.is_some();
        match &self.value {
            Some(_) if !bounded => {
                Some("a check of a value needs `at-least` or `at-most`".to_owned())
            }
            Some(value) => Words::of(value).err(),
            None if bounded || self.against.is_some() => {
                Some("`at-least`, `at-most` and `against` belong to a `value`".to_owned())
            }
            None => None,
        }
    }
}
