//! The box of a set-up: the parameters that its paper leaves open, their ranges, and the reasons.
//!
//! The experiments of a set-up share a box and are judged on the same runs. A box contains every
//! value that the paper prints for its parameters.

use std::collections::BTreeMap;

use joulepath_report::Origin;
use serde::Deserialize;
use toml::Spanned;

use super::space::{Acts, Parameter, Point, Range};
use super::study::Study;
use super::wrong::{Wrong, key_value};
use crate::source::Overrides;

/// Parameters and runs of a search.
#[derive(Clone, Debug)]
pub(super) struct ClaimBox {
    /// Name of the set-up.
    pub(super) name: String,
    pub(super) parameters: Vec<Parameter>,
    pub(super) raw: RawBox,
    /// Keys that are set at all points, to keep runs short.
    set: Overrides,
    /// Number of seeds at each point, the same everywhere.
    pub(super) seeds: u32,
    /// Default number of points of the Latin hypercube.
    pub(super) points: usize,
    /// The usual point with one number that the paper prints, for each such number.
    pub(super) printed: Vec<Point>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawBox {
    seeds: u32,
    /// Number of points of the Latin hypercube. 0: only the usual point runs.
    #[serde(default)]
    points: usize,
    /// Studies that run at a point, one reading each; default: all.
    pub(super) studies: Option<Vec<Spanned<String>>>,
    /// Policies that run at a point; default: all.
    policies: Option<Vec<Spanned<String>>>,
    #[serde(default)]
    set: Vec<Spanned<String>>,
    /// Drops the studies' own keys, which parameters of the box replace.
    #[serde(default)]
    without_keys: bool,
    #[serde(default)]
    open: Vec<RawOpen>,
}

/// A parameter that the paper leaves open: `values`, or a range `from` … `to`; and the effect of
/// its value: one of `keys`, `set`, `set_by`, `option` and `reading`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawOpen {
    key: Spanned<String>,
    why: String,
    /// Its values, the usual one first.
    values: Option<Vec<String>>,
    from: Option<f64>,
    to: Option<f64>,
    /// Whether values of a range are log-uniform.
    #[serde(default)]
    log: bool,
    #[serde(default)]
    unit: String,
    /// Value of the shipped scenario.
    usual: Option<String>,
    /// Number of the usual value, if its text does not start with it.
    usual_number: Option<f64>,
    /// Values that the paper prints or that its text permits, as numbers of the unit or as choices.
    #[serde(default)]
    printed: Vec<toml::Value>,
    /// Origin of the usual value.
    #[serde(default)]
    origin: Origin,
    /// Keys of the scenario that receive the value.
    #[serde(default)]
    keys: Vec<String>,
    /// `key=text with {}`.
    #[serde(default)]
    set: Vec<Spanned<String>>,
    #[serde(default)]
    set_by: BTreeMap<String, Vec<Spanned<String>>>,
    /// Option of policies that receives the value.
    option: Option<String>,
    /// Policies that receive it; default: all.
    policies: Option<Vec<Spanned<String>>>,
    #[serde(default)]
    reading: bool,
}

impl RawBox {
    /// Every policy that the box names.
    pub(super) fn policies(&self) -> impl Iterator<Item = &Spanned<String>> {
        let of_open = self
            .open
            .iter()
            .flat_map(|open| open.policies.iter().flatten());
        self.policies.iter().flatten().chain(of_open)
    }

    /// # Errors
    /// If a parameter is wrong.
    pub(super) fn claim_box(self, name: &str) -> Result<ClaimBox, Wrong> {
        let parameters: Vec<Parameter> = self
            .open
            .iter()
            .map(RawOpen::parameter)
            .collect::<Result<_, _>>()?;
        for (at, open) in self.open.iter().enumerate() {
            if parameters[..at]
                .iter()
                .any(|known| known.key == *open.key.get_ref())
            {
                return Err(Wrong::at(&open.key.span(), "this key is listed twice"));
            }
        }
        let set = self.set.iter().map(key_value).collect::<Result<_, _>>()?;
        let (seeds, points) = (self.seeds, self.points);
        let printed = self
            .open
            .iter()
            .map(|open| open.printed_points(&parameters));
        let printed: Vec<Vec<Point>> = printed.collect::<Result<_, _>>()?;
        Ok(ClaimBox {
            name: name.to_owned(),
            parameters,
            raw: self,
            set,
            seeds,
            points,
            printed: printed.concat(),
        })
    }
}

impl RawOpen {
    /// The usual point with each printed number of a range. Choices need no extra point, because
    /// every choice has its part of the hypercube.
    fn printed_points(&self, parameters: &[Parameter]) -> Result<Vec<Point>, Wrong> {
        let key = self.key.get_ref();
        let of = |value: &toml::Value| {
            let at = [(
                key.clone(),
                format!("{value} {}", self.unit).trim().to_owned(),
            )];
            Point::parse(parameters, &at)
                .map_err(|error| Wrong::at(&self.key.span(), &error.to_string()))
        };
        let numbers = self.printed.iter().filter(|value| !value.is_str());
        let mut points: Vec<Point> = numbers.map(of).collect::<Result<_, _>>()?;
        points.retain(|point| point.changed(parameters).next().is_some());
        Ok(points)
    }

    fn parameter(&self) -> Result<Parameter, Wrong> {
        let wrong = |message: &str| Wrong::at(&self.key.span(), message);
        let (range, usual) = match (&self.values, self.from, self.to) {
            (Some(values), None, None) if values.len() > 1 => {
                (Range::Choice(values.clone()), (values[0].clone(), 0.0))
            }
            (None, Some(from), Some(to)) if from < to && (from > 0.0 || !self.log) => {
                let text = self
                    .usual
                    .clone()
                    .ok_or_else(|| wrong("a range needs its `usual` value"))?;
                let number = text
                    .split(' ')
                    .next()
                    .and_then(|number| number.parse().ok());
                let number = self.usual_number.or(number);
                let number = number.ok_or_else(|| {
                    wrong("`usual` does not start with a number; add `usual_number`")
                })?;
                if !(from..=to).contains(&number) {
                    return Err(wrong(&format!(
                        "the range lacks its `usual` value, {number}"
                    )));
                }
                let unit = self.unit.clone();
                let range = if self.log {
                    Range::Log(from, to, unit)
                } else {
                    Range::Linear(from, to, unit)
                };
                (range, (text, number))
            }
            _ => {
                return Err(wrong(
                    "it needs two or more `values`, or `from` a lower number `to` a higher one",
                ));
            }
        };
        let is_in = |value: &toml::Value| match (&range, value) {
            (Range::Choice(values), of) => of
                .as_str()
                .is_some_and(|text| values.iter().any(|known| known == text)),
            (Range::Linear(low, high, _) | Range::Log(low, high, _), of) => {
                let number = of.as_float().or(of.as_integer().map(|whole| whole as f64));
                number.is_some_and(|number| (*low..=*high).contains(&number))
            }
        };
        if let Some(lacking) = self.printed.iter().find(|value| !is_in(value)) {
            return Err(wrong(&format!(
                "the box lacks {lacking}, which the paper prints"
            )));
        }
        let acts = [
            !self.keys.is_empty() || !self.set.is_empty(),
            !self.set_by.is_empty(),
            self.option.is_some(),
            self.reading,
        ];
        if acts.iter().filter(|is_there| **is_there).count() != 1 {
            return Err(wrong(
                "it needs exactly one of `keys` or `set`, `set_by`, `option`, `reading`",
            ));
        }
        let pairs =
            |set: &[Spanned<String>]| set.iter().map(key_value).collect::<Result<Overrides, _>>();
        let acts = match &self.option {
            Some(option) => {
                let names = |names: &Vec<Spanned<String>>| {
                    names.iter().map(|name| name.get_ref().clone()).collect()
                };
                Acts::Option(self.policies.as_ref().map(names), option.clone())
            }
            None if self.reading => Acts::Reading,
            None if self.set_by.is_empty() => {
                let keys = self.keys.iter().map(|key| (key.clone(), "{}".to_owned()));
                Acts::Set(keys.chain(pairs(&self.set)?).collect())
            }
            None => {
                let known = self.values.as_deref().unwrap_or_default();
                let other = self.set_by.keys().find(|value| !known.contains(value));
                if let Some(other) = other {
                    return Err(wrong(&format!(
                        "`set_by` has `{other}`, which is not one of its values"
                    )));
                }
                let of = |(value, set): (&String, &Vec<_>)| Ok((value.clone(), pairs(set)?));
                Acts::SetBy(self.set_by.iter().map(of).collect::<Result<_, Wrong>>()?)
            }
        };
        Ok(Parameter {
            key: self.key.get_ref().clone(),
            reason: self.why.clone(),
            range,
            usual,
            origin: self.origin,
            acts,
        })
    }
}

impl ClaimBox {
    /// Values of a parameter for `when`, the usual one first.
    pub(super) fn reading(&self, key: &str) -> Option<&[String]> {
        let of = self
            .parameters
            .iter()
            .find(|of| of.key == key && matches!(of.acts, Acts::Reading))?;
        match &of.range {
            Range::Choice(values) => Some(values),
            Range::Linear(..) | Range::Log(..) => None,
        }
    }

    /// Studies of an experiment that run at a point, without time series.
    pub(super) fn studies(&self, of: &[Study]) -> Vec<Study> {
        let is_in = |names: &Option<Vec<Spanned<String>>>, name: &String| {
            names
                .as_ref()
                .is_none_or(|names| names.iter().any(|known| known.get_ref() == name))
        };
        let studies = of
            .iter()
            .filter(|study| is_in(&self.raw.studies, &study.name));
        let at_point = |study: &Study| {
            let mut study = Study {
                series: 0,
                kernel: None,
                ..study.clone()
            };
            study
                .policies
                .retain(|policy| is_in(&self.raw.policies, &policy.name));
            if self.raw.without_keys {
                study.set.clear();
            }
            study.set.extend(self.set.iter().cloned());
            study
        };
        studies.map(at_point).collect()
    }
}
